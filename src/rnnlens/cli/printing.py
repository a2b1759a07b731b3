"""Shared by several commands: choices of their options, tables of facts, and the line that names the report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from rnnlens.common.terminal import say, show, table_of

Arch = Literal["gru", "lstm", "ugrnn", "vanilla"]
Trained = Literal["gru", "lstm", "ugrnn", "vanilla", "mingru", "minlstm", "mamba", "rglru"]
Device = Literal["cpu", "cuda"]


def show_report(path: Path) -> None:
    say(f"report: {path} ({path.stat().st_size / 1e6:.1f} MB)")


def show_facts(facts: Iterable[tuple[str, str]], title: str | None = None) -> None:
    """Print a table of names and values."""
    table = table_of("", "", title=title, header=False)
    for name, value in facts:
        table.add_row(name, value)
    show(table)
