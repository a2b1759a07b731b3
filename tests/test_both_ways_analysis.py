"""Analyses of networks that read both ways: the two readers, each in its order, and the whole that they are part of."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from tests.handmade import FAST, MODIFIERS, NEUTRAL, SLOW, VALENCE, handmade
from tests.negated_texts import texts_of

import rnnlens
from rnnlens import BothWays, Probes, TrainConfig
from rnnlens.analysis.directions import BothDirections
from rnnlens.analysis.record import Analysis
from rnnlens.context.both_ways import LATER, in_text, joined, parts
from rnnlens.context.perturbation import Reviews, final_logits
from rnnlens.networks import reader_of, replaced, within
from rnnlens.page.writer import both_ways

PROBES = Probes(positive=["good", "great"], negative=["bad", "awful"])


@pytest.fixture(scope="module")
def made():
    """A network whose backward reader has modifiers of known strength and timescale; the forward one's are a thousandth
    as strong."""
    forwards, backwards = handmade()[0], handmade()[0]
    forwards.E[:, 1:3] *= 1e-3
    return BothWays(forwards, backwards, torch.zeros((), dtype=torch.float64))


@pytest.fixture(scope="module")
def corpus(made):
    """Documents in which negators follow their words, labeled by the network itself."""
    rng, words, rows = np.random.default_rng(0), list(made.vocab.words), []
    for _ in range(400):
        row = []
        for word in rng.choice(list(VALENCE), 5):
            row += [str(word), *([str(rng.choice(["not", "never"]))] if rng.random() < 0.5 else [])]
            row.append(str(rng.choice(NEUTRAL)))
        rows.append([words.index(word) for word in row])
    with torch.no_grad():
        labels = [int(made(torch.tensor([row])) > 0) for row in rows]
    return rnnlens.Corpus.from_ids(made.vocab, (rows[:200], labels[:200]), (rows[200:], labels[200:]))


def test_a_backward_negator_is_recovered_with_its_strength_and_timescale(made):
    for direction in ("forwards", "backwards"):
        analysis = rnnlens.analyze(made, probes=PROBES, direction=direction)
        both = analysis.both_ways
        assert both.shown == direction and analysis.network.direction == direction
        assert both.share is None and both.removal is None and both.found == {"forwards": 0, "backwards": 6}
        for word, (fast, slow) in MODIFIERS.items():
            row = both[word]
            assert row["backwards"] == pytest.approx(fast + slow, abs=0.01)
            assert row["backwards_tau"] == pytest.approx(FAST if fast else SLOW, rel=0.05)
            assert row["forwards"] == pytest.approx(1e-3 * (fast + slow), abs=1e-5)
            assert both.carried(word) == "backwards"
            # In "good not", the backward half of what "good" adds is changed, which is half of the whole.
            assert row["after"]["backwards"] == pytest.approx((fast + slow) / 2, abs=0.01)
            assert row["before"]["forwards"] == pytest.approx(1e-3 * (fast + slow) / 2, abs=1e-5)
            assert row["after"]["forwards"] == pytest.approx(0, abs=1e-6) == row["before"]["backwards"]
            assert row["after"]["error"] == pytest.approx(0, abs=1e-6)
        assert both.carried("good") == "neither" and "backwards" in repr(both)
        stored = json.loads(json.dumps(both.to_dict()))
        assert BothDirections.from_dict(stored).to_dict() == both.to_dict()
    warned = [warning for warning in analysis.warnings if "from its last word to its first" in warning]
    assert analysis.to_dict()["analysis"]["direction"] == "backwards" and warned


def test_removing_the_backward_subspace_costs_what_backward_modifiers_are_worth(made, corpus):
    analysis = rnnlens.analyze(made, corpus, probes=PROBES, direction="backwards")
    removal, share = analysis.both_ways.removal, analysis.both_ways.share
    # Without its slow coordinate, the forward reader loses only the stress on the first words.
    assert removal.removed["forwards"].difference > -0.06 and removal.removed["backwards"].difference < -0.15
    assert removal.removed["both"].difference < -0.15 and len(removal.random["backwards"]) == 5
    random = np.median([draw.difference for draw in removal.random["backwards"]])
    assert removal.removed["backwards"].interval[1] < random
    # The experiments of the shown reader are of the whole network too.
    shown = analysis.perturbations.removed[3]
    assert shown.accuracy == removal.removed["backwards"].accuracy and shown.before == 1
    rows = [corpus.test.document(i) for i in range(len(corpus.test))]
    with torch.no_grad():
        left, right = (
            torch.stack([reader(torch.tensor(row[::turn].copy())[None])[0] for row in rows]).numpy()
            for reader, turn in ((made.forwards, 1), (made.backwards, -1))
        )
    covariance = np.cov(left, left + right)
    assert share.forwards == pytest.approx(covariance[0, 1] / covariance[1, 1]) and share.n == len(rows)
    assert share.forwards + share.backwards == pytest.approx(1)
    assert share.interval[0] < share.forwards < share.interval[1]
    alone = (left + right.mean() > 0) == (left + right > 0)
    assert share.alone["forwards"].accuracy == pytest.approx(alone.mean())
    assert analysis.both_ways.split == "test"


def test_changes_in_a_text_are_those_of_the_readers_own_logits(made):
    states = {name: rnnlens.visited_states(reader_of(made, name), n=300) for name in ("forwards", "backwards")}
    lines = {}
    for name, visited in states.items():
        network = reader_of(made, name)
        points = rnnlens.find_fixed_points(network, visited, mode="slow")
        lines[name] = rnnlens.fit_line_attractor(network, points)
    probes = Probes(positive=["good"], negative=["awful"])
    row = in_text(made, lines, ["hardly"], probes)[0]

    def logit(name, words):
        network, ids = reader_of(made, name), [made.vocab.index.get(word, -1) for word in words]
        start = lines[name].h_star
        return float(network.logit(network.states(torch.tensor([ids + [-1] * LATER]), start)[0, -1]))

    def effect(name, order):
        with_both, first, second, none = (
            logit(name, pair) for pair in (order, (order[0], "<blank>"), ("<blank>", order[1]), ("<blank>", "<blank>"))
        )
        return with_both - first - second + none

    alone = sum(
        sign * (logit(name, ("<blank>", word)) - logit(name, ("<blank>", "<blank>")))
        for name in lines
        for word, sign in (("good", 1), ("awful", -1))
    )
    for place, turn in (("before", 1), ("after", -1)):
        for name in lines:
            read = turn if name == "forwards" else -turn
            change = sum(sign * effect(name, ("hardly", word)[::read]) for word, sign in (("good", 1), ("awful", -1)))
            assert row[place][name] == pytest.approx(change / alone, abs=1e-10)


def test_one_reader_is_perturbed_within_the_whole(made, corpus):
    generator = torch.Generator().manual_seed(0)
    V = torch.linalg.qr(torch.randn(8, 2, generator=generator, dtype=torch.float64))[0].t()
    for name in ("forwards", "backwards"):
        turned = rnnlens.reversed_corpus(corpus) if name == "backwards" else corpus
        inside = within(made, name)
        assert np.array_equal(
            final_logits(inside, Reviews.to_read(turned.test, inside)),
            final_logits(made, Reviews.of(corpus.test, "cpu")),
        )
        changed = rnnlens.project_out(inside, V, torch.zeros(8, dtype=torch.float64))
        reader = rnnlens.project_out(reader_of(made, name), V, torch.zeros(8, dtype=torch.float64))
        whole, reviews = replaced(made, name, reader), Reviews.of(corpus.test, "cpu")
        np.testing.assert_allclose(
            final_logits(changed, Reviews.to_read(turned.test, inside)), final_logits(whole, reviews), atol=1e-5
        )
        np.testing.assert_allclose(joined(whole, parts(whole, reviews)), final_logits(whole, reviews), atol=1e-5)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run on texts with negators that follow their words, and its corpus."""
    texts, labels = texts_of(2_000)
    corpus = rnnlens.Corpus.from_texts(texts, labels, test=texts_of(300, seed=1))
    network = BothWays.untrained(corpus.vocab, hidden=32, embedding=8, scale=0.3, memory=30)
    config = TrainConfig(epochs=6, batch=32, learning_rate=0.02, word_dropout=0.1, embedding_dropout=0.0, keep="last")
    return rnnlens.train(network, corpus, config, tmp_path_factory.mktemp("both") / "run", progress=False), corpus


