"""Training without redundancy: what modifiers and edges do on average belongs to the words' own weights.

Left free, it drifts into the scales, where the L2 term does not see it. So a model is trained with the mean of every
scale taken off, and at the end written in the paper's form, which computes the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rnnlens.baselines.convolution import Convolution
from rnnlens.corpora.splits import Split


class Average(NamedTuple):
    """Documents as far as averages need them: how often each modifier is met, as a share of all words (M,); typical
    lengths (Q,); which share of words is kept, where some are dropped in training."""

    share: Tensor
    lengths: Tensor
    kept: float

    @classmethod
    def of(cls, split: Split, model: Convolution, max_words: int | None, kept: float) -> Average:
        words, W = np.asarray(split.ids), model.shape.words
        counts = np.bincount(words[words < W], minlength=W)[list(model.shape.modifiers)]
        lengths = split.lengths if max_words is None else np.minimum(split.lengths, max_words)
        typical = np.maximum(1, np.quantile(lengths, np.linspace(0.02, 0.98, 25)))
        share = torch.from_numpy(counts / max(1, len(words))).to(model.beta)
        return cls(share, torch.from_numpy(typical).to(model.beta), kept)


def means(model: Convolution, average: Average, kept: float = 1.0) -> list[Tensor]:
    """What each scale is for a word on average, where so large a share of the words is read."""
    shape, found = model.shape, list[Tensor]()
    if shape.modifiers:
        decay = torch.exp(-torch.exp(-model.log_tau))
        reach = decay**shape.first_lag / (1 - decay)  # Σ_s exp(−s/τ): over how many words, in sum, each acts
        found += kept * (average.share @ (model.alpha * reach.unsqueeze(1)))
    if shape.edges:
        rate = torch.exp(-model.edge_log_tau)
        in_sum = (1 - torch.exp(-average.lengths.unsqueeze(1) * rate)).sum(0) / (1 - torch.exp(-rate))
        found += model.edge_alpha * in_sum / average.lengths.sum()
    return found


def offsets(model: Convolution, average: Average, kept: float = 1.0) -> list[Tensor]:
    """What to take off each scale: its mean; nothing where weights are of its own but others scale β, since `fold`
    cannot do both."""
    own = model.shape.scales
    return [
        mean if all(own) or not theirs else torch.zeros_like(mean)
        for mean, theirs in zip(means(model, average, kept), own, strict=True)
    ]


@torch.no_grad()
def fold(model: Convolution, average: Average) -> None:
    """Write a model without offsets: Σ (scale − mean) w + β is Σ scale w plus another β; where scales are of β itself,
    (1 + Σ (scale − mean)) β is (1 + Σ scale/c) c β with c = 1 − Σ mean."""
    own, off = model.shape.scales, offsets(model, average)
    if own and all(own):
        model.beta.sub_(model.tables().weights[:, 1:] @ torch.stack(off))
    elif own:
        c = 1 - torch.stack(off).sum()
        model.beta.mul_(c)
        for name, theirs in (("alpha", model.shape.own_weights), ("edge_alpha", model.shape.own_edges)):
            if hasattr(model, name) and not theirs:
                getattr(model, name).div_(c)
    model.offsets = None


@torch.no_grad()
def settle(model: Convolution, average: Average) -> None:
    """End training. Every word counts less now that none is dropped, so that sums are on average what they were.
    (Scales stay: with modifiers missing now and then, what they do was learnt too weak.) Fold; keep the means."""
    for name, parameter in model.named_parameters():
        if name.startswith("beta"):
            parameter.mul_(average.kept)
    if model.offsets is not None:
        fold(model, average)
    for place, mean in enumerate(means(model, average)):
        model.mean_scales[place] = mean


def average_weights(model: Convolution) -> Tensor:
    """What each word adds on average, (W,): with the changes it usually undergoes."""
    total, columns = model.beta, iter(model.tables().weights[:, 1:].unbind(1))
    for mean, own in zip(model.mean_scales, model.shape.scales, strict=True):
        total = total + mean * (next(columns) if own else model.beta)
    return total
