"""What commands print: tables, and where the page is. Words are data: `[bold]` in a review stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.table import Table

Arch = Literal["gru", "lstm", "ugrnn", "vanilla"]
Device = Literal["cpu", "cuda"]


def table_of(
    *columns: str, title: str | None = None, header: bool = True, justify: Literal["left", "right"] = "right"
) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, show_header=header, title_justify="left")
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i == 0 or not name else justify)
    return table


def show(table: Table) -> None:
    from rich.console import Console

    Console(markup=False, highlight=False).print(table)


def show_report(path: Path) -> None:
    print(f"report: {path} ({path.stat().st_size / 1e6:.1f} MB)")
