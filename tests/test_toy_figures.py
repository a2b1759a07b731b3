"""The figures of the toy study: drawn from stored results, with the stored numbers, for any words."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from rnnlens import figures
from rnnlens.figures.labels import clearest, covered
from rnnlens.figures.style import look_of, shown

ODD = '<b>x</b> & "y" {1} %{x}'  # a word that is markup, an entity, quotes and templates at once


def phrase(words: list[str], path: list[list[float]]) -> dict[str, Any]:
    return {"words": [*words, "<pad>"], "path": path, "logits": [0.0, *([0.1] * (len(words) - 1)), path[-1][0], 1.5]}


def state_space(not_: str = "not") -> dict[str, Any]:
    start = [0.0, 0.0, 0.0]
    phrases = {
        "good": phrase(["good"], [start, [0.4, 0.9, 0.1], [0.3, 1.0, 0.0]]),
        "bad": phrase(["bad"], [start, [-0.4, -0.9, 0.1], [-0.3, -1.0, 0.0]]),
        "extremely good": phrase(["extremely", "good"], [start, [-2.0, 0.1, 1.0], [0.2, 2.1, 0.3], [0.0, 2.0, 0.0]]),
        f"{not_} bad": phrase([not_, "bad"], [start, [3.0, 0.2, -1.0], [2.5, 0.8, -2.0], [0.1, 1.1, 0.0]]),
    }
    return {
        "variance": [0.5, 0.25, 0.125],
        "line": {"path": [[0.0, t, 0.0] for t in (-3.0, 0.0, 3.0)], "logits": [-3.0, 0.0, 3.0]},
        "slow_points": {"at": [[0.01, 0.5, 0.0], [-0.01, -4.0, 0.0]], "logits": [0.5, -4.0]},
        "ticks": {"valence": [-2.0, 0.0, 2.0], "at": [[0.0, t, 0.0] for t in (-2.0, 0.0, 2.0)]},
        "h_pre": {"at": start, "logit": -0.01},
        "phrases": phrases,
    }


def deflection(not_: str = "not") -> dict[str, Any]:
    def record(scope: int, distance: list[float], without: list[float]) -> dict[str, Any]:
        effect = [1.01 if k < scope else 0.02 for k in range(4)]
        return {"scope": scope, "distance": distance, "distance_without": without, "effect": effect}

    pads, words = [0.1, 0.11, 0.12, 0.13], [0.3, 0.4, 0.5, 0.6]
    return {
        "extremely": {"<pad>": record(1, [2.0, 0.3, 0.2, 0.1], pads), "the": record(1, [2.0, 0.5, 0.4, 0.3], words)},
        not_: {"<pad>": record(2, [5.0, 4.5, 1.0, 0.5], pads), "the": record(2, [5.0, 4.6, 1.2, 0.6], words)},
    }


def modes(not_: str = "not") -> dict[str, Any]:
    values = [[1.001, 0.0], [0.5, 0.25], [0.5, -0.25], [0.05, 0.0]]
    found = {"eigenvalues": values, "timescales": [None, 1.7, 1.7, 0.33], "integration": 0, "q": 1e-5, "logit": 0.1}
    return {"extremely": {**found, "aligned": [3]}, not_: {**found, "aligned": [1, 2]}}


def mode_angles(not_: str = "not") -> dict[str, Any]:
    found = {
        "units": [[0], [1, 2], [3]],
        "eigenvalues": [[1.001, 0.0], [0.5, 0.25], [0.05, 0.0]],
        "timescales": [None, 1.7, 0.33],
    }
    return {"extremely": {**found, "angles": [89.0, 70.0, 41.5]}, not_: {**found, "angles": [88.0, 50.5, 77.0]}}


def mode_removal(not_: str = "not") -> dict[str, Any]:
    def removal(order: str, remaining: list[float]) -> dict[str, Any]:
        return {
            "order": order,
            "units": [[1, 2], [3]],
            "eigenvalues": [[0.5, 0.25], [0.05, 0.0]],
            "remaining": remaining,
            "random_remaining": [[1.0, 0.9, 0.7], [1.0, 1.0, 1.0], [1.0, 1.1, 1.3]],
            "rotated_remaining": [[1.0, 0.8, 0.6]],
        }

    variants = {
        f"{what}_{kind}_{order}": removal(order, [1.0, 0.3 + shift, 0.1 + shift])
        for what, kind, shift in (("state", "orthogonal", 0.0), ("input", "biorthogonal", 0.05))
        for order in ("single", "greedy")
    }
    return {
        "extremely": {"neutral": 0, "words": ["bad"], **variants},
        not_: {"neutral": 3, "words": ["bad"], **variants},
    }


def linear_quality(not_: str = "not") -> dict[str, Any]:
    return {
        "contexts": ["", "extremely", not_, f"{not_} the the"],
        "words": ["bad", "good"],
        "ratio": 1.062,
        "agreement": 0.934,
        "linear": [[-1.1, 1.1], [-2.2, 2.3], [1.2, -1.0], [1.3, -1.4]],
        "full": [[-1.0, 1.02], [-2.0, 2.01], [1.01, -0.99], [1.03, -1.05]],
    }


ALL: dict[Callable[..., Any], Callable[..., dict[str, Any]]] = {
    figures.state_space: state_space,
    figures.deflections: deflection,
    figures.spectra: modes,
    figures.mode_angles: mode_angles,
    figures.mode_removal: mode_removal,
    figures.linear_quality: linear_quality,
}
every_figure = pytest.mark.parametrize("draw", list(ALL), ids=lambda draw: draw.__name__)


def points(figure: Any) -> set[tuple[Any, Any]]:
    """Everything drawn, as (x, y)."""
    return {point for trace in figure.data for point in zip(trace.x, trace.y, strict=True)}


def texts(figure: Any) -> list[str]:
    """All that Plotly takes for markup."""
    found = [figure.layout.title.text, *(a.text for a in figure.layout.annotations)]
    for trace in figure.data:
        found += [trace.name or "", *(trace.hovertext or ())]
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        found += [axis.title.text or "", *(axis.ticktext or ())]
    return found


@cache
def drawn(draw: Callable[..., Any], word: str = "not") -> Any:
    """A figure, drawn once for all tests; none changes it, and drawing it changes no result."""
    result = ALL[draw](word)
    before = copy.deepcopy(result)
    figure = draw(result)
    assert result == before
    return figure


@every_figure
def test_a_figure_leaves_its_result_as_it_was_and_is_plain_json(draw):
    assert json.loads(drawn(draw).to_json())["data"]


@every_figure
def test_words_are_never_read_as_markup(draw):
    figure = drawn(draw, ODD)
    assert not any("<b>x" in text for text in texts(figure))
    assert any(shown(ODD) in text for text in texts(figure)), "and still are shown whole"
    assert all(trace.hovertemplate is None for trace in figure.data), "nor as templates"


def test_state_space_draws_every_path_in_both_planes_and_lands_on_a_triangle():
    result = state_space()
    figure = drawn(figures.state_space)
    seen = points(figure)
    for found in result["phrases"].values():
        for x, y, z in found["path"]:
            assert (x, y) in seen and (x, z) in seen
    ends = {t.name: t.marker.symbol[-1] for t in figure.data if isinstance(t.marker.symbol, tuple)}
    assert ends["“good”"] == ends["“extremely good”"] == "triangle-up"
    assert ends["“bad”"] == ends["“not bad”"] == "triangle-down"


def test_deflections_draw_each_modifier_over_each_filling_and_the_control_once():
    result = deflection()
    figure = drawn(figures.deflections)
    curves = [tuple(trace.y) for trace in figure.data]
    for fills in result.values():
        for found in fills.values():
            assert tuple(found["effect"]) in curves and tuple(found["distance"]) in curves
            assert curves.count(tuple(found["distance_without"])) == 1
    assert {t.line.dash for t in figure.data if t.name.endswith("blank inputs")} == {"solid"}
    assert {t.line.dash for t in figure.data if t.name.endswith("“the”")} == {"dash"}
    assert any("“not” applies to 2 words" in note.text for note in figure.layout.annotations)


def test_spectra_draw_every_eigenvalue_once_in_equal_axes():
    result = modes()
    figure = drawn(figures.spectra)
    for axis, found in (("x", result["extremely"]), ("x2", result["not"])):
        traces = [trace for trace in figure.data if (trace.xaxis or "x") == axis]
        seen = [point for trace in traces for point in zip(trace.x, trace.y, strict=True)]
        assert sorted(seen) == sorted(map(tuple, found["eigenvalues"]))
    assert (figure.layout.yaxis.scaleanchor, figure.layout.yaxis2.scaleanchor) == ("x", "x2")
    (aligned,) = (trace for trace in figure.data if trace.name.endswith("“not”"))
    assert aligned.y == (0.25, -0.25) and aligned.marker.color == look_of("not").colour


def test_mode_angles_give_endless_modes_a_place_beyond_all_others():
    result = mode_angles()
    figure = drawn(figures.mode_angles)
    seen = {y: x for x, y in points(figure)}
    for found in result.values():
        for tau, angle in zip(found["timescales"], found["angles"], strict=True):
            assert seen[angle] == tau if tau is not None else seen[angle] > 1.7
    ticks = dict(zip(figure.layout.xaxis.ticktext, figure.layout.xaxis.tickvals, strict=True))
    assert ticks["∞"] == seen[89.0]
    pairs = next(trace for trace in figure.data if 70.0 in trace.y)
    assert pairs.marker.symbol == "diamond" and "period" in pairs.hovertext[0]


def test_mode_removal_draws_both_orders_and_the_median_of_the_controls():
    figure = drawn(figures.mode_removal)
    curves = [tuple(trace.y) for trace in figure.data]
    assert curves.count((1.0, 0.3, 0.1)) == 4  # two orders, two modifiers
    assert (1.0, 1.0, 1.0) in curves and (1.0, 0.8, 0.6) in curves
    band = next(trace for trace in figure.data if trace.fill == "toself")
    assert sorted(band.y) == pytest.approx([0.85, 0.95, 1.0, 1.0, 1.05, 1.15])
    hover = next(trace for trace in figure.data if tuple(trace.y) == (1.0, 0.3, 0.1)).hovertext
    assert "modes 1 and 2" in hover[1] and "0.500 ± 0.250i" in hover[1] and "mode 3" in hover[2]


def test_a_label_goes_where_it_covers_least_and_stays_in_its_panel():
    at, size, room = (50.0, 50.0), (20.0, 10.0), (100.0, 100.0)
    crowd = [(50.0 + k, 50.0) for k in range(0, 40, 2)]
    shift = clearest(at, size, crowd, room)
    assert covered((at[0] + shift[0], at[1] + shift[1]), size, crowd) == 0
    assert clearest((2.0, 50.0), size, [], room)[0] > 0
