"""The claims, one function each, in the order of the paper; those without a number of the paper are our own."""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from statistics import mean, median
from typing import Any

from rnnlens.analysis.claims import CHECKS, Claim, Finding, Results, claim
from rnnlens.common.display import percent, percents, signed
from rnnlens.context.blank import BlankInput
from rnnlens.context.known import INTENSIFIERS, NEGATORS, NEUTRAL
from rnnlens.context.strength import MODIFIERS
from rnnlens.dynamics.line_attractor import NEAR_ONE

SHUFFLED, REMOVED = "accuracy.test_shuffled", "accuracy.test_subspace_removed.3"


def analysis_claims(results: Results) -> list[Claim]:
    """Check every claim on the results of one analyzed network."""
    return [check(results) for check in CHECKS]


@claim("line", "one curve of slow points (at least 90 % of their variance)", "line_attractor", paper="a line")
def one_curve(r: Results) -> Finding:
    return r["line_attractor"]["is_line"], curve_found(r["line_attractor"])


def curve_found(line: Mapping[str, Any]) -> str:
    """What was found of the curve through the slow points, in words."""
    curve, straight = percent(line["explained_variance"]), percent(line["pc1_variance"])
    of = {"separate points": "slow points that are separate", "no slow points": "visited states: none is slow"}
    points = of.get(line.get("shape", ""), "slow points that lie together")
    what = "" if line["is_line"] or line["explained_variance"] < 0.9 else f", of {points}"
    return f"a curve explains {curve}, a straight line {straight}{what}"


def line_found(line: Mapping[str, Any]) -> str:
    """What was found, and whether it is a line."""
    return curve_found(line) + ("" if line["is_line"] else ": no line")


@claim("line", "one mode integrates: an eigenvalue within 0.02 of 1", "line_attractor", paper="near (1, 0)")
def one_mode_integrates(r: Results) -> Finding:
    real, imaginary = r["line_attractor"]["integration_eigenvalue"]
    near = r["line_attractor"].get("integrating") or 1
    others = f", one of {near} so near" if near > 1 else ""
    return abs(complex(real, imaginary) - 1) <= NEAR_ONE, f"{real:.4f}{others}"


@claim("line", "the reading holds over blank inputs, once transients are gone", "blank_input")
def reading_holds(r: Results) -> Finding:
    blank = BlankInput.from_dict(r["blank_input"])
    return not blank.drifts, blank.summary()


@claim(
    "probes",
    "the probe reviews end in the order intensified, plain, negated, half a logit apart or more",
    "probes.reviews",
    paper="in this order",
)
def reviews_in_order(r: Results) -> Finding:
    last = {name: words[-1][1] for name, words in r["probes"]["reviews"].items()}
    names = ("intensified", "plain", "negated")
    if not all(name in last for name in names):
        return None
    up, plain, down = (last[name] for name in names)
    return up - 0.5 >= plain >= down + 0.5, ", ".join(map(signed, (up, plain, down)))


@claim(
    "probes",
    "`extremely` and `not` move the word after them to the right side",
    "probes.phrases",
    paper="gated networks: yes",
)
def phrases_move(r: Results) -> Finding:
    right, total = phrases_right(r)
    return right == total > 0, f"{right} of {total} phrases"


@claim(
    "modifiers",
    "most well-known modifiers are among the 400 words of largest norm",
    "modifiers",
    paper="not, never, very, definitely …",
)
def known_by_norm(r: Results) -> Finding:
    rows = _known(r)
    if r["modifiers"]["of"] <= 400:  # then all words are among them
        return None
    above = [row["norm"] >= r["modifiers"]["threshold"] for row in rows.values()]
    return (2 * sum(above) > len(above), f"{sum(above)} of {len(above)}") if rows else None


@claim("modifiers", "most well-known modifiers are clear modifiers of the right sign, by their strength", "modifiers")
def known_by_strength(r: Results) -> Finding:
    rows = _known(r)
    right = [(row["strength"] < 0) == (word in NEGATORS) and row["kind"] in MODIFIERS for word, row in rows.items()]
    return (2 * sum(right) > len(right), f"{sum(right)} of {len(right)}") if rows else None


@claim(
    "modifiers",
    "it hardly matters which probe words are chosen (half of the words' errors from it below 0.05)",
    "modifiers.error_from_probes",
    paper="insensitive",
)
def probes_matter_little(r: Results) -> Finding:
    error = r["modifiers"]["error_from_probes"]
    return error < 0.05, f"an error of {error:.3f} in the median"


