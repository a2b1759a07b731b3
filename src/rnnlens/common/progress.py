"""A progress bar, drawn by rich in a terminal; nothing elsewhere, or where rich is not installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rnnlens.common.terminal import console, printable

Advance = Callable[..., None]


@contextmanager
def progress_bar(title: str, total: float, shown: bool = True, done: float = 0) -> Iterator[Advance]:
    """`with progress_bar("training", 100) as advance: advance(1, "loss 0.31")`: a bar with a note and the time left."""
    bar = None
    if shown and sys.stderr.isatty():
        with suppress(ImportError):
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("{task.fields[note]}", markup=False),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=console(error=True),
            )
    if bar is None:
        yield lambda step=1, note="": None
        return
    with bar:
        task = bar.add_task(printable(title), total=total, note="")
        bar.advance(task, done)

        def advance(step: float = 1, note: str | None = None) -> None:
            if note is not None:
                bar.update(task, note=printable(note))
            bar.advance(task, step)

        yield advance
