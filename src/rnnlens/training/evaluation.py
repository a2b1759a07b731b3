"""Accuracy and loss of a network on a split, read in batches of similar length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.corpora.batches import token_batches
from rnnlens.corpora.grades import targets_of
from rnnlens.corpora.protocol import SplitLike
from rnnlens.networks import AnyNetwork, BothWays, check_words
from rnnlens.networks.matching import check_known_classes
from rnnlens.networks.parallel import batch_of, in_parallel
from rnnlens.training.weighting import source_numbers

if TYPE_CHECKING:
    from accelerate import Accelerator

WORDS, REVIEWS = 2**16, 512  # padded words and reviews in a batch


@dataclass(frozen=True)
class Evaluation:
    """accuracy: share of reviews on the right side, neutral ones left out, or whose most probable class is theirs (toy:
    of words within 0.5 of the target); loss: the mean training loss; logits: the final logit of each review (n,), or
    (n, C) of C classes, in the split's order (toy: after every word, (n, T))."""

    accuracy: float
    loss: float
    logits: np.ndarray


def losses(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Loss and correctness of each review (B,): cross-entropy of the final logit (B,) or of those of C classes (B, C)
    with labels or grades (B,), or the mean squared error of logits (B, T) after every word with targets (B, T). Neutral
    reviews, of grade 0.5, are never correct."""
    if labels.ndim == 1 and logits.ndim == 2:
        numbers = labels.long()
        return F.cross_entropy(logits, numbers, reduction="none"), (logits.argmax(1) == numbers).to(logits.dtype)
    if labels.ndim == 1:
        loss = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
        return loss, (((logits > 0) == (labels > 0.5)) & (labels != 0.5)).to(logits.dtype)
    error = logits - labels
    return error.square().mean(1), (error.abs() < 0.5).to(logits.dtype).mean(1)


def read_out(network: AnyNetwork, e: Tensor, lengths: Tensor, per_word: bool) -> Tensor:
    """The logits that enter the loss, for embedded reviews e (B, T, D): after every word (B, T), or the last, (B,) or
    (B, C)."""
    if network.several_classes or isinstance(network, BothWays):
        return network.last_logits_of(e, lengths)
    logits = network.logits_of(e)
    return logits[:, 1:] if per_word else logits.gather(1, lengths.unsqueeze(1)).squeeze(1)


@in_range("evaluate")
def evaluate(
    network: AnyNetwork,
    split: SplitLike,
    max_words: int | None = None,
    tokens: int | None = None,
    most: int | None = None,
) -> Evaluation:
    """Accuracy, loss and logits of a network on a split of a corpus; at most `tokens` padded words and `most` reviews
    at a time, or fewer where that suits the device."""
    if not len(split):
        raise RnnlensError("the split has no reviews: expected at least one to evaluate on")
    check_known_classes(network, split)
    check_words(network, split)
    correct, loss, logits = _read(network, split, np.arange(len(split)), max_words, tokens, most)
    return Evaluation(float(correct.sum()) / max(1, counted(split).sum()), float(loss.sum()) / len(split), logits)


def counted(split: SplitLike) -> np.ndarray:
    """A mask (n,) of the reviews that accuracy counts: all but neutral ones."""
    return np.ones(len(split), bool) if getattr(split, "grades", None) is None else targets_of(split) != 0.5


def evaluate_together(
    accelerator: Accelerator, network: AnyNetwork, split: SplitLike, max_words: int | None, sources: Sequence[str] = ()
) -> tuple[float, float, dict[str, dict[str, float]]]:
    """Accuracy and loss on a split, and both for each of several sources. Every process reads its share of the split,
    so all processes must call this."""
    mine = np.arange(accelerator.process_index, len(split), accelerator.num_processes)
    correct, loss, _ = _read(network, split, mine, max_words)
    numbers = source_numbers(split, sources)
    rows = [np.bincount(numbers[mine], x[mine], max(1, len(sources))) for x in (correct, loss)]
    sums = accelerator.reduce(torch.tensor(np.stack(rows), dtype=torch.float64, device=accelerator.device))
    n, known = (np.bincount(numbers[mask], minlength=max(1, len(sources))) for mask in (slice(None), counted(split)))
    by_source = {
        name: {"accuracy": float(sums[0, i] / known[i]), "loss": float(sums[1, i] / n[i]), "n": int(known[i])}
        for i, name in enumerate(sources)
        if known[i]
    }
    correct_sum, loss_sum = sums.sum(1).tolist()
    return correct_sum / max(1, known.sum()), loss_sum / len(split), by_source


@torch.no_grad()
def _read(
    network: AnyNetwork,
    split: SplitLike,
    chosen: np.ndarray,
    max_words: int | None,
    tokens: int | None = None,
    most: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Correctness (n,), loss (n,) and logits of the chosen reviews; 0 for the others."""
    device, labels = network.h0.device, targets_of(split)
    lengths = split.lengths[chosen] if max_words is None else np.minimum(split.lengths[chosen], max_words)
    classes = (len(network.classes),) if network.several_classes else ()
    logits = np.zeros((*labels.shape, *classes), dtype=np.float32)
    loss, correct = np.zeros(len(split)), np.zeros(len(split))
    words, reviews = batch_of(network, WORDS, REVIEWS)
    batches = token_batches(lengths, min(words, tokens or words), min(reviews, most or reviews))

    def read(part: tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]) -> None:
        rows, padded = part
        ids, n = (torch.from_numpy(array).to(device) for array in padded)
        target = torch.from_numpy(labels[rows].astype(np.float32)).to(device)
        out = read_out(network, network.embed(ids), n, per_word=labels.ndim == 2).float()
        batch_loss, batch_correct = losses(out, target)
        logits[rows] = out.cpu().numpy()
        loss[rows], correct[rows] = batch_loss.cpu().numpy(), batch_correct.cpu().numpy()

    in_parallel(read, ((rows, split.batch(rows, max_words)) for rows in (chosen[batch] for batch in batches)), network)
    return correct, loss, logits
