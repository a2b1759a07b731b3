"""Embedded words of their own kind: steps that follow the gradient's size, and places that must be earned."""

import json

import numpy as np
import pytest
import torch

from rnnlens import Network, RnnlensError, TrainConfig, train
from rnnlens.corpora import Corpus
from rnnlens.training.optimiser import make_optimiser, shrink_words

CONFIG = TrainConfig(epochs=1, learning_rate=0.1, word_dropout=0, embedding_dropout=0)


@pytest.fixture
def network():
    return Network([f"w{i}" for i in range(6)], hidden=4, embedding=3)


def test_without_choices_of_their_own_words_are_trained_as_ever(network):
    other = Network([f"w{i}" for i in range(6)], hidden=4, embedding=3)
    ours = make_optimiser(network, CONFIG)
    plain = torch.optim.AdamW(other.parameters(), lr=0.1, betas=(0.9, 0.999), weight_decay=0.0, fused=True)
    for seed in range(3):
        for model, optimiser in ((network, ours), (other, plain)):
            chance = torch.Generator().manual_seed(seed)
            for parameter in model.parameters():
                parameter.grad = torch.randn(parameter.shape, generator=chance)
            optimiser.step()
    for a, b in zip(network.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_a_large_epsilon_lets_steps_follow_the_gradient(network):
    optimiser = make_optimiser(network, TrainConfig(word_epsilon=100.0, learning_rate=0.1))
    before = network.E.detach().clone()
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    network.E.grad[0], network.E.grad[1] = 1.0, 1e-3
    optimiser.step()
    moved = (network.E.detach() - before).abs().amax(1)
    assert moved[0] / moved[1] == pytest.approx(1_000, rel=0.05)  # Adam's own would move both alike


def test_words_are_shortened_alike_and_end_at_exactly_zero():
    config = TrainConfig(sparsity=0.5, learning_rate=0.1, schedule="constant", warmup=0.0)
    E = torch.tensor([[3.0, 4.0], [0.03, 0.04], [0.0, 0.0]])
    shrink_words(E, config, step=0, total=100)
    torch.testing.assert_close(E, torch.tensor([[3.0, 4.0], [0.03, 0.04], [0.0, 0.0]]))  # not before words have effects
    shrink_words(E, config, step=99, total=100)
    torch.testing.assert_close(E, torch.tensor([[2.97, 3.96], [0.0, 0.0], [0.0, 0.0]]))
    assert E[1].abs().max() == 0
    for wrong in ({"sparsity": -1.0}, {"word_epsilon": 0.0}):
        with pytest.raises(RnnlensError, match=next(iter(wrong))):
            TrainConfig(**wrong)


def test_useless_words_do_not_survive_and_useful_ones_do(tmp_path):
    chance = np.random.default_rng(0)
    labels = chance.integers(0, 2, 400)
    texts = [f"{'good' if y else 'bad'} {' '.join(f'x{i}' for i in chance.integers(0, 10, 4))}" for y in labels]
    corpus = Corpus.from_texts(texts, labels.tolist(), validation=0.1)
    network = Network(corpus.vocab, hidden=8, embedding=4, scale=0.1)
    config = TrainConfig(
        epochs=12, batch=16, learning_rate=0.02, word_epsilon=1e-3, sparsity=1.0, word_dropout=0, embedding_dropout=0
    )
    run = train(network, corpus, config, tmp_path / "run", progress=False)
    size = run.network.E.detach().norm(dim=1)
    sizes = {word: float(size[i]) for i, word in enumerate(corpus.vocab.words)}
    assert max(sizes["good"], sizes["bad"]) > 0.1  # one of the two is enough: the other is its absence
    assert np.median([length for word, length in sizes.items() if word.startswith("x")]) == 0.0
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["config"]["sparsity"] == 1.0 and run.results["accuracy"]["validation"] == 1.0
