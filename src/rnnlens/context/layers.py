"""Which part of the state integrates, and which one modifies: layers, convolution buffers and recurrent states.

Parts of the state are exchanged between two runs (see `attribution`). For modifiers these are the runs with and without
the word. For integration they are two points of the line, one logit below 0 and one above: what the network still reads
after many blank inputs says which parts keep the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.display import Shown, signed, table_html
from rnnlens.common.errors import UnknownWord, one_of, quoted
from rnnlens.common.ranges import in_range
from rnnlens.context.attribution import Attribution, attribute, checked_parts, shapley
from rnnlens.context.effective_attention import EffectiveAttention, effective_attention
from rnnlens.context.probes import Probes
from rnnlens.context.strength import ENOUGH
from rnnlens.context.subspace import Subspace
from rnnlens.dynamics import LineAttractor, linear_modes
from rnnlens.dynamics.modes import TriangularModes
from rnnlens.networks import Network
from rnnlens.networks.architectures import parts_of
from rnnlens.networks.blocks import BlockStack
from rnnlens.networks.residual import ResidualStack
from rnnlens.networks.stack import Stack

MOST, LARGE, FEW = 6, 10_000, 4  # most parts; FEW if the state has more than LARGE numbers
WORDS = 16  # words whose strengths are attributed
BLANKS = 50  # inputs after which the evidence is read
ROUNDING = 1_000  # times the precision of a number: a difference of logits below this is rounding errors
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of the timescales of a part
SENTENCES = ("the movie was not very good", "the film was not very good", "the food was not very good")
AWAY = 1.0  # logits of the two points of the line, below and above 0


@dataclass(frozen=True, eq=False, repr=False)
class Layers(Shown):
    """What each of P parts of the state does.

    parts     (P,)     names: layers, and of a layer its convolution buffer and its recurrent state
    modifies           strengths of words, attributed to the parts; they sum to the strength
    keeps     (P,)     share of the evidence that is still read after 50 blank inputs and comes from this part; they sum
                       to 1, or are NaN if nothing is left
    subspace  (P,)     share of the modifier subspace that lies in this part; they sum to 1
    timescales (P, 5)  of the recurrences of today at h*: the 5, 25, 50, 75 and 95 % quantiles of the timescales of each
                       part's numbers, in words; 0 for a convolution buffer. None for other networks
    attention          of the recurrences of today: what each word of a sentence still adds to the output of the first
                       and the last layer
    """

    modifies: Attribution
    keeps: Tensor
    subspace: Tensor
    timescales: Tensor | None = None
    attention: tuple[EffectiveAttention, ...] = ()

    @property
    def parts(self) -> list[str]:
        return self.modifies.parts

    def __getitem__(self, word: str) -> dict[str, float]:
        """What each part adds to the strength of a word."""
        if word not in self.modifies.words:
            raise UnknownWord(f"{quoted(word)} was not measured: {one_of(self.modifies.words[:12])}")
        return self.modifies[word]

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `layers`."""
        found = self.modifies
        rows = zip(
            found.words,
            found.strength.tolist(),
            found.strength_interval.tolist(),
            found.shares.tolist(),
            found.shares_interval.tolist(),
            strict=True,
        )
        times = None if self.timescales is None else self.timescales.tolist()
        return {
            "parts": self.parts,
            "keeps": None if bool(self.keeps.isnan().any()) else self.keeps.tolist(),
            "subspace": self.subspace.tolist(),
            "words": [
                {"word": word, "strength": strength, "interval": whole, "by_part": shares, "intervals": intervals}
                for word, strength, whole, shares, intervals in rows
            ],
            "timescales": times and [[tau if isfinite(tau) else None for tau in part] for part in times],
            "attention": [
                {"layer": one.layer, "words": one.words, "weights": one.weights.tolist()} for one in self.attention
            ],
        }

    def _table(self) -> str:
        rows = [[word, *(signed(share) for share in self[word].values())] for word in self.modifies.words]
        return table_html(rows, ["word", *self.parts])


