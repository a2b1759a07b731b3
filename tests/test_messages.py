"""What commands say: true wherever it is said, with a fix that works when it is pasted."""

import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.world import write_reviews

import rnnlens
from rnnlens import RnnlensError
from rnnlens.cli import main
from rnnlens.common.errors import exit_code_of, pasted
from rnnlens.common.files import UnwrittenError

SMALL = ["--hidden", "4", "--embedding", "2", "--epochs", "1"]


def call(capsys, *arguments):
    """Exit code, and what a command says."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out + captured.err


def refused(capsys, *arguments):
    """The one line with which a command is refused."""
    code, told = call(capsys, *arguments)
    assert code in (1, 2) and told.startswith("error: ") and told.count("\n") == 1, told
    return told


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Reviews, a corpus of them, a run, and a copy of it that is analyzed, in a folder whose name has a space."""
    folder = tmp_path_factory.mktemp("my data")
    write_reviews(folder / "reviews.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in ("prepare reviews.csv --out corpus", f"train corpus --out run {' '.join(SMALL)}"):
            with pytest.raises(SystemExit, match="0"):
                main(line.split())
        shutil.copytree("run", "analyzed")
        rnnlens.analyze("analyzed", "corpus", reviews=10).save()
    return folder


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    """A copy of `folder`, as the current one."""
    shutil.copytree(folder, tmp_path / "a b", dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "a b")
    return tmp_path / "a b"


# --- what a folder is -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("analyze corpus", "not a run folder but a prepared corpus: train a network on it with `rnnlens train corpus"),
        ("analyze reviews.csv", "not a run folder but a file"),
        ("analyze .", "there are runs inside, 'analyzed', 'run'"),
        ("analyze run --corpus run", "'run' is a run folder: expected a corpus"),
        ("report zoo:reviews-lstm", "`rnnlens demo --network reviews-lstm --out RUN`"),
        ("figures zoo:reviews-lstm", "`rnnlens demo --network reviews-lstm --out RUN`"),
        ("analyze zoo:reviews-lstm", "`rnnlens demo --network reviews-lstm --out RUN`"),
        ("prepare reviews.csv --out run", "holds 'checkpoint', which is not part of a prepared corpus"),
        ("train corpus more --out x", "unexpected 'more': put a name with spaces in quotes"),
        ("train corpus --out x --arch mamba --tuned", "only for gru, lstm, ugrnn, vanilla: leave --tuned out"),
        ("train corpus --out x --settings reviews.csv", "expected the settings.json of a `rnnlens sweep`"),
        ("baselines corpus --modifiers analyzed --out x --refit", "evaluate on others, with test (--test)"),
    ],
)
def test_a_wrong_kind_of_folder_or_flag_is_named_as_what_it_is(capsys, here, line, said):
    assert said in refused(capsys, *line.split())


def test_a_suggested_command_can_be_pasted(capsys, here):
    path = here / "run"
    for line in (["report", path], ["figures", path], ["baselines", "corpus", "--modifiers", path, "--out", "x"]):
        command = re.search("`rnnlens (.*)`", refused(capsys, *line)).group(1)
        assert shlex.split(command) == ["analyze", str(path)]
    told = refused(capsys, "analyze", here / "no run")
    assert f"--out '{here}/no run'`" in told
    assert (pasted("-x"), pasted("a b")) == ("./-x", "'a b'")


def test_another_corpus_is_refused_as_such_not_for_its_size(capsys, here):
    Path("other.csv").write_text("".join(Path("reviews.csv").read_text().splitlines(True)[:41]))
    told = refused(capsys, "analyze", "analyzed", "--corpus", "other.csv", "--reviews", 5)
    assert "names another corpus" in told and "pass the one of 'reviews.csv'" in told


# --- damage, and the fix ----------------------------------------------------------------------------------------------


def test_what_an_analysis_wrote_can_be_moved_away_and_written_again(capsys, here):
    for name in ("results.json", "analysis.safetensors", "states.safetensors"):
        file = here / "analyzed" / name
        whole = file.read_bytes()
        file.write_bytes(whole[:-20])
        told = refused(capsys, "export", "analyzed", "--to", "x")
        assert f"analyzed/{name}' is damaged" in told and "or move it away and analyze again" in told
        file.write_bytes(whole)
        file.rename(here / name)
        rnnlens.analyze("analyzed", starts=200).save()


def test_a_finished_run_without_its_weights_is_not_told_to_resume(capsys, here):
    (here / "run" / "weights.safetensors").unlink()
    for line in (["probe", "run", "good"], ["train", "corpus", "--out", "run", *SMALL, "--resume"]):
        told = refused(capsys, *line)
        assert "weights.safetensors': No such file" in told and "or train again in another folder" in told
    about = json.loads((here / "run" / "run.json").read_text())
    assert about["status"] == "finished"


