"""A corpus of labelled reviews as ids: in memory, or mapped from a folder that `prepare` wrote. Needs only NumPy."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from rnnlens import artifacts
from rnnlens.corpora.recoded import Recoded
from rnnlens.corpora.vocab import PAD, Vocab
from rnnlens.errors import RnnlensError, quoted
from rnnlens.terminal import printable

PARTS = ("train", "validation", "test")
ARRAYS = ("ids", "offsets", "labels")
_LARGE = 1 << 27  # bytes of a mapped file beyond which its pages are given back
_MANY = 512  # documents after which they are: each may bring in some hundred kilobytes around it
_BLOCK = 1 << 22  # ids looked at in one go, where a whole array may not fit in memory


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """n labelled documents, end to end.

    ids      (words,)  uint16 or uint32, the documents one after the other; may be mapped from disk
    offsets  (n + 1,)  int64, document i is ids[offsets[i]:offsets[i + 1]]
    labels   (n,)      uint8, 1 positive, 0 negative
    sources  (n,)      uint8, the number of each document's source in `Corpus.sources`; None in a corpus of one source
    """

    ids: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    sources: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Words of each document, (n,) int64."""
        return np.diff(self.offsets)

    def document(self, i: int) -> np.ndarray:
        """Ids of one document, (T,) int64."""
        i = range(len(self))[i]
        return np.asarray(self.ids[self.offsets[i] : self.offsets[i + 1]], dtype=np.int64)

    def batch(
        self, indices: Sequence[int] | np.ndarray, max_words: int | None = None, keep: Literal["last", "first"] = "last"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Documents side by side: ids (B, T) int64 with PAD on the right, lengths (B,) int64.

        Longer ones are cut to their `keep` `max_words` words. T is the longest length, at least 1.
        """
        starts, lengths = self._spans(np.asarray(indices, dtype=np.int64))
        if max_words is not None:
            kept = np.minimum(lengths, max_words)
            starts, lengths = starts + (lengths - kept if keep == "last" else 0), kept
        padded = np.full((len(lengths), max(1, lengths.max(initial=0))), PAD, dtype=np.int64)
        padded[np.arange(padded.shape[1]) < lengths[:, None]] = self._gather(starts, lengths)
        return padded, lengths

    def take(self, indices: Sequence[int] | np.ndarray) -> Split:
        """The chosen documents, in that order, as a Split of their own in memory."""
        indices = np.asarray(indices, dtype=np.int64)
        starts, lengths = self._spans(indices)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        sources = None if self.sources is None else np.asarray(self.sources[indices])
        return Split(self._gather(starts, lengths), offsets, np.asarray(self.labels[indices]), sources)

    def join(self, other: Split) -> Split:
        """These documents, then the other's, in memory."""
        if (self.sources is None) != (other.sources is None):
            raise RnnlensError("one split has sources, the other has none: expected both to be of one corpus")
        return Split(
            np.concatenate([self.ids, other.ids]),
            np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]]),
            np.concatenate([self.labels, other.labels]),
            None if self.sources is None or other.sources is None else np.concatenate([self.sources, other.sources]),
        )

    def _gather(self, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        self._looked_at[0] += len(starts)
        found = np.asarray(self.ids[_positions(starts, lengths)])
        if self._looked_at[0] >= _MANY:
            self._looked_at[0] = 0
            _give_back(self.ids)
        return found

    @cached_property
    def _looked_at(self) -> list[int]:
        """How many documents were read since pages were last given back."""
        return [0]

    def _spans(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        indices = np.where(indices < 0, indices + len(self), indices)
        starts = self.offsets[indices]
        return starts, self.offsets[indices + 1] - starts

    def __repr__(self) -> str:
        positive = self.labels.mean() if len(self) else 0.0
        return f"Split({len(self):,} reviews, {positive:.0%} positive, {len(self.ids):,} words)"


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Labelled reviews as ids of one vocabulary, which was counted on `train` alone.

    `about` says where they come from: source, options, label scheme, columns, how many rows were dropped and why.
    `fingerprint` names the content: equal ids, labels, words and sources, equal fingerprint.
    """

    vocab: Vocab
    train: Split
    validation: Split | None = None
    test: Split | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None
    fingerprint: str = ""

    @classmethod
    def from_texts(
        cls,
        texts: Sequence[str],
        labels: Sequence[int] | np.ndarray,
        test: tuple[Sequence[str], Sequence[int] | np.ndarray] | None = None,
        validation: float = 0.1,
        vocab_size: int = 50_000,
        min_count: int = 1,
        seed: int = 0,
    ) -> Corpus:
        """A corpus from texts and labels (0 negative, 1 positive), wholly in memory. Texts without a word are left out;
        `about["dropped"]` says how many."""
        from rnnlens.corpora.in_memory import corpus_from_texts

        return corpus_from_texts(texts, labels, test, validation, vocab_size, min_count, seed)

    @classmethod
    def from_ids(
        cls,
        vocab: Vocab | Iterable[str],
        train: tuple[Sequence[Any], Any],
        test: tuple[Sequence[Any], Any] | None = None,
        validation: tuple[Sequence[Any], Any] | None = None,
    ) -> Corpus:
        """A corpus from texts that your own tokenizer made ids of: pairs (documents, labels). A document is a list of
        ids below len(vocab), a label 0 (negative) or 1 (positive)."""
        vocab = vocab if isinstance(vocab, Vocab) else Vocab(vocab)
        given = {"train": train, "validation": validation, "test": test}
        splits = {part: _split_of(*pair, len(vocab)) for part, pair in given.items() if pair is not None}
        mark = content_fingerprint(vocab, splits)
        return cls(vocab, **splits, about={"source": "ids"}, fingerprint=mark)  # type: ignore[arg-type]

    def refit(self) -> Corpus:
        """The corpus with its validation reviews among the training ones, and none left to choose by: for a last fit,
        once every choice is made. Its words are the same. After `only`, validation reviews of other sources are left
        out."""
        validation = self.validation
        if validation is not None and "only" in self.about:
            validation = validation.take(self._of_sources(validation, self.about["only"]))
        if validation is None or not len(validation):
            return self
        train = self.train.join(validation)
        splits = {"train": train} if self.test is None else {"train": train, "test": self.test}
        about = {**self.about, "refit": self.fingerprint}
        return Corpus(self.vocab, train, None, self.test, about, None, content_fingerprint(self.vocab, splits))

    def with_vocab(self, vocab: Vocab) -> Corpus:
        """The same reviews in the ids of another vocabulary, for a network that has other words (`rnnlens.extend`).
        Words that `vocab` lacks become its `<unk>`. Ids are looked up when they are read, so a mapped corpus stays on
        disk. `about["recoded"]` is the fingerprint of this corpus."""
        if vocab == self.vocab:
            return self
        table = vocab.ids_of(self.vocab)
        splits = {
            name: Split(
                cast(np.ndarray, Recoded(split.ids, table, len(vocab))), split.offsets, split.labels, split.sources
            )
            for name, split in self.splits.items()
        }
        about = {**self.about, "recoded": self.fingerprint}
        mark = content_fingerprint(vocab, splits)
        return Corpus(vocab, splits["train"], splits.get("validation"), splits.get("test"), about, self.path, mark)

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of its sources, where there are several; `Split.sources` numbers them."""
        return tuple(part["name"] for part in self.about.get("sources", ()))

    def only(self, names: str | Sequence[str]) -> Corpus:
        """The corpus with the training documents of some of its sources; words, validation and test stay."""
        names = [names] if isinstance(names, str) else list(names)
        there = self.about.get("only", self.sources)
        if not self.sources:
            raise RnnlensError(f"sources are {quoted(', '.join(names))}: the corpus has one source, expected none")
        if unknown := [name for name in names if name not in there] or ([] if names else [""]):
            known = ", ".join(map(quoted, there))
            raise RnnlensError(f"the corpus has no source {quoted(unknown[0])}: expected some of {known}")
        names = [name for name in self.sources if name in names]
        train = self.train.take(self._of_sources(self.train, names))
        mark = content_fingerprint(self.vocab, {**self.splits, "train": train})
        about = {**self.about, "source": " + ".join(names), "only": names, "whole": self.fingerprint}
        return Corpus(self.vocab, train, self.validation, self.test, about, None, mark)

    def _of_sources(self, split: Split, names: Sequence[str]) -> np.ndarray:
        """The places of a split's documents that are from the named sources."""
        assert split.sources is not None
        return np.flatnonzero(np.isin(split.sources, [self.sources.index(name) for name in names]))

    @property
    def splits(self) -> dict[str, Split]:
        """The splits there are, by name."""
        named = zip(PARTS, (self.train, self.validation, self.test), strict=True)
        return {name: split for name, split in named if split is not None}

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(split):,}" for name, split in self.splits.items())
        where = f" at {str(self.path)!r}" if self.path else ""
        return printable(f"Corpus({self.about.get('source', 'texts')}: {sizes}; {len(self.vocab):,} words{where})")


def _split_of(documents: Sequence[Any], labels: Any, n_words: int) -> Split:
    """Lists of ids and their labels as a split, checked."""
    rows = [np.asarray(document, dtype=np.int64).reshape(-1) for document in documents]
    classes = np.asarray(labels).reshape(-1)
    if len(rows) != len(classes):
        raise RnnlensError(f"got {len(rows)} documents and {len(classes)} labels: expected one label a document")
    if not np.isin(classes, (0, 1)).all():
        raise RnnlensError(f"labels hold {classes[~np.isin(classes, (0, 1))][0]!r:.40}: expected 0 and 1")
    ids = np.concatenate([np.zeros(0, np.int64), *rows])
    if len(ids) and not 0 <= ids.min() <= ids.max() < n_words:
        raise RnnlensError(f"ids reach from {ids.min()} to {ids.max()}: expected 0 … {n_words - 1}, as the words have")
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    return Split(ids.astype(np.uint16 if n_words <= 1 << 16 else np.uint32), offsets, classes.astype(np.uint8))


def _positions(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Indices start, start + 1, … of every span, one span after the other."""
    shifts = starts - (np.cumsum(lengths) - lengths)
    return np.repeat(shifts, lengths) + np.arange(lengths.sum())


def _give_back(ids: np.ndarray) -> None:
    """Pages of a mapped file that were looked at count as this process's memory until the system wants them: those of
    a large file are given back at once. They stay in the system's cache, where the next look finds them."""
    mapped = getattr(ids, "_mmap", None)
    if mapped is not None and ids.nbytes > _LARGE and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _parts(array: np.ndarray) -> Iterator[np.ndarray]:
    """An array, mapped or not, a block at a time."""
    for i in range(0, len(array), _BLOCK):
        yield array[i : i + _BLOCK]
        _give_back(array)


# --- what is in it ----------------------------------------------------------------------------------------------------


def statistics(corpus: Corpus) -> dict[str, dict[str, Any]]:
    """For each split: reviews, share of positive ones, words, quantiles of words per review, share of `<unk>`."""
    return {
        name: _statistics(split.lengths, split.labels, _unknown(split, corpus.vocab.unk))
        for name, split in corpus.splits.items()
    }


def source_statistics(corpus: Corpus) -> dict[str, dict[str, dict[str, Any]]]:
    """The same for each of several sources: source → split → statistics. A split without documents of a source is left
    out; none for a corpus of one source."""
    found: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in corpus.sources}
    for part, split in corpus.splits.items() if found else ():
        unknown = _unknown(split, corpus.vocab.unk)
        for name, statistics_of in found.items():
            chosen = corpus._of_sources(split, [name])
            if len(chosen):
                statistics_of[part] = _statistics(split.lengths[chosen], split.labels[chosen], unknown[chosen])
    return found


def _statistics(lengths: np.ndarray, labels: np.ndarray, unknown: np.ndarray) -> dict[str, Any]:
    """Of documents by their lengths, labels and unknown words, (n,) each."""
    marks = ("min", "5%", "25%", "median", "75%", "95%", "max")
    quantiles = np.quantile(lengths, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1], method="nearest") if len(lengths) else []
    return {
        "reviews": len(labels),
        "positive": float(labels.mean()) if len(labels) else 0.0,
        "words": int(lengths.sum()),
        "words per review": dict(zip(marks, map(int, quantiles), strict=False)),
        "unknown": int(unknown.sum()) / max(1, int(lengths.sum())),
    }


