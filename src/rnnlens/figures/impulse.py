"""Figs. 4 and 7: how the state returns to the line after one word, and how long it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.figures.axes import padded
from rnnlens.figures.labels import Pixel, along, pixel, spread
from rnnlens.figures.stored import among, part, perhaps, side_names, two_coordinates
from rnnlens.figures.style import (
    FAINT,
    GREY,
    KINDS,
    Look,
    distinct_looks,
    guide,
    legend_below,
    look_of_component,
    look_of_kind,
    panels,
    shown,
    styled,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

WORDS = ("extremely", "not")
PATHS = 14  # number of modifiers shown in the subspace
PANEL = (365.0, 330.0)  # approximate size in pixels, for placing the names
BINS = 24
_BACK = "blank inputs since the word"


# --- one word ---------------------------------------------------------------------------------------------------------


def impulse(results: Any, words: str | Sequence[str] = WORDS) -> Figure:
    """Fig. 4, from `impulse`: the path of the state under blank inputs after one word at h*, in the logit and the first
    modifier component (left), and its distance from the line with an exponential fit (right)."""
    stored = part(results, "impulse")
    chosen = among(stored, words, WORDS, "impulse response")
    figure = panels(["path of the state", "distance from the line"])
    looks = distinct_looks([look_of_kind(_kind(results, word)) for word in chosen])
    ends = [x for word in chosen for x in stored[word]["logit"]]
    guide(figure, (min(ends), max(ends)), (0, 0), 1, {"color": GREY, "width": 1, "dash": "dot"})
    for word, (look, dash) in zip(chosen, looks, strict=True):
        _path(figure, word, stored[word], _kind(results, word), look, dash)
        _distance(figure, word, stored[word], look, dash)
    far = max(d for word in chosen for d in stored[word]["distance"]) or 1.0
    steps = max(len(stored[word]["distance"]) for word in chosen)
    figure.update_xaxes(title_text=_BACK, range=[-1, steps], row=1, col=2)
    figure.update_yaxes(
        title_text="distance from the line (state space)", range=[-0.04 * far, 1.08 * far], row=1, col=2
    )
    figure.update_xaxes(zeroline=False).update_yaxes(zeroline=False)
    figure.update_yaxes(zeroline=True, zerolinecolor=FAINT, row=1, col=2)
    figure = styled(
        figure,
        "How the state returns to the line after one word",
        f"logit ({shown(side_names(results).above)} above 0)",
        "first modifier component (state space)",
        "The word is read at h*, then come blank inputs. Large mark: right after the word. Left, dotted: h* along the "
        "component.<br>Right: marks are the network, lines a·exp(−t/τ) + c. In the paper's network the return takes "
        "5 to 10 words.",
        height=530,
    )
    return legend_below(figure, -0.19, 250, 110)


def _kind(results: Any, word: str) -> str:
    """The kind of the word, if its barcode is stored."""
    return shown(perhaps(results, "barcodes").get(word, {}).get("kind", "none"))


def _path(figure: Figure, word: str, response: Mapping[str, Any], kind: str, look: Look, dash: str) -> None:
    y = [at[0] for at in response["coordinates"]]
    steps = len(y)
    figure.add_scatter(
        x=list(response["logit"]),
        y=y,
        mode="lines+markers",
        name=f"“{shown(word)}”, {_article(kind)} here",
        legendgroup=word,
        line={"color": look.colour, "width": 2, "dash": dash},
        marker={
            "symbol": look.symbol,
            "size": [14, *[6] * (steps - 1)],
            "color": look.colour,
            "opacity": 1,
            "line": {"width": 1 if look.symbol.endswith("open") else 0},
        },
        hovertext=[
            f"“{shown(word)}”, {_since(t)}<br>logit {signed(x)}<br>component 1: {signed(value)}"
            for t, (x, value) in enumerate(zip(response["logit"], y, strict=True))
        ],
        hoverinfo="text",
        customdata=[word] * steps,
        row=1,
        col=1,
    )


def _distance(figure: Figure, word: str, response: Mapping[str, Any], look: Look, dash: str) -> None:
    steps = list(range(len(response["distance"])))
    figure.add_scatter(
        x=steps,
        y=list(response["distance"]),
        mode="markers",
        name=f"“{shown(word)}”",
        legendgroup=word,
        showlegend=False,
        marker={"symbol": look.symbol, "size": 8, "color": look.colour, "opacity": 0.8},
        hovertext=[f"“{shown(word)}”, {_since(t)}<br>distance {d:.3f}" for t, d in enumerate(response["distance"])],
        hoverinfo="text",
        customdata=[word] * len(steps),
        row=1,
        col=2,
    )
    if response["fit"] is None:
        name = f"“{shown(word)}”: no exponential decay"
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines",
            name=name,
            legendgroup=word,
            line={"color": look.colour, "dash": dash},
            row=1,
            col=2,
        )
        return
    figure.add_scatter(
        x=steps,
        y=list(response["fit"]),
        mode="lines",
        name=f"fit: τ = {response['tau']:.1f} words (R² {response['r2']:.2f})",
        legendgroup=word,
        line={"color": look.colour, "width": 2, "dash": dash},
        hoverinfo="name",
        row=1,
        col=2,
    )


def _since(t: int) -> str:
    return "right after it" if t == 0 else f"{t} word{'s' if t > 1 else ''} later"


def _article(kind: str) -> str:
    return {"none": "no modifier", "intensifier": "an intensifier"}.get(kind, f"a {kind}")


# --- all modifiers ----------------------------------------------------------------------------------------------------


def timescales(results: Any) -> Figure:
    """Fig. 7, from `impulse` and `timescales`: paths of the largest modifiers in the first two modifier components, and
    a histogram of the timescales of all modifiers along each component."""
    stored, impulses = part(results, "timescales"), part(results, "impulse")
    figure = panels(["return paths of the largest modifiers", f"how long {len(stored['tau']):,} modifiers act"])
    _paths(figure, results, impulses)
    edges = _edges([tau for row in stored["tau"] for tau in row if tau])
    for p in range(len(stored["mean"])):
        _times(figure, stored, p, edges)
    figure.update_xaxes(
        title_text="timescale τ of the decay (words, log scale)",
        type="log",
        zeroline=False,
        showgrid=False,
        range=[math.log10(edges[0]), math.log10(edges[-1])],
        tickvals=[0.2, 0.5, 1, 2, 5, 10, 20, 50, 100],
        row=1,
        col=2,
    )
    figure.update_yaxes(title_text="number of words", rangemode="tozero", row=1, col=2)
    figure = styled(
        figure,
        "How fast modifiers fade, along each component of their subspace",
        "modifier component 1",
        "modifier component 2",
        "Left: the path under blank inputs, from right after the word (mark); the cross is h*. Right: timescales of "
        "exponentials fitted to the coordinates,<br>with their means (vertical lines). The paper's network has means "
        "of 2.6 and 4.3 words along its first two components.",
        height=560,
    )
    return legend_below(figure, -0.19, 300, 130)


def _paths(figure: Figure, results: Any, impulses: Mapping[str, Any]) -> None:
    paths = {word: two_coordinates(response["coordinates"]) for word, response in impulses.items()}
    chosen = sorted(paths, key=lambda word: -math.hypot(*paths[word][0]))[:PATHS]
    kinds = {word: _kind(results, word) for word in chosen}
    for word in chosen:
        look, (x, y) = look_of_kind(kinds[word]), zip(*paths[word], strict=True)
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines+markers",
            name=shown(word),
            legendgroup=kinds[word],
            showlegend=False,
            line={"color": look.colour, "width": 1.5},
            marker={
                "symbol": look.symbol,
                "color": look.colour,
                "size": [9, *[4] * (len(x) - 1)],
                "opacity": 0.9,
                "line": {"width": 0},
            },
            hovertext=[f"“{shown(word)}” ({kinds[word]}), {_since(t)}" for t in range(len(x))],
            hoverinfo="text",
            customdata=[word] * len(x),
            row=1,
            col=1,
        )
    figure.add_scatter(
        x=[0],
        y=[0],
        mode="markers",
        name="h*",
        showlegend=False,
        hovertext=["h*"],
        hoverinfo="text",
        marker={"symbol": "cross-thin", "size": 14, "line": {"width": 2, "color": "black"}},
        row=1,
        col=1,
    )
    for kind in [kind for kind in KINDS if kind in kinds.values()]:
        look = look_of_kind(kind)
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines+markers",
            name={"none": "other words"}.get(kind, f"{kind}s"),
            line={"color": look.colour},
            marker={"symbol": look.symbol, "size": 9},
            legendgroup=kind,
            row=1,
            col=1,
        )
    _name_paths(figure, {word: paths[word] for word in chosen}, kinds)


def _name_paths(figure: Figure, paths: Mapping[str, Sequence[Pixel]], kinds: Mapping[str, str]) -> None:
    """Write each word beside the start of its path."""
    view = [padded([0.0, *(at[i] for path in paths.values() for at in path)], 0.1) for i in (0, 1)]
    pixels = {word: [pixel(at, view, PANEL) for at in path] for word, path in paths.items()}
    taken = [point for path in pixels.values() for point in along(path)]
    starts = [path[0] for path in pixels.values()]
    chosen = list(paths)
    sizes = [(8.0 + 6.5 * len(word), 15.0) for word in chosen]
    for i, shift in spread(starts, sizes, taken, PANEL).items():
        at = paths[chosen[i]][0]
        figure.add_annotation(
            x=at[0],
            y=at[1],
            text=shown(chosen[i]),
            ax=shift[0],
            ay=-shift[1],
            arrowhead=0,
            arrowwidth=0.8,
            arrowcolor=GREY,
            standoff=5,
            font={"size": 12, "color": look_of_kind(kinds[chosen[i]]).colour},
            borderpad=0,
            name=chosen[i],
            captureevents=True,
            row=1,
            col=1,
        )
    figure.update_xaxes(range=view[0], zerolinecolor=FAINT, row=1, col=1)
    figure.update_yaxes(range=view[1], zerolinecolor=FAINT, row=1, col=1)


def _edges(taus: Sequence[float]) -> list[float]:
    """The edges of bins of equal logarithmic width that contain all values."""
    low, high = (math.log(edge(taus, default=1.0)) for edge in (min, max))
    low, high = low - 0.05, high + 0.05
    return [math.exp(low + (high - low) * k / BINS) for k in range(BINS + 1)]


def _times(figure: Figure, stored: Mapping[str, Any], p: int, edges: Sequence[float]) -> None:
    """Draw the histogram of a component's timescales as an outline, and their mean."""
    look, dash = look_of_component(p)
    taus = [row[p] for row in stored["tau"] if row[p] is not None]
    counts = [sum(a <= tau < b for tau in taus) for a, b in pairwise(edges)]
    mean = stored["mean"][p]
    decay = (
        "none decays" if mean is None else f"mean {mean:.1f}, {stored['decaying'][p]:,} of {len(stored['tau']):,} decay"
    )
    common: dict[str, Any] = {"legendgroup": f"component {p}", "row": 1, "col": 2}
    figure.add_scatter(
        x=list(edges),
        y=[*counts, 0],
        mode="lines",
        name=f"component {p + 1}: {decay}",
        line={"shape": "hv", "color": look.colour, "width": 2, "dash": dash},
        hoverinfo="text",
        hovertext=[
            f"component {p + 1}: {n} words<br>τ from {a:.2g} to {b:.2g}"
            for a, b, n in zip(edges, edges[1:], counts, strict=False)
        ],
        **common,
    )
    if mean is not None:
        figure.add_scatter(
            x=[mean, mean],
            y=[0, max(counts)],
            mode="lines+markers",
            name=f"mean of component {p + 1}",
            showlegend=False,
            line={"color": look.colour, "width": 2.5, "dash": dash},
            marker={"symbol": look.symbol, "size": [0, 11], "color": look.colour},
            hovertext=[f"mean of component {p + 1}: {mean:.2f} words"] * 2,
            hoverinfo="text",
            **common,
        )
