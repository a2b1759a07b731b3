"""The command line: quick, teaches, and fails in one line with the right code."""

import re
import subprocess
import sys

import pytest

from rnnlens import Network, TrainConfig, toy_corpus, train
from rnnlens.cli import main
from rnnlens.common.errors import RnnlensError, exit_code_of


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    corpus = toy_corpus(train=64, validation=16)
    path = tmp_path_factory.mktemp("runs") / "run"
    train(Network(corpus.vocab, hidden=4, embedding=2), corpus, TrainConfig(epochs=1), path)
    return path


@pytest.fixture
def reviews(tmp_path):
    rows = "".join(f'"{["awful", "great"][i % 2]} film, number {i}",{i % 2}\n' for i in range(60))
    (tmp_path / "reviews.csv").write_text("text,label\n" + rows)
    return tmp_path / "reviews.csv"


def call(capsys, *arguments):
    """Exit code, output and errors of a command."""
    code = 0
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        code = stop.code or 0
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_users_own_reviews_from_csv_to_probe(capsys, reviews, tmp_path):
    corpus, out = tmp_path / "corpus", tmp_path / "run"
    assert call(capsys, "prepare", reviews, "--out", corpus, "--min-count", 1)[0] == 0
    code, told, _ = call(
        capsys,
        "train",
        corpus,
        "--out",
        out,
        "--hidden",
        8,
        "--embedding",
        4,
        "--epochs",
        5,
        "--learning-rate",
        0.05,
        "--batch",
        8,
        "--test",
        "--device",
        "cpu",
    )
    assert code == 0 and re.search(r"test \d+\.\d\d %", told)
    code, told, _ = call(capsys, "info", out)
    assert code == 0 and "test accuracy" in told and "gru" in told
    code, told, _ = call(capsys, "info", corpus)
    assert code == 0 and re.search(r"\d+ % positive", told)
    code, told, _ = call(capsys, "probe", out, "great film", "awful [bold]zebra[/bold]")
    assert code == 0 and "great" in told and "zebra (unknown)" in told and "[bold]" not in told


def test_probe_draws_a_figure(capsys, run, tmp_path):
    code, told, _ = call(capsys, "probe", run, "not good", "<script>", "--figure", tmp_path / "figure.html")
    assert code == 0 and "figure.html" in told
    assert "plotly" in (tmp_path / "figure.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["train"], 2, "CORPUS"),
        (["train", "x", "--out", "y", "--epochs", "many"], 2, "many"),
        (["train", "x", "--out", "y", "--arch", "transformer"], 2, "transformer"),
        (["train", "x", "--out", "y", "--colour", "red"], 2, "colour"),
        (["nonsense"], 2, "nonsense"),
        (["train", "no-such-corpus.csv", "--out", "y"], 1, "no-such-corpus.csv"),
        (["train", "x", "--out", "y", "--epochs", "0"], 1, "epochs is 0"),
        (["info", "no-such-folder"], 1, "'no-such-folder' is no folder"),
        (["probe", "no-such-run", "good"], 1, "no run folder 'no-such-run'"),
        (["probe", "no-such-run"], 2, "no sentence"),
    ],
)
def test_mistakes_are_one_line_with_the_right_code(capsys, monkeypatch, tmp_path, arguments, code, told):
    monkeypatch.chdir(tmp_path)
    got, out, errors = call(capsys, *arguments)
    assert got == code and told in errors and out == ""
    assert errors.startswith("error: ") and errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_help_and_bad_usage_import_nothing_heavy():
    """One process for all of them: what one imports is still there after the next."""
    lines = (["--help"], ["train", "--help"], ["train"], ["nonsense"], ["train", "x", "--out", "y", "--epochs", "q"])
    code = (
        "import sys\nfrom rnnlens.cli import main\n"
        f"for arguments in {lines!r}:\n"
        "    try: main(arguments)\n    except SystemExit: pass\n    else: sys.exit('it went on')\n"
        "    heavy = {'torch', 'polars', 'plotly', 'accelerate', 'sklearn', 'numpy'} & set(sys.modules)\n"
        "    if heavy: sys.exit(f'{arguments} imported {heavy}')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_ctrl_c_is_one_line(tmp_path):
    """SIGINT in the middle of training: one line, exit code 1, and the same command goes on."""
    import signal
    import time

    command = [sys.executable, "-m", "rnnlens.cli", "train", "toy", "--out", "run", "--hidden", "16", "--device", "cpu"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "run" / "run.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    # (If the signal falls into an `exec`, as imports do them, CPython itself ends by the signal after our exit.)
    assert process.returncode in (1, -signal.SIGINT), errors
    assert errors.startswith("error: interrupted") and errors.count("\n") == 1


def test_debugging_raises_the_error_itself(monkeypatch, capsys):
    def command():
        raise RnnlensError("words is 0: expected at least 1")

    assert exit_code_of(command) == 1 and capsys.readouterr().err == "error: words is 0: expected at least 1\n"
    monkeypatch.setenv("RNNLENS_DEBUG", "1")
    with pytest.raises(RnnlensError, match="words is 0"):
        exit_code_of(command)
