"""Sweeps: every trial finishes exactly once, whoever is killed; parameters follow from the trial's number alone."""

import multiprocessing
import os
import random
import runpy
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

import numpy as np
import pytest
from scipy.optimize import minimize

import rnnlens
from rnnlens import RnnlensError
from rnnlens.baselines import BASELINES
from rnnlens.common import ending
from rnnlens.common.ending import orderly_end, signals_at_end
from rnnlens.common.files import append_line
from rnnlens.corpora import prepare
from rnnlens.experiments.choosing import best, write_settings
from rnnlens.experiments.ledger import Ledger, open_storage
from rnnlens.experiments.modifier_words import read_modifiers
from rnnlens.experiments.space import SPACES, Choice, parameters
from rnnlens.experiments.sweep import sweep
from rnnlens.experiments.sweep_view import table, watched
from rnnlens.experiments.trials import judge, run_trial, run_trials, scaled_loss
from rnnlens.experiments.workers import run_jobs
from rnnlens.training.settings import read_choice, read_settings

from sweep_jobs import deadly_trial, slow_trial  # isort: skip

optuna = pytest.importorskip("optuna")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A small prepared corpus whose reviews are told apart by one word."""
    folder = tmp_path_factory.mktemp("sweep")
    generator = np.random.default_rng(0)
    rows = ["text,label"]
    for i in range(300):
        words = generator.choice(["the", "film", "was", "not", "very", "long"], 12).tolist()
        rows.append(" ".join([*words, "good" if i % 2 else "bad"]) + f",{i % 2}")
    (folder / "reviews.csv").write_text("\n".join(rows))
    prepare(folder / "reviews.csv", folder / "corpus")
    return str(folder / "corpus")


@pytest.fixture
def log(corpus):
    path = os.path.join(os.path.dirname(corpus), "log")
    open(path, "w").close()
    return lambda: [line.split() for line in open(path).read().splitlines()]


def states(out, model="bow"):
    storage = optuna.storages.RDBStorage(f"sqlite:///{out}/ledger.db")
    (study,) = [name for name in optuna.get_all_study_names(storage) if name.startswith(f"{model} ")]
    return optuna.load_study(storage=storage, study_name=study).trials


# --- the space --------------------------------------------------------------------------------------------------------


def test_parameters_follow_from_model_seed_and_number_and_stay_in_their_space():
    assert parameters("gru", 0, 7) == parameters("gru", 0, 7)
    assert len({str(parameters(model, seed, k)) for model in SPACES for seed in (0, 1) for k in range(5)}) == 100
    for model, space in SPACES.items():
        for k in range(50):
            for name, value in parameters(model, 0, k).items():
                kind = space[name]
                assert value in kind.options if isinstance(kind, Choice) else kind.low <= value <= kind.high, (
                    model,
                    name,
                )
    rates = [parameters("bow", 0, k)["learning_rate"] for k in range(400)]
    space = SPACES["bow"]["learning_rate"]
    assert np.median(rates) == pytest.approx(np.sqrt(space.low * space.high), rel=0.2)  # log-uniform
    assert set(BASELINES) < set(SPACES) and len(SPACES) == 10
    with pytest.raises(RnnlensError, match="unknown model 'bag'"):
        parameters("bag", 0, 0)


def test_a_trial_is_judged_on_validation_reviews_alone(corpus):
    data = rnnlens.load_corpus(corpus)
    blind = rnnlens.corpora.Corpus(data.vocab, data.train, data.validation, None)
    chosen = {"epochs": 8, "learning_rate": 0.03, "batch": 8}
    found = run_trial("bow", data, chosen)
    assert found["accuracy"] == run_trial("bow", blind, chosen)["accuracy"] == 1.0
    small = {"hidden": 8, "embedding": 4, "epochs": 1, "word_dropout": 0.0, "max_words": 10}
    network = run_trial("vanilla", data, small, seed=3)
    assert network["history"][-1] == network["accuracy"] and network["loss"] > 0
    assert network["accuracy"] == run_trial("vanilla", data, small, seed=3)["accuracy"]
    wild = run_trial("gru", data, {**small, "learning_rate": 1e30, "clip": 0.0})
    assert wild["accuracy"] is None and "learning_rate" in wild["error"]
    assert judge(np.array([1.0, -1.0, 0.0, 0.0]), np.array([1, 1, 1, 0]))[0] == 0.5  # 0 is the first class
    with pytest.raises(RnnlensError, match="modifier words"):
        run_trial("comw", data, {})


def test_a_runner_without_a_ledger_goes_on_where_it_was(corpus, log, tmp_path, capsys):
    out = tmp_path / "trials.jsonl"
    how = {"modifiers": ["not", "very"], "jobs": 2, "out": out, "trial": slow_trial}
    rows = run_trials(corpus, ["bow", "comw"], range(2), **how)
    assert sorted((row["model"], row["trial"]) for row in rows) == [("bow", 0), ("bow", 1), ("comw", 0), ("comw", 1)]
    with open(out, "ab") as file:
        file.write(b'{"model": "bow", "tri')  # a torn line
    capsys.readouterr()
    assert len(run_trials(corpus, ["bow", "comw"], range(3), **how)) == 6
    assert sorted(line.split()[2:4] for line in capsys.readouterr().out.splitlines()) == [["bow", "2:"], ["comw", "2:"]]
    # … and a ledger takes what it found, without running it again.
    found = sweep(corpus, ["bow"], 3, tmp_path / "ledger", earlier=out, modifiers=["not", "very"], trial=slow_trial)
    assert found["models"]["bow"]["trials"] == 3 and found["models"]["bow"]["accuracy"] == 0.502
    assert sum(line[:2] == ["start", "bow"] for line in log()) == 3
    assert read_settings(tmp_path / "ledger/settings.json", "bow") == found["models"]["bow"]["parameters"]
    with pytest.raises(RnnlensError, match="no settings for 'gru'"):
        read_settings(tmp_path / "ledger/settings.json", "gru")
    append_line(out, {**rows[0], "model": "bow", "trial": 5, "parameters": {"l2": 1}})
    with pytest.raises(RnnlensError, match="trial 5 of bow was run with"):
        sweep(corpus, ["bow"], 3, tmp_path / "other", earlier=out, modifiers=["not", "very"])
    older = tmp_path / "older.jsonl"
    append_line(older, {**rows[0], "method": 1})
    with pytest.raises(RnnlensError, match="no trials"):
        sweep(corpus, ["bow"], 3, tmp_path / "more", earlier=older, modifiers=["not", "very"])


def test_a_ledger_keeps_what_a_choice_is_made_by():
    optuna = pytest.importorskip("optuna")
    ledger = Ledger(optuna.storages.InMemoryStorage(), "bow", 0, "here")
    common = {"model": "bow", "seed": 0, "accuracy": 0.9, "reviews": 2_500, "seconds": 1.0, "method": 2}
    rows = [{**common, "trial": k, "parameters": parameters("bow", 0, k), "loss": 0.3 + k / 100} for k in range(2)]
    rows[0]["scaled_loss"], rows[1]["scaled_loss"] = 0.29, 0.28
    carried_over = {**rows[0], "trial": -1, "parameters": {"l2": 1}}
    assert ledger.enter([*rows, carried_over]) == 2
    assert [row["scaled_loss"] for row in ledger.rows()] == [0.29, 0.28]
    assert best(ledger.rows(), "bow")["trial"] == best(rows, "bow")["trial"] == 1
    rows = [{**row, "seed": 1, "parameters": parameters("bow", 1, k)} for k, row in enumerate(rows)]
    without = Ledger(optuna.storages.InMemoryStorage(), "bow", 1, "here")
    assert without.enter([{name: x for name, x in row.items() if name != "scaled_loss"} for row in rows]) == 2
    assert best(without.rows(), "bow")["trial"] == 0


def test_of_trials_that_chance_cannot_tell_apart_the_one_with_the_lowest_loss_is_best():
    def row(accuracy, loss):
        return {"model": "bow", "accuracy": accuracy, "loss": loss, "reviews": 2_500}  # a standard error of 0.6 points

    rows = [row(0.900, 0.35), row(0.896, 0.28), row(0.893, 0.25), row(None, None), {**row(0.95, 0.1), "model": "comw"}]
    assert best(rows, "bow") is rows[1]
    assert best([{**row, "reviews": 10**7} for row in rows], "bow")["accuracy"] == 0.9
    assert best(rows[3:4], "bow") is None
    # How sure a model is does not count, where that is known of all.
    sure = [{**row, "scaled_loss": loss} for row, loss in zip(rows[:3], (0.24, 0.25, 0.2), strict=True)]
    assert best(sure, "bow") is sure[0]
    assert best([*sure[:2], rows[2]], "bow") is sure[1]


def test_a_loss_at_its_best_scale_does_not_ask_how_sure_a_model_is():
    generator = np.random.default_rng(0)
    logits = generator.normal(0, 2, 2_000)
    labels = generator.random(2_000) < 1 / (1 + np.exp(-logits))
    expected = minimize(lambda x: np.logaddexp(0, -np.exp(x[0]) * np.where(labels, logits, -logits)).mean(), [0.0]).fun
    for scale in (0.01, 1, 30):
        assert scaled_loss(scale * logits, labels) == pytest.approx(expected, abs=1e-6)


def test_modifier_words_come_from_lists_and_files(tmp_path):
    (tmp_path / "words.txt").write_text("not\nvery\nnot\n")
    (tmp_path / "words.json").write_text('["not", "very"]')
    assert read_modifiers(tmp_path / "words.txt") == read_modifiers([tmp_path / "words.json"]) == ["not", "very"]
    (tmp_path / "words.json").write_text("[1, 2]")
    with pytest.raises(RnnlensError, match="no list of words"):
        read_modifiers(tmp_path / "words.json")
    with pytest.raises(RnnlensError, match="no run folder"):
        read_modifiers(tmp_path / "nowhere")


# --- who is killed ----------------------------------------------------------------------------------------------------


def killing(stop, log, processes, every=6):
    """SIGKILL one of the processes that have begun a trial, each time that so many trials have ended; returns how many
    died. Nobody is killed by the clock: on a busy machine a new process would not live to begin its trial."""
    killed = 0
    while not stop.wait(0.02):
        lines = log()
        at_work = {line[-1] for line in lines} & {str(process) for process in processes()}
        if at_work and sum(line[0] == "end" for line in lines) >= every * (killed + 1):
            os.kill(int(random.choice(sorted(at_work))), signal.SIGKILL)
            killed += 1
    return killed


def each_once(out, log, trials, kills):
    found = states(out)
    assert [trial.state.name for trial in found] == ["COMPLETE"] * trials
    assert [trial.value for trial in found] == [0.5 + k / 1000 for k in range(trials)]
    starts = Counter(line[2] for line in log() if line[0] == "start")
    ends = Counter(line[2] for line in log() if line[0] == "end")
    assert set(ends) == {str(k) for k in range(trials)}
    # A worker killed between a trial's end and its report is the only way to end twice.
    assert trials <= sum(starts.values()) <= trials + kills and sum(ends.values()) <= trials + kills


def test_forty_trials_finish_once_each_while_workers_are_killed(corpus, log, tmp_path):
    stop, kills = threading.Event(), []
    children = lambda: [child.pid for child in multiprocessing.active_children()]  # noqa: E731
    killer = threading.Thread(target=lambda: kills.append(killing(stop, log, children)))
    killer.start()
    try:
        found = sweep(corpus, ["bow"], 40, tmp_path / "out", jobs=2, trial=slow_trial)
    finally:
        stop.set()
        killer.join()
    assert kills[0] >= 3
    each_once(tmp_path / "out", log, 40, kills[0])
    assert found["models"]["bow"]["trial"] == 39 and found["models"]["bow"]["trials"] == 40


SWEEP = """
if __name__ == "__main__":
    import sys
    from rnnlens.experiments import ledger
    from rnnlens.experiments.sweep import sweep
    from sweep_jobs import slow_trial
    ledger.BEAT, ledger.GRACE = 1.0, 10.0  # a sweep killed between claiming a trial and signing it keeps it that long
    corpus, out, storage = sys.argv[1:]
    sweep(corpus, ["bow"], 12, out, jobs=2, resume=True, storage=storage or None, trial=slow_trial)
