"""`Corpus.from_texts`: lists of texts and labels → a corpus, without a folder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rnnlens.corpora.corpus import Corpus, Split, content_fingerprint
from rnnlens.corpora.encoding import Dictionary, byte_chunks, spool_texts, text_series
from rnnlens.corpora.spool import Spool, build_vocab, count_words, deal
from rnnlens.errors import RnnlensError


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
    spools = {name: _spool(dictionary, *pair) for name, pair in given.items()}
    parts = deal(spools, {"validation": validation}, np.random.Generator(np.random.PCG64(seed)))
    counts = count_words(*parts["train"], dictionary.size)
    vocab, table = build_vocab(dictionary.words(), counts, vocab_size, min_count)
    whole = {id(spool): _whole(spool, table) for spool in spools.values()}
    splits = {part: whole[id(spool)].take(np.flatnonzero(chosen)) for part, (spool, chosen) in parts.items()}
    options = {"validation": validation, "vocab_size": vocab_size, "min_count": min_count, "seed": seed}
    return Corpus(
        vocab,
        splits["train"],
        splits.get("validation"),
        splits.get("test"),
        about={"source": "texts", "options": options},
        fingerprint=content_fingerprint(vocab, splits),
    )


def _spool(dictionary: Dictionary, texts: Sequence[str], labels: Sequence[int] | np.ndarray) -> Spool:
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
