"""Training learns, survives being killed bit for bit, and is the same on one process or two."""

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

import rnnlens
from rnnlens import Network, RnnlensError, TrainConfig, toy_corpus, train
from rnnlens.artifacts import read_tensors
from rnnlens.corpora import Corpus
from rnnlens.training.batches import epoch_batches, token_batches

QUICK = TrainConfig(
    epochs=3, batch=16, learning_rate=0.02, word_dropout=0.1, embedding_dropout=0.1, checkpoint_every=2, average=0.9
)


@pytest.fixture(scope="module")
def corpus():
    """Reviews whose label is decided by one word, among neutral ones."""
    generator = np.random.default_rng(0)
    labels = np.arange(240) % 2
    texts = [
        " ".join(
            generator.choice(["the", "film", "was", "it"], size=generator.integers(2, 12)).tolist()
            + [["awful", "great"][label]]
        )
        for label in labels
    ]
    return Corpus.from_texts(texts, labels, test=(texts[:40], labels[:40]))


def small(corpus, arch="gru"):
    return Network(corpus.vocab, arch=arch, hidden=8, embedding=4)


def weights(run):
    return {name: tensor.copy() for name, tensor in read_tensors(run / "weights.safetensors")[0].items()}


def same(first, second):
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("arch", ["gru", "lstm", "ugrnn", "vanilla"])
def test_every_architecture_learns_reviews(corpus, arch, tmp_path):
    run = train(small(corpus, arch), corpus, dataclasses.replace(QUICK, epochs=8), tmp_path / "run", test=True)
    assert run.results["accuracy"]["validation"] == 1 and run.results["accuracy"]["test"] == 1
    assert [record["epoch"] for record in run.history] == list(range(1, 9))
    assert rnnlens.load(tmp_path / "run").network.read("great film")[0][1] > 0


def test_toy_targets_are_learnt_at_every_word(tmp_path):
    corpus = toy_corpus(train=8_000, validation=100)
    run = train(
        Network(corpus.vocab, hidden=24, embedding=8),
        corpus,
        TrainConfig(epochs=4, learning_rate=0.01, word_dropout=0, embedding_dropout=0),
        tmp_path / "run",
    )
    losses = [record["validation_loss"] for record in run.history]
    assert losses[-1] < 0.3 * losses[0] and losses[-1] < 5


def test_test_reviews_are_not_touched_unless_asked(corpus, tmp_path):
    run = train(small(corpus), corpus, QUICK, tmp_path / "run")
    assert set(run.results["accuracy"]) == {"validation"}


def test_killed_runs_resume_bit_for_bit(corpus, tmp_path, monkeypatch):
    train(small(corpus), corpus, QUICK, tmp_path / "whole")
    from rnnlens.training import loop

    step, kills = loop._step, iter([3, 8, 17, 25, 40])
    countdown = [next(kills)]

    def dies(*arguments):
        countdown[0] -= 1
        if countdown[0] == 0:
            raise KeyboardInterrupt
        return step(*arguments)

    monkeypatch.setattr(loop, "_step", dies)
    for _ in range(6):
        try:
            train(small(corpus), corpus, QUICK, tmp_path / "killed", resume=True)
        except KeyboardInterrupt:
            countdown[0] = next(kills, 10**9)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "killed"))
    one, other = (rnnlens.load(tmp_path / name).history for name in ("whole", "killed"))
    for record in one + other:
        record.pop("seconds")
    assert one == other


