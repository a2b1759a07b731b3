"""A source → the files of a prepared corpus, reading and holding only a few megabytes of text at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rnnlens import artifacts
from rnnlens.corpora.encoding import byte_chunks
from rnnlens.corpora.labels import DROPPED
from rnnlens.corpora.options import PrepareConfig, Progress
from rnnlens.corpora.saving import write_about, write_npy
from rnnlens.corpora.sources import Source
from rnnlens.corpora.spool import Place, Spool, index_texts, stratified
from rnnlens.errors import RnnlensError, quoted


def write_corpus(
    folder: Path, source: Source, config: PrepareConfig, about: Mapping[str, Any], progress: Progress | None
) -> None:
    """Write `corpus.json`, `vocab.json` and the arrays of every split into `folder`; `about` goes into the first."""
    rng = np.random.Generator(np.random.PCG64(config.seed))
    spools = {split: Spool(folder / f"{split}.codes") for split in source.labels}
    dropped = {"no class": 0, "no text": 0, "no words": 0}
    texts = _kept_texts(source, _wanted(source, config.limit, rng, config.neighbours), dropped, progress)
    found = index_texts(spools, texts, config, rng)
    dropped["no words"] = found.wordless
    for part, (spool, chosen) in found.parts.items():
        _write_split(folder, part, spool, chosen, found.table)
    for spool in spools.values():
        spool.close()
    artifacts.write_json(folder / "vocab.json", {"words": found.vocab.words, "counts": found.vocab.counts})
    rows = {split: len(codes) for split, codes in source.labels.items()}
    read = {"labels": source.scheme, "columns": dict(source.columns), "rows": rows, "dropped": dropped}
    write_about(folder, found.vocab, list(found.parts), {**about, "about": {**about["about"], **read}})


def _wanted(source: Source, limit: int | None, rng: np.random.Generator, run: int) -> dict[str, np.ndarray]:
    """A mask (rows,) for each split: the rows with a class, about `limit` of them if there are more, in runs."""
    wanted = {split: codes != DROPPED for split, codes in source.labels.items()}
    for split, rows in wanted.items():
        if limit is not None and (n := np.count_nonzero(rows)) > limit:
            wanted[split] = stratified(source.labels[split], limit / n, rng, run)
    return wanted


def _kept_texts(
    source: Source, wanted: Mapping[str, np.ndarray], dropped: dict[str, int], progress: Progress | None
) -> Iterator[tuple[Place, pl.Series]]:
    """Chunks ((split, labels), texts) of the wanted rows that have a text; counts what is dropped."""
    total, done = sum(map(len, wanted.values())), dict.fromkeys(wanted, 0)
    for split, texts in source.read():
        rows = slice(done[split], done[split] + len(texts))
        done[split] = rows.stop
        kept, labels = wanted[split][rows], source.labels[split][rows]
        if len(kept) < len(texts):
            break
        there = texts.is_not_null().to_numpy()
        dropped["no class"] += int(np.count_nonzero(labels == DROPPED))
        dropped["no text"] += int(np.count_nonzero(kept & ~there))
        texts, labels = texts.filter(pl.Series(kept & there)), labels[kept & there]
        for chunk in byte_chunks(texts):
            yield (split, labels[chunk]), texts[chunk]
        if progress is not None:
            progress(sum(done.values()), total)
    if any(done[split] != len(rows) for split, rows in wanted.items()):
        raise RnnlensError(f"{quoted(source.name, 200)} changed while it was read: prepare it again")


def _write_split(folder: Path, part: str, spool: Spool, chosen: np.ndarray, table: np.ndarray) -> None:
    lengths, labels = spool.lengths, spool.labels[chosen]
    offsets = np.concatenate([[0], np.cumsum(lengths[chosen])])
    ids = (table[codes[np.repeat(chosen[rows], lengths[rows])]] for rows, codes in spool.blocks())
    write_npy(folder / f"{part}.offsets.npy", offsets.dtype, len(offsets), [offsets])
    write_npy(folder / f"{part}.labels.npy", labels.dtype, len(labels), [labels])
    write_npy(folder / f"{part}.ids.npy", table.dtype, int(offsets[-1]), ids)
