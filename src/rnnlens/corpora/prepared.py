"""`prepare`: a source of labelled texts → a folder of mapped arrays. `load_corpus`: the same, remembered in a cache.

The folder: `corpus.json` (where it comes from, sizes, fingerprints), `vocab.json` (words and their training counts) and
`{train,validation,test}.{ids,offsets,labels}.npy`. It appears whole or not at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from rnnlens import artifacts
from rnnlens.corpora.corpus import (
    ARRAYS,
    PARTS,
    Corpus,
    Split,
    content_fingerprint,
    is_prepared,
    read_corpus,
    read_split,
    statistics,
)
from rnnlens.corpora.vocab import Vocab
from rnnlens.corpora.words import RULES, WORD
from rnnlens.errors import RnnlensError, quoted

if TYPE_CHECKING:
    import polars as pl

    from rnnlens.corpora.encoding import Spool
    from rnnlens.corpora.sources import Source

__all__ = ["Corpus", "Split", "prepare", "load_corpus", "read_corpus", "is_prepared", "statistics"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class PrepareConfig:
    """How texts become a corpus.

    vocab_size  words at most, `<unk>` among them; the rarest are left out
    min_count   times a word must occur in training to be one
    max_words   longer reviews keep their last `max_words` words (None: all)
    validation  share of the training reviews held out, class by class, if the source has no validation split
    test        share of all reviews held out, class by class, if the source has no test split
    seed        of these choices
    text, label names of columns (None: detected)
    limit       reviews used of each split of the source, about, class by class (None: all)
    """

    vocab_size: int = 50_000
    min_count: int = 2
    max_words: int | None = None
    validation: float = 0.1
    test: float = 0.2
    seed: int = 0
    text: str | None = None
    label: str | None = None
    limit: int | None = None

    def check(self) -> None:
        """Refuse values that make no corpus."""
        for name, least in (("vocab_size", 2), ("min_count", 1), ("max_words", 1), ("limit", 2), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise RnnlensError(f"{name} is {value}: expected at least {least}")
        for name in ("validation", "test"):
            if not 0 <= getattr(self, name) < 1:
                raise RnnlensError(f"{name} is {getattr(self, name)}: expected a share from 0 to below 1")


def prepare(
    source: str | Path, out: str | Path, *, overwrite: bool = False, progress: Progress | None = None, **options: Any
) -> Corpus:
    """Read a source, split its texts into words, count, and write a folder that `load_corpus` maps.

    `options` are the fields of `PrepareConfig`. A folder already at `out` is returned as it is if it was prepared from
    the same source with the same options; otherwise it is only replaced with `overwrite`, and only if it is a corpus.
    `progress(done, total)` is called as reviews are read.
    """
    config = _config(options)
    out, key = Path(out), _key(source, config)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        if not is_prepared(out):
            raise RnnlensError(f"{quoted(str(out), 200)} exists and is no prepared corpus: choose another folder")
        if not overwrite:
            if artifacts.read_json(out / "corpus.json").get("key") == key:
                return read_corpus(out)
            raise RnnlensError(
                f"{quoted(str(out), 200)} holds another corpus: choose another folder, or replace it with overwrite"
            )
    with artifacts.atomic_folder(out, replace=overwrite) as folder:
        _write_corpus(folder, source, config, key, progress)
    return read_corpus(out, verify=False)


def load_corpus(source: str | Path, *, progress: Progress | None = None, **options: Any) -> Corpus:
    """A prepared folder, mapped and verified; or any source `prepare` takes, prepared once into the cache.

    `options` are the fields of `PrepareConfig`. The cache is `$RNNLENS_CACHE`, or rnnlens in the user's cache folder;
    a changed file, other options or another version of the word rules make a new entry.
    """
    if is_prepared(source):
        if options:
            raise RnnlensError(
                f"{quoted(str(source), 200)} is prepared already: {', '.join(options)} can only be given when preparing"
            )
        return read_corpus(source)
    key = _key(source, _config(options))
    slug = re.sub(r"[^A-Za-z0-9]+", "-", Path(source).name or "corpus").strip("-")[:40]
    folder = cache_folder() / "corpora" / f"{slug}-{key[:12]}"
    try:
        if is_prepared(folder):
            return read_corpus(folder)
    except RnnlensError:
        pass  # a damaged entry is prepared anew
    return prepare(source, folder, overwrite=is_prepared(folder), progress=progress, **options)


def cache_folder() -> Path:
    """`$RNNLENS_CACHE`, else `$XDG_CACHE_HOME/rnnlens`, else `~/.cache/rnnlens`."""
    if own := os.environ.get("RNNLENS_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rnnlens"


def _config(options: Mapping[str, Any]) -> PrepareConfig:
    unknown = [name for name in options if name not in PrepareConfig.__dataclass_fields__]
    if unknown:
        known = ", ".join(PrepareConfig.__dataclass_fields__)
        raise RnnlensError(f"there is no option {quoted(unknown[0])}: expected {known}")
    config = PrepareConfig(**options)
    config.check()
    return config


def _key(source: str | Path, config: PrepareConfig) -> str:
    """Names a source as it is now, the options and the word rules: equal keys, equal corpora."""
    from rnnlens.corpora.sources import local_files

    files = [(str(file.resolve()), stat.st_size, stat.st_mtime_ns) for file in local_files(source) for stat in [file.stat()]]
    return artifacts.fingerprint(
        {"schema": artifacts.SCHEMA, "source": files or str(source), "options": vars(config), "words": [WORD, RULES]}
    )


# --- writing ----------------------------------------------------------------------------------------------------------


def _write_corpus(
    folder: Path, source: str | Path, config: PrepareConfig, key: str, progress: Progress | None
) -> None:
    from rnnlens.corpora import encoding
    from rnnlens.corpora.sources import open_source

    opened = open_source(source, config.text, config.label)
    rng = np.random.Generator(np.random.PCG64(config.seed))
    dictionary = encoding.Dictionary()
    spools = {split: encoding.Spool(folder / f"{split}.codes") for split in opened.labels}
    dropped = {"no text": 0, "no class": 0}

    def spool(place: tuple[str, np.ndarray], chunk: encoding.Codes) -> None:
        codes, lengths = _last_words(chunk.codes, chunk.lengths, config.max_words)
        spools[place[0]].append(codes, lengths, place[1])

    encoding.spool_texts(dictionary, _kept_texts(opened, config, rng, dropped, progress), spool)
    parts = _deal(spools, config, rng)
    train_spool, train = parts["train"]
    counts = encoding.count_words(train_spool, train, dictionary.size)
    vocab, table = encoding.build_vocab(dictionary.words(), counts, config.vocab_size, config.min_count)
    for part, (spooled, chosen) in parts.items():
        _write_split(folder, part, spooled, chosen, table)
    for split in spools.values():
        split.close()
    artifacts.write_json(folder / "vocab.json", {"words": vocab.words, "counts": vocab.counts})
    about = {
        "source": opened.name, "options": vars(config), "labels": opened.scheme, "columns": dict(opened.columns),
        "rows": {split: len(codes) for split, codes in opened.labels.items()}, "dropped": dropped,
    }  # fmt: skip
    _write_about(folder, vocab, about, list(parts), key)


def _kept_texts(
    source: Source, config: PrepareConfig, rng: np.random.Generator, dropped: dict[str, int], progress: Progress | None
) -> Iterator[tuple[tuple[str, np.ndarray], pl.Series]]:
    """Chunks ((split, labels), texts) of the rows that have a text and a class; counts what is dropped."""
    from rnnlens.corpora.encoding import byte_chunks, stratified

    wanted = {split: codes < 2 for split, codes in source.labels.items()}
    dropped["no class"] = sum(int(np.count_nonzero(~rows)) for rows in wanted.values())
    for split, rows in wanted.items():
        if config.limit is not None and (n := np.count_nonzero(rows)) > config.limit:
            wanted[split] = stratified(source.labels[split], config.limit / n, rng)
    total, done = sum(map(len, wanted.values())), dict.fromkeys(wanted, 0)
    for split, texts in source.read():
        start = done[split]
        done[split] += len(texts)
        kept = wanted[split][start : done[split]]
        if len(kept) < len(texts):
            break
        here = texts.is_not_null().to_numpy()
        dropped["no text"] += int(np.count_nonzero(kept & ~here))
        kept = kept & here
        texts, labels = texts.filter(kept), source.labels[split][start : done[split]][kept]
        for rows in byte_chunks(texts):
            yield (split, labels[rows]), texts[rows]
        if progress is not None:
            progress(sum(done.values()), total)
    if any(done[split] != len(rows) for split, rows in wanted.items()):
        raise RnnlensError(f"{quoted(source.name, 200)} changed while it was read: prepare it again")


def _last_words(codes: np.ndarray, lengths: np.ndarray, most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Documents end to end, each cut to its last `most` words."""
    if most is None or lengths.max(initial=0) <= most:
        return codes, lengths
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # words from here to the document's end
    return codes[left <= most], np.minimum(lengths, most)


