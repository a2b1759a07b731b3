"""`prepare`: a source of labelled texts → a folder of mapped arrays. `load_corpus`: the same, remembered in a cache.

The folder: `corpus.json` (where it comes from, sizes, fingerprints), `vocab.json` (words and their training counts) and
`{train,validation,test}.{ids,offsets,labels}.npy`. It appears whole or not at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rnnlens import artifacts
from rnnlens.corpora.corpus import Corpus, Split, is_prepared, read_corpus, statistics
from rnnlens.corpora.options import PrepareConfig, prepare_config
from rnnlens.corpora.words import RULES, WORD
from rnnlens.errors import RnnlensError, quoted

__all__ = [
    "Corpus",
    "PrepareConfig",
    "Split",
    "cache_folder",
    "is_prepared",
    "load_corpus",
    "prepare",
    "read_corpus",
    "statistics",
]

Progress = Callable[[int, int], None]


def prepare(
    source: str | Path, out: str | Path, *, overwrite: bool = False, progress: Progress | None = None, **options: Any
) -> Corpus:
    """Read a source, split its texts into words, count, and write a folder that `load_corpus` maps.

    source      imdb, yelp or another owner/name of the hub, an hf:// path; a csv, tsv, jsonl or parquet file; a folder
                with train (and test, validation) files; the aclImdb folder or tar
    out         the folder to write. One prepared from the same source with the same options is returned as it is;
                another corpus is replaced only with `overwrite`; anything else is left alone
    progress    called as progress(rows read, rows in all)
    options     the fields of `PrepareConfig`
    """
    config = prepare_config(options)
    out, key = Path(out), _key(source, config)
    with artifacts.told_plainly(out):
        taken = out.exists() and (not out.is_dir() or any(out.iterdir()))
    if taken and not is_prepared(out):
        raise RnnlensError(f"{quoted(str(out), 200)} exists and is no prepared corpus: choose another folder")
    if taken and not overwrite:
        if artifacts.read_json(out / "corpus.json").get("key") == key:
            return read_corpus(out)
        raise RnnlensError(f"{quoted(str(out), 200)} holds another corpus: choose another folder, or allow overwrite")

    from rnnlens.corpora.sources import open_source
    from rnnlens.corpora.writing import write_corpus

    opened = open_source(source, config.text, config.label)
    about = {"key": key, "about": {"source": str(source), "options": asdict(config)}}
    with artifacts.atomic_folder(out, replace=overwrite) as folder:
        write_corpus(folder, opened, config, about, progress)
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
    key = _key(source, prepare_config(options))
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


def _key(source: str | Path, config: PrepareConfig) -> str:
    """Names a source as it is now, the options and the word rules: equal keys, equal corpora."""
    from rnnlens.corpora.sources import local_files

    files = [(file, file.stat()) for file in local_files(source)]
    content = {
        "schema": artifacts.SCHEMA,
        "source": [(str(file.resolve()), stat.st_size, stat.st_mtime_ns) for file, stat in files] or str(source),
        "options": asdict(config),
        "words": [WORD, RULES],
    }
    return artifacts.fingerprint(content)
