"""Texts → codes: polars splits each text once, on all cores; a word's code is its index in a growing dictionary.

`spool.py` keeps the codes until every text has been split; `indexing.py` then converts them to ids.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.corpora.vocab import UNK
from rnnlens.corpora.words import split_column, well_formed

CHUNK_BYTES = 6 << 20  # of text split at a time: large enough to be fast, small enough to keep a few in memory
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
    """All distinct words so far, each with its code."""

    def __init__(self) -> None:
        self._type = pl.Categorical(pl.Categories.random())
        self._keep_alive = pl.Series([UNK]).cast(self._type)  # polars drops categories that no column uses
        self._known = np.zeros(0, dtype=bool)
        self._words: list[pl.DataFrame] = []  # the new words of each chunk

    def split(self, texts: pl.Series) -> Codes:
        """Split a chunk of texts; safe to call from several threads at once."""
        lists = texts.to_frame("text").select(split_column(pl.col("text")))["text"]
        words = lists.explode().drop_nulls().cast(self._type)
        return Codes(words, words.to_physical().to_numpy(), lists.list.len().to_numpy().astype(np.int64))

    def learn(self, chunk: Codes) -> None:
        """Add the new words of a chunk (polars cannot list the categories itself)."""
        size = int(chunk.codes.max()) + 1 if len(chunk.codes) else 0
        if size > len(self._known):
            self._known = np.concatenate([self._known, np.zeros(size - len(self._known), dtype=bool)])
        new = np.flatnonzero(~self._known[chunk.codes])
        if len(new):
            codes, first = np.unique(chunk.codes[new], return_index=True)
            self._known[codes] = True
            self._words.append(pl.DataFrame({"code": codes, "word": chunk.words.gather(new[first]).cast(pl.String)}))

    @property
    def size(self) -> int:
        """One more than the highest code."""
        return len(self._known)

    def words(self) -> pl.DataFrame:
        """All words: columns code (uint32), word."""
        empty = pl.DataFrame(schema={"code": pl.UInt32, "word": pl.String})
        return pl.concat([empty, *self._words])


def spool_texts(
    dictionary: Dictionary, chunks: Iterable[tuple[Item, pl.Series]], spool: Callable[[Item, Codes], None]
) -> None:
    """Split chunks of texts on all cores; pass each, in order, to `spool` with the item that came with it."""

    def split(chunk: tuple[Item, pl.Series]) -> tuple[Item, Codes]:
        return chunk[0], dictionary.split(chunk[1])

    for item, codes in _ahead(split, chunks):
        dictionary.learn(codes)
        spool(item, codes)


def _ahead(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """map(function, items) in threads, in order, with only a few items computed ahead."""
    with ThreadPoolExecutor(_WORKERS) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > _WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def text_series(texts: Sequence[str]) -> pl.Series:
    """Texts as a polars column; lone surrogates, which polars cannot store, become separators."""
    if isinstance(texts, str):
        raise RnnlensError(f"texts are one string, {quoted(texts, 40)}: expected a list of strings")
    try:
        column = pl.Series("text", texts, dtype=pl.String)
    except UnicodeEncodeError:
        column = pl.Series("text", [well_formed(text) for text in texts], dtype=pl.String)
    except (TypeError, ValueError, PolarsError) as error:
        raise RnnlensError(f"texts must be strings: {str(error).splitlines()[0]}") from error
    if column.null_count():
        raise RnnlensError(f"text {column.is_null().arg_max()} is None: expected strings")
    return column


def byte_chunks(texts: pl.Series) -> Iterator[slice]:
    """Runs of rows with about CHUNK_BYTES of text each, at least one row per run."""
    ends = np.cumsum(texts.str.len_bytes().fill_null(0).to_numpy().astype(np.int64))
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + CHUNK_BYTES, side="right")))
        yield slice(start, stop)
        start = stop
