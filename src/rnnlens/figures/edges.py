"""Fig. 9 and Supp. E: words at the beginning and at the end of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import percent, signed
from rnnlens.figures.axes import TimescaleAxis
from rnnlens.figures.barcodes import draw_barcode, kind_text, probe_words, same_scale
from rnnlens.figures.modes import value_text
from rnnlens.figures.stored import part, perhaps, two_coordinates
from rnnlens.figures.style import FAINT, GREY, INK, Look, guide, legend_below, look_of_kind, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NO_MODES = "the eigenvectors of J_rec at h* do not exist, as with a convolution, or do not fit into memory"
_BLANKS = "blank inputs since the word"
# Triangles point up for words that raise the logit, down for others; the second word of each has an open triangle.
_RISING = ((Look("#1b7837", "triangle-up"), "solid"), (Look("#1b7837", "triangle-up-open"), "dash"))
_FALLING = ((Look("#762a83", "triangle-down"), "solid"), (Look("#762a83", "triangle-down-open"), "dash"))


# --- the beginning ----------------------------------------------------------------------------------------------------


def beginning(results: Any) -> Figure:
    """Fig. 9a, b, from `beginning`: the barcode of the initial state h0, and the path of h0 under blank inputs in the
    modifier subspace, with the modifiers for comparison."""
    stored, probes = part(results, "beginning"), probe_words(results)
    figure = panels(["effect of h<sub>0</sub> on the first words", "h<sub>0</sub> in the modifier subspace"])
    barcode = stored["barcode"]
    draw_barcode(figure, barcode, probes, look_of_kind(barcode["kind"]), "h<sub>0</sub>")
    same_scale(figure, [barcode], probes)
    _initial_path(figure, results, two_coordinates(stored["path"]), stored["distance"])
    figure.update_xaxes(title_text=probes.said(), row=1, col=1)
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
        f"({kind_text(barcode)}).<br>{_distances(stored)}{_accuracy(stored, 'h0_projected', _WITHOUT)}",
        height=540,
    )
    return legend_below(figure, -0.19, 200, 110)


_WITHOUT = "Accuracy with h<sub>0</sub> moved out of the 2-D subspace"
_PADDED = "Accuracy with 50 blank inputs appended"


def _distances(stored: Mapping[str, Any]) -> str:
    first, last = stored["distance"][0], stored["distance"][-1]
    return f"h<sub>0</sub> is {first:.2f} from the line, after {len(stored['distance']) - 1} blank inputs {last:.2f}. "


def _accuracy(stored: Mapping[str, Any], key: str, what: str) -> str:
    """The stored differences in accuracy, by split."""
    differences = [
        f"{signed(100 * stored[split][key]['difference'])} points ({split})"
        for split in ("test", "validation", "train")
        if key in stored.get(split, {})
    ]
    return f"{what}: {', '.join(differences)}." if differences else ""


def _initial_path(figure: Figure, results: Any, path: Sequence[tuple[float, float]], distance: Sequence[float]) -> None:
    """Draw the path of h0 under blank inputs and, for scale, the modifiers if they are stored."""
    subspace = perhaps(results, "subspace")
    if subspace:
        x, y = zip(*two_coordinates(subspace["coordinates"]), strict=True)
        figure.add_scatter(
            x=x,
            y=y,
            mode="markers",
            name="modifiers, for comparison",
            marker={"size": 5, "color": FAINT},
            hovertext=[f"“{shown(word)}”" for word in subspace["words"]],
            hoverinfo="text",
            customdata=list(subspace["words"]),
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
    """Fig. 9c, d, from `ending`: the effect of single valence words on the logit over time, and the lasting effect of
    all probe words against their effect at once."""
    stored = part(results, "ending")
    figure = panels(["a word's effect over time", "at once, and in the long run"])
    examples = stored.get("modes", stored)
    steps = len(stored["transients"][0])
    guide(figure, (0, steps - 1), (0, 0), 1, {"color": GREY, "width": 1})
    for word, course, (look, dash) in _examples(examples["words"], examples["transients"]):
        _course(figure, word, course, look, dash, 1, 1)
    _lasting(figure, stored)
    figure.update_xaxes(title_text=_BLANKS, zeroline=False, row=1, col=1)
    figure.update_xaxes(title_text="effect on the logit at once", zerolinecolor=FAINT, row=1, col=2)
    figure.update_yaxes(title_text=f"effect {steps - 1} blank inputs later", zerolinecolor=FAINT, row=1, col=2)
    figure.update_yaxes(zeroline=False, row=1, col=1)
    figure = styled(
        figure,
        "The end of a document: effects of words that have not yet settled",
        _BLANKS,
        "effect on the logit",
        "The effect is the logit with the word minus the logit without it. Where it shrinks with time, words at the "
        f"end of a text count more.<br>The median word keeps {percent(stored['ratio_median'], 0)} and settles within "
        f"{stored['settled_median']:.0f} inputs. {_accuracy(stored, 'padded', _PADDED)}",
        height=540,
    )
    return legend_below(figure, -0.19, 170, 110)


def _examples(
    words: Sequence[str],
    courses: Sequence[Sequence[float]],
    like: Sequence[Sequence[float]] | None = None,
    most: int = 4,
) -> list[tuple[str, Sequence[float], tuple[Look, str]]]:
    """Words with their effects over time and their looks. The sign of the last value of a course, or of its counterpart
    in `like`, decides between up and down."""
    examples, counts = [], {True: 0, False: 0}
    for word, course, shape in list(zip(words, courses, like or courses, strict=True))[:most]:
        rises = shape[-1] >= 0
        examples.append((word, course, (_RISING if rises else _FALLING)[counts[rises] % 2]))
        counts[rises] += 1
    return examples


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


def _lasting(figure: Figure, stored: Mapping[str, Any]) -> None:
    first, last = ([course[i] for course in stored["transients"]] for i in (0, -1))
    ends = (min([*first, 0.0]), max([*first, 0.0]))
    guide(figure, ends, ends, 2, {"color": GREY, "width": 1.5, "dash": "dot"})
    figure.data[-1].update(showlegend=True, name="100 % stay")
    slope = stored["ratio_median"]
    guide(figure, ends, [slope * x for x in ends], 2, {"color": INK, "width": 1.5, "dash": "dash"})
    figure.data[-1].update(showlegend=True, name=f"{percent(slope, 0)} stay (median)")
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
                f"“{shown(stored['words'][i])}”<br>at once {signed(first[i])}, later {signed(last[i])}<br>"
                f"{percent(stored['ratio'][i], 0)} stay"
                for i in rows
            ],
            customdata=[stored["words"][i] for i in rows],
            row=1,
            col=2,
        )


# --- its modes --------------------------------------------------------------------------------------------------------

_STRONGEST = ((Look("#1b7837", "diamond"), "solid"), (Look("#5aae61", "square"), "dash"))  # dark and light green


def ending_modes(results: Any) -> Figure:
    """Supp. E, from `ending.modes`: how much each linear mode contributes to the effects of words (a), the two
    strongest modes over time (b), and the effects of example words with and without these two (c)."""
    part(results, "ending")
    stored = part(results, "ending", "modes", needs=NO_MODES)
    n = len(stored["strongest"])
    strongest = {1: "the strongest, over time", 2: "the two strongest, over time"}.get(n, "no mode to show")
    figure = panels(
        ["each mode's part in a word's effect at once", strongest, "words, with and without these modes"],
        rows=2,
        cols=2,
        specs=[[{"colspan": 2}, None], [{}, {}]],
        vertical_spacing=0.2,
        horizontal_spacing=0.1,
    )
    _modes(figure, stored)
    for course, tau, (look, dash) in zip(stored["course"], stored["strongest_timescales"], _STRONGEST, strict=False):
        _course(figure, f"τ {tau}", course, look, dash, 2, 1, legend=False, name=_mode(tau))
    drawn = [("transients", "solid"), *([] if stored["without"] is None else [("without", "dot")])]
    for kept, dash in drawn:
        for word, course, (look, _) in _examples(stored["words"], stored[kept], like=stored["transients"]):
            name = f"“{shown(word)}”{'' if kept == 'transients' else ', without these modes'}"
            _course(figure, word, course, look, dash, 2, 2, legend=kept == "transients", name=name)
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines",
        name="without these modes" if stored["without"] is not None else "without these modes the effect diverges",
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
        "The end of a document: the linear modes through which the effects of words fade",
        "timescale τ of the mode (words, log scale)",
        "mean |effect on the logit|",
        "Above: modes of the network linearized at h*; hollow ones are set aside (the integration mode, and those as "
        "fast as modifiers).<br>In the paper's network two modes stand out, with τ of 19.57 and 6.63 words.",
        height=800,
    )
    return legend_below(figure, -0.11, 170, 125)


def _modes(figure: Figure, stored: Mapping[str, Any]) -> None:
    times = TimescaleAxis.of(stored["timescales"])
    x = [times.at(tau) for tau in stored["timescales"]]
    strongest = list(stored["strongest"])
    others = [i for i in range(len(x)) if i not in strongest]
    sets: list[tuple[str, list[int], Look, int]] = [
        ("other modes", [i for i in others if stored["eligible"][i]], Look(GREY, "circle"), 7),
        ("modes set aside", [i for i in others if not stored["eligible"][i]], Look(GREY, "circle-open"), 7),
    ]
    sets += [
        (_mode(tau), [i], look, 12)
        for i, tau, (look, _) in zip(strongest, stored["strongest_timescales"], _STRONGEST, strict=False)
    ]
    for name, rows, look, size in sets:
        figure.add_scatter(
            x=[x[i] for i in rows],
            y=[stored["change"][i] for i in rows],
            mode="markers",
            name=name,
            marker={"symbol": look.symbol, "color": look.colour, "size": size, "opacity": 0.85},
            hoverinfo="text",
            hovertext=[
                f"{name}<br>λ = {value_text(stored['eigenvalues'][i], True, 3)}<br>"
                f"mean |effect| {stored['change'][i]:.3f}"
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
