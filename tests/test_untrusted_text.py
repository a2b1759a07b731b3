"""Whatever words, files and terminals hold, none of it becomes markup, a terminal's code, a formula or a script, and
none of it is misread."""

import io
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from browser import opened
from tests import handmade
from tests.support.calls import command, refused

import rnnlens
from rnnlens import Network, RnnlensError, TrainConfig
from rnnlens.baselines.explanation import Contribution, Explanation
from rnnlens.cli import main
from rnnlens.common.errors import RnnlensWarning
from rnnlens.common.files import read_json, write_json
from rnnlens.common.progress import progress_bar
from rnnlens.common.terminal import printable, say, show, table_of
from rnnlens.context import Probes
from rnnlens.corpora import Corpus, Vocab
from rnnlens.figures.pictures import picture, shared_browser
from rnnlens.figures.style import shown, write_figure
from rnnlens.page.live import live
from rnnlens.page.render import render
from rnnlens.page.sections import Example, Story

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
FORMULAS = ["=1+1", "+1", "-1", "@sum", "\tx", "\rx", "＝1"]
WORDS = ["<unk>", "not", "very", "good", "great", "bad", "awful", f"red{ESCAPE}", "[red]", ":heart:", *FORMULAS]


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    """The smallest run, with hostile words, analyzed."""
    rng = np.random.default_rng(0)
    documents, labels = [rng.integers(1, len(WORDS), 6).tolist() for _ in range(40)], [i % 2 for i in range(40)]
    corpus = Corpus.from_ids(Vocab(WORDS, [9] * len(WORDS)), (documents, labels), validation=(documents, labels))
    network, out = Network(corpus.vocab, hidden=4, embedding=3), tmp_path_factory.mktemp("text") / "run"
    analysis = rnnlens.analyze(rnnlens.train(network, corpus, TrainConfig(epochs=1), out, progress=False))
    analysis.save()
    return analysis


# --- what is printed --------------------------------------------------------------------------------------------------


def test_escape_codes_never_reach_the_terminal(analysis):
    path = analysis.run.path
    before, about = (path / "run.json").read_bytes(), read_json(path / "run.json")
    corpus = {**about["corpus"], "source": f"s{ESCAPE}"}
    write_json(path / "run.json", {**about, "version": f"0{ESCAPE}", "corpus": corpus})
    try:
        for line in (["info", path], ["probe", path, f"not {ESCAPE} bad"]):
            code, out, err = command(*line)
            assert code == 0 and "\x1b" not in out + err and "\x07" not in out + err
            assert line[0] == "probe" or out.count("\\x1b") >= 4
    finally:
        (path / "run.json").write_bytes(before)
    assert "\x1b" not in command("info", f"missing{ESCAPE}")[2]


def test_words_that_analyze_prints_are_escaped(monkeypatch):
    """The words of the verdict and of the table of modifiers, of a network that has clear ones."""
    hostile = {f"{word}{ESCAPE}": left for word, left in handmade.MODIFIERS.items()}
    monkeypatch.setattr(handmade, "MODIFIERS", hostile)
    network, _ = handmade.handmade()
    analysis = rnnlens.analyze(network, probes=Probes(("great", "good"), ("awful", "bad")), rank=2, starts=100)
    monkeypatch.setattr("rnnlens.analysis.analyze.analyze_command", lambda *_, **__: analysis)
    monkeypatch.setattr("rnnlens.page.report", lambda _: Path(rnnlens.__file__))
    monkeypatch.setenv("COLUMNS", "200")
    code, out, err = command("analyze", "run")
    assert code == 0 and "\x1b" not in out + err and "\x07" not in out + err
    assert sum(rf"  {printable(word)}  " in out for word in hostile) >= 4  # the table
    assert any(line.startswith("- ") and r"\x1b" in line for line in out.splitlines())  # the verdict


def test_errors_warnings_and_reprs_escape_control_characters(analysis):
    assert str(RnnlensError(f"a{ESCAPE}\nb")) == "a\\x1b]0;owned\\x07\\x1b[31m\\nb"
    assert str(RnnlensWarning("\x9b31m")) == "\\x9b31m" and printable("a\nb", lines=True) == "a\nb"
    shown = [
        repr(Vocab([f"red{ESCAPE}"])),
        repr(Corpus(Vocab(["a"]), None, about={"source": ESCAPE})),
        repr(analysis.modifiers),
        str(Explanation([Contribution(f"red{ESCAPE}", True, 1.0)], 0.0)),
        repr(rnnlens.attribute(analysis.network, analysis.line.h_star, [f"red{ESCAPE}"], analysis.probes, draws=2)),
    ]
    assert not any(text != printable(text, lines=True) for text in shown)


