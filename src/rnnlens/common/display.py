"""How results look: one line in a terminal, in a notebook a small table and, for some of them, a small drawing.

All text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

from rnnlens.common.terminal import printable

Facts = Sequence[tuple[str, object]]
COLOURS = ("#2b6cb0", "#c05621", "#762a83", "#009e73")
DASHES = ("", "6 3", "2 3", "8 3 2 3")


class Shown:
    """Base class of records with an HTML view: `_facts` are the rows of its table, `_drawing` is an SVG or empty.

    A record of tensors is a `dataclass(repr=False)`, so that printing it gives these facts in a line, not tensors."""

    def _facts(self) -> Facts:
        """By default the record's own numbers, words and lists of these, and those of `to_dict`."""
        own = vars(self) | (self.to_dict() if hasattr(self, "to_dict") else {})
        return [(name.replace("_", " "), _first(value)) for name, value in own.items() if _is_plain(value)]

    def _drawing(self) -> str:
        return ""

    def __repr__(self) -> str:
        facts = "; ".join(f"{name}: {cell_text(value)}" for name, value in self._facts())
        return printable(f"{type(self).__name__}({facts})")

    def _repr_html_(self) -> str:
        return f"<b>{escape(type(self).__name__)}</b>{table_html(self._facts())}{self._drawing()}"


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


def sticks_svg(groups: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Groups of numbers as bars from one zero line, the groups side by side, each with its name below."""
    width, height = 420, 90
    numbers = [value for _, values in groups for value in values]
    largest = max((abs(value) for value in numbers), default=0.0) or 1.0
    step, middle = (width - 20 * len(groups)) / max(1, len(numbers)), (height - 16) / 2
    x, parts = 4.0, [f'<line x1="0" x2="{width}" y1="{middle}" y2="{middle}" stroke="#a0aec0"/>']
    for k, (name, values) in enumerate(groups):
        start = x
        for value in values:
            length = middle * abs(value) / largest
            parts.append(
                f'<rect x="{x:.1f}" y="{middle - length if value > 0 else middle:.1f}" width="{0.8 * step:.2f}" '
                f'height="{length:.1f}" fill="{COLOURS[k % len(COLOURS)]}"/>'
            )
            x += step
        parts.append(_text(name, (start + x) / 2, height - 3))
        x += 16
    return _svg(parts, width, height, ", ".join(name for name, _ in groups))


def lines_svg(series: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Series over the same steps as lines of different color and dash, each with its name at its right end."""
    width, height = 420, 130
    numbers = [value for _, values in series for value in values] or [0.0]
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    span, steps = (high - low) or 1.0, max((len(values) for _, values in series), default=2) - 1 or 1

    def point(t: int, value: float) -> str:
        return f"{8 + (width - 120) * t / steps:.1f},{8 + (height - 16) * (high - value) / span:.1f}"

    parts = [f'<polyline points="{point(0, 0.0)} {point(steps, 0.0)}" stroke="#a0aec0" fill="none"/>']
    for k, (_, values) in enumerate(series):
        points = " ".join(point(t, value) for t, value in enumerate(values))
        look = f'stroke="{COLOURS[k % 4]}" stroke-dasharray="{DASHES[k % 4]}" stroke-width="2" fill="none"'
        parts.append(f'<polyline points="{points}" {look}/>')
    for (name, _), y in zip(series, _spread([float(point(0, v[-1]).split(",")[1]) for _, v in series]), strict=True):
        parts.append(_text(name, width - 106, y + 4, "start"))
    return _svg(parts, width, height, ", ".join(name for name, _ in series))


def _spread(heights: Sequence[float]) -> list[float]:
    """Heights of labels, in the same order, moved down where two would overlap."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    spread = list(heights)
    for above, below in pairwise(order):
        spread[below] = max(spread[below], spread[above] + 13.0)
    return spread


def _text(text: str, x: float, y: float, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" text-anchor="{anchor}" fill="#718096">{escape(text)}</text>'


def _svg(parts: Sequence[str], width: int, height: int, label: str) -> str:
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )
