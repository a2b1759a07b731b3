"""Names of points, written where they fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.figures.labels import Pixel, pixel, spread
from rnnlens.figures.style import FAINT, INK, shown

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def write_names(
    figure: Figure,
    words: Sequence[str],
    at: Sequence[tuple[float, float]],
    order: Sequence[int],
    view: Sequence[Sequence[float]],
    panel: Pixel,
    most: int,
    letter: float = 7.0,
    **look: Any,
) -> list[int]:
    """Write the names of at most `most` points beside them, in this order of importance; returns which were written.

    view: the ranges of both axes. panel: its size in pixels. letter: the width of one. look: of the names, where it
    differs from the usual one."""
    pixels = [pixel(point, view, panel) for point in at]
    sizes = [(6.0 + letter * len(words[i]), 15.0) for i in order]
    shifts = spread([pixels[i] for i in order], sizes, pixels, panel, most=most)
    usual = {"arrowwidth": 0.6, "arrowcolor": FAINT, "standoff": 4, "font": {"size": 11, "color": INK}}
    for k, (right, up) in shifts.items():
        (x, y), word = at[order[k]], words[order[k]]
        figure.add_annotation(x=x, y=y, text=shown(word), ax=right, ay=-up, arrowhead=0, name=word, **{**usual, **look})
    return [order[k] for k in shifts]
