"""The table of benchmarks: what is recorded is read back, what has become slower is marked, and a GPU is not missed."""

import subprocess
import sys
from pathlib import Path

from benchmarks import training
from benchmarks.size import SMALL
from benchmarks.table import Row, Skipped, line, record, rows_of
from benchmarks.timing import side_by_side

ROOT = Path(__file__).parents[1]
ABOUT = {
    "cpu": "2 cores", "gpu": None, "threads": 1, "load": 0.0, "clock": "the wall's", "torch": "2", "date": "2026-01-01",
}  # fmt: skip


def test_what_is_recorded_is_read_back_and_what_is_slower_is_marked():
    rows = [
        Row("scan", 2.0, "loop", 3.0, part="networks", last=2.0),
        Row("points", 1.0, "Adam", 300.0, "git clone x", "q 1", True, {"steps": 5}, "fixed_points", 200.0),
        Skipped("everything on a GPU", "none here", "gpu"),
    ]
    assert rows_of(record(rows, ABOUT)) == rows
    assert "1.50× ▼" in line(rows[0]) and "2.00×" in line(rows[0]) and "▼" not in line(rows[1])
    assert "≥ 300×" in line(rows[1]) and "skipped" in line(rows[2])


def test_contenders_take_turns_equally_often():
    calls = []
    best = side_by_side({name: lambda name=name: calls.append(name) for name in "ab"}, rounds=3)
    assert calls == list("ab" * 4) and set(best) == set("ab")
    assert len(calls) == 8 and side_by_side({"a": lambda: calls.append("c")}, 5, budget=0, warm=True)
    assert calls[8:] == ["c"]


def test_the_part_for_a_gpu_needs_nothing_of_the_command_line():
    code = (
        "import sys\n"
        "for name in ('polars', 'plotly', 'cyclopts', 'rich', 'optuna', 'ray', 'jinja2'): sys.modules[name] = None\n"
        "import torch\n"
        "torch.cuda.is_available = lambda: False\n"
        "from benchmarks.__main__ import main\n"
        "sys.argv = ['benchmarks', '--only', 'gpu']\n"
        "main()\n"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    assert "everything on a GPU" in told and "torch sees no CUDA device here" in told


def test_an_evaluation_is_measured():
    """The other rows of training and of the analysis take too long for a test."""
    (row,) = training.reading(SMALL)
    assert row.ours > 0 and row.theirs > 0
