"""Fig. 2: the line attractor and six phrases read from one state on it, in principal components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.corpora.vocab import PAD_WORD
from rnnlens.figures.axes import padded
from rnnlens.figures.curve import curve
from rnnlens.figures.labels import Pixel, along, box, clearest, covered, pixel
from rnnlens.figures.stored import toy_part
from rnnlens.figures.style import INK, PLAIN, Look, look_of, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PANEL = (740.0, 305.0)  # approximate size in pixels, for placing the names
REACH = 3  # larger readings get the same color


def state_space(result: Any) -> Figure:
    """Fig. 2, from a run's `toy.state_space`: PC2 and, below it, PC3 against PC1, zoomed to the phrases.

    The color of a trajectory shows the modifier, its triangle the valence word; dotted lines continue it under blank
    inputs.
    """
    result = toy_part(result, "state_space")
    names = [f"PC{i + 1} ({100 * share:.0f} % of the variance)" for i, share in enumerate(result["variance"])]
    figure = panels(["", ""], stacked=True)
    for component in (1, 2):  # which is also the panel's row
        _line(figure, result, component)
        _slow_points(figure, result, component)
        for name, phrase in result["phrases"].items():
            _phrase(figure, result, name, phrase, component)
        _h_pre(figure, result, component)
        _names(figure, result, component)
        figure.update_xaxes(range=_view(result, 0), zeroline=False, row=component, col=1)
        figure.update_yaxes(
            title_text=names[component], range=_view(result, component), zeroline=False, row=component, col=1
        )
    figure = styled(
        figure,
        "Where words move the state: along the line attractor, or off it",
        "",
        names[1],
        "Six phrases, all read from h<sup>pre</sup>, in principal components (PC) of the visited states. A triangle is "
        "the state after the phrase's<br>last word, a dotted line the path under blank inputs; bold numbers "
        "are readings on the line, relative to h<sup>pre</sup>. Each axis has its own scale.",
        height=860,
    )
    figure.update_xaxes(title_text=names[0], row=2, col=1)
    return figure.update_layout(
        margin={"b": 120, "r": 100}, legend={"y": -0.09, "yanchor": "top", "entrywidth": 160, "tracegroupgap": 0}
    )


def _line(figure: Figure, result: Mapping[str, Any], component: int) -> None:
    line = result["line"]
    curve(
        figure,
        [(at[0], at[component]) for at in line["path"]],
        line["logits"],
        REACH,
        bar=component == 1,
        row=component,
        col=1,
    )


def _slow_points(figure: Figure, result: Mapping[str, Any], component: int) -> None:
    slow = result["slow_points"]
    figure.add_scatter(
        x=[at[0] for at in slow["at"]],
        y=[at[component] for at in slow["at"]],
        mode="markers",
        name="slow points",
        marker={"size": 4, "color": INK, "opacity": 0.18},
        legendgroup="slow points",
        legendrank=4,
        showlegend=component == 1,
        hoverinfo="text",
        hovertext=[f"slow point<br>reading {signed(value)}" for value in slow["logits"]],
        row=component,
        col=1,
    )


def _phrase(figure: Figure, result: Mapping[str, Any], name: str, phrase: Mapping[str, Any], component: int) -> None:
    """Draw one phrase: solid up to the state after its last word, dotted under blank inputs."""
    words, look, hover = _words(phrase), _look(result, phrase), _hover(name, phrase)
    x, y = [at[0] for at in phrase["path"]], [at[component] for at in phrase["path"]]
    rises = _rises(result, words[-1])
    triangle = "triangle-up" if rises else "triangle-down"
    read, blank = slice(0, len(words) + 1), slice(len(words), None)
    common: dict[str, Any] = {
        "name": f"“{shown(name)}”",
        "legendgroup": name,
        "legendrank": 1 if rises else 2,
        "row": component,
        "col": 1,
    }
    figure.add_scatter(
        x=x[blank],
        y=y[blank],
        mode="lines+markers",
        hovertext=hover[blank],
        hoverinfo="text",
        showlegend=False,
        line={"color": look.colour, "width": 1.2, "dash": "dot"},
        marker={"size": 4, "color": look.colour},
        **common,
    )
    figure.add_scatter(  # a white rim, visible where the path runs along the line
        x=x[read],
        y=y[read],
        mode="lines",
        line={"color": "white", "width": 4.5},
        hoverinfo="skip",
        showlegend=False,
        **common,
    )
    figure.add_scatter(
        x=x[read],
        y=y[read],
        mode="lines+markers",
        hovertext=hover[read],
        hoverinfo="text",
        showlegend=False,
        line={"color": look.colour, "width": 2.5},
        marker={
            "symbol": ["circle", *[look.symbol] * (len(words) - 1), triangle],
            "color": look.colour,
            "opacity": 1,
            "size": [1, *[9] * (len(words) - 1), 14],
            "line": {"width": 1, "color": "white"},
        },
        customdata=["", *words],
        **common,
    )
    if component == 1:  # an entry of its own, since the legend shows the first mark, not the triangle
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines+markers",
            line={"color": look.colour, "width": 2.5},
            marker={"symbol": triangle, "size": 12, "color": look.colour},
            **common,
        )


def _h_pre(figure: Figure, result: Mapping[str, Any], component: int) -> None:
    at = result["h_pre"]["at"]
    figure.add_scatter(
        x=[at[0]],
        y=[at[component]],
        mode="markers",
        name="h<sup>pre</sup>, where all start",
        legendgroup="h_pre",
        marker={"symbol": "circle", "size": 10, "color": "white", "line": {"width": 2.5, "color": "black"}},
        hovertext=["h<sup>pre</sup>: where all phrases start"],
        hoverinfo="text",
        legendrank=3,
        showlegend=component == 1,
        row=component,
        col=1,
    )


def _names(figure: Figure, result: Mapping[str, Any], component: int) -> None:
    """Write readings along the line, then the names of the states after a modifier."""
    views = (_view(result, 0), _view(result, component))

    def place(at: Sequence[float]) -> Pixel:
        return pixel((at[0], at[component]), views, PANEL)

    taken: list[Pixel] = []
    for phrase in result["phrases"].values():
        path = [place(at) for at in phrase["path"]]
        landed = path[len(_words(phrase))]
        taken += along(path) + [landed] * 30  # triangles matter most
    taken += _ticks(figure, result, component, [place(at) for at in result["ticks"]["at"]], taken)
    taken += along([place(at) for at in result["line"]["path"]])
    after = {_words(p)[0]: (p["path"][1], _look(result, p)) for p in result["phrases"].values() if len(_words(p)) > 1}
    for word, (at, look) in after.items():
        size = (20.0 + 8 * len(word), 24.0)
        shift = clearest(place(at), size, taken, PANEL)
        _write(figure, at, component, f"<b>h<sup>{shown(word)}</sup></b>", shift, {"size": 15, "color": look.colour})
        taken += box(_moved(place(at), shift), size)


def _ticks(
    figure: Figure, result: Mapping[str, Any], component: int, at: Sequence[Pixel], taken: Sequence[Pixel]
) -> list[Pixel]:
    """Write the readings along the line and return the points they cover. If they are too close, write their range."""
    ticks = result["ticks"]
    wide, high = (max(part) - min(part) for part in zip(*at, strict=True))
    upright = high >= wide
    if max(wide / 28, high / 16) < len(at) - 1:
        low, top = (signed(edge(ticks["valence"]), 0) for edge in (min, max))
        size, middle = (130.0, 20.0), at[len(at) // 2]
        shift = clearest(middle, size, taken, PANEL, gap=28)
        figure.add_annotation(
            x=ticks["at"][len(at) // 2][0],
            y=ticks["at"][len(at) // 2][component],
            ax=shift[0],
            ay=-shift[1],
            text=f"<b>{low} … {top}</b> all lie here",
            standoff=7,
            arrowcolor=INK,
            arrowwidth=1,
            arrowhead=0,
            font={"size": 13, "color": "black"},
            row=component,
            col=1,
        )
        return box(_moved(middle, shift), size)
    figure.add_scatter(
        x=[p[0] for p in ticks["at"]],
        y=[p[component] for p in ticks["at"]],
        mode="markers",
        name="readings",
        marker={"symbol": "line-ew" if upright else "line-ns", "size": 12, "line": {"width": 2, "color": "black"}},
        showlegend=False,
        hoverinfo="skip",
        row=component,
        col=1,
    )
    size, shifts = (24.0, 18.0), ((22.0, 0.0), (-22.0, 0.0)) if upright else ((0.0, -18.0), (0.0, 18.0))
    shift = min(shifts, key=lambda s: sum(covered(_moved(p, s), size, taken) for p in at))
    for point, value in zip(ticks["at"], ticks["valence"], strict=True):
        _write(figure, point, component, f"<b>{signed(value, 0)}</b>", shift, {"size": 14, "color": "black"})
    return [point for p in at for point in box(_moved(p, shift), size)]


def _write(figure: Figure, at: Sequence[float], component: int, text: str, shift: Pixel, font: dict[str, Any]) -> None:
    figure.add_annotation(
        x=at[0],
        y=at[component],
        text=text,
        showarrow=False,
        xshift=shift[0],
        yshift=shift[1],
        font=font,
        bgcolor="rgba(255,255,255,0.7)",
        borderpad=0,
        row=component,
        col=1,
    )


def _moved(at: Pixel, shift: Pixel) -> Pixel:
    return at[0] + shift[0], at[1] + shift[1]


def _words(phrase: Mapping[str, Any]) -> list[str]:
    """The phrase without the blank inputs after it."""
    return [word for word in phrase["words"] if word != PAD_WORD]


def _look(result: Mapping[str, Any], phrase: Mapping[str, Any]) -> Look:
    """The look of the modifier that the phrase starts with; the plain look if there is none."""
    modifiers = list(dict.fromkeys(_words(p)[0] for p in result["phrases"].values() if len(_words(p)) > 1))
    words = _words(phrase)
    return look_of(words[0], modifiers.index(words[0])) if len(words) > 1 else PLAIN


def _rises(result: Mapping[str, Any], word: str) -> bool:
    """Whether the word alone raises the reading."""
    alone = result["phrases"].get(word)
    return alone is None or alone["logits"][1] >= alone["logits"][0]


def _hover(name: str, phrase: Mapping[str, Any]) -> list[str]:
    """The hover text of each state of a phrase's path."""
    after = ["h<sup>pre</sup>, before it", *(f"after word {i}, “{shown(w)}”" for i, w in enumerate(phrase["words"], 1))]
    return [
        f"“{shown(name)}”<br>{state}<br>reading {signed(value)}"
        for state, value in zip(after, phrase["logits"], strict=True)
    ]


def _view(result: Mapping[str, Any], component: int) -> list[float]:
    """The range of a component that includes the phrases, the ticks and h_pre."""
    points = [result["h_pre"]["at"], *result["ticks"]["at"]]
    points += [at for phrase in result["phrases"].values() for at in phrase["path"]]
    return padded([point[component] for point in points], 0.12)