"""


def started(corpus, out, storage=""):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    script = os.path.join(os.path.dirname(corpus), "sweeping.py")
    with open(script, "w") as file:
        file.write(SWEEP)
    return subprocess.Popen([sys.executable, script, corpus, str(out), storage], env=environment)


def test_a_sweep_that_is_killed_as_a_whole_goes_on(corpus, log, tmp_path):
    process = started(corpus, tmp_path / "out")
    while sum(line[0] == "end" for line in log()) < 4:
        time.sleep(0.05)
    process.kill()
    process.wait()
    before = sum(trial.state.is_finished() for trial in states(tmp_path / "out"))
    with pytest.raises(RnnlensError, match="--resume"):
        sweep(corpus, ["bow"], 12, tmp_path / "out", trial=slow_trial)
    sweep(corpus, ["bow"], 12, tmp_path / "out", jobs=2, resume=True, trial=slow_trial)
    assert before >= 2
    each_once(tmp_path / "out", log, 12, 4)  # at most two under way, twice


def test_a_trial_that_kills_every_worker_is_told(corpus, log, tmp_path):
    with pytest.raises(RnnlensError, match=r"died on the job .*bow.*3"):
        sweep(corpus, ["bow"], 5, tmp_path / "out", trial=deadly_trial)
    assert sum(trial.state.is_finished() for trial in states(tmp_path / "out")) == 3
    sweep(corpus, ["bow"], 5, tmp_path / "out", resume=True, trial=slow_trial)
    each_once(tmp_path / "out", log, 5, 0)


def test_errors_in_jobs_come_back():
    with pytest.raises(ZeroDivisionError):
        list(run_jobs(divmod, [1], 1, (0,)))
    assert sorted(run_jobs(pow, [2, 3], 2, (2,))) == [(2, 4), (3, 9)]


def test_temporary_files_of_jobs_end_with_them(tmp_path, monkeypatch):
    """Also those of a job that is killed (a trial trains in a temporary folder), and if the parent is killed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    running = run_jobs(tempfile.mkdtemp, ["first", "second"], 1)
    assert os.path.isdir(os.path.join(tmp_path, next(running)[1]))
    running.close()
    assert not os.listdir(tmp_path)
    code = (
        "import os, tempfile\nfrom rnnlens.experiments.workers import run_jobs\n"
        "for _, path in run_jobs(tempfile.mkdtemp, ['first'], 1):\n"
        "    assert os.path.dirname(path) != os.environ['TMPDIR'] and os.path.isdir(path)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)})
    end = time.monotonic() + 20
    while os.listdir(tmp_path) and time.monotonic() < end:
        time.sleep(0.02)
    assert done.returncode == -signal.SIGKILL and not os.listdir(tmp_path)


@pytest.mark.parametrize("workers", [0, 1])
def test_terminated_jobs_end_in_order(workers):
    """So that claims are released, wherever the jobs run."""
    with pytest.raises(SystemExit) as raised:
        for _ in run_jobs(divmod, [2, 3], workers, (1,)):
            signal.raise_signal(signal.SIGTERM)
    assert raised.value.code == 128 + signal.SIGTERM


@pytest.mark.parametrize(("kind", "end"), [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)])
def test_a_signal_in_the_middle_of_a_claim_leaves_the_ledger_whole(kind, end, tmp_path):
    """An exception among the statements of SQLAlchemy can leave the database locked, and the claim of nobody."""
    sqlalchemy, url = pytest.importorskip("sqlalchemy"), f"sqlite:///{tmp_path / 'ledger.db'}"
    ledger, seen = Ledger(open_storage(url), "bow", 0, "here", alone=True), []

    def strike(*_):
        seen.append(len(seen))
        if len(seen) == at:
            signal.raise_signal(kind)

    sqlalchemy.event.listen(ledger.storage.engine, "after_cursor_execute", strike)
    for at in (1, 5, 9):
        seen.clear()
        with pytest.raises(end), orderly_end():
            ledger.claim(20)
        assert len(seen) > at
    claimed = [trial for trial in ledger.trials() if trial.user_attrs.get("owner") == ledger.owner]
    assert [trial.number for trial in claimed] == ledger.claimed == [0, 1, 2]
    ledger.release()
    assert [trial.state.name for trial in ledger.trials()] == ["WAITING"] * 3
    with sqlite3.connect(tmp_path / "ledger.db", timeout=0) as other:
        other.execute("CREATE TABLE free (x)")


