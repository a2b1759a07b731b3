"""Languages whose truth is known are drawn as promised, scores against the truth are what they say, and the method
finds what is there. Thresholds are what was measured, with a margin; none may be lowered because a score got worse."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from handmade import MODIFIERS, NEUTRAL, SLOW, VALENCE, handmade
from reproduction.languages import Truth, document_sums, frequencies, preset, synthetic_corpus
from reproduction.scoring import average_precision, between_seeds, ranking, score_modifiers
from reproduction.validate import Settings, reading, validate
from sklearn.metrics import average_precision_score

import rnnlens
from rnnlens.context.finding import find_modifiers
from rnnlens.context.probes import Probes


@pytest.mark.parametrize(
    ("name", "mark"), [("tiny", "2e4bc35c07a08bb910852900c511283f"), ("hard", "5c5b5c93f11e33f35d79d4c788598b97")]
)
def test_languages_are_the_same_as_ever(name, mark):
    language = replace(preset(name), train=400, validation=50, test=50)
    assert synthetic_corpus(language, seed=3)[0].fingerprint == mark


def test_documents_and_labels_are_drawn_as_promised():
    language = replace(preset("tiny"), train=20_000)
    corpus, truth = synthetic_corpus(language, seed=1)
    share = corpus.vocab.counts / corpus.vocab.counts.sum()
    np.testing.assert_allclose(share[:20], frequencies(language)[:20], rtol=0.05)
    assert corpus.train.lengths.mean() == pytest.approx(language.length, rel=0.03)
    assert truth.bayes == pytest.approx(language.bayes, abs=1e-6)
    sums = truth.sums["train"]
    right = [((x > 0) == corpus.train.labels).mean() for x in (sums.full, sums.expected, sums.plain)]
    assert right[0] == pytest.approx(language.bayes, abs=0.006)
    assert right[0] > right[1] > right[2] + 0.01  # modifiers matter, and who does not know reaches knows less
    for kind, (n, low, high) in language.modifiers.items():
        strength = truth.factor[[k == kind for k in truth.kinds]]
        assert len(strength) == n and low <= strength.min() and strength.max() <= high


def by_hand(truth, ids, reaches):
    """A document's sum, word by word: every modifier's reach is given, in the order of the words."""
    total, reaches = 0.0, iter(reaches)
    acting = []  # factor, words left
    for t, i in enumerate(ids):
        weight = 1 + sum(truth.edge[k] - 1 for k in (t, len(ids) - 1 - t) if k < len(truth.edge))
        value = truth.valence[i]
        for factor, _ in acting if truth.kinds[i] != "name" else ():
            value *= factor
        total += weight * value
        acting = [(f, left - 1) for f, left in acting if left > 1]
        if truth.scope[i] > 0:
            acting.append((truth.factor[i], next(reaches)))
    return total


class Reaches:
    """In the place of chance: the reaches wanted."""

    def __init__(self, reaches):
        self.reaches = np.asarray(reaches)

    def geometric(self, p):
        return self.reaches[: len(p)]


def test_sums_are_those_of_a_reading_word_by_word_and_on_average_as_expected():
    words = ("neutral", "good", "awful", "not", "very", "truly", "seagal")
    kinds = ("neutral", "valence", "valence", "negator", "intensifier", "intensifier", "name")
    valence, factor = np.array([0, 1, -2, 0, 0, 0.5, -0.7]), np.array([1, 1, 1, -0.5, 2, 1.5, 1])
    scope = np.array([0, 0, 0, 2, 3, 4, 0.0])
    truth = Truth(words, kinds, valence, factor, scope, np.array([1.5, 1.25]), 0, 0, {})
    chance = np.random.default_rng(0)
    documents = [chance.integers(0, 7, chance.integers(1, 12)) for _ in range(300)]
    ids, offsets = np.concatenate(documents), np.cumsum([0, *map(len, documents)])
    reaches = chance.integers(1, 6, int((scope[ids] > 0).sum()))
    used = 0
    for document, full in zip(documents, document_sums(truth, ids, offsets, Reaches(reaches)).full, strict=True):
        n = int((scope[document] > 0).sum())
        assert full == pytest.approx(by_hand(truth, document, reaches[used : used + n]))
        used += n
    ids, n = np.array([4, 3, 1, 0, 2, 5, 1, 6, 2, 1]), 20_000
    sums = document_sums(truth, np.tile(ids, n), len(ids) * np.arange(n + 1), np.random.default_rng(0))
    assert sums.expected[0] == pytest.approx(sums.full.mean(), abs=4 * sums.full.std() / np.sqrt(n))


def test_average_precision_is_scikit_learns_with_ties_and_weights():
    chance = np.random.default_rng(0)
    for _ in range(20):
        size, positive = chance.integers(0, 30, 200).astype(float), chance.random(200) < 0.1
        weight = chance.poisson(1.0, 200).astype(float)
        expected = average_precision_score(positive, size, sample_weight=weight)
        assert average_precision(size, positive, weight) == pytest.approx(expected)
    found = ranking(np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([True, False, True, False, False]), draws=200)
    assert found["value"] == pytest.approx((1 + 2 / 3) / 2)
    assert found["interval"][0] <= found["value"] <= found["interval"][1]


def test_a_network_that_does_what_is_true_is_scored_as_right_and_another_as_wrong():
    network, Q = handmade()
    line = rnnlens.fit_line_attractor(network, torch.linspace(-4, 4, 200, dtype=torch.float64).unsqueeze(1) * Q[:, 0])
    words = (*VALENCE, *MODIFIERS, *NEUTRAL)
    factor = np.array([1 + sum(MODIFIERS.get(word, (0.0,))) for word in words])
    fast = [word in ("not", "never", "very", "so") for word in words]
    scope = np.where(factor == 1, 0.0, 1 / (1 - np.where(fast, math.exp(-1 / 2.0), math.exp(-1 / SLOW))))
    names = ["intensifier" if f > 1 else "negator" if f < 1 else "neutral" for f in factor]
    valence = np.array([VALENCE.get(word, 0.0) for word in words])
    truth = Truth(words, tuple(names), valence, factor, scope, np.ones(0), 0, 0, {})
    measured = find_modifiers(network, line, probes=Probes(("great", "good"), ("awful", "bad")))
    found = score_modifiers(measured, truth)
    assert [found["average_precision"][name]["value"] for name in ("strength", "norm", "order")] == [1, 1, 1]
    assert found["strength"]["r"] == pytest.approx(1) and found["strength"]["slope"] == pytest.approx(1)
    assert found["kinds"] == {"right": 1, "precision": 1} and found["tau"]["within"] == 1
    assert found["coverage"] == {"modifiers": 1, "other_words": 1, "seeds": None}
    wrong = score_modifiers(replace(measured, strength=-0.5 * measured.strength), truth)
    assert wrong["strength"]["slope"] == pytest.approx(-0.5) and wrong["kinds"]["right"] == 0
    apart = torch.where(measured.strength.abs() > 0.5, 5 * measured.error, 0 * measured.error)
    other = replace(measured, strength=measured.strength + apart)
    share = between_seeds(replace(measured, members=(measured, other)))
    assert share == pytest.approx(1 - float((apart > 0).double().mean()))


def test_the_method_finds_the_modifiers_of_a_language(tmp_path):
    plain, change = np.random.default_rng(0).normal(size=(2, 500))
    exact = {"valence": 0.5, "modification": 0.4, "explained": 1.0}
    assert reading(0.5 * plain + 0.2 * change + 1, plain, plain + change) == pytest.approx(exact)
    quick = rnnlens.TrainConfig(epochs=8, learning_rate=1e-2, word_dropout=0.1, embedding_dropout=0.0)
    results = validate("tiny", tmp_path, Settings("gru", 32, 16, config=quick), seeds=1, device="cpu")
    (found,) = results["networks"]
    precision = {name: one["value"] for name, one in found["average_precision"].items()}
    assert precision["strength"] >= 0.9 and precision["order"] >= 0.9  # measured: 0.99, 1.00
    assert precision["norm"] <= precision["strength"] - 0.2  # 0.59
    assert found["strength"]["r"] >= 0.97  # 0.998
    assert 0.4 <= found["strength"]["slope"] <= 1.2  # 0.55: a state that saturates flips less
    assert found["kinds"]["right"] >= 0.8  # 1.0
    causes = found["causes"]
    assert causes["before"]["modification"] >= 0.65  # 0.74
    assert abs(causes["removed"]["3"]["modification"]) <= 0.25  # 0.14
    assert 0.8 <= causes["removed"]["3"]["valence_kept"] <= 1.25  # 0.89
    assert all(random["modification"] >= 0.5 for random in causes["random"])
    assert len(results["modifiers"]) == 10
