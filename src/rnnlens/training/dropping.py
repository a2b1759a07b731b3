"""What a training step does to its words: blank inputs put in, words dropped, components of embedded words dropped."""

from __future__ import annotations

import torch
from torch import Tensor

from rnnlens.corpora.vocab import PAD
from rnnlens.runs.config import TrainConfig


def insert_blanks(ids: Tensor, lengths: Tensor, places: Tensor, blanks: int) -> tuple[Tensor, Tensor]:
    """Ids (B, T) with a stretch of blank inputs in each row, before its word number `places` (B,); the new lengths."""
    t = torch.arange(ids.shape[1] + blanks, device=ids.device)
    before, within = t < places[:, None], (t >= places[:, None]) & (t < places[:, None] + blanks)
    words = ids.gather(1, torch.where(before, t, t - blanks).clamp(0, ids.shape[1] - 1))
    return words.masked_fill(within, PAD), lengths + blanks


def drop(
    ids: Tensor,
    inputs: int,
    config: TrainConfig,
    generator: torch.Generator,
    whole: tuple[int, int] | None = None,
    share: slice = slice(None),
) -> tuple[Tensor, Tensor | None]:
    """Word dropout: ids (B, T) in which some words have become no input. Embedding dropout: a mask (B, T, D), scaled
    so that embedded words keep their mean; None without it.

    Where the ids are a `share` of the rows of a larger batch, of shape `whole`, what drops is what would drop there."""
    mask, (rows, width), T = None, whole or tuple(ids.shape), ids.shape[1]
    if config.word_dropout:
        chance = torch.rand(rows, width, generator=generator, device=ids.device)
        if config.dropout_run > 1:  # the words of a run share their chance, that of the run's number
            starts = torch.rand(rows, width, generator=generator, device=ids.device) < 1 / config.dropout_run
            chance = chance.gather(1, starts.cumsum(1).clamp(max=width - 1))
        ids = ids.masked_fill(chance[share, :T] < config.word_dropout, PAD)
    if config.embedding_dropout:
        keep = 1 - config.embedding_dropout
        mask = torch.empty(rows, width, inputs, device=ids.device).bernoulli_(keep, generator=generator)
        mask = mask[share, :T] / keep
    return ids, mask
