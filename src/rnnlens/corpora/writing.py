"""Sources → the files of a prepared corpus, with only a few megabytes of text in memory at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rnnlens.common import files
from rnnlens.common.errors import RnnlensError, RnnlensWarning, quoted
from rnnlens.corpora.classes import label_dtype
from rnnlens.corpora.encoding import byte_chunks
from rnnlens.corpora.indexing import Place, index_texts, stratified
from rnnlens.corpora.options import PrepareConfig, Progress
from rnnlens.corpora.reversing import backwards
from rnnlens.corpora.saving import write_about, write_npy
from rnnlens.corpora.sources import Source
from rnnlens.corpora.spool import Spool, rows_of


def write_corpus(
    folder: Path, sources: Sequence[Source], config: PrepareConfig, about: Mapping[str, Any], progress: Progress | None
) -> None:
    """Write `corpus.json`, `vocab.json` and the arrays of every split into `folder`; `about` goes into the first."""
    graded = any(source.grades for source in sources)
    rng = np.random.Generator(np.random.PCG64(config.seed))
    spools = [
        {split: Spool(folder / f"{number}.{split}.codes") for split in source.labels}
        for number, source in enumerate(sources)
    ]
    dropped: list[dict[str, int]] = [{"no class": 0, "no text": 0} for _ in sources]
    wanted = [_wanted(source, config.limit, rng) for source in sources]
    texts = _kept_texts(sources, wanted, dropped, progress)
    named = about["about"].get("sources", [])
    names = sources[0].names
    indexed = index_texts(spools, texts, config, rng, [part["name"] for part in named], names)
    if len(indexed.vocab) < 2:
        message = (
            f"min_count is {config.min_count}, and no word occurs as often in the training texts: every word reads as "
            "<unk>; prepare the corpus again with a lower one (--min-count)"
        )
        warnings.warn(RnnlensWarning(message), stacklevel=3)
    for part, places in indexed.parts.items():
        _write_split(folder, part, places, indexed.table, len(sources) > 1, graded, config.reverse)
    for spool in (spool for of_source in spools for spool in of_source.values()):
        spool.close()
    files.write_json(folder / "vocab.json", {"words": indexed.vocab.words, "counts": indexed.vocab.counts})
    read = [
        {
            "labels": source.scheme,
            **({} if names else {"classes": dict(source.classes)}),
            **({"targets": dict(source.targets)} if source.targets else {}),
            "columns": dict(source.columns),
            "rows": {split: len(codes) for split, codes in source.labels.items()},
            "dropped": {**unread, **unused},
        }
        for source, unread, unused in zip(sources, dropped, indexed.dropped, strict=True)
    ]
    if len(sources) == 1:
        facts = {**about["about"], **read[0]}
    else:
        facts = {**about["about"], "sources": [{**n, **r} for n, r in zip(named, read, strict=True)]}
    facts |= {"classes": list(names)} if names else {}
    facts |= {"ordered": True} if names and config.ordered else {}
    facts |= {"reversed": True} if config.reverse else {}
    facts |= {"grades": True} if graded else {}
    write_about(folder, indexed.vocab, list(indexed.parts), {**about, "about": facts})


def _wanted(source: Source, limit: int | None, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A mask (rows,) for each split: the rows with a class, or about `limit` of them if there are more."""
    wanted = {split: codes != source.dropped for split, codes in source.labels.items()}
    for split, rows in wanted.items():
        if limit is not None and (n := np.count_nonzero(rows)) > limit:
            kinds = len(source.names) or 2 + bool(source.grades)
            wanted[split] = stratified(source.labels[split], limit / n, rng, kinds)
    return wanted


def _kept_texts(
    sources: Sequence[Source],
    wanted: Sequence[Mapping[str, np.ndarray]],
    dropped: Sequence[dict[str, int]],
    progress: Progress | None,
) -> Iterator[tuple[Place, pl.Series]]:
    """Chunks ((source, split, rows), texts) of the wanted rows that have a text; counts the dropped rows."""
    total, before = sum(len(rows) for masks in wanted for rows in masks.values()), 0
    for number, source in enumerate(sources):
        done = dict.fromkeys(wanted[number], 0)
        for split, texts in source.read():
            rows = slice(done[split], done[split] + len(texts))
            done[split] = rows.stop
            kept, labels = wanted[number][split][rows], source.labels[split][rows]
            if len(kept) < len(texts):
                break
            has_text = texts.is_not_null().to_numpy()
            dropped[number]["no class"] += int(np.count_nonzero(labels == source.dropped))
            dropped[number]["no text"] += int(np.count_nonzero(kept & ~has_text))
            labels = labels.astype(label_dtype(len(source.names)), copy=False)
            known = rows_of(labels, *(of[split][rows] if of else None for of in (source.grades, source.groups)))
            texts, known = texts.filter(pl.Series(kept & has_text)), known[kept & has_text]
            for chunk in byte_chunks(texts):
                yield (number, split, known[chunk]), texts[chunk]
            if progress is not None:
                progress(before + sum(done.values()), total)
        if any(done[split] != len(rows) for split, rows in wanted[number].items()):  # damage may end batches early
            raise RnnlensError(
                f"{quoted(source.name, 200)} has other texts than labels: is it complete, or did it change?"
            )
        before += sum(done.values())


def _write_split(
    folder: Path,
    part: str,
    places: Sequence[tuple[int, Spool, np.ndarray]],
    table: np.ndarray,
    several: bool,
    graded: bool,
    reverse: bool,
) -> None:
    """The documents of one split, source by source. graded: whether to write grades; those of a source that has none
    are its labels."""
    lengths = np.concatenate([spool.lengths[chosen] for _, spool, chosen in places])
    labels = np.concatenate([spool.labels[chosen] for _, spool, chosen in places])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids = (
        _ids(table[codes[np.repeat(chosen[rows], n[rows])]], n[rows][chosen[rows]], reverse)
        for n, spool, chosen in [(spool.lengths, spool, chosen) for _, spool, chosen in places]
        for rows, codes in spool.blocks()
    )
    write_npy(folder / f"{part}.offsets.npy", offsets.dtype, len(offsets), [offsets])
    write_npy(folder / f"{part}.labels.npy", labels.dtype, len(labels), [labels])
    write_npy(folder / f"{part}.ids.npy", table.dtype, int(offsets[-1]), ids)
    if graded:
        grades = [(spool.labels if spool.grades is None else spool.grades)[chosen] for _, spool, chosen in places]
        blocks = [block.astype(np.float32) for block in grades]
        write_npy(folder / f"{part}.grades.npy", np.dtype(np.float32), len(labels), blocks)
    if several:
        numbers = [np.full(np.count_nonzero(chosen), number, np.uint8) for number, _, chosen in places]
        write_npy(folder / f"{part}.sources.npy", np.dtype(np.uint8), len(labels), numbers)


def _ids(ids: np.ndarray, lengths: np.ndarray, reverse: bool) -> np.ndarray:
    return backwards(ids, lengths) if reverse else ids
