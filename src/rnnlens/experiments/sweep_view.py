"""The progress of a sweep: in a terminal a table of the best trials so far, otherwise one line per trial."""

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
    """The function that `sweep` calls after each trial."""
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
    """The best trials of each model with their parameters, and the running ones."""
    title = f"{len(finished)} of {trials * len(models)} trials"
    view = table_of("model", "trial", "validation", "loss", "seconds", title=title)
    view.add_column("parameters", overflow="fold")
    for model in models:
        rows = [row for row in finished if row["model"] == model and row["accuracy"] is not None]
        rows.sort(key=lambda row: (-row["accuracy"], row["loss"]))
        for row in rows[:shown]:
            parameters = "  ".join(f"{name} {value}" for name, value in row["parameters"].items())
            view.add_row(
                model,
                str(row["trial"]),
                f"{100 * row['accuracy']:.2f} %",
                f"{row['loss']:.3f}",
                f"{row['seconds'] or 0:.0f}",
                parameters,
            )
        busy = ", ".join(str(number) for of, number in running if of == model)
        if busy:
            view.add_row(model, busy, "running", "", "", "")
    return view
