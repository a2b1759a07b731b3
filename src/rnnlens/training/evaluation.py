"""How well a network does on a split, whole and batched by length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.common.errors import RnnlensError
from rnnlens.corpora.protocol import SplitLike
from rnnlens.networks import Network
from rnnlens.training.batches import token_batches
from rnnlens.training.weighting import source_numbers

if TYPE_CHECKING:
    from accelerate import Accelerator


@dataclass(frozen=True)
class Evaluation:
    """accuracy: share of reviews on the right side (toy: of words within 0.5 of the target); loss: the mean training
    loss; logits: the final logit of each review (n,), in the split's order (toy: after every word, (n, T))."""

    accuracy: float
    loss: float
    logits: np.ndarray


def losses(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Loss and correctness of each review (B,): cross-entropy of the final logit (B,) with labels (B,), or the mean
    squared error of logits (B, T) after every word with targets (B, T)."""
    if labels.ndim == 1:
        loss = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
        return loss, ((logits > 0) == (labels > 0.5)).to(logits.dtype)
    error = logits - labels
    return error.square().mean(1), (error.abs() < 0.5).to(logits.dtype).mean(1)


def read_out(network: Network, e: Tensor, lengths: Tensor, per_word: bool) -> Tensor:
    """The logits that the loss looks at, of embedded reviews e (B, T, D): after every word, or the last of each."""
    logits = network.logits_of(e)
    return logits[:, 1:] if per_word else logits.gather(1, lengths.unsqueeze(1)).squeeze(1)


def evaluate(
    network: Network, split: SplitLike, max_words: int | None = None, tokens: int = 2**16, most: int = 512
) -> Evaluation:
    """Accuracy, loss and logits of a network on a split of a corpus; at most `tokens` padded words at a time."""
    if not len(split):
        raise RnnlensError("there are no reviews to evaluate on: expected at least one")
    correct, loss, logits = _read(network, split, np.arange(len(split)), max_words, tokens, most)
    return Evaluation(float(correct.sum()) / len(split), float(loss.sum()) / len(split), logits)


def evaluate_together(
    accelerator: Accelerator, network: Network, split: SplitLike, max_words: int | None, sources: Sequence[str] = ()
) -> tuple[float, float, dict[str, dict[str, float]]]:
    """Accuracy and loss on a split, of which every process reads its share, and both for each of several sources. All
    processes must call it."""
    mine = np.arange(accelerator.process_index, len(split), accelerator.num_processes)
    correct, loss, _ = _read(network, split, mine, max_words)
    numbers = source_numbers(split, sources)
    rows = [np.bincount(numbers[mine], x[mine], max(1, len(sources))) for x in (correct, loss)]
    sums = accelerator.reduce(torch.tensor(np.stack(rows), dtype=torch.float64, device=accelerator.device))
    n = np.bincount(numbers, minlength=max(1, len(sources)))
    found = {
        name: {"accuracy": float(sums[0, i] / n[i]), "loss": float(sums[1, i] / n[i]), "n": int(n[i])}
        for i, name in enumerate(sources)
        if n[i]
    }
    accuracy, mean = (sums.sum(1) / len(split)).tolist()
    return accuracy, mean, found


@torch.no_grad()
def _read(
    network: Network, split: SplitLike, chosen: np.ndarray, max_words: int | None, tokens: int = 2**16, most: int = 512
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each of the chosen reviews whether it is right and its loss (n,), and its logits (of the others, 0)."""
    device, labels = network.h0.device, np.asarray(split.labels)
    lengths = split.lengths[chosen] if max_words is None else np.minimum(split.lengths[chosen], max_words)
    logits = np.zeros(labels.shape, dtype=np.float32)
    loss, correct = np.zeros(len(split)), np.zeros(len(split))
    for batch in token_batches(lengths, tokens, most):
        rows = chosen[batch]
        ids, n = (torch.from_numpy(part).to(device) for part in split.batch(rows, max_words))
        target = torch.from_numpy(labels[rows].astype(np.float32)).to(device)
        out = read_out(network, network.embed(ids), n, per_word=labels.ndim == 2).float()
        losses_, correct_ = losses(out, target)
        logits[rows] = out.cpu().numpy()
        loss[rows], correct[rows] = losses_.cpu().numpy(), correct_.cpu().numpy()
    return correct, loss, logits
