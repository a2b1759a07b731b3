"""Two writers lose nothing of each other's, waiting is announced and limited, and workers end with their parent."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.world import write_reviews

import rnnlens
from rnnlens import Network, RnnlensError, TrainConfig, train
from rnnlens.cli import main
from rnnlens.common import locks
from rnnlens.common.files import exclusive, read_json, write_json
from rnnlens.corpora import load_corpus, prepare
from rnnlens.corpora.corpus import Corpus
from rnnlens.training.loop import Trainer

CONFIG = TrainConfig(epochs=1, batch=64)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus and a run of it."""
    folder = tmp_path_factory.mktemp("locks")
    write_reviews(folder / "reviews.csv")
    corpus = prepare(folder / "reviews.csv", folder / "corpus", min_count=1)
    train(Network(corpus.vocab, hidden=4, embedding=2), corpus, CONFIG, folder / "run", progress=False)
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "run", tmp_path / "run"))


@pytest.fixture
def corpus(made: Path) -> Corpus:
    return load_corpus(made / "corpus")


def again(corpus: Corpus, out: Path, **options: bool) -> rnnlens.Run:
    network = Network(corpus.vocab, hidden=4, embedding=2)
    return train(network, corpus, CONFIG, out, resume=True, progress=False, **options)


def called(line: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(line.split())
    return int(stop.value.code or 0)


# --- locks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [True, False])
def test_three_threads_add_ninety_results_and_all_are_kept(run: Path, shared: bool) -> None:
    one = rnnlens.load(run)

    def add(thread: int) -> None:
        mine = one if shared else rnnlens.load(run)
        for k in range(30):
            mine.add_results(**{f"{thread}-{k}": k}, accuracy={f"{thread}-{k}": k})

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(add, range(3)))
    found = rnnlens.load(run).results
    expected = {f"{thread}-{k}" for thread in range(3) for k in range(30)}
    assert expected <= found.keys() and expected <= found["accuracy"].keys() and "validation" in found["accuracy"]


def in_thread(function: Callable[[], object]) -> object:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_waiting_is_announced_once_and_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(locks, "ANNOUNCE", 0.05)

    def enter() -> None:
        with exclusive(tmp_path, wait=True, limit=0.3):
            raise AssertionError("two threads hold one folder")

    with exclusive(tmp_path):
        with pytest.raises(RnnlensError, match=re.escape(str(tmp_path)) + ".*in use.*still after 0 seconds"):
            in_thread(enter)
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and "waiting: another rnnlens process" in err and str(tmp_path) in err
        with exclusive(tmp_path, wait=True):  # re-entrant for the thread that holds it
            pass
    with exclusive(tmp_path):
        pass
    assert capsys.readouterr().err == ""


def test_analyze_says_that_it_waits_for_a_run_in_use(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, leave = threading.Event(), threading.Event()
    said: list[str] = []

    def say(text: str, **_: object) -> None:  # the other one waits for this
        said.append(text)
        leave.set()

    def other() -> None:
        with exclusive(run):
            inside.set()
            leave.wait(60)

    monkeypatch.setattr(locks, "ANNOUNCE", 0.05)
    monkeypatch.setattr(locks, "say", say)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(other)
        inside.wait()
        assert called(f"analyze {run} --top 20") == 0
    assert said == [f"waiting: another rnnlens process uses '{run}'"]


def test_a_wait_that_ends_in_time_goes_on(tmp_path: Path) -> None:
    order, inside = [], threading.Event()

    def first() -> None:
        with exclusive(tmp_path):
            inside.set()
            time.sleep(0.2)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait()
    with exclusive(tmp_path, wait=True):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_preparing_waits_for_another_thread_that_prepares_the_same(made: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: prepare(made / "reviews.csv", tmp_path / "c", min_count=1), range(3)))
    assert len({one.fingerprint for one in found}) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_a_forked_child_holds_no_lock_of_its_parent(tmp_path: Path) -> None:
    """Else a child that outlives its parent would keep the folder."""
    lives = multiprocessing.get_context("fork").Event()
    with exclusive(tmp_path):
        child = multiprocessing.get_context("fork").Process(target=lives.wait, daemon=True)
        child.start()
    try:
        with exclusive(tmp_path):
            pass
    finally:
        lives.set()
        child.join()


# --- two commands on one run ------------------------------------------------------------------------------------------


def test_an_analysis_keeps_an_accuracy_that_was_measured_meanwhile(run: Path, corpus: Corpus) -> None:
    analysis = rnnlens.analyze(rnnlens.load(run), top=20, starts=50)
    tested = again(corpus, run, test=True).results["accuracy"]["test"]
    analysis.save()
    assert rnnlens.load(run).results["accuracy"]["test"] == tested
    assert "provenance" in rnnlens.load(run).results and rnnlens.load(run).results["provenance"]["weights"]


def test_an_analysis_without_reviews_keeps_what_was_measured_on_reviews_meanwhile(run: Path, corpus: Corpus) -> None:
    alone = rnnlens.analyze(rnnlens.load(run), top=20, starts=50)
    rnnlens.analyze(rnnlens.load(run), corpus, top=20, starts=50, reviews=20).save()
    measured = rnnlens.load(run).results
    alone.save()
    found = rnnlens.load(run).results
    assert found["ending"]["test"] == measured["ending"]["test"] and found["beginning"]["train"]
    assert found["accuracy"]["test_shuffled"] == measured["accuracy"]["test_shuffled"]
    page = rnnlens.report(alone, run / "page.html").read_text(encoding="utf-8")
    assert "shuffled" in page


