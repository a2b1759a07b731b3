"""Open a folder that `prepare` wrote; a damaged one is refused. Needs only NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.common import files
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.mending import unreadable
from rnnlens.common.version import __version__
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.splits import PARTS, Split, blocks_of
from rnnlens.corpora.vocab import PAD, Vocab

ARRAYS = ("ids", "offsets", "labels")
MORE = ("sources", "grades")  # of a corpus of several sources; of graded labels


def is_prepared(path: Path | str) -> bool:
    """Whether `path` is a folder that `prepare` wrote, intact or damaged."""
    try:
        return any((Path(path) / name).is_file() for name in ("corpus.json", "train.ids.npy"))
    except OSError:  # not a valid name
        return False


def read_corpus(path: Path | str, verify: bool = True) -> Corpus:
    """Map and verify a prepared folder: a file that differs from what was written is an error that names it.

    `verify=False` skips the fingerprints, which need every byte, for a folder that was just written.
    """
    path = Path(path)
    about = files.read_json(path / "corpus.json")
    with files.parsing(path / "corpus.json", "corpus of rnnlens"):
        if about.get("kind") != "corpus":
            raise ValueError(f"its kind is {quoted(about.get('kind'))}")
        if about.get("schema", 0) > files.SCHEMA:
            raise RnnlensError(
                f"{quoted(str(path))} has schema {about['schema']}, rnnlens {__version__} reads up to {files.SCHEMA}: "
                "upgrade rnnlens, or prepare the corpus again in another folder"
            )
        parts = [part for part in PARTS if part in about["sizes"]]
        for name in corpus_files(parts, about["about"]) if verify else ():
            if _file_fingerprint(path / name) != about["files"][name]:
                raise _damaged(path / name, "its bytes do not match their fingerprint")
        words = files.read_json(path / "vocab.json")
        vocab = Vocab(words["words"], words["counts"])
        splits = {part: read_split(path, part, len(vocab), about["about"]) for part in parts}
        return Corpus(
            vocab,
            splits["train"],
            splits.get("validation"),
            splits.get("test"),
            about=dict(about["about"]),
            path=path,
            fingerprint=str(about["corpus"]),
        )


def arrays_of(about: Mapping[str, Any]) -> tuple[str, ...]:
    """The arrays of each split of a corpus, by its `about`."""
    return (*ARRAYS, *(name for name in MORE if about.get(name)))


def corpus_files(parts: Iterable[str], about: Mapping[str, Any]) -> list[str]:
    """The files of a prepared folder whose fingerprints are in corpus.json."""
    return ["vocab.json", *(f"{part}.{name}.npy" for part in parts for name in arrays_of(about))]


def read_split(path: Path, part: str, n_words: int, about: Mapping[str, Any]) -> Split:
    """Map one split of a folder; its ids must fit the offsets and the vocabulary."""
    arrays: dict[str, Any] = {}
    for name in arrays_of(about):
        file = path / f"{part}.{name}.npy"
        try:  # mapped, so that a header with a false size takes no memory
            array = np.load(file, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # NumPy parses headers as Python and raises many kinds of errors
            raise _damaged(file, "it is not a complete .npy file") from error
        if array.ndim != 1 or array.dtype.kind not in ("f" if name == "grades" else "iu"):
            raise _damaged(file, f"it holds {array.dtype} of shape {array.shape}, expected a row of whole numbers")
        arrays[name] = array if name == "ids" else np.array(array)
    split = Split(**arrays)
    offsets = split.offsets
    if offsets.shape != (len(split) + 1,) or offsets[0] != 0 or np.any(np.diff(offsets) < 0):
        raise _damaged(path / f"{part}.offsets.npy", "it does not rise from 0, with one step per review")
    if offsets[-1] != len(split.ids):
        raise _damaged(path / f"{part}.ids.npy", f"it holds {len(split.ids)} ids, expected {offsets[-1]}")
    if any(block.max() >= n_words or block.min() < PAD for block in blocks_of(split.ids)):
        raise _damaged(path / f"{part}.ids.npy", f"an id is not one of the {n_words} words of the vocabulary")
    return split


def _file_fingerprint(file: Path) -> str:
    try:
        return files.file_fingerprint(file)
    except FileNotFoundError as error:
        raise RnnlensError(f"there is no file {quoted(str(file), 200)}: {_AGAIN}") from error
    except OSError as error:
        raise RnnlensError(unreadable(file, error)) from error


def _damaged(file: Path, why: str) -> RnnlensError:
    return RnnlensError(f"{quoted(str(file), 200)} is damaged: {why}; {_AGAIN}")


_AGAIN = "prepare the corpus again, with --overwrite"
