"""The Large Movie Review Dataset as published: one text file per review, in a folder or in a tar, read unextracted."""

from __future__ import annotations

import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from rnnlens.common.errors import RnnlensError, quoted

_FILE = re.compile(r"(?:.*/)?(train|test)/(neg|pos)/[^/]+\.txt")  # train/unsup has no labels
_BATCH = 4000  # files read at a time

Labels = dict[str, np.ndarray]
Read = Callable[[], Iterator[tuple[str, pl.Series]]]


def find_aclimdb(path: Path) -> Path | None:
    """The folder that holds train/pos and train/neg: `path` itself or `path`/aclImdb; None if neither does."""
    for folder in (path, path / "aclImdb"):
        if all((folder / "train" / side).is_dir() for side in ("neg", "pos")):
            return folder
    return None


def read_aclimdb_folder(folder: Path) -> tuple[Labels, Read]:
    """Labels by split, and a reader of the texts, from the folder."""
    files: dict[str, list[tuple[int, Path]]] = {"train": [], "test": []}
    for part, reviews in files.items():
        for code, side in enumerate(("neg", "pos")):
            reviews += [(code, file) for file in sorted((folder / part / side).glob("*.txt"))]
    labels = {
        part: np.array([code for code, _ in reviews], dtype=np.uint8) for part, reviews in files.items() if reviews
    }

    def read() -> Iterator[tuple[str, pl.Series]]:
        for part, reviews in files.items():
            for start in range(0, len(reviews), _BATCH):
                texts = [_decoded(file.read_bytes(), str(file)) for _, file in reviews[start : start + _BATCH]]
                yield part, pl.Series("text", texts, dtype=pl.String)

    return labels, read


def read_aclimdb_tar(path: Path) -> tuple[Labels, Read]:
    """Labels by split, and a reader of the texts, from the tar, which is streamed twice and never unpacked."""
    codes: dict[str, list[int]] = {}
    for part, side, _, _ in _members(path, contents=False):
        codes.setdefault(part, []).append(("neg", "pos").index(side))
    labels = {part: np.array(values, dtype=np.uint8) for part, values in codes.items()}

    def read() -> Iterator[tuple[str, pl.Series]]:
        waiting: dict[str, list[str]] = {part: [] for part in labels}
        for part, _, name, content in _members(path, contents=True):
            waiting[part].append(_decoded(content, f"{path}:{name}"))
            if len(waiting[part]) == _BATCH:
                yield part, pl.Series("text", waiting[part], dtype=pl.String)
                waiting[part] = []
        for part, texts in waiting.items():
            yield part, pl.Series("text", texts, dtype=pl.String)

    return labels, read


def _members(path: Path, contents: bool) -> Iterator[tuple[str, str, str, bytes]]:
    """Split, side (neg or pos), name and, with `contents`, content of each review in the tar, in its order."""
    with _tar_errors(path), tarfile.open(path, "r|*") as tar:
        for member in tar:
            match = _FILE.fullmatch(member.name)
            if match and member.isfile():
                file = tar.extractfile(member) if contents else None
                yield match[1], match[2], member.name, file.read() if file else b""
            tar.members = []  # type: ignore[attr-defined]  # tarfile would keep all hundred thousand members


@contextmanager
def _tar_errors(path: Path) -> Iterator[None]:
    """Turn errors in reading a tar into one line that names it."""
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError) as error:
        raise RnnlensError(f"cannot read {quoted(str(path), 200)}: it is not a complete tar file ({error})") from error


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise RnnlensError(
            f"{quoted(name, 200)} is not UTF-8: byte 0x{content[error.start]:02x} at offset {error.start}; "
            "convert it first, for example with iconv -f latin1 -t utf-8"
        ) from error
