"""Adam, with two options for the word embeddings.

Adam moves all parameters by steps of similar size, so each occurrence of a rare word moves its embedding far, which
adds noise. With a large `word_epsilon` the step follows the size of the gradient instead. `sparsity` shortens every
embedding at every step: words without an effect end at exactly zero (near zero if weights are averaged).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rnnlens.networks import AnyNetwork
from rnnlens.runs.config import TrainConfig

RISES = (0.15, 0.5)  # shares of training between which sparsity rises from 0: words need time to gain an effect


def make_optimiser(network: AnyNetwork, config: TrainConfig) -> torch.optim.Optimizer:
    kind = torch.optim.AdamW if config.decoupled else torch.optim.Adam
    groups: list[dict[str, Any]] = [{"params": [p for p in network.parameters() if p is not network.E]}]
    if network.E is not None:
        groups.append({"params": [network.E], "eps": config.word_epsilon})
    return kind(
        groups,
        lr=config.learning_rate,
        betas=config.betas,
        weight_decay=config.weight_decay,
        fused=True,
    )


@torch.no_grad()
def clip_gradients(gradients: list[Tensor], most: float) -> None:
    """Scale gradients in place, so that the norm of all of them together is at most `most`. (The same numbers as by
    torch.nn.utils.clip_grad_norm_, without its checks, which take longer than the kernels of a small network.)"""
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    torch._foreach_mul_(gradients, (most / (norm + 1e-6)).clamp(max=1.0))


@torch.no_grad()
def shrink_words(E: Tensor, config: TrainConfig, step: int, total: int) -> None:
    """Shorten each word embedding (W, D) by learning rate × sparsity, in place: the proximal step of a penalty on the
    embeddings' norms."""
    low, high = RISES
    ramp = min(1.0, max(0.0, ((step + 1) / total - low) / (high - low)))
    cut = ramp * config.rate(step, total) * config.sparsity
    E.mul_((1 - cut / E.norm(dim=1, keepdim=True).clamp(min=1e-30)).clamp(min=0))
