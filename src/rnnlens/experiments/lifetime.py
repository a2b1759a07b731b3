"""Worker processes end when the process that started them ends, even if that process is killed.

Every worker leads its own process group, so that the processes it starts end with it. A worker learns that its parent
is gone from a signal of the kernel (Linux) or from a thread that watches the parent, and then removes the temporary
files and kills its group.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import wait
from types import FrameType
from typing import Any

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
