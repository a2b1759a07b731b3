"""Strengths of words over a training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.common.errors import RnnlensError
from rnnlens.context.known import FEW
from rnnlens.figures.style import FAINT, GREY, distinct_looks, guide, legend_below, look_of_kind, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def learning(analyses: Mapping[int, Any], words: Sequence[str] = FEW) -> Figure:
    """The strengths of words against the step of the training, with bars of two standard errors.

    analyses: by step, as in `{step: rnnlens.analyze(run.at(step)) for step in run.steps if step}`. words: those that no
    analysis measured are left out.
    """
    courses = {
        word: [(step, one.modifiers[word]) for step, one in sorted(analyses.items()) if word in one.modifiers.words]
        for word in words
    }
    courses = {word: rows for word, rows in courses.items() if rows}
    if not courses:
        raise RnnlensError("none of these words was measured in these analyses: there is nothing to draw")
    figure = panels([""])
    guide(figure, (min(analyses), max(analyses)), (0, 0), 1, {"color": GREY, "width": 1})
    looks = distinct_looks([look_of_kind(rows[-1][1]["kind"]) for rows in courses.values()])
    for (word, rows), (look, dash) in zip(courses.items(), looks, strict=True):
        figure.add_scatter(
            x=[step for step, _ in rows],
            y=[row["strength"] for _, row in rows],
            error_y={"array": [2 * row["error"] for _, row in rows], "width": 2, "thickness": 1},
            mode="lines+markers",
            name=f"“{shown(word)}”",
            line={"color": look.colour, "width": 2, "dash": dash},
            marker={"symbol": look.symbol, "size": 8, "color": look.colour},
            hovertext=[f"“{shown(word)}”, step {step:,}: {signed(row['strength'])}" for step, row in rows],
            hoverinfo="text",
        )
    figure.update_xaxes(type="log", zeroline=False)
    figure.update_yaxes(zerolinecolor=FAINT)
    figure = styled(
        figure,
        "How strengths develop while the network is trained",
        "step of the training (log scale)",
        "strength",
        "By what share a word changes the effect of the next word; bars are two standard errors.",
        height=520,
    )
    return legend_below(figure, -0.19, 150, 110)
