"""What documents bear out: the parts against brute force and known truth, the whole on a small language."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from rnnlens import RnnlensError
from rnnlens.context.documents import (
    LAGS,
    evidence,
    followed,
    following,
    in_documents,
    likely_reach,
    regress,
    sparse_valences,
)
from rnnlens.context.modifiers import Modifiers, find_modifiers
from rnnlens.context.probes import Probes
from rnnlens.context.scope import SUREST, fitted, reach_curves, usual_reach
from rnnlens.corpora import Corpus, Language, Vocab, synthetic_corpus
from rnnlens.dynamics import visited_states
from rnnlens.experiments.analyze import find_line
from rnnlens.experiments.ceiling import known_others
from rnnlens.experiments.scoring import average_precision
from rnnlens.networks import Network

TEXTS = ["not good film", "good", "not not bad bad film", "film not"]


def test_what_follows_is_summed_fading_and_within_documents():
    corpus = Corpus.from_texts(TEXTS, [0, 1, 0, 1], validation=0)
    word = {w: i for i, w in enumerate(corpus.vocab.words)}
    value = np.zeros(len(corpus.vocab))
    value[[word["good"], word["bad"], word["film"]]] = 2.0, -1.0, 0.5
    ids = np.array([word["not"], word["good"]])
    found = followed(corpus.train, value[corpus.train.ids], 0.5, ids, len(corpus.vocab)).toarray()
    expected = np.zeros((4, 2))
    for row in range(4):
        text = corpus.train.document(row)
        for place, w in enumerate(text):
            for column, wanted in enumerate(ids):
                if w == wanted:
                    expected[row, column] += sum(value[x] * 0.5**k for k, x in enumerate(text[place + 1 :]))
    np.testing.assert_allclose(found, expected)
    at = list(following(corpus.train, value[corpus.train.ids], ids))
    for column, (documents, follows) in enumerate(at):
        np.testing.assert_allclose(0.5 ** np.arange(LAGS) @ follows, expected[documents, column])


def test_the_regression_is_logistic_with_a_prior_about_what_was_believed():
    chance = np.random.default_rng(0)
    x, about = chance.normal(size=(400, 3)), np.array([1.0, 0.0, -1.0])
    y = (chance.random(400) < 1 / (1 + np.exp(-x @ [1.5, 0.0, -0.5]))).astype(float)
    from scipy.sparse import csr_matrix

    found = regress(csr_matrix(x), np.zeros(400), y, 0.4, about)
    p = 1 / (1 + np.exp(-x @ found))
    np.testing.assert_allclose(x.T @ (p - y) + (found - about) / 0.16, 0, atol=1e-3)  # the gradient vanishes
    np.testing.assert_allclose(regress(csr_matrix(x), np.zeros(400), y, 1e-4, about), about, atol=1e-3)


def test_evidence_is_the_integral_over_the_weight():
    chance = np.random.default_rng(0)
    x, others = chance.normal(size=(2, 300)), chance.normal(size=300)
    y = (chance.random(300) < 1 / (1 + np.exp(-others - x[0]))).astype(float)
    b = np.linspace(-4, 4, 4_001)
    for row, found in zip(x, evidence(x, others, y, 0.8), strict=True):
        z = others + b[:, None] * row
        likely = z @ y - np.logaddexp(0, z).sum(1) - 0.5 * (b / 0.8) ** 2 - np.log(0.8 * np.sqrt(2 * np.pi))
        whole = likely.max() + np.log(np.exp(likely - likely.max()).sum() * (b[1] - b[0]))
        assert found == pytest.approx(whole, abs=0.02)


@pytest.mark.parametrize("tau", [2.0, 4.0, 7.0])
def test_many_documents_tell_a_reach_against_a_wrong_belief(tau):
    chance = np.random.default_rng(1)
    follows, others = chance.normal(size=(LAGS, 20_000)), chance.normal(size=20_000)
    z = others - np.exp(-1 / (tau - 1)) ** np.arange(LAGS) @ follows
    y = (chance.random(20_000) < 1 / (1 + np.exp(-z))).astype(float)
    assert likely_reach(follows, others, y, 3.5) == pytest.approx(tau, rel=0.1)
    few = slice(0, 10)
    assert likely_reach(follows[:, few], others[few], y[few], 3.5) == pytest.approx(3.5, rel=0.4)


def test_a_fitted_reach_is_that_of_an_exponential():
    lags = torch.arange(12.0)
    for fade in (0.3, 0.6, 0.8):
        curve = -0.7 * fade**lags
        assert float(fitted(curve)) == pytest.approx(float(1 - 1 / np.log(fade)), rel=1e-3)


@pytest.fixture(scope="module")
def language():
    words = {"negator": (8, -1.2, -0.8), "intensifier": (8, 2.0, 2.5)}
    made = Language(
        train=8_000, validation=500, test=0, length=15, length_sigma=0.3, words=300, zipf=0.6, valence_share=0.3,
        valence_from=3, ranks=(4, 120), modifiers=words, scope=(1.5, 3.0), edge_words=0, bayes=0.93,
    )  # fmt: skip
    return synthetic_corpus(made, seed=3)


def test_words_that_networks_were_not_asked_about_keep_their_value(language):
    corpus, truth = language
    half, sparse = np.arange(150), sparse_valences(corpus)[0]
    found = in_documents(corpus, half, 2.5, sparse[half], np.zeros(150), sparse)  # networks that say the same
    alone = in_documents(corpus, half, 2.5, sparse=sparse)
    np.testing.assert_allclose(found.value, alone.value, atol=1e-9)
    assert np.corrcoef(found.value[150:], truth.valence[150:])[0, 1] > 0.8
    inside, outside = (np.polyfit(truth.valence[at], found.value[at], 1)[0] for at in (slice(150), slice(150, None)))
    assert outside == pytest.approx(inside, rel=0.2)


def test_what_was_borne_out_says_what_it_is(language):
    corpus, truth = language
    found = in_documents(corpus, np.arange(len(truth.words)), 2.5)
    first = found.strongest(16)
    assert sum(truth.words.index(word) in truth.modifiers for word in first) >= 12
    assert found[first[0]]["score"] == pytest.approx(np.abs(found.score).max() * np.sign(found[first[0]]["score"]))
    assert first[0] in repr(found) and len(repr(found)) < 300 and first[0] in found._repr_html_()
    with pytest.raises(RnnlensError, match="'nowhere' is not among"):
        found["nowhere"]


def test_documents_correct_what_networks_say(language):
    corpus, truth = language
    chance = np.random.default_rng(0)
    ids = np.arange(len(truth.words))
    true, positive = truth.share[ids], np.isin(ids, truth.modifiers)
    said = 0.3 * true + 0.25 * chance.normal(size=len(ids))  # networks see some of it, with noise
    valence = truth.valence + 0.3 * truth.valence.std() * chance.normal(size=len(ids))
    found = in_documents(corpus, ids, 2.5, valence, said)
    assert average_precision(np.abs(found.strength), positive) > average_precision(np.abs(said), positive) + 0.2
    assert np.corrcoef(found.strength[positive], true[positive])[0, 1] > 0.95
    off = (found.strength - true)[positive] / found.error[positive]
    assert 0.4 < np.abs(off).mean() < 1.3  # errors are of the size they are said to have; 0.8 were they exact
    tau = found.reaches(truth.modifiers, np.full(len(truth.modifiers), 2.5))
    assert np.mean(np.abs(tau - truth.tau[truth.modifiers]) <= 0.3 * truth.tau[truth.modifiers]) >= 0.75
    both = SimpleNamespace(network=SimpleNamespace(vocab=corpus.vocab), ids=torch.from_numpy(ids), members=(),
                           lasting=torch.from_numpy(valence), sure=torch.from_numpy(said))  # fmt: skip
    np.testing.assert_array_equal(Modifiers.in_documents(both, corpus, 2.5).strength, found.strength)
    both.network.vocab = Vocab(["<unk>", "other"])
    with pytest.raises(RnnlensError, match="different words"):
        Modifiers.in_documents(both, corpus)
    ideal = known_others(corpus, truth, truth.modifiers, 2.5, 0.5)
    assert np.mean(np.abs(ideal - truth.tau[truth.modifiers]) <= 0.3 * truth.tau[truth.modifiers]) >= 0.75


def test_how_far_modifiers_usually_reach_is_asked_of_every_network(language):
    corpus, _ = language
    networks = [Network(corpus.vocab, "gru", 16, 8, seed=seed).requires_grad_(False) for seed in (0, 1)]
    lines = [find_line(network, visited_states(network, corpus.train, n=300))[1] for network in networks]
    probes = Probes.from_corpus(corpus)
    both = find_modifiers(networks, lines, probes=probes)
    curves = []
    for network, line in zip(networks, lines, strict=True):
        surest = both.ids[both.sure.abs().argsort(descending=True)[:SUREST]]
        states = visited_states(network, corpus.validation, n=2_000)
        curves.append(usual_reach(reach_curves(network, line, probes, states, corpus, surest)))
    tau = float(fitted(torch.stack(curves).mean(0)))
    np.testing.assert_array_equal(both.in_documents(corpus).strength, both.in_documents(corpus, tau).strength)
    alone = in_documents(corpus, both.ids.numpy(), tau)
    np.testing.assert_array_equal(both.in_documents(corpus, tau, networks=False).strength, alone.strength)


def test_a_corpus_without_validation_documents_is_judged_by_its_own():
    bare = Corpus.from_texts(TEXTS * 5, [0, 1, 0, 1] * 5, validation=0)
    ids = np.arange(len(bare.vocab))
    found = in_documents(bare, ids, 2.0, np.linspace(-1, 1, len(ids)), np.zeros(len(ids)))
    assert np.isfinite(found.strength).all() and np.isfinite(found.error).all()


def test_what_makes_no_sense_is_said(language):
    corpus, _ = language
    for ids in ([], [1, 1], [10**6], [-1]):
        with pytest.raises(RnnlensError, match="expected ids"):
            in_documents(corpus, np.array(ids, dtype=int), 2.5)
    for tau in (float("nan"), 1.0, -2.0):
        with pytest.raises(RnnlensError, match="tau is"):
            in_documents(corpus, np.arange(3), tau)
    with pytest.raises(RnnlensError, match="valence is not 3 finite numbers"):
        in_documents(corpus, np.arange(3), 2.5, np.array([1.0, np.nan, 0.0]))
    with pytest.raises(RnnlensError, match="sure is not 3 finite numbers"):
        in_documents(corpus, [0, 1, 2], 2.5, [1.0, 2.0, 0.0], [0.0])
