"""Strengths of words in a network against those in people's judgment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.figures.axes import padded
from rnnlens.figures.labels import Pixel
from rnnlens.figures.names import write_names
from rnnlens.figures.stored import part
from rnnlens.figures.style import BLUE, FAINT, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NAMED = 60
PANEL = (800.0, 470.0)  # approximate size in pixels, for placing the names
FIRST = ("not", "never", "no", "hardly", "without", "less", "very", "extremely", "truly", "the")


def agreement(results: Any, network: str | None = None) -> Figure:
    """From `rnnlens.agreement(…).to_dict()`: a dot for each word that people judged in enough phrases. The size of a
    dot grows with the number of phrases; names are written where they fit.

    network: the name of the network; by default the last one, which is the consensus if there are several.
    """
    import plotly.graph_objects as go

    needs = "`rnnlens.agreement(…).to_dict()` has it"
    name = network or list(part(results, "networks", needs=needs))[-1]
    correlations = part(results, "networks", name, "strength", needs=needs)
    rows = [row for row in part(results, "words", needs=needs) if name in row["strength"]]
    at = [(row["people"], row["strength"][name]) for row in rows]
    figure = go.Figure()
    figure.add_scatter(
        x=[x for x, _ in at],
        y=[y for _, y in at],
        mode="markers",
        name="words",
        showlegend=False,
        marker={"color": BLUE, "opacity": 0.5, "size": [min(22.0, 3 + 0.6 * row["phrases"] ** 0.5) for row in rows]},
        hovertext=[
            f"“{shown(row['word'])}”<br>people: {signed(x)} ({row['phrases']} phrases)<br>network: {signed(y)}"
            for row, (x, y) in zip(rows, at, strict=True)
        ],
        hoverinfo="text",
        customdata=[row["word"] for row in rows],
    )
    view = [padded([point[i] for point in at] or [-1.0, 1.0], 0.06) for i in (0, 1)]
    write_names(figure, [row["word"] for row in rows], at, _order(rows, at), view, PANEL, NAMED)
    least = next(iter(correlations))
    figure = styled(
        figure,
        f"How strongly words modify: people and {shown(name)}",
        "strength in people's judgment",
        "strength in the network",
        f"{len(rows)} words that people have judged before at least {least} phrases. "
        f"{_correlation_text(correlations[least])}<br>−1 removes the valence of the next words, "
        "−2 reverses it, +1 doubles it. People's scale is bounded, so intensifiers stay near 0.",
        height=680,
    )
    figure.update_xaxes(range=view[0], zerolinecolor=FAINT, gridcolor="#edf2f7")
    return figure.update_yaxes(range=view[1], zerolinecolor=FAINT, gridcolor="#edf2f7")


def _correlation_text(correlations: Any) -> str:
    texts = [
        f"{correlations[split]['r']:.2f} on {split} sentences"
        + (f" (at most {correlations[split]['ceiling']:.2f})" if correlations[split]["ceiling"] is not None else "")
        for split in ("even", "all")
        if correlations[split]["r"] is not None
    ]
    return f"r = {', '.join(texts)}." if texts else "Too few words for a correlation."


def _order(rows: list[Any], at: list[Pixel]) -> list[int]:
    """The order in which words are named: well-known modifiers, then the words furthest from the mean."""
    words = [row["word"] for row in rows]
    known = [words.index(word) for word in FIRST if word in words]
    middles = [sum(point[i] for point in at) / max(1, len(at)) for i in (0, 1)]
    far = sorted(range(len(at)), key=lambda i: -sum(abs(at[i][k] - middles[k]) for k in (0, 1)))
    return list(dict.fromkeys([*known, *far]))
