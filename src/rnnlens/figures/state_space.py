"""Fig. 2: the line attractor and six phrases read from one state on it, in principal components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rnnlens.corpora.vocab import PAD_WORD
from rnnlens.figures.style import INK, PLAIN, Look, look_of, panels, shown, signed, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# Purple to green through grey: the colour-blind can tell them apart, and no trajectory has these colours.
READINGS = ((0.0, "#762a83"), (0.25, "#af8dc3"), (0.5, "#c8c8c8"), (0.75, "#7fbf7b"), (1.0, "#1b7837"))
REACH = 3.0  # readings beyond are coloured alike
Point = Sequence[float]


def state_space(result: Mapping[str, Any]) -> Figure:
    """Fig. 2, from a run's `toy.state_space`: PC1 against PC2 and against PC3, zoomed to where the phrases go.

    Trajectories are told apart by colour (modifier) and by triangle (valence word); they go on, dotted, under pads.
    """
    names = [f"PC{i + 1} ({100 * share:.0f} % of the variance)" for i, share in enumerate(result["variance"])]
    figure = panels(["PC1 and PC2", "PC1 and PC3"], spacing=0.09)
    for column, y in ((1, 1), (2, 2)):
        _slow_points(figure, result, y, column)
        _line(figure, result, y, column)
        _phrases(figure, result, y, column)
        _ticks(figure, result, y, column)
        _labels(figure, result, y, column)
        for axis, name, component in ((figure.update_xaxes, names[0], 0), (figure.update_yaxes, names[y], y)):
            axis(title_text=name, range=_view(result, component), zeroline=False, row=1, col=column)
    figure = styled(
        figure, "Modifiers push the state off the line, valence words move it along", names[0], names[1],
        "Six phrases read from h<sup>pre</sup>. Marks ▲ ▼ are where “good” and “bad” took the state, bold numbers the "
        "reading along the line, relative<br>to h<sup>pre</sup>; dotted: the steps that follow without input. Each axis "
        "has its own scale.",
        height=620,
    )  # fmt: skip
    return figure.update_layout(
        margin={"t": 135, "b": 150, "r": 90},
        legend={"y": -0.19, "yanchor": "top", "entrywidth": 150},
    )


def _slow_points(figure: Figure, result: Mapping[str, Any], y: int, column: int) -> None:
    slow = result["slow_points"]
    figure.add_scatter(
        x=[p[0] for p in slow["at"]], y=[p[y] for p in slow["at"]], mode="markers", name="slow points",
        marker={"size": 5, "color": "#4a5568", "opacity": 0.25}, legendrank=2000,
        hovertext=[f"slow point<br>reading {signed(value)}" for value in slow["logits"]], hoverinfo="text",
        legendgroup="slow points", showlegend=column == 1, row=1, col=column,
    )  # fmt: skip


def _line(figure: Figure, result: Mapping[str, Any], y: int, column: int, between: int = 24) -> None:
    """The curve in the colours of its readings. Plotly gives a line one colour, so it is drawn as dots, close by."""
    at, readings = result["line"]["path"], result["line"]["logits"]
    steps = [k / between for k in range(between)]
    knots = list(zip(at, readings, strict=True))
    dots = [(*_mix(p, q, s), (1 - s) * a + s * b) for (p, a), (q, b) in pairwise(knots) for s in steps]
    dots += [(*at[-1], readings[-1])] if knots else []
    figure.add_scatter(
        x=[dot[0] for dot in dots], y=[dot[y] for dot in dots], mode="markers", name="line attractor",
        marker={
            "size": 8, "color": [dot[-1] for dot in dots], "colorscale": [list(stop) for stop in READINGS],
            "cmin": -REACH, "cmax": REACH, "showscale": column == 1,
            "colorbar": {
                "title": {"text": "reading on the line", "side": "right"}, "thickness": 12, "len": 0.8, "x": 1.01,
                "tickvals": [-REACH, -2, -1, 0, 1, 2, REACH],
                "ticktext": ["≤ −3", "−2", "−1", "0", "+1", "+2", "≥ +3"],
            },
        },
        hovertext=[f"line attractor<br>reading {signed(dot[-1])}" for dot in dots], hoverinfo="text",
        showlegend=False, row=1, col=column,
    )  # fmt: skip


def _phrases(figure: Figure, result: Mapping[str, Any], y: int, column: int) -> None:
    """Solid to where the last word landed, dotted from there on."""
    for name, phrase in result["phrases"].items():
        words, look = _words(phrase), _look(result, phrase)
        x, up = [p[0] for p in phrase["path"]], [p[y] for p in phrase["path"]]
        hover = _hover(name, phrase)
        landed = len(words)
        figure.add_scatter(
            x=x[landed:], y=up[landed:], mode="lines+markers", hovertext=hover[landed:], hoverinfo="text",
            line={"color": look.colour, "width": 1.2, "dash": "dot"}, marker={"size": 4, "color": look.colour},
            legendgroup=name, showlegend=False, name=shown(name), row=1, col=column,
        )  # fmt: skip
        symbol = "triangle-up" if _rises(result, words[-1]) else "triangle-down"
        between = landed - 1  # h_pre and the modifier's states: the last word's mark is larger
        figure.add_scatter(
            x=x[: landed + 1], y=up[: landed + 1], mode="lines+markers", hovertext=hover[: landed + 1],
            hoverinfo="text", line={"color": look.colour, "width": 2.5},
            marker={
                "symbol": ["circle", *[look.symbol] * between, symbol], "color": look.colour,
                "size": [1, *[8] * between, 13], "line": {"width": 1, "color": "white"}, "opacity": 1,
            },
            name=f"“{shown(name)}”", legendgroup=name, showlegend=False, row=1, col=column,
        )  # fmt: skip
        if column == 1:  # a legend shows a trace's first mark, which is not the triangle
            figure.add_scatter(
                x=[None], y=[None], mode="lines+markers", name=f"“{shown(name)}”", legendgroup=name,
                line={"color": look.colour, "width": 2.5}, marker={"symbol": symbol, "size": 12, "color": look.colour},
                row=1, col=column,
            )  # fmt: skip


def _ticks(figure: Figure, result: Mapping[str, Any], y: int, column: int) -> None:
    """Bold numbers along the line; where it points at the reader they would fall on one another, and a note says so."""
    ticks, views = result["ticks"], (_view(result, 0), _view(result, y))
    at = [(p[0], p[y]) for p in ticks["at"]]
    spread = [(max(part) - min(part)) / (high - low) for part, (low, high) in zip(zip(*at), views, strict=True)]
    if max(spread) < 0.04 * len(at):
        figure.add_annotation(
            x=at[0][0], y=at[0][1], text="the line,<br>seen end-on", ax=-38, ay=-52, arrowcolor=INK, arrowwidth=1,
            font={"size": 12, "color": INK}, row=1, col=column,
        )  # fmt: skip
        return
    upright = spread[1] >= spread[0]
    figure.add_scatter(
        x=[p[0] for p in at], y=[p[1] for p in at], mode="markers+text",
        text=[f"<b>{signed(value, 0)}</b>" for value in ticks["valence"]],
        textposition="middle right" if upright else "bottom center", textfont={"size": 14, "color": "black"},
        marker={"symbol": "line-ew" if upright else "line-ns", "size": 12, "line": {"width": 2, "color": "black"}},
        hoverinfo="skip", showlegend=False, name="readings", cliponaxis=False, row=1, col=column,
    )  # fmt: skip


def _labels(figure: Figure, result: Mapping[str, Any], y: int, column: int) -> None:
    """h_pre and the state after each modifier."""
    pre = result["h_pre"]
    figure.add_scatter(
        x=[pre["at"][0]], y=[pre["at"][y]], mode="markers", name="h<sup>pre</sup>, the start",
        marker={"symbol": "circle", "size": 10, "color": "white", "line": {"width": 2.5, "color": "black"}},
        hovertext=["h<sup>pre</sup>: where all phrases start"], hoverinfo="text", legendrank=1500,
        legendgroup="h_pre", showlegend=column == 1, row=1, col=column,
    )  # fmt: skip
    named: set[str] = set()
    for phrase in result["phrases"].values():
        words = _words(phrase)
        if len(words) < 2 or words[0] in named:
            continue
        named.add(words[0])
        x, up = phrase["path"][1][0], phrase["path"][1][y]
        low, high = _view(result, 0)
        figure.add_annotation(
            x=x, y=up, text=f"<b>h<sup>{shown(words[0])}</sup></b>", showarrow=False, yshift=18,
            xanchor="left" if x < (low + high) / 2 else "right", xshift=-6 if x < (low + high) / 2 else 6,
            font={"size": 15, "color": _look(result, phrase).colour}, row=1, col=column,
        )  # fmt: skip


def _words(phrase: Mapping[str, Any]) -> list[str]:
    """The phrase without the pads after it."""
    return [word for word in phrase["words"] if word != PAD_WORD]


def _look(result: Mapping[str, Any], phrase: Mapping[str, Any]) -> Look:
    """That of the modifier it starts with, if any."""
    firsts = [_words(p)[0] for p in result["phrases"].values() if len(_words(p)) > 1]
    words = _words(phrase)
    return look_of(words[0], list(dict.fromkeys(firsts)).index(words[0])) if len(words) > 1 else PLAIN


def _rises(result: Mapping[str, Any], word: str) -> bool:
    """Does the word alone raise the reading?"""
    alone = result["phrases"].get(word)
    return alone is None or alone["logits"][1] >= alone["logits"][0]


def _hover(name: str, phrase: Mapping[str, Any]) -> list[str]:
    """What is said of each state of a phrase's path."""
    after = ["h<sup>pre</sup>, before it"]
    for i, word in enumerate(phrase["words"]):
        after.append(f"after “{shown(word)}” (step {i + 1})")
    return [
        f"“{shown(name)}”<br>{state}<br>reading {signed(value)}"
        for state, value in zip(after, phrase["logits"], strict=True)
    ]


def _view(result: Mapping[str, Any], component: int, margin: float = 0.09) -> list[float]:
    """The range of a component that holds the phrases, the ticks and h_pre."""
    points = [result["h_pre"]["at"], *result["ticks"]["at"], *(p for q in result["phrases"].values() for p in q["path"])]
    low, high = (edge(point[component] for point in points) for edge in (min, max))
    room = margin * ((high - low) or 1.0)
    return [low - room, high + room]


def _mix(p: Point, q: Point, share: float) -> list[float]:
    return [(1 - share) * a + share * b for a, b in zip(p, q, strict=True)]
