"""`Corpus.from_texts`: lists of texts and labels → a corpus, without a folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.corpora.encoding import byte_chunks, text_series
from rnnlens.corpora.indexing import index_texts
from rnnlens.corpora.options import PrepareConfig
from rnnlens.corpora.splits import Split, content_fingerprint
from rnnlens.corpora.spool import Spool


def parts_from_texts(
    texts: Sequence[str],
    labels: Sequence[int] | np.ndarray,
    test: tuple[Sequence[str], Sequence[int] | np.ndarray] | None,
    validation: float,
    vocab_size: int,
    min_count: int,
    seed: int,
) -> dict[str, Any]:
    """The fields of the corpus that `Corpus.from_texts` makes."""
    options = {"validation": validation, "vocab_size": vocab_size, "min_count": min_count, "seed": seed}
    config = PrepareConfig(**options, test=0)  # type: ignore[arg-type]
    config.check()
    given = {"train": _columns(texts, labels)}
    if test is not None:
        if not isinstance(test, Sequence) or len(test) != 2:
            raise RnnlensError(f"test is {quoted(test)}: expected a pair (texts, labels)")
        given["test"] = _columns(*test)
    spools = {split: Spool() for split in given}
    chunks = (
        ((0, split, classes[rows]), column[rows])
        for split, (column, classes) in given.items()
        for rows in byte_chunks(column)
    )
    indexed = index_texts([spools], chunks, config, np.random.Generator(np.random.PCG64(seed)))
    documents = {id(spool): _documents(spool, indexed.table) for spool in spools.values()}
    splits = {
        part: documents[id(spool)].take(np.flatnonzero(chosen)) for part, [(_, spool, chosen)] in indexed.parts.items()
    }
    about = {"source": "texts", "options": options, "dropped": indexed.dropped[0]}
    return {**splits, "vocab": indexed.vocab, "about": about, "fingerprint": content_fingerprint(indexed.vocab, splits)}


def _columns(texts: Sequence[str], labels: Sequence[int] | np.ndarray) -> tuple[pl.Series, np.ndarray]:
    """Texts and labels (n,) uint8, checked."""
    column = text_series(texts)
    try:
        classes = np.asarray(labels)
    except ValueError as error:  # lists of several lengths
        raise RnnlensError("labels are not a list of numbers: expected one label, 0 or 1, per text") from error
    if classes.ndim != 1:
        raise RnnlensError(f"labels have the shape {classes.shape}: expected ({len(column)},), one label per text")
    if len(column) != len(classes):
        raise RnnlensError(f"got {len(column)} texts and {len(classes)} labels: expected one label per text")
    wrong = [label for label in classes.tolist() if label not in (0, 1)]
    if wrong:
        raise RnnlensError(f"labels hold {wrong[0]!r:.40}: expected 0 (negative) and 1 (positive)")
    return column, classes.astype(np.uint8)


def _documents(spool: Spool, table: np.ndarray) -> Split:
    """All documents of a spool, as ids."""
    ids = np.concatenate([np.zeros(0, dtype=table.dtype), *(table[codes] for _, codes in spool.blocks())])
    return Split(ids, np.concatenate([[0], np.cumsum(spool.lengths)]), spool.labels)