def test_markup_and_emoji_codes_in_words_stay_text(capsys, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    table = table_of("[bold]word", title="[red]title")
    table.add_row("[red]good[/red] :heart: [/]")
    show(table)
    told = capsys.readouterr().out
    assert "[bold]word" in told and "[red]title" in told and "[red]good[/red] :heart: [/]" in told
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "200")
    with progress_bar("[red]title", 1) as advance:
        advance(1, f"[blue]note{ESCAPE}")
    told = sys.stderr.getvalue()
    assert "[red]title" in told and "[blue]note" in told and "\x1b]0;" not in told


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_terminal_without_unicode_gets_substitutes_and_keeps_signs(analysis, monkeypatch, encoding):
    monkeypatch.setattr(sys, "stdout", stream := io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline=""))
    with pytest.raises(SystemExit) as stop:
        main(["probe", str(analysis.run.path), "not bad été"])
    assert not stop.value.code
    say("−1.5 … ✓ \udc80")
    stream.flush()
    expected = {"ascii": "-1.5 ... yes \\udc80", "cp1252": "-1.5 … yes \\udc80", "utf-8": "−1.5 … ✓ \\udc80"}[encoding]
    assert stream.buffer.getvalue().decode(encoding).endswith(expected + "\n")


# --- tables and pictures ----------------------------------------------------------------------------------------------


def test_words_that_look_like_formulas_are_text_in_csv_files_and_as_they_are_in_parquet(analysis, tmp_path):
    words = analysis.modifiers
    table = pl.read_csv(words.write(tmp_path / "words.csv"))
    assert {f"'{word}" for word in FORMULAS} < set(table["word"].to_list())
    assert not any(word.startswith(tuple("=+-@\t\r＝")) for word in table["word"].to_list())
    assert table["valence"].dtype == pl.Float64 and (table["valence"] < 0).any()
    assert set(FORMULAS) < set(pl.read_parquet(words.write(tmp_path / "words.parquet"))["word"].to_list())


def test_pictures_are_drawn_with_local_scripts_alone(monkeypatch):
    kaleido = pytest.importorskip("kaleido", reason="needs kaleido: pip install -e '.[images]'")
    from choreographer.channels import Pipe

    given = []
    monkeypatch.setattr(kaleido, "calc_fig_sync", lambda figure, **how: given.append(how["kopts"]) or b"")
    monkeypatch.setattr(kaleido, "start_sync_server", lambda **how: given.append(how))
    monkeypatch.setattr(kaleido, "stop_sync_server", lambda **how: None)
    picture(rnnlens.figures.reading({"one": [("not", 0.5), ("$x$", 1.0)]}), "svg")
    with shared_browser():
        pass
    assert len(given) == 2
    for how in given:
        text = how["page_generator"].generate_index().lower()
        assert "plotly.min.js" in text and "http:" not in text and "https:" not in text and "mathjax" not in text
        started = how["browser_cls"](Pipe(), sys.executable)  # (any program: it is not run)
        started.pre_open()
        assert "--host-resolver-rules=MAP * ~NOTFOUND" in started.get_cli()  # the browser's own requests


ODD = ["constructor", "__proto__", "toString", "<b>x</b>", "&lt;", "%{x}", "%{meta.title}", "$x$", "white", "black",
       "#2b6cb0", "<script>pwned = 1</script>", "<a href='javascript:pwned=2'>x</a>", 'style="#2b6cb0"']  # fmt: skip


