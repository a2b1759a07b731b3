"""`Corpus.from_texts`: lists of texts and labels → a corpus, without a folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.corpora.classes import named_labels
from rnnlens.corpora.encoding import byte_chunks, text_series
from rnnlens.corpora.grades import checked_grades, labels_of
from rnnlens.corpora.indexing import index_texts
from rnnlens.corpora.options import PrepareConfig
from rnnlens.corpora.splits import NEUTRAL, Split, content_fingerprint
from rnnlens.corpora.spool import Spool, rows_of


def parts_from_texts(
    texts: Sequence[str],
    labels: Sequence[Any] | np.ndarray | None,
    test: tuple[Sequence[str], Sequence[Any] | np.ndarray] | None,
    validation: float,
    vocab_size: int,
    min_count: int,
    seed: int,
    classes: Sequence[str] | None = None,
    grades: Any = None,
) -> dict[str, Any]:
    """The fields of the corpus that `Corpus.from_texts` makes."""
    options = {"validation": validation, "vocab_size": vocab_size, "min_count": min_count, "seed": seed}
    config = PrepareConfig(**options, test=0)  # type: ignore[arg-type]
    config.check()
    if test is not None and (not isinstance(test, Sequence) or len(test) != 2):
        raise RnnlensError(f"test is {quoted(test)}: expected a pair (texts, labels)")
    names: Sequence[str] = ()
    if grades is None and labels is None:
        raise RnnlensError("got texts without labels: expected labels, 0 or 1 or names of classes, or grades")
    if grades is None:
        assert labels is not None
        column, numbers, names = _columns(texts, labels, classes)
        given = {"train": (column, rows_of(numbers))}
        if test is not None:
            column, numbers, _ = _columns(*test, names or None)
            given["test"] = column, rows_of(numbers)
    else:
        given = {"train": _graded(texts, grades, labels)}
        if test is not None:
            given["test"] = _graded(*test, None)
    names = names if len(names) > 2 else ()
    spools = {split: Spool() for split in given}
    chunks = (
        ((0, split, known[rows]), column[rows])
        for split, (column, known) in given.items()
        for rows in byte_chunks(column)
    )
    indexed = index_texts([spools], chunks, config, np.random.Generator(np.random.PCG64(seed)), classes=names)
    documents = {id(spool): _documents(spool, indexed.table) for spool in spools.values()}
    splits = {
        part: documents[id(spool)].take(np.flatnonzero(chosen)) for part, [(_, spool, chosen)] in indexed.parts.items()
    }
    about: dict[str, Any] = {"source": "texts", "options": options, "dropped": indexed.dropped[0]}
    about |= {"classes": list(names)} if names else {}
    about |= {} if grades is None else {"grades": True}
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


def _graded(texts: Sequence[str], grades: Any, labels: Any) -> tuple[pl.Series, np.ndarray]:
    """Texts, and what is known of them, checked. labels: 0 or 1, which must agree with grades that are not 0.5."""
    column, known = text_series(texts), checked_grades(grades)
    if len(column) != len(known):
        raise RnnlensError(f"got {len(column)} texts and {len(known)} grades: expected one grade per text")
    sides = labels_of(known)
    if labels is not None:
        column, numbers, _ = _columns(texts, labels, None)
        wrong = np.flatnonzero((sides != NEUTRAL) & (sides != numbers))
        if len(wrong):
            i = wrong[0]
            raise RnnlensError(
                f"labels and grades disagree: text {i} has the label {numbers[i]} and the grade {known[i]:g}; grades "
                "above 0.5 are positive, so labels may be left out"
            )
    return column, rows_of(sides, known)


def _documents(spool: Spool, table: np.ndarray) -> Split:
    """All documents of a spool, as ids."""
    ids = np.concatenate([np.zeros(0, dtype=table.dtype), *(table[codes] for _, codes in spool.blocks())])
    return Split(ids, np.concatenate([[0], np.cumsum(spool.lengths)]), spool.labels, grades=spool.grades)
