"""Fig. 1a: the line attractor, the states that reviews visit, and the paths of the probe reviews."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.figures.axes import padded
from rnnlens.figures.curve import curve
from rnnlens.figures.probes import look_of_review, sentence
from rnnlens.figures.stored import part, perhaps, side_names
from rnnlens.figures.style import FAINT, INK, legend_below, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def line_attractor(results: Any) -> Figure:
    """Fig. 1a, from `state_space` and `line_attractor`: slow points, the curve through them, visited states and the
    probe reviews, in the first two principal components of the visited states; on the right, zoomed to the reviews."""
    space, line, texts = part(results, "state_space"), part(results, "line_attractor"), side_names(results).texts
    figure = panels(["all states", f"zoomed to the probe {texts}"], horizontal_spacing=0.11)
    reach = max(1, math.ceil(max(abs(edge) for edge in line["range"])))
    name = "curve through the slow points" if line["is_line"] else "curve (these slow points are no line)"
    path = [(at[0], at[1]) for at in space["line"]["path"]]
    for column in (1, 2):
        _states(figure, space["visited"], "states visited while reading", {"size": 4, "color": FAINT}, column)
        curve(figure, path, space["line"]["logits"], reach, bar=column == 1, length=1, name=name, col=column)
        cross = {"symbol": "cross-thin", "size": 5, "opacity": 0.5, "line": {"width": 1, "color": INK}}
        _states(figure, space["slow_points"], _slow_points_name(results), cross, column)
        for review, record in space["reviews"].items():
            _review(figure, review, record, column, f"{shown(review)} {texts[:-1]}")
        _place(figure, space["h0"], f"h<sub>0</sub>, where {texts} start", "circle", column)
        _place(figure, space["h_star"], "h*, where effects are measured", "x-thin", column)
    names = [f"PC{i + 1} ({100 * share:.0f} % of variance)" for i, share in enumerate(space["variance"][:2])]
    for column in (1, 2):
        figure.update_xaxes(title_text=names[0], zeroline=False, row=1, col=column)
        figure.update_yaxes(title_text=names[1], zeroline=False, row=1, col=column)
    figure.update_xaxes(range=_view(space, 0), row=1, col=2).update_yaxes(range=_view(space, 1), row=1, col=2)
    title = f"Where {texts} move the state, and the line of slow points"
    if not line["is_line"]:
        title = f"Where {texts} move the state: the slow points of this network are not a line"
    subtitle = _subtitle(line, texts[:-1])
    figure = legend_below(
        styled(figure, title, names[0], names[1], subtitle, height=600), -0.19, 200, 115, sizes="constant"
    )
    return figure.update_layout(margin={"r": 85})


def _subtitle(line: Mapping[str, Any], text_name: str) -> str:
    curved, straight = 100 * line["explained_variance"], 100 * line["pc1_variance"]
    low, high = (signed(edge, 1) for edge in line["range"])
    text = (
        f"The curve explains {curved:.1f} % of the slow points' variance, a straight line {straight:.1f} %. Readings "
        f"(logits) run from {low} to {high} along it.<br>Small marks are words, the large one is the end of the "
        f"{text_name}. Axes: the first two principal components (PC) of the visited states."
    )
    if line["is_line"] and line["range"][0] <= 0 <= line["range"][1]:
        return text
    if line["is_line"]:
        return (
            f"<b>The curve does not reach a logit of 0: h*, the slow point nearest to it, is at its end.</b><br>{text}"
        )
    less = "" if curved >= 90 else "Less than 90 %: "
    found = f"{less}no line attractor was found; the curve is only a guide to the eye."
    return f"<b>{found[0].upper()}{found[1:]}</b><br>{text}"


def _slow_points_name(results: Any) -> str:
    """The legend entry of the slow points, with the share of searches that ended at one if it is below 100 %."""
    counts = perhaps(results, "fixed_points") or {"n": 1, "of": 1}
    share = 100 * counts["n"] / counts["of"]
    return "slow points" if share == 100 else f"slow points ({share:.0f} % of the searches)"


def _states(figure: Figure, states: Mapping[str, Any], name: str, marker: Mapping[str, Any], column: int) -> None:
    figure.add_scatter(
        x=[at[0] for at in states["at"]],
        y=[at[1] for at in states["at"]],
        mode="markers",
        name=name,
        legendgroup=name,
        showlegend=column == 1,
        marker=dict(marker),
        hoverinfo="text",
        hovertext=[f"{name}<br>reading {signed(value)}" for value in states["logits"]],
        row=1,
        col=column,
    )


def _review(figure: Figure, review: str, record: Mapping[str, Any], column: int, name: str) -> None:
    look, dash = look_of_review(review)
    words = ["the start", *(f"word {i}, “{shown(word)}”" for i, word in enumerate(record["words"], start=1))]
    x, y = [at[0] for at in record["path"]], [at[1] for at in record["path"]]
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines+markers",
        name=name,
        legendgroup=review,
        showlegend=column == 1,
        line={"color": look.colour, "width": 2, "dash": dash},
        marker={
            "symbol": look.symbol,
            "color": look.colour,
            "size": [*[6] * (len(x) - 1), 15],
            "opacity": 1,
            "line": {"width": 1, "color": "white"},
        },
        hovertext=[
            f"{shown(review)}: “{sentence(record['words'])}”<br>{word}<br>reading {signed(value)}"
            for word, value in zip(words, record["logits"], strict=True)
        ],
        hoverinfo="text",
        customdata=["", *record["words"]],
        row=1,
        col=column,
    )


def _place(figure: Figure, at: Sequence[float], name: str, symbol: str, column: int) -> None:
    figure.add_scatter(
        x=[at[0]],
        y=[at[1]],
        mode="markers",
        name=name,
        legendgroup=name,
        showlegend=column == 1,
        marker={"symbol": symbol, "size": 11, "color": "white", "line": {"width": 2.5, "color": "black"}},
        hovertext=[name],
        hoverinfo="text",
        row=1,
        col=column,
    )


def _view(space: Mapping[str, Any], component: int) -> list[float]:
    """The range of a component that includes all reviews."""
    return padded([at[component] for record in space["reviews"].values() for at in record["path"]], 0.1)