def test_figures_are_drawn_where_there_is_no_sighup(monkeypatch):
    """On Windows, which has none: only what handles signals needs it."""
    monkeypatch.delattr(signal, "SIGHUP")
    runpy.run_path(ending.__file__)


def test_a_second_signal_does_not_wait():
    with pytest.raises(KeyboardInterrupt), signals_at_end():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the second one waited")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(("kind", "end"), [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)])
def test_a_signal_that_strikes_in_a_destructor_is_not_lost(kind, end):
    """Python ignores exceptions there, such as those of signal handlers."""
    seen = []

    class Struck:
        def __del__(self):
            if not seen:
                seen.append(kind)
                signal.raise_signal(kind)

    hook = sys.unraisablehook
    with pytest.raises(end) as raised, orderly_end():
        Struck()
        assert seen  # the first one was ignored
        time.sleep(10)
    assert kind == signal.SIGINT or raised.value.code == 128 + kind
    assert sys.unraisablehook is hook


def test_ray_runs_a_killed_workers_trial_again(corpus, log, tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="the engine for clusters is not installed: pip install 'rnnlens[ray]'")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.path.dirname(__file__), *sys.path]))  # its workers' too
    killed = []

    def kill():
        """The worker that has begun a third trial, before it ends."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            for line in log():
                under_way = ["end", *line[1:]] not in log()
                if line[0] == "start" and under_way and sum(other[0] == "end" for other in log()) >= 3:
                    killed.append(int(line[3]))
                    os.kill(killed[0], signal.SIGKILL)
                    return
            time.sleep(0.02)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    sweep(corpus, ["bow"], 12, tmp_path / "out", engine="ray", jobs=2, trial=slow_trial)
    killer.join()
    assert killed, "no trial was under way to be killed"
    each_once(tmp_path / "out", log, 12, 1)
    again = Counter(line[2] for line in log() if line[0] == "start")
    assert sum(again.values()) == 13 and max(again.values()) == 2
    (lost,) = [trial for trial, starts in again.items() if starts == 2]
    first, second = [int(line[3]) for line in log() if line[0] == "start" and line[2] == lost]
    assert first == killed[0] != second  # whether a new worker takes its place in time is Ray's business
    assert [int(line[3]) for line in log() if line[0] == "end" and line[2] == lost] == [second]


@pytest.fixture
def postgres(tmp_path_factory):
    """The URL of a PostgreSQL of our own."""
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed: pip install 'psycopg[binary]'")
    if not shutil.which("initdb") or not shutil.which("pg_ctl"):
        pytest.skip("there is no PostgreSQL server here to start")
    folder = tempfile.mkdtemp(prefix="pg")
    who = {"user": "postgres", "cwd": "/"} if os.getuid() == 0 else {}
    if who:
        shutil.chown(folder, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = lambda *command: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **who)  # noqa: E731
    run("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "postgres", "--no-sync")
    server = ("pg_ctl", "-D", f"{folder}/data", "-w", "-l", f"{folder}/log")
    run(*server, "-o", f"-p {port} -h 127.0.0.1 -k {folder}", "start")
    yield f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"
    run(*server, "-m", "immediate", "stop")
    shutil.rmtree(folder)


def test_two_sweeps_share_a_database_and_one_is_killed(corpus, log, postgres, tmp_path):
    both = [started(corpus, tmp_path / name, postgres) for name in "ab"]
    while sum(line[0] == "end" for line in log()) < 4:
        time.sleep(0.02)
    both[0].kill()
    both[0].wait()
    assert both[1].wait(120) == 0
    found = optuna.load_study(storage=postgres, study_name=None).trials
    assert [trial.state.name for trial in found[:12]] == ["COMPLETE"] * 12
    starts = Counter(line[2] for line in log() if line[0] == "start")
    assert set(starts) == {str(k) for k in range(12)} and sum(starts.values()) <= 12 + 4


def test_the_best_trials_are_shown_as_they_come(capsys):
    rows = [
        {"model": "bow", "trial": k, "accuracy": accuracy, "loss": 0.5, "seconds": 2.0, "parameters": {"l2": k}}
        for k, accuracy in enumerate((0.8, 0.9, None, 0.85))
    ]
    with watched(["bow"], 5) as told:
        told(rows[:1], [("bow", 1)])
        told(rows[:3], [])
    assert capsys.readouterr().out.splitlines() == ["1/5  bow 0: 80.00 % in 2 s", "3/5  bow 2: diverged in 2 s"]
    found = table(["bow"], 5, rows, [("bow", 4)], shown=2)
    assert [[str(cell) for cell in column.cells][:3] for column in found.columns][1:3] == [
        ["1", "3", "4"],
        ["90.00 %", "85.00 %", "running"],
    ]


def test_settings_of_another_corpus_are_trained_for_as_many_steps(tmp_path, corpus):
    corpus = rnnlens.load_corpus(corpus)
    told = {"accuracy": 0.9, "loss": 0.3, "reviews": 100, "trial": 0, "seed": 0}
    row = {"model": "bow", "parameters": {"epochs": 6}, **told}
    for mark, documents, epochs in (
        (corpus.fingerprint, 10 * len(corpus.train), 6),
        ("another", 2 * len(corpus.train), 12),
        ("another", len(corpus.train) // 10, 2),
    ):
        path = tmp_path / f"{mark}-{documents}.json"
        write_settings(path, [row], mark, documents)
        assert read_choice(path, "bow", corpus)["parameters"]["epochs"] == epochs
        assert read_settings(path, "bow") == {"epochs": 6}
