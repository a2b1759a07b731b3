"""Codes of documents, kept in memory or on disk until every text has been read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

BLOCK_WORDS = 1 << 22  # codes converted to ids at a time


def rows_of(labels: np.ndarray, grades: np.ndarray | None = None, groups: np.ndarray | None = None) -> np.ndarray:
    """What is known of documents beside their words, as one array (n,): `label`, and if given `grade` and `group`."""
    named = {"label": labels, "grade": grades, "group": groups}
    given = {name: array for name, array in named.items() if array is not None}
    rows = np.empty(len(labels), [(name, array.dtype) for name, array in given.items()])
    for name, array in given.items():
        rows[name] = array
    return rows


@dataclass
class Spool:
    """Codes of documents as they arrive: on disk if it has a path, else in memory."""

    path: Path | None = None
    _codes: list[np.ndarray] = field(default_factory=list)
    _lengths: list[np.ndarray] = field(default_factory=list)
    _rows: list[np.ndarray] = field(default_factory=list)

    def append(self, codes: np.ndarray, lengths: np.ndarray, rows: np.ndarray) -> None:
        """Add documents: their codes one after the other, lengths (n,), and what `rows_of` gave for them (n,)."""
        if self.path is None:
            self._codes.append(codes)
        else:
            with open(self.path, "ab") as file:
                file.write(np.ascontiguousarray(codes).data)  # tofile does not give the reason if it fails
        self._lengths.append(lengths)
        self._rows.append(rows)

    @property
    def lengths(self) -> np.ndarray:
        """(n,) int64."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self._lengths])

    @property
    def labels(self) -> np.ndarray:
        """(n,) uint8."""
        return np.concatenate([np.zeros(0, dtype=np.uint8), *(rows["label"] for rows in self._rows)])

    @property
    def grades(self) -> np.ndarray | None:
        """(n,) float32; None if the source has no grades."""
        graded = [rows["grade"] for rows in self._rows if "grade" in (rows.dtype.names or ())]
        return np.concatenate(graded) if graded else None

    @property
    def groups(self) -> np.ndarray:
        """(n,) uint64, if rows are grouped."""
        return np.concatenate([np.zeros(0, dtype=np.uint64), *(rows["group"] for rows in self._rows)])

    def blocks(self, most: int | None = None) -> Iterator[tuple[slice, np.ndarray]]:
        """Runs of whole documents and their codes, about `most` words (BLOCK_WORDS) at a time."""
        most = BLOCK_WORDS if most is None else most
        offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        in_memory = None if self.path else np.concatenate([np.zeros(0, dtype=np.uint32), *self._codes])
        start = 0
        while start < len(offsets) - 1:
            stop = max(start + 1, int(np.searchsorted(offsets, offsets[start] + most, side="right")) - 1)
            words = slice(int(offsets[start]), int(offsets[stop]))
            if in_memory is not None:
                codes = in_memory[words]
            else:
                codes = np.fromfile(self.path, np.uint32, words.stop - words.start, offset=4 * words.start)  # type: ignore[arg-type]
            yield slice(start, stop), codes
            start = stop

    def close(self) -> None:
        """Delete the codes."""
        self._codes.clear()
        if self.path is not None:
            self.path.unlink(missing_ok=True)
