"""Replace only what rnnlens wrote. An error names anything else that is in the way, and leaves it as it is.

A folder is replaced only if every file in it has a name that rnnlens gives in such a folder, and one of them shows
that rnnlens wrote it. A file is replaced only by one of the same kind.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import discard_temporary, new_temporary, read_json, sweep_temporaries, sync, told_plainly
from rnnlens.common.ordinary import is_ordinary, open_ordinary

_LOOK = 1 << 16  # bytes at the beginning and at the end of a file in which its mark is searched
FINGERPRINTED = rb'\A\{\s*"fingerprint": "'  # how `write_json` begins
TENSORS = rb'"fingerprint":\s*"'  # in the header that `write_tensors` writes
_MARKS = {
    "html": rb'name="generator" content="rnnlens|PlotlyConfig|plotly\.js v', "htm": rb'content="rnnlens',
    "svg": rb"<svg", "pdf": rb"\A%PDF-", "png": rb"\A\x89PNG", "csv": rb"on_positive", "parquet": rb"on_positive",
}  # fmt: skip
"""By suffix: what is in a page, a figure or a table of words. Nothing in a picture shows which program drew it."""


# --- folders ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FolderKind:
    """A kind of folder that rnnlens writes.

    name   what it is called, such as "a saved estimator"
    files  every file that may be in one
    marks  file → pattern of bytes in it that rnnlens alone writes; one of these files must be there
    """

    name: str
    files: frozenset[str]
    marks: Mapping[str, bytes]


def check_folder(folder: Path | str, kind: FolderKind | None = None) -> None:
    """Refuse to write a folder unless it does not exist, is empty or, with `kind`, is a folder of that kind."""
    folder = Path(folder)
    with told_plainly(folder):
        if not os.path.lexists(folder):
            return
        if not folder.is_dir():
            raise RnnlensError(f"{quoted(str(folder), 200)} is not a folder: choose another name")
        sweep_temporaries(folder)
        there = sorted(os.listdir(folder))
        if not there:
            return
        if kind is None:
            raise RnnlensError(
                f"{quoted(str(folder), 200)} is not empty, it holds {quoted(there[0])}: choose another folder"
            )
        foreign = [name for name in there if name not in kind.files or not is_ordinary(folder / name)]
        marked = [
            name
            for name, mark in kind.marks.items()
            if name in there and name not in foreign and _holds(folder / name, mark)
        ]
    if foreign or not marked:
        found = quoted((foreign or there)[0])
        raise RnnlensError(
            f"{quoted(str(folder), 200)} holds {found}, which is not part of {kind.name}: choose another folder"
        )


@contextmanager
def atomic_folder(path: Path | str, replace: FolderKind | None = None) -> Iterator[Path]:
    """A temporary folder beside `path`, renamed to it when the block ends well.

    A folder that exists is replaced only if it is of the kind `replace`. This is checked before the block and again
    after it, since a command may have written into the folder meanwhile.
    """
    with told_plainly(path):
        check_folder(path, replace)
        path = Path(os.path.realpath(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep_temporaries(path.parent, path.name)
        temporary = new_temporary(path)
        temporary.mkdir()
        try:
            yield temporary
            for file in temporary.rglob("*"):
                sync(file)
            check_folder(path, replace)
            if _is_current(path):
                _move_into(path, temporary, replace)
            elif path.is_dir():
                _exchange(temporary, path)
            else:
                os.replace(temporary, path)
            sync(path.parent)
        finally:
            discard_temporary(temporary)


def _is_current(path: Path) -> bool:
    try:
        return path.samefile(os.curdir)
    except OSError:  # it is not there, or the current folder is gone
        return False


def _move_into(path: Path, new: Path, kind: FolderKind | None) -> None:
    """Move files into a checked folder one by one, marked files last. This is for the current folder: replacing it
    would leave the user's shell in a deleted one."""
    marks = kind.marks if kind is not None else {}
    kept = {file.name for file in new.iterdir()} - set(marks)
    for name in sorted(kind.files - kept) if kind is not None else ():
        (path / name).unlink(missing_ok=True)
    for file in sorted(new.iterdir(), key=lambda file: file.name in marks):
        os.replace(file, path / file.name)
    sync(path)


def _exchange(new: Path, old: Path) -> None:
    """Swap two folders in one step (Linux), so that a killed process leaves one or the other. Other systems need two
    renames; between them the old folder is called `.name.….old`, and no sweep removes it."""
    try:
        swap, here, exchange = ctypes.CDLL(None, use_errno=True).renameat2, -100, 2
        if swap(here, os.fsencode(new), here, os.fsencode(old), exchange) == 0:
            return
    except (AttributeError, OSError):
        pass
    aside = new_temporary(old).with_suffix(".old")
    os.replace(old, aside)
    try:
        os.replace(new, old)
    except BaseException:
        os.replace(aside, old)
        raise
    os.replace(aside, new)


# --- files ------------------------------------------------------------------------------------------------------------


def check_file(path: Path | str, mark: bytes, what: str) -> None:
    """Refuse to write a file unless it does not exist, is empty, or contains the pattern `mark`, which identifies it as
    `what`."""
    with told_plainly(path):
        if not os.path.lexists(path):
            return
        ours = is_ordinary(path) and (os.path.getsize(path) == 0 or _holds(path, mark))
    if not ours:
        raise RnnlensError(f"{quoted(str(path), 200)} exists and is not {what}: choose another name, or move it away")


def check_output(path: Path | str, what: str, *suffixes: str) -> Path:
    """Refuse to save `what` (a page, a figure, a table) under a name without one of the suffixes, or over a file of
    another kind; the path."""
    path = Path(path)
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in suffixes:
        listed = " or ".join([", ".join(suffixes[:-1]), suffixes[-1]] if len(suffixes) > 1 else suffixes)
        raise RnnlensError(f"cannot save {what} as {quoted(str(path))}: expected a name ending in {listed}")
    check_file(path, _MARKS[suffix], f"{what} that rnnlens wrote")
    return path


def check_json(path: Path | str, key: str, what: str) -> None:
    """Refuse to write a JSON file unless it does not exist, or rnnlens wrote it and it has the entry `key`."""
    if not os.path.lexists(path):
        return
    try:
        ours = key in read_json(path)
    except RnnlensError:
        ours = False
    if not ours:
        raise RnnlensError(f"{quoted(str(path), 200)} exists and is not {what}: choose another folder, or move it away")


def _holds(path: Path | str, mark: bytes) -> bool:
    """Whether the pattern is in a file's first or last bytes."""
    with os.fdopen(open_ordinary(path), "rb") as file:
        seen = file.read(_LOOK)
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LOOK))
        return re.search(mark, seen + file.read()) is not None
