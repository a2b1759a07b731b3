"""Supp. A.4: how much of a modifier's effect remains when linear modes are removed."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.figures.modes import room, unit_name, value_text
from rnnlens.figures.stored import toy_part
from rnnlens.figures.style import FAINT, GREY, INK, guide, look_of, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


FEW = 0.2  # of an effect: a guide is drawn where only this share remains


def mode_removal(result: Any, what: str = "state", kind: str = "orthogonal") -> Figure:
    """How much of a modifier's effect remains as modes are removed (Supp. A.4, §4), from a run's `toy.mode_removal`.

    what: where modes are removed, `state` or `input` (of the valence word). kind: `orthogonal` or `biorthogonal`.
    Colored: the paper's order (solid) and the greedy order (dashed). Controls: random units (gray, with the middle half
    of the draws) and modes of rotated copies of the network in greedy order (black, dotted).
    """
    result = toy_part(result, "mode_removal")
    figure = panels([_phrase(word, removals) for word, removals in result.items()])
    top = 1.12
    for column, (word, removals) in enumerate(result.items(), start=1):
        single, greedy = (_variant(removals, what, kind, order) for order in ("single", "greedy"))
        top = max(top, *(1.05 * left for removal in (single, greedy) for left in removal["remaining"]))
        top = max(top, *(1.05 * left for left in _quartile(single["random_remaining"], 3)))
        guide(figure, (0, len(single["units"])), (FEW, FEW), column, _LEGEND[_DESTROYED]["line"])
        _control(figure, single["random_remaining"], greedy["rotated_remaining"], column)
        colour = look_of(word, column - 1).colour
        for removal, dash, symbol, size in ((greedy, "dash", "diamond", 11), (single, "solid", "circle", 7)):
            figure.add_scatter(
                x=list(range(len(removal["remaining"]))),
                y=list(removal["remaining"]),
                mode="lines+markers",
                name=f"“{shown(word)}”, {shown(removal['order'])}",
                showlegend=False,
                hovertext=_removed(removal),
                hoverinfo="text",
                line={"color": colour, "width": 2.5, "dash": dash},
                marker={"symbol": symbol, "size": size, "line": {"width": 1, "color": "white"}},
                cliponaxis=False,
                row=1,
                col=column,
            )
        figure.update_xaxes(title_text="units removed", dtick=1, showgrid=False, zeroline=False, row=1, col=column)
    for name, look in _LEGEND.items():
        figure.add_scatter(x=[None], y=[None], name=name, **look, row=1, col=1)
    figure.update_yaxes(range=[0, top], zerolinecolor=FAINT, zerolinewidth=1)
    figure = styled(
        figure,
        "How many modes carry a modifier",
        "units removed",
        "share of its effect that remains",
        f"Modes are removed from {_WHAT.get(what, what)} ({kind} removal); a unit is a real mode or a conjugate pair. "
        "1: the modifier<br>acts as without removal, 0: the words act as if there were no modifier.",
        height=560,
    )
    return room(figure).update_layout(legend={"entrywidth": 340}, margin={"b": 125})


_WHAT = {"state": "the state after the modifier", "input": "what the valence word adds to the state"}
_DESTROYED = f"{100 * (1 - FEW):.0f} % of the effect destroyed"
_BAND = "rgba(113,128,150,0.25)"


_LEGEND: dict[str, dict[str, Any]] = {  # without colors, which stand for the modifiers
    "by effect when removed alone (the paper's order)": {
        "mode": "lines+markers", "line": {"color": INK, "width": 2.5}, "marker": {"symbol": "circle", "size": 9},
    },
    "greedy: next the unit that leaves least": {
        "mode": "lines+markers", "line": {"color": INK, "width": 2.5, "dash": "dash"},
        "marker": {"symbol": "diamond", "size": 9},
    },
    "random units: median, and middle half of the draws": {
        "mode": "lines", "line": {"color": GREY, "width": 2}, "fill": "tozeroy", "fillcolor": _BAND,
    },
    "modes of rotated networks (greedy): median": {
        "mode": "lines+markers", "line": {"color": "#000000", "width": 1.5, "dash": "dot"},
        "marker": {"symbol": "x-thin-open", "size": 7},
    },
    _DESTROYED: {"mode": "lines", "line": {"color": GREY, "width": 1.5, "dash": "dash"}},
}  # fmt: skip


def _phrase(word: str, removals: Mapping[str, Any]) -> str:
    neutral = removals["neutral"]
    between = f" {neutral} neutral word{'s' if neutral > 1 else ''}," if neutral else ""
    return f"“{shown(word)}”,{between} then a valence word"


def _control(figure: Figure, units: Sequence[Sequence[float]], rotated: Sequence[Sequence[float]], column: int) -> None:
    """Draw the medians of both controls, and the middle half of the random units."""
    steps = list(range(len(units[0])))
    band = [_quartile(units, 1), _quartile(units, 3)]
    figure.add_scatter(
        x=[*steps, *reversed(steps)],
        y=[*band[0], *reversed(band[1])],
        fill="toself",
        fillcolor=_BAND,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        name="random units, middle half",
        row=1,
        col=column,
    )
    for (name, look), draws in zip(list(_LEGEND.items())[2:4], (units, rotated), strict=True):
        middle = _quartile(draws, 2)
        figure.add_scatter(
            x=list(range(len(middle))),
            y=middle,
            name=name,
            mode=look["mode"],
            line=look["line"],
            marker=look.get("marker"),
            showlegend=False,
            hoverinfo="text",
            row=1,
            col=column,
            hovertext=[f"{name}<br>{k} removed: {left:.3f} left ({len(draws)} draws)" for k, left in enumerate(middle)],
        )


def _quartile(draws: Sequence[Sequence[float]], which: int) -> list[float]:
    """A quartile over draws, at each step."""
    return [
        statistics.quantiles([*step, *step[: len(step) == 1]], n=4, method="inclusive")[which - 1]
        for step in zip(*draws, strict=True)
    ]


def _variant(removals: Mapping[str, Any], what: str, kind: str, order: str) -> Mapping[str, Any]:
    name = f"{what}_{kind}_{order}"
    if name not in removals:
        stored = ", ".join(key for key, value in removals.items() if isinstance(value, Mapping))
        raise RnnlensError(f"no mode removal {quoted(name)} is stored: expected one of {stored}")
    return removals[name]


def _removed(removal: Mapping[str, Any]) -> list[str]:
    """The hover text of each step: the unit removed last, and the share of the effect that remains."""
    last = ["nothing removed"]
    for k, (unit, value) in enumerate(zip(removal["units"], removal["eigenvalues"], strict=True), start=1):
        last.append(f"{k} removed, last {unit_name(unit)}<br>λ = {value_text(value, len(unit) > 1, 3)}")
    return [f"{text}<br>{left:.3f} left" for text, left in zip(last, removal["remaining"], strict=True)]
