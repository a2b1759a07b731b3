"""Impulse responses: how the state returns to the line after a modifier (§5.2.1, Fig. 4), and its τ (Fig. 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.display import Shown, table_html
from rnnlens.common.ranges import in_range
from rnnlens.context.decay import ExponentialFit, fit_exponential
from rnnlens.context.effects import STATES, word_inputs
from rnnlens.context.modifiers import Modifiers
from rnnlens.context.subspace import Subspace
from rnnlens.dynamics import LineAttractor
from rnnlens.networks import Network
from rnnlens.networks.parallel import cores_for, in_parallel


@torch.no_grad()
def responses(network: Network, h: Tensor, steps: int) -> Tensor:
    """States (..., steps+1, N) under blank inputs, starting with h (..., N)."""
    states = [h]
    for _ in range(steps):
        states.append(network.step(states[-1]))
    return torch.stack(states, -2)


@torch.no_grad()
def settle(network: Network, h: Tensor, steps: int) -> Tensor:
    """The states after `steps` blank inputs, (..., N) → (..., N)."""
    return rest(network, h, (steps,))[1]


@torch.no_grad()
def rest(network: Network, h: Tensor, counts: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Read blank inputs from states h (..., N): the logits (len(counts), ...) after each of the given numbers of them,
    which rise, and the states (..., N) after the last."""

    def run(h: Tensor) -> tuple[Tensor, Tensor]:
        logits = []
        for before, count in zip((0, *counts), counts, strict=False):
            for _ in range(count - before):
                h = network.step(h)
            logits.append(network.logit(h))
        return torch.stack(logits), h

    few = max(64, 2**17 // network.size)  # states that one core takes at a time
    parts = in_parallel(run, h.reshape(-1, h.shape[-1]).split(few), network)
    logits = torch.cat([part[0] for part in parts], 1)
    return logits.reshape(len(counts), *h.shape[:-1], *logits.shape[2:]), torch.cat([x[1] for x in parts]).view_as(h)


@dataclass(frozen=True, eq=False, repr=False)
class Impulse(Shown):
    """The states after one word and then blank inputs.

    states    (T+1, N)  h_mod, then the states under blank inputs
    along     (T+1,)    the logit
    coordinates (T+1, R)  coordinates in the modifier subspace
    distance  (T+1,)    distance from the line
    fit                 an exponential fitted to the distance
    """

    word: str
    states: Tensor
    along: Tensor
    coordinates: Tensor
    distance: Tensor
    fit: ExponentialFit

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `impulse.<word>`."""
        t = torch.arange(len(self.distance), dtype=self.distance.dtype, device=self.distance.device)
        tau = float(self.fit.tau)
        return {
            "logit": self.along.tolist(),
            "coordinates": self.coordinates.tolist(),
            "distance": self.distance.tolist(),
            "tau": None if tau != tau else tau,
            "fit": None if tau != tau else self.fit.at(t).tolist(),
            "r2": float(self.fit.r2),
        }


@in_range()
def impulse(network: Network, line: LineAttractor, subspace: Subspace, word: str, steps: int = 30) -> Impulse:
    """The impulse response to a word from h* (Fig. 4)."""
    return impulses(network, line, subspace, [word], steps)[word]


@torch.no_grad()
def impulses(
    network: Network, line: LineAttractor, subspace: Subspace, words: Sequence[str], steps: int = 30
) -> dict[str, Impulse]:
    """The impulse responses to several words, which are computed together."""
    line.check_blank()
    found = {}
    for some in _several(words, network, steps):
        after = responses(network, network.step(line.h_star, word_inputs(network, some)), steps)
        for word, states in zip(some, after, strict=True):
            distance = line.distance(states)
            logits, coordinates = network.logit(states), subspace.project(states)
            found[word] = Impulse(word, states, logits, coordinates, distance, fit_exponential(distance))
    return found


def _several(words: Sequence[str], network: Network, steps: int) -> Iterator[Sequence[str]]:
    """Words in groups whose responses fit into memory."""
    few = max(1, STATES // ((steps + 1) * network.size))
    return (words[i : i + few] for i in range(0, len(words), few))


@dataclass(frozen=True, eq=False, repr=False)
class Timescales(Shown):
    """How fast modifiers decay along each component of the subspace (Fig. 7).

    tau    (M, R)  in words, NaN where a component does not decay exponentially
    r2     (M, R)  share of the coordinate's variance over time that the exponential explains
    paths  (M, T+1, R)  the coordinates over time
    """

    words: list[str]
    tau: Tensor
    r2: Tensor
    paths: Tensor

    def mean(self) -> list[float | None]:
        """The mean τ of each component over the words with a τ; None if no word has one."""
        return [_plain(column[~column.isnan()].mean()) for column in self.tau.t()]

    def median(self) -> list[float | None]:
        return [_plain(column.nanmedian()) for column in self.tau.t()]

    def columns(self, words: list[str]) -> dict[str, list[float | None]]:
        """τ along each component for the given words, as columns of a table; None for a word without one."""
        known = {word: [_plain(x) for x in row] for word, row in zip(self.words, self.tau, strict=True)}
        none: list[float | None] = [None] * self.tau.shape[1]
        return {f"tau_{p + 1}": [known.get(word, none)[p] for word in words] for p in range(self.tau.shape[1])}

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `timescales`."""
        return {
            "mean": self.mean(),
            "median": self.median(),
            "decaying": [int((~column.isnan()).sum()) for column in self.tau.t()],
            "words": self.words,
            "tau": [[_plain(x) for x in row] for row in self.tau],
        }

    def _table(self) -> str:
        head = ["word", *(f"τ {p + 1}" for p in range(self.tau.shape[1]))]
        return table_html(
            [[word, *map(_plain, row)] for word, row in zip(self.words, self.tau, strict=True)][:10], head
        )


@torch.no_grad()
@in_range()
def timescales(network: Network, subspace: Subspace, modifiers: Modifiers, steps: int = 30) -> Timescales:
    """Exponential fits to the modifiers' coordinates in the subspace, under blank inputs."""

    def path(rows: Tensor) -> Tensor:
        h = modifiers.after(rows)
        coordinates = [subspace.project(h)]
        for _ in range(steps):
            h = network.step(h)
            coordinates.append(subspace.project(h))
        return torch.stack(coordinates, 1)

    rows = torch.tensor([modifiers.row(word) for word in subspace.words], device=modifiers.ids.device)
    few = min(-(-len(rows) // cores_for(network)), STATES // network.size)
    paths = torch.cat(in_parallel(path, rows.split(max(1, few)), network))
    fit = fit_exponential(paths.transpose(1, 2))
    # If a word hardly moves the state along a component, nothing decays there.
    moved = paths[:, 0].abs() >= 0.05 * paths[:, 0].norm(dim=1, keepdim=True)
    return Timescales(subspace.words, torch.where(moved, fit.tau, torch.nan), fit.r2, paths)


def _plain(x: Tensor) -> float | None:
    value = float(x)
    return None if value != value else value
