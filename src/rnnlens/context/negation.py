"""Is negation additive or multiplicative (§11)? A shift of every word's valence towards the other side, or a factor?"""

from __future__ import annotations

from typing import Any

import torch

from rnnlens.context.effects import effects
from rnnlens.context.modifiers import Modifiers
from rnnlens.dynamics import LineAttractor
from rnnlens.networks import Network


@torch.no_grad()
def negation_form(network: Network, line: LineAttractor, modifiers: Modifiers, most: int = 50) -> dict[str, Any]:
    """For the strongest negators and diminishers: the probes' effects y after the word from their effects x before it,
    as y = x − s·sign(x) (additive) and as y = m·x (multiplicative), one number each; which leaves less."""
    line.check_blank()
    rows = [i for i in modifiers.order.tolist() if modifiers.kinds[i] in ("negator", "diminisher")][:most]
    if not rows:
        return {"n": 0}
    e = modifiers.probes.inputs(network)
    x = effects(network, line.h_star, e).double()
    y = effects(network, modifiers.h_mod[rows], e).double()
    sign = torch.sign(x)
    shift = ((x - y) * sign).mean(1, keepdim=True)
    factor = (y @ x).unsqueeze(1) / x.square().sum()
    additive = (y - (x - shift * sign)).square().sum(1)
    multiplicative = (y - factor * x).square().sum(1)
    spread = (y - x).square().sum(1)
    return {
        "n": len(rows),
        "words": [modifiers.words[i] for i in rows],
        "additive_better": float((additive < multiplicative).double().mean()),
        "additive_explained": float((1 - additive / spread).mean()),
        "multiplicative_explained": float((1 - multiplicative / spread).mean()),
        "shift": shift.squeeze(1).tolist(),
        "factor": factor.squeeze(1).tolist(),
    }