def test_a_smaller_analysis_does_not_replace_a_larger_one(
    run: Path, made: Path, corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    rnnlens.analyze(rnnlens.load(run), corpus, top=20, starts=50).save()
    before = (run / "results.json").read_bytes()
    n = len(corpus.test)
    assert called(f"analyze {run} --corpus {made / 'corpus'} --reviews 10") == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and f"an analysis of {n} test reviews" in err and "--overwrite" in err
    smaller = rnnlens.analyze(rnnlens.load(run), corpus, top=20, starts=50, reviews=10)
    with pytest.raises(RnnlensError, match=r"which one of 10 would replace"):
        smaller.save()
    assert (run / "results.json").read_bytes() == before
    assert called(f"analyze {run} --corpus {made / 'corpus'} --reviews 10 --top 20 --overwrite") == 0
    assert rnnlens.load(run).results["ending"]["test"]["padded"]["n"] == 10
    assert called(f"analyze {run} --corpus {made / 'corpus'} --reviews 10 --top 20") == 0  # as many as before


def test_an_analysis_is_not_saved_over_another_run(run: Path, made: Path, tmp_path: Path, corpus: Corpus) -> None:
    other = shutil.copytree(run, tmp_path / "other")
    before = (other / "results.json").read_bytes()
    for network in (rnnlens.load(run), Network(corpus.vocab, hidden=4, embedding=2, seed=1)):
        with pytest.raises(RnnlensError, match="holds another run"):
            rnnlens.analyze(network, top=20, starts=50).save(other)
    assert (other / "results.json").read_bytes() == before


def test_a_run_trained_while_another_waited_for_its_lock_is_checked_again(
    made: Path, tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both find the folder empty; the second may not take the first one's network for its own."""
    entered, started = threading.Event(), Trainer.run

    def slowly(trainer: Trainer, progress: bool) -> None:
        entered.set()
        time.sleep(0.3)
        started(trainer, progress)

    check = rnnlens.training.loop.check_writable
    seen = []

    def waits(*arguments: object) -> None:
        check(*arguments)  # type: ignore[arg-type]
        if threading.current_thread() is not threading.main_thread() and not seen:
            seen.append(1)
            entered.wait()

    monkeypatch.setattr(locks, "BRIEF", 30)
    monkeypatch.setattr(rnnlens.training.loop, "check_writable", waits)
    monkeypatch.setattr(Trainer, "run", slowly)
    with ThreadPoolExecutor(1) as pool:
        other = Network(corpus.vocab, hidden=3, embedding=2)
        second = pool.submit(train, other, corpus, CONFIG, tmp_path / "new", progress=False)
        until(lambda: seen)
        network = Network(corpus.vocab, hidden=4, embedding=2)
        first = train(network, corpus, CONFIG, tmp_path / "new", progress=False)
        with pytest.raises(RnnlensError, match="already holds a run"):
            second.result()
    assert first.network.cell.hidden == 4


@pytest.mark.parametrize("test", [True, False])
def test_missing_results_are_one_line(run: Path, corpus: Corpus, test: bool) -> None:
    without = {"network": {}, "provenance": read_json(run / "results.json")["provenance"]}
    (run / "results.json").unlink()
    with pytest.raises(RnnlensError, match=r"results\.json' with the accuracy of this run is missing: restore it, or"):
        again(corpus, run, test=test)
    write_json(run / "results.json", without)
    with pytest.raises(RnnlensError, match="is missing"):
        again(corpus, run, test=test)
    assert read_json(run / "results.json") == without


# --- workers ----------------------------------------------------------------------------------------------------------

PARENT = """
    import subprocess, sys, time
    from rnnlens.experiments.workers import run_jobs
    from rnnlens.common.files import exclusive

    def job(k, folder):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])  # a grandchild
        with exclusive(f"{folder}/{k}"):
            open(f"{folder}/{k}.pids", "w").write(f"{__import__('os').getpid()} {child.pid} ")
            end = time.monotonic() + 60
            while sys.argv[2] == "busy" and time.monotonic() < end:
                pass
            time.sleep(60)

    if __name__ == "__main__":
        for _ in run_jobs(job, range(2), 2, (sys.argv[1],)):
            pass
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "parent.py"
    path.write_text(textwrap.dedent(PARENT))
    return path


def living(processes: list[int]) -> list[int]:
    """Those of the processes that run; the dead whom nobody has waited for do not count."""
    found = []
    for process in processes:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        found += [process] if state not in "ZX" else []
    return found


def until(true: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("what", ["asleep", "busy"])
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, signal.SIGINT])
def test_workers_and_what_they_started_end_with_their_parent(
    kind: signal.Signals, what: str, script: Path, tmp_path: Path
) -> None:
    parent = subprocess.Popen(
        [sys.executable, script, tmp_path, what],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(kind, signal.SIG_DFL) if kind != signal.SIGKILL else None,  # nohup ignores it
    )
    files = [tmp_path / f"{k}.pids" for k in range(2)]
    until(lambda: all(file.exists() and file.read_text().endswith(" ") for file in files))
    processes = [int(process) for file in files for process in file.read_text().split()]
    assert len(living(processes)) == 4
    os.kill(parent.pid, kind)
    parent.wait()
    until(lambda: not living(processes), 5)
    for k in range(2):
        with exclusive(tmp_path / str(k)):  # at once: the next command finds the folder free
            pass
    assert parent.returncode == {signal.SIGTERM: 143, signal.SIGHUP: 129}.get(kind, -kind)
