"""Open ordinary files only: pipes and devices are refused, and so are links where following them could do harm.

A folder from someone else may contain a review that is an endless pipe, or a link to a private file where an export
expects a file to copy.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

from rnnlens.common.errors import RnnlensError, quoted

_KINDS = {
    stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip
_NO_WAIT, _NO_LINK = getattr(os, "O_NONBLOCK", 0), getattr(os, "O_NOFOLLOW", 0)  # Windows has neither


def is_ordinary(path: Path | str) -> bool:
    """Whether `path` itself, not what it links to, is a file on disk."""
    return stat.S_ISREG(os.lstat(path).st_mode)


def open_ordinary(path: Path | str, flags: int = os.O_RDONLY, follow: bool = False) -> int:
    """A descriptor of a file on disk. Anything else is an error that names its kind; a link is followed only with
    `follow`. Opening never blocks, as a pipe could, and never truncates."""
    try:
        handle = os.open(path, flags | _NO_WAIT | (0 if follow else _NO_LINK), 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR):
            raise _not_ordinary(path, os.lstat(path).st_mode) from error
        raise
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise _not_ordinary(path, mode)
    return handle


def read_ordinary(path: Path | str) -> bytes:
    """The bytes of a file on disk, through a link if there is one."""
    with os.fdopen(open_ordinary(path, follow=True), "rb") as file:
        return file.read()


def copy_ordinary(source: Path, target: Path) -> None:
    """Copy a file, but not what a link points to."""
    with os.fdopen(open_ordinary(source), "rb") as original, open(target, "wb") as copy:
        shutil.copyfileobj(original, copy)


def _not_ordinary(path: Path | str, mode: int) -> RnnlensError:
    what = _KINDS.get(stat.S_IFMT(mode), "something else")
    copied = ", or replace it with a copy of the file" if stat.S_ISLNK(mode) else ""  # the hub's cache has links
    return RnnlensError(f"{quoted(str(path), 200)} is {what}: expected an ordinary file; move it away{copied}")
