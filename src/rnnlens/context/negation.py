"""The form of negation (§11): does it shift effects towards the other sign, scale them, or reverse them?"""

from __future__ import annotations

from typing import Any

import torch

from rnnlens.common.ranges import in_range
from rnnlens.context.effects import effects
from rnnlens.context.modifiers import Modifiers
from rnnlens.dynamics import LineAttractor
from rnnlens.networks import Network


@torch.no_grad()
@in_range()
def negation_form(network: Network, line: LineAttractor, modifiers: Modifiers, most: int = 50) -> dict[str, Any]:
    """Predict the probes' effects y after each of the strongest negators and diminishers from their effects x at h*, in
    three forms: a shift y = x − s·sign(x), a factor y = m·x, and a reversal y = −x. The result is the share of the
    squared change y − x that each form explains, averaged over words; below 0 it is worse than predicting no change."""
    line.check_blank()
    rows = [i for i in modifiers.order.tolist() if modifiers.kinds[i] in ("negator", "diminisher")][:most]
    if not rows:
        return {"n": 0}
    e = modifiers.probes.inputs(network)
    x = effects(network, line.h_star, e).double()
    y = effects(network, modifiers.after(rows), e).double()
    sign = torch.sign(x)
    shift = ((x - y) * sign).mean(1, keepdim=True)
    factor = (y @ x).unsqueeze(1) / x.square().sum()
    additive = (y - (x - shift * sign)).square().sum(1)
    multiplicative = (y - factor * x).square().sum(1)
    reversal = (y + x).square().sum(1)
    spread = (y - x).square().sum(1)
    return {
        "n": len(rows),
        "words": [modifiers.words[i] for i in rows],
        "shift_explained": float((1 - additive / spread).mean()),
        "factor_explained": float((1 - multiplicative / spread).mean()),
        "reversal_explained": float((1 - reversal / spread).mean()),
        "shift": shift.squeeze(1).tolist(),
        "factor": factor.squeeze(1).tolist(),
    }
