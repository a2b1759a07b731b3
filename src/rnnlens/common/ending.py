"""End as after an exception on SIGTERM or SIGHUP, so that workers, browsers and temporary files do not stay behind."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

MOMENT = 0.05  # seconds until an ignored signal is sent again


@contextmanager
def orderly_end() -> Iterator[None]:
    """SIGTERM and SIGHUP raise SystemExit within the block, so that workers are ended before this process ends.
    Handlers installed by others are kept."""
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
