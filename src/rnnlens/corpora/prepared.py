"""`prepare`: sources of labelled texts → a folder of mapped arrays. `load_corpus`: the same, remembered in a cache.

The folder: `corpus.json` (where it comes from, sizes, fingerprints), `vocab.json` (words and their training counts) and
`{train,validation,test}.{ids,offsets,labels}.npy`; with several sources also `….sources.npy`, which says which source
a document is from. It appears whole or not at all.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

from rnnlens import artifacts
from rnnlens.corpora.corpus import ARRAYS, PARTS, Corpus, is_prepared, read_corpus
from rnnlens.corpora.options import PrepareConfig, Progress, prepare_config
from rnnlens.corpora.vocab import PAD_WORD, UNK
from rnnlens.corpora.words import RULES, WORD
from rnnlens.errors import RnnlensError, quoted
from rnnlens.locks import take_lock
from rnnlens.replacing import FINGERPRINTED, FolderKind, atomic_folder, check_folder

CORPUS = FolderKind(
    "a prepared corpus",
    frozenset({"corpus.json", "vocab.json", "truth.json", "truth.safetensors"})
    | {f"{part}.{name}.npy" for part in PARTS for name in (*ARRAYS, "sources")},
    {"corpus.json": FINGERPRINTED, "train.ids.npy": rb"\A\x93NUMPY"},
)
PATIENCE = 3600.0  # seconds to wait for another process that prepares the same corpus


Sources = str | Path | Sequence[str | Path]


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
                sources becomes one corpus with one vocabulary, in which every document keeps its source; training
                texts that overlap with a validation or test text of any source are dropped
    out         the folder to write. One prepared from the same source with the same options is returned as it is, or
                prepared anew if damaged; another corpus is replaced only with `overwrite`. A folder that holds
                anything else, such as a run, is never replaced. Of several processes that prepare it at once, one does,
                the others wait and return the same
    weights     of several sources: how much each document of a source counts in training, by the source's name (the
                last part of its path, without a suffix); 1 where it is not given
    progress    called as progress(rows read, rows in all)
    options     the fields of `PrepareConfig`
    """
    config, asked = prepare_config(options), _Asked.of(source, weights)
    out, key = Path(os.path.realpath(out)), _key(asked, config)
    return _prepared(asked, out, config, key, progress, partial(_earlier, out, key, overwrite))


