"""How far a modifier reaches: its interaction with probe words that follow it at a distance.

At lag 1 a probe stands right after the modifier, at lag k there are k − 1 pads between them. τ is the lag at which the
interaction has fallen to 1/e of its value at lag 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from rnnlens.context.effects import effects
from rnnlens.context.probes import Probes
from rnnlens.dynamics import LineAttractor
from rnnlens.networks import Network


@dataclass(frozen=True, eq=False)
class Scopes:
    """Of M words: interactions (M, L) at lags 1 … L as a share of valence, and tau (M,), NaN where they do not fall."""

    ids: Tensor
    interaction: Tensor
    tau: Tensor


@torch.no_grad()
def scopes(
    network: Network, line: LineAttractor, ids: Tensor, probes: Probes, lags: int = 20, at: Tensor | None = None
) -> Scopes:
    """The reach of words (M,), read at h*, or, on average, at several states `at` (K, N)."""
    starts = line.h_star.unsqueeze(0) if at is None else at.to(line.h_star)
    found = torch.stack([lagged_interaction(network, line, ids, probes, lags, start) for start in starts]).mean(0)
    return Scopes(ids, found, falls_to(found))


@torch.no_grad()
def lagged_interaction(
    network: Network, line: LineAttractor, ids: Tensor, probes: Probes, lags: int, start: Tensor
) -> Tensor:
    """By how much the probes' contrast, beyond what it is at the nearest point of the line, differs at lags 1 … L after
    each of the words (M,) read at `start` (N,) from what it is where a pad was read in its place; as a share of the
    contrast at `start`: (M, L)."""
    assert network.E is not None
    e = probes.inputs(network)
    on_line = probes.contrast(effects(network, line.knots, e))
    inputs = torch.cat([network.E.new_zeros(1, network.inputs), network.E.detach()[ids]])
    h = network.step(start.expand(len(inputs), -1), inputs)
    found = []
    for lag in range(lags):
        h = network.step(h) if lag else h
        beyond = probes.contrast(effects(network, h, e)) - line.interpolate(on_line, h)
        found.append(beyond[1:] - beyond[0])
    return torch.stack(found, 1) / probes.contrast(effects(network, start, e))


def falls_to(curves: Tensor, level: float = math.exp(-1)) -> Tensor:
    """The place, from 1, at which each of the curves (..., L) first falls to a share of its first value; NaN where none
    does. Between places a curve is taken as exponential, or as straight where it changes its sign."""
    ratio = curves / torch.where(curves[..., :1] == 0, torch.nan, curves[..., :1])
    below = ratio <= level
    k = below.int().argmax(-1, keepdim=True)  # the first place below; 0 where there is none, as the first one is 1
    before, after = ratio.gather(-1, (k - 1).clamp(min=0)), ratio.gather(-1, k)
    straight = (before - level) / (before - after)
    exponential = (before / level).log() / (before / after.clamp(min=1e-30)).log()
    place = k + torch.where(after > 0, exponential, straight)
    return torch.where(k > 0, place, torch.nan).squeeze(-1)
