"""What `python -m reproduction.mutations` once broke unnoticed."""

import re

import numpy as np
import pytest
import torch
from handmade import MODIFIERS, NEUTRAL, VALENCE, Documents, handmade
from reproduction.mutations import MUTATIONS, ROOT
from scipy.optimize import minimize

import rnnlens
from rnnlens import Network, TrainConfig
from rnnlens.baselines.convolution import Convolution, Shape
from rnnlens.baselines.fitting import train_model
from rnnlens.context.bilinear import fit_bilinear
from rnnlens.context.finding import find_modifiers
from rnnlens.context.perturbation import Reviews, final_logits
from rnnlens.context.probes import Probes
from rnnlens.context.strength import kind_of
from rnnlens.context.subspace import fit_subspace
from rnnlens.corpora import Corpus
from rnnlens.dynamics.curves import nearest_on
from rnnlens.dynamics.features import input_features

PROBES = Probes(("great", "good"), ("awful", "bad"))


def test_every_mutation_finds_its_line_once_and_its_tests():
    for mutation in MUTATIONS:
        source = (ROOT / "src" / "rnnlens" / mutation.file).read_text(encoding="utf-8")
        assert source.count(mutation.line) == 1, mutation
        file, words = mutation.tests.split(":")
        tests = re.findall(r"^def (test_\w+)", (ROOT / "tests" / f"test_{file}.py").read_text(), re.MULTILINE)
        assert any(words in test for test in tests), mutation


def test_the_nearest_point_of_a_line_lies_between_its_ends():
    knots = torch.tensor([[0.0, 0.0], [10.0, 0.0], [10.0, 4.0]]).double()
    for h, nearest, segment in (([-3.0, 1.0], [0, 0], 0), ([11.0, 9.0], [10, 4], 1), ([12.0, 1.0], [10, 1], 1)):
        point, left, along = nearest_on(knots, torch.tensor(h).double())
        assert point.tolist() == nearest and left == segment and 0 <= along <= 1


def test_valence_is_no_part_of_the_subspace():
    """Words that only move the state along the line, however far, add no component."""
    network, Q = handmade()
    along = torch.linspace(-4, 4, 200, dtype=torch.float64)
    line = rnnlens.fit_line_attractor(network, along.unsqueeze(1) * Q[:, 0])
    found = find_modifiers(network, line, probes=PROBES)
    rows = torch.tensor([found.row(word) for word in (*MODIFIERS, *VALENCE)])
    subspace = fit_subspace(network, line, found, rank=2, rows=rows)
    assert (subspace.components @ line.valence.t()).abs().max() < 1e-9
    inside = (subspace.components @ Q).square()
    assert inside[0, 1].item() == pytest.approx(1) and inside[1, 2].item() == pytest.approx(1)


def test_shuffled_words_come_in_the_same_order_however_reviews_are_batched():
    network, _ = handmade()
    generator = np.random.default_rng(0)
    ids = [generator.integers(0, len(network.vocab), int(n)) for n in generator.integers(5, 9, 12)]
    reviews = Reviews.of(Documents(ids, np.ones(12)), "cpu")
    one_by_one = [(np.array([i]), torch.as_tensor(ids[i]).unsqueeze(0), torch.tensor([len(ids[i])])) for i in range(12)]
    apart = Reviews(reviews.labels, one_by_one)
    together, alone = (final_logits(network, read, shuffle=3) for read in (reviews, apart))
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_a_word_that_changes_nothing_has_no_strength():
    network, Q = handmade()
    along = torch.linspace(-4, 4, 200, dtype=torch.float64)
    line = rnnlens.fit_line_attractor(network, along.unsqueeze(1) * Q[:, 0])
    found = find_modifiers(network, line, probes=PROBES)
    assert max(abs(found[word]["strength"]) for word in NEUTRAL) < 1e-9
    assert found["not"]["strength"] == pytest.approx(-2) and found["very"]["strength"] == pytest.approx(1.2)


def test_a_word_that_adds_more_than_it_changes_is_a_valence_word():
    """Own effects are in units of a probe word's: a word that changes those by half may add half of one itself."""
    given = ((-0.5, 0.45), (-0.5, 0.55), (-0.4, -0.3), (0.5, 0.1), (0.5, -0.6), (0.05, 0.9))
    called = [kind_of(strength, 0.01, own) for strength, own in given]
    assert called == ["negator", "valence", "diminisher", "intensifier", "valence", "none"]


def test_words_that_are_held_out_are_predicted_from_the_others():
    """With as many terms as there are dimensions the model is a linear regression: on the others alone."""
    network = Network([f"w{i}" for i in range(40)], hidden=6, embedding=5).double().requires_grad_(False)
    states = torch.randn(50, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    line = rnnlens.fit_line_attractor(network, states)
    found = find_modifiers(network, line, probes=Probes(("w0", "w1"), ("w2", "w3")))
    rows = torch.arange(40)
    model = fit_bilinear(network, line, found, rank=1, most=6, rows=rows, seed=3)
    X = found.h_mod - line.h_star
    Y = input_features(network, found.h_mod) - input_features(network, line.h_star)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(3))
    held, kept = order[:8], order[8:]
    left = Y[held] - X[held] @ torch.linalg.lstsq(X[kept], Y[kept]).solution
    assert model.held_out[-1].item() == pytest.approx(1 - float(left.square().sum() / Y[held].square().sum()), abs=1e-9)
    assert model.held_out[-1] < model.explained[-1]


def test_the_penalty_is_l2_times_the_squares_of_the_words_weights():
    """A bag of words, trained to the end, is where its loss and this penalty are least."""
    texts, l2 = ["good"] * 9 + ["bad"] * 8 + ["good film", "bad film", "bad"], 0.03
    labels = [1] * 8 + [0] * 9 + [1, 0, 1]
    corpus = Corpus.from_texts(texts, labels, validation=0)
    model = Convolution(Shape(len(corpus.vocab)))
    how = TrainConfig(
        epochs=600,
        batch=len(texts),
        learning_rate=0.05,
        schedule="exponential",
        warmup=0,
        final_rate=1e-4,
        word_dropout=0,
        max_words=None,
    )
    train_model(model, corpus.train, how, l2)
    counts = np.stack([np.bincount(corpus.train.document(i), minlength=len(corpus.vocab)) for i in range(len(texts))])
    signs = 2.0 * np.asarray(labels) - 1

    def loss(values):
        beta, bias = values[:-1], values[-1]
        return np.logaddexp(0, -signs * (counts @ beta + bias)).mean() + l2 * (beta**2).sum()

    best = minimize(loss, np.zeros(len(corpus.vocab) + 1), tol=1e-12).x
    np.testing.assert_allclose([*model.beta.tolist(), model.bias.item()], best, atol=2e-3)
