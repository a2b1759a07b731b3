"""Supp. F c: the accuracy that hangs on word order and on the modifier subspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.common.errors import RnnlensError
from rnnlens.figures.stored import part
from rnnlens.figures.style import COMPONENTS, GREY, INK, guide, legend_below, panels, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NEEDS = "they need a corpus; run `rnnlens analyze RUN --corpus CORPUS`"
_PLAIN, _RECENTRED = "threshold at 0, as trained", "threshold with as many positive as there are"


def perturbation(results: Any) -> Figure:
    """Supp. F c, from `accuracy`: accuracy as it is, with the words of each review shuffled, and with the state kept
    out of the first components of the modifier subspace, of the subspaces of other common words, or of random ones.

    On the right, if stored, with the threshold that calls as many reviews positive as there are: there a perturbation
    that only shifts all logits alike costs nothing.
    """
    accuracy = part(results, "accuracy", needs=f"accuracy experiments are missing, {NEEDS}")
    split = next((name for name in ("test", "validation") if f"{name}_subspace_removed" in accuracy), None)
    if split is None:
        raise RnnlensError(f"these results have no accuracy experiments: {NEEDS}")
    removed, random = accuracy[f"{split}_subspace_removed"], accuracy.get(f"{split}_random_removed", {})
    words = accuracy.get(f"{split}_words_removed", {})
    shuffled = accuracy.get(f"{split}_shuffled")
    draws = [one for control in (random, words) for some in control.values() for one in some]
    every = [*removed.values(), *draws, *([shuffled] if shuffled else [])]
    views = [_PLAIN, *([_RECENTRED] if all("recentred" in one for one in every) else [])]
    titles = [f"{view}: {100 * _seen(view)(every[0])['before']:.2f} % as it is" for view in views]
    figure = panels(titles, shared_yaxes=True, horizontal_spacing=0.04)
    ranks = sorted(map(int, removed))
    ends = (-0.6 if shuffled else ranks[0] - 0.6, ranks[-1] + 0.6)
    for column, view in enumerate(views, start=1):
        seen = _seen(view)
        _as_it_is(figure, seen(every[0])["before"], ends, column)
        for control, name, symbol, place in (
            (random, "random subspace removed", "circle-open", 0.2),
            (words, "subspace of other common words removed", "x-thin-open", -0.32),
        ):
            found = {rank: [seen(one) for one in control.get(str(rank), [])] for rank in ranks}
            if any(found.values()):
                _control(figure, found, name, symbol, place, column)
        if shuffled:
            _measured(figure, [0], [seen(shuffled)], "words shuffled", INK, "square-open", column)
        _measured(
            figure,
            ranks,
            [seen(removed[str(rank)]) for rank in ranks],
            "modifier subspace removed",
            COMPONENTS[0].colour,
            "diamond",
            column,
        )
        figure.update_xaxes(
            title_text="dimensions removed from the state",
            range=ends,
            showgrid=False,
            zeroline=False,
            tickvals=[*([0] if shuffled else []), *ranks],
            ticktext=[*(["none, words<br>shuffled"] if shuffled else []), *map(str, ranks)],
            row=1,
            col=column,
        )
    n = next(iter(removed.values()))["n"]
    figure = styled(
        figure,
        "What accuracy hangs on: word order, and the modifier subspace",
        "dimensions removed from the state",
        f"accuracy on {n:,} {split} reviews (%)",
        "Whiskers: 95 % intervals of the difference from the network as it is (the dashed line), over the same "
        "reviews. Circles and<br>crosses: one control each, of the same rank. The axis does not start at 0.",
        height=540,
    )
    figure.update_yaxes(zeroline=False, gridcolor="#edf2f7")
    return legend_below(figure, -0.26, 270, 120)


def _seen(view: str) -> Any:
    return (lambda one: one) if view == _PLAIN else (lambda one: one["recentred"])


def _as_it_is(figure: Figure, before: float, ends: tuple[float, float], column: int) -> None:
    guide(figure, ends, (100 * before, 100 * before), column, {"color": GREY, "width": 2, "dash": "dash"})
    if column == 1:
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines",
            name="the network as it is",
            line={"color": GREY, "width": 2, "dash": "dash"},
            row=1,
            col=1,
        )


def _measured(
    figure: Figure,
    at: Sequence[float],
    found: Sequence[Mapping[str, Any]],
    name: str,
    colour: str,
    symbol: str,
    column: int,
) -> None:
    """Accuracies with the intervals of their differences."""
    figure.add_scatter(
        x=[x - 0.1 if x else x for x in at],
        y=[100 * one["accuracy"] for one in found],
        mode="markers",
        name=name,
        legendgroup=name,
        showlegend=column == 1,
        marker={"symbol": symbol, "size": 11, "color": colour, "line": {"width": 1.5, "color": colour}},
        error_y={
            "type": "data",
            "symmetric": False,
            "thickness": 1.5,
            "width": 5,
            "color": colour,
            "array": [100 * (one["interval"][1] - one["difference"]) for one in found],
            "arrayminus": [100 * (one["difference"] - one["interval"][0]) for one in found],
        },
        hovertext=[f"{name}{f', rank {x}' if x else ''}<br>{_said(one)}" for x, one in zip(at, found, strict=True)],
        hoverinfo="text",
        row=1,
        col=column,
    )


def _control(
    figure: Figure, found: Mapping[int, Sequence[Mapping[str, Any]]], name: str, symbol: str, place: float, column: int
) -> None:
    """A mark for each draw, side by side around a place beside the rank."""
    x, y, hover = [], [], []
    for rank, draws in found.items():
        for k, one in enumerate(draws):
            x.append(rank + place + 0.28 * ((k + 0.5) / len(draws) - 0.5))
            y.append(100 * one["accuracy"])
            hover.append(f"{name}, rank {rank}<br>{_said(one)}")
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers",
        name=name,
        legendgroup=name,
        showlegend=column == 1,
        marker={"symbol": symbol, "size": 6, "color": "#4a5568", "line": {"width": 1.2, "color": "#4a5568"}},
        hovertext=hover,
        hoverinfo="text",
        row=1,
        col=column,
    )


def _said(one: Mapping[str, Any]) -> str:
    low, high = (signed(100 * edge) for edge in one["interval"])
    return (
        f"accuracy {100 * one['accuracy']:.2f} %<br>{signed(100 * one['difference'])} (95 %: {low} … {high})<br>"
        f"p {one['p']:.2g}: {one['lost']} reviews lost, {one['won']} won"
    )
