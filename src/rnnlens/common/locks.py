"""Lock files: one thread of one process at a time holds a folder.

A lock is a file under `flock`, which the kernel releases when the process ends, even if it is killed. Threads of one
process exclude one another as well, and a forked child does not inherit the locks of its parent.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ordinary import open_lock
from rnnlens.common.terminal import say

BRIEF, LIMIT = 1.0, 600.0  # seconds to wait: without `wait` (a killed command's workers may be ending), and with it
ANNOUNCE, POLL = 1.0, 0.02  # seconds until waiting is announced, and between two attempts
_UNSUPPORTED = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # some file systems have no locks

_held: dict[Path, tuple[int, IO[Any]]] = {}  # lock file → the thread that holds it, and the open file
_guard = threading.Lock()  # protects `_held`


def take_lock(path: Path, folder: Path, wait: float = 0.0, remove: bool = False) -> AbstractContextManager[None]:
    """Lock the file `path`, on behalf of `folder`; leaving the returned context releases it.

    wait: seconds to wait before a folder in use is an error; a wait of over a second is announced on stderr. With it
    the lock is re-entrant. remove: delete the file when the lock is released.
    """
    held_by_us = _held.get(path, (None,))[0] == threading.get_ident()
    if held_by_us and wait:
        return nullcontext()
    since, announced = time.monotonic(), False
    while not _try_lock(path):
        waited = time.monotonic() - since
        if held_by_us or waited >= (wait or BRIEF):
            after = f", still after {waited:.0f} seconds" if wait else ""
            raise RnnlensError(
                f"{quoted(str(folder), 200)} is in use by another rnnlens process{after}; wait or choose another"
            )
        if wait and waited >= ANNOUNCE and not announced:
            say(f"waiting: another rnnlens process uses {quoted(str(folder), 200)}", error=True, flush=True)
            announced = True
        time.sleep(POLL)
    return _releasing(path, remove)


def _try_lock(path: Path) -> bool:
    """Take the lock if it is free, and return whether it was."""
    import fcntl

    with _guard:
        if path in _held:
            return False
        lock = open_lock(path)  # open while the lock is held
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            except OSError as error:
                if error.errno not in _UNSUPPORTED:
                    raise
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock.fileno()), os.lstat(path)):  # else its last holder deleted it
                    _held[path] = threading.get_ident(), lock
            return path in _held
        finally:
            if path not in _held:
                lock.close()


@contextmanager
def _releasing(path: Path, remove: bool) -> Iterator[None]:
    process = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == process:
            if remove:
                path.unlink(missing_ok=True)
            with _guard:
                _held.pop(path)[1].close()


def _close_inherited() -> None:
    """In a forked child: close the parent's lock files, which would keep its locks after the parent has ended."""
    global _guard
    _guard = threading.Lock()  # another thread may have held it when the process forked
    for _, lock in _held.values():
        lock.close()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)
