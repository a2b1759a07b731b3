"""Fig. 1b: the logit after every word, a line for each sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.sides import TWO_SIDES, Sides
from rnnlens.corpora.vocab import PAD_WORD
from rnnlens.figures.style import COLOURS, DASHES, SYMBOLS, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def reading(
    sentences: Mapping[str, Sequence[tuple[str, float]]],
    title: str = "The reading after each word",
    sides: Sides = TWO_SIDES,
) -> Figure:
    """Draw the logit after each word. sentences: by name, each as `network.read` returns it: (word, logit after it).

    Lines differ in color, dash and marker. A `<pad>` has no label. sides: the names of the logit's two sides.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    for i, (name, words) in enumerate(sentences.items()):
        if words and isinstance(words[0][1], dict):
            raise RnnlensError(
                f"{quoted(name)} was read with {len(words[0][1])} classes: expected one logit after each word; read it "
                "with network.of_class(…)"
            )
        look = i % len(COLOURS)
        # Words are escaped, since Plotly interprets <b> and the like as markup.
        labels = [shown(word) if word != PAD_WORD else "" for word, _ in words]
        figure.add_scatter(
            x=list(range(1, len(words) + 1)),
            y=[logit for _, logit in words],
            text=labels,
            name=shown(name),
            mode="lines+markers+text",
            textposition="top center" if i % 2 == 0 else "bottom center",
            textfont={"color": COLOURS[look], "size": 12},
            line={"color": COLOURS[look], "dash": DASHES[look], "width": 2.5},
            marker={"symbol": SYMBOLS[look], "size": 8},
            hovertemplate="%{text}<br>word %{x}<br>logit %{y:.2f}<extra>" + shown(name) + "</extra>",
        )
    figure.add_hline(y=0, line={"color": "#cbd5e0", "width": 1})
    return styled(figure, shown(title), "word", f"logit ({shown(sides.above)} above 0)")
