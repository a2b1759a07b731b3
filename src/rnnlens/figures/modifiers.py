"""Fig. 3: how much words change the effect of other words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rnnlens.common.errors import RnnlensError, one_of, quoted
from rnnlens.common.ranges import in_range
from rnnlens.figures.stored import part
from rnnlens.figures.style import FAINT, GREY, INK, KINDS, legend_below, look_of_kind, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MARKED = ("not", "never", "hardly", "very", "extremely", "definitely", "the", "movie")
STRONGEST = 3  # number of strongest words that are also named
WIDTH = 790.0  # of the panel in pixels, approximately, for placing words
STEP = 0.065  # from one level of words to the next, as a share of the histogram's height
_MEASURES = {
    "norm": "change of the input Jacobian by the word, ‖J<sub>inp</sub>(h<sub>mod</sub>) − J<sub>inp</sub>(h*)‖"
    "<sub>F</sub> (log scale)",
    "strength": "|strength|: by what share the word changes the effect of the next word (log scale)",
}
_BY = {
    "norm": "the paper's norm",
    "strength": "strength",
}
_NOTES = {
    "norm": "Valence words can have large norms too: they move the state along the line.",
    "strength": "At 1 the next word counts twice, or not at all. "
    "Strongest: those whose strength ± 2 errors stays furthest from 0.",
}


@in_range("rank")
def modifiers(results: Any, measure: str = "norm") -> Figure:
    """Fig. 3, from `modifiers`: a histogram of how much words change the input Jacobian, with well-known and the
    strongest words named.

    measure: norm (the paper's), or strength, by which modifiers are chosen.
    """
    import plotly.graph_objects as go

    stored = part(results, "modifiers")
    histograms = part(results, "modifiers", "histograms")
    if measure not in histograms:
        raise RnnlensError(f"measure is {quoted(measure)}: {one_of(histograms)}")
    edges, counts = _cropped(histograms[measure]["edges"], histograms[measure]["counts"])
    figure = go.Figure()
    _histogram(figure, edges, counts)
    low, high = math.log10(edges[0]), math.log10(edges[-1])
    view = [low - 0.02 * (high - low), high + 0.12 * (high - low)]
    top = max(counts) or 1.0
    if measure == "norm":
        _threshold(figure, stored, 1.02 * top)
    top *= 1.06 + STEP * _words(figure, stored, measure, view, top)
    strongest = ", ".join(f"“{shown(word)}”" for word in _strongest(stored, measure))
    figure = styled(
        figure,
        f"How much each of {stored['of']:,} words changes the effect of other words, by {_BY.get(measure, measure)}",
        _MEASURES.get(measure, shown(measure)),
        "number of words",
        f"Gray: the number of words in each bin. Well-known words are named. Strongest: {strongest}.<br>"
        f"{_NOTES.get(measure, '')}",
        height=580,
    )
    figure.update_xaxes(
        type="log",
        range=view,
        zeroline=False,
        showgrid=False,
        tickvals=_ticks(*view),
        ticks="outside",
        tickformat="~g",
        exponentformat="none",
    )
    figure.update_yaxes(range=[0, top], zeroline=False, gridcolor="#edf2f7")
    return legend_below(figure, -0.17, 250, 110, top=4)


def _cropped(edges: Sequence[float], counts: Sequence[float]) -> tuple[list[float], list[float]]:
    """Without the empty bins before the first word."""
    first = next((i for i, count in enumerate(counts) if count), 0)
    return list(edges[first:]), list(counts[first:])


def _histogram(figure: Figure, edges: Sequence[float], counts: Sequence[float]) -> None:
    """Draw the histogram as an outline, since Plotly's bars have the wrong widths on a logarithmic axis."""
    figure.add_scatter(
        x=[edges[0], *edges],
        y=[0, *counts, 0],
        mode="lines",
        name="all words",
        fill="tozeroy",
        line={"shape": "hv", "color": GREY, "width": 1.5},
        fillcolor="rgba(160,174,192,0.35)",
        hoverinfo="skip",
    )
    middles = [math.sqrt(a * b) for a, b in pairwise(edges)]
    figure.add_scatter(  # invisible marks that carry the hover texts
        x=middles,
        y=list(counts),
        mode="markers",
        name="words in the bin",
        marker={"size": 8, "opacity": 0},
        showlegend=False,
        hoverinfo="text",
        hovertext=[
            f"{count:.0f} words<br>from {a:.3g} to {b:.3g}"
            for (a, b), count in zip(pairwise(edges), counts, strict=True)
        ],
    )


def _words(figure: Figure, stored: Mapping[str, Any], measure: str, view: Sequence[float], top: float) -> int:
    """Write the named words above the histogram, in levels that keep them apart. Returns the number of levels. From
    right to left, each word is placed above all words whose stems would cross it."""
    rows = {row["word"]: row for row in stored["words"]}
    named = [
        word for word in dict.fromkeys([*MARKED, *_strongest(stored, measure)]) if word in rows and rows[word][measure]
    ]
    named.sort(key=lambda word: -abs(rows[word][measure]))
    levels: dict[float, int] = {}  # by position in pixels
    for word in named:
        x = WIDTH * (math.log10(abs(rows[word][measure])) - view[0]) / (view[1] - view[0])
        levels[x] = max((level + 1 for other, level in levels.items() if other < x + 20 + 7.5 * len(word)), default=0)
        _word(figure, rows[word], measure, (1.06 + STEP * levels[x]) * top)
    for kind in [kind for kind in KINDS if any(rows[word]["kind"] == kind for word in named)]:
        look = look_of_kind(kind)
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=_NAMES.get(kind, kind),
            marker={"symbol": look.symbol, "color": look.colour, "size": 10},
        )
    return 1 + max(levels.values(), default=0)


