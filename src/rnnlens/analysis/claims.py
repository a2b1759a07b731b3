"""What the paper says of networks that read real language, checked against one network's results.

A claim holds, does not hold, or was not measured; with each stand our number and the paper's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from pathlib import Path
from statistics import mean, median
from typing import Any

from rnnlens.context.blank import BlankInput
from rnnlens.context.strength import MODIFIERS

NEGATORS = ("not", "never", "no", "don't", "didn't", "isn't", "hardly")
INTENSIFIERS = ("very", "extremely", "absolutely", "definitely", "really", "highly")
NEUTRAL = ("the", "a", "of", "movie")

NULLS = Path(__file__).with_name("nulls.json")

Results = Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """One statement, whether this network shows it (None: not measured), the numbers that say so, and the paper's.

    Without the paper's, it is a check of our own. unspecific: networks that learnt nothing show it too (`NULLS`), so it
    says nothing of what a network has learnt, and is not counted."""

    claim: str
    shown: bool | None
    measured: str
    section: str
    paper: str = ""
    unspecific: bool = False


@dataclass(frozen=True)
class _Rule:
    """How a claim is checked: `holds` and `measured` read the results and may miss what is not stored."""

    section: str
    claim: str
    holds: Callable[[Results], bool]
    measured: Callable[[Results], str]
    paper: str = ""


def analysis_claims(results: Results) -> list[Claim]:
    """Every claim, for the results of one analysed network."""
    found = []
    for rule in _RULES:
        unspecific = rule.claim in shown_by_nulls()
        try:
            shown, measured = rule.holds(results), rule.measured(results)
        except (KeyError, TypeError, IndexError, ValueError, ZeroDivisionError):  # not stored, or nothing to measure on
            shown, measured = None, ""
        found.append(Claim(rule.claim, shown, measured, rule.section, rule.paper, unspecific))
    return found


def counted(claims: Sequence[Claim]) -> tuple[int, int]:
    """Of the paper's claims that were measured and are specific: how many are shown, of how many."""
    some = [claim.shown for claim in claims if claim.paper and not claim.unspecific and claim.shown is not None]
    return sum(some), len(some)


@cache
def shown_by_nulls() -> dict[str, list[str]]:
    """Claims that networks which learnt nothing show, each with the names of these networks (`studies.nulls`)."""
    return json.loads(NULLS.read_text(encoding="utf-8"))["claims"] if NULLS.exists() else {}


# --- numbers ----------------------------------------------------------------------------------------------------------


def sign_pattern(results: Results) -> tuple[int, int, list[str]]:
    """Of the well-known negators and intensifiers with a barcode: how many have the signs they should, of how many, and
    which have not."""
    right, wrong = 0, []
    for words, sign in ((NEGATORS, -1), (INTENSIFIERS, 1)):
        for word in words:
            found = results["barcodes"].get(word)
            if found is None:
                continue
            if sign * found["mean_positive"] > 0 and sign * found["mean_negative"] < 0:
                right += 1
            else:
                wrong.append(word)
    return right, right + len(wrong), wrong


def strength(results: Results, words: tuple[str, ...]) -> float:
    """The mean size of the barcodes of some words."""
    known = [results["barcodes"][word] for word in words if word in results["barcodes"]]
    return mean(abs(found["mean_positive"] - found["mean_negative"]) / 2 for found in known)


def neutral_share(results: Results) -> float:
    """How much neutral words change others, as a share of what well-known modifiers do."""
    return strength(results, NEUTRAL) / strength(results, NEGATORS + INTENSIFIERS)


def known_above(results: Results, column: str, threshold: float) -> tuple[int, int]:
    """How many well-known modifiers are above a threshold in size, of how many."""
    rows = {row["word"]: row for row in results["modifiers"]["words"]}
    sizes = [abs(rows[word][column]) for word in NEGATORS + INTENSIFIERS if word in rows]
    if not sizes:
        raise KeyError("no well-known modifier")
    return sum(size >= threshold for size in sizes), len(sizes)


def known_clear(results: Results) -> tuple[int, int]:
    """How many well-known modifiers the analysis calls modifiers of the right sign, of how many."""
    rows = {row["word"]: row for row in results["modifiers"]["words"]}
    right = [
        sign * rows[word]["strength"] > 0 and rows[word]["kind"] in MODIFIERS
        for words, sign in ((NEGATORS, -1), (INTENSIFIERS, 1))
        for word in words
        if word in rows
    ]
    if not right:
        raise KeyError("no well-known modifier")
    return sum(right), len(right)


def last_readings(results: Results, kind: str | None = None) -> dict[str, float]:
    """The last logit of each probe review: of the network as it is, or of another that was tried."""
    probes = results["probes"] if kind is None else results["probes"][kind]
    return {name: words[-1][1] for name, words in probes["reviews"].items()}


