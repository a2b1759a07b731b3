"""A sweep as it goes: the best trials so far in a table that stays in place, or a line a trial where there is no
terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rnnlens.common.terminal import console, say, table_of
from rnnlens.experiments.sweep import Report

if TYPE_CHECKING:
    from rich.table import Table


@contextmanager
def watched(models: list[str], trials: int) -> Iterator[Report]:
    """What `sweep` is to call after each trial."""
    from rich.live import Live

    terminal = console()
    if not terminal.is_terminal:
        yield lambda finished, running: say(line(finished[-1], len(finished), trials * len(models)), flush=True)
        return
    with Live(console=terminal, auto_refresh=False) as live:
        yield lambda finished, running: live.update(table(models, trials, finished, running), refresh=True)


def line(row: dict[str, Any], done: int, total: int) -> str:
    accuracy = "diverged" if row["accuracy"] is None else f"{100 * row['accuracy']:.2f} %"
    return f"{done}/{total}  {row['model']} {row['trial']}: {accuracy} in {row['seconds']:.0f} s"


def table(
    models: list[str], trials: int, finished: list[dict[str, Any]], running: list[tuple[str, int]], shown: int = 5
) -> Table:
    """The best trials of each model, with what differs between them."""
    title = f"{len(finished)} of {trials * len(models)} trials"
    found = table_of("model", "trial", "validation", "loss", "seconds", title=title)
    found.add_column("parameters", overflow="fold")
    for model in models:
        rows = [row for row in finished if row["model"] == model and row["accuracy"] is not None]
        rows.sort(key=lambda row: (-row["accuracy"], row["loss"]))
        for row in rows[:shown]:
            told = "  ".join(f"{name} {value}" for name, value in row["parameters"].items())
            found.add_row(
                model,
                str(row["trial"]),
                f"{100 * row['accuracy']:.2f} %",
                f"{row['loss']:.3f}",
                f"{row['seconds'] or 0:.0f}",
                told,
            )
        busy = ", ".join(str(number) for of, number in running if of == model)
        if busy:
            found.add_row(model, busy, "running", "", "", "")
    return found
