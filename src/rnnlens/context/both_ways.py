"""A network that reads both ways: what each half adds to the logit, and which half carries a modifier.

The logit of a text is forward part + backward part + b. The forward reader reads *not good* as *not*, then *good*: it
can change the effect of *good*. The backward one reads *good* first, and can only take back what it added. `in_text`
measures both, in the same unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.context.effects import word_inputs
from rnnlens.context.impulse import settle
from rnnlens.context.perturbation import Difference, Reviews, compare_logits
from rnnlens.context.probes import Probes
from rnnlens.context.strength import ENOUGH
from rnnlens.context.subspace import Subspace, project_out, random_subspace
from rnnlens.dynamics import LineAttractor
from rnnlens.networks import DIRECTIONS, BothWays, Network, reader_of, replaced
from rnnlens.networks.both_ways import reverse

LATER = 10  # blank inputs after a phrase: what is left then stays in the logit of a text
DRAWS = 5  # of random directions

Logits = dict[str, np.ndarray]  # by direction


@torch.no_grad()
def in_text(
    both: BothWays, lines: Mapping[str, LineAttractor], words: Sequence[str], probes: Probes
) -> list[dict[str, Any]]:
    """By how much each word changes what a neighbor of it adds to the logit, by half.

    `before`: the word is before the neighbor in the text, as in *not good*; `after`: after it. Each has the change
    through `forwards` and through `backwards`, both as a share of what the neighbor adds in both halves together, so
    that their sum is the change in the whole network: −1 takes the neighbor's effect away. `error`: the standard error
    of the sum over probe words. Effects are what is left ten blank inputs later."""
    probes = probes.some(ENOUGH)
    changes: dict[str, dict[str, Tensor]] = {"before": {}, "after": {}}
    own = torch.zeros(len(probes.words), dtype=torch.float64)
    for direction in DIRECTIONS:
        network = reader_of(both, direction)
        first, second, alone = _pairs(network, lines[direction].h_star, words, probes)
        # In a text, what the backward reader reads first comes last.
        left, right = ("before", "after") if direction == "forwards" else ("after", "before")
        changes[left][direction], changes[right][direction] = first, second
        own += alone.cpu()
    scale = probes.contrast(own)
    rows = []
    for i, word in enumerate(words):
        row: dict[str, Any] = {"word": word}
        for place, by_half in changes.items():
            halves = {name: float(probes.contrast(change[i]) / scale) for name, change in by_half.items()}
            total = torch.stack([change[i] for change in by_half.values()]).sum(0)
            rest = total - sum(halves.values()) * own  # the error of a ratio: changes in proportion have none
            spread = sum(part.var() / len(part) for part in probes.split(rest) if len(part) > 1)
            row[place] = {**halves, "error": float(torch.as_tensor(spread).sqrt() / scale.abs())}
        rows.append(row)
    return rows


def _pairs(network: Network, h: Tensor, words: Sequence[str], probes: Probes) -> tuple[Tensor, Tensor, Tensor]:
    """Interactions (M, V), in logits, of each word with each probe: read just before it, and just after it; and the
    effect (V,) of each probe alone."""
    blank = h.new_zeros(1, network.inputs)
    e = torch.cat([blank, word_inputs(network, list(words))])
    p = torch.cat([blank, probes.inputs(network)])

    def logits(first: Tensor, second: Tensor) -> Tensor:
        """The logit (A, B) after each of `first` (A, D), then each of `second` (B, D), then blank inputs."""
        states = network.step(h, first).unsqueeze(1)
        after = network.step(states, second)
        return network.logit(settle(network, after.flatten(0, 1), LATER)).reshape(len(first), len(second)).double()

    found = []
    for at in (logits(e, p), logits(p, e).t()):
        found.append((at - at[:1] - at[:, :1] + at[:1, :1])[1:, 1:].cpu())
    alone = logits(blank, p)[0]
    return found[0], found[1], alone[1:] - alone[0]


@torch.no_grad()
def parts(both: BothWays, reviews: Reviews, only: str | None = None) -> Logits:
    """What each half adds to the final logit of every review, (n,), or (n, C) of C classes. only: one half."""
    shape = (len(reviews), *both.forwards.logit(both.forwards.h0).shape)
    found = {name: np.zeros(shape, np.float64) for name in DIRECTIONS if only in (None, name)}
    for rows, ids, n in reviews.batches:
        for name, logits in found.items():
            turned = ids if name == "forwards" else reverse(ids, n)
            logits[rows] = reader_of(both, name)(turned, n).double().cpu().numpy()
    return found


@dataclass(frozen=True)
class Share:
    """Shares of the logit's variance over reviews: the covariance of a half with the whole, over the whole's variance.
    They sum to 1.

    interval     95 % interval of the forward share, over reviews
    correlation  of the two halves
    alone        accuracy with one half, the other at its mean
    """

    forwards: float
    backwards: float
    interval: tuple[float, float]
    correlation: float
    alone: Mapping[str, Difference]
    n: int

    def to_dict(self) -> dict[str, Any]:
        alone = {name: one.to_dict() for name, one in self.alone.items()}
        return {**vars(self), "interval": list(self.interval), "alone": alone}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Share:
        alone = {name: Difference.from_dict(one) for name, one in stored["alone"].items()}
        return cls(**{**stored, "interval": tuple(stored["interval"]), "alone": alone})


def share(both: BothWays, halves: Logits, labels: np.ndarray, class_: str | None = None) -> Share:
    """The share of each half, from what it adds to each review. class_: of several classes, the one that is shown."""
    one = {name: _one_logit(both, logits, class_) for name, logits in halves.items()}
    left, right = (one[name] - one[name].mean() for name in DIRECTIONS)
    whole = left + right
    square = float((whole**2).sum()) or 1e-300
    forward = float((left * whole).sum()) / square
    # The standard error of a regression's slope, without the assumption that all errors are equally large.
    error = float(np.sqrt((whole**2 * (left - forward * whole) ** 2).sum())) / square
    sizes = float(np.sqrt((left**2).sum() * (right**2).sum()))
    before, alone = joined(both, halves), {}
    for name, other in zip(DIRECTIONS, DIRECTIONS[::-1], strict=True):
        mean = np.zeros_like(halves[other]) + halves[other].mean(0)
        alone[name] = compare_logits(before, joined(both, {name: halves[name], other: mean}), labels)
    interval = forward - 1.96 * error, forward + 1.96 * error
    correlation = float((left * right).sum()) / sizes if sizes else 0.0
    return Share(forward, 1 - forward, interval, correlation, alone, len(labels))


def _one_logit(both: BothWays, logits: np.ndarray, class_: str | None) -> np.ndarray:
    if logits.ndim == 1:
        return logits
    k = both.classes.index(str(class_))
    return logits[:, k] - np.delete(logits, k, 1).mean(1)


def joined(both: BothWays, halves: Logits) -> np.ndarray:
    """Final logits of the whole network from those of its halves."""
    left, right = (torch.as_tensor(halves[name]) for name in DIRECTIONS)
    with torch.no_grad():
        return both._joined(left.to(both.b.device), right.to(both.b.device)).cpu().numpy()


@dataclass(frozen=True)
class Removal:
    """Accuracy without the modifier subspace of one half, or of both, and without as many random directions.

    removed  by half, `forwards`, `backwards` or `both`
    random   the same with random directions (orthogonal to the line), several draws
    """

    rank: int
    removed: Mapping[str, Difference]
    random: Mapping[str, Sequence[Difference]]

    def to_dict(self) -> dict[str, Any]:
        parts = {
            name: {"removed": one.to_dict(), "random": [draw.to_dict() for draw in self.random[name]]}
            for name, one in self.removed.items()
        }
        return {"rank": self.rank, **parts}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Removal:
        halves = {name: part for name, part in stored.items() if name in (*DIRECTIONS, "both")}
        removed = {name: Difference.from_dict(part["removed"]) for name, part in halves.items()}
        random = {name: [Difference.from_dict(one) for one in part["random"]] for name, part in halves.items()}
        return cls(stored["rank"], removed, random)


def removal(
    both: BothWays,
    subspaces: Mapping[str, Subspace],
    reviews: Reviews,
    halves: Logits,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Removal:
    """Remove the subspace of each half from its state at every step, and random ones of the same rank. halves: what
    each half adds to each review as it is."""
    before, generator = joined(both, halves), torch.Generator().manual_seed(seed)
    changed: dict[str, list[np.ndarray]] = {}
    for name in DIRECTIONS:
        network, subspace = reader_of(both, name), subspaces[name]
        drawn = (random_subspace(network.size, subspace.rank, generator, subspace.line) for _ in range(draws))
        readers = [project_out(network, subspace)]
        readers += [project_out(network, V.to(network.h0), subspace.h_star) for V in drawn]
        changed[name] = [_read(both, name, reader, reviews) for reader in readers]
    found: dict[str, list[Difference]] = {}
    for name, in_these in (*((one, (one,)) for one in DIRECTIONS), ("both", DIRECTIONS)):
        after = [
            {half: changed[half][i] if half in in_these else halves[half] for half in DIRECTIONS}
            for i in range(draws + 1)
        ]
        found[name] = [compare_logits(before, joined(both, one), reviews.labels) for one in after]
    rank = max(subspace.rank for subspace in subspaces.values())
    return Removal(rank, {name: d[0] for name, d in found.items()}, {name: d[1:] for name, d in found.items()})


def _read(both: BothWays, name: str, reader: Network, reviews: Reviews) -> np.ndarray:
    return parts(replaced(both, name, reader), reviews, only=name)[name]
