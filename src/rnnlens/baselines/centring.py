"""Centered scales: the mean effect of modifiers and edges is part of the words' own weights.

Without centering it would move into the scales, which the L2 penalty does not cover. So the mean of every scale is
subtracted during training; at the end the model is rewritten in the paper's form, which computes the same logits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rnnlens.baselines.convolution import Convolution
from rnnlens.corpora.splits import Split


class Average(NamedTuple):
    """Averages over documents: share (M,) of each modifier among all words; typical lengths (Q,) of documents; kept,
    the share of words that word dropout keeps."""

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
    """The mean of each scale over words, if the share `kept` of the words is read."""
    shape, scales = model.shape, list[Tensor]()
    if shape.modifiers:
        decay = torch.exp(-torch.exp(-model.log_tau))
        reach = decay**shape.first_lag / (1 - decay)  # Σ_s exp(−s/τ) over the words after a modifier
        scales += kept * (average.share @ (model.alpha * reach.unsqueeze(1)))
    if shape.edges:
        rate = torch.exp(-model.edge_log_tau)
        sums = (1 - torch.exp(-average.lengths.unsqueeze(1) * rate)).sum(0) / (1 - torch.exp(-rate))
        scales += model.edge_alpha * sums / average.lengths.sum()
    return scales


def offsets(model: Convolution, average: Average, kept: float = 1.0) -> list[Tensor]:
    """What to subtract from each scale: its mean, or 0 for a scale with own weights if others scale β, because `fold`
    cannot rewrite both."""
    own = model.shape.scales
    return [
        mean if all(own) or not has_own else torch.zeros_like(mean)
        for mean, has_own in zip(means(model, average, kept), own, strict=True)
    ]


@torch.no_grad()
def fold(model: Convolution, average: Average) -> None:
    """Rewrite a model without offsets. Scales with own weights w: Σ (scale − mean) w + β is Σ scale w plus another β.
    Scales of β itself: (1 + Σ (scale − mean)) β is (1 + Σ scale/c) c β with c = 1 − Σ mean."""
    own, off = model.shape.scales, offsets(model, average)
    if own and all(own):
        model.beta.sub_(model.tables().weights[:, 1:] @ torch.stack(off))
    elif own:
        c = 1 - torch.stack(off).sum()
        model.beta.mul_(c)
        for name, has_own in (("alpha", model.shape.own_weights), ("edge_alpha", model.shape.own_edges)):
            if hasattr(model, name) and not has_own:
                getattr(model, name).div_(c)
    model.offsets = None


@torch.no_grad()
def settle(model: Convolution, average: Average) -> None:
    """Finish training: scale the words' weights by the share that dropout kept, so that sums have the same mean without
    dropout; fold the offsets; store the mean scales. The scales themselves are not reduced: because modifiers were
    dropped now and then, they were learned too weak."""
    for name, parameter in model.named_parameters():
        if name.startswith("beta"):
            parameter.mul_(average.kept)
    if model.offsets is not None:
        fold(model, average)
    for place, mean in enumerate(means(model, average)):
        model.mean_scales[place] = mean


def average_weights(model: Convolution) -> Tensor:
    """The mean contribution of each word, (W,), with the mean changes by modifiers and edges."""
    total, columns = model.beta, iter(model.tables().weights[:, 1:].unbind(1))
    for mean, has_own in zip(model.mean_scales, model.shape.scales, strict=True):
        total = total + mean * (next(columns) if has_own else model.beta)
    return total
