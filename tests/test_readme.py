"""What the README shows is true: its Python runs, its commands exist, its tree is the tree."""

import random
import re
import shlex
from pathlib import Path

import pytest

from rnnlens.cli import app
from rnnlens.training.__main__ import parser

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PYTHON = [code for language, code in BLOCKS if language == "python"]
# Commands stand on lines of their own in blocks, or between backticks; `…` in one stands for anything.
LINES = [line for language, code in BLOCKS if not language for line in code.splitlines()]
LINES += re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL))
COMMANDS = [line for line in LINES if re.match(r"rnnlens \w|(accelerate|torchrun) ", line) and "…" not in line]


def test_there_is_something_to_check():
    assert len(PYTHON) >= 3 and len(COMMANDS) >= 7


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_python_runs_as_it_stands(code, tmp_path, monkeypatch):
    chance = random.Random(0)
    rows = ["text,label"]
    for i in range(60):
        word = "good fine" if i % 2 else "bad awful"
        rows.append(f"the film was {word} {chance.choice(['and', 'not', 'at all'])},{i % 2}")
    (tmp_path / "reviews.csv").write_text("\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_parse(line):
    words = shlex.split(line, comments=True)
    if words[0] == "rnnlens":
        assert words[1] in {name for command in app for name in app[command].name}
        app.parse_args(words[1:], exit_on_error=False, print_error=False)
    else:
        launcher, given = words[: words.index("-m")], words[words.index("-m") + 1 :]
        assert given[0] == "rnnlens.training" and launcher in (["accelerate", "launch"], ["torchrun", *launcher[1:]])
        parser().parse_args(given[1:])


def test_a_wrong_flag_would_be_noticed():
    with pytest.raises(Exception, match="figur"):
        app.parse_args(["probe", "runs/toy", "good", "--figur", "x.html"], exit_on_error=False, print_error=False)


def test_the_tree_is_the_tree():
    (tree,) = [code for _, code in BLOCKS if code.startswith("src/rnnlens/")]
    folder, told = ROOT / "src" / "rnnlens", set()
    inside = ""
    for line in tree.splitlines()[1:]:
        if not line.startswith("  "):
            told |= {Path(name) for name in line.split()}
            continue
        if not line.startswith("   "):
            inside = line.split()[0] if line.split()[0].endswith("/") else ""
        if inside and line.strip().startswith(inside):
            told.add(Path("src/rnnlens", inside))
        told |= {Path("src/rnnlens", inside, name) for name in re.findall(r"\b\w+\.py\b", line)}
    assert [str(path) for path in told if not (ROOT / path).exists()] == []
    listed = {path.name for path in told}
    for part in ("corpora", "networks", "training", "dynamics"):
        missing = {path.name for path in (folder / part).glob("[!_]*.py")} - listed
        assert not missing, f"{part} holds {missing}"
    there = {path.name for path in folder.iterdir() if not path.name.startswith("__")} - {"py.typed"}
    assert there <= listed