def test_a_trained_run_is_analyzed_stored_and_opened(trained):
    run, corpus = trained
    assert run.accuracy["validation"] > 0.95
    analysis = rnnlens.analyze(run, corpus, probes=PROBES, direction="backwards", reviews=200)
    both = analysis.both_ways
    assert both["not"]["backwards"] < -1 and both["not"]["backwards"] < both["not"]["forwards"] - 0.5
    assert both["not"]["after"]["backwards"] + both["not"]["after"]["forwards"] < -1
    analysis.save()
    again = Analysis.load(run.path)
    assert again.network.direction == "backwards" and again.both_ways.to_dict().keys() == both.to_dict().keys()
    assert again.results["both_ways"] == analysis.results["both_ways"]
    assert rnnlens.load(run.path).analyzed_network.backward
    without = run.without_subspace()
    assert isinstance(without, BothWays) and abs(float(without("good not")) - float(run.network("good not"))) > 0.1
    # Examples are texts in their usual order, read by the whole network.
    for one in analysis.results["examples"]:
        assert one["logit"] == pytest.approx(float(run.network(one["text"])), abs=1e-3)
    # The other direction replaces it, with its own sample of states and its own experiments.
    assert rnnlens.analyze(run, probes=PROBES, starts=200).network.direction == "backwards", "as stored"
    forwards = rnnlens.analyze(run, probes=PROBES, direction="forwards")
    assert both_ways(forwards) is run.network is both_ways(run)  # the page reads with both
    alone = rnnlens.analyze(run.network, probes=PROBES)
    assert both_ways(alone) is run.network
    assert forwards.network.direction == "forwards" and "steering" not in forwards.results
    forwards.save()
    assert Analysis.load(run.path).network.direction == "forwards"