def phrases_right(results: Results) -> tuple[int, int]:
    """Of the phrases of Fig. 10b: how many modifiers move the word after them to the side they should, of how many."""
    phrases = results["probes"]["phrases"]
    right = total = 0
    for phrase, value in phrases.items():
        modifier, _, word = phrase.partition(" ")
        if word and modifier in ("not", "extremely"):
            sign = (1 if phrases[word] > 0 else -1) * (1 if modifier == "extremely" else -1)
            right, total = right + (sign * (value - phrases[word]) > 0), total + 1
    return right, total


def cost(results: Results, what: str, rank: str | None = None) -> float:
    """The accuracy that a perturbation of the test reviews costs."""
    found = results["accuracy"][f"test_{what}"]
    return -(found if rank is None else found[rank])["difference"]


def clear(difference: Mapping[str, Any]) -> bool:
    """Whether a perturbation costs anything: where it may not, comparing others with it says nothing."""
    if difference["interval"][1] >= 0:
        raise ValueError("the cost may be 0")
    return True


def control_cost(results: Results, kind: str) -> float:
    """… in the median over a control's draws, of rank 3."""
    return -median(draw["difference"] for draw in results["accuracy"][f"test_{kind}_removed"]["3"])


def way_back(results: Results) -> list[tuple[str, float]]:
    """After `not` and `extremely`: words until nine tenths of the distance from the line are gone."""
    taus = {word: results["impulse"][word]["tau"] for word in ("not", "extremely") if word in results["impulse"]}
    found = [(word, log(10) * tau) for word, tau in taus.items() if tau is not None]
    if not found:
        raise KeyError("no decay")
    return found


def _edge(name: str, part: str, what: str) -> tuple[Callable[[Results], bool], Callable[[Results], str]]:
    return lambda r: r[name][part][what]["interval"][1] < 0, lambda r: points(r[name][part][what])


def _count(pair: tuple[int, int], what: str = "") -> str:
    return f"{pair[0]} of {pair[1]}{what}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def signed(value: float, digits: int = 2) -> str:
    """+1.02, −0.50: with a minus as wide as the plus."""
    return f"{value:+.{digits}f}".replace("-", "−")


def points(difference: Mapping[str, Any]) -> str:
    """A paired difference of accuracy with its interval, in points."""
    low, high = (signed(100 * edge) for edge in difference["interval"])
    return f"{signed(100 * difference['difference'])} points ({low} … {high})"


# --- the claims -------------------------------------------------------------------------------------------------------

