"""Lock files: one thread of one process at a time holds a folder. filelock releases a lock when its process ends."""

from __future__ import annotations

import errno
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.terminal import say

BRIEF, LIMIT = 1.0, 600.0  # seconds to wait: without `wait` (a killed command's workers may be ending), and with it
ANNOUNCE, POLL = 1.0, 0.02  # seconds until waiting is announced, and between two attempts
_UNSUPPORTED = (errno.ENOLCK, errno.EOPNOTSUPP)  # on some file systems of clusters: there nothing is locked


def take_lock(path: Path, folder: Path, wait: float = 0.0) -> AbstractContextManager[object]:
    """Lock the file `path`, on behalf of `folder`; leaving the returned context releases it.

    wait: seconds to wait before a folder in use is an error; a wait of over a second is announced on stderr. With it
    the lock is re-entrant.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, is_singleton=True)
    try:
        if not wait:
            if lock.is_locked:
                raise Timeout(str(path))
            return lock.acquire(timeout=BRIEF, poll_interval=POLL)
        try:
            return lock.acquire(timeout=min(wait, ANNOUNCE), poll_interval=POLL)
        except Timeout:
            say(f"waiting: another rnnlens process uses {quoted(str(folder), 200)}", error=True, flush=True)
            return lock.acquire(timeout=max(0.0, wait - ANNOUNCE), poll_interval=POLL)
    except Timeout:
        after = f", still after {wait:.0f} seconds" if wait else ""
        raise RnnlensError(
            f"{quoted(str(folder), 200)} is in use by another rnnlens process{after}; wait or choose another"
        ) from None
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        return nullcontext()
