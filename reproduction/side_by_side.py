"""Trainings side by side, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def run_side_by_side(jobs: Mapping[str, Sequence[str]], at_once: int, logs: Path | None = None) -> None:
    """Run `python -m …` for the arguments of each job, `at_once` at a time. logs: folder for what they print."""
    waiting, running = list(jobs), {}
    while waiting or running:
        while waiting and len(running) < at_once:
            name = waiting.pop(0)
            log: Any = None if logs is None else open(logs / f"{name}.log", "w")  # noqa: SIM115 - as long as the process
            command = [sys.executable, "-m", *jobs[name]]
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            running[name] = subprocess.Popen(command, stdout=log, stderr=log, env=environment), time.monotonic()
        time.sleep(0.2)
        for name, (process, since) in list(running.items()):
            if process.poll() is not None:
                print(f"{name}: exit {process.returncode}, {time.monotonic() - since:.0f} s", flush=True)
                del running[name]
