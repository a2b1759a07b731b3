"""`Corpus.from_texts`: lists of texts and labels → a corpus, without a folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.corpora.classes import named_labels
from rnnlens.corpora.encoding import byte_chunks, text_series
from rnnlens.corpora.indexing import index_texts
from rnnlens.corpora.options import PrepareConfig
from rnnlens.corpora.splits import Split, content_fingerprint
from rnnlens.corpora.spool import Spool


def parts_from_texts(
    texts: Sequence[str],
    labels: Sequence[Any] | np.ndarray,
    test: tuple[Sequence[str], Sequence[Any] | np.ndarray] | None,
    validation: float,
    vocab_size: int,
    min_count: int,
    seed: int,
    classes: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The fields of the corpus that `Corpus.from_texts` makes."""
    options = {"validation": validation, "vocab_size": vocab_size, "min_count": min_count, "seed": seed}
    config = PrepareConfig(**options, test=0)  # type: ignore[arg-type]
    config.check()
    column, numbers, names = _columns(texts, labels, classes)
    given = {"train": (column, numbers)}
    if test is not None:
        if not isinstance(test, Sequence) or len(test) != 2:
            raise RnnlensError(f"test is {quoted(test)}: expected a pair (texts, labels)")
        given["test"] = _columns(*test, names or None)[:2]
    names = names if len(names) > 2 else ()
    spools = {split: Spool() for split in given}
    chunks = (
        ((0, split, numbers[rows]), column[rows])
        for split, (column, numbers) in given.items()
        for rows in byte_chunks(column)
    )
    indexed = index_texts([spools], chunks, config, np.random.Generator(np.random.PCG64(seed)), classes=names)
    documents = {id(spool): _documents(spool, indexed.table) for spool in spools.values()}
    splits = {
        part: documents[id(spool)].take(np.flatnonzero(chosen)) for part, [(_, spool, chosen)] in indexed.parts.items()
    }
    about = {"source": "texts", "options": options, "dropped": indexed.dropped[0]}
    about |= {"classes": list(names)} if names else {}
    mark = content_fingerprint(indexed.vocab, splits, names)
    return {**splits, "vocab": indexed.vocab, "about": about, "fingerprint": mark}


def _columns(
    texts: Sequence[str], labels: Sequence[Any] | np.ndarray, classes: Sequence[str] | None
) -> tuple[pl.Series, np.ndarray, Sequence[str]]:
    """Texts, labels (n,) as numbers of classes, and the names of the classes, checked."""
    column = text_series(texts)
    numbers, names = named_labels(labels, classes)
    if len(column) != len(numbers):
        raise RnnlensError(f"got {len(column)} texts and {len(numbers)} labels: expected one label per text")
    return column, numbers, names


def _documents(spool: Spool, table: np.ndarray) -> Split:
    """All documents of a spool, as ids."""
    ids = np.concatenate([np.zeros(0, dtype=table.dtype), *(table[codes] for _, codes in spool.blocks())])
    return Split(ids, np.concatenate([[0], np.cumsum(spool.lengths)]), spool.labels)