def _deal(
    spools: Mapping[str, Spool], config: PrepareConfig, rng: np.random.Generator
) -> dict[str, tuple[Spool, np.ndarray]]:
    """The final splits, each as a spool and a mask of its documents; held-out ones come out of train."""
    from rnnlens.corpora.encoding import stratified

    parts = {split: (spool, np.ones(len(spool.labels), dtype=bool)) for split, spool in spools.items()}
    for part, share in (("test", config.test), ("validation", config.validation)):
        spool, train = parts["train"]
        members = np.flatnonzero(train)
        held_out = members[stratified(spool.labels[members], share, rng)]
        if part not in parts and len(held_out):
            train[held_out] = False
            mask = np.zeros_like(train)
            mask[held_out] = True
            parts[part] = (spool, mask)
    return {part: parts[part] for part in PARTS if part in parts}


def _write_split(folder: Path, part: str, spool: Spool, chosen: np.ndarray, table: np.ndarray) -> None:
    lengths = spool.lengths
    offsets = np.concatenate([[0], np.cumsum(lengths[chosen])])
    np.save(folder / f"{part}.offsets.npy", offsets)
    np.save(folder / f"{part}.labels.npy", spool.labels[chosen])
    with open(folder / f"{part}.ids.npy", "wb") as file:
        _npy_header(file, table.dtype, int(offsets[-1]))
        for documents, codes in spool.blocks():
            table[codes[np.repeat(chosen[documents], lengths[documents])]].tofile(file)


def _npy_header(file: IO[bytes], dtype: np.dtype, size: int) -> None:
    about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (size,)}
    np.lib.format.write_array_header_1_0(file, about)


def _write_about(folder: Path, vocab: Vocab, about: Mapping[str, Any], parts: list[str], key: str) -> None:
    splits = {part: read_split(folder, part, len(vocab)) for part in parts}
    names = ["vocab.json", *(f"{part}.{name}.npy" for part in parts for name in ARRAYS)]
    content = {
        "kind": "corpus",
        "schema": artifacts.SCHEMA,
        "corpus": content_fingerprint(vocab, splits),
        "key": key,
        "about": about,
        "sizes": {part: {"reviews": len(split), "words": len(split.ids)} for part, split in splits.items()},
        "files": {name: artifacts.file_fingerprint(folder / name) for name in names},
    }
    artifacts.write_json(folder / "corpus.json", content)
