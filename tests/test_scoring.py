"""Scores against the truth are what they say, on cases that can be counted by hand, and agree with scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from rnnlens.context.strength import PRIOR
from rnnlens.corpora import Corpus, Language, synthetic_corpus
from rnnlens.experiments.alternatives import alternatives, moderated, recommended
from rnnlens.experiments.ceiling import known_valences, two_regressions
from rnnlens.experiments.data_scores import data_scores
from rnnlens.experiments.measuring import reading
from rnnlens.experiments.scoring import (
    above,
    agreement,
    average_precision,
    by_frequency,
    by_nature,
    kinds,
    ranking,
    reaches,
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
    size, positive = np.array([5.0, -4.0, 3.0, 2.0, 1.0]), np.array([True, False, True, False, False])
    found = ranking(size, positive, draws=200)
    assert found["average_precision"] == pytest.approx((1 + 2 / 3) / 2) and found["recall_at_m"] == 0.5
    assert found["interval"][0] <= found["average_precision"] <= found["interval"][1]
    worse = above(size, size[::-1], positive)
    assert worse["difference"] == pytest.approx((1 + 2 / 3) / 2 - (1 / 3 + 2 / 5) / 2)
    assert worse["interval"][0] <= worse["difference"] <= worse["interval"][1]
    parts = by_frequency(size, positive, np.array([1_000, 100, 100, 100, 100]))
    assert [part["recall"] for part in parts] == [0.0, None, None, 1.0, None] and parts[0]["wrong"] == 1


def test_kinds_strengths_and_reaches_by_hand():
    learnable = np.array([True, True, False])
    found = kinds(["negator", "diminisher", "other"], ["negator", "negator", "intensifier"], learnable)
    assert found["accuracy"] == pytest.approx(1 / 3) and found["side_learnable"] == 1.0
    assert found["called"] == {"negator": {"negator": 1, "diminisher": 1}, "intensifier": {"other": 1}}
    true, counts = np.linspace(-2, 1, 40), np.where(np.arange(40) < 20, 1_000, 100)
    found = agreement(0.5 * true + 0.1, true, counts)
    assert found["all"]["pearson"] == pytest.approx(1) and found["learnable"]["slope"] == pytest.approx(0.5)
    assert found["learnable"]["n"] == 20
    tau = reaches(np.array([2.5, 5.0, np.nan, 4.0]), np.array([2.0, 4.0, 3.0, 4.0]), np.array([600] * 3 + [10]))
    assert tau["learnable"]["within"] == pytest.approx(2 / 3) and tau["all"]["within"] == pytest.approx(3 / 4)
    assert tau["learnable"]["within_decay"] == 0.0  # of 1.5 and 1, of 4 and 3, none is within 30 %
    assert tau["all"]["with_tau"] == pytest.approx(3 / 4)


def test_a_reading_tells_valence_from_modification():
    chance = np.random.default_rng(0)
    plain, change = chance.normal(size=(2, 500))
    found = reading(0.5 * plain + 0.2 * change + 1, plain, plain + change)
    assert found == pytest.approx({"valence": 0.5, "modification": 0.4, "explained": 1.0})


@pytest.fixture(scope="module")
def small():
    words = {"negator": (5, -1.2, -0.8), "intensifier": (5, 2.0, 2.5)}
    language = Language(
        train=6_000, validation=0, test=0, length=15, length_sigma=0.3, words=200, zipf=0.6, valence_share=0.3,
        valence_from=3, ranks=(4, 80), modifiers=words, scope=(1.5, 3.0), edge_words=0, bayes=0.95,
    )  # fmt: skip
    return synthetic_corpus(language, seed=2)


def test_data_alone_show_frequent_modifiers_where_labels_tell_much(small):
    corpus, truth = small
    ids = np.arange(len(truth.words))
    found = data_scores(corpus, ids)
    positive = np.isin(ids, truth.modifiers)
    right = {name: average_precision(score, positive) for name, score in found.items()}
    assert right["bigram contrast"] > 0.6 > 0.2 > right["valence"]
    np.testing.assert_array_equal(found["frequency"], corpus.vocab.counts)


def test_bigrams_do_not_reach_across_documents():
    texts = ["good", "bad", "good good", "bad bad"] * 10
    corpus = Corpus.from_texts(texts, [1, 0, 1, 0] * 10, validation=0)
    scores = data_scores(corpus, np.arange(len(corpus.vocab)))
    assert all(np.isfinite(score).all() for score in scores.values())


def test_with_valences_known_the_labels_tell_strengths(small):
    corpus, truth = small
    ids = np.arange(len(truth.words))
    share = known_valences(corpus, truth, ids)
    rows = truth.modifiers
    assert np.corrcoef(share[rows], truth.share[rows])[0, 1] > 0.95
    assert average_precision(np.abs(share), np.isin(ids, rows)) > 0.9


def test_who_knows_the_form_alone_finds_modifiers_by_two_regressions():
    words = {"negator": (5, -1.2, -0.8), "intensifier": (5, 2.0, 2.5)}
    language = Language(
        train=6_000, validation=500, test=0, length=15, length_sigma=0.3, words=200, zipf=0.6, valence_share=0.3,
        valence_from=3, ranks=(4, 80), modifiers=words, scope=(1.5, 3.0), edge_words=0, bayes=0.95,
    )  # fmt: skip
    corpus, truth = synthetic_corpus(language, seed=2)
    ids = np.arange(len(truth.words))
    found = two_regressions(corpus, ids)
    assert np.corrcoef(found.strength[truth.modifiers], truth.share[truth.modifiers])[0, 1] > 0.9
    assert average_precision(np.abs(found.score), np.isin(ids, truth.modifiers)) > 0.8


def test_shrinking_by_disagreement_tells_signal_from_noise():
    chance = np.random.default_rng(0)
    counts, signal = np.repeat([10, 1_000], 1_000), chance.normal(size=2_000)
    scores = signal + chance.normal(size=(5, 2_000))
    same, valence = np.tile(signal, (5, 1)), np.tile(chance.normal(size=2_000), (5, 1))
    found = alternatives(same, valence, counts)
    np.testing.assert_allclose(found["strength"], signal)
    np.testing.assert_allclose(found["strength, shrunk"], signal * counts / (counts + PRIOR))
    np.testing.assert_allclose(recommended(same[:1], valence[:1], counts), recommended(same, valence, counts))
    assert np.all(np.abs(recommended(same, valence, counts)) <= np.abs(found["strength beyond chance"]))
    torn = np.stack([same[0] + 10, same[0] - 10, *same[2:]])
    torn[:, 1:] = scores[:, 1:]
    assert abs(moderated(torn)[0]) < 0.2 * abs(signal[0])  # of one word networks differ widely: little is left


def test_what_a_ranking_misses_is_told_by_nature(small):
    corpus, truth = small
    ids = np.arange(len(truth.words))
    exact = np.where(np.isin(ids, truth.modifiers), 1.0, 0.0)
    found = by_nature(exact, truth, ids, np.asarray(corpus.vocab.counts))
    assert found["short"] == found["long"] == 1 and set(found["kinds"].values()) == {1.0} and found["wrong"]["n"] == 0
    by_valence = by_nature(np.abs(truth.valence), truth, ids, np.asarray(corpus.vocab.counts))
    assert by_valence["wrong"]["valence"] == 1.0 and by_valence["short"] == 0.0
