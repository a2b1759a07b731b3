"""`prepare`: sources of labeled texts → a folder of mapped arrays. `load_corpus`: the same, kept in a cache.

The folder: `corpus.json` (origin, sizes, fingerprints), `vocab.json` (words and their training counts) and
`{train,validation,test}.{ids,offsets,labels}.npy`; with several sources also `….sources.npy`, the source of each
document, and with graded labels `….grades.npy`. The folder is written completely or not at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from rnnlens.common import files
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.locks import take_lock
from rnnlens.common.options import SOURCE
from rnnlens.common.ranges import check_options
from rnnlens.common.replacing import FINGERPRINTED, FolderKind, atomic_folder, check_folder
from rnnlens.corpora.asked import Request, Sources
from rnnlens.corpora.classes import check_ordered
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.options import PrepareConfig, Progress, prepare_config
from rnnlens.corpora.reading import ARRAYS, MORE, is_prepared, read_corpus
from rnnlens.corpora.splits import PARTS
from rnnlens.corpora.vocab import PAD_WORD, UNK
from rnnlens.corpora.words import RULES, WORD

CORPUS = FolderKind(
    "a prepared corpus",
    frozenset({"corpus.json", "vocab.json", "truth.json", "truth.safetensors"})
    | {f"{part}.{name}.npy" for part in PARTS for name in (*ARRAYS, *MORE)},
    {"corpus.json": FINGERPRINTED, "train.ids.npy": rb"\A\x93NUMPY"},
)
PATIENCE = 3600.0  # seconds to wait for another process that prepares the same corpus


def prepare(
    source: Sources,
    out: str | Path,
    *,
    weights: Mapping[str, float] | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Corpus:
    """Read a source, split its texts into words, count, and write a folder that `load_corpus` maps.

    source      imdb, yelp or another data set of the hub, hf:owner/name, or an hf:// path; a csv, tsv, jsonl or
                parquet file; a folder with train (and test, validation) files; the aclImdb folder or tar. A list of
                sources becomes one corpus with one vocabulary, in which every document keeps its source and each
                source's labels become negative and positive by their own scheme, or classes by their names. Training
                texts that overlap with a validation or test text of any source are dropped, and so are validation texts
                that overlap with a test text (see `rnnlens.corpora.overlap`)
    out         the folder to write. If it was prepared from the same source with the same options, it is returned as it
                is, or prepared again if damaged; another corpus is replaced only with `overwrite`. A folder that holds
                anything else, such as a run, is never replaced. If several processes prepare it at once, one does the
                work, and the others wait and return the same corpus
    weights     of several sources: how much each document of a source counts in training, relative to the others, by
                the source's name (the last part of its path, without a suffix); 1 if not given
    progress    called as progress(rows read, total rows)
    options     the fields of `PrepareConfig`
    """
    out = check_options("prepare", out=out, overwrite=overwrite, progress=progress)["out"]
    config, request = prepare_config(options), Request.of(source, weights)
    out, key = Path(os.path.realpath(out)), _key(request, config)
    return _prepared(request, out, config, key, progress, partial(_existing, out, key, overwrite))


def load_corpus(
    source: Sources,
    *,
    weights: Mapping[str, float] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Corpus:
    """Map and verify a prepared folder; or prepare any source or list of sources that `prepare` takes, once, into the
    cache.

    `options` are the fields of `PrepareConfig`. The cache is `$RNNLENS_CACHE`, or rnnlens in the user's cache folder;
    files with other content, other options, weights or word rules make a new entry.
    """
    check_options("prepare", progress=progress)
    if isinstance(source, str | Path) and is_prepared(folder := Path(SOURCE.check("source", source)).expanduser()):
        if options or weights:
            given = ", ".join([*options, *(["weights"] if weights else [])])
            raise RnnlensError(
                f"{quoted(str(source), 200)} is already prepared: {given} can only be given when preparing"
            )
        return read_corpus(folder)
    config, request = prepare_config(options), Request.of(source, weights)
    key = _key(request, config)
    names = "-".join(Path(source).name for source in request.sources)
    slug = re.sub(r"[^A-Za-z0-9]+", "-", names).strip("-")[:40] or "corpus"
    folder = (cache_folder() / "corpora" / f"{slug}-{key[:12]}").absolute()
    return _prepared(request, folder, config, key, progress, partial(_intact, folder))


def cache_folder() -> Path:
    """`$RNNLENS_CACHE`, else the system's folder for caches, such as `~/.cache/rnnlens` on Linux."""
    from platformdirs import user_cache_path

    own = os.environ.get("RNNLENS_CACHE")
    return Path(own).expanduser() if own else user_cache_path("rnnlens", appauthor=False)


def _prepared(
    request: Request,
    out: Path,
    config: PrepareConfig,
    key: str,
    progress: Progress | None,
    find: Callable[[], Corpus | None],
) -> Corpus:
    """What `find` returns, now or once no other process is preparing `out`; else the sources, prepared there."""
    if (corpus := find()) is not None:
        return corpus

    from rnnlens.corpora.sources import open_source, with_same_classes
    from rnnlens.corpora.writing import write_corpus

    opened = with_same_classes([open_source(source, config) for source in request.sources])
    if config.ordered:
        check_ordered(opened[0].names)
    about = {"key": key, "about": {**request.about, "options": asdict(config)}}
    with _locked(out):
        if (corpus := find()) is not None:
            return corpus
        with atomic_folder(out, CORPUS) as folder:
            write_corpus(folder, opened, config, about, progress)
            request.check_unchanged()
        return read_corpus(out, verify=False)


def _existing(out: Path, key: str, overwrite: bool) -> Corpus | None:
    """The corpus in `out`, if it has this key; None if a corpus may be written there; else an error."""
    if not overwrite and is_prepared(out):
        about = files.read_json(out / "corpus.json")
        if about.get("key") != key:
            raise RnnlensError(
                f"{quoted(str(out), 200)} holds another corpus: choose another folder, or allow overwrite (--overwrite)"
            )
        if (corpus := _intact(out)) is not None:
            return corpus
    check_folder(out, CORPUS)
    return None


def _intact(folder: Path) -> Corpus | None:
    """The corpus in `folder`; None if there is none, or a damaged one."""
    try:
        return read_corpus(folder) if is_prepared(folder) else None
    except RnnlensError:
        return None


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Wait until no other process or thread prepares `out`, and lock it. The lock file is beside `out`, which is
    replaced as a whole, and is removed at the end."""
    with files.write_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        path = Path(os.path.realpath(out.parent)) / f".{out.name}.lock"
        lock = take_lock(path, out, PATIENCE)
    with lock:
        try:
            yield
        finally:
            with suppress(OSError):  # Windows keeps a file that is open
                path.unlink()


def _key(request: Request, config: PrepareConfig) -> str:
    """A hash of the sources' content, the options and the word rules: equal keys have equal corpora."""
    content = {
        "schema": files.SCHEMA,
        **request.content,
        "options": asdict(config),
        "words": [WORD, RULES, UNK, PAD_WORD],
    }
    return files.fingerprint(content)
