"""The weights that are kept while a network trains: they change nothing, survive kills, and can be analyzed."""

import dataclasses
import itertools
import shutil

import numpy as np
import pytest
import torch
from test_training import QUICK, same, small, weights

import rnnlens
from rnnlens import RnnlensError, figures, train
from rnnlens.corpora import Corpus
from rnnlens.training.loop import Trainer
from rnnlens.training.snapshots import moments

WORDS = ["the", "film", "was", "very", "it", "not", "good", "bad"]


@pytest.fixture(scope="module")
def corpus():
    """Reviews whose label is decided by one word, which `not` before it reverses."""
    generator, labels = np.random.default_rng(0), np.arange(240) % 2
    texts = []
    for label in labels:
        start = generator.choice(WORDS[:5], size=generator.integers(2, 12)).tolist()
        negated = bool(generator.integers(0, 2))
        word = ["bad", "good"][int(label) ^ int(negated)]
        texts.append(" ".join([*start, *(["not"] if negated else []), word]))
    return Corpus.from_texts(texts, labels, test=(texts[:40], labels[:40]))


@pytest.fixture(scope="module")
def kept(corpus, tmp_path_factory):
    return train(small(corpus), corpus, QUICK, tmp_path_factory.mktemp("kept") / "run", snapshots=8)


def files(path):
    return {file.name: file.read_bytes() for file in (path / "snapshots").iterdir()}


@pytest.mark.parametrize(("total", "count"), [(8_700, 40), (60, 40), (5, 40), (1, 2), (10**6, 1000), (100, 2)])
def test_moments_are_different_steps_from_the_first_to_the_last(total, count):
    steps = moments(total, count)
    assert steps[0] == 0 and steps[-1] == total and len(steps) == min(count, total + 1)
    assert all(a < b for a, b in itertools.pairwise(steps))
    gaps = np.diff(steps)
    assert gaps[: len(gaps) // 2].sum() <= gaps[len(gaps) // 2 :].sum()


def test_training_is_the_same_with_and_without_snapshots(corpus, kept, tmp_path):
    random = torch.get_rng_state()
    plain = train(small(corpus), corpus, QUICK, tmp_path / "plain")
    assert same(weights(plain.path), weights(kept.path)) and plain.steps == []
    assert plain.about["provenance"] == kept.about["provenance"]
    assert torch.equal(random, torch.get_rng_state())


def test_a_killed_run_ends_with_the_same_snapshots(corpus, kept, tmp_path, monkeypatch):
    step, kills = Trainer.step, iter([2, 7, 15, 13, 9, 6])
    countdown = [next(kills)]

    def counted(self, rows):
        countdown[0] -= 1
        if not countdown[0]:
            raise KeyboardInterrupt
        return step(self, rows)

    monkeypatch.setattr(Trainer, "step", counted)
    for _ in range(20):
        try:
            train(small(corpus), corpus, QUICK, tmp_path / "killed", resume=True, snapshots=8)
            break
        except KeyboardInterrupt:
            countdown[0] = next(kills, 10**9)
    assert same(weights(tmp_path / "killed"), weights(kept.path)) and files(tmp_path / "killed") == files(kept.path)


def test_a_run_that_stops_early_has_a_last_snapshot(corpus, tmp_path):
    config = dataclasses.replace(QUICK, epochs=30, patience=1, learning_rate=0.05, keep="last")
    run = train(small(corpus), corpus, config, tmp_path / "run", snapshots=6)
    assert run.steps[-1] == run.history[-1]["step"] < moments(14 * 30, 6)[-1]
    assert same(run.at(run.steps[-1]).state_dict(), run.network.state_dict())


def test_each_snapshot_is_a_network_that_can_be_analyzed(corpus, kept):
    first, last = small(corpus), kept.at(kept.steps[-1])
    assert kept.steps == moments(42, 8) and same(kept.at(0).state_dict(), first.state_dict())
    assert same(last.state_dict(), rnnlens.load(kept.path).at(42).state_dict())
    analyses = {step: rnnlens.analyze(kept.at(step), starts=200) for step in kept.steps[-2:]}
    figure = figures.learning(analyses, ["not", "very", "unknown"])
    drawn = {trace.name: list(trace.y) for trace in figure.data if trace.name != "guide"}
    assert drawn["“not”"] == [one.modifiers["not"]["strength"] for one in analyses.values()]
    assert drawn.keys() == {"“not”", "“very”"}
    with pytest.raises(RnnlensError, match="nothing to draw"):
        figures.learning(analyses, ["unknown"])


def test_snapshots_of_another_run_and_other_steps_are_refused(corpus, kept, tmp_path):
    other = train(small(corpus), corpus, dataclasses.replace(QUICK, seed=1), tmp_path / "other")
    shutil.copytree(kept.path / "snapshots", other.path / "snapshots")
    with pytest.raises(RnnlensError, match="does not fit 'run.json'"):
        other.at(0)
    with pytest.raises(RnnlensError, match="the weights after step '41' were not kept: those kept are 0, "):
        kept.at(41)
    for number in (None, 9):
        with pytest.raises(RnnlensError, match="number of snapshots is '8', now"):
            train(small(corpus), corpus, QUICK, kept.path, resume=True, snapshots=number)
