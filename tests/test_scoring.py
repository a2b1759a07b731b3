"""Scores against the truth are what they say, on cases that can be counted by hand, and agree with scikit-learn's."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from handmade import MODIFIERS, NEUTRAL, SLOW, VALENCE, handmade
from sklearn.metrics import average_precision_score

import rnnlens
from rnnlens.context.finding import find_modifiers
from rnnlens.context.probes import Probes
from rnnlens.corpora import Truth
from rnnlens.experiments.measuring import reading
from rnnlens.experiments.scoring import (
    agreement,
    average_precision,
    between_seeds,
    fading,
    kinds,
    ranking,
    score_modifiers,
    within,
)


def test_average_precision_is_scikit_learns_with_ties_and_weights():
    chance = np.random.default_rng(0)
    for _ in range(20):
        size, positive = chance.integers(0, 30, 200).astype(float), chance.random(200) < 0.1
        weight = chance.poisson(1.0, 200).astype(float)
        assert average_precision(size, positive) == pytest.approx(average_precision_score(positive, size))
        expected = average_precision_score(positive, size, sample_weight=weight)
        assert average_precision(size, positive, weight) == pytest.approx(expected)


def test_a_ranking_is_scored_by_what_stands_first():
    size, positive = np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([True, False, True, False, False])
    found = ranking(size, positive, draws=200)
    assert found["value"] == pytest.approx((1 + 2 / 3) / 2)
    assert found["interval"][0] <= found["value"] <= found["interval"][1]


def test_kinds_follow_from_true_strengths_by_the_same_definition():
    share = np.array([-2.0, -0.6, -0.3, 1.0, 0.0, 0.0])
    called = ["negator", "diminisher", "diminisher", "unclear", "intensifier", "valence"]
    found = kinds(called, share, share != 0)
    assert found["right"] == pytest.approx(2 / 4)  # −2 and −0.3; −0.6 is a negator
    assert found["called"] == 4 and found["precision"] == pytest.approx(3 / 4)
    assert found["table"]["none"] == {"intensifier": 1, "valence": 1}


def test_strengths_and_taus_by_hand():
    true = np.linspace(-2, 1, 40)
    found = agreement(0.5 * true + 0.1, true)
    assert found["r"] == pytest.approx(1) and found["slope"] == pytest.approx(0.5) and found["n"] == 40
    assert agreement(true[:2], true[:2])["r"] is None
    tau = fading(np.array([2.5, 5.5, np.nan, 4.0]), np.array([2.0, 4.0, 3.0, 4.0]))
    assert tau["within"] == pytest.approx(2 / 4) and tau["measured"] == pytest.approx(3 / 4)
    assert tau["ratio"] == pytest.approx(1.25)


def test_the_truth_is_covered_where_it_lies_within_two_errors():
    found, error = np.array([1.0, 1.0, -1.0]), np.array([0.1, 0.1, 0.5])
    assert within(found, np.array([1.19, 1.21, -0.1]), error) == pytest.approx(2 / 3)
    assert within(found[:0], found[:0], error[:0]) is None


def test_a_reading_tells_valence_from_modification():
    chance = np.random.default_rng(0)
    plain, change = chance.normal(size=(2, 500))
    found = reading(0.5 * plain + 0.2 * change + 1, plain, plain + change)
    assert found == pytest.approx({"valence": 0.5, "modification": 0.4, "explained": 1.0})


@pytest.fixture(scope="module")
def known():
    """A network that does exactly what is written in its truth, and its measured words."""
    network, Q = handmade()
    along = torch.linspace(-4, 4, 200, dtype=torch.float64)
    line = rnnlens.fit_line_attractor(network, along.unsqueeze(1) * Q[:, 0])
    words = (*VALENCE, *MODIFIERS, *NEUTRAL)
    factor = np.array([1 + sum(MODIFIERS.get(word, (0.0,))) for word in words])
    is_fast = [word in ("not", "never", "very", "so") for word in words]
    decay = np.where(is_fast, math.exp(-1 / 2.0), math.exp(-1 / SLOW))
    scope = np.where(factor == 1, 0.0, 1 / (1 - decay))
    names = ["valence" if word in VALENCE else "neutral" for word in words]
    names = [("negator" if f < 1 else "intensifier") if f != 1 else kind for kind, f in zip(names, factor, strict=True)]
    valence = np.array([VALENCE.get(word, 0.0) for word in words])
    truth = Truth(words, tuple(names), valence, factor, 0 * factor, scope, np.ones(0), 1.0, 0, 0, {})
    return find_modifiers(network, line, probes=Probes(("great", "good"), ("awful", "bad"))), truth


def test_a_network_that_does_what_is_true_is_scored_as_right(known):
    found = score_modifiers(*known)
    assert [found["average_precision"][name]["value"] for name in ("strength", "norm", "order")] == [1, 1, 1]
    assert found["strength"]["r"] == pytest.approx(1) and found["strength"]["slope"] == pytest.approx(1)
    assert found["kinds"]["right"] == 1 and found["kinds"]["precision"] == 1 and found["kinds"]["called"] == 6
    assert found["tau"]["within"] == 1 and found["tau"]["ratio"] == pytest.approx(1, abs=0.03)
    assert found["coverage"]["modifiers"] == 1 and found["coverage"]["other_words"] == 1
    assert found["coverage"]["seeds"] is None  # there is one network


def test_wrong_strengths_are_scored_as_wrong(known):
    found, truth = known
    wrong = score_modifiers(replace(found, strength=-0.5 * found.strength), truth)
    assert wrong["strength"]["r"] == pytest.approx(-1) and wrong["strength"]["slope"] == pytest.approx(-0.5)
    assert wrong["kinds"]["right"] == 0 and wrong["coverage"]["modifiers"] == 0


def test_seeds_that_differ_by_more_than_their_errors_are_counted(known):
    one, _ = known
    apart = torch.where(one.strength.abs() > 0.5, 5 * one.error, 0 * one.error)
    other = replace(one, strength=one.strength + apart)
    share = between_seeds(replace(one, members=(one, other)))
    assert share == pytest.approx(1 - float((apart > 0).double().mean()))
