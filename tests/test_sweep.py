"""Sweeps: as many trials finish as are asked for, whoever is killed; their parameters follow from their numbers."""

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.optimize import minimize

import rnnlens
from rnnlens import RnnlensError
from rnnlens.baselines import BASELINES
from rnnlens.corpora import prepare
from rnnlens.experiments import sweep as module
from rnnlens.experiments import trials
from rnnlens.experiments.choosing import best, write_settings
from rnnlens.experiments.space import SPACES, Choice, parameters
from rnnlens.experiments.sweep import sweep
from rnnlens.experiments.trials import judge, run_trial, scaled_loss
from rnnlens.experiments.workers import run_jobs
from rnnlens.training.settings import read_choice, read_settings

from sweep_jobs import slow_trial  # isort: skip

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
def log(corpus, monkeypatch):
    """What trials wrote down. Trials without a heartbeat for two seconds are abandoned."""
    monkeypatch.setattr(module, "HEARTBEAT", 1)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.path.dirname(__file__), *sys.path]))
    path = os.path.join(os.path.dirname(corpus), "log")
    open(path, "w").close()
    return lambda: [line.split() for line in open(path).read().splitlines()]


def ended(log):
    return [line[1] for line in log() if line[0] == "end"]


def wait_for(log, trials, seconds=120):
    end = time.monotonic() + seconds
    while len(ended(log)) < trials:
        assert time.monotonic() < end, "no trials are run"
        time.sleep(0.02)


# --- trials -----------------------------------------------------------------------------------------------------------


def test_parameters_follow_from_model_seed_and_number_and_stay_in_their_space():
    assert parameters("gru", 0, 7) == parameters("gru", 0, 7)
    assert len({str(parameters(model, seed, k)) for model in SPACES for seed in (0, 1) for k in range(5)}) == 100
    for model, space in SPACES.items():
        for k in range(50):
            for name, value in parameters(model, 0, k).items():
                kind = space[name]
                assert value in kind.options if isinstance(kind, Choice) else kind.low <= value <= kind.high, name
    rates = [parameters("bow", 0, k)["learning_rate"] for k in range(400)]
    space = SPACES["bow"]["learning_rate"]
    assert np.median(rates) == pytest.approx(np.sqrt(space.low * space.high), rel=0.2)  # log-uniform
    assert set(BASELINES) < set(SPACES) and len(SPACES) == 10


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


# --- searches ---------------------------------------------------------------------------------------------------------


def test_a_sweep_finds_what_its_trials_find_and_a_failing_one_does_not_end_it(corpus, tmp_path, monkeypatch, capsys):
    data, make = rnnlens.load_corpus(corpus), trials.baseline
    alone = [run_trial("bow", data, parameters("bow", 0, k)) for k in range(3)]

    def short_of_memory(model, options, *given):
        if options == parameters("bow", 0, 1):
            raise RuntimeError("CUDA out of memory. Tried to allocate 20 GiB.")
        return make(model, options, *given)

    monkeypatch.setattr(trials, "baseline", short_of_memory)
    sweep(corpus, ["bow"], 2, tmp_path, jobs=0)
    with pytest.raises(RnnlensError, match="already holds trials: continue with --resume"):
        sweep(corpus, ["bow"], 3, tmp_path, jobs=0)
    found = sweep(corpus, ["bow", "bod+eod"], 3, tmp_path, jobs=0, resume=True)["models"]
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 6 and told[1].startswith("bow, trial 1 of 2: out of memory")
    rows = [{"model": "bow", "trial": k, **row} for k, row in enumerate(alone) if k != 1]
    chosen = best(rows, "bow")
    assert found["bow"]["trials"] == found["bod+eod"]["trials"] == 3
    assert [found["bow"][key] for key in ("trial", "accuracy", "loss")] == [
        chosen[key] for key in ("trial", "accuracy", "loss")
    ]
    assert read_settings(tmp_path / "settings.json", "bow") == parameters("bow", 0, chosen["trial"])
    with pytest.raises(RnnlensError, match="no settings for 'gru'"):
        read_settings(tmp_path / "settings.json", "gru")


def test_an_interrupted_trial_is_run_again(corpus, tmp_path):
    """Ctrl-C, and errors that another try may not have."""

    def interrupted(*given):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(corpus, ["bow"], 2, tmp_path, jobs=0, trial=interrupted)
    found = sweep(corpus, ["bow"], 2, tmp_path, jobs=0, resume=True)
    assert found["models"]["bow"]["trials"] == 2


def test_the_trial_of_a_killed_process_is_run_again(corpus, log, tmp_path):
    killed = []

    def kill():
        while not killed:
            lines = log()
            children = {str(child.pid) for child in multiprocessing.active_children()}
            for _, which, pid in [line for line in lines if line[0] == "start" and line[2] in children][2:]:
                if which not in ended(log) and not killed:
                    os.kill(int(pid), signal.SIGKILL)
                    killed.append(which)
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    found = sweep(corpus, ["bow"], 6, tmp_path, jobs=2, trial=slow_trial)
    killer.join()
    assert found["models"]["bow"]["trials"] == len(ended(log)) == len(set(ended(log))) == 6
    assert [line[1] for line in log() if line[0] == "start"].count(killed[0]) == 2


