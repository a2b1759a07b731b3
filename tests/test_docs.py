"""What the README, the pages and `--help` show is true: Python and commands run, others parse, the site builds."""

import inspect
import re
import runpy
import shlex
import sys
from contextlib import suppress

import pytest
from cyclopts import MissingArgumentError
from pages import PAGES, ROOT, blocks, command_lines, commands, name_of, write_reviews

from rnnlens.analysis.analyze import analyze
from rnnlens.cli import app, main

RUN = [page for page in PAGES if any(block.run for block in blocks(page))]
HELP = "\n".join(app[name].help for name in app)
COMMANDS = sorted({line for page in PAGES for line in commands(page.read_text(encoding="utf-8"))} | set(commands(HELP)))


REVIEWS = {"docs/own-rnn.md": 1_500}  # pages whose findings are checked want more


@pytest.fixture
def folder(request, tmp_path, monkeypatch):
    """Where a page is run: a csv file, a cache of its own, and fewer words to look at than a reader would take."""
    write_reviews(tmp_path / "reviews.csv", REVIEWS.get(request.node.callspec.id, 120))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(inspect.unwrap(analyze).__kwdefaults__, "top", 100)
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
    if page.name == "own-rnn.md":  # its network reads texts in which `not` and `never` flip and `very` doubles
        assert "\nnegators: ['not', 'never'" in told and "\nintensifiers: ['very'" in told


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_parse(line):
    words = shlex.split(line, comments=True)
    if words[0] == "rnnlens" and not words[1].isupper():
        assert words[1] in app
        known = {name for argument in app[words[1]].assemble_argument_collection() for name in argument.names}
        assert {word for word in words if word.startswith("--")} <= known | {"--help"}
        if not any(re.fullmatch("[A-Z]{2,}", word) for word in words):
            with suppress(MissingArgumentError):  # mentioned, not meant to be typed
                app.parse_args(words[1:], exit_on_error=False, print_error=False)


def test_the_site_builds_without_a_warning(tmp_path, capsys):
    build = pytest.importorskip("sphinx.cmd.build", reason="needs sphinx: pip install -e '.[docs]'")
    code = build.main(["-W", "--keep-going", "-q", str(ROOT / "docs"), str(tmp_path / "site")])
    assert code == 0, capsys.readouterr().err
    page = (tmp_path / "site/method.html").read_text(encoding="utf-8")
    assert "<math" in page and "https://cdn" not in page


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reviews")
    write_reviews(folder / "reviews.csv")
    return folder


def test_the_example_finds_modifiers(reviews, monkeypatch, capsys):
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
