"""A command that is interrupted reports it in one line, keeps earlier files, and completes with the same result when it
is run again. Commands run in real processes (`tests.support.forks`)."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.support.forks import Forks
from tests.support.world import COMMANDS, POOLS, World, completes, damage, make_world, small_disk, write_reviews

import rnnlens
from rnnlens import Network, RnnlensError, TrainConfig, train
from rnnlens.analysis.locate import stored_line
from rnnlens.common.files import exclusive, read_json, read_tensors, write_json, write_tensors
from rnnlens.corpora import load_corpus, prepare
from rnnlens.training.loop import Trainer


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks() as forks:
        yield forks


@pytest.fixture(scope="module")
def world(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    with small_disk(folder / "now") as mounted:
        yield make_world(forks, folder, mounted)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_struck_command_tells_keeps_what_was_there_and_completes(name: str, world: World, forks: Forks) -> None:
    """Without room, on a read-only disk, interrupted, killed twice: one after the other, at random moments."""
    folder, chance = world.begin(name), random.Random(name)

    def struck(fault: dict[str, Any] | None) -> str | None:
        done = forks.run(COMMANDS[name].split(), folder, fault)
        assert damage(world, name, folder) == []
        assert done.code in (0, 1, -signal.SIGKILL, -signal.SIGINT)
        assert done.code != 1 or done.told, done.err
        return done.told

    with world.full() as fault:
        told = struck(fault)
    assert told and ("No space left" in told or "disk is full" in told) and "make room" in told
    with world.read_only() as fault:
        told = struck(fault)
    assert told and "Read-only file system" in told and "choose a folder" in told
    for kind in (signal.SIGINT, signal.SIGKILL, signal.SIGKILL):
        told = struck({"signal": kind, "event": chance.randint(1, world.undisturbed[name].events)})
        assert told is None or (kind == signal.SIGINT and "interrupted" in told)
    assert completes(world, name, folder, forks) == []


def test_a_second_process_is_kept_out(world: World, forks: Forks) -> None:
    for name, out in (("train", "run"), ("sweep", "sweep")):
        folder = world.begin(name)
        with exclusive(folder / out):
            told = forks.run(COMMANDS[name].split(), folder).told
        assert told and "in use by another rnnlens process; wait or choose another" in told and out in told


MANY = "sweep corpus --model bow --trials 500 --jobs 2 --out many"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("line", [MANY, *POOLS.values()], ids=["sweep", *POOLS])
def test_no_worker_outlives_its_command(line: str, kind: signal.Signals, world: World, forks: Forks) -> None:
    """Struck as soon as there is a worker, which then still imports torch."""
    done = forks.run(line.split(), world.begin("sweep"), {"signal": kind, "workers": 1})
    assert (done.code, done.left) == (143 if kind == signal.SIGTERM else -kind, 0), done.err


# --- damaged files ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def analyzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a run of it that was analyzed, and one that was killed in the middle."""
    folder = tmp_path_factory.mktemp("analyzed")
    write_reviews(folder / "reviews.csv")
    corpus = prepare(folder / "reviews.csv", folder / "corpus", min_count=1)
    train(Network(corpus.vocab, hidden=4, embedding=2), corpus, HALF, folder / "run")
    rnnlens.analyze(rnnlens.load(folder / "run")).save()
    step = Trainer.step

    def dies(trainer: Trainer, rows: np.ndarray) -> torch.Tensor:
        if trainer.counters.step == 3:
            raise KeyboardInterrupt
        return step(trainer, rows)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Trainer, "step", dies)
        train(Network(corpus.vocab, hidden=4, embedding=2), corpus, HALF, folder / "killed")
    return folder


HALF = TrainConfig(epochs=2, batch=64, checkpoint_every=2)


FILES = [
    *(f"run/{name}" for name in ("run.json", "weights.safetensors", "vocab.json", "results.json",
                                 "analysis.safetensors", "states.safetensors")),
    "killed/run.json", "killed/checkpoint/last.safetensors",
    *(f"corpus/{name}" for name in ("corpus.json", "vocab.json")),
    *(f"corpus/{part}.{name}.npy" for part in ("train", "validation", "test") for name in ("ids", "offsets", "labels")),
]  # fmt: skip


