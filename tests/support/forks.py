"""Commands of rnnlens in forked processes, struck by a fault on the way: torch and polars are imported once, so that a
command costs what it does.

A fault is one of
  {"signal": 9, "event": n}     a signal at the n-th time the command touches a file of its folder
  {"errno": 28, "event": n}     an error of the operating system at the n-th touch that writes, and at all after it
Touches are Python's own: audit events of opening, renaming, removing, making folders.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HEAVY = (
    "torch._dynamo", "accelerate", "plotly.subplots", "plotly.io", "polars", "PIL.Image", "scipy.optimize",
    "sklearn.linear_model", "rnnlens.cli.commands", "rnnlens.corpora.writing", "rnnlens.analysis.analyze",
    "rnnlens.page", "rnnlens.training.command",
)  # fmt: skip
TOUCHES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate")


@dataclass(frozen=True)
class Done:
    """How a command ended: exit code (negative: by that signal), its errors, and touches of its folder."""

    code: int
    err: str
    events: int

    @property
    def told(self) -> str | None:
        """Its one-line error; None if it told anything else."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        return lines[0] if self.code == 1 and len(lines) == 1 and lines[0].startswith("error: ") else None


class Forks:
    """A process that has imported everything and forks for each command."""

    def __init__(self) -> None:
        single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
        self.server = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **single, "PYTHONPATH": path},
        )

    def run(self, arguments: list[Any], folder: Path, fault: dict[str, Any] | None = None) -> Done:
        """`rnnlens ARGUMENTS` with `folder` as the current one."""
        assert self.server.stdin is not None and self.server.stdout is not None
        asked = {"arguments": [str(word) for word in arguments], "folder": str(folder), "fault": fault or {}}
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
        with tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as count:
            child = os.fork()
            if not child:
                _command(json.loads(line), err.fileno(), count.fileno())
            _, status = os.waitpid(child, 0)
            err.seek(0)
            code, told = os.waitstatus_to_exitcode(status), err.read().decode(errors="replace")
            print(json.dumps({"code": code, "err": told, "events": os.fstat(count.fileno()).st_size}), flush=True)


def _command(asked: dict[str, Any], err: int, count: int) -> None:
    """The child: never returns."""
    code = 1
    try:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.dup2(err, 2)
        os.chdir(asked["folder"])
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background may have inherited none
        _watch(asked["folder"], asked["fault"], count)
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
        if at is None or (seen < at if "errno" in fault else seen != at):
            return
        if "signal" in fault:
            os.kill(os.getpid(), fault["signal"])
        elif name != "os.remove":  # there is always room to remove
            raise OSError(fault["errno"], os.strerror(fault["errno"]), path)

    sys.addaudithook(hook)


if __name__ == "__main__":
    serve()
