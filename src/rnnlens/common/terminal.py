"""Print text, with control characters escaped, and tables, on any terminal.

Words, sources, versions and results may come from other people's files. An escape code in one of them could recolor the
terminal, set its title or hide text, so every printed text passes through `printable`.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Printed instead by a terminal without Unicode; a lost minus would change a number.
_ASCII = {
    "−": "-", "–": "-", "—": "-", "…": "...", "“": '"', "”": '"', "‘": "'", "’": "'", "×": "x", "→": "->", "█": "#",
    "✓": "yes", "✗": "no", "τ": "tau", "Δ": "Delta ", "‖": "|",
}  # fmt: skip


def printable(text: object, lines: bool = False) -> str:
    r"""The text with every control or invisible character escaped, such as `\x1b`; with `lines`, newlines stay.

    >>> printable("not\x1b[31m good")
    'not\\x1b[31m good'
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or (lines and char == "\n") else char.encode("unicode_escape").decode()
        for char in text
    )


def say(text: object, error: bool = False, lines: bool = False, flush: bool = False) -> None:
    """Print a line (with `lines`, several) to stdout, or to stderr."""
    stream = sys.stderr if error else sys.stdout
    with _while_read(stream):
        print(printable(text, lines), file=stream, flush=flush)


@contextmanager
def _while_read(stream: TextIO) -> Iterator[None]:
    """Once the reader of a stream has closed it, as `head` does, print to nowhere: the command goes on and stores its
    results."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def allow_any_text(*streams: TextIO) -> None:
    """Let streams whose encoding lacks a character, as ascii and cp1252 lack a minus sign, print a substitute."""
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="rnnlens")


def _substitute(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(_ASCII.get(char) or ascii(char)[1:-1] for char in characters), error.end


codecs.register_error("rnnlens", _substitute)


# --- tables -----------------------------------------------------------------------------------------------------------

FOLDED = 20  # letters of a cell that stay on one line: enough for a number


def console(error: bool = False) -> Console:
    """rich's console, which prints `[bold]` and `:heart:` as they are."""
    from rich.console import Console

    class OurConsole(Console):
        def on_broken_pipe(self) -> None:  # rich's own ends the process
            raise BrokenPipeError

    return OurConsole(markup=False, highlight=False, emoji=False, stderr=error)


def table_of(
    *columns: str, title: str | None = None, header: bool = True, justify: Literal["left", "right"] = "right"
) -> Table:
    """A table whose cells are plain text."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    class PlainTable(Table):
        def add_row(self, *cells: Any, **how: Any) -> None:
            texts = [Text(printable(cell)) for cell in cells]
            super().add_row(*texts, **how)
            for column, text in zip(self.columns, texts, strict=False):
                longest = max(map(cell_len, text.plain.split()), default=0)
                column.min_width = max(column.min_width or 1, min(longest, FOLDED))

    title = None if title is None else printable(title)
    table = PlainTable(title=title, box=box.SIMPLE_HEAD, show_header=header, title_justify="left")
    for i, name in enumerate(columns):
        table.add_column(printable(name), justify="left" if i == 0 or not name else justify, overflow="fold")
    return table


def show(table: Table) -> None:
    """Print a table. Nothing is cut: long text is folded, and rows that hold no more are wider than the terminal."""
    here = console()
    here.width = max(here.width, 1 + sum((column.min_width or 1) + 3 for column in table.columns))
    with _while_read(sys.stdout):
        here.print(table, crop=False)
