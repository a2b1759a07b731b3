"""Jobs by several processes, one job at a time each; a process that dies is replaced, and its job run again.

(joblib's and concurrent.futures' pools give up as a whole, with every job under way, when one process dies.)
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from rnnlens.errors import RnnlensError, quoted

ATTEMPTS = 5  # a job that kills every process it meets is at fault itself


def run_jobs(
    function: Callable[..., Any], jobs: Iterable[Any], workers: int, setup: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, Any]]:
    """(job, function(job, *setup)) of each job as it finishes. `function` must be importable; an exception in it ends
    everything."""
    context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
    todo = deque((job, 1) for job in jobs)
    busy: dict[Connection, tuple[Any, Any, int]] = {}
    try:
        while todo or busy:
            while todo and len(busy) < workers:
                ours, theirs = context.Pipe()
                process = context.Process(target=_work, args=(theirs, function, setup), daemon=True)
                process.start()
                theirs.close()
                _give(ours, process, todo, busy)
            for ours in cast(list[Connection], wait(list(busy))):
                process, job, attempt = busy.pop(ours)
                try:
                    failed, result = ours.recv()
                except (EOFError, OSError):  # the process is dead
                    process.join()
                    if attempt == ATTEMPTS:
                        raise RnnlensError(
                            f"{attempt} processes in a row died on the job {quoted(job)}: is there enough memory? "
                            "Try fewer jobs at a time"
                        ) from None
                    todo.appendleft((job, attempt + 1))
                    continue
                if failed:
                    raise result
                if todo:
                    _give(ours, process, todo, busy)
                else:
                    ours.close()
                yield job, result
    finally:
        for process, _, _ in busy.values():
            process.terminate()


def _give(ours: Connection, process: Any, todo: deque[tuple[Any, int]], busy: dict[Connection, Any]) -> None:
    job, attempt = todo.popleft()
    busy[ours] = (process, job, attempt)
    with suppress(OSError):  # dead before it began: `recv` will find out
        ours.send(job)


def _work(theirs: Connection, function: Callable[..., Any], setup: tuple[Any, ...]) -> None:
    while True:
        try:
            job = theirs.recv()
        except EOFError:
            return
        try:
            result = False, function(job, *setup)
        except Exception as error:
            result = True, error
        theirs.send(result)
