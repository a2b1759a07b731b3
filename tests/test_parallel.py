"""Texts are read in batches that fit into memory, each by one core."""

import numpy as np
import pytest
import torch

import rnnlens
from rnnlens.analysis.behaviour import final_logits as logits_of_texts
from rnnlens.context.perturbation import Reviews, final_logits
from rnnlens.corpora.splits import Split
from rnnlens.dynamics import visited_states
from rnnlens.networks import BothWays, reading
from rnnlens.networks.devices import threads_for
from rnnlens.training.evaluation import evaluate

WORDS = ["<unk>", "not", "good", "bad"]
TEXTS = ["not good " * (1 + n % 7) for n in range(30)]


def split_of(lengths):
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids = rng.integers(0, len(WORDS), offsets[-1]).astype(np.uint16)
    return Split(ids, offsets, (np.arange(len(lengths)) % 2).astype(np.uint8))


def read_all(network, split):
    """Logits of a split and of texts, by all functions that read many texts."""
    found = [evaluate(network, split, tokens=16).logits, network.predict_proba(TEXTS)]
    if isinstance(network, BothWays):
        return [*found, np.array(logits_of_texts(network, TEXTS))]
    reviews = Reviews.of(split, "cpu", at_once=16)
    visited = visited_states(network, split, n=50, tokens=16).numpy()
    return [*found, final_logits(network, reviews), final_logits(network, reviews, shuffle=1, pads=2), visited]


@pytest.mark.parametrize("make", [rnnlens.Network, BothWays.untrained])
@pytest.mark.parametrize("arch", ["gru", "lstm", "ugrnn", "vanilla"])
def test_each_core_reads_a_batch_and_cores_change_nothing(make, arch, monkeypatch):
    network = make(WORDS, arch, hidden=6, embedding=4).requires_grad_(False)
    split, threads = split_of([3, 0, 9, 1, 40, 7, 7, 2] * 4), []
    embed = rnnlens.Network.embed

    def noted(self, *given):
        threads.append(torch.get_num_threads())
        return embed(self, *given)

    monkeypatch.setattr(rnnlens.Network, "embed", noted)
    monkeypatch.setattr(reading, "TEXTS_A_BATCH", 5)
    monkeypatch.setattr("rnnlens.analysis.behaviour.MOST", 5)
    with threads_for(network, 1):
        alone = read_all(network, split)
    threads.clear()
    with threads_for(network, 3):
        shared = read_all(network, split)
        assert torch.get_num_threads() == 3
    assert set(threads) == {1}
    for one, other in zip(alone, shared, strict=True):
        assert np.array_equal(one, other)


def test_one_long_text_does_not_widen_the_others(monkeypatch):
    network = rnnlens.Network(WORDS, hidden=6, embedding=4).requires_grad_(False)
    texts = [*TEXTS, "not bad " * 500]
    shapes, last = [], network._last_logits
    monkeypatch.setattr(
        network, "_last_logits", lambda rows: (shapes.append([len(row) for row in rows]), last(rows))[1]
    )
    monkeypatch.setattr(reading, "WORDS", 100)
    found = network.predict_proba(texts)
    assert all(len(lengths) == 1 or len(lengths) * max(lengths) <= 100 for lengths in shapes)
    alone = np.concatenate([network.predict_proba([text]) for text in texts])
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-6)
    assert network.predict_proba([]).shape == (0, 2)
