"""Commands of rnnlens in forked processes, struck by a fault on the way: torch and polars are imported once, so that a
command costs what it does, and a thousand of them can be killed.

A fault is one of
  {"signal": 9, "event": n}     a signal at the n-th time the command touches a file of its folder
  {"signal": 9, "after": s}     a signal after s seconds
  {"signal": 9, "workers": n}   a signal as soon as the command has n worker processes
  {"errno": 28, "event": n}     an error of the operating system at the n-th touch
  {"errno": 28, "event": n, "lasting": true}    and at every touch after it that writes
Touches are Python's own (audit events of opening, renaming, removing, making folders); what C and Rust libraries write
by themselves is struck by the clock and by real full disks. Processes that a command started and that still run when it
has ended are counted.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import uuid
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HEAVY = (
    "torch._dynamo", "accelerate", "alembic.command", "optuna", "plotly.subplots", "plotly.io", "polars", "PIL.Image",
    "scipy.optimize", "sklearn.linear_model", "rnnlens.cli.commands", "rnnlens.corpora.toy", "rnnlens.corpora.writing",
    "rnnlens.analysis.analyze", "rnnlens.experiments.sweep", "rnnlens.page", "rnnlens.training.command",
)  # fmt: skip
MARK, PATIENCE = "RNNLENS_STUDY_COMMAND", 20.0  # environment variable of a command's processes; seconds to end
TOUCHES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "sqlite3.connect")


@dataclass(frozen=True)
class Done:
    """How a command ended: exit code (negative: by that signal), what it printed, touches of its folder, seconds, the
    most megabytes it held, those it shared with us among them, and how many of its processes were left."""

    code: int
    out: str
    err: str
    events: int
    seconds: float
    megabytes: int
    left: int

    @property
    def told(self) -> str | None:
        """Its one-line error; None if it told anything else."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        return lines[0] if self.code == 1 and len(lines) == 1 and lines[0].startswith("error: ") else None


class Forks:
    """A process that has imported everything and forks for each command."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
        self.server = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **single, "PYTHONPATH": path, **(environment or {})},
        )

    def run(self, arguments: list[Any], folder: Path, fault: dict[str, Any] | None = None, limit: float = 300) -> Done:
        """`rnnlens ARGUMENTS` with `folder` as the current one."""
        assert self.server.stdin is not None and self.server.stdout is not None
        asked = {"arguments": [str(word) for word in arguments], "folder": str(folder), "fault": fault, "limit": limit}
        print(json.dumps(asked), file=self.server.stdin, flush=True)
        return Done(**json.loads(self.server.stdout.readline()))

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.server.stdin is not None
        self.server.stdin.close()
        self.server.wait()


def serve() -> None:
    """Fork for each line of stdin, answer with a line."""
    for name in HEAVY:
        with suppress(ImportError):  # what is not here is not used
            import_module(name)
    for line in sys.stdin:
        asked = {**json.loads(line), "mark": uuid.uuid4().hex}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as count:
            since = time.monotonic()
            child = os.fork()
            if not child:
                _command(asked, out.fileno(), err.fileno(), count.fileno())
            code, megabytes = _wait(child, asked["fault"] or {}, since, asked["limit"], asked["mark"])
            seconds = round(time.monotonic() - since, 3)
            for file in (out, err, count):
                file.seek(0)
            told, errors = (file.read().decode(errors="replace") for file in (out, err))
            answer = {
                "code": code,
                "out": told,
                "err": errors,
                "events": len(count.read()),
                "seconds": seconds,
                "megabytes": megabytes,
                "left": _left(asked["mark"]),
            }
        print(json.dumps(answer), flush=True)


def _command(asked: dict[str, Any], out: int, err: int, count: int) -> None:
    """The child: never returns."""
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.chdir(asked["folder"])
        os.environ[MARK] = asked["mark"]
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background may have inherited none
        _watch(asked["folder"], asked["fault"] or {}, count)
        from rnnlens.cli import main

        main(asked["arguments"])
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _watch(folder: str, fault: dict[str, Any], count: int) -> None:
    """Count the touches of the folder, a byte each, and strike at the one that was asked for."""
    at, seen = fault.get("event"), 0

    def hook(name: str, details: tuple[Any, ...]) -> None:
        nonlocal seen
        if name not in TOUCHES or not details or not isinstance(details[0], str | bytes | os.PathLike):
            return
        path = os.fsdecode(details[0])
        if os.path.isabs(path) and not path.startswith(folder + os.sep):
            return
        writes = name != "open" or bool((details[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if "errno" in fault and not writes:
            return
        seen += 1
        os.write(count, b".")
        if at is None or (seen < at if fault.get("lasting") else seen != at):
            return
        if "signal" in fault:
            os.kill(os.getpid(), fault["signal"])
        elif name != "os.remove":  # there is always room to remove
            raise OSError(fault["errno"], os.strerror(fault["errno"]), path)

    sys.addaudithook(hook)


def _wait(child: int, fault: dict[str, Any], since: float, limit: float, mark: str) -> tuple[int, int]:
    """Exit code of the child, and its megabytes. It gets its signal when it is time, and is killed when it takes longer
    than the limit: exit code −9999."""
    strike, workers = fault.get("after"), fault.get("workers")
    while True:
        found, status, used = os.wait4(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), used.ru_maxrss // 1024
        passed = time.monotonic() - since
        if strike is not None and passed >= strike:
            os.kill(child, fault["signal"])
            strike = None
        if workers is not None and _workers(mark) >= workers:
            os.kill(child, fault["signal"])
            workers = None
        if passed > limit:
            os.kill(child, signal.SIGKILL)
            _, _, used = os.wait4(child, 0)
            return -9999, used.ru_maxrss // 1024
        select.select([], [], [], 0.002)  # (libfaketime cannot bear Python's sleep while its clock jumps)


def _left(mark: str) -> int:
    """How many processes a command left running, a while after its end (one that is just starting imports torch before
    it looks for its parent). They are killed."""
    end = time.monotonic() + PATIENCE
    while (processes := _marked(mark)) and time.monotonic() < end:
        select.select([], [], [], 0.05)
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return len(processes)


def _marked(mark: str) -> list[int]:
    """Processes that run with a command's mark in their environment; forked ones do not show theirs."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def _workers(mark: str) -> int:
    """How many worker processes of a command run."""
    found = 0
    for process in _marked(mark):
        with suppress(OSError):
            found += b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()
    return found


FULL, READ_ONLY, BROKEN = errno.ENOSPC, errno.EROFS, errno.EIO

if __name__ == "__main__":
    serve()