def test_a_run_that_reads_both_ways_is_audited_and_shared(trained, tmp_path):
    run, _ = trained
    audited = rnnlens.audit(run)
    assert "reads both ways" in audited.unmeasured and audited.kinds[0].accuracy == 1
    folder = rnnlens.export(run, tmp_path / "shared")
    shared = rnnlens.load(folder)
    assert isinstance(shared.network, BothWays) and shared.read("good not").logit == run.read("good not").logit
    card = (folder / "README.md").read_text()
    assert "16 + 16 units, forwards and backwards" in card and "what each word adds from either side" in card


@pytest.mark.parametrize("ordered", [False, True])
def test_classes_are_analyzed_in_either_direction(ordered, tmp_path):
    texts, labels = texts_of(600)
    labels = [str(label if "film" in text else 2) for text, label in zip(texts, labels, strict=True)]
    corpus = rnnlens.Corpus.from_texts(
        texts, labels, classes=["0", "1", "2"], ordered=ordered, test=(texts[:80], labels[:80])
    )
    network = BothWays.untrained(
        corpus.vocab, hidden=16, embedding=4, scale=0.3, classes=corpus.classes, ordered=ordered
    )
    run = rnnlens.train(network, corpus, TrainConfig(epochs=2, batch=32), tmp_path / "run", progress=False)
    class_ = {} if ordered else {"class_": "1"}
    analysis = rnnlens.analyze(run, corpus, probes=PROBES, direction="backwards", **class_)
    assert analysis.both_ways.share.forwards + analysis.both_ways.share.backwards == pytest.approx(1)
    assert analysis.both_ways.removal.removed["both"].n == 80
    assert analysis.perturbations.accuracy == pytest.approx(analysis.both_ways.removal.removed["both"].before)
    analysis.save()
    assert Analysis.load(run.path).network.target == analysis.network.target
    verdict = " ".join(sentence.text for sentence in analysis.verdict)
    assert ("about one class, 1, against the rest" in verdict) != ordered
    card = (rnnlens.export(run, tmp_path / "shared") / "README.md").read_text()
    assert ("Sentiment" in card) == ordered and "class_=" not in card
    (line,) = (line for line in card.splitlines() if line.startswith("print("))
    assert "from either side" in line and eval(line.removeprefix("print").split("  #")[0]).words[0] == "not"
