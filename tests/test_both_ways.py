"""Bidirectional networks are torch's own, and each of their two readers can be analyzed."""

import math

import pytest
import torch
from tests.handmade import FAST, H0, MODIFIERS, SLOW, TRANSIENT, handmade
from tests.torch_networks import WORDS, D, H, close, outputs_of, sentences
from torch import nn

import rnnlens
from rnnlens import BothWays, Probes, RnnlensError, from_torch, jacobians

directions = pytest.mark.parametrize("batch_first", [True, False], ids=["batch first", "time first"])


def both_of(kind="gru", outputs=1, batch_first=True, pooling=None, start=None, **options):
    torch.manual_seed(0)
    sizes = {"proj_size": 3} if kind == "proj_size" else {}
    rnn = {"gru": nn.GRU, "rnn": nn.RNN}.get(kind, nn.LSTM)(D, H, batch_first=batch_first, bidirectional=True, **sizes)
    embedding, head = nn.Embedding(len(WORDS), D), nn.Linear(2 * sizes.get("proj_size", H), outputs)
    return rnn, embedding, head, from_torch(rnn, embedding, head, WORDS, start, pooling=pooling, **options)


@directions
@pytest.mark.parametrize("kind", ["gru", "lstm", "rnn", "proj_size"])
@pytest.mark.parametrize("pooling", [None, "mean"])
def test_bidirectional_networks_are_torchs_own(kind, pooling, batch_first):
    rnn, embedding, head, both = both_of(kind, pooling=pooling, batch_first=batch_first)
    ids, lengths = sentences()
    with torch.no_grad():
        outputs, last = outputs_of(rnn, embedding, ids, lengths)
        read = last if pooling is None else outputs.sum(1) / lengths.unsqueeze(1)
        close(both(ids, lengths), head(read).squeeze(1))
        whole = torch.full_like(lengths, 15)
        close(both(ids), both(ids, whole))


def test_bidirectional_classes_are_torchs_own():
    names = ["a", "b", "c", "d"]
    rnn, embedding, head, both = both_of(outputs=4, classes=names)
    ids, lengths = sentences()
    with torch.no_grad():
        scores = head(outputs_of(rnn, embedding, ids, lengths)[1])
        close(both(ids, lengths), scores)
        close(both.of_class("c")(ids, lengths), scores[:, 2] - scores[:, [0, 1, 3]].mean(1))
    texts = [" ".join(WORDS[i] for i in row[:n]) for row, n in zip(ids[:5], lengths[:5], strict=True)]
    assert both.predict_proba(texts).shape == (5, 4) and set(both.predict(texts)) <= set(names)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_both_directions_start_from_torchs_own_states(kind):
    start = torch.randn(2, 1, H), torch.randn(2, 1, H)
    start = start[0] if kind == "gru" else start
    rnn, embedding, head, both = both_of(kind, start=start)
    ids = sentences(n=1)[0]
    with torch.no_grad():
        last = rnn(embedding(ids), start)[1]
        last = last if kind == "gru" else last[0]
        close(both(ids), head(last.transpose(0, 1).flatten(1)).squeeze(1))


def test_what_words_add_from_either_side_sums_to_the_logit():
    _, _, _, both = both_of("lstm", start=(torch.randn(2, 1, H), torch.randn(2, 1, H)))
    sides = both.read("w3 w1 <pad> w4 w1")
    assert [word for word, _, _ in sides] == ["w3", "w1", "<pad>", "w4", "w1"]
    with torch.no_grad():
        empty = both.forwards.logit(both.forwards.h0), both.backwards.logit(both.backwards.h0)
        for part, added, start in zip(
            (sides.forward_part, sides.backward_part), (sides.forwards, sides.backwards), empty, strict=True
        ):
            assert part == pytest.approx(float(start) + sum(added), abs=1e-6)
        assert sides.logit == pytest.approx(float(both("w3 w1 <pad> w4 w1")), abs=1e-6)
        # The backward reader reads the last word first.
        first = both.backwards.logits(torch.tensor([[1]]))[0]
        assert sides.backwards[-1] == pytest.approx(float(first[1] - first[0]), abs=1e-6)
    proba, texts = both.predict_proba(["w1", "w3 w1 <pad> w4 w1", ""]), both(["w1", "w3 w1 <pad> w4 w1"]).detach()
    close(torch.from_numpy(proba[:2, 1]), texts.sigmoid().double(), atol=1e-6)
    assert (both.predict(["w1", "w3 w1"]) == (proba[:2, 1] > 0.5)).shape == (2,)