_RULES = (
    _Rule("line", "one curve of slow points (at least 90 % of their variance)",
          lambda r: r["line_attractor"]["is_line"],
          lambda r: f"a curve explains {percent(r['line_attractor']['explained_variance'])}, a straight line "
                    f"{percent(r['line_attractor']['pc1_variance'])}", "a line"),
    _Rule("line", "one mode integrates: an eigenvalue within 0.02 of 1",
          lambda r: abs(complex(*r["line_attractor"]["integration_eigenvalue"]) - 1) <= 0.02,
          lambda r: f"{r['line_attractor']['integration_eigenvalue'][0]:.4f}", "near (1, 0)"),
    _Rule("line", "the reading holds over blank inputs, once transients are gone",
          lambda r: not BlankInput(**r["blank_input"]).drifts,
          lambda r: BlankInput(**r["blank_input"]).summary()),
    _Rule("probes", "the probe reviews end in the order intensified, plain, negated, half a logit apart or more",
          lambda r: (lambda x: x["intensified"] - 0.5 >= x["plain"] >= x["negated"] + 0.5)(last_readings(r)),
          lambda r: ", ".join(signed(last_readings(r)[name]) for name in ("intensified", "plain", "negated")),
          "in this order"),
    _Rule("probes", "`extremely` and `not` move the word after them to the right side",
          lambda r: (lambda found: found[0] == found[1] > 0)(phrases_right(r)),
          lambda r: _count(phrases_right(r), " phrases"), "gated networks: yes"),
    _Rule("modifiers", "most well-known modifiers are among the 400 words of largest norm",
          lambda r: (lambda found: 2 * found[0] > found[1])(known_above(r, "norm", r["modifiers"]["threshold"])),
          lambda r: _count(known_above(r, "norm", r["modifiers"]["threshold"])), "not, never, very, definitely …"),
    _Rule("modifiers", "most well-known modifiers are clear modifiers of the right sign, by their strength",
          lambda r: (lambda found: 2 * found[0] > found[1])(known_clear(r)),
          lambda r: _count(known_clear(r))),
    _Rule("modifiers", "it hardly matters which probe words are chosen (half of the words' errors from it below 0.05)",
          lambda r: r["modifiers"]["error_from_probes"] < 0.05,
          lambda r: f"an error of {r['modifiers']['error_from_probes']:.3f} in the median", "insensitive"),
    _Rule("impulse", "nine tenths of the way back to the line take at most ten words",
          lambda r: all(steps <= 10 for _, steps in way_back(r)),
          lambda r: ", ".join(f"`{word}` {steps:.1f} words" for word, steps in way_back(r)), "5 to 10 words"),
    _Rule("barcodes", "at least 90 % of the barcodes of known modifiers have the right signs",
          lambda r: sign_pattern(r)[0] >= 0.9 * sign_pattern(r)[1] > 0,
          lambda r: _count(sign_pattern(r)[:2])
          + (f" (not {', '.join(sign_pattern(r)[2])})" if sign_pattern(r)[2] else ""), "accentuate, flip"),
    _Rule("barcodes", "`the`, `a`, `of`, `movie` change words by less than a fifth as much",
          lambda r: neutral_share(r) < 0.2, lambda r: f"{neutral_share(r):.2f} of it", "≈ 0"),
    _Rule("subspace", "two components hold 90 % of the paper's modifiers' variance (96.2 % there)",
          lambda r: sum(r["subspace"]["by_norm"][:2]) >= 0.9,
          lambda r: f"{percent(sum(r['subspace']['by_norm'][:2]))}; of the strongest modifiers "
                    f"{percent(sum(r['subspace']['explained_variance'][:2]))}", "96.2 %"),
    _Rule("timescales", "the second component of the subspace is slower than the first",
          lambda r: r["timescales"]["mean"][1] > r["timescales"]["mean"][0],
          lambda r: "τ " + ", ".join("–" if m is None else f"{m:.1f}" for m in r["timescales"]["mean"][:2])
          + " words", "τ 2.6, 4.3 words"),
    _Rule("perturbation", "shuffling words costs at least 3 points",
          lambda r: cost(r, "shuffled") >= 0.03, lambda r: points(r["accuracy"]["test_shuffled"]), "about −4"),
    _Rule("perturbation", "removing the modifier subspace (rank 3) costs at least half as much",
          lambda r: clear(r["accuracy"]["test_shuffled"])
          and cost(r, "subspace_removed", "3") >= 0.5 * cost(r, "shuffled"),
          lambda r: points(r["accuracy"]["test_subspace_removed"]["3"]), "like shuffling"),
    _Rule("perturbation", "removing random subspaces of rank 3 costs, in the median, less than a tenth of shuffling",
          lambda r: clear(r["accuracy"]["test_shuffled"])
          and control_cost(r, "random") < 0.1 * cost(r, "shuffled"),
          lambda r: f"{signed(-100 * control_cost(r, 'random'))} points", "negligible"),
    _Rule("perturbation", "removing directions of other common words, orthogonal to these, costs less in the median",
          lambda r: clear(r["accuracy"]["test_subspace_removed"]["3"])
          and control_cost(r, "words") < cost(r, "subspace_removed", "3"),
          lambda r: f"{signed(-100 * control_cost(r, 'words'))} points"),
    _Rule("beginning", "the initial state is an intensifier",
          lambda r: r["beginning"]["barcode"]["kind"] == "intensifier",
          lambda r: f"it changes valence by {signed(100 * r['beginning']['barcode']['share'], 0)} %",
          "an intensifier"),
    _Rule("beginning", "projecting it out costs accuracy (test, interval below 0)",
          *_edge("beginning", "test", "h0_projected"), "−0.17"),
    _Rule("beginning", "beginning on the line instead costs accuracy (test, interval below 0)",
          *_edge("beginning", "test", "h0_on_line")),
    _Rule("ending", "words count more at once than in the long run (the line's own growth taken out)",
          lambda r: r["ending"]["ratio_over_growth"] < 1,
          lambda r: f"{100 * r['ending']['ratio_over_growth']:.0f} % stay; {100 * r['ending']['ratio_median']:.0f} "
                    "% with the growth", "less than all stays"),
    _Rule("ending", "50 blank inputs cost accuracy (test, interval below 0)",
          *_edge("ending", "test", "padded"), "−0.05"),
    _Rule("ending", "50 blank inputs cost accuracy (train, interval below 0)",
          *_edge("ending", "train", "padded"), "−0.2"),
    _Rule("bilinear", "three bilinear terms explain 95 % of the paper's modifiers (98 % there)",
          lambda r: r["bilinear"]["explained_variance"][2] >= 0.95,
          lambda r: ", ".join(percent(x) for x in r["bilinear"]["explained_variance"][:3]) + "; held out "
          + ", ".join(percent(x) for x in r["bilinear"]["held_out"][:3]), "83, 96, 98 %"),
    _Rule("negation", "negation is a shift rather than a reversal",
          lambda r: r["modifiers"]["negation_form"]["shift_explained"]
          > r["modifiers"]["negation_form"]["reversal_explained"],
          lambda r: "a shift explains {shift_explained:.0%}, a reversal {reversal_explained:.0%}, a factor "
                    "{factor_explained:.0%}".format(**r["modifiers"]["negation_form"]), "additive"),
)  # fmt: skip
