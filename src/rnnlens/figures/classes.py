"""The attractor of several classes in three dimensions: its slow points, and the directions of the classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.figures.stored import part
from rnnlens.figures.style import COLOURS, FAINT, INK, shown, shown_in_space, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MARKS = ("circle", "square", "diamond", "cross", "x", "circle-open", "square-open", "diamond-open")
NAMED = 20  # most classes with a direction in the figure
LETTERS = 30  # of a name, at most
LONG = 0.9  # quantile of the points' distances that the longest direction is drawn with


def classes(results: Any) -> Figure:
    """The slow points of a network with several classes in their first three principal axes, by their most probable
    class, and each class's readout as a line from the center; from `classes.geometry`."""
    import plotly.graph_objects as go

    stored = part(results, "classes", needs="only a network with three or more classes has it")
    geometry, names = part(stored, "geometry"), part(stored, "names")
    figure = go.Figure()
    for k, name in enumerate(names):
        at = [_three(point["at"]) for point in geometry["points"] if point["class"] == k]
        if at:
            _points(figure, at, k, name, shown(geometry["through"]))
    for k, (name, way) in enumerate(zip(names[:NAMED], _scaled(geometry), strict=False)):
        _direction(figure, way, k, name)
    shares = [*geometry["explained"][:3], 0, 0][:3]
    titles = [f"axis {i + 1} ({100 * share:.0f} %)" for i, share in enumerate(shares)]
    axis = {"zeroline": False, "showbackground": False, "gridcolor": FAINT, "tickfont": {"size": 10}}
    axes = {f"{letter}axis": {**axis, "title": {"text": title}} for letter, title in zip("xyz", titles, strict=True)}
    figure = styled(figure, *_said(geometry, names), height=640)
    return figure.update_layout(
        scene={
            **axes,
            "aspectmode": "data",
            "camera": {"eye": {"x": 1.5, "y": 1.5, "z": 1.0}, "center": {"x": 0, "y": 0, "z": -0.15}},
        },
        margin={"l": 0, "r": 0, "b": 10},
        legend={"itemsizing": "constant", "y": 0, "yanchor": "top"},
    )


def _said(geometry: Mapping[str, Any], names: Sequence[str]) -> tuple[str, str, str, str]:
    """Title, the names of no axes (the scene has its own), and subtitle."""
    n, count = len(names), geometry["count"]
    shape = {
        "simplex": f"The {n} classes form a simplex",
        "line": f"The {n} classes lie along a {'line' if count == 1 else 'bent line'}",
        "between": f"The {n} classes lie between a line and a simplex",
    }[geometry["shape"]]
    low, high = geometry["dimension_interval"]
    needs = f"The evidence needs {count} dimension{'s' if count != 1 else ''}"
    if count >= n:  # more than C − 1: most of what varies in the states is not evidence
        needs = f"The evidence is spread over {count} axes"
    return (
        shape,
        "",
        "",
        (
            f"Points are {shown(geometry['through'])}, by their most probable class; lines are the classes' readouts. "
            f"{needs};<br>the participation ratio of the "
            f"points is {geometry['dimension']:.2f} (95 %: {low:.2f} to {high:.2f})."
        ),
    )


def _points(figure: Figure, at: Sequence[Sequence[float]], k: int, name: str, what: str) -> None:
    x, y, z = zip(*at, strict=True)
    figure.add_scatter3d(
        x=x,
        y=y,
        z=z,
        mode="markers",
        name=_short(name),
        legendgroup=f"class {k}",
        marker={"size": 3, "color": _color(k), "symbol": MARKS[k // len(_COLORS) % len(MARKS)], "opacity": 0.6},
        hovertext=[f"{what[:-1]}, read as {shown(name)}"] * len(at),
        hoverinfo="text",
    )


def _direction(figure: Figure, way: Sequence[float], k: int, name: str) -> None:
    x, y, z = ((0.0, value) for value in way)
    figure.add_scatter3d(
        x=x,
        y=y,
        z=z,
        mode="lines+text",
        text=["", f" {shown_in_space(_cut(name))}"],  # (plotly.js keeps texts by name, and fails at __proto__)
        textfont={"color": INK, "size": 13},
        textposition="top center",
        line={"color": _color(k), "width": 6},
        name=f"direction of {_short(name)}",
        legendgroup=f"class {k}",
        showlegend=False,
        hovertext=[f"readout of {shown(name)}"] * 2,
        hoverinfo="text",
    )


def _scaled(geometry: Mapping[str, Any]) -> list[list[float]]:
    """The directions (C, 3), all with one factor, so that the longest reaches as far as most points."""
    ways = [_three(way) for way in geometry["directions"]]
    distances = sorted(math.hypot(*_three(point["at"])) for point in geometry["points"])
    longest = max(math.hypot(*way) for way in ways) or 1.0
    far = distances[int(LONG * (len(distances) - 1))] if distances else 1.0
    return [[value * far / longest for value in way] for way in ways]


def _three(at: Sequence[float]) -> list[float]:
    """Three coordinates; a network with fewer dimensions has zeros in the others."""
    return [*at, 0.0, 0.0][:3]


def _short(name: str) -> str:
    """A class name of at most `LETTERS` letters, as markup."""
    return shown(_cut(name))


def _cut(name: str) -> str:
    return name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"


_COLORS = COLOURS[1:]


def _color(k: int) -> str:
    return _COLORS[k % len(_COLORS)]
