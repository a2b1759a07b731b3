"""Barcodes: the change in the effect of each probe word, wᵀ ΔJ_inp x (eq. 5, §5.2.2; Figs. 5 and 8, Supp. D)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.display import Shown
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import in_range
from rnnlens.context.effects import linear_effects, word_inputs
from rnnlens.context.probes import Probes
from rnnlens.context.strength import kind_of
from rnnlens.dynamics import LineAttractor
from rnnlens.dynamics.inputs import check_states
from rnnlens.networks import Network


@dataclass(frozen=True, eq=False, repr=False)
class Barcode(Shown):
    """The change that a word, a state or a direction makes to the effects of probe words on the logit.

    positive, negative            (n⁺,), (n⁻,)  the change in each probe's linear effect
    base_positive, base_negative  (n⁺,), (n⁻,)  the probes' effects at h*
    """

    name: str
    probes: Probes = field(repr=False)
    positive: Tensor
    negative: Tensor
    base_positive: Tensor
    base_negative: Tensor

    @property
    def share(self) -> float:
        """The change as a share of the effect at h*: −1 removes the effect, −2 reverses it, +1 doubles it."""
        change = self.positive.mean() - self.negative.mean()
        return float(change / (self.base_positive.mean() - self.base_negative.mean()))

    @property
    def kind(self) -> str:
        """negator, intensifier, diminisher or none, by the sign pattern of the two means."""
        shift = float(self.positive.mean()) * float(self.negative.mean()) > 0  # both change in the same direction
        return "none" if shift else kind_of(self.share)

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `barcodes.<word>`."""
        return {
            "kind": self.kind,
            "share": self.share,
            "mean_positive": float(self.positive.mean()),
            "mean_negative": float(self.negative.mean()),
            "positive": self.positive.tolist(),
            "negative": self.negative.tolist(),
        }


@in_range()
def barcode(network: Network, line: LineAttractor, word: str, probes: Probes | None = None) -> Barcode:
    """A word's barcode: the change from h* to h_mod = F(h*, word)."""
    return barcodes(network, line, [word], probes)[word]


@torch.no_grad()
def barcodes(
    network: Network, line: LineAttractor, words: Sequence[str], probes: Probes | None = None
) -> dict[str, Barcode]:
    """The barcodes of several words, which are computed together."""
    h_mod = network.step(line.h_star, word_inputs(network, words))
    return dict(zip(words, _of_states(network, line, h_mod, words, probes), strict=True))


@in_range()
def state_barcode(
    network: Network, line: LineAttractor, h: Tensor, name: str = "state", probes: Probes | None = None
) -> Barcode:
    """The barcode of a state (N,), such as the initial state or one on the way back to the line."""
    check_states(network, one=True, h=h)
    return _of_states(network, line, h.unsqueeze(0), [name], probes)[0]


@torch.no_grad()
def _of_states(
    network: Network, line: LineAttractor, h: Tensor, names: Sequence[str], probes: Probes | None
) -> list[Barcode]:
    """The barcodes of states (K, N)."""
    line.check_blank()
    probes = Probes.from_network(network, line) if probes is None else probes
    base, *effects = linear_effects(network, torch.cat([line.h_star.unsqueeze(0), h]), probes.inputs(network))
    changes = [probes.split(after - base) for after in effects]
    return [Barcode(name, probes, *change, *probes.split(base)) for name, change in zip(names, changes, strict=True)]


@in_range()
def component_barcodes(
    network: Network, line: LineAttractor, components: Tensor, sizes: Tensor, probes: Probes | None = None
) -> list[Barcode]:
    """Barcodes of directions (P, N) of state space: half the difference between the barcodes at h* plus and minus size
    (P,) times the direction, which cancels the change that is even in the direction (Fig. 8)."""
    check_states(network, components=components)
    if not isinstance(sizes, Tensor) or sizes.shape != components.shape[:1]:
        given = tuple(sizes.shape) if isinstance(sizes, Tensor) else type(sizes).__name__
        raise RnnlensError(f"sizes are {quoted(given)}: expected a tensor ({len(components)},), one for each component")
    moves = sizes.to(components).unsqueeze(1) * components
    names = [f"component {p}" for p in range(1, len(components) + 1)]
    both = _of_states(network, line, torch.cat([line.h_star + moves, line.h_star - moves]), names * 2, probes)
    return [
        replace(forth, positive=(forth.positive - back.positive) / 2, negative=(forth.negative - back.negative) / 2)
        for forth, back in zip(both[: len(names)], both[len(names) :], strict=True)
    ]
