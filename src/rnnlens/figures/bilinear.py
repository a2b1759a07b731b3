"""§8: how much of the change of the input Jacobian a bilinear model with few terms explains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rnnlens.figures.stored import part
from rnnlens.figures.style import COMPONENTS, FAINT, GREY, INK, legend_below, panels, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PAPER = (83, 96, 98)  # %, with 1, 2 and 3 terms
_CURVES = {
    "bound": ("upper bound with this many terms", GREY, "dot", "line-ew-open"),
    "explained_variance": ("words it was fitted to", COMPONENTS[0].colour, "solid", "circle"),
    "held_out": ("held-out words (not used in the fit)", INK, "dash", "diamond-open"),
}


def bilinear(results: Any) -> Figure:
    """§8, from `bilinear`: the share of ‖ΔJ_inp‖² that the bilinear model explains with 1, 2, … terms, for the words
    it was fitted to and for held-out words, below the bound given by an SVD; on the right, if stored, for the words
    with the largest strengths."""
    stored = part(results, "bilinear")
    fits = {f"{stored['n']:,} modifiers": stored}
    if "by_strength" in stored:
        by_strength = stored["by_strength"]
        fits = {
            f"{stored['n']:,} words of largest ‖ΔJ<sub>inp</sub>‖": stored,
            f"{by_strength['n']:,} words of largest strength": by_strength,
        }
    figure = panels(list(fits), shared_yaxes=True, horizontal_spacing=0.04)
    lowest = 0.0
    for column, fit in enumerate(fits.values(), start=1):
        lowest = min(lowest, *(100 * share for key in _CURVES for share in fit[key]))
        _curves(figure, fit, column)
    _paper(figure)
    first = ", ".join(f"{100 * share:.0f}" for share in stored["explained_variance"][:3])
    figure.update_xaxes(title_text="terms P", dtick=1, zeroline=False, showgrid=False)
    figure.update_yaxes(range=[1.05 * lowest, 104], zerolinecolor=FAINT, gridcolor="#edf2f7")
    figure = styled(
        figure,
        "How much of the modifiers' effect a few bilinear terms explain",
        "terms P",
        "share of ‖ΔJ<sub>inp</sub>‖² explained (%)",
        f"Each term is a direction of the state times a matrix that changes the effect of all words. Here 1, 2, 3 "
        f"terms explain {first} %<br>over {stored['n']:,} words. Where held-out words fall below the fitted ones, "
        "the model has learned single words, not a rule.",
        height=520,
    )
    return legend_below(figure, -0.18, 290, 110)


def _curves(figure: Figure, fit: Mapping[str, Any], column: int) -> None:
    for key, (name, colour, dash, symbol) in _CURVES.items():
        values = [100 * share for share in fit[key]]
        figure.add_scatter(
            x=list(range(1, len(values) + 1)),
            y=values,
            mode="lines+markers",
            name=name,
            legendgroup=key,
            showlegend=column == 1,
            line={"color": colour, "width": 2.5, "dash": dash},
            marker={"symbol": symbol, "size": 9, "line": {"width": 2, "color": colour}},
            hovertext=[f"{name}<br>{p} term{'s' if p > 1 else ''}: {value:.1f} %" for p, value in enumerate(values, 1)],
            hoverinfo="text",
            row=1,
            col=column,
        )


def _paper(figure: Figure) -> None:
    """The paper chose its words by ‖ΔJ_inp‖, as the first panel does."""
    figure.add_scatter(
        x=[1, 2, 3],
        y=list(PAPER),
        mode="markers",
        name="the paper's network (GRU, Yelp)",
        marker={"symbol": "x-thin", "size": 9, "line": {"width": 1.5, "color": INK}},
        hovertext=[f"the paper's network<br>{p} term{'s' if p > 1 else ''}: {v} %" for p, v in enumerate(PAPER, 1)],
        hoverinfo="text",
        row=1,
        col=1,
    )
