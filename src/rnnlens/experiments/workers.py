"""Run jobs in several processes of this machine, or on a Ray cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from rnnlens.common.errors import RnnlensError


@contextmanager
def orderly_end() -> Iterator[None]:
    """SIGTERM and SIGHUP raise SystemExit within the block, so that workers are ended before this process ends.
    Handlers installed by others are kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    signals = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is signal.SIG_DFL]
    for one in signals:
        signal.signal(one, leave)
    try:
        yield
    finally:
        with suppress(ValueError):  # only the main thread can set signals, but any can finalize a generator
            for one in signals:
                signal.signal(one, signal.SIG_DFL)


def run_jobs(
    function: Callable[..., Any], jobs: Iterable[Any], workers: int, setup: tuple[Any, ...] = ()
) -> Generator[tuple[Any, Any]]:
    """Yield (job, function(job, *setup)) for each job when it finishes. `function` must be importable; an exception in
    it stops all jobs. workers: 0 runs the jobs in this process."""
    if not workers:
        with orderly_end():
            yield from ((job, function(job, *setup)) for job in jobs)
        return
    with process_pool(workers) as pool:
        started = {pool.submit(function, job, *setup): job for job in jobs}
        for done in as_completed(started):
            try:
                yield started[done], done.result()
            except BrokenProcessPool as error:
                raise RnnlensError(
                    "a process died with its job: check the memory, or use fewer jobs, and run the same command again"
                ) from error


@contextmanager
def process_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes end, and whose temporary files are removed, when the block or this process ends."""
    context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
    theirs, ours = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(prefix="rnnlens-", ignore_cleanup_errors=True) as scratch:
        pool = ProcessPoolExecutor(workers, context, _end_with_parent, (theirs, scratch))
        try:
            with orderly_end():
                yield pool
                pool.shutdown()
        finally:
            ours.close()
            pool.shutdown()
            theirs.close()


def _end_with_parent(lifeline: Connection, scratch: str) -> None:
    """In a worker: end, with the processes it started, when the other end of `lifeline` is closed, as by the end of the
    parent, or on SIGTERM. Ctrl-C is for the parent alone."""
    group = hasattr(os, "setpgid")
    if group:
        os.setpgid(0, 0)

    def end(*_: Any) -> None:
        shutil.rmtree(scratch, ignore_errors=True)
        if group:
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    def watch() -> None:
        wait([lifeline])
        end()

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, end)
    tempfile.tempdir = scratch
    threading.Thread(target=watch, daemon=True).start()


def everywhere(corpus: str) -> str:
    """The name of a corpus for processes with other working directories: a path becomes absolute."""
    return str(Path(corpus).absolute()) if os.path.exists(corpus) else corpus


def runner(engine: str, jobs: int, device: str | None) -> Callable[..., Generator[tuple[Any, Any]]]:
    """`run_jobs` or `run_jobs_on_ray`. An error if the jobs cannot run there."""
    from rnnlens.networks.devices import check_device  # imports torch, for which a new worker should not wait

    if engine == "local":  # the machines of a cluster have their own devices
        check_device(device)
        return run_jobs
    if not jobs:
        raise RnnlensError(
            "engine is 'ray' and jobs is 0: expected at least 1 job at a time; for jobs in this process leave engine "
            "(--engine) out"
        )
    return partial(run_jobs_on_ray, gpu=device == "cuda")


@contextmanager
def ray_cluster(workers: int) -> Generator[Any]:
    """Ray, connected to the cluster at $RAY_ADDRESS or, without it, to a new one on this machine. An existing
    connection is used and kept."""
    try:
        import ray
    except ImportError as error:
        raise RnnlensError("--engine ray needs Ray: install it with `pip install 'rnnlens[ray]'`") from error
    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray sends usage statistics by default
    # "local" starts a new cluster: an existing one on this machine would not accept a number of workers.
    local: dict[str, Any] = {"address": "local", "num_cpus": workers, "include_dashboard": False}
    terminated = signal.getsignal(signal.SIGTERM)
    ray.init(logging_level=logging.ERROR, **({} if os.environ.get("RAY_ADDRESS") else local))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, terminated or signal.SIG_DFL)  # Ray's handler prints its stack and aborts
    try:
        with orderly_end():
            yield ray
    finally:
        ray.shutdown()


def run_jobs_on_ray(
    function: Callable[..., Any], jobs: Iterable[Any], workers: int, setup: tuple[Any, ...] = (), gpu: bool = False
) -> Generator[tuple[Any, Any]]:
    """The same on a Ray cluster, whose machines must have the same files under the same paths. Ray runs the job of a
    worker that dies again."""
    with ray_cluster(workers) as ray:
        share = min(1.0, ray.cluster_resources().get("GPU", 0) / workers) if gpu else 0
        remote = ray.remote(num_cpus=1, num_gpus=share)(function)
        waiting, busy = list(jobs), dict[Any, Any]()
        while waiting or busy:
            while waiting and len(busy) < workers:
                job = waiting.pop(0)
                busy[remote.remote(job, *setup)] = job
            for done in ray.wait(list(busy))[0]:
                try:
                    yield busy.pop(done), ray.get(done)
                except ray.exceptions.RayTaskError as error:
                    known = isinstance(error.cause, RnnlensError)
                    raise (error.cause if known else error.as_instanceof_cause()) from None
