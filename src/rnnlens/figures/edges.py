"""Fig. 9 and Supp. E: words at the beginning and at the end of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.figures.axes import TimescaleAxis
from rnnlens.figures.barcodes import draw_barcode, kind_said, probe_words, same_scale
from rnnlens.figures.stored import part, perhaps, two_coordinates
from rnnlens.figures.style import FAINT, GREY, INK, Look, guide, legend_below, look_of_kind, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_BLANKS = "blank inputs since the word"
# Up is positive, down is negative; filled and solid is the first of its side.
_RISING = ((Look("#1b7837", "triangle-up"), "solid"), (Look("#1b7837", "triangle-up-open"), "dash"))
_FALLING = ((Look("#762a83", "triangle-down"), "solid"), (Look("#762a83", "triangle-down-open"), "dash"))


# --- the beginning ----------------------------------------------------------------------------------------------------


def beginning(results: Any) -> Figure:
    """Fig. 9a, b, from `beginning`: the barcode of the initial state h0, and where h0 is in the modifier subspace and
    goes under blank inputs, among the modifiers."""
    found, probes = part(results, "beginning"), probe_words(results)
    figure = panels(["what h<sub>0</sub> does to the first words", "h<sub>0</sub> in the modifier subspace"])
    barcode = found["barcode"]
    draw_barcode(figure, barcode, probes, look_of_kind(barcode["kind"]), "h<sub>0</sub>")
    same_scale(figure, [barcode], probes)
    _initial_path(figure, results, two_coordinates(found["path"]), found["distance"])
    figure.update_xaxes(
        title_text=f"left: {len(probes[0])} positive words, right: {len(probes[1])} negative", row=1, col=1
    )
    figure.update_xaxes(
        title_text="modifier component 1",
        range=None,
        autorange=True,
        showticklabels=True,
        tickvals=None,
        tickmode="auto",
        showgrid=True,
        zeroline=True,
        zerolinecolor=FAINT,
        row=1,
        col=2,
    )
    figure.update_yaxes(
        title_text="modifier component 2", range=None, autorange=True, zeroline=True, zerolinecolor=FAINT, row=1, col=2
    )
    figure = styled(
        figure,
        "The beginning of a document: the initial state as a modifier",
        figure.layout.xaxis.title.text,
        "change of the logit",
        f"Left: how much more or less each valence word adds to the logit at h<sub>0</sub> than at h* "
        f"({kind_said(barcode)}).<br>{_distances(found)}{_accuracy(found, 'h0_projected', _WITHOUT)}",
        height=540,
    )
    return legend_below(figure, -0.19, 200, 110)


_WITHOUT = "Accuracy with h<sub>0</sub> moved out of the 2-D subspace"
_PADDED = "Accuracy with 50 blank inputs appended"


def _distances(found: Mapping[str, Any]) -> str:
    first, last = found["distance"][0], found["distance"][-1]
    return f"h<sub>0</sub> is {first:.2f} from the line, after {len(found['distance']) - 1} blank inputs {last:.2f}. "


def _accuracy(found: Mapping[str, Any], key: str, what: str) -> str:
    """The differences that are stored, by split."""
    said = [
        f"{signed(100 * found[split][key]['difference'])} points ({split})"
        for split in ("test", "validation", "train")
        if key in found.get(split, {})
    ]
    return f"{what}: {', '.join(said)}." if said else ""


def _initial_path(figure: Figure, results: Any, path: Sequence[tuple[float, float]], distance: Sequence[float]) -> None:
    """The path under blank inputs; modifiers, if stored, show what is large there."""
    modifiers = perhaps(results, "subspace")
    if modifiers:
        x, y = zip(*two_coordinates(modifiers["coordinates"]), strict=True)
        figure.add_scatter(
            x=x,
            y=y,
            mode="markers",
            name="modifiers, for comparison",
            marker={"size": 5, "color": FAINT},
            hovertext=[f"“{shown(word)}”" for word in modifiers["words"]],
            hoverinfo="text",
            customdata=list(modifiers["words"]),
            row=1,
            col=2,
        )
    x, y = zip(*path, strict=True)
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines+markers",
        name=f"under {len(path) - 1} blank inputs",
        line={"color": INK, "width": 1.5},
        marker={"size": 4, "color": INK},
        hoverinfo="text",
        row=1,
        col=2,
        hovertext=[f"h<sub>0</sub> and {t} blank inputs<br>{d:.2f} from the line" for t, d in enumerate(distance)],
    )
    figure.add_scatter(
        x=[x[0]],
        y=[y[0]],
        mode="markers",
        name="h<sub>0</sub>",
        hovertext=["h<sub>0</sub>"],
        hoverinfo="text",
        marker={"size": 12, "color": "white", "line": {"width": 2.5, "color": "black"}},
        row=1,
        col=2,
    )


# --- the end ----------------------------------------------------------------------------------------------------------


def ending(results: Any) -> Figure:
    """Fig. 9c, d, from `ending`: what single valence words do to the logit right away and later, and their effect at
    once against the effect that stays, over all probe words."""
    found = part(results, "ending")
    figure = panels(["a word's effect over time", "at once, and in the long run"])
    examples = found.get("modes", found)
    steps = len(found["transients"][0])
    guide(figure, (0, steps - 1), (0, 0), 1, {"color": GREY, "width": 1})
    for word, course, (look, dash) in _examples(examples["words"], examples["transients"]):
        _course(figure, word, course, look, dash, 1, 1)
    _lasting(figure, found)
    figure.update_xaxes(title_text=_BLANKS, zeroline=False, row=1, col=1)
    figure.update_xaxes(title_text="effect on the logit at once", zerolinecolor=FAINT, row=1, col=2)
    figure.update_yaxes(title_text=f"effect {steps - 1} blank inputs later", zerolinecolor=FAINT, row=1, col=2)
    figure.update_yaxes(zeroline=False, row=1, col=1)
    figure = styled(
        figure,
        "The end of a document: effects of words that have not yet settled",
        _BLANKS,
        "effect on the logit",
        "The effect is the logit with the word less that without it. Where it shrinks with time, words at the end of a "
        f"review count more.<br>The median word keeps {100 * found['ratio_median']:.0f} % and settles within "
        f"{found['settled_median']:.0f} inputs. {_accuracy(found, 'padded', _PADDED)}",
        height=540,
    )
    return legend_below(figure, -0.19, 170, 110)


def _examples(
    words: Sequence[str],
    courses: Sequence[Sequence[float]],
    like: Sequence[Sequence[float]] | None = None,
    most: int = 4,
) -> list[tuple[str, Sequence[float], tuple[Look, str]]]:
    """Words with their courses and looks: up or down by what they (or those they are to look like) come to."""
    found, seen = [], {True: 0, False: 0}
    for word, course, shape in list(zip(words, courses, like or courses, strict=True))[:most]:
        rises = shape[-1] >= 0
        found.append((word, course, (_RISING if rises else _FALLING)[seen[rises] % 2]))
        seen[rises] += 1
    return found


def _course(
    figure: Figure,
    word: str,
    course: Sequence[float],
    look: Look,
    dash: str,
    row: int,
    column: int,
    legend: bool = True,
    name: str = "",
) -> None:
    name = name or f"“{shown(word)}”"
    figure.add_scatter(
        x=list(range(len(course))),
        y=list(course),
        mode="lines+markers",
        name=name,
        legendgroup=word,
        showlegend=legend,
        line={"color": look.colour, "width": 2, "dash": dash},
        marker={"symbol": look.symbol, "size": 7, "color": look.colour, "maxdisplayed": 12},
        hovertext=[f"{name}<br>{t} blank inputs later: {signed(value, 3)}" for t, value in enumerate(course)],
        hoverinfo="text",
        customdata=[word] * len(course),
        row=row,
        col=column,
    )


def _lasting(figure: Figure, found: Mapping[str, Any]) -> None:
    first, last = ([course[i] for course in found["transients"]] for i in (0, -1))
    ends = (min([*first, 0.0]), max([*first, 0.0]))
    guide(figure, ends, ends, 2, {"color": GREY, "width": 1.5, "dash": "dot"})
    figure.data[-1].update(showlegend=True, name="all of it stays")
    slope = found["ratio_median"]
    guide(figure, ends, [slope * x for x in ends], 2, {"color": INK, "width": 1.5, "dash": "dash"})
    figure.data[-1].update(showlegend=True, name=f"{100 * slope:.0f} % stay (median)")
    for side, symbol, colour in (("raises", "triangle-up", "#1b7837"), ("lowers", "triangle-down", "#762a83")):
        rows = [i for i, value in enumerate(first) if (value >= 0) == (side == "raises")]
        figure.add_scatter(
            x=[first[i] for i in rows],
            y=[last[i] for i in rows],
            mode="markers",
            name=f"{side} the logit at once",
            marker={"symbol": symbol, "size": 7, "color": colour, "opacity": 0.6},
            hoverinfo="text",
            hovertext=[
                f"“{shown(found['words'][i])}”<br>at once {signed(first[i])}, later {signed(last[i])}<br>"
                f"{100 * found['ratio'][i]:.0f} % stay"
                for i in rows
            ],
            customdata=[found["words"][i] for i in rows],
            row=1,
            col=2,
        )


# --- its modes --------------------------------------------------------------------------------------------------------

_STRONGEST = ((Look("#1b7837", "diamond"), "solid"), (Look("#5aae61", "square"), "dash"))  # dark and light green


def ending_modes(results: Any) -> Figure:
    """Supp. E, from `ending.modes`: which linear modes the effects of words pass through (a), the two strongest over
    time (b), and the effects of some words with and without these two (c)."""
    found = part(results, "ending", "modes")
    n = len(found["strongest"])
    strongest = {1: "the strongest, over time", 2: "the two strongest, over time"}.get(n, "no mode to show")
    figure = panels(
        ["each mode's part in what a word does at once", strongest, "words, with these modes and without"],
        rows=2,
        cols=2,
        specs=[[{"colspan": 2}, None], [{}, {}]],
        vertical_spacing=0.2,
        horizontal_spacing=0.1,
    )
    _modes(figure, found)
    for course, tau, (look, dash) in zip(found["course"], found["strongest_timescales"], _STRONGEST, strict=False):
        _course(figure, f"τ {tau}", course, look, dash, 2, 1, legend=False, name=_mode(tau))
    for kept, dash in (("transients", "solid"), ("without", "dot")):
        for word, course, (look, _) in _examples(found["words"], found[kept], like=found["transients"]):
            name = f"“{shown(word)}”{'' if kept == 'transients' else ', without these modes'}"
            _course(figure, word, course, look, dash, 2, 2, legend=kept == "transients", name=name)
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines",
        name="without these modes",
        line={"color": GREY, "width": 2, "dash": "dot"},
        row=2,
        col=2,
    )
    for column, what in ((1, "mean |effect on the logit|"), (2, "effect on the logit")):
        figure.update_xaxes(title_text=_BLANKS, zeroline=False, row=2, col=column)
        figure.update_yaxes(title_text=what, zerolinecolor=FAINT, row=2, col=column)
    figure.update_yaxes(rangemode="tozero", row=2, col=1)
    figure = styled(
        figure,
        "The end of a document: linear modes through which effects of words fade",
        "timescale τ of the mode (words, log scale)",
        "mean |effect on the logit|",
        "Above: modes of the network linearised at h*; hollow ones are set aside (the one that integrates, and those "
        "as fast as modifiers).<br>The paper's network has two that stand out, with τ of 19.57 and 6.63 words.",
        height=800,
    )
    return legend_below(figure, -0.11, 170, 125)


def _modes(figure: Figure, found: Mapping[str, Any]) -> None:
    times = TimescaleAxis.of(found["timescales"])
    x = [times.at(tau) for tau in found["timescales"]]
    strongest = list(found["strongest"])
    others = [i for i in range(len(x)) if i not in strongest]
    sets: list[tuple[str, list[int], Look, int]] = [
        ("other modes", [i for i in others if found["eligible"][i]], Look(GREY, "circle"), 7),
        ("modes set aside", [i for i in others if not found["eligible"][i]], Look(GREY, "circle-open"), 7),
    ]
    sets += [
        (_mode(tau), [i], look, 12)
        for i, tau, (look, _) in zip(strongest, found["strongest_timescales"], _STRONGEST, strict=False)
    ]
    for name, rows, look, size in sets:
        figure.add_scatter(
            x=[x[i] for i in rows],
            y=[found["change"][i] for i in rows],
            mode="markers",
            name=name,
            marker={"symbol": look.symbol, "color": look.colour, "size": size, "opacity": 0.85},
            hoverinfo="text",
            hovertext=[
                f"{name}<br>λ = {_value(found['eigenvalues'][i])}<br>mean |effect| {found['change'][i]:.3f}"
                for i in rows
            ],
            row=1,
            col=1,
        )
    if times.border is not None:
        figure.add_vline(x=times.border, line={"color": GREY, "width": 1, "dash": "dot"}, row=1, col=1)
    figure.update_xaxes(**times.settings(), row=1, col=1)
    figure.update_yaxes(rangemode="tozero", zerolinecolor=FAINT, row=1, col=1)


def _mode(tau: float) -> str:
    return f"mode of τ = {tau:.1f} words"


def _value(value: Sequence[float]) -> str:
    re, im = value
    return f"{re:.3f}" if im == 0 else f"{re:.3f} ± {abs(im):.3f}i"
