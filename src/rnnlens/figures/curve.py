"""The line attractor's curve, colored by its readings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from rnnlens.common.display import signed

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# Purple to green through gray: colorblind readers can distinguish them, and no trajectory has these colors.
READINGS = ((0.0, "#762a83"), (0.25, "#af8dc3"), (0.5, "#c8c8c8"), (0.75, "#7fbf7b"), (1.0, "#1b7837"))


def curve(
    figure: Figure,
    path: Sequence[tuple[float, float]],
    readings: Sequence[float],
    reach: int,
    *,
    bar: bool = True,
    length: float = 0.5,
    name: str = "line attractor",
    dots: int = 400,
    row: int = 1,
    col: int = 1,
) -> None:
    """Draw a curve through points (x, y), each with a reading. A Plotly line has one color, so this draws dots.

    reach: larger readings get the same color. bar: add a color bar. length: of the color bar, as a share of the height.
    """
    knots = [(*at, reading) for at, reading in zip(path, readings, strict=True)]
    between = max(1, dots // max(1, len(knots) - 1))
    drawn = [
        [(1 - k / between) * a + k / between * b for a, b in zip(p, q, strict=True)]
        for p, q in pairwise(knots)
        for k in range(between)
    ]
    x, y, colours = zip(*drawn, knots[-1], strict=True)
    ticks = range(-reach, reach + 1) if reach <= 3 else (-reach, -reach / 2, 0, reach / 2, reach)
    text = [signed(value, 0 if value == int(value) else 1) for value in ticks]
    if max(abs(reading) for reading in readings) > reach:
        text[0], text[-1] = f"≤ {text[0]}", f"≥ {text[-1]}"
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers",
        name=name,
        showlegend=False,
        marker={
            "size": 10,
            "color": colours,
            "colorscale": [list(stop) for stop in READINGS],
            "cmin": -reach,
            "cmax": reach,
            "showscale": bar,
            "colorbar": {
                "title": {"text": "reading on the line (logit)", "side": "right", "font": {"size": 13}},
                "thickness": 12,
                "len": length,
                "x": 1.01,
                "y": 1,
                "yanchor": "top",
                "tickvals": list(ticks),
                "ticktext": text,
            },
        },
        hovertext=[f"{name}<br>reading {signed(value)}" for value in colours],
        hoverinfo="text",
        row=row,
        col=col,
    )
