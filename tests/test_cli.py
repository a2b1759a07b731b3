"""The command line: quick, teaches, and fails in one line with the right code."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from rnnlens.cli import main


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
    line = "--hidden 8 --embedding 4 --epochs 5 --learning-rate 0.05 --batch 8 --test --device cpu"
    code, told, _ = call(capsys, "train", corpus, "--out", out, *line.split())
    assert code == 0 and re.search(r"test \d+\.\d\d %", told)
    code, told, _ = call(capsys, "info", out)
    assert code == 0 and "test accuracy" in told and "gru" in told
    code, told, _ = call(capsys, "info", corpus)
    assert code == 0 and re.search(r"\d+ % positive", told)
    code, told, _ = call(capsys, "probe", out, "great film", "awful [bold]zebra[/bold]")
    assert code == 0 and "great" in told and "zebra (unknown)" in told and "[bold]" not in told


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


def test_training_needs_no_command_line_parts(tmp_path):
    """Where polars, plotly, cyclopts and rich are missing, networks and training still work."""
    code = (
        "import sys\n"
        "for name in ('polars', 'plotly', 'cyclopts', 'rich'): sys.modules[name] = None\n"
        "import rnnlens\n"
        "corpus = rnnlens.toy_corpus(train=32, validation=8)\n"
        "network = rnnlens.Network(corpus.vocab, hidden=4, embedding=2)\n"
        "run = rnnlens.train(network, corpus, rnnlens.TrainConfig(epochs=1), sys.argv[1])\n"
        "run.network.read('not good')\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "run"], check=True)


# A child of a job in the background inherits that SIGINT is ignored.
HANDLED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


def interrupted(process, ready):
    """Its errors, when it is interrupted once it is ready."""
    deadline = time.monotonic() + 60
    while not ready() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)[1]


def test_ctrl_c_in_the_middle_of_training_is_one_line(tmp_path):
    given = ["train", "toy", "--out", "run", "--hidden", "16", "--device", "cpu"]
    command = [sys.executable, "-c", f"{HANDLED}from rnnlens.cli import main\nmain({given!r})"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    errors = interrupted(process, (tmp_path / "run" / "run.json").exists)
    # (If the signal falls into an `exec`, as imports do them, CPython itself ends by the signal after our exit.)
    assert process.returncode in (1, -signal.SIGINT), errors
    assert errors.startswith("error: interrupted") and errors.count("\n") == 1


def test_ctrl_c_while_the_command_line_is_imported_is_one_line(tmp_path):
    """A module on the path that waits, in place of one that the command line imports."""
    (tmp_path / "cyclopts.py").write_text("import time\nopen('importing', 'w').close()\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [sys.executable, "-c", f"{HANDLED}from rnnlens.cli import main\nmain(['info', 'x'])"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        stderr=subprocess.PIPE,
        text=True,
    )
    errors = interrupted(process, (tmp_path / "importing").exists)
    assert errors.startswith("error: interrupted") and errors.count("\n") == 1


def test_a_command_goes_on_when_nobody_reads_its_output_any_more(tmp_path):
    """As in `rnnlens analyze run | head -1`: the lines and tables go nowhere, and the report is written."""
    code = "from rnnlens.common.terminal import say, show, table_of\n"
    code += "for _ in range(3): say('x', flush=True); show(table_of('x'))\nopen('report', 'w').close()"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE)
    process.stdout.close()
    assert process.wait() == 0 and (tmp_path / "report").exists()