@claim("impulse", "nine tenths of the way back to the line take at most ten words", "impulse", paper="5 to 10 words")
def way_back(r: Results) -> Finding:
    taus = {word: r["impulse"][word]["tau"] for word in ("not", "extremely") if word in r["impulse"]}
    words = {word: log(10) * tau for word, tau in taus.items() if tau is not None}
    if not words:
        return None
    return all(n <= 10 for n in words.values()), ", ".join(f"`{word}` {n:.1f} words" for word, n in words.items())


@claim(
    "barcodes",
    "at least 90 % of the barcodes of known modifiers have the right signs",
    "barcodes",
    paper="accentuate, flip",
)
def barcodes_have_the_right_signs(r: Results) -> Finding:
    right, total, wrong = sign_pattern(r)
    return right >= 0.9 * total > 0, f"{right} of {total}" + (f" (not {', '.join(wrong)})" if wrong else "")


@claim("barcodes", "`the`, `a`, `of`, `movie` change words by less than a fifth as much", "barcodes", paper="≈ 0")
def neutral_words_change_little(r: Results) -> Finding:
    neutral, known = _barcode_size(r, NEUTRAL), _barcode_size(r, NEGATORS + INTENSIFIERS)
    if neutral is None or not known:
        return None
    return neutral / known < 0.2, f"{neutral / known:.2f} of it"


@claim(
    "subspace",
    "two components hold 90 % of the paper's modifiers' variance (96.2 % there)",
    "subspace.by_norm",
    paper="96.2 %",
)
def two_components(r: Results) -> Finding:
    by_norm, by_strength = (sum(r["subspace"][name][:2]) for name in ("by_norm", "explained_variance"))
    return by_norm >= 0.9, f"{percent(by_norm)}; of the strongest modifiers {percent(by_strength)}"


@claim(
    "timescales",
    "the second component of the subspace is slower than the first",
    "timescales.mean",
    paper="τ 2.6, 4.3 words",
)
def second_is_slower(r: Results) -> Finding:
    means = r["timescales"]["mean"][:2]
    if len(means) < 2 or None in means:
        return None
    first, second = means
    return second > first, f"τ {first:.1f}, {second:.1f} words"


@claim("perturbation", "shuffling words costs at least 3 points", SHUFFLED, paper="about −4")
def shuffling_costs(r: Results) -> Finding:
    return _costs(_shuffled(r)) and _cost(_shuffled(r)) >= 0.03, points(_shuffled(r))


@claim(
    "perturbation",
    "removing the modifier subspace (rank 3) costs at least half as much",
    SHUFFLED,
    REMOVED,
    paper="like shuffling",
)
def removal_costs(r: Results) -> Finding:
    if not _costs(_shuffled(r)):
        return None
    return _costs(_removed(r)) and _cost(_removed(r)) >= 0.5 * _cost(_shuffled(r)), points(_removed(r))


@claim(
    "perturbation",
    "removing random subspaces of rank 3 costs, in the median, less than a tenth of shuffling",
    SHUFFLED,
    "accuracy.test_random_removed.3",
    paper="negligible",
)
def random_removal_costs_nothing(r: Results) -> Finding:
    if not _costs(_shuffled(r)):
        return None
    cost = _median_cost(r["accuracy"]["test_random_removed"]["3"])
    return cost < 0.1 * _cost(_shuffled(r)), f"{signed(-100 * cost)} points"


@claim(
    "perturbation",
    "removing directions of other common words, orthogonal to these, costs less in the median",
    REMOVED,
    "accuracy.test_words_removed.3",
)
def other_words_cost_less(r: Results) -> Finding:
    draws = r["accuracy"]["test_words_removed"]["3"]
    if not draws or not _costs(_removed(r)):
        return None
    cost = _median_cost(draws)
    return cost < _cost(_removed(r)), f"{signed(-100 * cost)} points"


@claim("beginning", "the initial state is an intensifier", "beginning.barcode", paper="an intensifier")
def beginning_intensifies(r: Results) -> Finding:
    barcode = r["beginning"]["barcode"]
    return barcode["kind"] == "intensifier", f"it changes valence by {signed(100 * barcode['share'], 0)} %"


@claim(
    "beginning",
    "projecting it out costs accuracy (test, interval below 0)",
    "beginning.test.h0_projected",
    paper="−0.17",
)
def beginning_projected(r: Results) -> Finding:
    return _edge(r["beginning"]["test"]["h0_projected"])


@claim(
    "beginning", "beginning on the line instead costs accuracy (test, interval below 0)", "beginning.test.h0_on_line"
)
def beginning_on_line(r: Results) -> Finding:
    return _edge(r["beginning"]["test"]["h0_on_line"])