def started(corpus, out, jobs, storage=None):
    code = (
        "from sweep_jobs import slow_trial\nfrom rnnlens.experiments import sweep\nsweep.HEARTBEAT = 1\n"
        f"sweep.sweep({corpus!r}, ['bow'], 6, {str(out)!r}, jobs={jobs}, storage={storage!r}, trial=slow_trial)\n"
    )
    return subprocess.Popen([sys.executable, "-c", code])


def test_a_sweep_that_is_killed_as_a_whole_goes_on(corpus, log, tmp_path):
    process = started(corpus, tmp_path, 1)
    wait_for(log, 2)
    process.kill()
    process.wait()
    time.sleep(0.5)
    before = len(log())
    time.sleep(0.5)
    assert len(log()) == before, "its worker has ended too"
    found = sweep(corpus, ["bow"], 6, tmp_path, jobs=0, resume=True, trial=slow_trial)
    assert found["models"]["bow"]["trials"] == len(set(ended(log))) == 6 and len(ended(log)) <= 7
    assert found["models"]["bow"]["accuracy"] == max(map(float, ended(log)))


def test_two_processes_share_a_database_and_one_is_killed(corpus, log, tmp_path):
    storage = f"sqlite:///{tmp_path / 'shared.db'}"
    both = [started(corpus, tmp_path / name, 0, storage) for name in "ab"]
    wait_for(log, 2)
    first, other = sorted(range(2), key=lambda k: str(both[k].pid) != log()[-1][2])  # the other may still be starting
    both[first].kill()
    both[first].wait()
    assert both[other].wait(120) == 0
    assert len(set(ended(log))) == 6 and len(ended(log)) <= 7
    assert {line[2] for line in log()} == {str(process.pid) for process in both}
    assert read_choice(tmp_path / "ab"[other] / "settings.json", "bow")["trials"] == 6


def test_a_trial_that_another_process_gave_up_does_not_end_the_sweep(corpus, tmp_path):
    storage = f"sqlite:///{tmp_path / 'shared.db'}"

    def given_up(*given):
        study = optuna.load_study(study_name=None, storage=storage)
        if len(study.trials) == 2:
            module._again(study, study.trials[0])
            study.tell(0, state=optuna.trial.TrialState.FAIL)
        return {"accuracy": 0.5, "loss": 1.0, "scaled_loss": 1.0, "reviews": 10, "seconds": 0.0}

    found = sweep(corpus, ["bow"], 2, tmp_path / "out", jobs=0, storage=storage, trial=given_up)
    assert found["models"]["bow"]["trials"] == 2


def test_a_waiting_trial_is_taken_by_one_worker(tmp_path):
    search = module.Search(f"sqlite:///{tmp_path / 'ledger.db'}", False, ("bow",), 40, 0, "corpus")
    assert search.enqueue(search.studies()) == (40, 0)
    studies, together = [search.studies()["bow"] for _ in range(4)], threading.Barrier(4)

    def taken(study):
        together.wait()
        return [study.ask().user_attrs["number"] for _ in range(10)]

    with ThreadPoolExecutor(4) as pool:
        numbers = [number for some in pool.map(taken, studies) for number in some]
    assert sorted(numbers) == list(range(40))


def test_ray_runs_a_sweep(corpus, log, tmp_path):
    pytest.importorskip("ray", reason="the engine for clusters is not installed: pip install 'rnnlens[ray]'")
    found = sweep(corpus, ["bow"], 6, tmp_path, engine="ray", jobs=2, trial=slow_trial)
    assert found["models"]["bow"]["trials"] == len(set(ended(log))) == 6
    assert str(os.getpid()) not in {line[2] for line in log()}


# --- processes --------------------------------------------------------------------------------------------------------


def die(code):
    os._exit(code)


def test_results_and_errors_of_jobs_come_back():
    assert sorted(run_jobs(pow, [2, 3], 2, (2,))) == [(2, 4), (3, 9)]
    with pytest.raises(ZeroDivisionError):
        list(run_jobs(divmod, [1], 1, (0,)))
    with pytest.raises(RnnlensError, match="a process died with its job"):
        list(run_jobs(die, [1], 1))


def test_processes_and_their_temporary_files_end_with_the_parent(tmp_path):
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
def test_terminated_jobs_end_in_order(workers, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(SystemExit) as raised:
        for _ in run_jobs(divmod, [2, 3], workers, (1,)):
            signal.raise_signal(signal.SIGTERM)
    assert raised.value.code == 128 + signal.SIGTERM and not os.listdir(tmp_path)
