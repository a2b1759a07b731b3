"""Worker processes end when the process that started them ends, even if that process is killed.

Every worker leads its own process group, so that the processes it starts end with it. A worker learns that its parent
is gone from a signal of the kernel (Linux) or from a thread that watches the parent, and then removes the temporary
files and kills its group.
"""

from __future__ import annotations

import _thread
import ctypes
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from types import FrameType
from typing import Any

MOMENT = 0.05  # seconds until an ignored signal is sent again
_PR_SET_PDEATHSIG = 1  # <sys/prctl.h>


def end_with_parent(scratch: str) -> None:
    """To be called first in a worker. Ctrl-C in the terminal then reaches only the parent, which ends the worker.
    scratch: the folder of temporary files, which the worker removes if the parent is gone."""

    def end(number: int = 0, frame: FrameType | None = None) -> None:
        shutil.rmtree(scratch, ignore_errors=True)
        _kill_group()

    parent = multiprocessing.parent_process()
    assert parent is not None and parent.pid is not None
    with suppress(OSError):
        os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, end)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    threading.Thread(target=_watch, args=(parent.pid, parent.sentinel, end), daemon=True).start()


def _watch(parent: int, sentinel: int, end: Callable[[], None]) -> None:
    """Wait for the parent to end. Its process id is checked too, since a process that it forked can keep the pipe
    behind `sentinel` open."""
    while os.getppid() == parent and not wait([sentinel], timeout=1):
        pass
    end()


def _kill_group() -> None:
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
        raise _Ended(number)

    signals = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is signal.SIG_DFL]
    for one in signals:
        signal.signal(one, leave)
    try:
        with _resend_ignored_signals():
            yield
    finally:
        with suppress(ValueError):  # only the main thread can set signals, but any can finalize a generator
            for one in signals:
                signal.signal(one, signal.SIG_DFL)


class _Ended(SystemExit):
    """A signal told this process to end."""

    def __init__(self, number: int):
        super().__init__(128 + number)
        self.number = number


@contextmanager
def _resend_ignored_signals() -> Iterator[None]:
    """Python ignores exceptions in destructors and in callbacks of weak references, also those of signal handlers that
    happen to run there. Within the block, such a signal is sent again a moment later."""
    main, usual, ended = threading.main_thread().ident, sys.unraisablehook, threading.Event()
    assert main is not None

    def send_again(ignored: Any) -> None:
        error = ignored.exc_value
        if ended.is_set() or not isinstance(error, _Ended | KeyboardInterrupt):
            usual(ignored)
            return
        number = error.number if isinstance(error, _Ended) else signal.SIGINT
        # (`threading` starts threads under a lock, which the interrupted code may hold.)
        _thread.start_new_thread(_send_later, (main, number))

    sys.unraisablehook = send_again
    try:
        yield
    finally:
        ended.set()
        if sys.unraisablehook is send_again:
            sys.unraisablehook = usual


def _send_later(thread: int, number: int) -> None:
    time.sleep(MOMENT)
    signal.pthread_kill(thread, number)
