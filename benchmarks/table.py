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

from benchmarks import timing

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
    last      the ratio in the table before
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
    last: float | None = None

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    @property
    def slower(self) -> bool:
        """Whether it has lost a fifth against the same peer."""
        return self.last is not None and self.ratio < 0.8 * self.last

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
    """Where and when, in words; `load`: how many processes wanted a core when we began; `clock`: whose seconds."""
    gpu = torch.cuda.get_device_name() if device == "cuda" else None
    return {
        "cpu": f"{len(os.sched_getaffinity(0))} cores of {_processor()}",
        "gpu": gpu,
        "threads": torch.get_num_threads(),
        "load": round(os.getloadavg()[0], 2),
        "clock": timing.whose_clock(),
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
    parts += [
        f"{about['threads']} thread{'s' if about['threads'] > 1 else ''}",
        f"torch {about['torch']}",
        about["date"],
    ]
    busy = "the machine was quiet"
    if about["load"] >= 0.5:
        clock = about.get("clock", "the wall's")
        busy = f"others at work (load {about['load']} when it began; by {clock} clock)"
    return ", ".join([*parts, busy])


def record(found: Iterable[Row | Skipped], about: Mapping[str, Any]) -> dict[str, Any]:
    """Plain data, for a file."""
    found = list(found)
    return {
        "machine": dict(about),
        "rows": [{**asdict(row), "ratio": row.ratio} for row in found if isinstance(row, Row)],
        "skipped": [asdict(row) for row in found if isinstance(row, Skipped)],
    }


def rows_of(recorded: Mapping[str, Any]) -> list[Row | Skipped]:
    """The rows of a file that `record` made."""
    kept = [Row(**{name: value for name, value in row.items() if name != "ratio"}) for row in recorded["rows"]]
    return [*kept, *(Skipped(**row) for row in recorded["skipped"])]


HEAD = f"{'what':66s} {'ours':>10s} {'peer':>10s} {'ratio':>8s} {'last':>8s}  peer"


def line(row: Row | Skipped) -> str:
    """A row as text."""
    if isinstance(row, Skipped):
        return f"{row.what:66s} {'skipped:':>10s} {row.why}"
    note = f" [{row.note}]" if row.note else ""
    spent = f"{seconds(row.ours):>10s} {seconds(row.theirs):>10s}"
    return f"{row.what:66s} {spent} {ratio(row):>8s} {last(row):>8s}  {row.peer}{note}"


def markdown(rows: Iterable[Row | Skipped]) -> str:
    """The rows as a table of a page."""
    lines = ["| what | ours | peer's | ratio | peer |", "|---|--:|--:|--:|---|"]
    for row in rows:
        if isinstance(row, Skipped):
            lines.append(f"| {row.what} | | | skipped | {row.why} |")
            continue
        cells = [row.what, seconds(row.ours), seconds(row.theirs), ratio(row)]
        lines.append(f"| {' | '.join(cells)} | {row.peer}{f' ({row.note})' if row.note else ''} |")
    return "\n".join(lines)


def ratio(row: Row) -> str:
    return ("≥ " if row.at_least else "") + times(row.ratio) + (" ▼" if row.slower else "")


def last(row: Row) -> str:
    return "–" if row.last is None else times(row.last)


def times(ratio: float) -> str:
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:,.0f}×"


def seconds(value: float) -> str:
    return f"{1e3 * value:.2f} ms" if value < 1 else f"{value:.2f} s"
