"""Run jobs in several processes, each one job at a time. A process that dies is replaced, and its job is run again.
Workers end with the process that started them (`lifetime`), and so do the temporary files of their jobs.

On one machine this module starts the processes itself, since the pools of joblib and concurrent.futures fail with all
running jobs when one process dies. On a cluster it uses Ray.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, NamedTuple, cast

from rnnlens.common.ending import orderly_end
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.experiments.lifetime import end_with_parent, kill_worker

ATTEMPTS = 5  # a job whose process dies this many times is an error


class _Busy(NamedTuple):
    process: Any
    job: Any
    attempt: int


def run_jobs(
    function: Callable[..., Any], jobs: Iterable[Any], workers: int, setup: tuple[Any, ...] = ()
) -> Generator[tuple[Any, Any]]:
    """Yield (job, function(job, *setup)) for each job when it finishes. Jobs are taken from `jobs` when a worker is
    free. `function` must be importable; an exception in it stops all jobs. workers: 0 runs the jobs in this process."""
    if not workers:
        with orderly_end():
            yield from ((job, function(job, *setup)) for job in jobs)
        return
    with scratch_folder() as scratch:
        yield from _run_in_processes(function, jobs, workers, setup, scratch)


def _run_in_processes(
    function: Callable[..., Any], jobs: Iterable[Any], workers: int, setup: tuple[Any, ...], scratch: str
) -> Generator[tuple[Any, Any]]:
    context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
    task = ForkingPickler.dumps((function, setup))
    waiting, again = iter(jobs), list[tuple[Any, int]]()
    idle: list[tuple[Connection, Any]] = []
    busy: dict[Connection, _Busy] = {}

    def start() -> tuple[Connection, Any]:
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, scratch), daemon=True)
        process.start()
        theirs.close()
        with suppress(OSError):  # it is already dead: `recv` will fail
            ours.send_bytes(task)
        return ours, process

    try:
        with orderly_end():
            while True:
                while len(busy) < workers:
                    job, attempt = again.pop() if again else (next(waiting, None), 1)
                    if job is None:
                        break
                    ours, process = idle.pop() if idle else start()
                    busy[ours] = _Busy(process, job, attempt)
                    with suppress(OSError):
                        ours.send(job)
                if not busy:
                    return
                for ours in cast(list[Connection], wait(list(busy))):
                    process, job, attempt = busy.pop(ours)
                    try:
                        failed, result = ours.recv()
                    except (EOFError, OSError):  # the process is dead
                        process.join()
                        if attempt == ATTEMPTS:
                            raise _deadly(job) from None
                        again.append((job, attempt + 1))
                        continue
                    if failed:
                        raise result
                    idle.append((ours, process))
                    yield job, result
    finally:
        for ours, (process, _, _) in busy.items():
            kill_worker(process)
            ours.close()
        for ours, process in idle:
            ours.close()
            process.join()


def scratch_folder() -> AbstractContextManager[str]:
    """A folder for the temporary files of all jobs, removed when they have ended: a killed worker cannot."""
    return tempfile.TemporaryDirectory(prefix="rnnlens-", ignore_cleanup_errors=True)


def everywhere(corpus: str) -> str:
    """The name of a corpus for processes with other working directories: a path becomes absolute."""
    return str(Path(corpus).absolute()) if os.path.exists(corpus) else corpus


def _portable(error: Exception) -> Exception:
    """The exception or, if it cannot be pickled, an RnnlensError with its message."""
    try:
        ForkingPickler.loads(ForkingPickler.dumps(error))
        return error
    except Exception:
        return RnnlensError(f"{type(error).__name__}: {error}")


def _work(theirs: Connection, scratch: str) -> None:
    """Receive the function and its setup, then jobs. The parent is watched before the function is loaded, since that
    imports torch and takes seconds. Temporary files go to `scratch`."""
    end_with_parent(scratch)
    tempfile.tempdir = scratch
    with suppress(EOFError, OSError):  # the parent has no more jobs, or is dead
        function, setup = theirs.recv()
        while True:
            job = theirs.recv()
            try:
                result = False, function(job, *setup)
            except Exception as error:
                result = True, _portable(error)
            with suppress(OSError):
                theirs.send(result)
    shutil.rmtree(scratch, ignore_errors=True)


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
    if address := os.environ.get("RAY_ADDRESS"):
        _need_answer(address)
    terminated = signal.getsignal(signal.SIGTERM)
    ray.init(log_to_driver=False, logging_level=logging.ERROR, **({} if address else local))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, terminated or signal.SIG_DFL)  # Ray's handler prints its stack and aborts
    try:
        with orderly_end():
            yield ray
    finally:
        ray.shutdown()


def _need_answer(address: str) -> None:
    """Raise an error if the cluster does not answer. Ray would try for minutes and then end the process."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        return  # `auto` and similar names
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        message = f"no Ray cluster answers at {quoted(address)}, which RAY_ADDRESS names ({error.strerror or error})"
        raise RnnlensError(f"{message}: start it, or unset RAY_ADDRESS to run on this machine") from error


def run_jobs_on_ray(
    function: Callable[..., Any], jobs: Iterable[Any], workers: int, setup: tuple[Any, ...] = (), gpu: bool = False
) -> Generator[tuple[Any, Any]]:
    """The same on a Ray cluster, whose machines must have the same files under the same paths."""
    with scratch_folder() as scratch, ray_cluster(workers) as ray:
        share = min(1.0, ray.cluster_resources().get("GPU", 0) / workers) if gpu else 0
        remote = ray.remote(num_cpus=1, num_gpus=share, max_retries=0)(_in_scratch)
        yield from _remotely(ray, partial(remote.remote, scratch, function), jobs, workers, setup)


def _in_scratch(scratch: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function with its temporary files in `scratch`, if this machine has that folder."""
    tempfile.tempdir = scratch if os.path.isdir(scratch) else None
    return function(*arguments)


def _remotely(
    ray: Any, submit: Callable[..., Any], jobs: Iterable[Any], workers: int, setup: tuple[Any, ...]
) -> Generator[tuple[Any, Any]]:
    waiting, again, busy = iter(jobs), list[tuple[Any, int]](), dict[Any, tuple[Any, int]]()
    while True:
        while len(busy) < workers:
            job, attempt = again.pop() if again else (next(waiting, None), 1)
            if job is None:
                break
            busy[submit(job, *setup)] = (job, attempt)
        if not busy:
            return
        for done in ray.wait(list(busy))[0]:
            job, attempt = busy.pop(done)
            try:
                result = ray.get(done)
            except ray.exceptions.RayTaskError as error:
                known = isinstance(error.cause, RnnlensError)
                raise (error.cause if known else error.as_instanceof_cause()) from None
            except ray.exceptions.RayError:  # its worker or machine is gone
                if attempt == ATTEMPTS:
                    raise _deadly(job) from None
                again.append((job, attempt + 1))
                continue
            yield job, result


def _deadly(job: Any) -> RnnlensError:
    return RnnlensError(
        f"{ATTEMPTS} processes in a row died on the job {quoted(job)}: check the memory, or use fewer jobs"
    )
