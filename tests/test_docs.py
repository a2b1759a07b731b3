"""What the README, the pages and `--help` show is true: Python and commands run, others parse, the tree is the tree."""

import inspect
import json
import re
import runpy
import shlex
import sys
from contextlib import suppress

import pytest
from cyclopts import CycloptsError, MissingArgumentError
from pages import PAGES, ROOT, blocks, command_lines, commands, name_of, write_reviews
from studies import faults

import rnnlens
from rnnlens.analysis.analyze import analyze
from rnnlens.cli import app, main
from rnnlens.training.command import NAMES

RUN = [page for page in PAGES if any(block.run for block in blocks(page))]
HELP = "\n".join(app[name].help for name in app)
COMMANDS = sorted({line for page in PAGES for line in commands(page.read_text(encoding="utf-8"))} | set(commands(HELP)))


REVIEWS = {"docs/own-rnn.md": 1_500, "docs/baselines.md": 1_500}  # pages whose findings are checked want more


@pytest.fixture
def folder(request, tmp_path, monkeypatch):
    """Where a page is run: a csv file, a cache of its own, and fewer words to look at than a reader would take."""
    write_reviews(tmp_path / "reviews.csv", REVIEWS.get(request.node.callspec.id, 120))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(inspect.unwrap(analyze).__kwdefaults__, "top", 500)
    return tmp_path


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_a_page_runs_as_it_stands(page, folder, capsys):
    namespace = {}
    for block in blocks(page):
        if block.language == "python":
            if not namespace or page.name == "README.md":  # there each block stands alone; a page goes on
                namespace = {"__name__": "__main__"}
            exec(compile("\n" * (block.line - 1) + block.code, name_of(page), "exec"), namespace)
        for words in command_lines(block.code) if block.language == "sh" else ():
            assert words[0] == "rnnlens", f"{words[0]} is no command of ours: leave the block without a language"
            with pytest.raises(SystemExit) as stop:
                main(words[1:])
            assert stop.value.code == 0, f"{shlex.join(words)}: {capsys.readouterr().err}"
    told = capsys.readouterr().out
    for check in CHECKS.get(name_of(page), ()):
        check(told, folder)


def baselines_explain(told, folder):
    assert "strength" in told and (folder / "runs/model/baseline.json").exists()


def own_network_is_explained(told, folder):
    """The tutorial's network reads texts in which `not` and `never` flip and `very` doubles: just that is found."""
    assert "\nnegators: ['not', 'never'" in told and "\nintensifiers: ['very'" in told
    assert (folder / "report.html").stat().st_size > 1e6


def quickstart_reports(told, folder):
    assert "next: rnnlens analyze runs/reviews --corpus corpora/reviews" in told
    assert (folder / "runs/reviews/report.html").exists() and (folder / "report.html").exists()


CHECKS = {
    "docs/baselines.md": [baselines_explain],
    "docs/own-rnn.md": [own_network_is_explained],
    "docs/quickstart.md": [quickstart_reports],
}


def test_there_is_something_to_check():
    assert len(RUN) >= 8 and len(COMMANDS) >= 30 and set(CHECKS) <= set(map(name_of, RUN))


def test_the_tutorial_takes_fifteen_lines():
    block = next(b for b in blocks(ROOT / "docs/own-rnn.md") if "rnnlens.report" in b.code)
    assert len([line for line in block.code.splitlines() if line.strip()]) <= 15


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_parse(line):
    words = shlex.split(line, comments=True)
    if words[0] != "rnnlens":  # of examples/cluster/train.py
        assert "examples/cluster/train.py" in words and all(
            word.split("=")[0] in NAMES for word in words if "=" in word
        )
    elif not words[1].isupper():
        assert words[1] in app
        known = {name for argument in app[words[1]].assemble_argument_collection() for name in argument.names}
        assert {word for word in words if word.startswith("--")} <= known | {"--help"}
        if not any(re.fullmatch("[A-Z]{2,}", word) for word in words):
            with suppress(MissingArgumentError):  # mentioned, not meant to be typed
                app.parse_args(words[1:], exit_on_error=False, print_error=False)


