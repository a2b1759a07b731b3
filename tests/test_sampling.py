"""Visited states are states after words of the corpus, drawn evenly."""

import numpy as np
import torch

from rnnlens import Network
from rnnlens.corpora import Corpus
from rnnlens.dynamics import visited_states


def corpus():
    texts = ["a b c", "", "a a a a a a a a a a", "c"]
    return Corpus.from_texts(texts * 10, [0, 1] * 20, validation=0.0)


def test_all_states_of_all_reviews_once_when_all_are_asked_for():
    data = corpus()
    network = Network(data.vocab, hidden=4, embedding=2).double()
    found = visited_states(network, data.train, n=10_000)
    expected = []
    for i in range(len(data.train)):
        ids = torch.from_numpy(data.train.document(i))
        if len(ids):
            expected.append(network.states(ids.unsqueeze(0))[0, 1:])
    expected = torch.cat(expected).detach()
    assert found.shape == expected.shape
    torch.testing.assert_close(found.sort(0).values, expected.sort(0).values, rtol=0, atol=1e-12)


def test_a_sample_is_even_over_words_and_fixed_by_its_seed():
    data = corpus()
    network = Network(data.vocab, hidden=4, embedding=2)
    sample = visited_states(network, data.train, n=70, seed=1)
    assert sample.shape == (70, 4) and torch.equal(sample, visited_states(network, data.train, n=70, seed=1))
    assert not torch.equal(sample, visited_states(network, data.train, n=70, seed=2))
    assert len(sample.unique(dim=0)) > 5


def test_without_a_corpus_words_are_random_by_their_counts():
    data = corpus()
    network = Network(data.vocab, hidden=4, embedding=2)
    assert visited_states(network, n=123).shape == (123, 4)
    assert visited_states(Network(["a", "b"], hidden=3, embedding=2), n=10).shape == (10, 3)


def test_long_reviews_are_cut_like_in_training():
    data = Corpus.from_texts(["a " * 300, "b"] * 4, [0, 1] * 4, validation=0.0)
    network = Network(data.vocab, hidden=4, embedding=2)
    assert visited_states(network, data.train, n=10**6, max_words=5).shape == (24, 4)
    assert np.isfinite(visited_states(network, data.train, n=50).numpy()).all()


def test_random_words_give_as_many_states_as_asked_for():
    assert visited_states(Network(["a", "b"], hidden=3, embedding=2), n=1_000, max_words=5).shape == (1_000, 3)