def test_sigkill_at_random_moments_loses_nothing(corpus, tmp_path):
    """The real thing, at small scale: a process, SIGKILL, the same command again."""
    command = [
        sys.executable,
        "-m",
        "rnnlens.training",
        "toy",
        "--hidden",
        "8",
        "--embedding",
        "4",
        "--epochs",
        "2",
        "--batch",
        "2000",
        "--checkpoint-every",
        "3",
        "--threads",
        "1",
        "--device",
        "cpu",
    ]
    subprocess.run([*command, "--out", tmp_path / "whole"], check=True, stdout=subprocess.DEVNULL)
    generator, killed = random.Random(0), 0
    while not (tmp_path / "killed" / "weights.safetensors").exists() and killed < 60:
        process = subprocess.Popen([*command, "--out", tmp_path / "killed", "--resume"], stdout=subprocess.DEVNULL)
        try:
            # Start-up takes seconds; wait for the folder to change, then let chance decide.
            before, deadline = _stamp(tmp_path / "killed"), time.monotonic() + 60
            while _stamp(tmp_path / "killed") == before and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)
            if killed < 4:
                time.sleep(generator.random() * 0.5)
                process.send_signal(signal.SIGKILL)
        finally:
            process.wait()
        killed += 1
    assert killed >= 4
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "killed"))


def _stamp(folder):
    files = [folder / "run.json", folder / "checkpoint" / "last.safetensors"]
    return [file.stat().st_mtime_ns if file.exists() else 0 for file in files]


def test_two_processes_do_what_one_does(tmp_path):
    common = [
        "-m",
        "rnnlens.training",
        "toy",
        "--hidden",
        "8",
        "--embedding",
        "4",
        "--epochs",
        "1",
        "--batch",
        "4001",
        "--device",
        "cpu",
        "--word-dropout",
        "0.2",
        "--embedding-dropout",
        "0.1",
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, *common, "--out", tmp_path / "one"], check=True, env=environment, stdout=subprocess.DEVNULL
    )
    launch = [
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        "--cpu",
        "--num_processes",
        "2",
        "--num_machines",
        "1",
        "--mixed_precision",
        "no",
        "--dynamo_backend",
        "no",
        "--main_process_port",
        str(_free_port()),
    ]
    subprocess.run(
        [*launch, *common, "--out", tmp_path / "two"],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    for name in one:
        np.testing.assert_allclose(one[name], two[name], atol=1e-5)
    records = [rnnlens.load(tmp_path / name).history[-1] for name in ("one", "two")]
    assert records[0]["train_loss"] == pytest.approx(records[1]["train_loss"], rel=1e-6)


def _free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_resume_with_another_config_is_refused_and_nothing_lost(corpus, tmp_path):
    train(small(corpus), corpus, QUICK, tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()}
    with pytest.raises(RnnlensError, match="config learning_rate is '0.02', now '0.01'"):
        train(small(corpus), corpus, dataclasses.replace(QUICK, learning_rate=0.01), tmp_path / "run", resume=True)
    with pytest.raises(RnnlensError, match="network arch is 'gru', now 'lstm'"):
        train(small(corpus, "lstm"), corpus, QUICK, tmp_path / "run", resume=True)
    with pytest.raises(RnnlensError, match="already holds a run"):
        train(small(corpus), corpus, QUICK, tmp_path / "run")
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()}


def test_a_second_process_is_kept_out_of_a_run(corpus, tmp_path):
    from rnnlens.artifacts import exclusive

    with exclusive(tmp_path / "run"), pytest.raises(RnnlensError, match="in use by another"):
        train(small(corpus), corpus, QUICK, tmp_path / "run")


def test_a_loss_that_explodes_is_told(corpus, tmp_path):
    network = small(corpus)
    with torch.no_grad():
        network.readout_b.fill_(float("nan"))
    with pytest.raises(RnnlensError, match=r"the loss is nan at step \d+: try a learning_rate below"):
        train(network, corpus, QUICK, tmp_path / "run")


def test_early_stopping_keeps_the_best_epoch(corpus, tmp_path):
    config = dataclasses.replace(QUICK, epochs=30, patience=2, learning_rate=0.05, average=0.0)
    run = train(small(corpus), corpus, config, tmp_path / "run")
    assert len(run.history) < 30
    best = max(record["validation_accuracy"] for record in run.history)
    assert run.results["accuracy"]["validation"] == best