def load_corpus(
    source: Sources,
    *,
    weights: Mapping[str, float] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Corpus:
    """A prepared folder, mapped and verified; or any source or list of sources `prepare` takes, prepared once into the
    cache.

    `options` are the fields of `PrepareConfig`. The cache is `$RNNLENS_CACHE`, or rnnlens in the user's cache folder;
    a file with other content, other options or another version of the word rules make a new entry.
    """
    if isinstance(source, str | Path) and is_prepared(source):
        if options or weights:
            given = ", ".join([*options, *(["weights"] if weights else [])])
            raise RnnlensError(
                f"{quoted(str(source), 200)} is prepared already: {given} can only be given when preparing"
            )
        return read_corpus(source)
    config, asked = prepare_config(options), _Asked.of(source, weights)
    key = _key(asked, config)
    slug = re.sub(r"[^A-Za-z0-9]+", "-", "-".join(Path(one).name for one in asked.sources)).strip("-")[:40] or "corpus"
    folder = (cache_folder() / "corpora" / f"{slug}-{key[:12]}").absolute()
    return _prepared(asked, folder, config, key, progress, partial(_whole, folder))


@dataclass(frozen=True)
class _Asked:
    """The sources asked for, with a name and a weight for each."""

    sources: tuple[str | Path, ...]
    names: tuple[str, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, source: Sources, weights: Mapping[str, float] | None) -> _Asked:
        sources = (source,) if isinstance(source, str | Path) else tuple(source)
        if not sources or not all(isinstance(one, str | Path) for one in sources):
            raise RnnlensError(f"source is {quoted(source)}: expected the name of a source, or a list of names")
        if len(sources) > 255:
            raise RnnlensError(f"got {len(sources)} sources: expected at most 255")
        names, weights = _names(sources), dict(weights or {})
        if weights and len(sources) == 1:
            raise RnnlensError("weights are for several sources: expected none with a single one")
        for name, weight in weights.items():
            if name not in names:
                known = ", ".join(map(quoted, names))
                raise RnnlensError(f"weight of {quoted(name)}: there is no such source, expected one of {known}")
            if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 < float(weight) < math.inf:
                raise RnnlensError(f"weight of {quoted(name)} is {quoted(weight)}: expected a number above 0")
        return cls(sources, tuple(names), tuple(float(weights.get(name, 1.0)) for name in names))

    @property
    def about(self) -> dict[str, Any]:
        if len(self.sources) == 1:
            return {"source": str(self.sources[0])}
        rows = zip(self.names, self.sources, self.weights, strict=True)
        parts = [{"name": name, "source": str(source), "weight": weight} for name, source, weight in rows]
        return {"source": " + ".join(self.names), "sources": parts}


def _names(sources: Sequence[str | Path]) -> list[str]:
    """A short name for each source: its last part without a suffix, with as many parts before it as tell it apart."""
    parts = [(*Path(str(source)).parts[:-1], Path(str(source)).name.split(".")[0] or "corpus") for source in sources]
    names = ["/".join(part[-1:]) for part in parts]
    for depth in range(2, max(map(len, parts)) + 1):
        names = [
            "/".join(part[-depth:]) if names.count(name) > 1 else name for part, name in zip(parts, names, strict=True)
        ]
    return names


def cache_folder() -> Path:
    """`$RNNLENS_CACHE`, else `$XDG_CACHE_HOME/rnnlens`, else `~/.cache/rnnlens`."""
    if own := os.environ.get("RNNLENS_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rnnlens"


def _prepared(
    asked: _Asked,
    out: Path,
    config: PrepareConfig,
    key: str,
    progress: Progress | None,
    find: Callable[[], Corpus | None],
) -> Corpus:
    """What `find` finds in `out`, now or once no other process is preparing there; else the sources, prepared there."""
    if (corpus := find()) is not None:
        return corpus

    from rnnlens.corpora.sources import open_sources
    from rnnlens.corpora.writing import write_corpus

    opened = open_sources(asked.sources, config.text, config.label)
    about = {"key": key, "about": {**asked.about, "options": asdict(config)}}
    with _alone(out):
        if (corpus := find()) is not None:
            return corpus
        with atomic_folder(out, CORPUS) as folder:
            write_corpus(folder, opened, config, about, progress)
            if _key(asked, config) != key:  # the cache must not keep new content under the old content's key
                named = ", ".join(quoted(str(source), 200) for source in asked.sources)
                raise RnnlensError(f"{named} changed while it was read: prepare it again")
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


def _alone(out: Path) -> AbstractContextManager[None]:
    """Wait until no other process or thread prepares `out`, and keep others waiting. The lock file is beside `out`,
    which is replaced as a whole."""
    with artifacts.told_plainly(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        path = Path(os.path.realpath(out.parent)) / f".{out.name}.lock"
        return take_lock(path, out, PATIENCE, remove=True)


def _key(asked: _Asked, config: PrepareConfig) -> str:
    """Names the sources as they are now, the options and the word rules: equal keys, equal corpora."""
    from rnnlens.corpora.sources import file_state, local_files

    content = {
        "schema": artifacts.SCHEMA,
        "source": [[file_state(file) for file in local_files(one)] or str(one) for one in asked.sources],
        "weights": asked.weights,
        "options": asdict(config),
        "words": [WORD, RULES, UNK, PAD_WORD],
    }
    return artifacts.fingerprint(content)
