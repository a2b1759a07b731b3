"""Ordered classes, such as stars: one direction of the state and a threshold between each two classes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import torch

import rnnlens
from rnnlens import Network
from rnnlens.corpora import prepare
from rnnlens.networks.readouts import ordered_logits

WORDS = ["<unk>", "awful", "bad", "fine", "good", "great", "not"]
STARS = ["1", "2", "3", "4", "5"]


def test_probabilities_are_differences_of_sigmoids():
    score = torch.linspace(-6, 6, 25, dtype=torch.float64, requires_grad=True)
    thresholds = torch.tensor([1.5, -2.0, 0.3, -0.4], dtype=torch.float64, requires_grad=True)
    above = torch.sigmoid(score.unsqueeze(1) - thresholds.sort().values)
    edges = torch.cat([torch.ones(25, 1), above, torch.zeros(25, 1)], 1)
    expected = edges[:, :-1] - edges[:, 1:]
    logits = ordered_logits(score, thresholds)
    torch.testing.assert_close(logits.exp(), expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(logits.softmax(1), expected, atol=1e-12, rtol=0)
    own, other = (
        torch.autograd.grad(one.sum(), (score, thresholds), retain_graph=True)
        for one in (logits[:, 2], expected[:, 2].log())
    )
    for a, b in zip(own, other, strict=True):
        torch.testing.assert_close(a, b, atol=1e-10, rtol=0)
    assert bool(ordered_logits(torch.tensor([-500.0, 500.0]), torch.zeros(4)).isfinite().all())


def test_the_scale_is_the_direction_and_the_middle_threshold():
    network = Network(WORDS, hidden=6, embedding=3, classes=STARS, ordered=True).double()
    ids = torch.randint(0, 7, (9, 5))
    logits, view = network(ids), network.of_class()
    assert logits.shape == (9, 5) and network.readout_w.shape == (6,) and network.config["ordered"] is True
    torch.testing.assert_close(logits.exp().sum(1), torch.ones(9).double())
    expected = logits[:, 3:].exp().sum(1) / logits[:, :3].exp().sum(1)  # odds of more than 3 stars
    thresholds = network.readout_b.sort().values
    score = view(ids) + (thresholds[1] + thresholds[2]) / 2
    torch.testing.assert_close(score - thresholds[2], expected.log(), atol=1e-10, rtol=0)
    assert view.target == "1 to 5" and "scale" in view.reads and "in order" in repr(network)


def stars(n: int, seed: int) -> tuple[list[str], list[int]]:
    """Texts whose stars rise with the sum of their words; *not* reverses the next word."""
    rng, values = np.random.default_rng(seed), {"awful": -2, "bad": -1, "fine": 0, "good": 1, "great": 2}
    texts, labels = [], []
    for _ in range(n):
        words, total = [], 0
        for word in rng.choice(list(values), 4):
            negated = rng.random() < 0.3
            words += [*(["not"] if negated else []), str(word)]
            total += (-1 if negated else 1) * values[word]
        texts.append(" ".join(words))
        labels.append(1 + int(np.searchsorted([-3, -1, 1, 3], total, side="right")))
    return texts, labels


def test_stars_are_prepared_trained_and_analyzed_on_one_scale(tmp_path):
    pl.DataFrame(dict(zip(("text", "stars"), stars(1500, 0), strict=True))).write_csv(tmp_path / "stars.csv")
    corpus = prepare(tmp_path / "stars.csv", tmp_path / "corpus", ordered=True)
    again = rnnlens.load_corpus(corpus.path)
    assert again.ordered and again.classes == ("1", "2", "3", "4", "5")
    network = Network(corpus.vocab, hidden=24, embedding=8, scale=0.3, classes=corpus.classes, ordered=True)
    config = rnnlens.TrainConfig(epochs=8, batch=32, learning_rate=0.02, word_dropout=0.02, embedding_dropout=0.0)
    rnnlens.train(network, corpus, config, tmp_path / "run", test=True, progress=False)
    run = rnnlens.load(tmp_path / "run")
    assert run.accuracy["test"] > 0.8 and run.network.ordered
    great, fine, awful = run.network.of_class()(["great great", "fine", "awful awful"]).tolist()
    assert great > fine > awful
    assert run.predict(["great great great great"]).tolist() == ["5"]
    analysis = rnnlens.analyze(run, corpus, starts=200, reviews=100, top=50)
    assert analysis.network.target == "1 to 5" and set(analysis.probes.positive) & {"great", "good"}
    analysis.save()
    assert rnnlens.Analysis.load(run.path).to_dict() == analysis.to_dict()
    assert "the scale &#39;1 to 5&#39;" in rnnlens.report(run).read_text()


def test_torchs_score_and_thresholds_are_ordered_classes():
    torch.manual_seed(0)
    gru, embedding, head = torch.nn.GRU(4, 6), torch.nn.Embedding(5, 4), torch.nn.Linear(6, 1)
    names, theta = ["1", "2", "4", "5"], torch.tensor([-0.3, 0.1, 0.4])
    network = rnnlens.from_torch(gru, embedding, head, list("abcde"), classes=names, thresholds=theta)
    ids = torch.randint(0, 5, (7, 9))
    score = head(gru(embedding(ids.t()))[0][-1])
    above = torch.cat([torch.ones(7, 1), torch.sigmoid(score - theta), torch.zeros(7, 1)], 1)
    torch.testing.assert_close(network(ids).exp(), above[:, :-1] - above[:, 1:], rtol=1e-5, atol=1e-6)
    assert network.ordered and network.classes == tuple(names)
    with pytest.raises(rnnlens.RnnlensError, match="rising numbers"):
        rnnlens.from_torch(gru, embedding, head, list("abcde"), classes=names, thresholds=theta.flip(0))
