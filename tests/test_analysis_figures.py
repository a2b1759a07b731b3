"""The figures of the analysis: drawn from stored results alone, with the stored numbers, for any words."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from rnnlens import figures
from rnnlens.common.errors import RnnlensError
from rnnlens.figures.style import MODIFIERS, look_of_kind, shown

ODD = '<b>x</b> & "q" %{x} 🙂 ليس'  # markup, an entity, quotes, a template, an emoji, letters from right to left
EXACT = 0.123456  # six digits, as stored


def difference(accuracy: float, before: float, recentred: bool = True) -> dict[str, Any]:
    change = accuracy - before
    found = {
        "accuracy": accuracy,
        "before": before,
        "interval": [change - 0.01, change + 0.02],
        "p": 0.04,
        "lost": 9,
        "won": 3,
        "n": 300,
        "difference": change,
    }
    return {**found, "recentred": difference(accuracy + 0.005, before + 0.001, False)} if recentred else found


def barcode(kind: str, share: float) -> dict[str, Any]:
    positive, negative = [share, 0.5 * share], [-share, EXACT]
    return {
        "kind": kind,
        "share": share,
        "mean_positive": 0.75 * share,
        "mean_negative": (EXACT - share) / 2,
        "positive": positive,
        "negative": negative,
    }


def impulse(start: float, fit: bool = True) -> dict[str, Any]:
    return {
        "logit": [0.1, 0.2, 0.25],
        "coordinates": [[start, 0.3, 0.1], [start / 2, 0.2, 0.0], [start / 4, 0.05, 0.0]],
        "distance": [2.0, 1.0, EXACT],
        "tau": 1.5 if fit else None,
        "fit": [1.9, 1.1, 0.2] if fit else None,
        "r2": 0.97,
    }


def row(word: str, kind: str, strength: float, norm: float) -> dict[str, Any]:
    return {
        "word": word,
        "count": 120,
        "kind": kind,
        "strength": strength,
        "error": 0.05,
        "valence": 0.1,
        "norm": norm,
        "tau": 2.0,
        "on_positive": strength,
        "on_negative": -strength,
    }


def review(middle: str) -> list[list[Any]]:
    return [["it", 0.1], ["is", 0.2], [middle, -0.3], ["good", EXACT]]


def doses(accuracies: tuple[float, ...], modifications: tuple[float, ...]) -> list[dict[str, Any]]:
    return [
        {"gain": gain, "accuracy": difference(a, 0.9), "modification": m, "interval": [m - 0.1, m + 0.2]}
        for gain, a, m in zip((0.0, 1.0, 2.0), accuracies, modifications, strict=True)
    ]


def stored(word: str = "not") -> dict[str, Any]:
    """A small results.json; `word` is the negator."""
    reviews = {"plain": review("<pad>"), "intensified": review("extremely"), "negated": review(word)}
    phrases = {"extremely good": 2.0, "good": 1.0, f"{word} good": -EXACT, "bad": -1.0, f"{word} bad": 0.5}
    path = [[0.0, 0.1, 0.0], [0.2, 0.3, 0.1], [0.1, -0.2, 0.0], [0.5, 0.4, 0.0], [1.0, EXACT, 0.0]]
    histogram = {"edges": [0.01, 0.1, 1.0, 10.0], "counts": [0.0, 7.0, 3.0]}
    transients = [[1.0, 0.9, 0.8], [0.5, 0.45, EXACT], [-1.0, -1.1, -1.2], [-0.5, -0.4, -0.3]]
    return {
        "fixed_points": {"n": 2, "of": 2},
        "line_attractor": {
            "pc1_variance": 0.916,
            "explained_variance": 0.995,
            "range": [-6.1, 6.2],
            "is_line": True,
            "bend": 0.2,
            "readout_alignment": 0.9,
            "thickness": 0.1,
            "integration_eigenvalue": [1.002, 0.0],
        },
        "state_space": {
            "variance": [0.386, 0.076, 0.04],
            "line": {"path": [[-3.0, -1.0, 0.0], [0.0, 0.0, 0.0], [3.0, 1.0, 0.0]], "logits": [-6.1, 0.0, 6.2]},
            "slow_points": {"at": [[1.0, 0.4, 0.0], [-2.0, -0.5, 0.0]], "logits": [2.0, -4.0]},
            "visited": {"at": [[1.5, -2.0, 0.0], [0.3, EXACT, 0.0]], "logits": [1.0, 0.3]},
            "h0": [0.0, 0.1, 0.0],
            "h_star": [-0.05, -0.1, 0.0],
            "reviews": {
                name: {"words": [w for w, _ in words], "path": path, "logits": [0.0, *(x for _, x in words)]}
                for name, words in reviews.items()
            },
        },
        "probes": {
            "reviews": reviews,
            "phrases": phrases,
            "without_subspace": {"reviews": reviews, "phrases": {name: x / 2 for name, x in phrases.items()}},
            "without_random": {"reviews": reviews, "phrases": phrases},
            "positive": ["great", f"{word} 1"],
            "negative": ["awful", "worst"],
            "source": "given",
        },
        "modifiers": {
            "n": 2,
            "unclear": 1,
            "threshold": 0.0882308,
            "of": 10,
            "networks": 1,
            "scale": 100.0,
            "words": [
                row(word, "negator", -0.7, 5.5),
                row("very", "intensifier", 0.4, 2.5),
                row("the", "none", 0.02, 0.2),
            ],
            "strongest_by_norm": [["waste", 0.5], [word, 0.4]],
            "histograms": dict.fromkeys(("norm", "strength"), histogram),
        },
        "impulse": {"extremely": impulse(1.2), word: impulse(-1.8), "the": impulse(0.1, fit=False)},
        "barcodes": {
            "the": barcode("none", 0.01),
            "extremely": barcode("intensifier", 0.9),
            word: barcode("negator", -0.8),
        },
        "component_barcodes": [barcode("intensifier", 0.5), barcode("diminisher", -0.1), barcode("none", 0.02)],
        "subspace": {
            "rank": 3,
            "explained_variance": [0.7, 0.2, 0.05],
            "sizes": [1.5, 0.5, 0.4],
            "n": 4,
            "words": [word, "very", "hardly", "odd"],
            "kinds": ["negator", "intensifier", "diminisher", "none"],
            "coordinates": [[-2.0, 0.1, 0.0], [1.5, EXACT, 0.1], [-1.0, -0.4, 0.0], [0.2, 0.3, 0.1]],
        },
        "timescales": {
            "mean": [2.4, 3.4, None],
            "median": [2.3, 2.5, None],
            "decaying": [2, 1, 0],
            "words": [word, "very"],
            "tau": [[2.0, 3.4, None], [2.8, None, None]],
        },
        "bilinear": {
            "rank": 3,
            "n": 40,
            "explained_variance": [0.68, 0.74, 0.78],
            "held_out": [0.67, 0.7, EXACT],
            "bound": [0.69, 0.75, 0.79],
        },
        "beginning": {
            "barcode": barcode("intensifier", 0.6),
            "distance": [2.06, 0.5],
            "path": [[0.5, 0.4, 0.1], [0.2, EXACT, 0.0]],
            "test": {"h0_projected": difference(0.9, 0.9017), "h0_random": []},
        },
        "ending": {
            "words": ["great", f"{word} 1", "awful", "worst"],
            "transients": transients,
            "ratio": [0.8, 0.25, 1.2, 0.6],
            "ratio_median": 0.7,
            "settled_median": 40.0,
            "modes": {
                "timescales": [None, 8.66, 7.54, 0.5],
                "change": [0.418, 0.105, EXACT, 0.33],
                "eigenvalues": [[1.002, 0.0], [0.89, 0.0], [0.87, 0.05], [0.1, 0.0]],
                "eligible": [False, True, True, False],
                "strongest": [1, 2],
                "strongest_timescales": [8.66, 7.54],
                "course": [[0.104, 0.09, 0.08], [0.12, 0.1, 0.09]],
                "words": ["good", word],
                "transients": [[0.5, 0.6, 0.55], [-0.4, -0.3, -0.35]],
                "without": [[0.4, 0.5, 0.5], [-0.3, -0.2, -0.3]],
            },
            "test": {"padded": difference(0.899, 0.9)},
        },
        "accuracy": {
            "validation": 0.91,
            "test": 0.9,
            "test_shuffled": difference(0.86, 0.9),
            "test_subspace_removed": {"1": difference(0.89, 0.9), "2": difference(0.85, 0.9)},
            "test_words_removed": {"1": [difference(0.893, 0.9)], "2": [difference(0.892, 0.9)]},
            "test_random_removed": {"1": [difference(0.9, 0.9), difference(0.901, 0.9)], "2": [difference(0.898, 0.9)]},
        },
        "steering": {
            "split": "test",
            "rank": 3,
            "words": 40,
            "doses": doses((0.8, 0.9, 0.85), (0.2, 1.0, 1.7)),
            "random": [doses((0.89, 0.9, 0.9), (0.99, 1.0, 1.01)), doses((0.9, 0.9, 0.88), (1.0, 1.0, 1.03))],
            "others": [],
        },
    }


DRAWN: list[Callable[..., Any]] = [
    figures.line_attractor,
    figures.probe_reviews,
    figures.probe_phrases,
    figures.modifiers,
    figures.impulse,
    figures.timescales,
    figures.barcodes,
    figures.component_barcodes,
    figures.subspace,
    figures.bilinear,
    figures.perturbation,
    figures.dose_response,
    figures.beginning,
    figures.ending,
    figures.ending_modes,
]
WORDLESS = (figures.bilinear, figures.perturbation, figures.dose_response)
every_figure = pytest.mark.parametrize("draw", DRAWN, ids=lambda draw: draw.__name__)


@cache
def drawn(draw: Callable[..., Any], word: str = "not", *asked: Any) -> Any:
    """A figure, drawn once for all tests; none changes it, and drawing it changes no result. With the odd word, from an
    object that has results, as an analysis or a run has."""
    result = stored(word)
    before = copy.deepcopy(result)
    figure = draw(SimpleNamespace(results=result) if word == ODD else result, *asked)
    assert result == before
    return figure


def points(figure: Any) -> set[tuple[Any, Any]]:
    return {point for trace in figure.data for point in zip(trace.x, trace.y, strict=True)}


def curves(figure: Any) -> list[tuple[Any, ...]]:
    return [tuple(trace.y) for trace in figure.data]


def texts(figure: Any) -> list[str]:
    """All that Plotly takes for markup."""
    found = [figure.layout.title.text, *(note.text for note in figure.layout.annotations)]
    for trace in figure.data:
        found += [trace.name or "", *(trace.hovertext or ()), *(trace.text or ())]
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        found += [axis.title.text or "", *(axis.ticktext or ())]
    return found


# --- every figure -----------------------------------------------------------------------------------------------------


@every_figure
def test_a_figure_leaves_its_result_as_it_was_and_is_plain_json(draw):
    assert json.loads(drawn(draw).to_json())["data"]


@every_figure
def test_words_are_never_read_as_markup_whether_results_are_plain_or_of_an_analysis(draw):
    figure = drawn(draw, ODD, *([ODD] if draw is figures.impulse else []))
    assert not any("<b>x" in text for text in texts(figure))
    assert all(trace.hovertemplate is None and trace.texttemplate is None for trace in figure.data)
    if draw not in WORDLESS:
        assert any(shown(ODD) in text for text in texts(figure)), "and still are shown whole"


def test_what_plotly_and_svg_files_cannot_take_is_spelled_out():
    assert shown("a\x1b[31m\x00\x9b\u202eb\ud800\uffff") == "a\\x1b[31m\\x00\\x9b\\u202eb\\ud800\\uffff"
    assert shown("a\tb ‌می‌خواهم 👩‍👧 é") == "a\tb ‌می‌خواهم 👩‍👧 é"
    assert shown("%{x} 5 % $x$") == "%&#123;x} 5 % &#36;x&#36;"


# --- one by one -------------------------------------------------------------------------------------------------------


def test_the_line_attractor_shows_every_stored_state_and_both_shares():
    space, figure = stored()["state_space"], drawn(figures.line_attractor)
    for part in (space["line"]["path"], space["slow_points"]["at"], space["visited"]["at"], [space["h0"]]):
        assert {(at[0], at[1]) for at in part} <= points(figure)
    for found in space["reviews"].values():
        assert {(at[0], at[1]) for at in found["path"]} <= points(figure)
    title = figure.layout.title.text
    assert "99.5 %" in title and "91.6 %" in title and "not a line" not in title


def test_probe_phrases_have_a_row_each_with_and_without_the_subspace():
    figure, phrases = drawn(figures.probe_phrases), stored()["probes"]["phrases"]
    ends = [trace.x[-1] for trace in figure.data if trace.y[-1] is not None]
    assert sorted(ends) == sorted([*phrases.values(), *(x / 2 for x in phrases.values())])
    assert figure.layout.yaxis.ticktext == tuple(phrases)


def test_the_histogram_of_modifiers_is_the_stored_one_and_words_are_at_their_norm():
    figure = drawn(figures.modifiers)
    assert figure.layout.xaxis.type == "log"
    assert figure.data[0].x == (0.1, 0.1, 1.0, 10.0) and figure.data[0].y == (0, 7.0, 3.0, 0), "empty bins left out"
    marked = {trace.name: trace.x[0] for trace in figure.data if trace.mode == "markers+text"}
    assert marked == {"not": 5.5, "very": 2.5, "the": 0.2}
    assert "“waste”" in figure.layout.title.text, "the strongest, though it has no row"
    (line,) = (trace for trace in figure.data if "first 400 words" in (trace.name or ""))
    assert line.x == (0.0882308, 0.0882308)


def test_by_strength_words_are_at_its_size_and_have_no_threshold():
    figure = drawn(figures.modifiers, "not", "strength")
    assert {trace.x[0] for trace in figure.data if trace.mode == "markers+text"} == {0.7, 0.4, 0.02}
    assert not any("first 400 words" in (trace.name or "") for trace in figure.data)
    assert any("strength -0.70 ± 0.05" in trace.hovertext[0] for trace in figure.data if trace.mode == "markers+text")
    with pytest.raises(RnnlensError, match="measure is 'loudness': expected strength or norm"):
        figures.modifiers(stored(), "loudness")


def test_impulse_responses_carry_path_distance_and_fit():
    figure = drawn(figures.impulse)
    found = stored()["impulse"]["not"]
    assert set(zip(found["logit"], (at[0] for at in found["coordinates"]), strict=True)) <= points(figure)
    assert curves(figure).count((2.0, 1.0, EXACT)) == curves(figure).count((1.9, 1.1, 0.2)) == 2
    assert any("τ = 1.5" in trace.name for trace in figure.data)
    alone = figures.impulse(stored(), "the")
    assert (1.9, 1.1, 0.2) not in curves(alone) and any("no exponential" in trace.name for trace in alone.data)


def test_timescales_count_every_word_that_decays_and_mark_the_stored_means():
    figure = drawn(figures.timescales)
    for p, n in enumerate((2, 1, 0)):
        (outline,) = (t for t in figure.data if t.name.startswith(f"component {p + 1}:"))
        assert sum(outline.y) == n
    assert {trace.x[0] for trace in figure.data if trace.name.startswith("mean of")} == {2.4, 3.4}
    assert any("none decays" in trace.name for trace in figure.data)
    assert (-1.8, 0.3) in points(figure)


def test_barcodes_have_positive_words_left_of_negative_ones_and_name_each():
    figure, found = drawn(figures.barcodes), stored()["barcodes"]
    for word in ("the", "extremely", "not"):
        left, right = (
            next(t for t in figure.data if t.name == word and t.y == tuple(found[word][side]))
            for side in ("positive", "negative")
        )
        assert max(left.x) < min(right.x)
        assert "great" in left.hovertext[0] and "worst" in right.hovertext[1]
    assert len({axis.range for axis in figure.select_yaxes()}) == 1, "one scale"
    assert any("negator" in note.text and "−80 %" in note.text for note in figure.layout.annotations)


def test_the_subspace_shows_kinds_by_colour_and_mark_and_names_words_without_overlap():
    figure = drawn(figures.subspace)
    assert {tuple(at[:2]) for at in stored()["subspace"]["coordinates"]} <= points(figure)
    kinds = {t.name.split("s (")[0]: (t.marker.color, t.marker.symbol) for t in figure.data if " (" in t.name}
    assert kinds == {"other" if kind == "none" else kind: tuple(look_of_kind(kind)) for kind in (*MODIFIERS, "none")}
    assert {"not", "very", "hardly"} <= {note.text for note in figure.layout.annotations}
    assert "70.0 %" in figure.layout.xaxis.title.text and "20.0 %" in figure.layout.yaxis.title.text
    assert figure.layout.yaxis.scaleanchor == "x", "distances mean the same both ways"


def test_bilinear_draws_all_three_curves_the_paper_and_zero():
    figure = drawn(figures.bilinear)
    for key, values in stored()["bilinear"].items():
        if isinstance(values, list):
            assert any(y == pytest.approx([100 * x for x in values]) for y in curves(figure)), key
    assert (83, 96, 98) in curves(figure)
    assert figure.layout.yaxis.range[0] == 0


def test_perturbation_draws_accuracies_with_the_intervals_of_their_differences():
    figure = drawn(figures.perturbation)
    (plain, recentred) = (t for t in figure.data if t.name == "modifier subspace removed")
    assert plain.y == pytest.approx((89, 85)) and recentred.y == pytest.approx((89.5, 85.5))
    assert plain.error_y.array == pytest.approx((2, 2)) and plain.error_y.arrayminus == pytest.approx((1, 1))
    (random, _) = (t for t in figure.data if t.name == "random subspace removed")
    assert random.y == pytest.approx((90, 90.1, 89.8))
    (words, _) = (t for t in figure.data if t.name == "subspace of other common words removed")
    assert words.y == pytest.approx((89.3, 89.2))
    assert "300 test reviews" in figure.layout.yaxis.title.text
    assert "90.00 %" in figure.layout.annotations[0].text


def test_the_dose_response_draws_both_curves_and_the_mean_of_the_control():
    figure = drawn(figures.dose_response)
    accuracy, modification = (t for t in figure.data if t.name == "words write more or less into the modifier subspace")
    assert accuracy.x == (0, 1, 2) and accuracy.y == pytest.approx((80, 90, 85))
    assert accuracy.error_y.array == pytest.approx((2, 2, 2)) and accuracy.error_y.arrayminus == pytest.approx(
        (1, 1, 1)
    )
    assert modification.y == pytest.approx((0.2, 1, 1.7)) and modification.error_y.array == pytest.approx((0.2,) * 3)
    of_random = [t.y for t in figure.data if t.name == "into as many random directions, mean of 2 draws"]
    assert of_random == [pytest.approx((89.5, 90, 89)), pytest.approx((0.995, 1, 1.02))]
    (recentred,) = (t for t in figure.data if t.name.startswith("the same, with a threshold"))
    assert recentred.y == pytest.approx((80.5, 90.5, 85.5))
    assert "300 test reviews" in figure.layout.yaxis.title.text and "90.00 %" in figure.layout.annotations[0].text


def test_the_dose_response_of_a_network_without_modifiers_has_one_panel():
    result = stored()["steering"]
    for dose in [*result["doses"], *(dose for draw in result["random"] for dose in draw)]:
        dose.update(modification=None, interval=None)
    assert len(list(figures.dose_response({"steering": result}).select_xaxes())) == 1


def test_the_ending_draws_each_word_at_once_against_later():
    figure = drawn(figures.ending)
    assert {(1.0, 0.8), (0.5, EXACT), (-1.0, -1.2), (-0.5, -0.3)} <= points(figure)
    assert (0.5, 0.6, 0.55) in curves(figure)
    assert "70 %" in figure.layout.title.text and "−0.10" in figure.layout.title.text


def test_ending_modes_keep_those_set_aside_hollow_and_the_endless_one_beyond_all():
    figure, found = drawn(figures.ending_modes), stored()["ending"]["modes"]
    at = {y: x for x, y in points(figure) if y in found["change"]}
    assert at[0.105] == 8.66 and at[EXACT] == 7.54 and at[0.418] > 8.66
    (aside,) = (trace for trace in figure.data if trace.name == "modes set aside")
    assert set(aside.y) == {0.418, 0.33} and aside.marker.symbol == "circle-open"
    for course in (*found["course"], *found["transients"], *found["without"]):
        assert tuple(course) in curves(figure)