def test_a_wrong_flag_would_be_noticed():
    for line in ("rnnlens probe runs/toy good --figur x.html", "rnnlens sweep --earlyer", "rnnlens swep --out x"):
        with pytest.raises(AssertionError):
            test_commands_parse(line)
    with pytest.raises(CycloptsError, match="many"):
        test_commands_parse("rnnlens train corpora/x --out runs/x --epochs many")


def test_every_command_shows_how_it_is_used():
    for name in set(app) - {"demo", "--help", "-h", "--version"}:
        assert f"`rnnlens {name} " in app[name].help, f"the help of {name} has no example"


def test_every_public_name_is_in_the_reference():
    reference = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    missing = [name for name in rnnlens.__all__ if not re.search(rf":: rnnlens\.{name}$", reference, re.MULTILINE)]
    assert missing == ["__version__"]


def test_the_site_builds_without_a_warning(tmp_path, capsys):
    build = pytest.importorskip("sphinx.cmd.build", reason="needs sphinx: pip install -e '.[docs]'")
    code = build.main(["-W", "--keep-going", "-q", str(ROOT / "docs"), str(tmp_path / "site")])
    assert code == 0, capsys.readouterr().err
    page = (tmp_path / "site/method.html").read_text(encoding="utf-8")
    assert "<math" in page and "https://cdn" not in page


def test_the_tree_is_the_tree():
    (tree,) = [block.code for block in blocks(ROOT / "docs/map.md") if block.code.startswith("src/rnnlens/")]
    package, told = ROOT / "src" / "rnnlens", set()
    inside = ""
    for line in tree.splitlines()[1:]:
        if not line.startswith("  "):
            told |= {ROOT / name for name in line.split()}
            continue
        if not line.startswith("   "):
            inside = line.split()[0] if line.split()[0].endswith("/") else ""
            told |= {package / inside} if inside else set()
        told |= {package / inside / name for name in re.findall(r"\b\w+\.py\b", line)}
    assert [str(path) for path in told if not path.exists()] == []
    there = {path for path in package.rglob("*.py") if not path.name.startswith("__")}
    few = {package / "figures", package / "experiments"}  # of which the tree names those to begin with
    assert {str(path) for path in there - told if path.parent not in few} == set()
    assert {path for path in package.iterdir() if path.is_dir() and not path.name.startswith("__")} <= told


def test_the_page_about_faults_says_what_its_record_says():
    """`python -m studies.faults --page` writes it."""
    record = json.loads((faults.DOCS / "results" / "faults.json").read_text())
    assert faults.page(record) == (faults.DOCS / "faults.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reviews")
    write_reviews(folder / "reviews.csv")
    return folder


def test_the_example_finds_modifiers_in_twelve_lines(reviews, monkeypatch, capsys):
    source = (ROOT / "examples/baselines.py").read_text()
    lines = [line for line in source.split('"""')[2].splitlines() if line.strip()]
    assert len(lines) <= 12
    monkeypatch.chdir(reviews)
    monkeypatch.setattr(sys, "argv", ["baselines.py", "reviews.csv"])
    runpy.run_path(str(ROOT / "examples/baselines.py"), run_name="__main__")
    told = capsys.readouterr().out
    assert float(told.split(" %")[0]) > 90
    strengths = {word: float(value) for word, value in re.findall(r"^(\w+) +strength ([+-][\d.]+)", told, re.MULTILINE)}
    assert strengths["not"] < -1 and strengths["never"] < -1 and strengths["very"] > 0.3
    scopes = [float(value) for value in re.findall(r"fades over ([\d.]+) words", told)]
    assert len(scopes) == 3 and 0 < max(scopes) < 10
    assert re.search(r"good .*by not at distance", told)
