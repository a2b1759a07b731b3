"""§4: how long a modifier acts, by its effect on the next valence word and by the state's distance from the line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.corpora.vocab import PAD_WORD
from rnnlens.figures.stored import toy_part
from rnnlens.figures.style import FAINT, GREY, PLAIN, Look, guide, look_of, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def deflections(result: Any) -> Figure:
    """The second insight of §4, from a run's `toy.deflection`: effect (left) and distance (right) at every step after
    each modifier, over blank inputs (solid) and over neutral words (dashed); gray is the distance without a modifier.

    Bars at the top are the scopes that the language defines for its modifiers.
    """
    result = toy_part(result, "deflection")
    figure = panels(["effect on the next valence word", "distance of the state from the line"])
    steps = max((len(record["effect"]) for fills in result.values() for record in fills.values()), default=1)
    guide(figure, (-0.6, steps - 0.4), (1, 1), 1, {"color": GREY, "width": 1, "dash": "dot"})
    for place, (word, fills) in enumerate(result.items()):
        look = look_of(word, place)
        for fill, record in fills.items():
            name = f"“{shown(word)}”, then {_fill(fill)}"
            _curve(figure, record["effect"], name, look, fill, "share of the language's change", 1)
            _curve(figure, record["distance"], name, look, fill, "distance from the line", 2, legend=False)
    for fill, control in _controls(result):
        _curve(figure, control, f"no modifier, {_fill(fill)}", PLAIN, fill, "distance from the line", 2)
    effects, distances = (
        [x for fills in result.values() for record in fills.values() for x in record[key]]
        for key in ("effect", "distance")
    )
    for column, values in ((1, [0.0, 1.0, *effects]), (2, [0.0, *distances])):
        low, high = min(values), max(values)
        _scopes(figure, result, low, high, column)
        figure.update_xaxes(
            title_text="words read since the modifier",
            range=[-0.6, steps - 0.4],
            dtick=1,
            zeroline=False,
            showgrid=False,
            row=1,
            col=column,
        )
    figure.update_yaxes(zerolinecolor=FAINT, zerolinewidth=1.5)
    figure.update_yaxes(title_text="distance from the line (state space)", row=1, col=2)
    figure = styled(
        figure,
        "How long a modifier acts: its effect, and the state's distance from the line",
        "words read since the modifier",
        "share of the language's change (1 = all)",
        "Bars at the top: the words to which the language's rule applies each modifier. Both curves should stay high "
        "for as long as the bar, and then fall.",
        height=520,
    )
    return figure.update_layout(margin={"t": 110, "b": 130}, legend={"y": -0.2, "yanchor": "top", "entrywidth": 200})


def _curve(
    figure: Figure,
    values: Sequence[float],
    name: str,
    look: Look,
    fill: str,
    what: str,
    column: int,
    legend: bool = True,
) -> None:
    """Draw one curve in the modifier's look; dashes and hollow marks show neutral words instead of blank inputs."""
    blank = fill == PAD_WORD
    figure.add_scatter(
        x=list(range(len(values))),
        y=list(values),
        mode="lines+markers",
        name=name,
        legendgroup=name,
        line={"color": look.colour, "width": 2.5, "dash": "solid" if blank else "dash"},
        marker={
            "symbol": look.symbol if blank else f"{look.symbol}-open",
            "size": 8,
            "line": {"width": 2, "color": look.colour},
        },
        hovertext=[
            f"{name}<br>{step} words since the modifier<br>{what} {value:.3f}" for step, value in enumerate(values)
        ],
        hoverinfo="text",
        showlegend=legend,
        legendrank=1 if blank else 2,
        row=1,
        col=column,
    )


def _controls(result: Mapping[str, Any]) -> list[tuple[str, Sequence[float]]]:
    """Distances without a modifier, without repetitions: all modifiers start from the same state."""
    controls: list[tuple[str, Sequence[float]]] = []
    for fills in result.values():
        for fill, record in fills.items():
            if (fill, record["distance_without"]) not in controls:
                controls.append((fill, record["distance_without"]))
    return controls


def _scopes(figure: Figure, result: Mapping[str, Any], low: float, high: float, column: int) -> None:
    """Draw a bar above the curves for each modifier, over the steps at which the language applies it."""
    row = 0.075 * (high - low)
    for place, (word, fills) in enumerate(result.items()):
        look, scope = look_of(word, place), max(record["scope"] for record in fills.values())
        y = high + (1.6 + 1.25 * (len(result) - 1 - place)) * row
        figure.add_shape(
            type="rect",
            x0=-0.4,
            x1=scope - 0.6,
            y0=y - 0.35 * row,
            y1=y + 0.35 * row,
            line={"width": 0},
            fillcolor=look.colour,
            opacity=0.85,
            row=1,
            col=column,
        )
        figure.add_annotation(
            x=scope - 0.5,
            y=y,
            text=f"“{shown(word)}” applies to {scope} word{'' if scope == 1 else 's'}",
            showarrow=False,
            xanchor="left",
            font={"size": 12, "color": look.colour},
            bgcolor="white",
            borderpad=1,
            row=1,
            col=column,
        )
        figure.add_shape(
            type="line",
            x0=scope - 0.5,
            x1=scope - 0.5,
            y0=low,
            y1=y,
            layer="below",
            line={"color": look.colour, "width": 1, "dash": "dot"},
            row=1,
            col=column,
        )
    top = high + (1.6 + 1.25 * len(result)) * row
    figure.update_yaxes(range=[low - 0.8 * row, top], row=1, col=column)


def _fill(fill: str) -> str:
    return "blank inputs" if fill == PAD_WORD else f"“{shown(fill)}”"