@pytest.mark.parametrize("file", FILES)
def test_a_damaged_file_is_told_by_its_name_and_fix_and_nothing_else_is_lost(file: str, analyzed: Path) -> None:
    path, chance = analyzed / file, random.Random(file)
    whole = path.read_bytes()
    at = chance.randrange(len(whole))
    flipped = whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :]
    pipe = object()
    for damaged in (b"", whole[:at], whole[: len(whole) // 2], flipped, b"{}", whole + b"\0", pipe):
        path.unlink()
        os.mkfifo(path) if damaged is pipe else path.write_bytes(damaged)  # type: ignore[arg-type]
        with pytest.raises(RnnlensError) as told:
            read(analyzed, file)
        assert path.name in str(told.value) and "\n" not in str(told.value)
        assert any(fix in str(told.value) for fix in FIXES), told.value
        path.unlink()
        path.write_bytes(whole)
    read(analyzed, file)


FIXES = ("restore it from a copy, or ", "prepare the corpus again", "expected an ordinary file; move it away")


def read(folder: Path, file: str) -> None:
    """What reads a file."""
    kind, name = file.split("/", 1)
    if kind == "corpus":
        load_corpus(folder / "corpus")
    elif kind == "killed":
        corpus = load_corpus(folder / "corpus")
        with pytest.MonkeyPatch.context() as patch, suppress(StopIteration):
            patch.setattr(Trainer, "run", lambda *_: next(iter(())))  # it has read what it goes on from
            train(Network(corpus.vocab, hidden=4, embedding=2), corpus, HALF, folder / "killed", resume=True)
    elif name == "states.safetensors":
        from rnnlens.analysis.locate import states_of

        run = rnnlens.load(folder / "run")
        states_of(run.network, run, None, 10, 0)
    else:
        rnnlens.load(folder / "run").without_subspace()


# --- two writers, and numbers that are none ---------------------------------------------------------------------------


def test_what_two_processes_add_to_a_run_is_all_kept(analyzed: Path) -> None:
    first, second = (rnnlens.load(analyzed / "run") for _ in range(2))
    first.add_results(one=1, both="first")
    second.add_results(two=2, both="second")
    found = rnnlens.load(analyzed / "run").results
    assert (found["one"], found["two"], found["both"]) == (1, 2, "second") and found["accuracy"]


def test_arrays_and_results_of_two_analyses_are_not_mixed(analyzed: Path) -> None:
    """Killed between the two files, an analysis leaves its own arrays and an earlier one's results."""
    path = analyzed / "run" / "analysis.safetensors"
    before, (tensors, about) = path.read_bytes(), read_tensors(path)
    write_tensors(path, {**tensors, "h_star": tensors["h_star"] + 1}, about)
    for reads in (lambda run: run.without_subspace(), lambda run: run.analysis_arrays(), stored_line):
        with pytest.raises(
            RnnlensError, match=r"results\.json' does not fit 'analysis\.safetensors'.*rnnlens analyze .* again"
        ):
            reads(rnnlens.load(analyzed / "run"))
    path.write_bytes(before)
    assert rnnlens.load(analyzed / "run").without_subspace() is not None


@pytest.mark.parametrize("wild", [float("nan"), float("inf")])
@pytest.mark.parametrize("where", ["E", "cell.U", "h0", "readout_b"])
def test_weights_that_are_no_numbers_are_told(wild: float, where: str, analyzed: Path) -> None:
    path = analyzed / "run" / "weights.safetensors"
    before, (tensors, about) = path.read_bytes(), read_tensors(path)
    array = tensors[where].copy()
    array.reshape(-1)[-1] = wild
    mark, run = write_tensors(path, {**tensors, where: array}, about), path.parent / "run.json"
    named = run.read_bytes()
    content = read_json(run)
    write_json(run, {**content, "provenance": {**content["provenance"], "weights": mark}})
    problem = rf"weights\.safetensors' has weights that are NaN or infinite in .*'{where}'.*train it again"
    with pytest.raises(RnnlensError, match=problem):
        rnnlens.load(analyzed / "run")
    path.write_bytes(before)
    run.write_bytes(named)
    network = rnnlens.load(analyzed / "run").network
    with torch.no_grad():
        network.get_parameter(where).view(-1)[-1] = wild
    with pytest.raises(RnnlensError, match="the network has weights that are NaN or infinite in"):
        rnnlens.analyze(network)
    if where == "cell.U":
        with pytest.raises(RnnlensError, match="J_rec is NaN or infinite"):
            rnnlens.linear_modes(network, torch.zeros(network.size))