def several_parts(network: Network) -> dict[str, Tensor]:
    """The places of the parts of a network's state, at most six; empty if it has one layer and no convolution."""
    if not isinstance(network.cell, Stack | ResidualStack | BlockStack):
        return {}
    most = FEW if network.size > LARGE else MOST
    places = _grouped(checked_parts(network, parts_of(network.cell)), most)
    return places if len(places) > 1 else {}


@torch.no_grad()
@in_range("words")
def study_layers(
    network: Network, line: LineAttractor, subspace: Subspace, words: Sequence[str], probes: Probes
) -> Layers | None:
    """Which part of the state integrates, and which one modifies; None if it has one part, or no word is measured."""
    places = several_parts(network)
    if not places or not words:
        return None
    found = attribute(network, line.h_star, words[:WORDS], probes.some(ENOUGH), parts=places)
    within = torch.stack([subspace.components[:, place].square().sum() for place in places.values()])
    times, attention = _timescales(network, line.h_star, places), _attention(network, words, probes)
    return Layers(found, kept_by(network, line, places), (within / within.sum()).cpu(), times, attention)


def _timescales(network: Network, h: Tensor, places: Mapping[str, Tensor]) -> Tensor | None:
    """Quantiles (P, 5) of the timescales in each part; None unless each belongs to one number of the state."""
    if not isinstance(network.cell, ResidualStack):
        return None
    modes = linear_modes(network, h)
    assert isinstance(modes, TriangularModes)
    times = torch.cat([*modes.by_part().values()]).cpu()
    at = times.new_tensor(QUANTILES)
    # The nearest value: between a finite and an infinite one there is none.
    return torch.stack([times[place.cpu()].quantile(at, interpolation="nearest") for place in places.values()])


def _attention(network: Network, words: Sequence[str], probes: Probes) -> tuple[EffectiveAttention, ...]:
    """The effective attention of the first and the last layer on a sentence with a modifier."""
    if not isinstance(network.cell, ResidualStack) or network.vocab is None:
        return ()
    made = " ".join([probes.negative[0], *words[:1], probes.positive[0]])
    text = next((text for text in SENTENCES if not network.vocab.unknown(network.vocab.split(text))), made)
    return tuple(effective_attention(network, text, layer) for layer in sorted({1, len(network.cell.layers)}))


@torch.no_grad()
def kept_by(network: Network, line: LineAttractor, places: Mapping[str, Tensor], blanks: int = BLANKS) -> Tensor:
    """The share (P,) of the evidence that each part keeps: between the points of the line that read −1 and +1, parts
    are exchanged, and what is read after blank inputs is attributed to them (Shapley values)."""
    low, high = line.at(-AWAY), line.at(AWAY)

    def value(chosen: frozenset[int]) -> Tensor:
        h = low.clone()
        for part, place in enumerate(places.values()):
            if part in chosen:
                h[place] = high[place]
        for _ in range(blanks):
            h = network.step(h.unsqueeze(0))[0]
        return network.logit(h).double()

    shares = shapley(value, len(places))
    total = shares.sum()
    left = abs(float(total)) > ROUNDING * torch.finfo(network.h0.dtype).eps
    return (shares / total if left else torch.full_like(shares, torch.nan)).cpu()


def _grouped(places: Mapping[str, Tensor], most: int) -> dict[str, Tensor]:
    """Parts as they are, whole layers, or groups of layers: the first of these that has at most `most` parts."""
    if len(places) <= most:
        return dict(places)
    layers: dict[int, list[Tensor]] = {}
    for name, place in places.items():
        number = int(name.split()[1]) if name.startswith("layer ") else max(layers, default=0) + 1
        layers.setdefault(number, []).append(place)
    whole = [(number, torch.cat(parts)) for number, parts in sorted(layers.items())]
    size = -(-len(whole) // most)
    groups = [whole[i : i + size] for i in range(0, len(whole), size)]
    names = [f"layer {g[0][0]}" if len(g) == 1 else f"layers {g[0][0]} to {g[-1][0]}" for g in groups]
    return {name: torch.cat([place for _, place in group]) for name, group in zip(names, groups, strict=True)}
