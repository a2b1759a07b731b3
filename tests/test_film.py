"""Snapshots while a network trains: they change nothing, survive kills, and say what an analysis would say."""

import dataclasses
import itertools
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from test_training import QUICK, same, small, weights

import rnnlens
from rnnlens import RnnlensError, TrainConfig, toy_corpus, train
from rnnlens.analysis.film import DOCUMENTS
from rnnlens.analysis.locate import location_of
from rnnlens.analysis.snapshot import STARTS, Sample
from rnnlens.common.files import read_lines, rewrite_lines
from rnnlens.context import Probes, find_modifiers
from rnnlens.context.perturbation import Reviews, final_logits
from rnnlens.corpora import Corpus
from rnnlens.dynamics import visited_states
from rnnlens.runs.abilities import abilities, sentence
from rnnlens.runs.snapshot import LineFacts, Snapshot, WordStrength
from rnnlens.runs.snapshots import Snapshots
from rnnlens.training.loop import Trainer
from rnnlens.training.watching import moments

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
def filmed(corpus, tmp_path_factory):
    return train(small(corpus), corpus, QUICK, tmp_path_factory.mktemp("film") / "run", snapshots=8)


@pytest.mark.parametrize(("total", "count"), [(8_700, 40), (60, 40), (5, 40), (1, 2), (10**6, 1000), (100, 2)])
def test_moments_are_different_steps_from_the_first_to_the_last(total, count):
    steps = moments(total, count)
    assert steps[0] == 0 and steps[-1] == total and len(steps) == min(count, total + 1)
    assert all(a < b for a, b in itertools.pairwise(steps))
    gaps = np.diff(steps)
    assert steps == moments(total, count) and gaps[: len(gaps) // 2].sum() <= gaps[len(gaps) // 2 :].sum()


def test_training_is_the_same_with_and_without_snapshots(corpus, filmed, tmp_path):
    random = torch.get_rng_state()
    plain = train(small(corpus), corpus, QUICK, tmp_path / "plain")
    assert same(weights(plain.path), weights(filmed.path))
    assert plain.about["provenance"] == filmed.about["provenance"]
    assert [r["validation_loss"] for r in plain.history] == [r["validation_loss"] for r in filmed.history]
    assert torch.equal(random, torch.get_rng_state())


def test_a_killed_run_ends_with_the_same_snapshots(corpus, filmed, tmp_path, monkeypatch):
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
    assert same(weights(tmp_path / "killed"), weights(filmed.path))
    assert (tmp_path / "killed" / "snapshots.jsonl").read_bytes() == (filmed.path / "snapshots.jsonl").read_bytes()
    assert not list((tmp_path / "killed" / "checkpoint").iterdir())


def test_a_run_that_lost_its_snapshots_is_not_resumed(corpus, tmp_path, monkeypatch):
    step = Trainer.step

    def killed(self, rows):
        if self.counters.step == 11:
            raise KeyboardInterrupt
        return step(self, rows)

    monkeypatch.setattr(Trainer, "step", killed)
    with pytest.raises(KeyboardInterrupt):
        train(small(corpus), corpus, QUICK, tmp_path / "run", snapshots=8)
    monkeypatch.undo()
    path = tmp_path / "run" / "checkpoint" / "snapshots.jsonl"
    kept = path.read_text()
    path.write_text("".join(kept.splitlines(keepends=True)[1:]))
    with pytest.raises(RnnlensError, match="lacks this run's snapshot at step 0"):
        train(small(corpus), corpus, QUICK, tmp_path / "run", resume=True, snapshots=8)
    path.write_text(kept[:-9])  # a line that was cut off comes after the checkpoint, and is made again
    assert len(train(small(corpus), corpus, QUICK, tmp_path / "run", resume=True, snapshots=8).snapshots) == 8


def test_filming_needs_no_parts_of_the_command_line_or_the_page():
    code = (
        "import sys, rnnlens.analysis.film\n"
        "found = {'polars', 'plotly', 'cyclopts', 'jinja2'} & set(sys.modules)\n"
        "sys.exit(f'imported {found}' if found else 0)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_resuming_with_another_number_of_snapshots_is_refused(corpus, filmed):
    for other in (None, 9):
        with pytest.raises(RnnlensError, match="number of snapshots is '8', now"):
            train(small(corpus), corpus, QUICK, filmed.path, resume=True, snapshots=other)


@pytest.mark.parametrize("count", [0, 1, -3, 2.5, 10**9, "many", True])
def test_a_wrong_number_of_snapshots_is_refused(corpus, count, tmp_path):
    with pytest.raises(RnnlensError, match="snapshots is .*: expected a whole number"):
        train(small(corpus), corpus, QUICK, tmp_path / "run", snapshots=count)
    assert not (tmp_path / "run").exists()


def test_the_toy_language_cannot_be_filmed(tmp_path):
    toy = toy_corpus(train=64, validation=16)
    with pytest.raises(RnnlensError, match="a target at every word"):
        train(small(toy), toy, TrainConfig(epochs=1), tmp_path / "run", snapshots=3)
    assert not (tmp_path / "run").exists()


def test_a_run_that_stops_early_has_a_last_snapshot(corpus, tmp_path):
    config = dataclasses.replace(QUICK, epochs=30, patience=1, learning_rate=0.05)
    run = train(small(corpus), corpus, config, tmp_path / "run", snapshots=6)
    steps = [line["step"] for line in read_lines(run.path / "snapshots.jsonl")[1:]]
    assert steps[-1] == run.history[-1]["step"] < moments(14 * 30, 6)[-1] and steps == sorted(set(steps))


def test_the_last_snapshot_says_what_an_analysis_says(corpus, filmed):
    """Strengths, errors and accuracy of the last snapshot against `find_modifiers` on the run's own network."""
    about, *records = read_lines(filmed.path / "snapshots.jsonl")
    network, last = filmed.network, records[-1]
    sample = Sample.of(corpus.validation, DOCUMENTS, QUICK.seed, QUICK.max_words)
    line = location_of(network, visited_states(network, sample, n=STARTS, seed=QUICK.seed)).line
    modifiers = find_modifiers(network, line, probes=Probes.from_dict(about["probes"]))
    assert {"not", "very", "the"} <= last["words"].keys()
    for word, (strength, error, valence) in last["words"].items():
        row = modifiers[word]
        assert (strength, error, valence) == pytest.approx([row["strength"], row["error"], row["valence"]], rel=1e-4)
    assert last["accuracy"] == pytest.approx(rnnlens.evaluate(network, corpus.validation).accuracy)
    assert last["loss"] == pytest.approx(rnnlens.evaluate(network, corpus.validation).loss, rel=1e-4)
    reviews, logits = Reviews.of(sample, "cpu"), []
    for shuffle in (None, QUICK.seed):
        logits.append(final_logits(network, reviews, shuffle=shuffle))
    assert last["shuffled"] == ((logits[1] > 0) == reviews.labels).mean()
    assert final_logits(network, sample.twice(QUICK.seed, torch.device("cpu"))) == pytest.approx(np.concatenate(logits))
    assert last["readings"]["not good"] == pytest.approx(network.read("not good")[-1][1], rel=1e-4)
    assert last["subspace"]["overlap"] == pytest.approx(1, abs=1e-2)


# --- what a run says of its snapshots ---------------------------------------------------------------------------------


def test_a_run_reads_its_snapshots(filmed):
    found = filmed.snapshots
    assert len(found) == 8 and found.steps == moments(42, 8) and found.documents == 24 and found.split == "validation"
    last = found[-1]
    assert last.words["not"].strength < 0 and last.points is not None and len(last.points.x) == len(last.points.logits)
    assert not found.is_rerun and "It learns" in repr(found) and "<svg" in found._repr_html_()
    assert rnnlens.runs.load_checked(filmed.path).snapshots == found
    with pytest.raises(dataclasses.FrozenInstanceError):
        last.accuracy = 1.0


def test_snapshots_of_another_run_are_refused(corpus, filmed, tmp_path):
    config = dataclasses.replace(QUICK, seed=1)
    other = train(small(corpus), corpus, config, tmp_path / "other")
    with pytest.raises(RnnlensError, match="has no snapshots: train it with --snapshots N"):
        other.snapshots  # noqa: B018
    shutil.copy(filmed.path / "snapshots.jsonl", other.path)
    with pytest.raises(RnnlensError, match="does not fit 'run.json'.*of another run"):
        other.snapshots  # noqa: B018


def test_damaged_snapshots_are_refused(filmed, tmp_path):
    shutil.copytree(filmed.path, tmp_path / "run")
    run, path = rnnlens.load(tmp_path / "run"), tmp_path / "run" / "snapshots.jsonl"
    about, *records = read_lines(path)
    path.write_text(path.read_text()[:-40])
    with pytest.raises(RnnlensError, match="damaged: it has 7 intact snapshots"):
        run.snapshots  # noqa: B018
    for wrong in (
        {"accuracy": "high"}, {"loss": float("nan")}, {"words": {"not": [1]}}, {"readings": 3}, {"step": -1},
        {"points": {**records[3]["points"], "x": [1.0]}}, {"line": {}},
    ):  # fmt: skip
        rewrite_lines(path, [about, *records[:3], {**records[3], **wrong}, *records[4:]])
        with pytest.raises(RnnlensError, match="is not a valid file of snapshots"):
            run.snapshots  # noqa: B018


def snapshots_of(strengths, accuracies, costs=None, **more):
    """A film by hand: the strength of `not` (error 0.1), accuracy and the cost of shuffling at steps 0, 10, 20, …"""
    costs = costs or [0] * len(accuracies)
    shots = [
        Snapshot(10 * k, 0.5, accuracy, accuracy - cost / 1000, cost, 0, {"good": 1.0, "not good": strength + 1,
                 "bad": -1.0, "not bad": -1.0}, {"not": WordStrength(strength, 0.1, 0.0)}, None, None, None)
        for k, (strength, accuracy, cost) in enumerate(zip(strengths, accuracies, costs, strict=True))
    ]  # fmt: skip
    return Snapshots(tuple(shots), "validation", 1000, 0.5, {}, **more)


def test_abilities_are_the_steps_from_which_on_they_hold():
    film = snapshots_of([0, -1.4, -0.3, -0.8, -1.5], [0.5, 0.8, 0.88, 0.87, 0.9], [0, 0, 40, 30, 40])
    found = {one.name: (one.step, one.after) for one in abilities(film)}
    assert found["not"] == (30, 20)  # −1.4 at step 10 did not last
    assert found["accuracy"] == (20, 10) and found["order"] == (20, 10)
    assert found["“not good”"] == (40, 30) and found["“not bad”"] == (None, None) and found["the line"] == (None, None)
    said = sentence(film)
    assert said.startswith("It learns valence, accuracy and order by step 20, ") and "“not” by step 30" in said
    assert said.endswith(" It never learns “not bad”, memory, the line and the subspace.")
    lost = snapshots_of([-1.5, -1.5, -0.8], [0.5, 0.9, 0.9])
    assert {one.name: (one.step, one.until) for one in abilities(lost)}["“not good”"] == (None, 10)
    assert sentence(lost).endswith(" It loses “not good” after step 10.")


def test_what_is_not_clear_at_the_end_is_never_learned():
    film = snapshots_of([-0.5, -0.5, -0.15], [0.5, 0.52, 0.52], [9, 9, 9])
    found = {one.name: one.step for one in abilities(film)}
    assert found["not"] is None and found["accuracy"] is None and found["valence"] is None and found["order"] == 0
    assert sentence(film).startswith("It learns nothing that was measured. It has order before training. It never")


def test_the_packaged_gru_has_its_own_film():
    """Its last snapshot is of the packaged weights, before they were rounded."""
    run = rnnlens.load("zoo:reviews-gru")
    film, path = run.snapshots, run.path / "snapshots.jsonl"
    assert len(film) == 40 and not film.is_rerun and path.stat().st_size <= 1e6
    for text, logit in film[-1].readings.items():
        words = run.network.vocab.split(text)
        assert run.network.read_words(words)[-1][1] == pytest.approx(logit, abs=0.05), text
    found = {one.name: one.step for one in film.abilities}
    assert min(found[name] for name in ("valence", "not", "order")) > 0 and found["the"] is None


def test_the_report_of_a_filmed_run_has_the_film(filmed, tmp_path):
    """And the report of a run with another run's film says so."""
    shutil.copytree(filmed.path, tmp_path / "run")
    run = rnnlens.load(tmp_path / "run")
    rnnlens.analyze(run).save()
    text = rnnlens.report(run).read_text("utf-8")
    assert 'id="film-player"' in text and "These are 8 snapshots, over 42 steps" in text
    about, *records = read_lines(run.path / "snapshots.jsonl")
    rewrite_lines(run.path / "snapshots.jsonl", [{**about, "provenance": {"run": "f" * 32, "weights": ""}}, *records])
    with pytest.raises(RnnlensError, match="of another run"):
        rnnlens.report(run)


def test_two_separate_states_are_no_line_in_a_film():
    facts = LineFacts(0.99, 0.99, (-4.0, 4.0), 0.9, 0.0, 0.9, 10, "slow points")
    film = snapshots_of([0, 0], [0.8, 0.9])

    def appears(shape):
        line = dataclasses.replace(facts, shape=shape)
        shots = tuple(dataclasses.replace(shot, line=line) for shot in film.snapshots)
        found = abilities(dataclasses.replace(film, snapshots=shots))
        return next(one.step for one in found if one.name == "the line") is not None

    assert appears("line") and not appears("separate points")
