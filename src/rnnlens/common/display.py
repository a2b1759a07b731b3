"""How results look in a notebook: a small table and, for what has a shape, a small drawing. Words stay text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

Facts = Sequence[tuple[str, object]]
COLOURS = ("#2b6cb0", "#c05621", "#762a83", "#009e73")
DASHES = ("", "6 3", "2 3", "8 3 2 3")


class Shown:
    """A record that says of itself what is worth knowing: `_facts`, and perhaps `_drawing`, an svg."""

    def _facts(self) -> Facts:
        raise NotImplementedError

    def _drawing(self) -> str:
        return ""

    def _repr_html_(self) -> str:
        return f"<b>{escape(type(self).__name__)}</b>{table_html(self._facts())}{self._drawing()}"


def table_html(rows: Iterable[Sequence[object]], head: Sequence[object] = ()) -> str:
    """Rows as a table; every cell is text."""

    def line(cells: Sequence[object], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(said(cell))}</{tag}>' for cell in cells)}</tr>"

    return f"<table>{line(head, 'th') if head else ''}{''.join(line(row, 'td') for row in rows)}</table>"


def said(value: object) -> str:
    """A value in a few characters."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    if isinstance(value, list | tuple):
        return ", ".join(said(one) for one in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def percents(shares: Iterable[float]) -> str:
    return ", ".join(percent(share) for share in shares)


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, and a minus that is as wide as the plus: +1.02, −0.50, 0.00."""
    text = f"{abs(value):.{digits}f}"
    return text if float(text) == 0 else f"{'−' if value < 0 else '+'}{text}"


def sticks_svg(groups: Sequence[tuple[str, Sequence[float]]], width: int = 420, height: int = 90) -> str:
    """Groups of numbers as sticks from one zero, the groups side by side, each with its name below."""
    every = [value for _, values in groups for value in values]
    reach = max((abs(value) for value in every), default=0.0) or 1.0
    step, middle = (width - 20 * len(groups)) / max(1, len(every)), (height - 16) / 2
    x, parts = 4.0, [f'<line x1="0" x2="{width}" y1="{middle}" y2="{middle}" stroke="#a0aec0"/>']
    for k, (name, values) in enumerate(groups):
        start = x
        for value in values:
            tall = middle * abs(value) / reach
            parts.append(
                f'<rect x="{x:.1f}" y="{middle - tall if value > 0 else middle:.1f}" width="{0.8 * step:.2f}" '
                f'height="{tall:.1f}" fill="{COLOURS[k % len(COLOURS)]}"/>'
            )
            x += step
        parts.append(_text(name, (start + x) / 2, height - 3))
        x += 16
    return _svg(parts, width, height, ", ".join(name for name, _ in groups))


def lines_svg(series: Sequence[tuple[str, Sequence[float]]], width: int = 420, height: int = 130) -> str:
    """Courses over the same steps as lines of different colour and dash, each named at its right end."""
    every = [value for _, values in series for value in values] or [0.0]
    low, high = min(0.0, *every), max(0.0, *every)
    span, steps = (high - low) or 1.0, max((len(values) for _, values in series), default=2) - 1 or 1

    def at(t: int, value: float) -> str:
        return f"{8 + (width - 120) * t / steps:.1f},{8 + (height - 16) * (high - value) / span:.1f}"

    parts = [f'<polyline points="{at(0, 0.0)} {at(steps, 0.0)}" stroke="#a0aec0" fill="none"/>']
    for k, (_, values) in enumerate(series):
        points = " ".join(at(t, value) for t, value in enumerate(values))
        look = f'stroke="{COLOURS[k % 4]}" stroke-dasharray="{DASHES[k % 4]}" stroke-width="2" fill="none"'
        parts.append(f'<polyline points="{points}" {look}/>')
    for (name, _), y in zip(series, _apart([float(at(0, v[-1]).split(",")[1]) for _, v in series]), strict=True):
        parts.append(_text(name, width - 106, y + 4, "start"))
    return _svg(parts, width, height, ", ".join(name for name, _ in series))


def _apart(heights: Sequence[float], least: float = 13.0) -> list[float]:
    """The same heights, in the same order, with no two labels on top of each other."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    found = list(heights)
    for above, below in pairwise(order):
        found[below] = max(found[below], found[above] + least)
    return found


def _text(text: str, x: float, y: float, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" text-anchor="{anchor}" fill="#718096">{escape(text)}</text>'


def _svg(parts: Sequence[str], width: int, height: int, label: str) -> str:
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )
