"""Commands of rnnlens in forked processes, struck by a fault on the way: torch and polars are imported once, so that a
command costs what it does.

A fault is one of
  {"signal": 9, "event": n}     a signal at the n-th time the command touches a file of its folder
  {"errno": 28, "event": n}     an error of the operating system at the n-th touch that writes, and at all after it
Touches are Python's own: audit events of opening, renaming, removing, making folders.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

HEAVY = [
    "torch._dynamo", "accelerate", "plotly.subplots", "plotly.io", "polars", "PIL.Image", "scipy.optimize",
    "sklearn.linear_model", "rnnlens.cli.commands", "rnnlens.corpora.writing", "rnnlens.analysis.analyze",
    "rnnlens.page", "rnnlens.training.command", "tests.support.forks",
]  # fmt: skip
TOUCHES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate")
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(HEAVY)  # what is not here is not used


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


def run(command: str, folder: Path, fault: dict[str, int] | None = None) -> Done:
    """`rnnlens COMMAND` with `folder` as the current one."""
    with tempfile.NamedTemporaryFile() as err, tempfile.NamedTemporaryFile() as count:
        process = SERVER.Process(
            target=_command, args=(command.split(), str(folder), fault or {}, err.name, count.name)
        )
        process.start()
        process.join()
        assert process.exitcode is not None
        return Done(process.exitcode, Path(err.name).read_text(errors="replace"), os.path.getsize(count.name))


def _command(arguments: list[str], folder: str, fault: dict[str, int], err: str, count: str) -> None:
    """The child: never returns."""
    code = 1
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for number, file in enumerate((null, null, os.open(err, os.O_WRONLY))):
            os.dup2(file, number)
        os.chdir(folder)
        torch.set_num_threads(1)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background may have inherited none
        _watch(folder, fault, os.open(count, os.O_WRONLY | os.O_APPEND))
        from rnnlens.cli import main

        main(arguments)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _watch(folder: str, fault: dict[str, int], count: int) -> None:
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
