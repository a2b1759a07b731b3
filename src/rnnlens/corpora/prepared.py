"""`prepare`: a source of labelled texts → a folder of mapped arrays. `load_corpus`: the same, remembered in a cache.

The folder: `corpus.json` (where it comes from, sizes, fingerprints), `vocab.json` (words and their training counts) and
`{train,validation,test}.{ids,offsets,labels}.npy`. It appears whole or not at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from rnnlens import artifacts
from rnnlens.corpora.corpus import ARRAYS, PARTS, Corpus, is_prepared, read_corpus
from rnnlens.corpora.options import PrepareConfig, Progress, prepare_config
from rnnlens.corpora.vocab import PAD_WORD, UNK
from rnnlens.corpora.words import RULES, WORD
from rnnlens.errors import RnnlensError, quoted
from rnnlens.ordinary import open_lock
from rnnlens.replacing import FINGERPRINTED, FolderKind, atomic_folder, check_folder

CORPUS = FolderKind(
    "a prepared corpus",
    frozenset({"corpus.json", "vocab.json", "truth.json", "truth.safetensors"})
    | {f"{part}.{name}.npy" for part in PARTS for name in ARRAYS},
    {"corpus.json": FINGERPRINTED, "train.ids.npy": rb"\A\x93NUMPY"},
)


def prepare(
    source: str | Path, out: str | Path, *, overwrite: bool = False, progress: Progress | None = None, **options: Any
) -> Corpus:
    """Read a source, split its texts into words, count, and write a folder that `load_corpus` maps.

    source      imdb, yelp or another owner/name of the hub, an hf:// path; a csv, tsv, jsonl or parquet file; a folder
                with train (and test, validation) files; the aclImdb folder or tar
    out         the folder to write. One prepared from the same source with the same options is returned as it is, or
                prepared anew if damaged; another corpus is replaced only with `overwrite`. A folder that holds
                anything else, such as a run, is never replaced. Of several processes that prepare it at once, one does,
                the others wait and return the same
    progress    called as progress(rows read, rows in all)
    options     the fields of `PrepareConfig`
    """
    config = prepare_config(options)
    out, key = Path(os.path.realpath(out)), _key(source, config)
    return _prepared(source, out, config, key, progress, partial(_earlier, out, key, overwrite))


def load_corpus(source: str | Path, *, progress: Progress | None = None, **options: Any) -> Corpus:
    """A prepared folder, mapped and verified; or any source `prepare` takes, prepared once into the cache.

    `options` are the fields of `PrepareConfig`. The cache is `$RNNLENS_CACHE`, or rnnlens in the user's cache folder;
    a file with other content, other options or another version of the word rules make a new entry.
    """
    if is_prepared(source):
        if options:
            raise RnnlensError(
                f"{quoted(str(source), 200)} is prepared already: {', '.join(options)} can only be given when preparing"
            )
        return read_corpus(source)
    config = prepare_config(options)
    key = _key(source, config)
    slug = re.sub(r"[^A-Za-z0-9]+", "-", Path(source).name or "corpus").strip("-")[:40]
    folder = (cache_folder() / "corpora" / f"{slug}-{key[:12]}").absolute()
    return _prepared(source, folder, config, key, progress, partial(_whole, folder))


def cache_folder() -> Path:
    """`$RNNLENS_CACHE`, else `$XDG_CACHE_HOME/rnnlens`, else `~/.cache/rnnlens`."""
    if own := os.environ.get("RNNLENS_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rnnlens"


def _prepared(
    source: str | Path,
    out: Path,
    config: PrepareConfig,
    key: str,
    progress: Progress | None,
    find: Callable[[], Corpus | None],
) -> Corpus:
    """What `find` finds in `out`, now or once no other process is preparing there; else the source, prepared there."""
    if (corpus := find()) is not None:
        return corpus

    from rnnlens.corpora.sources import open_source
    from rnnlens.corpora.writing import write_corpus

    opened = open_source(source, config.text, config.label)
    about = {"key": key, "about": {"source": str(source), "options": asdict(config)}}
    with _alone(out):
        if (corpus := find()) is not None:
            return corpus
        with atomic_folder(out, CORPUS) as folder:
            write_corpus(folder, opened, config, about, progress)
            if _key(source, config) != key:  # the cache must not keep new content under the old content's key
                raise RnnlensError(f"{quoted(str(source), 200)} changed while it was read: prepare it again")
        return read_corpus(out, verify=False)


def _earlier(out: Path, key: str, overwrite: bool) -> Corpus | None:
    """The corpus in `out`, if it is the one wanted; None if one may be written there; else an error."""
    if not overwrite and is_prepared(out):
        try:
            about = artifacts.read_json(out / "corpus.json")
        except RnnlensError as error:
            raise RnnlensError(f"{error}; to prepare the corpus anew, allow overwrite (--overwrite)") from error
        if about.get("key") != key:
            told = f"{quoted(str(out), 200)} holds another corpus"
            raise RnnlensError(f"{told}: choose another folder, or allow overwrite (--overwrite)")
        if (corpus := _whole(out)) is not None:
            return corpus
    check_folder(out, CORPUS)
    return None


def _whole(folder: Path) -> Corpus | None:
    """The corpus in `folder`; None if there is none, or a damaged one."""
    try:
        return read_corpus(folder) if is_prepared(folder) else None
    except RnnlensError:
        return None


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Wait until no other process prepares `out`, and keep others waiting. A killed process keeps nobody waiting."""
    import fcntl

    path = out.with_name(f".{out.name}.lock")
    with artifacts.told_plainly(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        while True:
            lock = open_lock(path)  # held until the block ends
            with suppress(OSError):  # a file system without locks: both prepare, the last one stays
                fcntl.flock(lock, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock.fileno()), os.lstat(path)):
                    break
            lock.close()  # the process before us removed it
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        lock.close()


def _key(source: str | Path, config: PrepareConfig) -> str:
    """Names a source as it is now, the options and the word rules: equal keys, equal corpora."""
    from rnnlens.corpora.sources import file_state, local_files

    content = {
        "schema": artifacts.SCHEMA,
        "source": [file_state(file) for file in local_files(source)] or str(source),
        "options": asdict(config),
        "words": [WORD, RULES, UNK, PAD_WORD],
    }
    return artifacts.fingerprint(content)
