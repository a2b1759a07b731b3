"""What every command guarantees: one that is struck leaves files whole and completes when it is run again, nothing of
anybody else's is replaced or deleted, no link is followed, and of two writers neither loses what the other wrote."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.support.calls import refused
from tests.support.forks import run
from tests.support.world import COMMANDS, World, completes, damage, make_world, write_reviews

import rnnlens
from rnnlens import Network, RnnlensError, TrainConfig, train
from rnnlens.baselines import BASELINES, BagOfWords
from rnnlens.common import files, locks
from rnnlens.common.files import HOST, append_line, exclusive, sweep_temporaries, write_json, write_tensors
from rnnlens.common.replacing import FolderKind, atomic_folder, check_output
from rnnlens.corpora import load_corpus, prepare
from rnnlens.experiments.bags import fit_baselines
from rnnlens.runs import unpack

CONFIG = TrainConfig(epochs=1, batch=64)

# --- what is struck ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_struck_command_keeps_what_was_there_and_completes(name: str, world: World) -> None:
    """Without room, on a read-only disk, interrupted, killed twice: one after the other, at random moments."""
    folder, chance = world.begin(name), random.Random(name)

    def struck(fault: dict[str, Any] | None) -> str | None:
        done = run(COMMANDS[name], folder, fault)
        assert damage(world, name, folder) == []
        assert done.code in (0, 1, -signal.SIGKILL, -signal.SIGINT)
        assert done.code != 1 or done.told, done.err
        return done.told

    for number, says in ((errno.ENOSPC, "No space left"), (errno.EROFS, "Read-only file system")):
        told = struck({"errno": number, "event": chance.randint(1, 3)})
        assert told and says in told
    for kind in (signal.SIGINT, signal.SIGKILL, signal.SIGKILL):
        told = struck({"signal": kind, "event": chance.randint(1, world.events[name])})
        assert told is None or (kind == signal.SIGINT and "interrupted" in told)
    assert completes(world, name, folder) == []


PARENT = """
    import os, subprocess, sys, time
    from rnnlens.common.files import exclusive
    from rnnlens.experiments.workers import run_jobs

    def job(k, folder):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])  # a grandchild
        with exclusive(f"{folder}/{k}"):
            open(f"{folder}/{k}.pids", "w").write(f"{os.getpid()} {child.pid} ")
            time.sleep(60)

    if __name__ == "__main__":
        for _ in run_jobs(job, range(2), 2, (sys.argv[1],)):
            pass
"""


def living(process: int) -> bool:
    """The dead whom nobody has waited for do not count."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(true: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL])
def test_workers_and_what_they_started_end_with_their_parent(kind: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(textwrap.dedent(PARENT))
    ordinary = lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL)  # noqa: E731
    parent = subprocess.Popen([sys.executable, tmp_path / "parent.py", tmp_path], preexec_fn=ordinary)
    pids = [tmp_path / f"{k}.pids" for k in range(2)]
    until(lambda: all(file.exists() and file.read_text().endswith(" ") for file in pids))
    processes = [int(process) for file in pids for process in file.read_text().split()]
    assert len(processes) == 4 and all(map(living, processes))
    os.kill(parent.pid, kind)
    parent.wait()
    until(lambda: not any(map(living, processes)), 5)
    for k in range(2):
        with exclusive(tmp_path / str(k)):  # at once: the next command finds the folder free
            pass


# --- what is somebody else's ------------------------------------------------------------------------------------------