@claim(
    "ending",
    "words count more at once than in the long run (the line's own growth taken out)",
    "ending.ratio_over_growth",
    paper="less than all stays",
)
def last_words_count_more(r: Results) -> Finding:
    share, with_growth = r["ending"]["ratio_over_growth"], r["ending"]["ratio_median"]
    if share is None:  # the network forgets
        return None
    return share < 1, f"{percent(share, 0)} stay; {percent(with_growth, 0)} with the growth"


@claim("ending", "50 blank inputs cost accuracy (test, interval below 0)", "ending.test.padded", paper="−0.05")
def ending_padded_test(r: Results) -> Finding:
    return _edge(r["ending"]["test"]["padded"])


@claim("ending", "50 blank inputs cost accuracy (train, interval below 0)", "ending.train.padded", paper="−0.2")
def ending_padded_train(r: Results) -> Finding:
    return _edge(r["ending"]["train"]["padded"])


@claim(
    "bilinear",
    "three bilinear terms explain 95 % of the paper's modifiers (98 % there)",
    "bilinear.explained_variance",
    paper="83, 96, 98 %",
)
def three_terms(r: Results) -> Finding:
    explained, held_out = r["bilinear"]["explained_variance"][:3], r["bilinear"]["held_out"][:3]
    if len(explained) < 3:
        return None
    return explained[2] >= 0.95, f"{percents(explained)}; held out {percents(held_out)}"


@claim(
    "negation",
    "negation is a shift rather than a reversal",
    "modifiers.negation_form.shift_explained",
    paper="additive",
)
def negation_shifts(r: Results) -> Finding:
    form = r["modifiers"]["negation_form"]
    shift, reversal, factor = (form[f"{name}_explained"] for name in ("shift", "reversal", "factor"))
    return shift > reversal, (
        f"a shift explains {percent(shift, 0)}, a reversal {percent(reversal, 0)}, a factor {percent(factor, 0)}"
    )


# --- numbers ----------------------------------------------------------------------------------------------------------


def sign_pattern(results: Results) -> tuple[int, int, list[str]]:
    """How many well-known negators and intensifiers have a barcode with the right signs, how many have a barcode, and
    the words with wrong signs."""
    right, wrong = 0, []
    for words, sign in ((NEGATORS, -1), (INTENSIFIERS, 1)):
        for word in words:
            barcode = results["barcodes"].get(word)
            if barcode is None:
                continue
            if sign * barcode["mean_positive"] > 0 and sign * barcode["mean_negative"] < 0:
                right += 1
            else:
                wrong.append(word)
    return right, right + len(wrong), wrong


def phrases_right(results: Results) -> tuple[int, int]:
    """The number of phrases of Fig. 10b in which the modifier moves the next word in the right direction, and of
    all."""
    phrases = results["probes"]["phrases"]
    right = total = 0
    for phrase, value in phrases.items():
        modifier, _, word = phrase.partition(" ")
        if word and modifier in ("not", "extremely"):
            sign = (1 if phrases[word] > 0 else -1) * (1 if modifier == "extremely" else -1)
            right, total = right + (sign * (value - phrases[word]) > 0), total + 1
    return right, total


def points(difference: Mapping[str, Any]) -> str:
    """A paired difference of accuracy with its interval, in points."""
    low, high = (signed(100 * edge) for edge in difference["interval"])
    return f"{signed(100 * difference['difference'])} points ({low} … {high})"


def _known(results: Results) -> dict[str, Mapping[str, Any]]:
    """The rows of the well-known modifiers."""
    rows = {row["word"]: row for row in results["modifiers"]["words"]}
    return {word: rows[word] for word in NEGATORS + INTENSIFIERS if word in rows}


def _barcode_size(results: Results, words: tuple[str, ...]) -> float | None:
    """The mean size of the barcodes of the words; None if none has a barcode."""
    known = [results["barcodes"][word] for word in words if word in results["barcodes"]]
    return mean(abs(one["mean_positive"] - one["mean_negative"]) / 2 for one in known) if known else None


def _shuffled(results: Results) -> Mapping[str, Any]:
    return results["accuracy"]["test_shuffled"]


def _removed(results: Results) -> Mapping[str, Any]:
    return results["accuracy"]["test_subspace_removed"]["3"]


def _cost(difference: Mapping[str, Any]) -> float:
    return -difference["difference"]


def _costs(difference: Mapping[str, Any]) -> bool:
    """Whether a perturbation clearly costs accuracy. If not, it cannot serve as a reference for others."""
    return difference["interval"][1] < 0


def _median_cost(draws: list[Mapping[str, Any]]) -> float:
    return -median(draw["difference"] for draw in draws)


def _edge(difference: Mapping[str, Any]) -> Finding:
    return difference["interval"][1] < 0, points(difference)
