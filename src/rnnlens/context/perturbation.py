"""Which perturbations cost accuracy: words shuffled, subspaces removed, with random controls (§5.3.4, Supp. F).

Every comparison is paired: the same reviews before and after. A difference of accuracies has a bootstrap interval over
reviews and McNemar's exact p-value for the hypothesis of no change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.common.allowed import shown
from rnnlens.common.display import Facts, Shown
from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.context.subspace import Subspace, project_out_each, random_subspace
from rnnlens.corpora.batches import token_batches
from rnnlens.corpora.grades import decided
from rnnlens.corpora.protocol import SplitLike
from rnnlens.corpora.vocab import PAD
from rnnlens.networks import Network, check_words
from rnnlens.networks.matching import check_known_classes
from rnnlens.networks.parallel import floats_per_word, in_parallel, room_on
from rnnlens.networks.versions import Versions
from rnnlens.networks.wrapped import Wrapped

Batch = tuple[np.ndarray, Tensor, Tensor]  # rows (B,), ids (B, T), lengths (B,)
HELD = 2**27  # most words that are kept in a CPU's memory between passes: half a gigabyte


@dataclass(frozen=True)
class Reviews:
    """A split's reviews in batches of similar length, for many passes: kept in the memory of the network's device, or
    read again for each pass if they do not fit."""

    labels: np.ndarray
    batches: Iterable[Batch]

    @classmethod
    @in_range("read_reviews")
    def to_read(cls, split: SplitLike, network: Network, max_words: int | None = None) -> Reviews:
        """The reviews in batches that fit in the memory of the network's device; without neutral ones, which accuracy
        leaves out."""
        split = decided(split)
        check_known_classes(network, split)
        check_words(network, split)
        width = floats_per_word(network)
        return cls.of(split, network.h0.device, max_words, width, several=network.several_classes)

    @classmethod
    def of(
        cls,
        split: SplitLike,
        device: torch.device | str,
        max_words: int | None = None,
        width: int = 1024,
        held: int | None = None,
        at_once: int | None = None,
        several: bool = False,
    ) -> Reviews:
        """width: floats that a network stores per word, for gates and state; held: most words to keep in memory;
        at_once: most padded words in a batch, by default as many as suit the device; several: whether labels are
        numbers of several classes."""
        # On a GPU few large batches, because every step launches kernels, in at most a sixth of its memory; on a CPU
        # batches that fit its cache.
        tokens, most, room = 2**15, 256, HELD
        if torch.device(device).type == "cuda":
            tokens, most = max(2**15, min(2**21, room_on(device, width))), 2**14
            room = room_on(device, 1)  # numbers of the words: another sixth of the memory
        lengths = split.lengths if max_words is None else np.minimum(split.lengths, max_words)
        batches = _LazyBatches(split, token_batches(lengths, at_once or tokens, most), max_words, device)
        fits = int(lengths.sum()) <= (room if held is None else held)
        labels = np.asarray(split.labels)
        return cls(labels if several else labels > 0.5, list(batches) if fits else batches)

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class _LazyBatches:
    """Batches that are read one by one, on each pass."""

    split: SplitLike
    rows: list[np.ndarray]
    max_words: int | None
    device: torch.device | str

    def __iter__(self) -> Iterator[Batch]:
        for rows in self.rows:
            ids, n = self.split.batch(rows, self.max_words)
            ids = np.where(np.arange(ids.shape[1]) < np.asarray(n)[:, None], ids, PAD).astype(np.int32)
            yield rows, torch.from_numpy(ids).to(self.device), torch.from_numpy(np.asarray(n)).to(self.device)


@torch.no_grad()
@in_range("perturb")
def final_logits(
    network: Network | Versions, reviews: Reviews, *, shuffle: int | None = None, pads: int = 0
) -> np.ndarray:
    """The final logit of every review, (n,), or (n, C) of C classes; of K versions of a network, (K, n) or (K, n, C).

    shuffle: the seed for a random order of each review's words. pads: number of blank inputs appended to each review.
    """
    if isinstance(network, Network) and isinstance(network.cell, Wrapped):
        alone = Versions.alone(network)
        if alone.together:
            return final_logits(alone, reviews, shuffle=shuffle, pads=pads)[0]
    versions, one = ((len(network),), network.network) if isinstance(network, Versions) else ((), network)
    classes = (len(one.classes),) if one.several_classes else ()
    logits = np.zeros((*versions, len(reviews), *classes), dtype=np.float32)
    together = isinstance(network, Versions) and network.together

    def read(batch: Batch) -> None:
        rows, ids, n = batch
        if shuffle is not None:
            # One generator per review, so that the order does not depend on the batches.
            drawn = np.zeros(ids.shape, dtype=np.float32)
            for k, (row, length) in enumerate(zip(rows.tolist(), n.tolist(), strict=True)):
                drawn[k, :length] = np.random.default_rng([shuffle, row]).random(length, dtype=np.float32)
            keys = torch.from_numpy(drawn).to(ids.device)
            keys[torch.arange(ids.shape[1], device=ids.device) >= n.unsqueeze(1)] = 2  # padding stays at the end
            ids = ids.gather(1, keys.argsort(1))
        if pads:
            ids, n = torch.nn.functional.pad(ids, (0, pads), value=PAD), n + pads
        logits[(slice(None), rows) if versions else rows] = network(ids, n).float().cpu().numpy()

    if isinstance(one, Network) and not together:
        in_parallel(read, reviews.batches, one)
    else:  # versions that read together share the cores themselves
        for batch in _joined(reviews.batches) if together else reviews.batches:
            read(batch)
    return logits


def _joined(batches: Iterable[Batch], most: int = 2**20) -> Iterator[Batch]:
    """Larger batches of up to `most` padded words, for versions that read together: a step of more reviews takes
    little longer."""
    waiting: list[Batch] = []

    def join() -> Batch:
        longest = max(ids.shape[1] for _, ids, _ in waiting)
        ids = torch.cat([torch.nn.functional.pad(ids, (0, longest - ids.shape[1]), value=PAD) for _, ids, _ in waiting])
        rows, _, lengths = zip(*waiting, strict=True)
        return np.concatenate(rows), ids, torch.cat(lengths)

    for batch in batches:
        n_reviews = sum(len(rows) for rows, _, _ in [*waiting, batch])
        if waiting and n_reviews * max(ids.shape[1] for _, ids, _ in [*waiting, batch]) > most:
            yield join()
            waiting = []
        waiting.append(batch)
    if waiting:
        yield join()


@dataclass(frozen=True)
class Difference(Shown):
    """Accuracy after a perturbation minus accuracy before it, on the same n reviews.

    interval   95 % interval of the difference, by bootstrap over reviews
    p          McNemar's exact test of no change
    lost, won  number of reviews that were right and became wrong, and the reverse
    recentred  the same comparison with thresholds at which the predicted number of positive reviews is the true one: a
               perturbation that shifts all logits by the same amount costs no accuracy here
    """

    accuracy: float
    before: float
    interval: tuple[float, float]
    p: float
    lost: int
    won: int
    n: int
    recentred: Difference | None = None

    @property
    def difference(self) -> float:
        return (self.won - self.lost) / self.n

    def to_dict(self) -> dict[str, Any]:
        record = {**vars(self), "interval": list(self.interval), "difference": self.difference}
        del record["recentred"]
        return record if self.recentred is None else {**record, "recentred": self.recentred.to_dict()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Difference:
        """The difference from the result of `to_dict`; text in place of a number is a ValueError or TypeError."""
        accuracy, before, p = (float(stored[name]) for name in ("accuracy", "before", "p"))
        lost, won, n = (int(stored[name]) for name in ("lost", "won", "n"))
        low, high = map(float, stored["interval"])
        recentred = cls.from_dict(stored["recentred"]) if "recentred" in stored else None
        return cls(accuracy, before, (low, high), p, lost, won, n, recentred)

    def _facts(self) -> Facts:
        low, high = (f"{100 * edge:+.2f}" for edge in self.interval)
        return [
            ("accuracy", f"{100 * self.accuracy:.2f} %, before {100 * self.before:.2f} %"),
            ("difference, points", f"{100 * self.difference:+.2f} (95 %: {low} … {high})"),
            ("McNemar's p", self.p),
            ("reviews lost, won, of", [self.lost, self.won, self.n]),
        ]

    def __repr__(self) -> str:
        low, high = (100 * x for x in self.interval)
        return (
            f"{100 * self.accuracy:.2f} % ({100 * self.difference:+.2f}, 95 % {low:+.2f} … {high:+.2f}, p {self.p:.2g})"
        )


def compare(before: np.ndarray, after: np.ndarray, draws: int = 10_000, seed: int = 0) -> Difference:
    """Compare two vectors of right (True) and wrong answers to the same reviews.

    Only the reviews whose answer changed matter: resampling n reviews draws (lost, won, same) from a multinomial."""
    before, after = np.asarray(before, dtype=bool), np.asarray(after, dtype=bool)
    if before.shape != after.shape or before.ndim != 1 or not len(before):
        raise RnnlensError(f"answers have shapes {before.shape} and {after.shape}: expected the same length")
    n, lost, won = len(before), int((before & ~after).sum()), int((~before & after).sum())
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(n, [lost / n, won / n, max(0.0, 1 - (lost + won) / n)], size=draws)
    low, high = np.quantile((drawn[:, 1] - drawn[:, 0]) / n, [0.025, 0.975])
    return Difference(
        float(after.mean()), float(before.mean()), (float(low), float(high)), _mcnemar(lost, won), lost, won, n
    )


def compare_logits(before: np.ndarray, after: np.ndarray, labels: np.ndarray) -> Difference:
    """Compare final logits, (n,) or (n, C), of the same reviews, with labels (n,), before and after a perturbation. Of
    several classes, the most probable one is compared, and there is no recentred comparison."""
    before, after, labels = (np.asarray(part) for part in (before, after, labels))
    if before.shape != after.shape or labels.shape != before.shape[:1] or before.ndim not in (1, 2):
        shapes = f"{before.shape}, {after.shape} and {labels.shape}"
        raise RnnlensError(f"logits and labels have shapes {shapes}: expected (n,) or (n, C) twice, and (n,)")
    classes = before.shape[1] if before.ndim == 2 else 2
    if not len(labels) or not np.isin(labels, range(classes)).all():  # such as -1 and 1
        raise RnnlensError(f"labels are {shown(labels.tolist())}: expected some from 0 to {classes - 1}")
    if before.ndim == 2:
        return compare(before.argmax(1) == labels, after.argmax(1) == labels)
    # The threshold at which the predicted number of positive reviews is the true one.
    centred = compare(*((logits > np.quantile(logits, 1 - labels.mean())) == labels for logits in (before, after)))
    return replace(compare((before > 0) == labels, (after > 0) == labels), recentred=centred)


def _mcnemar(lost: int, won: int) -> float:
    """Two-sided exact p-value of lost and won under the hypothesis that both are equally likely."""
    n, k = lost + won, min(lost, won)
    if n == 0:
        return 1.0
    if n > 1000:  # where exact integers become slow
        from scipy.stats import binomtest

        return float(binomtest(k, n).pvalue)
    return min(1.0, 2 * sum(comb(n, i) for i in range(k + 1)) / 2**n)


@dataclass(frozen=True)
class Perturbations(Shown):
    """Accuracy experiments on one split.

    shuffled           words in random order
    removed            by rank: the modifier subspace projected out at every step
    random             by rank: as many random directions (orthogonal to the line), several draws
    words              by rank: subspaces of as many common words that are not modifiers, orthogonal to the modifier
                       subspace, several draws: a control for removing directions in which any words move the state
    """

    accuracy: float
    n: int
    shuffled: Difference
    removed: dict[int, Difference]
    random: dict[int, list[Difference]]
    words: dict[int, list[Difference]]

    def to_dict(self) -> dict[str, Any]:
        return {
            "accuracy": self.accuracy,
            "n": self.n,
            "shuffled": self.shuffled.to_dict(),
            "removed": {str(rank): d.to_dict() for rank, d in self.removed.items()},
            "random": {str(rank): [d.to_dict() for d in draws] for rank, draws in self.random.items()},
            "words": {str(rank): [d.to_dict() for d in draws] for rank, draws in self.words.items()},
        }

    def _facts(self) -> Facts:
        facts: list[tuple[str, object]] = [
            ("reviews", self.n),
            ("accuracy", f"{100 * self.accuracy:.2f} %"),
            ("words shuffled", repr(self.shuffled)),
        ]
        facts += [(f"subspace of rank {rank} removed", repr(d)) for rank, d in self.removed.items()]
        for name, controls in (("random subspaces", self.random), ("other words' subspaces", self.words)):
            for rank, draws in controls.items():
                median = float(np.median([d.difference for d in draws])) if draws else None
                text = None if median is None else f"{100 * median:+.2f} points, median of {len(draws)}"
                facts.append((f"{name} of rank {rank} removed", text))
        return facts


@in_range("perturbations")
def perturb(
    network: Network,
    subspace: Subspace,
    reviews: Reviews,
    *,
    ranks: tuple[int, ...] = (1, 2, 3, 4, 5),
    draws: Callable[[int], int] = lambda rank: 20 if rank == 3 else 5,
    others: Sequence[Subspace] = (),
    seed: int = 0,
    before: np.ndarray | None = None,
) -> Perturbations:
    """Measure accuracy with words shuffled; with the first components of the subspace removed, for each rank; and with
    random subspaces and those of other words, of the same rank, removed. before: the network's own final logits, if
    they are known."""
    if min(ranks) > subspace.rank:
        raise RnnlensError(f"ranks is {shown(ranks)}: expected some up to {subspace.rank}, the rank of the subspace")
    before = final_logits(network, reviews) if before is None else before

    def compared(after: np.ndarray) -> Difference:
        return compare_logits(before, after, reviews.labels)

    shuffled = compared(final_logits(network, reviews, shuffle=seed))
    generator, at = torch.Generator().manual_seed(seed), subspace.h_star
    named: list[tuple[str, int]] = []
    subspaces: list[tuple[Tensor, Tensor]] = []
    for rank in (rank for rank in ranks if rank <= subspace.rank):
        drawn = [random_subspace(network.size, rank, generator, subspace.line) for _ in range(draws(rank))]
        words = [(other.take(rank).components, other.h_star) for other in others if other.rank >= rank]
        subspaces += [(subspace.components[:rank], at), *((V, at) for V in drawn), *words]
        named += [("removed", rank)] + [("random", rank)] * len(drawn) + [("words", rank)] * len(words)
    found: dict[str, dict[int, list[Difference]]] = {
        name: {rank: [] for _, rank in named} for name in ("removed", "random", "words")
    }
    for (name, rank), after in zip(named, final_logits(project_out_each(network, subspaces), reviews), strict=True):
        found[name][rank].append(compared(after))
    removed = {rank: one for rank, [one] in found["removed"].items()}
    return Perturbations(shuffled.before, len(reviews), shuffled, removed, found["random"], found["words"])


def initial_states_without(network: Network, subspaces: Sequence[Tensor], at: Tensor) -> Tensor:
    """For each of K subspaces, given by orthonormal rows (R, N): the initial state h0 with its coordinates along them
    set to those of the state `at`, (K, N) (§6.1)."""
    h0 = network.h0.detach()
    return torch.stack([h0 - ((h0 - at) @ V.t()) @ V for V in (rows.to(h0) for rows in subspaces)])
