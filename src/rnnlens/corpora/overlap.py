"""Which texts overlap with a held-out text: equal, nearly equal, contained in one, or containing one.

Texts are compared by their runs of eight words. A text overlaps if four fifths of its runs occur in held-out texts, or
if it contains a whole held-out text of at least eight words. A text of fewer than eight words overlaps only with an
equal one: short common phrases occur everywhere. One changed word changes eight runs, so that texts that differ in
one word overlap if they have at least 47 words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rnnlens.corpora.spool import Spool

RUN = 8  # words in a run
SHARE = 0.8  # of a text's runs that must occur in held-out texts
_MOST = 8_000_000  # hashes in memory: with more held-out words, the texts are read several times
_BLOCK = 1 << 20  # words hashed at a time
_FACTOR = 0x9E3779B97F4A7C15
_INVERSE = pow(_FACTOR, -1, 1 << 64)

Part = tuple["Spool", np.ndarray]  # a spool, and a mask (n,) of its documents


def overlapping(texts: Iterable[Part], held_out: Iterable[Part]) -> list[np.ndarray]:
    """For each part of the texts, a mask (n,) of the documents that overlap with held-out ones."""
    texts, held_out = list(texts), list(held_out)
    words = sum(int(spool.lengths[chosen].sum()) for spool, chosen in held_out)
    turns = max(1, -(-words // _MOST))
    whole_texts = _WholeTexts(held_out)
    counts = [np.zeros((2, len(chosen)), np.int64) for _, chosen in texts]  # runs, and those in held-out texts
    masks = [np.zeros(len(chosen), bool) for _, chosen in texts]
    for turn in range(turns):  # each with a part of the hashes
        blocks = [_of_turn(block.hashes, turn, turns)[0] for part in held_out for block in _blocks(*part)]
        known = _Hashes(np.concatenate([np.zeros(0, np.uint64), *blocks]))
        for part, (runs, shared), mask in zip(texts, counts, masks, strict=True):
            for block in _blocks(*part):
                hashes, places = _of_turn(block.hashes, turn, turns)
                row = block.row[places]
                runs[block.documents] += np.bincount(row, minlength=len(block.ends))
                shared[block.documents] += np.bincount(row[known.place(hashes) >= 0], minlength=len(block.ends))
                if turn == 0:
                    mask[block.documents] |= whole_texts.contained_in(block)
    return [
        mask | ((shared > 0) & (shared >= SHARE * runs)) for mask, (runs, shared) in zip(masks, counts, strict=True)
    ]


def _of_turn(hashes: np.ndarray, turn: int, turns: int) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of one turn, and their indices."""
    places = np.flatnonzero((hashes >> np.uint64(32)) % np.uint64(turns) == np.uint64(turn))
    return hashes[places], places


@dataclass(frozen=True)
class _Block:
    """A block of documents: `ends` (n,), where each ends in the block; for every run of the chosen ones its `row` (the
    index of its document), `start` and hash; `sums` and `scale`, which give the hash of any span."""

    documents: slice
    ends: np.ndarray
    row: np.ndarray
    start: np.ndarray
    hashes: np.ndarray
    sums: np.ndarray
    scale: np.ndarray

    def spans(self, start: np.ndarray, n: np.ndarray) -> np.ndarray:
        return _spans(self.sums, self.scale, start, n)


def _blocks(spool: Spool, chosen: np.ndarray) -> Iterator[_Block]:
    lengths = spool.lengths
    for documents, codes in spool.blocks(_BLOCK):
        n = lengths[documents]
        ends = np.cumsum(n)
        runs = np.where(chosen[documents] & (n > 0), np.maximum(1, n - RUN + 1), 0)
        row = np.repeat(np.arange(len(n)), runs)
        start = np.repeat(ends - n - (np.cumsum(runs) - runs), runs) + np.arange(runs.sum())
        # The hash of words w_0, w_1, … is the sum of mix(w_j) factor^j, modulo 2^64.
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mix(codes) * _powers(_FACTOR, len(codes)))])
        scale = _powers(_INVERSE, len(codes))
        yield _Block(documents, ends, row, start, _spans(sums, scale, start, np.minimum(RUN, n)[row]), sums, scale)


def _spans(sums: np.ndarray, scale: np.ndarray, start: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Hashes of the `n` words from `start` on: equal words, equal hash, wherever they are."""
    return (sums[start + n] - sums[start]) * scale[start]


def _mix(codes: np.ndarray) -> np.ndarray:
    """Each code as 64 bits that look random (the last steps of splitmix64)."""
    x = (codes.astype(np.uint64) + np.uint64(1)) * np.uint64(_FACTOR)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _powers(factor: int, n: int) -> np.ndarray:
    """factor^0 … factor^(n − 1), modulo 2^64."""
    factors = np.full(n, factor, np.uint64)
    factors[:1] = 1
    return np.cumprod(factors, dtype=np.uint64)


class _Hashes:
    """A set of hashes, with a table of their last bits, which rules out most hashes that are not in the set."""

    def __init__(self, hashes: np.ndarray):
        self.sorted = np.unique(hashes)
        self._last = np.uint64((1 << min(26, max(8, (8 * len(self.sorted)).bit_length()))) - 1)
        self._present = np.zeros(int(self._last) + 1, bool)
        self._present[(self.sorted & self._last).astype(np.int64)] = True

    def place(self, hashes: np.ndarray) -> np.ndarray:
        """The index of each in `sorted`; −1 for those that are not in the set."""
        places = np.full(len(hashes), -1)
        maybe = np.flatnonzero(self._present[(hashes & self._last).astype(np.int64)])
        at = np.minimum(np.searchsorted(self.sorted, hashes[maybe]), len(self.sorted) - 1)
        same = self.sorted[at] == hashes[maybe]
        places[maybe[same]] = at[same]
        return places


class _WholeTexts:
    """Whole held-out texts of at least `RUN` words: their hashes, and their lengths by the hash of their first run."""

    def __init__(self, held_out: Iterable[Part]):
        rows = [np.zeros((3, 0), np.uint64)]
        for spool, chosen in held_out:
            lengths = spool.lengths
            for block in _blocks(spool, chosen):
                n = lengths[block.documents]
                long = np.flatnonzero(chosen[block.documents] & (n >= RUN))
                start, n = block.ends[long] - n[long], n[long]
                rows.append(
                    np.stack([block.spans(start, np.full_like(n, RUN)), n.astype(np.uint64), block.spans(start, n)])
                )
        first, n, whole = np.concatenate(rows, axis=1)
        self.texts = _Hashes(whole)
        pairs = np.unique(np.stack([first, n], 1), axis=0)
        self.firsts = _Hashes(pairs[:, 0])
        self.lengths = pairs[:, 1].astype(np.int64)
        self.at = np.concatenate([np.searchsorted(pairs[:, 0], self.firsts.sorted), [len(pairs)]])

    def contained_in(self, block: _Block) -> np.ndarray:
        """A mask (n,) of the block's documents that contain one of the texts."""
        mask = np.zeros(len(block.ends), bool)
        place = self.firsts.place(block.hashes)
        run = np.flatnonzero(place >= 0)
        first, last = self.at[place[run]], self.at[place[run] + 1]
        while len(run):  # tries the lengths of the texts that begin with this run, one after the other
            n, start, row = self.lengths[first], block.start[run], block.row[run]
            fits = start + n <= block.ends[row]
            hashes = block.spans(start[fits], n[fits])
            mask[row[fits][self.texts.place(hashes) >= 0]] = True
            first = first + 1
            left = first < last
            run, first, last = run[left], first[left], last[left]
        return mask
