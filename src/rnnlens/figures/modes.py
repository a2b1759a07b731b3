"""Supp. A.2 and A.4: the linear modes near each modifier's state, which ones it excites, and which ones carry it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.errors import RnnlensError, quoted
from rnnlens.figures.style import FAINT, INK, look_of, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DESTROYED = 0.2  # with no more than this left, four fifths of an effect are destroyed
BULK = "#a0aec0"
Values = Sequence[float]


def spectra(result: Mapping[str, Any]) -> Figure:
    """The eigenvalues of J_rec at the slow point nearest to each h_mod (Supp. A.2), from a run's `toy.modes`.

    Coloured: the mode, or conjugate pair, whose left eigenvector the deflection is most aligned with.
    """
    figure = panels([_title(word, place, "") for place, word in enumerate(result)])
    for place, (word, found) in enumerate(result.items()):
        column, look = place + 1, look_of(word, place)
        values, special = found["eigenvalues"], {*found["aligned"], found["integration"]}
        _circles(figure, column)
        for name, chosen, marker in (
            ("other modes", [a for a in range(len(values)) if a not in special],
             {"symbol": "circle", "size": 7, "color": BULK, "opacity": 0.8, "line": {"width": 1, "color": "white"}}),
            ("integration mode", [found["integration"]],
             {"symbol": "star", "size": 15, "color": INK, "line": {"width": 1, "color": "white"}}),
            (f"most aligned with “{shown(word)}”", [a for a in found["aligned"]],
             {"symbol": look.symbol, "size": 11, "color": look.colour, "line": {"width": 1, "color": "white"}}),
        ):  # fmt: skip
            figure.add_scatter(
                x=[values[a][0] for a in chosen], y=[values[a][1] for a in chosen], mode="markers", marker=marker,
                name=name, legendgroup=name, showlegend=place == 0 or column == 1 or "“" in name, hoverinfo="text",
                hovertext=[_mode(f"mode {a}", values[a], found["timescales"][a]) for a in chosen], row=1, col=column,
            )  # fmt: skip
    return figure


def mode_angles(result: Mapping[str, Any]) -> Figure:
    return panels(["a"])


def mode_removal(result: Mapping[str, Any], what: str = "state", kind: str = "biorthogonal") -> Figure:
    return panels(["a"])


def _title(*a: Any) -> str:
    return ""


def _mode(*a: Any) -> str:
    return ""


def _circles(*a: Any) -> None: ...
