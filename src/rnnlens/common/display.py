"""How results look: one line in a terminal, in a notebook small tables.

All text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from rnnlens.common.terminal import printable

Facts = Sequence[tuple[str, object]]


class Shown:
    """Base class of records with an HTML view: `_facts` are the rows of its table, `_table` is another table or empty.

    A record of tensors is a `dataclass(repr=False)`, so that printing it gives these facts in a line, not tensors."""

    def _facts(self) -> Facts:
        """By default the record's own numbers, words and lists of these, and those of `to_dict`."""
        own = vars(self) | (self.to_dict() if hasattr(self, "to_dict") else {})
        return [(name.replace("_", " "), _first(value)) for name, value in own.items() if _is_plain(value)]

    def _table(self) -> str:
        return ""

    def __repr__(self) -> str:
        facts = "; ".join(f"{name}: {cell_text(value)}" for name, value in self._facts())
        return printable(f"{type(self).__name__}({facts})")

    def _repr_html_(self) -> str:
        return f"<b>{escape(type(self).__name__)}</b>{table_html(self._facts())}{self._table()}"


def _is_plain(value: object) -> bool:
    """Whether a value is a number, a word, None, or a list of these."""
    if isinstance(value, list | tuple):
        return all(item is None or isinstance(item, str | int | float) for item in value)
    return value is None or isinstance(value, str | int | float)


def _first(value: object, most: int = 6) -> object:
    """The first items of a list, with an ellipsis for the others; anything else as it is."""
    return [*value[:most], "…"] if isinstance(value, list | tuple) and len(value) > most else value


def table_html(rows: Iterable[Sequence[object]], head: Sequence[object] = ()) -> str:
    """Rows as an HTML table; every cell is escaped."""

    def line(cells: Sequence[object], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell_text(cell))}</{tag}>' for cell in cells)}</tr>"

    return f"<table>{line(head, 'th') if head else ''}{''.join(line(row, 'td') for row in rows)}</table>"


def cell_text(value: object) -> str:
    """A value as a short text."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    if isinstance(value, list | tuple):
        return ", ".join(cell_text(item) for item in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def plural(n: int, noun: str) -> str:
    """The noun after a count: 1 word, 2 words."""
    return noun if n == 1 else f"{noun}s"


def percent(share: float, digits: int = 1) -> str:
    return f"{round(100 * share, digits) + 0.0:.{digits}f} %".replace("-", "−")  # + 0.0: no −0


def percents(shares: Iterable[float]) -> str:
    return ", ".join(percent(share) for share in shares)


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign and a typographic minus: +1.02, −0.50, 0.00."""
    text = f"{abs(value):.{digits}f}"
    return text if float(text) == 0 else f"{'−' if value < 0 else '+'}{text}"
