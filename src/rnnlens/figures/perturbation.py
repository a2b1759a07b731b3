"""Supp. F c: how much accuracy depends on word order and on the modifier subspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.common.errors import RnnlensError
from rnnlens.figures.stored import part, side_names
from rnnlens.figures.style import COMPONENTS, GREY, INK, guide, legend_below, panels, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NEEDS = "accuracy experiments need a corpus; run `rnnlens analyze RUN --corpus CORPUS`"
_PLAIN, _RECENTRED = "threshold at 0, as trained", "threshold at the true share of positives"
_MOST_PROBABLE = "the most probable class"  # is read, if there are several


def perturbation(results: Any) -> Figure:
    """Supp. F c, from `accuracy`: accuracy of the unchanged network, with the words of each review shuffled, and with
    the first components of the modifier subspace, of subspaces of other common words or of random ones removed.

    On the right, if stored, with a threshold at which the share of positive predictions is the true one: there a
    perturbation that shifts all logits by the same amount costs nothing.
    """
    accuracy = part(results, "accuracy", needs=NEEDS)
    split = next((name for name in ("test", "validation") if f"{name}_subspace_removed" in accuracy), None)
    if split is None:
        raise RnnlensError(f"these results have no accuracies of a perturbed network: {NEEDS}")
    removed, random = accuracy[f"{split}_subspace_removed"], accuracy.get(f"{split}_random_removed", {})
    words = accuracy.get(f"{split}_words_removed", {})
    shuffled = accuracy.get(f"{split}_shuffled")
    draws = [draw for control in (random, words) for of_rank in control.values() for draw in of_rank]
    every = [*removed.values(), *draws, *([shuffled] if shuffled else [])]
    views = [_PLAIN, *([_RECENTRED] if all("recentred" in measured for measured in every) else [])]
    named = {_PLAIN: _MOST_PROBABLE} if side_names(results).name else {}
    titles = [f"{named.get(view, view)}: {100 * _reader(view)(every[0])['before']:.2f} % unchanged" for view in views]
    figure = panels(titles, shared_yaxes=True, horizontal_spacing=0.04)
    ranks = sorted(map(int, removed))
    ends = (-0.6 if shuffled else ranks[0] - 0.6, ranks[-1] + 0.6)
    for column, view in enumerate(views, start=1):
        at_threshold = _reader(view)
        _unchanged(figure, at_threshold(every[0])["before"], ends, column)
        for control, name, symbol, place in (
            (random, "random subspace removed", "circle-open", 0.2),
            (words, "subspace of other common words removed", "x-thin-open", -0.32),
        ):
            draws_by_rank = {rank: [at_threshold(draw) for draw in control.get(str(rank), [])] for rank in ranks}
            if any(draws_by_rank.values()):
                _control(figure, draws_by_rank, name, symbol, place, column)
        if shuffled:
            _measured(figure, [0], [at_threshold(shuffled)], "words shuffled", INK, "square-open", column)
        _measured(
            figure,
            ranks,
            [at_threshold(removed[str(rank)]) for rank in ranks],
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
    n, texts = next(iter(removed.values()))["n"], side_names(results).texts
    figure = styled(
        figure,
        "Which perturbations cost accuracy: word order and the modifier subspace",
        "dimensions removed from the state",
        f"accuracy on {n:,} {split} {texts} (%)",
        f"Whiskers: 95 % intervals of the difference from the unchanged network (dashed line), over the same {texts}. "
        "Each circle and<br>cross is one control of the same rank. The axis does not start at 0.",
        height=540,
    )
    figure.update_yaxes(zeroline=False, gridcolor="#edf2f7")
    return legend_below(figure, -0.26, 270, 120)


def _reader(view: str) -> Any:
    """A function that takes a measurement and returns its values at the threshold of the view."""
    return (lambda measured: measured) if view == _PLAIN else (lambda measured: measured["recentred"])


def _unchanged(figure: Figure, before: float, ends: tuple[float, float], column: int) -> None:
    guide(figure, ends, (100 * before, 100 * before), column, {"color": GREY, "width": 2, "dash": "dash"})
    if column == 1:
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines",
            name="the unchanged network",
            line={"color": GREY, "width": 2, "dash": "dash"},
            row=1,
            col=1,
        )


def _measured(
    figure: Figure,
    at: Sequence[float],
    measured: Sequence[Mapping[str, Any]],
    name: str,
    colour: str,
    symbol: str,
    column: int,
) -> None:
    """Draw accuracies with the intervals of their differences."""
    figure.add_scatter(
        x=[x - 0.1 if x else x for x in at],
        y=[100 * m["accuracy"] for m in measured],
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
            "array": [100 * (m["interval"][1] - m["difference"]) for m in measured],
            "arrayminus": [100 * (m["difference"] - m["interval"][0]) for m in measured],
        },
        hovertext=[f"{name}{f', rank {x}' if x else ''}<br>{_hover(m)}" for x, m in zip(at, measured, strict=True)],
        hoverinfo="text",
        row=1,
        col=column,
    )


def _control(
    figure: Figure,
    draws_by_rank: Mapping[int, Sequence[Mapping[str, Any]]],
    name: str,
    symbol: str,
    place: float,
    column: int,
) -> None:
    """Draw a mark for each random draw, side by side, shifted from the rank by `place`."""
    x, y, hover = [], [], []
    for rank, draws in draws_by_rank.items():
        for k, draw in enumerate(draws):
            x.append(rank + place + 0.28 * ((k + 0.5) / len(draws) - 0.5))
            y.append(100 * draw["accuracy"])
            hover.append(f"{name}, rank {rank}<br>{_hover(draw)}")
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


def _hover(measured: Mapping[str, Any]) -> str:
    low, high = (signed(100 * edge) for edge in measured["interval"])
    return (
        f"accuracy {100 * measured['accuracy']:.2f} %<br>"
        f"{signed(100 * measured['difference'])} (95 %: {low} … {high})<br>"
        f"p {measured['p']:.2g}: {measured['lost']} lost, {measured['won']} won"
    )
