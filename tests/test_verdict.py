"""The verdict: its numbers are those of results.json, and networks that differ get verdicts that differ."""

import copy
import re

import pytest
from markupsafe import escape

import rnnlens
from rnnlens.analysis.verdict import plain, verdict
from rnnlens.page.sections import marked

NUMBER = re.compile(r"[+−]?\d[\d,]*(?:\.\d+)?")


@pytest.fixture(scope="module")
def measured():
    return rnnlens.analyze("zoo:reviews-gru", top=500, starts=200).results


@pytest.fixture
def results(measured):
    return copy.deepcopy(measured)


def said(results):
    return " ".join(sentence.text for sentence in verdict(results))


def row(results, word):
    return next(row for row in results["modifiers"]["words"] if row["word"] == word)


def difference(value, half=0.01):
    return {"difference": value, "interval": [value - half, value + half], "n": 500}


def perturbed(results, shuffled, removed, random):
    results["accuracy"] = results.get("accuracy", {}) | {
        "test_shuffled": difference(shuffled),
        "test_subspace_removed": {"3": difference(removed)},
        "test_random_removed": {"3": [difference(random)] * 3},
    }


def test_every_number_comes_from_the_results(results):
    perturbed(results, -0.045, -0.031, -0.002)
    negator, intensifier = row(results, "not"), row(results, "extremely")
    sentences = [sentence.text for sentence in verdict(results)]
    first, second, third, fourth, fifth = sentences
    assert f"strength {negator['strength']:+.2f} ± {negator['error']:.2f}".replace("-", "−") in first
    assert f"within {negator['tau']:.1f} words" in first
    for phrase in ("not good", "not bad"):
        assert f'"{phrase}"' in first and f"{results['phrases'][phrase]:+.1f}".replace("-", "−") in first
    named = re.match(r"\*(\w+)\*", second)[1]
    assert f"{row(results, named)['strength']:+.2f} ± {row(results, named)['error']:.2f}" in second
    assert intensifier["kind"] != "intensifier" or named in ("very", "extremely")
    modifiers = results["modifiers"]
    assert NUMBER.findall(third) == [f"{modifiers[name]:,}" for name in ("n", "of", "unclear")]
    assert NUMBER.findall(fourth) == ["4.5", "95", "3.5", "5.5", "3", "3.1", "95", "2.1", "4.1", "0.2"]
    people = results["people"]
    assert NUMBER.findall(fifth) == [
        str(people["words"]), *(f"{people[name]:.2f}" for name in ("r",)), "95",
        *(f"{people[name]:.2f}" for name in ("low", "high", "ceiling")),
    ]  # fmt: skip


def test_what_does_not_cost_anything_is_said_to_be_so(results):
    perturbed(results, -0.005, -0.004, 0.001)
    assert "Shuffling the words costs no accuracy that can be measured on 500 reviews" in said(results)
    assert "costs nothing that can be measured, random directions −0.1" in said(results)
    del results["accuracy"]["test_shuffled"]
    assert "was not measured" in said(results)


def test_a_network_without_modifiers_gets_a_verdict_that_says_so(results):
    for one in results["modifiers"]["words"]:
        one["kind"] = "unclear"
    results["modifiers"]["n"], results["modifiers"]["unclear"] = 0, 7
    text = said(results)
    assert text.startswith("No word clearly changes the words after it (7 may)") and "*not*" not in text


@pytest.mark.parametrize(
    ("strength", "words"),
    [(-1.9, "flips"), (-1.0, "removes"), (-0.6, "takes 60 % of the next word's effect away")],
)
def test_a_negator_is_described_by_its_strength(results, strength, words):
    row(results, "not").update(strength=strength, error=0.05, kind="negator")
    assert f"*not* {words}" in said(results)


def test_a_network_that_knows_no_english_word_is_described_by_its_own(tmp_path):
    network = rnnlens.Network([f"w{i}" for i in range(40)], "gru", hidden=8, embedding=4, seed=0)
    analysis = rnnlens.analyze(network, starts=100)
    text = " ".join(sentence.text for sentence in analysis.verdict)
    assert analysis.people is None and analysis.results["people"] is None and "r = " not in text
    assert text == said(analysis.results) and "was not measured" in text


@pytest.mark.parametrize("word", ["f***ing", "*x*", "new york", "a`b", "<b>x</b>"])
def test_hostile_words_stay_text(results, word):
    for one in results["modifiers"]["words"]:
        one["kind"] = "none"
    results["modifiers"]["words"][0].update(word=word, kind="negator")
    first = verdict(results)[0].text
    assert plain(first).startswith(f"{word} ")
    assert str(marked(first)).startswith(f"<em>{escape(word)}</em> ")
