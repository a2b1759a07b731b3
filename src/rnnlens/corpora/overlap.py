"""Which training texts are equal or nearly equal to a validation or test text, or contained in one.

Texts are compared by their runs of eight words: a training text goes if four fifths of its runs occur in held-out
texts. A text of fewer than eight words goes if a held-out text equals it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rnnlens.corpora.spool import Spool

RUN = 8  # words compared as one
SHARE = 0.8  # of a training text's runs that must occur in held-out texts for it to be dropped
_MOST = 20_000_000  # hashes to hold at a time: with more words held out, only every second, third … hash is compared
_FACTOR = np.uint64(0x9E3779B97F4A7C15)

Part = tuple["Spool", np.ndarray]  # a spool, and a mask (n,) of its documents


def overlapping(train: Iterable[Part], held_out: Iterable[Part]) -> list[np.ndarray]:
    """For each part of the training texts, a mask (n,) of the documents that overlap with held-out ones."""
    held_out = list(held_out)
    words = sum(int(spool.lengths[chosen].sum()) for spool, chosen in held_out)
    every = np.uint64(max(1, -(-words // _MOST)))
    blocks = [hashes for part in held_out for hashes, _ in _runs(*part, every)]
    known = np.unique(np.concatenate([np.zeros(0, np.uint64), *blocks]))
    return [_known(spool, chosen, known, every) for spool, chosen in train]


def _known(spool: Spool, chosen: np.ndarray, known: np.ndarray, every: np.uint64) -> np.ndarray:
    runs, found = np.zeros(len(chosen), np.int64), np.zeros(len(chosen), np.int64)
    for hashes, documents in _runs(spool, chosen, every):
        place = np.searchsorted(known, hashes)
        there = known[np.minimum(place, len(known) - 1)] == hashes if len(known) else np.zeros(len(hashes), bool)
        runs += np.bincount(documents, minlength=len(chosen))
        found += np.bincount(documents[there], minlength=len(chosen))
    return (found > 0) & (found >= SHARE * runs)


def _runs(spool: Spool, chosen: np.ndarray, every: np.uint64) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Hashes of the runs of the chosen documents, and the document of each, a block at a time; of all hashes those
    that `every` divides."""
    lengths = spool.lengths
    for documents, codes in spool.blocks():
        n = lengths[documents]
        ends = np.cumsum(n)
        runs = np.where(chosen[documents] & (n > 0), np.maximum(1, n - RUN + 1), 0)
        row = np.repeat(np.arange(len(n)), runs)
        start = np.repeat(ends - n - (np.cumsum(runs) - runs), runs) + np.arange(runs.sum())
        hashes = np.zeros(len(start), np.uint64)
        for j in range(RUN):  # what stands behind a short document is word 0, which no code is
            inside = start + j < ends[row]
            word = np.where(inside, codes[np.minimum(start + j, len(codes) - 1)].astype(np.uint64) + np.uint64(1), 0)
            hashes = (hashes + word.astype(np.uint64)) * _FACTOR
        hashes ^= hashes >> np.uint64(29)
        kept = hashes % every == 0
        yield hashes[kept], documents.start + row[kept]
