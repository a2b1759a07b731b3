"""What a benchmark yields, and the one table all of them make: our time against a named peer's, in the same run."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

HERE = "in this repository"


@dataclass(frozen=True)
class Row:
    """One comparison.

    what      what was done, on what, where; the same words from run to run, so that runs can be compared
    ours      our seconds
    peer      who or what did the same, or the limit nobody can beat
    theirs    its seconds
    get       how to get the peer
    note      what else was measured: accuracy reached, rate
    at_least  the peer was stopped before it had done as much: the true ratio is larger
    numbers   figures that other commands read
    """

    what: str
    ours: float
    peer: str
    theirs: float
    get: str = HERE
    note: str = ""
    at_least: bool = False
    numbers: Mapping[str, float] = field(default_factory=dict)
    part: str = ""

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    @property
    def key(self) -> tuple[str, str, str]:
        return self.part, self.what, self.peer


@dataclass(frozen=True)
class Skipped:
    """A comparison that could not be made here, and why."""

    what: str
    why: str
    part: str = ""


def machine(device: str) -> dict[str, Any]:
    """Where and when, in words; `load`: how many other processes wanted a core when we began."""
    gpu = torch.cuda.get_device_name() if device == "cuda" else None
    return {
        "cpu": f"{len(os.sched_getaffinity(0))} cores of {_processor()}",
        "gpu": gpu,
        "threads": torch.get_num_threads(),
        "load": round(os.getloadavg()[0], 2),
        "torch": torch.__version__,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def in_words(about: Mapping[str, Any]) -> str:
    parts = [about["cpu"], *([f"one {about['gpu']}"] if about["gpu"] else [])]
    parts += [f"{about['threads']} threads", f"torch {about['torch']}", about["date"]]
    busy = f"load {about['load']} when it began" if about["load"] >= 0.5 else "the machine was quiet"
    return ", ".join([*parts, busy])


def record(found: Iterable[Row | Skipped], about: Mapping[str, Any]) -> dict[str, Any]:
    """Plain data, for a file."""
    found = list(found)
    return {
        "machine": dict(about),
        "rows": [{**asdict(row), "ratio": row.ratio} for row in found if isinstance(row, Row)],
        "skipped": [asdict(row) for row in found if isinstance(row, Skipped)],
    }


def ratios(recorded: Mapping[str, Any]) -> dict[tuple[str, str, str], float]:
    """The ratio of each row of a recorded table, by its key."""
    return {(row["part"], row["what"], row["peer"]): row["ratio"] for row in recorded["rows"]}


HEAD = f"{'what':66s} {'ours':>10s} {'peer':>10s} {'ratio':>8s} {'last':>8s}  peer"


def line(row: Row | Skipped, last: Mapping[tuple[str, str, str], float]) -> str:
    """A row as text; `last` is the ratio it had in the table to compare with."""
    if isinstance(row, Skipped):
        return f"{row.what:66s} {'skipped:':>10s} {row.why}"
    before = last.get(row.key)
    ratio, was = (("≥" if row.at_least else "") + times(row.ratio)), "–" if before is None else times(before)
    note = f" [{row.note}]" if row.note else ""
    return f"{row.what:66s} {seconds(row.ours):>10s} {seconds(row.theirs):>10s} {ratio:>8s} {was:>8s}  {row.peer}{note}"


def times(ratio: float) -> str:
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:,.0f}×"


def seconds(value: float) -> str:
    return f"{1e3 * value:.2f} ms" if value < 1 else f"{value:.2f} s"