def test_balance_weighs_the_classes_equally(tmp_path):
    texts = ["the film"] * 90 + ["the film"] * 10
    corpus = Corpus.from_texts(texts, [1] * 90 + [0] * 10, validation=0.0)
    config = TrainConfig(epochs=60, batch=100, learning_rate=0.05, word_dropout=0, embedding_dropout=0)
    plain = train(small(corpus), corpus, config, tmp_path / "plain").network.read("the film")[-1][1]
    balanced = train(small(corpus), corpus, dataclasses.replace(config, balance=True), tmp_path / "b").network.read(
        "the film"
    )[-1][1]
    assert plain == pytest.approx(np.log(9), abs=0.1) and balanced == pytest.approx(0, abs=0.1)


def test_batches_hold_every_review_once_and_depend_on_seed_and_epoch_alone():
    lengths = np.random.default_rng(0).integers(0, 400, 1_003)
    batches = epoch_batches(lengths, 32, seed=1, epoch=2)
    assert sorted(np.concatenate(batches).tolist()) == list(range(1_003))
    assert all(np.array_equal(a, b) for a, b in zip(batches, epoch_batches(lengths, 32, 1, 2), strict=True))
    assert not np.array_equal(batches[0], epoch_batches(lengths, 32, 1, 3)[0])
    padded = sum(len(rows) * lengths[rows].max() for rows in batches)
    assert padded < 1.3 * lengths.sum(), "reviews of like length go together"


def test_evaluation_batches_are_bounded_in_words():
    lengths = np.array([0, 5, 3, 100_000, 7, 7, 50])
    batches = token_batches(lengths, tokens=64, most=4)
    assert sorted(np.concatenate(batches).tolist()) == list(range(7))
    assert all(len(rows) == 1 or len(rows) * lengths[rows].max() <= 64 for rows in batches)


@pytest.mark.parametrize("schedule", ["cosine", "linear", "exponential", "constant"])
def test_the_learning_rate_rises_then_falls(schedule):
    config = TrainConfig(learning_rate=1.0, schedule=schedule, warmup=0.1, final_rate=0.01)
    rates = [config.rate(step, 100) for step in range(100)]
    assert rates[0] == 0.1 and max(rates) == pytest.approx(1.0, rel=0.06)
    assert rates[-1] == pytest.approx(1.0 if schedule == "constant" else 0.01)
    assert all(a >= b for a, b in zip(rates[10:], rates[11:], strict=False))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"epochs": 0}, "epochs is '0'"),
        ({"word_dropout": 1.0}, "word_dropout is '1.0'"),
        ({"batch": -1}, "batch is '-1'"),
        ({"learning_rate": float("nan")}, "learning_rate is 'nan'"),
        ({"schedule": "zigzag"}, "schedule is 'zigzag'"),
        ({"max_words": 0}, "max_words is '0'"),
        ({"precision": "int8"}, "precision is 'int8'"),
    ],
)
def test_bad_settings_are_told(wrong, told):
    with pytest.raises(RnnlensError) as error:
        TrainConfig(**wrong)
    assert told in str(error.value)


def test_extremes_of_length_train(tmp_path):
    """A review of 100,000 words, an empty one, and one with no known word."""
    texts = ["great " * 100_000, "", "qqq www", *["great"] * 10, *["awful"] * 10]
    corpus = Corpus.from_texts(texts, [1, 0, 1, *[1] * 10, *[0] * 10], validation=0.1, min_count=2)
    run = train(small(corpus), corpus, TrainConfig(epochs=2, batch=4), tmp_path / "run")
    evaluation = rnnlens.evaluate(run.network, corpus.train)
    assert np.isfinite(evaluation.logits).all()


def test_history_is_plain_json(corpus, tmp_path):
    train(small(corpus), corpus, QUICK, tmp_path / "run")
    for line in (tmp_path / "run" / "history.jsonl").read_text().splitlines():
        assert {"epoch", "step", "train_loss", "validation_accuracy", "seconds"} <= json.loads(line).keys()
