"""Labeled documents as ids, one after the other: in memory, or mapped from a file."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rnnlens.common.allowed import shown
from rnnlens.common.display import plural
from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import check_options, in_range
from rnnlens.common.rows import chosen_row, chosen_rows
from rnnlens.corpora.classes import label_dtype
from rnnlens.corpora.vocab import PAD, Vocab

PARTS = ("train", "validation", "test")
NEUTRAL = 2  # the label of a training document of grade 0.5, which is left out of accuracy
_LARGE = 1 << 27  # bytes of a mapped file beyond which its pages are released
_MANY = 512  # documents after which they are released: each may load a few hundred kilobytes around it
_BLOCK = 1 << 22  # ids read at a time, where a whole array may not fit in memory


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """n labeled documents, one after the other.

    ids      (words,)  uint16 or uint32, the documents one after the other; may be mapped from disk
    offsets  (n + 1,)  int64, document i is ids[offsets[i]:offsets[i + 1]]
    labels   (n,)      uint8, 1 positive, 0 negative; of several classes the number of the class in `Corpus.classes`;
                       of a corpus with grades also NEUTRAL
    sources  (n,)      uint8, the number of each document's source in `Corpus.sources`; None in a corpus of one source
    vocab              of the corpus that it is a part of; None without one
    backward           whether the words of its corpus are in reverse order; None without one
    grades   (n,)      float32, how positive each document is, from 0 to 1; None in a corpus without grades
    """

    ids: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    sources: np.ndarray | None = None
    vocab: Vocab | None = None
    backward: bool | None = None
    grades: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Words of each document, (n,) int64."""
        return np.diff(self.offsets)

    @cached_property
    def decided(self) -> Split:
        """The documents that are negative or positive: without the neutral ones, which only grades can teach."""
        if self.grades is None or not np.any(neutral := np.asarray(self.labels) == NEUTRAL):
            return self
        return self.take(~neutral)

    def document(self, i: int) -> np.ndarray:
        """Ids of one document, (T,) int64."""
        i = chosen_row("i", i, len(self))
        return np.asarray(self.ids[self.offsets[i] : self.offsets[i + 1]], dtype=np.int64)

    def batch(
        self, indices: Sequence[int] | np.ndarray, max_words: int | None = None, keep: Literal["last", "first"] = "last"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Documents side by side: ids (B, T) int64 with PAD on the right, lengths (B,) int64.

        Longer ones are cut to their last or first (`keep`) `max_words` words. T is the longest length, at least 1.
        """
        check_options("split", max_words=max_words, keep=keep)
        starts, lengths = self._spans(self._rows(indices))
        if max_words is not None:
            kept = np.minimum(lengths, max_words)
            starts, lengths = starts + (lengths - kept if keep == "last" else 0), kept
        padded = np.full((len(lengths), max(1, lengths.max(initial=0))), PAD, dtype=np.int64)
        padded[np.arange(padded.shape[1]) < lengths[:, None]] = self._gather(starts, lengths)
        return padded, lengths

    def take(self, indices: Sequence[int] | np.ndarray) -> Split:
        """The chosen documents, in that order, as a Split of their own in memory. indices: numbers, or a mask (n,)."""
        indices = self._rows(indices)
        starts, lengths = self._spans(indices)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        sources = None if self.sources is None else np.asarray(self.sources[indices])
        ids, labels = self._gather(starts, lengths), np.asarray(self.labels[indices])
        grades = None if self.grades is None else np.asarray(self.grades[indices])
        return replace(self, ids=ids, offsets=offsets, labels=labels, sources=sources, grades=grades)

    @in_range("split")
    def join(self, other: Split) -> Split:
        """These documents, then the other's, in memory."""
        for name in ("sources", "grades"):
            if (getattr(self, name) is None) != (getattr(other, name) is None):
                raise RnnlensError(f"one split has {name}, the other has none: expected both to be of one corpus")
        if self.vocab is not None and other.vocab is not None and self.vocab != other.vocab:
            raise RnnlensError("the splits have different words: expected both to be of one corpus")
        names = ("ids", "labels", *(name for name in ("sources", "grades") if getattr(self, name) is not None))
        joined: dict[str, Any] = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names}
        offsets = np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]])
        return replace(self, offsets=offsets, **joined)

    def _gather(self, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        self._documents_read[0] += len(starts)
        ids = np.asarray(self.ids[_positions(starts, lengths)])
        if self._documents_read[0] >= _MANY:
            self._documents_read[0] = 0
            release_pages(self.ids)
        return ids

    @cached_property
    def _documents_read(self) -> list[int]:
        """How many documents were read since pages were last released."""
        return [0]

    def _rows(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        return chosen_rows("indices", indices, len(self), "documents", from_end=True)

    def _spans(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        starts = self.offsets[indices]
        return starts, self.offsets[indices + 1] - starts

    def __repr__(self) -> str:
        labels = self.decided.labels
        positive = labels.mean() if len(labels) else 0.0
        several = len(labels) and labels.max() > 1
        what = f"{len(np.unique(labels))} classes" if several else f"{positive:.0%} positive"
        what += "" if self.grades is None else f", {len(self) - len(labels):,} neutral"
        words = f"{len(self.ids):,} {plural(len(self.ids), 'word')}"
        return f"Split({len(self):,} {plural(len(self), 'review')}, {what}, {words})"


def split_of(documents: Sequence[Any], labels: Any, n_words: int, n_classes: int = 2) -> Split:
    """Lists of ids and their labels, numbers of classes, as a split, checked."""
    if isinstance(documents, str | bytes) or not isinstance(documents, Iterable):
        raise RnnlensError(f"documents are {shown(documents)}: expected lists of ids")
    rows = [_ids(document) for document in documents]
    classes = np.asarray(labels).reshape(-1)
    if len(rows) != len(classes):
        raise RnnlensError(f"got {len(rows)} documents and {len(classes)} labels: expected one label per document")
    known = np.isin(classes, range(n_classes))
    if not known.all():
        expected = "0 and 1" if n_classes == 2 else f"0 … {n_classes - 1}"
        raise RnnlensError(f"labels hold {classes[~known][0]!r:.40}: expected {expected}")
    ids = np.concatenate([np.zeros(0, np.int64), *rows])
    if len(ids) and not 0 <= ids.min() <= ids.max() < n_words:
        raise RnnlensError(
            f"ids range from {ids.min()} to {ids.max()}: expected 0 … {n_words - 1}, the ids of the words"
        )
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    return Split(
        ids.astype(np.uint16 if n_words <= 1 << 16 else np.uint32), offsets, classes.astype(label_dtype(n_classes))
    )


def _ids(document: Any) -> np.ndarray:
    """The ids (T,) of one document."""
    ids = np.asarray(document)
    if ids.size and ids.dtype.kind not in "iu":  # other numbers would be cut to whole ones
        raise RnnlensError(f"a document is {shown(document)}: expected a list of ids, whole numbers")
    return ids.astype(np.int64).reshape(-1)


def _positions(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Indices start, start + 1, … of every span, one span after the other."""
    shifts = starts - (np.cumsum(lengths) - lengths)
    return np.repeat(shifts, lengths) + np.arange(lengths.sum())


def release_pages(ids: np.ndarray) -> None:
    """Release the memory of a large mapped file. Its pages would count as memory of this process until the system needs
    it; released ones stay in the system's cache, so that reading them again is quick."""
    mapped = getattr(ids, "_mmap", None)
    if mapped is not None and ids.nbytes > _LARGE and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def blocks_of(array: np.ndarray) -> Iterator[np.ndarray]:
    """An array, mapped or not, block by block."""
    for i in range(0, len(array), _BLOCK):
        yield array[i : i + _BLOCK]
        release_pages(array)


def content_fingerprint(vocab: Vocab, splits: Mapping[str, Split], classes: Sequence[str] = ()) -> str:
    """A hash of ids, labels, words and names of classes, however they are stored."""
    digest = hashlib.sha256("\n".join(vocab.words).encode())
    if classes:
        digest.update("\n".join(["classes", *classes]).encode())
    for name, split in splits.items():
        digest.update(f"{name} {len(split)} {len(split.ids)}".encode())
        for array in (split.offsets, split.labels, split.ids, split.sources, split.grades):
            for block in () if array is None else blocks_of(array):
                digest.update(np.ascontiguousarray(block).data)
    return digest.hexdigest()[:32]