def test_a_drawn_figure_shows_words_as_they_are(browser, tmp_path):
    """Plotly would fill in %{…}, and MathJax, which notebooks have, would set $…$."""
    figure = rnnlens.figures.reading({word: [(word, 0.5 * k)] for k, word in enumerate(ODD)}, title="%{meta.title}")
    for k, word in enumerate(ODD):
        figure.add_annotation(x=1, y=k, text=shown(word))
    figure.update_layout(height=900, showlegend=True)
    page, wrong = browser.new_page(), []
    page.on("console", lambda said: wrong.append(said.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(write_figure(figure, tmp_path / "figure.html").as_uri())
    page.wait_for_selector(".legendtext")
    for part in (".textpoint text", ".annotation-text", ".legendtext"):
        assert page.locator(part).all_text_contents() == ODD, part
    assert page.locator(".gtitle").text_content() == "%{meta.title}"
    assert page.evaluate("window.pwned") is None and page.locator("svg a").count() == 0 and wrong == []
    page.close()


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_knows_every_word_counts_beyond_32_bits_and_saves_no_formulas(browser, tmp_path, monkeypatch):
    odd = [*ODD, *FORMULAS]
    monkeypatch.setattr(handmade, "NEUTRAL", [*odd, *(f"w{i}" for i in range(20))])
    network, _ = handmade.handmade()
    counts = [3_000_000_000 if word == "constructor" else 5 for word in network.vocab.words]
    network.vocab = Vocab(network.vocab.words, counts)
    probes = Probes(("great", "good"), ("awful", "bad"))
    path = rnnlens.report(rnnlens.analyze(network, probes=probes, rank=2, starts=100), tmp_path / "report.html")
    with opened(browser, path) as page:
        for word in odd:
            assert page.evaluate("word => rnnlens.card(word)", word)
            assert page.evaluate("document.getElementById('card-word').textContent") == word
        page.evaluate("rnnlens.card('constructor')")
        assert "3,000,000,000 times" in page.locator("#card").inner_text()
        page.keyboard.press("Escape")
        with page.expect_download() as saved:
            page.click("#csv")
        text = Path(saved.value.path()).read_bytes().decode()
        assert all(f'"\'{word}"' in text and f'"{word}"' not in text for word in FORMULAS)
        assert "3000000000" in text and ',"-' in text and page.wrong == []  # numbers keep their sign


# --- words as they are written ----------------------------------------------------------------------------------------


def test_the_page_of_a_cased_network_reads_what_torch_reads(browser, tmp_path):
    words = ["<unk>", "Not", "not", "Bad", "good", "don't", "bad", "I", "καλός", "Can’t"]
    network = Network(words, hidden=8, embedding=4, seed=1)
    arrays = {"h_star": torch.zeros(8), "line": torch.linspace(-1, 1, 16).reshape(2, 8)}
    probes = {"positive": ["good"], "negative": ["bad"]}
    story = Story("A test", [], "", "logit", [Example("Not Bad")], probes, [], [])
    (tmp_path / "page.html").write_bytes(render(story, live(network, arrays, {}, probes)).encode())
    with opened(browser, tmp_path / "page.html") as page:
        for text in ("Not Bad", "NOT bad GOOD", "I DO N'T <BR /> Know", "<PAD> Not <UNK>", "Can't be ΚΑΛΌΣ Καλός"):
            theirs = page.evaluate("text => rnnlens.read(text)", text)
            ours = network.read_words(network.vocab.split(text))
            assert [one["word"] for one in theirs] == [word for word, _ in ours]
            assert [one["logit"] for one in theirs] == pytest.approx([logit for _, logit in ours], abs=1e-5)


def test_a_cased_vocabulary_is_read_as_it_is_written(recwarn):
    words = ["<UNK>", "Not", "not", "Bad", "good", "I'm"]
    vocab = Vocab(words)
    assert vocab.cased and not Vocab(["<UNK>", "[PAD]", "not", "été"]).cased
    assert vocab.split("Not bad, NOT GOOD <BR/> i 'M <PAD>") == ["Not", "bad", ",", "not", "good", "i'm", "<pad>"]
    assert vocab.encode("Not Bad good Good").tolist() == [1, 3, 4, 4]
    network = Network(vocab, hidden=4, embedding=2)
    assert network.read("Not Bad") == network.read(words=["Not", "Bad"])
    assert Network(["not", "bad"], hidden=4, embedding=2).read("Not BAD")[-1][0] == "bad" and not recwarn.list


def test_words_of_an_own_list_that_splitting_writes_in_another_way_are_known():
    vocab = Vocab(["<unk>", "ήταν", "καλός", "می\u200cخواهم", "don’t", "can't", "can’t", "...", "-", "–"])
    text = "Ήταν ΚΑΛΌΣ, می\u200cخواهم don't can’t … –"
    words = ["ήταν", "καλός", ",", "می\u200cخواهم", "don’t", "can't", "...", "–"]
    assert vocab.split(text) == words and vocab.unknown(words) == [","]
    assert vocab.ids_of(Vocab(["καλόσ", "don't"])).tolist() == [2, 4]
    cased = Vocab(["<unk>", "Don’t", "don’t", "ΚΑΛΟΣ", "καλός"])
    assert cased.split("Don't DON'T ΚΑΛΟΣ Καλός") == ["Don’t", "don’t", "ΚΑΛΟΣ", "καλός"]


def test_words_that_no_file_can_hold_are_refused_at_once(tmp_path):
    refused(lambda: Vocab(["a", "b\udcff"]), "half of a character")
    write_json(tmp_path / "a.json", {"name of a file": "\udcff"})  # such as one that is not UTF-8
    assert read_json(tmp_path / "a.json") == {"name of a file": "\udcff"}