def _strongest(stored: Mapping[str, Any], measure: str) -> list[str]:
    """The strongest words. The strongest by norm need not be among the words that have a row."""
    if measure == "strength":
        return [row["word"] for row in stored["words"]][:STRONGEST]
    return [word for word, _ in stored["strongest_by_norm"][:STRONGEST]]


_NAMES = {kind: f"{kind} in this network" for kind in KINDS} | {"none": "none of these"}


def _word(figure: Figure, row: Mapping[str, Any], measure: str, y: float) -> None:
    look, value = look_of_kind(row["kind"]), abs(row[measure])
    figure.add_scatter(
        x=[value, value],
        y=[0, y],
        mode="lines",
        line={"color": FAINT, "width": 1},
        hoverinfo="skip",
        showlegend=False,
        name="guide",
    )
    count = "" if row.get("count") is None else f"<br>seen {row['count']:,} times"
    figure.add_scatter(
        x=[value],
        y=[y],
        mode="markers+text",
        text=[shown(row["word"])],
        textposition="middle right",
        textfont={"color": INK, "size": 13},
        name=shown(row["word"]),
        showlegend=False,
        marker={"symbol": look.symbol, "color": look.colour, "size": 10},
        customdata=[row["word"]],
        hoverinfo="text",
        hovertext=[
            f"“{shown(row['word'])}” ({shown(row['kind'])})<br>strength {row['strength']:+.2f} ± {row['error']:.2f}<br>"
            f"‖ΔJ‖ {row['norm']:.3g}{count}"
        ],
    )


def _threshold(figure: Figure, stored: Mapping[str, Any], top: float) -> None:
    at = stored["threshold"]
    figure.add_scatter(
        x=[at, at],
        y=[0, top],
        mode="lines",
        line={"color": "black", "width": 1.5, "dash": "dash"},
        name=f"first 400 words, as in the paper: from {at:.3g} on",
        hoverinfo="name",
    )


def _ticks(low: float, high: float) -> list[float]:
    """Tick values: 1, 2 and 5 of each decade within two decades, only 1 of each decade beyond."""
    first = (1, 2, 5) if high - low < 2.2 else (1,)
    return [m * 10.0**k for k in range(math.floor(low), math.ceil(high) + 1) for m in first]