def test_jacobians_of_the_backward_reader_are_autograds():
    torch.manual_seed(0)
    rnn = nn.GRU(D, H, bidirectional=True).double()
    both = from_torch(rnn, torch.randn(len(WORDS), D).double(), nn.Linear(2 * H, 1), WORDS)
    h, e = torch.randn(5, H).double(), torch.randn(5, D).double()

    def step(h, e):
        return rnn(e.view(1, 1, D), torch.stack([torch.zeros_like(h), h]).unsqueeze(1))[1][1, 0]

    both_sides = [torch.autograd.functional.jacobian(step, point) for point in zip(h, e, strict=True)]
    for ours, reference in zip(jacobians(both.backwards, h, e), zip(*both_sides, strict=True), strict=True):
        close(ours, torch.stack(reference), atol=1e-10)


def test_a_backward_negator_is_found_in_the_backward_reader_alone():
    """A negator that follows its word: only the backward reader knows it, with a known strength and timescale."""
    backwards, _ = handmade()
    forwards, _ = handmade()
    forwards.E[:, 1:3] = 0  # no modifiers from the left
    both = BothWays(forwards, backwards, torch.zeros((), dtype=torch.float64))
    probes = Probes(positive=["good", "great"], negative=["bad", "awful"])
    lines = {}
    for name, network in (("forwards", both.forwards), ("backwards", both.backwards)):
        states = rnnlens.visited_states(network, n=500)
        line = rnnlens.fit_line_attractor(network, rnnlens.find_fixed_points(network, states, mode="slow"))
        lines[name] = line, rnnlens.find_modifiers(network, line, probes=probes)
    assert lines["forwards"][1]["not"]["strength"] == pytest.approx(0, abs=1e-6)
    line, modifiers = lines["backwards"]
    for word, (fast, slow) in MODIFIERS.items():
        assert modifiers[word]["strength"] == pytest.approx(fast + slow, abs=0.01)
    assert modifiers["not"]["tau"] == pytest.approx(FAST, rel=0.05)
    # "good not" is negated from the right; "not good" is not.
    after, before = both.read("good not"), both.read("not good")
    at_once = 1 + TRANSIENT
    assert after.backwards[0] == pytest.approx(at_once * (1 - 2 + H0 * math.exp(-1 / SLOW)))
    assert before.backwards[1] == pytest.approx(at_once * (1 + H0))
    assert after.forwards[0] == pytest.approx(before.backwards[1])


def test_the_backward_reader_is_analyzed_on_reversed_texts():
    _, _, _, both = both_of()
    ids, lengths = sentences(n=40)
    rows = [row[:n].tolist() for row, n in zip(ids, lengths, strict=True)]
    labels = [i % 2 for i in range(40)]
    corpus = rnnlens.Corpus.from_ids(WORDS, (rows[:30], labels[:30]), (rows[30:], labels[30:]))
    turned = rnnlens.reversed_corpus(corpus)
    for i, row in enumerate(rows[:30]):
        assert turned.train.document(i).tolist() == row[::-1]
    assert turned.test.document(3).tolist() == rows[33][::-1] and (turned.train.labels == corpus.train.labels).all()
    assert turned.fingerprint != corpus.fingerprint and turned.about["reversed"] == corpus.fingerprint
    with torch.no_grad():
        left, right = (
            network(*(torch.from_numpy(part) for part in texts.train.batch(range(30))))
            for network, texts in ((both.forwards, corpus), (both.backwards, turned))
        )
        close(left + right + both.b, both(ids[:30], lengths[:30]))
    with pytest.raises(RnnlensError, match="reversed_corpus"):
        rnnlens.visited_states(both.backwards, corpus)
    assert len(rnnlens.visited_states(both.backwards, turned, n=20)) == 20


def test_an_analysis_of_the_backward_reader_says_its_order():
    network, _ = handmade()
    both = BothWays(handmade()[0], network, torch.zeros((), dtype=torch.float64))
    probes = Probes(positive=["good", "great"], negative=["bad", "awful"])
    analysis = rnnlens.analyze(both.backwards, probes=probes)
    assert any("from its last word to its first" in warning for warning in analysis.warnings)
    assert not any("last word" in warning for warning in rnnlens.analyze(both.forwards, probes=probes).warnings)
    assert "reads backward" in repr(both.backwards) and rnnlens.project_out(network, analysis.subspace).backward
