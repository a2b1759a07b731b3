"""Word ids converted to another vocabulary when they are read, so that an array on disk is not copied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from rnnlens.corpora.pieces import PieceVocab
from rnnlens.corpora.splits import Split
from rnnlens.corpora.vocab import PAD, Vocab


class Recoded:
    """`table[ids]`, computed when it is read: index it, or pass it to NumPy, like an array.

    ids    (words,)  of one vocabulary, often mapped from disk; PAD stays PAD
    table  (W,)      the new id of each old one, below `n_words`, or PAD
    """

    def __init__(self, ids: np.ndarray, table: np.ndarray, n_words: int):
        self.ids = ids
        unsigned = np.uint16 if n_words <= 1 << 16 else np.uint32  # as prepared corpora are stored
        pads = bool((table == PAD).any()) or ids.dtype.kind == "i"
        # PAD is −1, so it reads the last entry
        self.table = np.append(table, PAD).astype(np.int32) if pads else table.astype(unsigned)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.table.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.ids.shape

    @property
    def nbytes(self) -> int:
        """Bytes of the underlying array: corpora release the memory of large mapped files."""
        return self.ids.nbytes

    @property
    def _mmap(self) -> Any:
        return getattr(self.ids, "_mmap", None)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, key: Any) -> Any:
        return self.table[np.asarray(self.ids[key])]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[:], dtype)


def recoded(splits: dict[str, Split], old: Vocab, new: Vocab) -> dict[str, Split]:
    """Documents of one vocabulary in the ids of another; in those of a tokenizer's pieces in memory, since a word may
    become several pieces."""
    if isinstance(new, PieceVocab):
        pieces, begins = new.pieces_of(old)
        return {name: _in_pieces(split, pieces, begins) for name, split in splits.items()}
    table = new.ids_of(old)
    return {
        name: replace(split, ids=cast(np.ndarray, Recoded(split.ids, table, len(new))), vocab=None)
        for name, split in splits.items()
    }


def _in_pieces(split: Split, pieces: np.ndarray, begins: np.ndarray) -> Split:
    """A split whose words are replaced by their pieces: those of word w are pieces[begins[w]:begins[w + 1]]."""
    pieces, begins = np.append(pieces, PAD).astype(np.int32), np.append(begins, len(pieces) + 1)  # the last is PAD (−1)
    words = np.asarray(split.ids[int(split.offsets[0]) : int(split.offsets[-1])], dtype=np.int64)
    words = np.where(words == PAD, len(begins) - 2, words)
    n = np.diff(begins)[words]  # pieces of each word
    ends = np.concatenate([[0], np.cumsum(n)])
    ids = pieces[np.repeat(begins[words] - ends[:-1], n) + np.arange(ends[-1])]
    return replace(split, ids=ids, offsets=ends[split.offsets - split.offsets[0]], vocab=None)