def _unknown(split: Split, unk: int) -> np.ndarray:
    """How many words of each document are unknown, (n,) int64."""
    counts, done = np.zeros(len(split), np.int64), 0
    for block in _parts(split.ids) if unk >= 0 else ():
        at = done + np.flatnonzero(block == unk)
        counts += np.bincount(np.searchsorted(split.offsets, at, side="right") - 1, minlength=len(split))
        done += len(block)
    return counts


# --- reading a prepared folder ----------------------------------------------------------------------------------------


def is_prepared(path: Path | str) -> bool:
    """Whether `path` is a folder that `prepare` wrote, whole or damaged."""
    try:
        return any((Path(path) / name).is_file() for name in ("corpus.json", "train.ids.npy"))
    except OSError:  # not even a possible name
        return False


def read_corpus(path: Path | str, verify: bool = True) -> Corpus:
    """Map a prepared folder, verified: whatever does not match what was written is an error that names the file.

    `verify=False` leaves out the reading of every byte, for a folder written a moment ago.
    """
    path = Path(path)
    about = artifacts.read_json(path / "corpus.json")
    with artifacts.understood(path / "corpus.json", "corpus of rnnlens"):
        if about.get("kind") != "corpus" or about.get("schema", 0) > artifacts.SCHEMA:
            raise RnnlensError(
                f"{quoted(str(path))} was written by another version of rnnlens (schema {about.get('schema')}, "
                f"this one reads up to {artifacts.SCHEMA}): prepare it again"
            )
        parts = [part for part in PARTS if part in about["sizes"]]
        several = len(about["about"].get("sources", ()))
        for name in corpus_files(parts, bool(several)) if verify else ():
            if _file_fingerprint(path / name) != about["files"][name]:
                raise _damaged(path / name, "its bytes do not match their fingerprint")
        words = artifacts.read_json(path / "vocab.json")
        vocab = Vocab(words["words"], words["counts"])
        splits = {part: read_split(path, part, len(vocab), several) for part in parts}
        return Corpus(
            vocab,
            splits["train"],
            splits.get("validation"),
            splits.get("test"),
            about=dict(about["about"]),
            path=path,
            fingerprint=str(about["corpus"]),
        )


