"""A sweep as it goes: the best trials so far in a table that stays in place, or a line a trial where there is no
terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rnnlens.experiments.sweep import Told

if TYPE_CHECKING:
    from rich.table import Table


@contextmanager
def watched(models: list[str], trials: int) -> Iterator[Told]:
    """What `sweep` is to call after each trial."""
    from rich.console import Console
    from rich.live import Live

    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        yield lambda finished, running: console.print(line(finished[-1], len(finished), trials * len(models)))
        return
    with Live(console=console, auto_refresh=False) as live:
        yield lambda finished, running: live.update(table(models, trials, finished, running), refresh=True)


def line(row: dict[str, Any], done: int, total: int) -> str:
    accuracy = "diverged" if row["accuracy"] is None else f"{100 * row['accuracy']:.2f} %"
    return f"{done}/{total}  {row['model']} {row['trial']}: {accuracy} in {row['seconds']:.0f} s"


def table(
    models: list[str], trials: int, finished: list[dict[str, Any]], running: list[tuple[str, int]], shown: int = 5
) -> Table:
    """The best trials of each model, with what differs between them."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    found = Table(box=box.SIMPLE_HEAD, title=f"{len(finished)} of {trials * len(models)} trials", title_justify="left")
    for name in ("model", "trial", "validation", "loss", "seconds"):
        found.add_column(name, justify="left" if name == "model" else "right")
    found.add_column("parameters", overflow="fold")
    for model in models:
        rows = [row for row in finished if row["model"] == model and row["accuracy"] is not None]
        rows.sort(key=lambda row: (-row["accuracy"], row["loss"]))
        for row in rows[:shown]:
            told = "  ".join(f"{name} {value}" for name, value in row["parameters"].items())
            found.add_row(model, str(row["trial"]), f"{100 * row['accuracy']:.2f} %", f"{row['loss']:.3f}",
                          f"{row['seconds'] or 0:.0f}", Text(told))  # fmt: skip
        busy = ", ".join(str(number) for of, number in running if of == model)
        if busy:
            found.add_row(model, busy, "running", "", "", "")
    return found
