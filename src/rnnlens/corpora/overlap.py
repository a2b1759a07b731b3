"""Which texts overlap with a held-out text: equal, nearly equal, contained in one, or containing one.

Texts are compared by their runs of eight words. A text overlaps if four fifths of its runs occur in held-out texts, or
if it contains a whole held-out text of at least eight words. A text of fewer than eight words overlaps only with an
equal one: short common phrases occur everywhere. One changed word changes eight runs, so that texts that differ in
one word overlap if they have at least 47 words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from rnnlens.corpora.spool import Spool

RUN = 8  # words in a run
SHARE = 0.8  # of a text's runs that must occur in held-out texts
_BLOCK = 1 << 20  # words hashed at a time
_FACTOR = 0x9E3779B97F4A7C15

Part = tuple["Spool", np.ndarray]  # a spool, and a mask (n,) of its documents
Runs = tuple[np.ndarray, np.ndarray, np.ndarray]  # of each run the index of its document, its start and its hash
Spans = Callable[[np.ndarray, np.ndarray], np.ndarray]  # starts and lengths of spans of words → their hashes


def overlapping(texts: Iterable[Part], held_out: Iterable[Part]) -> list[np.ndarray]:
    """For each part of the texts, a mask (n,) of the documents that overlap with held-out ones."""
    runs, whole = [np.zeros(0, np.uint64)], [np.zeros((3, 0), np.uint64)]
    for _, ends, (row, start, hashes), spans in (block for part in held_out for block in _blocks(*part)):
        runs.append(hashes)
        begins = np.flatnonzero(np.diff(row, prepend=-1))  # the first run of each document
        n = ends[row[begins]] - start[begins]
        of_texts = np.stack([hashes[begins], n.astype(np.uint64), spans(start[begins], n)])
        whole.append(of_texts[:, n >= RUN])
    is_run, (first, length, of_whole) = _set_of(runs), np.concatenate(whole, axis=1)
    is_whole_text = _set_of([of_whole])
    first, length = np.unique(np.stack([first, length]), axis=1)
    masks = []
    for spool, chosen in texts:
        mask = np.zeros(len(chosen), bool)
        for documents, ends, of_runs, spans in _blocks(spool, chosen):
            known = is_run(of_runs[2])
            row, start, hashes = (array[known] for array in of_runs)
            in_all, in_held_out = (np.bincount(rows, minlength=len(ends)) for rows in (of_runs[0], row))
            overlaps = (in_all > 0) & (in_held_out >= SHARE * in_all)
            at, last = (np.searchsorted(first, hashes, side) for side in ("left", "right"))
            while np.any(left := at < last):  # tries the lengths of the whole texts that begin with a run, in turn
                row, start, at, last = row[left], start[left], at[left], last[left]
                n = length[at].astype(np.int64)
                fits = start + n <= ends[row]
                overlaps[row[fits][is_whole_text(spans(start[fits], n[fits]))]] = True
                at = at + 1
            mask[documents] = overlaps
        masks.append(mask)
    return masks


def _blocks(spool: Spool, chosen: np.ndarray) -> Iterator[tuple[slice, np.ndarray, Runs, Spans]]:
    """Blocks of documents: their rows, where each ends in the block, the runs of the chosen ones, hashes of spans."""
    lengths = spool.lengths
    for documents, codes in spool.blocks(_BLOCK):
        n = lengths[documents]
        ends = np.cumsum(n)
        runs = np.where(chosen[documents] & (n > 0), np.maximum(1, n - RUN + 1), 0)
        row = np.repeat(np.arange(len(n)), runs)
        start = np.repeat(ends - n - (np.cumsum(runs) - runs), runs) + np.arange(runs.sum())
        spans = _hashes_of_spans(codes)
        yield documents, ends, (row, start, spans(start, np.minimum(RUN, n)[row])), spans


def _hashes_of_spans(codes: np.ndarray) -> Spans:
    """The hash of words w_0, w_1, … is the sum of hash(w_j) factor^j, modulo 2^64: equal wherever they are."""
    factor, inverse = (np.full(len(codes), f, np.uint64) for f in (_FACTOR, pow(_FACTOR, -1, 1 << 64)))
    terms = pl.Series(codes).hash().to_numpy() * np.cumprod(factor)
    sums, scale = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms)]), np.cumprod(inverse)
    return lambda start, n: (sums[start + n] - sums[start]) * scale[start]


def _set_of(blocks: list[np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Which hashes are in a set. A table of their last bits rules out most of those that are not, which is fast."""
    last = np.uint64((1 << min(26, max(8, (8 * sum(map(len, blocks))).bit_length()))) - 1)
    present = np.zeros(int(last) + 1, bool)
    for block in blocks:
        present[block & last] = True
    known = np.concatenate(blocks)
    blocks.clear()
    known.sort()

    def contains(hashes: np.ndarray) -> np.ndarray:
        found = present[hashes & last]
        maybe = hashes[found]
        found[found] = known[np.minimum(np.searchsorted(known, maybe), len(known) - 1)] == maybe
        return found

    return contains
