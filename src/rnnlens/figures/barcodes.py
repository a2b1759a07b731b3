"""Figs. 5 and 8, Supp. D: how a modifier, or a component of the modifier subspace, changes valence words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.common.errors import RnnlensError
from rnnlens.figures.stored import among, part, side_names
from rnnlens.figures.style import GREY, INK, Look, guide, look_of_component, look_of_kind, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

WORDS = ("the", "extremely", "not")
LONGEST = 14  # letters in the name of a side: "negative words"
GAP = 0.06  # between the words of the two sides, as a share of their number


@dataclass(frozen=True)
class ProbeWords:
    """The probe words of the two sides, in the order of every barcode, and what they are called, as markup."""

    sides: tuple[list[str], list[str]]
    names: tuple[str, str]

    def __getitem__(self, side: int) -> list[str]:
        return self.sides[side]

    def said(self) -> str:
        """How many there are of each side. Names that are too long for the axis of a panel are those of their marks,
        which the legend has."""
        long = any(len(unescape(name)) > LONGEST for name in self.names)
        names = ("words ▲", "words ▼") if long else self.names
        above, below = (f"{len(words)} {name}" for words, name in zip(self.sides, names, strict=True))
        return f"left: {above}, right: {below}"


def barcodes(results: Any, words: str | Sequence[str] = WORDS) -> Figure:
    """Fig. 5, from `barcodes`: a row for each word, and in it a point for each probe word that follows it. Positive
    probe words are on the left, negative ones on the right; dashed lines are their means."""
    stored, probes = part(results, "barcodes"), probe_words(results)
    chosen = among(stored, words, WORDS, "barcode")
    figure = panels([""] * len(chosen), stacked=True, vertical_spacing=0.28 / max(2, len(chosen) + 1))
    for row, word in enumerate(chosen, start=1):
        draw_barcode(figure, stored[word], probes, look_of_kind(stored[word]["kind"]), shown(word), row=row)
        figure.add_annotation(
            x=0,
            xref="x domain",
            xanchor="left",
            y=1,
            yref=f"y{row if row > 1 else ''} domain",
            yanchor="bottom",
            text=f"<b>“{shown(word)}”</b>: {kind_text(stored[word])}",
            showarrow=False,
            font={"size": 14, "color": INK},
        )
    same_scale(figure, [stored[word] for word in chosen], probes)
    figure.update_xaxes(title_text=f"{probes.said()}, each from strong to weak", row=len(chosen), col=1)
    figure.update_yaxes(title_text="change of the logit")
    figure = styled(
        figure,
        "How a word changes the valence words after it",
        probes.said() if len(chosen) == 1 else "",
        "change of the logit",
        "A point is a valence word: how much more (above 0) or less it adds to the logit after the word than without "
        "it.<br>Up on the left and down on the right: valence counts more. The reverse: it counts less or is reversed.",
        height=170 + 165 * len(chosen),
    )
    return figure.update_layout(
        margin={"t": figure.layout.margin.t + 22, "b": 90, "l": 75},
        showlegend=True,
        legend={"y": -0.24 / max(1, len(chosen)) - 0.04, "yanchor": "top"},
    )


def component_barcodes(results: Any) -> Figure:
    """Fig. 8 and Supp. D, from `component_barcodes`: the barcode of each component of the modifier subspace. h* is
    moved along the component by one standard deviation of the modifiers."""
    stored, probes = part(results, "component_barcodes"), probe_words(results)
    if not stored:
        raise RnnlensError("these results have no component in 'component_barcodes': the modifier subspace is empty")
    stored = stored[:10]
    shares = part(results, "subspace", "explained_variance")
    rows = (len(stored) + 1) // 2
    titles = [
        f"component {p} ({100 * share:.1f} % of variance): {signed(100 * barcode['share'], 0)} % of valence"
        for p, (barcode, share) in enumerate(zip(stored, shares, strict=False), start=1)
    ]
    figure = panels(
        titles,
        rows=rows,
        cols=min(2, len(stored)),
        shared_xaxes=True,
        shared_yaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=0.3 / (rows + 1),
    )
    for p, barcode in enumerate(stored):
        row, column = p // 2 + 1, p % 2 + 1
        draw_barcode(figure, barcode, probes, look_of_component(p)[0], f"component {p + 1}", row, column, legend=p == 0)
        _name_extremes(figure, barcode, probes, row, column)
    same_scale(figure, stored, probes, room=1.35)
    for column in (1, 2)[: len(stored)]:
        figure.update_xaxes(
            title_text=probes.said(),
            showticklabels=False,
            row=rows if column <= len(stored) - 2 * (rows - 1) else rows - 1,
            col=column,
        )
    figure.update_yaxes(title_text="change of the logit", col=1)
    figure = styled(
        figure,
        "How each component of the modifier subspace changes valence words",
        probes.said() if rows == 1 else "",
        "change of the logit",
        "h* is moved along a component by one standard deviation of the modifiers; a point is a valence word, and how "
        "much more or less<br>it then adds to the logit. All panels have one scale. Named: the words that each "
        "component changes most.",
        height=190 + 155 * rows,
    )
    figure.update_annotations(font_size=13, selector={"yanchor": "bottom", "xref": "paper"})
    return figure.update_layout(
        margin={"t": figure.layout.margin.t + 26, "b": 90, "l": 75}, legend={"y": -60 / (155 * rows), "yanchor": "top"}
    )


# --- drawing one ------------------------------------------------------------------------------------------------------


def probe_words(results: Any) -> ProbeWords:
    """The probe words of the results, and the names of their sides."""
    above, below = (shown(name) for name in side_names(results).words)
    return ProbeWords((part(results, "probes", "positive"), part(results, "probes", "negative")), (above, below))


def kind_text(barcode: Mapping[str, Any]) -> str:
    """The kind of a word, and by how much it changes valence."""
    kind = "no clear modifier" if barcode["kind"] == "none" else shown(barcode["kind"])
    return f"{kind}, changes valence by {signed(100 * barcode['share'], 0)} %"


def draw_barcode(
    figure: Figure,
    barcode: Mapping[str, Any],
    probes: ProbeWords,
    look: Look,
    name: str,
    row: int = 1,
    column: int = 1,
    legend: bool | None = None,
) -> None:
    """Draw points for all probe words, and the mean of each side. name: as markup."""
    legend = row == column == 1 if legend is None else legend
    places = _places(probes)
    guide(figure, (0, places[1][-1] + 1), (0, 0), column, {"color": GREY, "width": 1}, row)
    for side, words, called, at, symbol in zip(
        ("positive", "negative"), probes.sides, probes.names, places, ("triangle-up", "triangle-down"), strict=True
    ):
        figure.add_scatter(
            x=at,
            y=list(barcode[side]),
            mode="markers",
            name=name,
            showlegend=False,
            marker={"symbol": symbol, "size": 6, "color": look.colour, "opacity": 0.75},
            hovertext=[
                f"{name}, then “{shown(word)}” ({called})<br>changes the logit by {signed(value, 3)}"
                for word, value in zip(words, barcode[side], strict=True)
            ],
            hoverinfo="text",
            customdata=list(words),
            row=row,
            col=column,
        )
        mean = barcode[f"mean_{side}"]
        figure.add_scatter(
            x=[at[0], at[-1]],
            y=[mean, mean],
            mode="lines",
            name="mean of the words",
            legendgroup="mean",
            line={"color": "black", "width": 2, "dash": "dash"},
            showlegend=legend and side == "positive",
            hovertext=[f"mean over {called}: {signed(mean, 3)}"] * 2,
            hoverinfo="text",
            row=row,
            col=column,
        )
        if legend:
            figure.add_scatter(
                x=[None],
                y=[None],
                mode="markers",
                name=called,
                row=row,
                col=column,
                legendrank=1 if side == "positive" else 2,
                marker={"symbol": symbol, "size": 9, "color": GREY},
            )


def same_scale(figure: Figure, drawn: Sequence[Mapping[str, Any]], probes: ProbeWords, room: float = 1.12) -> None:
    """Give all panels one scale with 0 in the middle, so that small changes look small."""
    reach = room * max(abs(value) for barcode in drawn for side in ("positive", "negative") for value in barcode[side])
    places = _places(probes)
    figure.update_yaxes(range=[-(reach or 1.0), reach or 1.0], zeroline=False, gridcolor="#edf2f7")
    figure.update_xaxes(
        range=[-1, places[1][-1] + 2], showgrid=False, zeroline=False, tickvals=[], showticklabels=False
    )


def _places(probes: ProbeWords) -> tuple[list[float], list[float]]:
    n, m = len(probes[0]), len(probes[1])
    start = n + GAP * (n + m)
    return [1.0 + i for i in range(n)], [start + 1 + i for i in range(m)]


def _name_extremes(figure: Figure, barcode: Mapping[str, Any], probes: ProbeWords, row: int, column: int) -> None:
    """Name the word of each side that is changed most."""
    for side, words, at in zip(("positive", "negative"), probes.sides, _places(probes), strict=True):
        i = max(range(len(words)), key=lambda i: abs(barcode[side][i]))
        value = barcode[side][i]
        right = i > len(words) / 2
        figure.add_annotation(
            x=at[i],
            y=value,
            text=shown(words[i]),
            showarrow=False,
            xanchor="right" if right else "left",
            xshift=-2 if right else 2,
            yshift=9 if value > 0 else -9,
            font={"size": 11, "color": INK},
            row=row,
            col=column,
        )