TEXTS, LABELS = ["a good film", "a bad film", "not good", "not bad"] * 15, [1, 0, 0, 1] * 15


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews, a corpus, an analyzed run and an estimator."""
    folder = tmp_path_factory.mktemp("made")
    write_reviews(folder / "reviews.csv")
    corpus = prepare(folder / "reviews.csv", folder / "corpus", min_count=1)
    run = train(Network(corpus.vocab, hidden=4, embedding=2), corpus, CONFIG, folder / "run", progress=False)
    rnnlens.analyze(run, starts=50, top=20, rank=1).save()
    BagOfWords(epochs=1, min_count=1).fit(TEXTS, LABELS).save(folder / "bag")
    return folder


@pytest.fixture
def at(made: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(made, tmp_path / "at"))


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def figure(at: Path) -> Any:
    return rnnlens.figures.barcodes(rnnlens.load(at / "run"))


def trained(at: Path, out: str) -> None:
    corpus = load_corpus(at / "corpus")
    train(Network(corpus.vocab, hidden=2, embedding=2), corpus, CONFIG, at / out, progress=False)


def analysis(at: Path) -> Any:
    return rnnlens.analyze(rnnlens.load(at / "run"), starts=50, top=20, rank=1)


SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'
FOREIGN: dict[str, tuple[str, str, Callable[[Path], object]]] = {  # somebody's file, its content, what would replace it
    "estimator": ("bag/notes.txt", "mine", lambda at: BagOfWords.load(at / "bag").save(at / "bag")),
    "estimator's file": ("new/baseline.json", '{"mine": 1}', lambda at: BagOfWords.load(at / "bag").save(at / "new")),
    "corpus": ("corpus/run/a", "mine", lambda at: prepare(at / "reviews.csv", at / "corpus", seed=1, overwrite=True)),
    "corpus's file": ("new/corpus.json", '{"mine": 1}', lambda at: prepare(at / "reviews.csv", at / "new")),
    "training": ("new/vocab.json", '{"mine": 1}', lambda at: trained(at, "new")),
    "packaged run": ("new/notes.txt", "mine", lambda at: unpack("reviews-gru", at / "new")),
    "export": ("new/README.md", "mine", lambda at: rnnlens.export(at / "run", at / "new", overwrite=True)),
    "analysis": ("new/results.json", '{"mine": 1}', lambda at: analysis(at).save(at / "new")),
    "arrays": ("new/states.safetensors", "mine", lambda at: analysis(at).save(at / "new")),
    "baselines": (f"new/{next(iter(BASELINES))}/a.txt", "mine",
                  lambda at: next(fit_baselines(load_corpus(at / "corpus"), ["not"], at / "new"))),
    "report": ("run/a.html", "<html>rnnlens, plotly</html>", lambda at: rnnlens.report(at / "run", at / "run/a.html")),
    "figure": ("new.svg", SVG, lambda at: rnnlens.figures.write_figure(figure(at), at / "new.svg")),
    "figures": ("new/subspace.html", "mine",
                lambda at: rnnlens.figures.write_figures(rnnlens.load(at / "run").results, at / "new", "html")),
    "table": ("mine.csv", "text,label\na,1\n",
              lambda at: rnnlens.Analysis.load(at / "run").modifiers.write(at / "mine.csv")),
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_nothing_that_rnnlens_did_not_write_is_replaced(name: str, at: Path) -> None:
    file, content, call = FOREIGN[name]
    (at / file).parent.mkdir(parents=True, exist_ok=True)
    (at / file).write_text(content)
    before = contents(at)
    refused(lambda: call(at))
    assert contents(at) == before


def test_a_folder_behind_a_link_is_replaced_and_the_current_folder_stays(at: Path, monkeypatch: Any) -> None:
    bag = BagOfWords.load(at / "bag")
    (at / "link").symlink_to(at / "bag")
    bag.save(at / "link")
    assert (at / "link").is_symlink() and not (at / "bag").is_symlink()
    (at / "here").mkdir()
    monkeypatch.chdir(at / "here")
    for _ in range(2):
        bag.save(".")
        assert sorted(os.listdir(".")) == ["baseline.json", "weights.safetensors"]
        assert os.path.samefile(".", at / "here")


def test_what_is_written_into_a_folder_meanwhile_is_kept(tmp_path: Path) -> None:
    kind = FolderKind("a test", frozenset({"ours"}), {"ours": b"x"})
    with atomic_folder(tmp_path / "out", kind) as folder:
        (folder / "ours").write_text("x")

    def late() -> None:
        with atomic_folder(tmp_path / "out", kind) as folder:
            (folder / "ours").write_text("xx")
            (tmp_path / "out" / "run").mkdir()

    refused(late, "'run'")
    assert (tmp_path / "out" / "run").is_dir() and (tmp_path / "out" / "ours").read_text() == "x"


def test_only_temporaries_of_killed_processes_are_swept(tmp_path: Path) -> None:
    mine = tmp_path / f".draft.{HOST}-final.tmp"
    mine.write_text("mine")
    (tmp_path / f".x.{HOST}-999999999-0a.tmp").write_text("left by a killed process")
    sweep_temporaries(tmp_path)
    assert os.listdir(tmp_path) == [mine.name]


# --- links, pipes and devices -----------------------------------------------------------------------------------------


LOCKS: dict[str, Callable[[Path], object]] = {  # a lock that somebody made a link, and what meets it
    "run/.lock": lambda at: rnnlens.load(at / "run").add_results(x=1),
    ".new.lock": lambda at: prepare(at / "reviews.csv", at / "new", min_count=1),
}
LINKED: dict[str, tuple[str, Callable[[Path], object]]] = {  # the same of other files
    "history": ("new.jsonl", lambda at: append_line(at / "new.jsonl", {"epoch": 1})),
    "exported history": ("run/history.jsonl", lambda at: rnnlens.export(at / "run", at / "new")),
    "exported states": ("run/states.safetensors", lambda at: rnnlens.export(at / "run", at / "new")),
    "page": ("new.html", lambda at: check_output(at / "new.html", "a page", "html")),
}


@pytest.mark.parametrize("name", LOCKS)
def test_no_link_in_place_of_a_lock_is_followed(name: str, at: Path) -> None:
    (victim := at / "victim.txt").write_text("precious")
    (at / name).unlink(missing_ok=True)
    (at / name).symlink_to(victim)
    refused(lambda: LOCKS[name](at), "symbolic links")
    assert victim.read_text() == "precious" and (at / name).is_symlink() and not (at / "new").exists()


@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
@pytest.mark.parametrize("name", LINKED)
def test_no_link_is_followed_and_nobody_waits_for_a_pipe(name: str, kind: str, at: Path) -> None:
    file, call = LINKED[name]
    path, victim = at / file, at / "victim.txt"
    victim.write_text("precious")
    path.unlink(missing_ok=True)
    os.mkfifo(path) if kind == "pipe" else path.symlink_to(victim if kind == "link" else "/dev/zero")
    stopped = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it waits"))
    signal.alarm(60)
    try:
        refused(lambda: call(at), Path(file).name)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, stopped)
    assert victim.read_text() == "precious" and os.path.lexists(path) and not (at / "new").exists()


# --- two writers ------------------------------------------------------------------------------------------------------


def test_of_three_threads_that_add_results_all_are_kept(at: Path) -> None:
    one = rnnlens.load(at / "run")

    def add(thread: int) -> None:
        mine = one if thread else rnnlens.load(at / "run")
        for k in range(30):
            mine.add_results(**{f"{thread}-{k}": k}, accuracy={f"{thread}-{k}": k})

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(add, range(3)))
    found = rnnlens.load(at / "run").results
    expected = {f"{thread}-{k}" for thread in range(3) for k in range(30)}
    assert expected <= found.keys() and expected <= found["accuracy"].keys() and "validation" in found["accuracy"]


def evaluated(at: Path) -> Any:
    corpus = load_corpus(at / "corpus")
    network = Network(corpus.vocab, hidden=4, embedding=2)
    return train(network, corpus, CONFIG, at / "run", resume=True, test=True, progress=False).results["accuracy"]


def test_an_analysis_keeps_what_was_measured_meanwhile(at: Path) -> None:
    alone, corpus = analysis(at), load_corpus(at / "corpus")
    accuracy = evaluated(at)["test"]
    rnnlens.analyze(rnnlens.load(at / "run"), corpus, top=20, starts=50, rank=1, reviews=20).save()
    measured = rnnlens.load(at / "run").results
    alone.save()
    found = rnnlens.load(at / "run").results
    assert found["accuracy"]["test"] == accuracy and found["ending"]["test"] == measured["ending"]["test"]
    assert found["accuracy"]["test_shuffled"] == measured["accuracy"]["test_shuffled"]


def test_an_analysis_is_not_saved_over_another_run(made: Path, at: Path) -> None:
    corpus = load_corpus(at / "corpus")
    shutil.rmtree(at / "run")
    other = train(Network(corpus.vocab, hidden=4, embedding=2, seed=1), corpus, CONFIG, at / "run", progress=False)
    before = contents(at / "run")
    refused(lambda: analysis(made).save(at / "run"), "holds another run")
    measured = rnnlens.analyze(other, starts=50, top=20, rank=1)
    shutil.rmtree(at / "run")
    shutil.copytree(made / "run", at / "run")
    refused(measured.save, "another run")  # it was replaced meanwhile
    assert contents(at / "run") == contents(made / "run") != before


def test_a_folder_is_held_by_one_thread_and_waiting_for_it_ends(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(locks, "ANNOUNCE", 0.05)
    order: list[str] = []

    def enter(limit: float) -> None:
        with exclusive(tmp_path, wait=True, limit=limit):
            order.append("second")

    with ThreadPoolExecutor(1) as pool:
        with exclusive(tmp_path):
            with pytest.raises(RnnlensError, match="in use"):
                pool.submit(enter, 0.1).result()
            with exclusive(tmp_path, wait=True):  # re-entrant for the thread that holds it
                later = pool.submit(enter, 60)
                time.sleep(0.1)
                order.append("first")
        later.result()
    assert order == ["first", "second"]


# --- damage -----------------------------------------------------------------------------------------------------------

DAMAGED = [
    *(f"run/{name}" for name in ("run.json", "weights.safetensors", "vocab.json", "results.json",
                                 "analysis.safetensors")),
    *(f"corpus/{name}" for name in ("corpus.json", "vocab.json", "train.ids.npy", "test.offsets.npy",
                                    "validation.labels.npy")),
]  # fmt: skip


@pytest.mark.parametrize("file", DAMAGED)
def test_a_damaged_file_is_refused_by_its_name(file: str, at: Path) -> None:
    """Also with a single bit flipped, and what another program wrote."""
    path, chance = at / file, random.Random(file)
    whole = path.read_bytes()
    place = chance.randrange(len(whole))
    flipped = whole[:place] + bytes([whole[place] ^ 1 << chance.randrange(8)]) + whole[place + 1 :]

    def read() -> None:
        if file.startswith("corpus"):
            load_corpus(at / "corpus")
        else:
            rnnlens.load(at / "run").without_subspace()

    for damaged in (b"", whole[:place], flipped, json.dumps({"mine": 1}).encode(), whole + b"\0"):
        path.write_bytes(damaged)
        refused(read, path.name)
    path.write_bytes(whole)
    read()


def test_arrays_and_results_of_two_analyses_are_not_mixed(at: Path) -> None:
    """Killed between the two files, an analysis leaves its own arrays and an earlier one's results."""
    path = at / "run" / "analysis.safetensors"
    tensors, about = files.read_tensors(path)
    write_tensors(path, {**tensors, "h_star": tensors["h_star"] + 1}, about)
    for read in (lambda run: run.without_subspace(), lambda run: run.analysis_arrays()):
        refused(lambda read=read: read(rnnlens.load(at / "run")), "does not fit 'analysis.safetensors'")


@pytest.mark.parametrize("wild", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_not_opened(wild: float, at: Path) -> None:
    path, about = at / "run" / "weights.safetensors", files.read_json(at / "run" / "run.json")
    tensors, note = files.read_tensors(path)
    array = tensors["cell.U"].copy()
    array.reshape(-1)[-1] = wild
    mark = write_tensors(path, {**tensors, "cell.U": array}, note)
    write_json(at / "run" / "run.json", {**about, "provenance": {**about["provenance"], "weights": mark}})
    refused(lambda: rnnlens.load(at / "run"), "NaN or infinite in", "cell.U")
