"""Strengths of the same words in several networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rnnlens.common.display import signed
from rnnlens.common.errors import RnnlensError
from rnnlens.context.known import FEW
from rnnlens.context.shared_strengths import Pair, StrengthRow
from rnnlens.figures.axes import padded
from rnnlens.figures.names import write_names
from rnnlens.figures.style import FAINT, GREY, Look, guide, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NAMED = 12  # words of a panel whose name is written
COLUMNS = 3
HIGH, WIDE = 300.0, 880.0  # of a row of panels in pixels, for placing names


# Of the first network, the second, …, as in the page's charts.
LOOKS = (
    Look("#1a202c", "circle"), Look("#2b6cb0", "square"), Look("#c05621", "triangle-up"), Look("#009e73", "diamond"),
    Look("#762a83", "triangle-down"), Look("#cc79a7", "x"),
)  # fmt: skip


def strengths(pairs: Sequence[Pair]) -> Figure:
    """The strengths of several networks against those of the first, one panel for each pair; errors are shown on hover.

    pairs: from `rnnlens.context.shared_strengths.pair`, all with the same first network.
    """
    if not any(pair.words for pair in pairs):
        raise RnnlensError("no word is clearly a modifier in any of these networks: there is nothing to draw")
    columns = min(COLUMNS, len(pairs))
    rows = -(-len(pairs) // columns)
    figure = panels(
        [_title(pair) for pair in pairs],
        rows=rows,
        cols=columns,
        horizontal_spacing=0.07,
        vertical_spacing=0.26 / rows,
    )
    values = [one.strength for pair in pairs for _, *both in pair.words for one in both]
    view = padded([*values, -1.0, 0.5], 0.06)
    for k, pair in enumerate(pairs):
        row, column = k // columns + 1, k % columns + 1
        guide(figure, view, view, column, {"color": GREY, "width": 1, "dash": "dot"}, row)
        _words(figure, pair, LOOKS[(k + 1) % len(LOOKS)], row, column)
        _names(figure, pair, view, WIDE / columns, row, column)
        figure.update_xaxes(title=f"strength in {shown(pair.first)}", row=row, col=column)
        figure.update_yaxes(title=f"in {shown(pair.second)}", row=row, col=column)
    figure.update_xaxes(range=view, zerolinecolor=FAINT, zerolinewidth=1, gridcolor="#edf2f7")
    figure.update_yaxes(range=view, zerolinecolor=FAINT, zerolinewidth=1, gridcolor="#edf2f7")
    axes = {name: figure.layout[name].title.text for name in ("xaxis", "yaxis")}
    return styled(
        figure,
        f"Strengths of the same words, against {shown(pairs[0].first)}",
        axes["xaxis"],
        axes["yaxis"],
        "A dot is a word that is a clear modifier in at least one of the two networks; on the dotted line both have "
        "the same strength. r: correlation over all words measured in both, with its 95 % interval over words.",
        height=int(94 + 40 + rows * (HIGH + 90)),
    ).update_layout(showlegend=False, margin={"t": 94 + 34})


def _title(pair: Pair) -> str:
    """The networks of a panel, and their correlation."""
    if pair.r is None or pair.low is None or pair.high is None:
        return f"{shown(pair.second)}: {pair.n} shared words"
    low, high = (f"{value:.2f}".replace("-", "−") for value in (pair.low, pair.high))
    return f"{shown(pair.second)}: r = {f'{pair.r:.2f}'.replace('-', '−')} ({low} to {high})"


def _words(figure: Figure, pair: Pair, look: Look, row: int, column: int) -> None:
    """A dot for each word."""

    def told(name: str, one: StrengthRow) -> str:
        return f"{shown(name)}: {signed(one.strength)} ± {one.error:.2f}"

    figure.add_scatter(
        x=[first.strength for _, first, _ in pair.words],
        y=[second.strength for _, _, second in pair.words],
        mode="markers",
        name=shown(pair.second),
        marker={"color": look.colour, "symbol": look.symbol, "size": 6, "opacity": 0.6},
        hovertext=[
            f"“{shown(word)}”<br>{told(pair.first, first)}<br>{told(pair.second, second)}"
            for word, first, second in pair.words
        ],
        hoverinfo="text",
        customdata=[word for word, _, _ in pair.words],
        row=row,
        col=column,
    )


def _names(figure: Figure, pair: Pair, view: Sequence[float], wide: float, row: int, column: int) -> None:
    """Names of well-known words, and of the strongest, where they fit."""
    words = [word for word, _, _ in pair.words]
    at = [(first.strength, second.strength) for _, first, second in pair.words]
    known = [words.index(word) for word in FEW if word in words]
    order = list(dict.fromkeys([*known, *range(len(words))]))[: 3 * NAMED]
    write_names(figure, words, at, order, (view, view), (wide - 60, HIGH), NAMED, letter=6.5, row=row, col=column)
