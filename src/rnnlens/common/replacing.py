"""Replace only what rnnlens wrote. Anything else is left as it is, and an error names it.

A folder is replaced only if every file in it has a name that rnnlens gives in such a folder, and one of them shows
that rnnlens wrote it. A file is replaced only by one of the same kind, and only if it has the mark of rnnlens.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import (
    UnwrittenError,
    discard_temporary,
    new_temporary,
    read_json,
    sweep_temporaries,
    sync,
    write_errors,
)
from rnnlens.common.options import PATH
from rnnlens.common.ordinary import is_ordinary, open_ordinary

_SEARCHED = 1 << 16  # bytes at the beginning and at the end of a file that are searched for its mark
FINGERPRINTED = rb'\A\{\s*"fingerprint": "'  # how `write_json` begins
TENSORS = rb'"fingerprint":\s*"'  # in the header that `write_tensors` writes
_PAGE = rb'name="generator" content="rnnlens'
FIGURE_MARKS = {  # what `figures.pictures.marked` adds to a figure: anybody can save one with Plotly
    "html": b'<meta name="generator" content="figure drawn by rnnlens">',
    "svg": b"<!-- figure drawn by rnnlens -->",
    "pdf": b"% figure drawn by rnnlens\n",
    "png": b"tEXtSoftware\0figure drawn by rnnlens",
}
_MARKS = {
    "a page": {"html": _PAGE, "htm": _PAGE},
    "a figure": {suffix: re.escape(mark) for suffix, mark in FIGURE_MARKS.items()},
    "a table": {"csv": rb"on_positive", "parquet": rb"on_positive"},
}
"""By suffix: a pattern that occurs in a page, figure or table of words that rnnlens wrote."""


# --- folders ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FolderKind:
    """A kind of folder that rnnlens writes.

    name   what it is called, such as "a saved estimator"
    files  every file that may be in one
    marks  file → pattern of bytes in it that rnnlens alone writes; one of these files must exist
    """

    name: str
    files: frozenset[str]
    marks: Mapping[str, bytes]


def check_folder(folder: Path | str, kind: FolderKind | None = None) -> None:
    """Refuse to write a folder unless it does not exist, is empty or, with `kind`, is a folder of that kind."""
    folder = Path(folder)
    with write_errors(folder):
        if not os.path.lexists(folder):
            check_place(folder, folder=True)
            return
        if not folder.is_dir():
            raise RnnlensError(f"{quoted(str(folder), 200)} is not a folder: choose another name")
        sweep_temporaries(folder)
        names = sorted(os.listdir(folder), key=lambda name: (name.startswith("."), name))  # messages name the first
        if not names:
            return
        if kind is None:
            raise RnnlensError(
                f"{quoted(str(folder), 200)} is not empty, it holds {quoted(names[0])}: choose another folder"
            )
        foreign = [name for name in names if name not in kind.files or not is_ordinary(folder / name)]
        marked = [
            name
            for name, mark in kind.marks.items()
            if name in names and name not in foreign and _contains(folder / name, mark)
        ]
    if foreign or not marked:
        example = quoted((foreign or names)[0])
        raise RnnlensError(
            f"{quoted(str(folder), 200)} holds {example}, which is not part of {kind.name}: choose another folder"
        )


@contextmanager
def atomic_folder(path: Path | str, replace: FolderKind | None = None) -> Iterator[Path]:
    """A temporary folder beside `path`, renamed to it if the block succeeds.

    A folder that exists is replaced only if it is of the kind `replace`. This is checked before the block and again
    after it, since another command may have written into the folder meanwhile.
    """
    with write_errors(path):
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
    except OSError:  # there is no `path`, or the current folder was deleted
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
    """Swap two folders by renaming. In between, the old folder is called `.name.….old`, and no sweep removes it."""
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
    with write_errors(path):
        if not os.path.lexists(path):
            return
        replaceable = is_ordinary(path) and (os.path.getsize(path) == 0 or _contains(path, mark))
    if not replaceable:
        raise RnnlensError(f"{quoted(str(path), 200)} exists and is not {what}: choose another name, or move it away")


def check_output(path: Path | str, what: str, *suffixes: str) -> Path:
    """Refuse to save `what` (a page, a figure, a table) under a name without one of the suffixes, or over a file
    that rnnlens did not write; returns the path."""
    path = Path(PATH.check("path", path))
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in suffixes:
        listed = " or ".join([", ".join(suffixes[:-1]), suffixes[-1]] if len(suffixes) > 1 else suffixes)
        raise RnnlensError(f"cannot save {what} as {quoted(str(path))}: expected a name ending in {listed}")
    check_file(path, _MARKS[what][suffix], f"{what} that rnnlens wrote")
    check_place(path)
    return path


def check_place(path: Path, folder: bool = False) -> None:
    """Refuse to write a file, or with `folder` a folder, where no folder is or can be made: what is written there can
    take an hour to compute."""
    here = Path(os.path.abspath(path))
    above = next(place for place in ([here] if folder else []) + [*here.parents] if os.path.lexists(place))
    if not above.is_dir():
        raise UnwrittenError(path, f"{quoted(str(above))} is not a folder", errno.ENOTDIR)
    if not os.access(above, os.W_OK | os.X_OK):
        raise UnwrittenError(path, os.strerror(errno.EACCES), errno.EACCES)


def check_json(path: Path | str, key: str, what: str) -> None:
    """Refuse to write a JSON file unless it does not exist, or rnnlens wrote it and it has the entry `key`."""
    if not os.path.lexists(path):
        return
    try:
        replaceable = key in read_json(path)
    except RnnlensError:
        replaceable = False
    if not replaceable:
        raise RnnlensError(f"{quoted(str(path), 200)} exists and is not {what}: choose another folder, or move it away")


def _contains(path: Path | str, mark: bytes) -> bool:
    """Whether the pattern occurs in the first or last bytes of a file."""
    with os.fdopen(open_ordinary(path), "rb") as file:
        first = file.read(_SEARCHED)
        file.seek(max(0, os.fstat(file.fileno()).st_size - _SEARCHED))
        return re.search(mark, first + file.read()) is not None
