"""Word ids converted to another vocabulary when they are read, so that an array on disk is not copied."""

from __future__ import annotations

from typing import Any

import numpy as np

from rnnlens.corpora.vocab import PAD


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
