"""Accuracy and modification against the gain of the modifier subspace (`rnnlens.steer`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.figures.stored import part, side_names
from rnnlens.figures.style import COMPONENTS, FAINT, GREY, guide, legend_below, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NEEDS = "the dose-response needs a corpus; run `rnnlens analyze RUN --corpus CORPUS`"
STEERED = "words write more or less into the modifier subspace"
RECENTRED = "the same, with a threshold at the true share of positives"
CONTROLS = {  # part of `steering` → its name, symbol and dash
    "random": ("into as many random directions", "circle-open", "dot"),
    "others": ("into as many directions of other common words", "x-thin-open", "dashdot"),
}


def dose_response(results: Any) -> Figure:
    """From `steering`: on the left the accuracy at each gain, with the interval of its difference from gain 1; on the
    right the modification, with its interval over modifiers. Controls steer along other directions."""
    steering = part(results, "steering", needs=NEEDS)
    measured = any(dose["modification"] is not None for dose in steering["doses"])
    before = steering["doses"][0]["accuracy"]["before"]
    titles = [f"accuracy: {100 * before:.2f} % at gain 1", *(["how strongly modifiers modify"] if measured else [])]
    figure = panels(titles, horizontal_spacing=0.11)
    draw_accuracy(figure, steering, 1, 1)
    if measured:
        draw_modification(figure, steering, 1, 2)
    n, split = steering["doses"][0]["accuracy"]["n"], shown(steering.get("split", "test"))
    texts = side_names(results).texts
    figure = styled(
        figure,
        "A dial for context: the gain of the modifier subspace",
        "gain",
        f"accuracy on {n:,} {split} {texts} (%)",
        "Words write gain times as much into the subspace: 0 nothing, 1 as the network is. Whiskers: 95 % intervals, "
        f"of the difference from gain 1<br>over the same {texts}, and of the modification over modifiers (1: as the "
        "network is, 0: none). Faint lines: single draws of a control.",
        height=500,
    )
    if measured:
        figure.update_yaxes(title_text="modification", row=1, col=2)
        figure.update_xaxes(title_text="gain", row=1, col=2)
    figure.update_yaxes(gridcolor="#edf2f7", zeroline=False)
    return legend_below(figure, -0.2, 420, 130).update_layout(legend_traceorder="reversed")


def draw_accuracy(figure: Figure, steering: Mapping[str, Any], row: int, column: int, legend: bool = True) -> None:
    """Draw the accuracy against the gain in a panel."""
    doses = steering["doses"]
    before = 100 * doses[0]["accuracy"]["before"]
    guide(figure, _ends(doses), (before, before), column, {"color": FAINT, "width": 1.5, "dash": "dash"}, row)
    for name in CONTROLS:
        _control(figure, steering.get(name, []), name, _accuracy, row, column, legend)
    changes = [dose["accuracy"] for dose in doses]
    if all("recentred" in change for change in changes):
        _recentred(figure, doses, row, column, legend)
    above = [100 * (change["interval"][1] - change["difference"]) for change in changes]
    below = [100 * (change["difference"] - change["interval"][0]) for change in changes]
    _curve(figure, doses, _accuracy, (above, below), row, column, legend)


def draw_modification(figure: Figure, steering: Mapping[str, Any], row: int, column: int, legend: bool = False) -> None:
    """Draw the modification against the gain in a panel."""
    doses = steering["doses"]
    guide(figure, _ends(doses), (1, 1), column, {"color": FAINT, "width": 1.5, "dash": "dash"}, row)
    for name in CONTROLS:
        _control(figure, steering.get(name, []), name, _modification, row, column, legend)
    above = [dose["interval"][1] - dose["modification"] for dose in doses]
    below = [dose["modification"] - dose["interval"][0] for dose in doses]
    _curve(figure, doses, _modification, (above, below), row, column, legend)


def _accuracy(dose: Mapping[str, Any]) -> float:
    return 100 * dose["accuracy"]["accuracy"]


def _modification(dose: Mapping[str, Any]) -> float:
    return dose["modification"]


def _ends(doses: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    gains = [dose["gain"] for dose in doses]
    return min(gains), max(gains)


def _curve(
    figure: Figure,
    doses: Sequence[Mapping[str, Any]],
    value: Any,
    whiskers: tuple[list[float], list[float]],
    row: int,
    column: int,
    legend: bool,
) -> None:
    colour, symbol = COMPONENTS[0].colour, "diamond"
    figure.add_scatter(
        x=[dose["gain"] for dose in doses],
        y=[value(dose) for dose in doses],
        mode="lines+markers",
        name=STEERED,
        legendgroup=STEERED,
        showlegend=legend,
        line={"color": colour, "width": 2},
        marker={"symbol": symbol, "size": 9, "color": colour},
        error_y={
            "type": "data",
            "symmetric": False,
            "thickness": 1.5,
            "width": 4,
            "color": colour,
            "array": whiskers[0],
            "arrayminus": whiskers[1],
        },
        hovertext=[_hover(dose) for dose in doses],
        hoverinfo="text",
        row=row,
        col=column,
    )


def _recentred(figure: Figure, doses: Sequence[Mapping[str, Any]], row: int, column: int, legend: bool) -> None:
    """Accuracies that a shift of all logits does not change."""
    changes = [dose["accuracy"]["recentred"] for dose in doses]
    figure.add_scatter(
        x=[dose["gain"] for dose in doses],
        y=[100 * change["accuracy"] for change in changes],
        mode="lines",
        name=RECENTRED,
        legendgroup=RECENTRED,
        showlegend=legend,
        line={"color": COMPONENTS[1].colour, "width": 1.5, "dash": "dash"},
        hovertext=[
            f"{RECENTRED}<br>gain {dose['gain']:g}: {100 * change['accuracy']:.2f} %"
            for dose, change in zip(doses, changes, strict=True)
        ],
        hoverinfo="text",
        row=row,
        col=column,
    )


def _control(
    figure: Figure,
    draws: Sequence[Sequence[Mapping[str, Any]]],
    control: str,
    value: Any,
    row: int,
    column: int,
    legend: bool,
) -> None:
    """A faint line for each draw, and their mean."""
    if not draws:
        return
    name, symbol, dash = CONTROLS[control]
    gains = [dose["gain"] for dose in draws[0]]
    columns = [[value(draw[k]) for draw in draws] for k in range(len(gains))]
    for k in range(len(draws)) if len(draws) > 1 else ():
        guide(figure, gains, [of[k] for of in columns], column, {"color": FAINT, "width": 1}, row)
    means = [sum(of) / len(of) for of in columns]
    title = f"{name}, mean of {len(draws)} draws" if len(draws) > 1 else name
    figure.add_scatter(
        x=gains,
        y=means,
        mode="lines+markers",
        name=title,
        legendgroup=control,
        showlegend=legend,
        line={"color": GREY, "width": 1.5, "dash": dash},
        marker={"symbol": symbol, "size": 7, "color": GREY, "line": {"width": 1.5, "color": GREY}},
        hovertext=[
            f"{title}<br>gain {gain:g}: {mean:.2f}<br>single draws: {', '.join(f'{x:.2f}' for x in of)}"
            for gain, mean, of in zip(gains, means, columns, strict=True)
        ],
        hoverinfo="text",
        row=row,
        col=column,
    )


def _hover(dose: Mapping[str, Any]) -> str:
    change = dose["accuracy"]
    low, high = (signed(100 * edge) for edge in change["interval"])
    text = f"gain {dose['gain']:g}<br>accuracy {100 * change['accuracy']:.2f} %"
    if dose["gain"] != 1:
        text += f"<br>{signed(100 * change['difference'])} (95 %: {low} … {high}), p {change['p']:.2g}"
    if dose["modification"] is not None:
        text += "<br>modification {:.2f} (95 %: {:.2f} … {:.2f})".format(dose["modification"], *dose["interval"])
    return text
