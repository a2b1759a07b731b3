"""The verdict: its numbers are those of results.json, and networks that differ get verdicts that differ."""

import copy
import re

import pytest
from markupsafe import escape
from pages import write_reviews

import rnnlens
from rnnlens.analysis.verdict import plain, verdict
from rnnlens.page.sections import marked

COSTS = ("subspace", "random")
NUMBER = re.compile(r"[+−]?\d[\d,]*(?:\.\d+)?")


@pytest.fixture(scope="module")
def measured():
    return rnnlens.analyze("zoo:reviews-gru", top=500, starts=200).results


@pytest.fixture
def results(measured):
    return copy.deepcopy(measured)


def said(results, **how):
    return " ".join(sentence.text for sentence in verdict(results, **how))


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
    assert f"a timescale of {negator['tau']:.1f} words" in first
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
    assert text == said(analysis.results, run=False) and "was not measured" in text


@pytest.mark.parametrize("word", ["f***ing", "*x*", "new york", "a`b", "<b>x</b>"])
def test_hostile_words_stay_text(results, word):
    for one in results["modifiers"]["words"]:
        one["kind"] = "none"
    results["modifiers"]["words"][0].update(word=word, kind="negator")
    first = verdict(results)[0].text
    assert plain(first).startswith(f"{word} ")
    assert str(marked(first)).startswith(f"<em>{escape(word)}</em> ")


def numbers_of(value):
    """Every number of the results, in the forms in which a sentence may give it."""
    if isinstance(value, dict):
        return set().union(*map(numbers_of, value.values()))
    if isinstance(value, list):
        return set().union(*map(numbers_of, value[:400]))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return set()
    size = abs(value)
    return {f"{size:,}", f"{size:.2f}", f"{size:.1f}", f"{100 * size:.1f}", f"{100 * size:.0f}", f"{1 + value:.1f}"}


@pytest.mark.parametrize("which", ["reviews-vanilla", "few reviews", "untrained"])
def test_other_networks_get_true_verdicts_of_their_own(tmp_path, which):
    if which == "few reviews":
        write_reviews(tmp_path / "reviews.csv", 600)
        corpus = rnnlens.load_corpus(tmp_path / "reviews.csv")
        network = rnnlens.Network(corpus.vocab, hidden=16, embedding=8, scale=0.1, memory=30, seed=0)
        config = rnnlens.TrainConfig(epochs=8, batch=32, learning_rate=0.01)
        run = rnnlens.train(network, corpus, config, tmp_path / "run", progress=False)
        analysis = rnnlens.analyze(run, corpus, starts=100)
        assert [one.right for one in analysis.experiments.examples] == sorted(
            (one.right for one in analysis.experiments.examples), reverse=True
        )
        for one in analysis.experiments.examples:
            assert run.read(one.text)[-1][1] == pytest.approx(one.logit, abs=1e-3)
            assert one.right == ((one.logit > 0) == (one.label == "positive"))
        assert 1 <= len(analysis.experiments.examples) <= 4
    elif which == "untrained":
        vocab = rnnlens.load("zoo:reviews-gru").network.vocab
        analysis = rnnlens.analyze(rnnlens.Network(vocab, hidden=16, embedding=8, seed=0), top=300, starts=100)
    else:
        analysis = rnnlens.analyze(rnnlens.load(f"zoo:{which}"), top=500, starts=200)
    text, results = " ".join(sentence.text for sentence in analysis.verdict), analysis.results
    modifiers, accuracy = results["modifiers"], results.get("accuracy", {})
    named = [one for one in modifiers["words"] if f"*{one['word']}*" in text]
    told = {
        "words": [{name: one[name] for name in ("strength", "error", "tau")} for one in named],
        "counts": [modifiers[name] for name in ("n", "of", "unclear")],
        "costs": [accuracy.get("test_shuffled"), *(accuracy.get(f"test_{of}_removed", {}).get("3") for of in COSTS)],
        "more": [results["people"], results["phrases"], results["blank_input"]["spread"], 3],
    }
    known = numbers_of(told) | {"95"}
    for number in NUMBER.findall(re.sub(r"`[^`]*`|\*[^*]*\*|\"[^\"]*\"", "", text)):
        assert number.lstrip("+−") in known, (number, text)
    untrained = "it has learned little, or nothing" in text
    assert untrained == (which == "untrained") or which == "few reviews"
    assert ("`rnnlens.analyze(network, corpus)` adds it" in text) == (which == "untrained")
    if which == "reviews-vanilla":
        assert "Shuffling the words costs no accuracy that can be measured" in text