def test_a_file_that_may_not_be_read_is_not_to_be_made_again(here, monkeypatch):
    opened = os.open

    def forbidden(path, *given, **how):
        if str(path).endswith((".npy", "weights.safetensors")):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, *given, **how)

    monkeypatch.setattr(os, "open", forbidden)
    for read in (rnnlens.load, rnnlens.load_corpus):
        with pytest.raises(RnnlensError, match="cannot read .*: Permission denied$"):
            read("run" if read is rnnlens.load else "corpus")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "a b"), "'a b': Permission denied; choose a path that you"),
        (OSError(errno.ENOSPC, "No space left on device"), "cannot read or write the output: No space left"),
        (KeyboardInterrupt(), "run the same command again, with --resume if it has this flag"),
        (MemoryError(), "out of memory: try fewer or shorter texts, smaller batches or a smaller network"),
        (UnwrittenError("run", "No space left", errno.ENOSPC), "make room, then run the same command again, with --re"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_of_the_system_say_what_to_do_in_every_command(capsys, error, said):
    def command():
        raise error

    assert exit_code_of(command) == 1
    assert said in capsys.readouterr().err


# --- interruptions and pipes ------------------------------------------------------------------------------------------


def test_ctrl_c_while_the_command_line_is_imported_is_one_line(tmp_path):
    """A module on the path that waits, in place of one that the command line imports."""
    (tmp_path / "cyclopts.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    process = subprocess.Popen(
        [sys.executable, "-c", "from rnnlens.cli import main; main(['info', 'x'])"],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "importing\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert errors.startswith("error: interrupted") and errors.count("\n") == 1


def test_a_command_goes_on_when_nobody_reads_its_output_any_more(tmp_path):
    """As in `rnnlens analyze run | head -1`: the lines and tables go nowhere, and the report is written."""
    code = "from rnnlens.common.terminal import say, show, table_of\n"
    code += "for _ in range(3): say('x', flush=True); show(table_of('x'))\nopen('report', 'w').close()"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE)
    process.stdout.close()
    assert process.wait() == 0 and (tmp_path / "report").exists()


# --- training ---------------------------------------------------------------------------------------------------------


def test_a_missing_test_split_is_told_before_training(capsys, here):
    assert call(capsys, "prepare", "reviews.csv", "--out", "c", "--test", 0, "--validation", 0)[0] == 0
    assert "leave test (--test) out" in refused(capsys, "train", "c", "--out", "r", *SMALL, "--test")
    assert not Path("r").exists()
    code, told = call(capsys, "train", "c", "--out", "r", *SMALL)
    assert code == 0 and told.endswith("next: rnnlens analyze r\n")  # with this corpus it would be refused


def test_a_training_that_stops_early_says_so_and_fills_its_bar(capsys, here, monkeypatch):
    from contextlib import contextmanager

    from rnnlens.training import loop

    done = []

    @contextmanager
    def bar(title, total, shown=True, before=0):
        done.append(total)
        yield lambda step=1, note=None: done.append(-step)

    monkeypatch.setattr(loop, "progress_bar", bar)
    _, told = call(capsys, "train", "corpus", "--out", "r", *SMALL[:4], "--epochs", 50, "--patience", 1)
    assert re.search(r"stopped after epoch \d+ of 50: validation accuracy had not risen for 1 epoch\n", told)
    assert sum(done) == 0


@pytest.mark.parametrize(("accuracy", "said"), [(0.4, "no better than"), (0.52, "hardly better than")])
def test_a_hint_after_training_fits_the_numbers_and_the_network(here, accuracy, said):
    from rnnlens.training.command import _hint

    run, corpus = rnnlens.load("run"), rnnlens.load_corpus("corpus")
    run.results["accuracy"]["validation"] = accuracy
    assert said in _hint(run, corpus) and "--tuned" in _hint(run, corpus) and "--start" in _hint(run, corpus)
    run.about["network"]["arch"] = "mamba"  # it has no bundled settings
    run.about["corpus"]["reversed"] = "x"  # and no packaged network reads this way
    assert "--tuned" not in _hint(run, corpus) and "--start" not in _hint(run, corpus)


@pytest.mark.parametrize(
    ("text", "flags", "start"),
    [("the film was not good", [], True), ("the film was not good", ["--reverse"], False), ("zzgora nnblu", [], False)],
)
def test_of_few_texts_the_next_command_starts_from_a_packaged_network_if_it_can(capsys, here, text, flags, start):
    rows = "".join(f"{text} {['bad', 'fine'][i % 2] if start else 'xyz'},{i % 2}\n" for i in range(40))
    Path("few.csv").write_text(f"text,label\n{rows}")
    _, told = call(capsys, "prepare", "few.csv", "--min-count", 1, "--out", "f c", *flags)
    last = told.splitlines()[-1]
    assert "training texts are few" in told and ("--start zoo:reviews-gru" in last) == start
    assert shlex.split(last)[-1] == "runs/f c"