def corpus_files(parts: Iterable[str], several: bool) -> list[str]:
    """The files of a prepared folder that corpus.json vouches for."""
    arrays = (*ARRAYS, "sources") if several else ARRAYS
    return ["vocab.json", *(f"{part}.{name}.npy" for part in parts for name in arrays)]


def read_split(path: Path, part: str, n_words: int, several: int = 0) -> Split:
    """Map one split of a folder; its arrays must fit each other, the vocabulary and the number of `several` sources."""
    arrays = {}
    for name in (*ARRAYS, "sources") if several else ARRAYS:
        file = path / f"{part}.{name}.npy"
        try:  # mapped, so that a header which lies about the size asks for no memory
            array = np.load(file, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # NumPy reads headers as Python, which can be wrong in many ways
            raise _damaged(file, "it is not a whole .npy file") from error
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise _damaged(file, f"it holds {array.dtype} of shape {array.shape}, expected a row of whole numbers")
        arrays[name] = array if name == "ids" else np.array(array)
    split = Split(**arrays)
    offsets = split.offsets
    if offsets.shape != (len(split) + 1,) or offsets[0] != 0 or np.any(np.diff(offsets) < 0):
        raise _damaged(path / f"{part}.offsets.npy", "it does not count up from 0, one step a review")
    if offsets[-1] != len(split.ids):
        raise _damaged(path / f"{part}.ids.npy", f"it holds {len(split.ids)} ids, expected {offsets[-1]}")
    if not np.isin(split.labels, (0, 1)).all():
        raise _damaged(path / f"{part}.labels.npy", "a label is neither 0 nor 1")
    if split.sources is not None and split.sources.shape != split.labels.shape:
        raise _damaged(path / f"{part}.sources.npy", f"it holds {len(split.sources)} numbers, expected {len(split)}")
    if split.sources is not None and not np.all((split.sources >= 0) & (split.sources < several)):
        raise _damaged(path / f"{part}.sources.npy", f"a number is not that of one of the {several} sources")
    if any(block.max() >= n_words or block.min() < PAD for block in _parts(split.ids)):
        raise _damaged(path / f"{part}.ids.npy", f"an id is not one of the {n_words} words of the vocabulary")
    return split


def _file_fingerprint(file: Path) -> str:
    try:
        if not file.is_file():
            raise OSError("it is no ordinary file" if file.exists() else "No such file or directory")
        return artifacts.file_fingerprint(file)
    except OSError as error:
        reason = error.strerror or error
        raise RnnlensError(f"cannot read {quoted(str(file), 200)}: {reason}; prepare the corpus again") from error


def _damaged(file: Path, why: str) -> RnnlensError:
    return RnnlensError(f"{quoted(str(file), 200)} is damaged: {why}; prepare the corpus again")


def content_fingerprint(vocab: Vocab, splits: Mapping[str, Split]) -> str:
    """One name for ids, labels and words, however they are stored."""
    digest = hashlib.sha256("\n".join(vocab.words).encode())
    for name, split in splits.items():
        digest.update(f"{name} {len(split)} {len(split.ids)}".encode())
        for array in (split.offsets, split.labels, split.ids, split.sources):
            for block in () if array is None else _parts(array):
                digest.update(np.ascontiguousarray(block).data)
    return digest.hexdigest()[:32]
