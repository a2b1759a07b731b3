"""Adam, and what is different for embedded words.

Adam gives every number steps of like size. For the thousands of words that are seldom seen this means noise: each
occurrence moves them far. `word_epsilon` lets a word's steps follow the size of its gradient instead, and `sparsity`
takes from every word, at every step, what only words with an effect win back: the rest end at exactly zero (near it,
where weights are averaged).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rnnlens.networks import Network
from rnnlens.runs.config import TrainConfig

RISES = (0.15, 0.5)  # shares of training between which sparsity rises: at first words have no effect to stay for


def make_optimiser(network: Network, config: TrainConfig) -> torch.optim.Optimizer:
    kind = torch.optim.AdamW if config.decoupled else torch.optim.Adam
    groups: list[dict[str, Any]] = [{"params": [p for p in network.parameters() if p is not network.E]}]
    if network.E is not None:
        groups.append({"params": [network.E], "eps": config.word_epsilon})
    return kind(
        groups,
        lr=config.learning_rate,
        betas=(config.momentum, config.second_momentum),
        weight_decay=config.weight_decay,
        fused=True,
    )


@torch.no_grad()
def shrink_words(E: Tensor, config: TrainConfig, step: int, total: int) -> None:
    """Shorten each embedded word (W, D) by the learning rate times sparsity, in place: the proximal step of a penalty
    on the words' lengths."""
    low, high = RISES
    full = min(1.0, max(0.0, ((step + 1) / total - low) / (high - low)))
    cut = full * config.rate(step, total) * config.sparsity
    E.mul_((1 - cut / E.norm(dim=1, keepdim=True).clamp(min=1e-30)).clamp(min=0))
