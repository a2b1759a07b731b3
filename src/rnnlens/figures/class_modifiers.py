"""Modifiers by class: the strength of words on the evidence of each class, as a table of colors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.figures.stored import part
from rnnlens.figures.style import BLUE, ORANGE, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

WORDS, CLASSES = 20, 30  # most rows and columns
FAR = 2.0  # strengths beyond this have the same color


@in_range("class_modifiers")
def class_modifiers(results: Any, words: int = WORDS) -> Figure:
    """The strengths of the clearest modifiers, and of a few well-known words if there is room, on all classes together
    and on each; from `classes.modifiers`."""
    import plotly.graph_objects as go

    stored = part(results, "classes", needs="only a network with three or more classes has it")
    rows = part(stored, "modifiers")[:words]
    if not rows:
        raise RnnlensError("no word modifies the evidence of the classes: there is nothing to draw")
    names = ["all classes", *stored["names"][:CLASSES]]
    strengths = [[row["strength"], *row["by_class"][:CLASSES]] for row in rows]
    errors = [[row["error"], *row["errors"][:CLASSES]] for row in rows]
    hover = [
        [
            f"“{shown(row['word'])}” on {shown(name)}: {signed(strength)} ± {error:.2f}"
            for name, strength, error in zip(names, of_row, of_errors, strict=True)
        ]
        for row, of_row, of_errors in zip(rows, strengths, errors, strict=True)
    ]
    places, labels = list(range(len(names))), list(range(len(rows)))
    figure = go.Figure(
        go.Heatmap(
            x=places,
            y=labels,
            z=strengths,
            zmin=-FAR,
            zmax=FAR,
            colorscale=[[0, ORANGE], [0.5, "white"], [1, BLUE]],
            text=[[signed(value) for value in row] for row in strengths],
            texttemplate="%{text}" if len(names) <= 12 else None,
            hovertext=hover,
            hoverinfo="text",
            colorbar={"title": {"text": "strength"}, "thickness": 12},
            xgap=1,
            ygap=1,
        )
    )
    figure = styled(
        figure,
        "What modifiers do to the evidence of each class",
        "",
        "",
        "The strength of the clearest modifiers, and of a few well-known words, on the evidence of each class:<br>"
        "−1 removes the evidence of the next word, −2 reverses it, +1 doubles it. Colors end at ±2.",
        height=160 + 26 * len(rows),
    )
    figure.update_xaxes(tickvals=places, ticktext=[shown(name) for name in names], side="top", showgrid=False)
    figure.update_yaxes(
        tickvals=labels, ticktext=[shown(row["word"]) for row in rows], autorange="reversed", showgrid=False
    )
    return figure.update_layout(margin={"l": 110, "t": figure.layout.margin.t + 30, "b": 20})
