"""Worker processes end when the process that started them ends, even if that process is killed.

Every worker leads its own process group, so that the processes it starts end with it. A worker learns that its parent
is gone from a signal of the kernel (Linux) or from a thread that watches the parent, and then kills its group.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from types import FrameType
from typing import Any

MOMENT = 0.05  # seconds
_PR_SET_PDEATHSIG = 1  # <sys/prctl.h>


def end_with_parent() -> None:
    """To be called first in a worker. Ctrl-C in the terminal then reaches only the parent, which ends the worker."""
    parent = multiprocessing.parent_process()
    assert parent is not None and parent.pid is not None
    with suppress(OSError):
        os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, _end)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    threading.Thread(target=_watch, args=(parent.pid, parent.sentinel), daemon=True).start()


def _watch(parent: int, sentinel: int) -> None:
    """Wait for the parent to end. Its process id is checked too, since a process that it forked can keep the pipe
    behind `sentinel` open."""
    while os.getppid() == parent and not wait([sentinel], timeout=1):
        pass
    _end()


def _end(number: int = 0, frame: FrameType | None = None) -> None:
    """Kill this worker and the processes it started."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def kill_worker(process: Any) -> None:
    """Kill a worker and the processes it started, and wait for its end."""
    with suppress(OSError):  # it is already dead, or does not lead a group yet
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


@contextmanager
def orderly_end() -> Iterator[None]:
    """SIGTERM and SIGHUP raise SystemExit within the block, so that workers are ended and claims released before this
    process ends. Handlers installed by others are kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signals = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is signal.SIG_DFL]
    for one in signals:
        signal.signal(one, leave)
    try:
        with _none_ignored():
            yield
    finally:
        with suppress(ValueError):  # only the main thread can set signals, but any can finalize a generator
            for one in signals:
                signal.signal(one, signal.SIG_DFL)


@contextmanager
def _none_ignored() -> Iterator[None]:
    """Python ignores exceptions in destructors and in callbacks of weak references, also those of signal handlers that
    happen to run there. Within the block, such a signal is sent again a moment later."""
    main, usual = threading.main_thread().ident, sys.unraisablehook

    def send_again(ignored: Any) -> None:
        error = ignored.exc_value
        if isinstance(error, SystemExit) and isinstance(error.code, int) and error.code > 128:
            number = error.code - 128
        elif isinstance(error, KeyboardInterrupt):
            number = signal.SIGINT
        else:
            usual(ignored)
            return
        again = threading.Timer(MOMENT, signal.pthread_kill, (main, number))
        again.daemon = True
        again.start()

    sys.unraisablehook = send_again
    try:
        yield
    finally:
        sys.unraisablehook = usual
