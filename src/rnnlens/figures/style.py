"""The look that all figures share, and how to save one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import atomic_file
from rnnlens.common.ranges import in_range
from rnnlens.common.replacing import check_output
from rnnlens.figures.pictures import html, marked, picture

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# The paper's colors: gray for plain words, blue for intensifiers, orange for negators; then others that colorblind
# readers can distinguish (Okabe and Ito).
GREY, BLUE, ORANGE = "#718096", "#2b6cb0", "#c05621"
COLOURS = (GREY, BLUE, ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid", "dash")
SYMBOLS = ("circle", "triangle-up", "triangle-down", "square", "diamond", "x", "cross", "star")
INK, FAINT = "#1a202c", "#cbd5e0"  # for text and for guides to the eye


class Look(NamedTuple):
    """How a modifier looks in every figure."""

    colour: str
    symbol: str


PLAIN = Look(GREY, "circle")  # no modifier
_LOOKS = {"extremely": Look(BLUE, "square"), "not": Look(ORANGE, "diamond")}
KINDS = {  # kinds of words in a network
    "negator": Look(ORANGE, "diamond"),
    "intensifier": Look(BLUE, "square"),
    "diminisher": Look("#009e73", "triangle-down"),
    "valence": Look("#b8860b", "cross"),
    "none": PLAIN,
    "unclear": Look(GREY, "circle-open"),
}
MODIFIERS = ("negator", "intensifier", "diminisher")
# Components of the modifier subspace: purple and pink, as in the paper, then dark gray.
COMPONENTS = (Look("#762a83", "circle"), Look("#cc79a7", "triangle-up"), Look("#4a5568", "star"))


def look_of(word: str, place: int = 0) -> Look:
    """The look of a modifier: “extremely” is blue, “not” orange; other words get a look by their place."""
    others = tuple(zip(COLOURS[3:], SYMBOLS[3:], strict=True))
    return _LOOKS.get(word) or Look(*others[place % len(others)])


def look_of_kind(kind: str) -> Look:
    """The look of a kind of word; an unknown kind has the look of `none`."""
    return KINDS.get(kind, PLAIN)


def distinct_looks(looks: Sequence[Look]) -> list[tuple[Look, str]]:
    """The looks with a dash for each. If looks repeat, the second and later ones have hollow marks."""
    distinct: list[tuple[Look, str]] = []
    for place, look in enumerate(looks):
        seen = look in looks[:place]
        hollow = Look(look.colour, f"{look.symbol.removesuffix('-open')}-open")
        distinct.append((hollow if seen else look, DASHES[place % len(DASHES)]))
    return distinct


def look_of_component(place: int) -> tuple[Look, str]:
    """The look and dash of the modifier subspace's components, from 0."""
    return COMPONENTS[min(place, len(COMPONENTS) - 1)], DASHES[place % len(DASHES)]


# Control characters, which no svg file may hold; marks that turn the direction of text; half characters.
_UNDRAWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def shown(text: str) -> str:
    """Text as Plotly writes it: <b> and the like would be markup, %{x} a template and $x$ a formula. Characters that
    cannot be drawn are spelled out. (Plotly has no entity for quotes.)"""
    return escape(_spelled_out(text), quote=False).replace("%{", "%&#123;").replace("$", "&#36;")


def shown_in_space(text: str) -> str:
    """The same for text in three dimensions, where Plotly has no entities: an invisible character breaks its tags."""
    return " ".join(_spelled_out(text).split()).replace("<", "<\u200b")


def _spelled_out(text: str) -> str:
    return _UNDRAWN.sub(lambda found: ascii(found[0])[1:-1], str(text))


def panels(titles: Sequence[str], stacked: bool = False, **how: Any) -> Figure:
    """An empty figure with panels side by side, or stacked and sharing their x axis; titles are markup.

    how: further arguments of `make_subplots`: rows and cols for a grid, shared_yaxes, spacings …
    """
    from plotly.subplots import make_subplots

    usual = {
        "rows": len(titles) if stacked else 1,
        "cols": 1 if stacked else len(titles),
        "shared_xaxes": stacked,
        "horizontal_spacing": 0.1,
        "vertical_spacing": 0.07,
    }
    figure = make_subplots(subplot_titles=list(titles), **{**usual, **how})
    return figure.update_annotations(font={"size": 14, "color": INK})


def guide(
    figure: Figure, x: Sequence[float], y: Sequence[float], column: int, line: dict[str, Any], row: int = 1
) -> None:
    """Draw a guide to the eye. It is a trace, since shapes lie over all traces or under the grid."""
    figure.add_scatter(
        x=list(x),
        y=list(y),
        mode="lines",
        line=line,
        hoverinfo="skip",
        showlegend=False,
        name="guide",
        row=row,
        col=column,
    )


def styled(figure: Figure, title: str, x: str, y: str, subtitle: str = "", height: int | None = None) -> Figure:
    """Set title, axis names (of the first panel) and template. The subtitle explains how to read the figure.

    The layout's `meta` keeps title and subtitle, since the page shows them outside the figure."""
    heading = {"title": title, "subtitle": subtitle, "top": 94 + 17 * subtitle.count("<br>") if subtitle else 60}
    if subtitle:
        title += f'<br><span style="font-size:13px;color:#4a5568">{subtitle}</span>'
    figure.update_layout(
        template="plotly_white",
        title={"text": title, "x": 0.02},
        xaxis_title=x,
        yaxis_title=y,
        font={"family": "Helvetica, Arial, sans-serif", "size": 14},
        margin={"l": 60, "r": 20, "t": 60, "b": 50},
        legend={"orientation": "h", "y": -0.2},
        hovermode="closest",
        height=height,
        meta=heading,
    )
    if subtitle:
        figure.update_layout(
            title={"yref": "container", "y": 1, "yanchor": "top", "pad": {"t": 32}, "font": {"size": 18}},
            margin={"t": heading["top"]},
        )
    figure.update_xaxes(title_font={"size": 14})
    return figure.update_yaxes(title_font={"size": 14})


def legend_below(
    figure: Figure, y: float, width: int, bottom: int, top: int = 22, sizes: Literal["trace", "constant"] = "trace"
) -> Figure:
    """Put the legend below the panels. width: of an entry, in pixels. bottom, top: room for the legend and the panels'
    titles, in pixels.

    sizes: of marks in the legend, `trace` as drawn, `constant` all the same.
    """
    return figure.update_layout(
        margin={"t": figure.layout.margin.t + top, "b": bottom},
        showlegend=True,
        legend={"y": y, "yanchor": "top", "entrywidth": width, "tracegroupgap": 0, "itemsizing": sizes},
    )


PICTURES = ("html", "svg", "pdf", "png")  # file formats of a figure


@in_range("write_figure")
def write_figure(figure: Figure, path: Path | str) -> Path:
    """Save a figure in the format of the suffix: .html is self-contained; .svg, .pdf and .png need the extra
    `rnnlens[images]`. Only a file that this function wrote is replaced."""
    path = check_output(path, "a figure", *PICTURES)
    kind = path.suffix.lower().lstrip(".")
    with atomic_file(path) as temporary:
        if kind == "html":
            data = html(figure)
        else:
            try:
                data = picture(figure, kind)
            except Exception as error:  # kaleido and the browser raise errors of many types
                raise RnnlensError(
                    f"cannot draw {quoted(str(path))}: {(str(error).strip().splitlines() or [repr(error)])[0]:.160} "
                    "(pictures need `pip install 'rnnlens[images]'` and a Chrome or Chromium; .html needs neither)"
                ) from error
        temporary.write_bytes(marked(data, kind))
    return path
