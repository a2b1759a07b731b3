"""Texts → ids, each text split once: codes of a growing dictionary first, ids of the final vocabulary afterwards.

Texts come in chunks of a few megabytes, are split by polars on all cores, and leave as provisional codes in a `Spool`
(a file, or memory). Once every text has been seen, the documents are dealt to their splits, the words of the training
split are counted, and one look-up table turns codes into ids.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl

from rnnlens.corpora.corpus import Corpus, Split, content_fingerprint
from rnnlens.corpora.vocab import UNK, Vocab
from rnnlens.corpora.words import split_column, well_formed
from rnnlens.errors import RnnlensError

CHUNK_BYTES = 6 << 20  # of text split in one go: large enough to be fast, small enough to hold a few at once
BLOCK_WORDS = 1 << 22  # codes turned into ids in one go
_WORKERS = min(4, os.cpu_count() or 1)

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Codes:
    """One chunk of texts, split: `words` as categories, `codes` (words,) uint32, `lengths` (n,) int64."""

    words: pl.Series
    codes: np.ndarray
    lengths: np.ndarray


class Dictionary:
    """Every distinct word seen so far; its code is its place in `words`."""

    def __init__(self) -> None:
        self._type = pl.Categorical(pl.Categories.random())
        self._alive = pl.Series([UNK]).cast(self._type)  # polars forgets categories that no column holds
        self._known = np.zeros(0, dtype=bool)
        self._found: list[pl.DataFrame] = []

    def split(self, texts: pl.Series) -> Codes:
        """Split a chunk of texts; safe to call from several threads at once."""
        lists = texts.to_frame("text").select(split_column(pl.col("text")))["text"]
        words = lists.explode().drop_nulls().cast(self._type)
        return Codes(words, words.to_physical().to_numpy(), lists.list.len().to_numpy().astype(np.int64))

    def learn(self, chunk: Codes) -> None:
        """Note the words of a chunk not noted before (polars has no list of a dictionary's categories to ask for)."""
        size = int(chunk.codes.max()) + 1 if len(chunk.codes) else 0
        if size > len(self._known):
            self._known = np.concatenate([self._known, np.zeros(size - len(self._known), dtype=bool)])
        new = np.flatnonzero(~self._known[chunk.codes])
        if len(new):
            codes, first = np.unique(chunk.codes[new], return_index=True)
            self._known[codes] = True
            self._found.append(pl.DataFrame({"code": codes, "word": chunk.words.gather(new[first]).cast(pl.String)}))

    @property
    def size(self) -> int:
        """One more than the highest code."""
        return len(self._known)

    def words(self) -> pl.DataFrame:
        """All words: columns code (uint32), word."""
        empty = pl.DataFrame(schema={"code": pl.UInt32, "word": pl.String})
        return pl.concat([empty, *self._found])


@dataclass
class Spool:
    """Codes of documents as they arrive: on disk if it has a path, else in memory."""

    path: Path | None = None
    _codes: list[np.ndarray] = field(default_factory=list)
    _lengths: list[np.ndarray] = field(default_factory=list)
    _labels: list[np.ndarray] = field(default_factory=list)

    def append(self, codes: np.ndarray, lengths: np.ndarray, labels: np.ndarray) -> None:
        """Add documents: their codes end to end, lengths (n,), labels (n,)."""
        if self.path is None:
            self._codes.append(codes)
        else:
            with open(self.path, "ab") as file:
                codes.tofile(file)
        self._lengths.append(lengths)
        self._labels.append(labels)

    @property
    def lengths(self) -> np.ndarray:
        """(n,) int64."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self._lengths])

    @property
    def labels(self) -> np.ndarray:
        """(n,) uint8."""
        return np.concatenate([np.zeros(0, dtype=np.uint8), *self._labels])

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Runs of whole documents and their codes, about BLOCK_WORDS words at a time."""
        offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        whole = None if self.path else np.concatenate([np.zeros(0, dtype=np.uint32), *self._codes])
        start = 0
        while start < len(offsets) - 1:
            stop = max(start + 1, int(np.searchsorted(offsets, offsets[start] + BLOCK_WORDS, side="right")) - 1)
            words = slice(int(offsets[start]), int(offsets[stop]))
            if whole is not None:
                codes = whole[words]
            else:
                codes = np.fromfile(self.path, np.uint32, words.stop - words.start, offset=4 * words.start)  # type: ignore[arg-type]
            yield slice(start, stop), codes
            start = stop

    def close(self) -> None:
        """Forget the codes."""
        self._codes.clear()
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def spool_texts(
    dictionary: Dictionary, chunks: Iterable[tuple[Item, pl.Series]], spool: Callable[[Item, Codes], None]
) -> None:
    """Split chunks of texts on all cores; hand each, in order, to `spool` with the item that came with it."""

    def split(chunk: tuple[Item, pl.Series]) -> tuple[Item, Codes]:
        return chunk[0], dictionary.split(chunk[1])

    for item, codes in _ahead(split, chunks):
        dictionary.learn(codes)
        spool(item, codes)


def _ahead(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """map(function, items) in threads, in order, with only a few items in flight."""
    with ThreadPoolExecutor(_WORKERS) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > _WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


# --- the final vocabulary ---------------------------------------------------------------------------------------------


def stratified(labels: np.ndarray, fraction: float, rng: np.random.Generator) -> np.ndarray:
    """A mask (n,) of `fraction` of the documents, chosen by `rng`, the same fraction of each class."""
    chosen = np.zeros(len(labels), dtype=bool)
    for label in (0, 1):
        members = np.flatnonzero(labels == label)
        chosen[rng.permutation(members)[: round(fraction * len(members))]] = True
    return chosen


def count_words(spool: Spool, chosen: np.ndarray, size: int) -> np.ndarray:
    """How often each code occurs in the chosen documents, (size,) int64."""
    counts = np.zeros(size, dtype=np.int64)
    lengths = spool.lengths
    for documents, codes in spool.blocks():
        counts += np.bincount(codes[np.repeat(chosen[documents], lengths[documents])], minlength=size)
    return counts


def build_vocab(
    words: pl.DataFrame, counts: np.ndarray, vocab_size: int, min_count: int
) -> tuple[Vocab, np.ndarray]:
    """The `vocab_size` − 1 most frequent words after `<unk>`, ties in alphabetical order; and the table code → id."""
    if vocab_size < 1:
        raise RnnlensError(f"vocab_size is {vocab_size}: expected at least 1 (the word {UNK})")
    frequent = (
        words.with_columns(count=pl.Series(counts[words["code"].to_numpy()]))
        .filter((pl.col("count") >= max(1, min_count)) & (pl.col("word") != UNK))
        .sort("count", "word", descending=[True, False])
        .head(vocab_size - 1)
    )
    known = frequent["count"].to_numpy()
    table = np.zeros(len(counts), dtype=np.uint16 if vocab_size <= 1 << 16 else np.uint32)
    table[frequent["code"].to_numpy()] = np.arange(1, len(frequent) + 1)
    if len(frequent) < 1 << 16:
        table = table.astype(np.uint16)
    return Vocab([UNK, *frequent["word"].to_list()], np.concatenate([[counts.sum() - known.sum()], known])), table


def text_series(texts: Sequence[str]) -> pl.Series:
    """Texts as a polars column; lone surrogates, which it cannot hold, become separators."""
    try:
        return pl.Series("text", texts, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series("text", [well_formed(text) for text in texts], dtype=pl.String)
    except TypeError as error:
        raise RnnlensError(f"texts must be strings: {str(error).splitlines()[0]}") from error


def byte_chunks(texts: pl.Series, limit: int = CHUNK_BYTES) -> Iterator[slice]:
    """Runs of rows with about `limit` bytes of text each, at least one row a run."""
    ends = np.cumsum(texts.str.len_bytes().fill_null(0).to_numpy().astype(np.int64))
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield slice(start, stop)
        start = stop


def corpus_from_texts(
    texts: Sequence[str],
    labels: Sequence[int] | np.ndarray,
    test: tuple[Sequence[str], Sequence[int] | np.ndarray] | None,
    validation: float,
    vocab_size: int,
    min_count: int,
    seed: int,
) -> Corpus:
    """`Corpus.from_texts`."""
    dictionary = Dictionary()
    given = {"train": (texts, labels)} | ({"test": test} if test is not None else {})
    spools = {name: _spool_in_memory(dictionary, *pair) for name, pair in given.items()}
    train = spools["train"]
    held_out = stratified(train.labels, validation, np.random.Generator(np.random.PCG64(seed)))
    vocab, table = build_vocab(
        dictionary.words(), count_words(train, ~held_out, dictionary.size), vocab_size, min_count
    )
    whole = {name: _whole(spool, table) for name, spool in spools.items()}
    splits = {"train": whole["train"].take(np.flatnonzero(~held_out))}
    if held_out.any():
        splits["validation"] = whole["train"].take(np.flatnonzero(held_out))
    if "test" in whole:
        splits["test"] = whole["test"]
    about = {"source": "texts", "options": {"validation": validation, "vocab_size": vocab_size, "seed": seed}}
    return Corpus(vocab, **splits, about=about, fingerprint=content_fingerprint(vocab, splits))


def _spool_in_memory(dictionary: Dictionary, texts: Sequence[str], labels: Sequence[int] | np.ndarray) -> Spool:
    column, classes = text_series(texts), np.asarray(labels)
    if len(column) != len(classes):
        raise RnnlensError(f"got {len(column)} texts and {len(classes)} labels: expected one label a text")
    if not np.isin(classes, (0, 1)).all():
        raise RnnlensError(f"labels hold {np.unique(classes)[:5].tolist()}: expected 0 (negative) and 1 (positive)")
    spool = Spool()
    chunks = ((classes[rows].astype(np.uint8), column[rows]) for rows in byte_chunks(column))
    spool_texts(dictionary, chunks, lambda marks, chunk: spool.append(chunk.codes, chunk.lengths, marks))
    return spool


def _whole(spool: Spool, table: np.ndarray) -> Split:
    ids = np.concatenate([np.zeros(0, dtype=table.dtype), *(table[codes] for _, codes in spool.blocks())])
    return Split(ids, np.concatenate([[0], np.cumsum(spool.lengths)]), spool.labels)
