"""Supp. A.3: the effect of each word after each modifier, by the full update and by the linear expansion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.figures.stored import toy_part
from rnnlens.figures.style import INK, PLAIN, Look, look_of, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

GAP = 0.7  # between contexts, in rows
APART = 0.17  # half the distance between the two lines of a row


def linear_quality(result: Any) -> Figure:
    """The figure of Supp. A.3, from a run's `toy.linear_quality`: a row for every context and valence word, the full
    effect on the reading as a solid line with a filled mark, the linear one below it, dashed and hollow."""
    result = toy_part(result, "linear_quality")
    import plotly.graph_objects as go

    figure = go.Figure()
    rows: dict[float, str] = {}
    for i, context in enumerate(result["contexts"]):
        look = _look(result, context)
        at = [i * (len(result["words"]) + GAP) + j for j in range(len(result["words"]))]
        labels = [f"{context} {word}".strip() for word in result["words"]]
        rows |= dict(zip(at, map(shown, labels), strict=True))
        hover = [
            f"“{shown(label)}”<br>full {signed(full, 3)}<br>linear {signed(linear, 3)}"
            for label, full, linear in zip(labels, result["full"][i], result["linear"][i], strict=True)
        ]
        for key, offset, dash in (("full", -APART, "solid"), ("linear", APART, "dot")):
            _stems(figure, result[key][i], [y + offset for y in at], look, dash, hover)
    for name, dash in (("full update", "solid"), ("linear expansion", "dot")):  # in any color
        figure.add_scatter(x=[None], y=[None], mode="lines+markers", name=name, **_drawn(Look(INK, "circle"), dash))
    figure.add_vline(x=0, line={"color": "#4a5568", "width": 1})
    figure = styled(
        figure,
        "What a word adds to the reading, by the full update and by the linear expansion",
        "effect on the reading (logit)",
        "",
        f"Agreement 1 − Σ|linear − full| / Σ|full|: <b>{result['agreement']:.3f}</b> (1 is exact). "
        f"The paper's mean |linear / full|: <b>{result['ratio']:.3f}</b> (paper: 0.918).",
        height=210 + round(22 * (max(rows, default=0) + 1)),
    )
    figure.update_yaxes(
        tickvals=list(rows),
        ticktext=list(rows.values()),
        range=[max(rows, default=0) + 0.8, -0.8],
        showgrid=False,
        zeroline=False,
        ticks="outside",
        ticklen=4,
        tickcolor="white",
        automargin=True,
    )
    figure.update_xaxes(zeroline=False, gridcolor="#edf2f7")
    return figure.update_layout(
        margin={"t": 115, "b": 60}, legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}
    )


def _stems(figure: Figure, effects: list[float], at: list[float], look: Look, dash: str, hover: list[str]) -> None:
    """Draw a line from 0 to each effect, with a mark at its end."""
    drawn = _drawn(look, dash)
    figure.add_scatter(
        x=[x for effect in effects for x in (0, effect, None)],
        y=[y for row in at for y in (row, row, None)],
        mode="lines",
        line=drawn["line"],
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_scatter(
        x=list(effects),
        y=at,
        mode="markers",
        marker=drawn["marker"],
        hovertext=hover,
        hoverinfo="text",
        showlegend=False,
    )


def _drawn(look: Look, dash: str) -> dict[str, Any]:
    solid = dash == "solid"
    return {
        "line": {"color": look.colour, "width": 3 if solid else 2, "dash": dash},
        "marker": {
            "symbol": "circle",
            "size": 8,
            "color": look.colour if solid else "white",
            "line": {"color": look.colour, "width": 2},
        },
    }


def _look(result: Mapping[str, Any], context: str) -> Look:
    """The look of the modifier that the context starts with; the empty context has the plain look."""
    modifiers = list(dict.fromkeys(c.split()[0] for c in result["contexts"] if c))
    return look_of(context.split()[0], modifiers.index(context.split()[0])) if context else PLAIN
