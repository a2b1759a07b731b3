"""Changes to the words of a training batch: blank inputs inserted, words dropped, embedding components dropped."""

from __future__ import annotations

import torch
from torch import Tensor

from rnnlens.corpora.vocab import PAD
from rnnlens.runs.config import TrainConfig


def insert_blanks(ids: Tensor, lengths: Tensor, places: Tensor, blanks: int) -> tuple[Tensor, Tensor]:
    """Insert `blanks` blank inputs into each row of ids (B, T), before word number `places` (B,); ids and lengths."""
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
    """Word dropout: ids (B, T) with some words replaced by blank inputs. Embedding dropout: a mask (B, T, D), scaled
    so that embedded words keep their mean, and 0 for blank inputs; None without it.

    If the ids are the rows `share` of a larger batch of shape `whole`, the random numbers are drawn for that batch, so
    that the same words drop however many processes share it."""
    mask, (rows, width), T = None, whole or tuple(ids.shape), ids.shape[1]
    if config.word_dropout:
        chance = torch.rand(rows, width, generator=generator, device=ids.device)
        if config.dropout_run > 1:  # all words of a run share one random number
            starts = torch.rand(rows, width, generator=generator, device=ids.device) < 1 / config.dropout_run
            chance = chance.gather(1, starts.cumsum(1).clamp(max=width - 1))
        ids = ids.masked_fill(chance[share, :T] < config.word_dropout, PAD)
    if config.embedding_dropout:
        keep = 1 - config.embedding_dropout
        mask = torch.empty(rows, width, inputs, device=ids.device).bernoulli_(keep, generator=generator)
        mask = mask[share, :T].mul_(((ids != PAD) / keep).unsqueeze(-1))
    return ids, mask
