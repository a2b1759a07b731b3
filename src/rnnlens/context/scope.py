"""How far a modifier reaches: what it changes of probe words that follow it at a distance.

At lag 1 a probe stands right after the modifier, at lag k there are k − 1 blank inputs, or other words, between them. τ
is the lag at which the change has fallen to 1/e of its value at lag 1. Networks forget a modifier sooner over words
than over blank inputs; measured among words as they are read, reaches are nearer the truth of languages where it is
known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.context.effects import effects
from rnnlens.context.probes import Probes
from rnnlens.context.strength import STRONG, lasting
from rnnlens.dynamics import LineAttractor, visited_states
from rnnlens.networks import Network

LAGS = 12
CONTEXTS = 32  # states from which reaches are measured, each with other words behind
SUREST = 100  # words whose reaches together are the usual one


@dataclass(frozen=True, eq=False)
class Scopes:
    """Of M words: strengths (M, L) at lags 1 … L as a share of valence, and tau (M,), NaN where they do not fall."""

    ids: Tensor
    interaction: Tensor
    tau: Tensor


@torch.no_grad()
def scopes(
    network: Network, line: LineAttractor, ids: Tensor, probes: Probes, lags: int = 20, at: Tensor | None = None,
    between: Tensor | None = None,
) -> Scopes:  # fmt: skip
    """The reach of words (M,), read at h*, or, together, at several states `at` (K, N); with blank inputs behind them,
    or, from each of the states, with other words, whose ids are `between` (K, L − 1).

    As in `context.strength`, strong probes' lasting effects after the word are compared with those after a blank
    input."""
    line.check_blank()
    assert network.E is not None
    starts = line.h_star.unsqueeze(0) if at is None else at.to(line.h_star)
    read, strong = lasting(network, line.h_star), probes.first(STRONG)
    e = strong.inputs(network)
    first = torch.cat([network.E.new_zeros(1, network.inputs), network.E.detach()[ids]])
    total = line.h_star.new_zeros(len(first), lags)
    for k, start in enumerate(starts):
        h = network.step(start.expand(len(first), -1), first)
        for lag in range(lags):
            if lag:
                word = None if between is None else network.E.detach()[between[k, lag - 1]].expand(len(first), -1)
                h = network.step(h, word)
            total[:, lag] += strong.contrast(effects(network, h, e, read))
    found = total[1:] / total[0] - 1
    return Scopes(ids, found, falls_to(found))


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


def fitted(curves: Tensor) -> Tensor:
    """τ (...) of the exponential nearest to each of the curves (..., L) by least squares over all lags, from 1.3 to 20:
    where curves are noisy it is surer than the place at which they fall to 1/e."""
    fades = torch.linspace(0.05, 0.95, 91, dtype=curves.dtype, device=curves.device)
    powers = fades.unsqueeze(1) ** torch.arange(curves.shape[-1], dtype=curves.dtype, device=curves.device)
    explained = (curves @ powers.t()).square() / powers.square().sum(1)
    return 1 - 1 / fades[explained.argmax(-1)].log()


@torch.no_grad()
def reach_curves(
    network: Network, line: LineAttractor, probes: Probes, states: Tensor, corpus: Any, ids: Tensor, seed: int = 0
) -> Tensor:
    """Strengths (R, L) of words at lags 1 … L, from some of the states, with words of the training documents between
    them and the probes."""
    texts = np.asarray(corpus.train.ids)
    drawn = np.random.default_rng(seed).integers(0, len(texts), (CONTEXTS, LAGS - 1))
    between = torch.as_tensor(texts[drawn].astype(np.int64), device=line.h_star.device)
    order = network.logit(states.to(line.h_star)).argsort()
    places = torch.linspace(0.1, 0.9, CONTEXTS, device=order.device).mul(len(order)).long()
    return scopes(network, line, ids, probes, LAGS, states.to(line.h_star)[order[places]], between).interaction


def usual_reach(curves: Tensor) -> Tensor:
    """The reach (L,) of several words together, (R, L), whatever their signs."""
    return (curves * curves[:, :1].sign()).sum(0)


@torch.no_grad()
def usual_tau(
    members: Sequence[tuple[Network, LineAttractor]], probes: Probes, ids: Tensor, sure: Tensor, corpus: Any
) -> float:
    """How far modifiers usually reach: τ of the words (M,) that are surest, together, in networks with their lines, as
    the corpus' documents are read."""
    surest, split = ids[sure.abs().argsort(descending=True)[:SUREST]], corpus.validation or corpus.train
    curves = [
        usual_reach(reach_curves(network, line, probes, visited_states(network, split, n=2_000), corpus, surest))
        for network, line in members
    ]
    return float(fitted(torch.stack([curve.cpu() for curve in curves]).mean(0)))
