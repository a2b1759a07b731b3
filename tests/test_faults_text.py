"""Text in, text out: whatever words, files and terminals hold, nothing is run, lost or silently misread."""

import io
import re
import sys
from itertools import islice
from pathlib import Path

import handmade
import numpy as np
import polars as pl
import pytest
import torch
from browser import draw_all, opened

import rnnlens
from rnnlens import Network, RnnlensError, TrainConfig
from rnnlens.analysis.lexicon import read_lexicon
from rnnlens.analysis.verdict import Sentence
from rnnlens.baselines import ModifierConvolution
from rnnlens.baselines.explanation import Contribution, Explanation
from rnnlens.cli import main
from rnnlens.common.errors import RnnlensWarning
from rnnlens.common.files import read_json, read_tensors, write_json, write_tensors
from rnnlens.common.progress import progress_bar
from rnnlens.common.terminal import allow_any_text, printable, say, show, table_of
from rnnlens.context import Probes
from rnnlens.context.class_probes import ClassProbes
from rnnlens.corpora import Corpus, Vocab, prepare
from rnnlens.experiments.modifier_words import read_modifiers
from rnnlens.figures.pictures import picture, shared_browser
from rnnlens.figures.style import shown, write_figure
from rnnlens.page.drawing import drawing
from rnnlens.page.live import live, no_network
from rnnlens.page.render import joined, render
from rnnlens.page.sections import Example, Section, Story

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
FORMULAS = ["=1+1", "+1", "-1", "@sum", "\tx", "\rx", "＝1"]
WORDS = ["<unk>", "not", "very", "good", "great", "bad", "awful", f"red{ESCAPE}", "[red]", ":heart:", *FORMULAS]


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    """The smallest run, with hostile words, analyzed."""
    rng = np.random.default_rng(0)
    documents = [rng.integers(1, len(WORDS), 6).tolist() for _ in range(40)]
    labels = [i % 2 for i in range(40)]
    corpus = Corpus.from_ids(Vocab(WORDS, [9] * len(WORDS)), (documents, labels), validation=(documents, labels))
    path = tmp_path_factory.mktemp("text") / "run"
    found = rnnlens.train(
        Network(corpus.vocab, hidden=4, embedding=3), corpus, TrainConfig(epochs=1), path, progress=False
    )
    analysis = rnnlens.analyze(found)
    analysis.save()
    return analysis


@pytest.fixture(scope="module")
def run(analysis):
    """Its folder."""
    return analysis.run.path


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return stop.value.code or 0, said.out + said.err


def forge(path: Path, **changes):
    """Replace some of a JSON file's content; its fingerprint fits again."""
    before = path.read_bytes()
    write_json(path, {**read_json(path), **changes})
    return before


# --- what is printed --------------------------------------------------------------------------------------------------


def test_escape_codes_never_reach_the_terminal(run, capsys):
    about = read_json(run / "run.json")
    before = forge(run / "run.json", version=f"0{ESCAPE}", corpus={**about["corpus"], "source": f"s{ESCAPE}"})
    try:
        for command in (["info", run], ["probe", run, f"not {ESCAPE} bad"], ["analyze", run]):
            code, told = call(capsys, *command)
            assert code == 0 and "\x1b" not in told and "\x07" not in told
            assert command[0] != "info" or told.count("\\x1b") >= 4
    finally:
        (run / "run.json").write_bytes(before)
    assert "\x1b" not in call(capsys, "info", f"missing{ESCAPE}")[1]


def test_words_that_analyze_prints_are_escaped(tmp_path, monkeypatch, capsys):
    """The words of the verdict and of the table of modifiers, of a network that has clear ones."""
    hostile = {f"{word}{ESCAPE}": left for word, left in handmade.MODIFIERS.items()}
    monkeypatch.setattr(handmade, "MODIFIERS", hostile)
    network, _ = handmade.handmade()
    analysis = rnnlens.analyze(network, probes=Probes(("great", "good"), ("awful", "bad")), rank=2, starts=100)
    monkeypatch.setattr("rnnlens.analysis.analyze.analyze_command", lambda *_, **__: analysis)
    monkeypatch.setattr("rnnlens.page.report", lambda _: Path(rnnlens.__file__))
    monkeypatch.setenv("COLUMNS", "200")
    code, told = call(capsys, "analyze", "run")
    assert code == 0 and "\x1b" not in told and "\x07" not in told
    assert sum(rf"  {printable(word)}  " in told for word in hostile) >= 4  # the table
    assert any(line.startswith("- ") and r"\x1b" in line for line in told.splitlines())  # the verdict


def test_errors_warnings_and_reprs_escape_control_characters(analysis):
    assert str(RnnlensError(f"a{ESCAPE}\nb")) == "a\\x1b]0;owned\\x07\\x1b[31m\\nb"
    assert str(RnnlensWarning("\x9b31m")) == "\\x9b31m" and printable("a\nb", lines=True) == "a\nb"
    shown = [
        repr(Vocab([f"red{ESCAPE}"])),
        repr(Corpus(Vocab(["a"]), None, about={"source": ESCAPE})),  # type: ignore[arg-type]
        repr(analysis.modifiers),
        str(Explanation([Contribution(f"red{ESCAPE}", True, 1.0)], 0.0)),
        repr(rnnlens.attribute(analysis.network, analysis.line.h_star, [f"red{ESCAPE}"], analysis.probes, draws=2)),
    ]
    assert not any(text != printable(text, lines=True) for text in shown)


def test_markup_and_emoji_codes_in_words_stay_text(capsys):
    table = table_of("[bold]word", title="[red]title")
    table.add_row("[red]good[/red] :heart: [/]")
    show(table)
    told = capsys.readouterr().out
    assert "[bold]word" in told and "[red]title" in told and "[red]good[/red] :heart: [/]" in told


def test_notes_beside_a_progress_bar_are_plain_text(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "200")
    with progress_bar("[red]title", 1) as advance:
        advance(1, f"[blue]note{ESCAPE}")
    told = sys.stderr.getvalue()
    assert "[red]title" in told and "[blue]note" in told and "\x1b]0;" not in told


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_terminal_without_unicode_gets_substitutes_and_keeps_signs(run, monkeypatch, encoding):
    more = [["analyze", str(run)]] if encoding == "ascii" else []
    for command in (["probe", str(run), "not bad été"], ["--help"], *more):
        monkeypatch.setattr(sys, "stdout", stream := io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline=""))
        with pytest.raises(SystemExit) as stop:
            main(command)
        stream.flush()
        assert not stop.value.code and stream.buffer.getvalue()
    say("−1.5 … ✓ \udc80")
    stream.flush()
    expected = {"ascii": "-1.5 ... yes \\udc80", "cp1252": "-1.5 … yes \\udc80", "utf-8": "−1.5 … ✓ \\udc80"}[encoding]
    assert stream.buffer.getvalue().decode(encoding).endswith(expected + "\n")


@pytest.mark.parametrize("columns", [0, 1, 20, 40, 80])
def test_no_table_cuts_a_number_or_a_word_however_narrow_the_terminal(monkeypatch, capsys, columns):
    """rich cuts what has no room, so that +0.12 becomes +0.…, and two classes may look the same."""
    monkeypatch.setenv("COLUMNS", str(columns))
    table = table_of("word", "logit", "without modifiers", "class of a long name, A", "class of a long name, B", "")
    for word in ("not", "日本語", "y" * 50):
        table.add_row(word, "+0.12", "−0.34 ± 0.05", "19 %", "81 %", "█" * 20)
    show(table)
    told = capsys.readouterr().out
    assert told.count("+0.12") == told.count("−0.34") == told.count("81") == told.count("█" * 20) == 3
    assert "…" not in told and told.count("y") == 50 and "日本語" in told
    head = re.sub(r"[\s─]", "", told.split("+0.12")[0])
    assert head.count("A") == head.count("B") == 1  # the names of both classes, to their ends


def test_streams_that_cannot_be_reconfigured_are_left_alone():
    allow_any_text(io.StringIO())


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


# --- reading ----------------------------------------------------------------------------------------------------------


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
    with pytest.raises(RnnlensError, match=r"the vocabulary holds 'b\\udcff', which has half of a character"):
        Vocab(["a", "b\udcff"])
    write_json(tmp_path / "a.json", {"name of a file": "\udcff"})  # such as one that is not UTF-8
    assert read_json(tmp_path / "a.json") == {"name of a file": "\udcff"}


def test_lists_of_words_are_read_as_texts_are(tmp_path):
    """With capitals, curly apostrophes or a byte order mark, they named words that no text has."""
    texts, labels = ["don't like it", "like it", "not good", "good"] * 5, [0, 1, 0, 1] * 5
    (tmp_path / "list.txt").write_text("\ufeffDon’t\nNOT\n", encoding="utf-8")
    (tmp_path / "list.csv").write_text("\ufeffDon’t,negator\nNOT,-1\nkind_of,diminisher\n", encoding="utf-8")
    given = read_modifiers(tmp_path / "list.txt")
    model = ModifierConvolution(modifiers=given, min_count=1, epochs=1).fit(texts, labels)
    assert model.modifiers_["word"].sort().to_list() == ["don't", "not"]
    assert list(read_lexicon(tmp_path / "list.csv").values) == ["don't", "not", "kind of"]
    with pytest.warns(RnnlensWarning, match="the one modifier, 'niemals', is not a word of these texts"):
        ModifierConvolution(modifiers=["Niemals"], min_count=1, epochs=1).fit(texts, labels)


@pytest.mark.parametrize("odd", [None, 5, b"good", float("nan")])
def test_what_is_no_word_is_refused_wherever_words_are_given(odd):
    """None too, which was taken for “nothing is wrong”."""
    network = Network(["good", "bad"], hidden=2, embedding=2)
    for call in (
        lambda: network.read(words=["good", odd]),
        lambda: Vocab(["good", odd]),
        lambda: Network(["good"], hidden=2, embedding=2, classes=["anger", "fear", odd]),
        lambda: Probes(("good", odd), ("bad",)),
        lambda: ClassProbes({"anger": ["bad", odd], "joy": ["good"]}),
        lambda: ModifierConvolution(modifiers=["not", odd]).fit(["not good", "bad"], [0, 1]),
    ):
        told = rf"of type {type(odd).__name__}: expected|, {re.escape(repr(odd))}.*: expected .*at least one word"
        with pytest.raises(RnnlensError, match=told):
            call()


def test_a_text_of_mostly_unknown_words_is_told_of_in_one_line(run, capsys):
    network = rnnlens.load(run).network
    with pytest.warns(RnnlensWarning, match="2 of the 3 words of 'qwertz .* good' are unknown"):
        network.read("qwertz uiop good")
    code, told = call(capsys, "probe", run, "qwertz uiop")
    assert code == 0 and told.count("warning: 2 of the 2 words") == 1


# --- reviews and labels -----------------------------------------------------------------------------------------------


def prepared(tmp_path, content: str, **options):
    (tmp_path / "r.csv").write_text(content, encoding="utf-8")
    return prepare(tmp_path / "r.csv", tmp_path / "out", min_count=1, test=0, validation=0, **options)


def test_reviews_without_words_are_dropped_and_counted(tmp_path, capsys):
    corpus = prepared(tmp_path, 'text,label\ngood,1\nbad,0\n"   ",1\n"\t \n",0\n<br />,1\n\u200b\u200d,0\n,1\n')
    assert corpus.about["dropped"] == {"no class": 0, "no text": 1, "no words": 4} and len(corpus.train) == 2
    code, told = call(capsys, "prepare", tmp_path / "r.csv", "--out", tmp_path / "again", "--test", 0)
    assert code == 0 and "1 (no text), 4 (no words)" in told
    texts = Corpus.from_texts(["good", " ", "bad"], [1, 1, 0], validation=0)
    assert len(texts.train) == 2 and texts.about["dropped"] == {"no words": 1}


UNSPACED = {
    "剧情很无聊": ["剧情很无聊，演员太糟糕了。", "剧情 很 无聊 ， 演员 太 糟糕 了 。"],
    "おすすめしません": ["映画でした。おすすめしません。", "映画 でした 。 コンピューター も しません 。"],
    "หนังเรื่องนี้สนุกมาก": ["หนังเรื่องนี้สนุกมาก", "หนัง เรื่อง นี้ สนุก มาก"],
    "재미있었습니다": [None, "영화가 정말 재미있었습니다"],
}


@pytest.mark.parametrize(("word", "texts"), UNSPACED.items())
def test_texts_without_spaces_between_words_are_told_of(word, texts, recwarn):
    unspaced, spaced = texts
    if unspaced is not None:
        with pytest.warns(RnnlensWarning, match=f"no spaces between words: '{word}' is one word"):
            rnnlens.Corpus.from_texts([unspaced] * 40, [0, 1] * 20)
    rnnlens.Corpus.from_texts([spaced] * 40, [0, 1] * 20)
    assert not recwarn.list


def test_reviews_that_all_lack_words_are_refused(tmp_path):
    for content in ('text,label\n" ",1\n"\t",0\n', 'text,label\n" ",1\n" ",1\nbad,0\n'):
        with pytest.raises(RnnlensError, match=r"(has words|is left to train on): expected reviews .*with words"):
            prepared(tmp_path, content)


def test_texts_that_end_before_their_labels_are_refused(tmp_path, monkeypatch):
    """A damaged parquet file can end polars' batches without an error."""
    frame = pl.DataFrame({"text": ["good film", "bad film"] * 200, "label": [1, 0] * 200})
    frame.write_parquet(tmp_path / "r.parquet")
    collected = pl.LazyFrame.collect_batches
    monkeypatch.setattr(pl.LazyFrame, "collect_batches", lambda *a, **k: islice(collected(*a, **k), 1))
    monkeypatch.setattr("rnnlens.corpora.sources._BATCH_BYTES", 1)
    with pytest.raises(RnnlensError, match=r"r\.parquet.*400 labels, but only \d+ of its texts could be read"):
        prepare(tmp_path / "r.parquet", tmp_path / "out", min_count=1)
    assert not (tmp_path / "out").exists()


def test_reviews_without_words_are_not_trained_on(tmp_path):
    """In a corpus made from ids, or prepared by an earlier version, they may be all there is."""
    empty = ([[]] * 8, [0, 1] * 4)
    corpus = Corpus.from_ids(Vocab(["good", "bad"]), empty, validation=empty)
    with pytest.raises(RnnlensError, match="no training review has words"):
        rnnlens.train(Network(corpus.vocab, hidden=2, embedding=2), corpus, TrainConfig(epochs=1), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("label", ["1_0", "0_1", "1__0", "inf", "nan", "١", "0x1"])
def test_labels_that_only_python_takes_for_numbers_are_refused(tmp_path, label):
    with pytest.raises(RnnlensError, match="holds the label"):
        prepared(tmp_path, f"text,label\ngood,{label}\nbad,1\nfine,2\n")


@pytest.mark.parametrize("label", ["²", "１", "١", "1_0", "--1", "−1"])
def test_ordered_labels_that_are_no_plain_numbers_are_refused(tmp_path, label):
    """Their order would be that of their letters."""
    with pytest.raises(RnnlensError, match=f"the class '{label}' is not a whole number"):
        prepared(tmp_path, f"text,label\ngood,{label}\nbad,2\nfine,3\n", ordered=True)


def test_classes_are_numbered_by_size_if_they_are_plain_numbers(tmp_path):
    names = prepared(tmp_path, "text,label\na,10\nb,-2\nc,9\nd,1_0\n", classes=True).classes
    assert names == ("-2", "9", "10", "1_0")


@pytest.mark.parametrize("pair", [("Joy", "joy"), ("caf\u00e9", "cafe\u0301"), ("joy", "joy\u200b"), ("Ａ", "A")])
def test_classes_that_look_alike_are_told_of(tmp_path, capsys, pair):
    rows = f"text,label\na,{pair[0]}\nb,{pair[1]}\nc,fear\nd,anger\n"
    with pytest.warns(RnnlensWarning, match="which differ only in case or in how their characters are encoded"):
        assert len(prepared(tmp_path, rows).classes) == 4
    code, told = call(capsys, "prepare", tmp_path / "r.csv", "--out", tmp_path / "again", "--test", 0)
    assert code == 0 and told.count("warning: column 'label'") == 1
    with pytest.warns(RnnlensWarning, match="if they are one class, write them the same"):
        Corpus.from_texts(["a", "b", "c"], [*pair, "fear"], validation=0)


@pytest.mark.parametrize("name", ["\u200b", "\x00", "joy\ud800"])
def test_classes_that_no_reader_could_see_are_refused(name):
    with pytest.raises(RnnlensError, match=r"the class .* cannot be shown: expected a name of visible characters"):
        Network(["a", "b"], hidden=2, embedding=2, classes=["anger", "fear", name])


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        ("text,positive\ngood,1\nbad,0\n", {}),
        ("text,positive\ngood,1\nbad,0\n", {"label": "positive", "text": "text"}),
        ("text,positive\ngood,positive\nbad,negative\n", {}),
        ("words,positive\ngood,1\nbad,0\n", {}),
        ("good,1\nbad,0\n", {}),
        ("good,positive\nbad,neg\n", {}),
    ],
)
def test_a_column_named_positive_is_a_header_above_numbers_and_data_above_words(tmp_path, rows, options):
    corpus = prepared(tmp_path, rows, **options)
    words = corpus.vocab.decode(corpus.train.ids)
    assert dict(zip(words, corpus.train.labels.tolist(), strict=True)) == {"good": 1, "bad": 0}


def test_a_column_named_negative_is_refused(tmp_path):
    with pytest.raises(RnnlensError, match="1 may mean negative"):
        prepared(tmp_path, "text,negative\ngood,0\nbad,1\n")


def test_zero_between_minus_one_and_one_is_neutral_and_dropped(tmp_path):
    corpus = prepared(tmp_path, "text,label\ngood,1\nbad,-1\nmeh,0\n")
    assert corpus.about["dropped"]["no class"] == 1 and corpus.about["labels"] == "-1/0/1"
    assert sorted(corpus.train.labels.tolist()) == [0, 1] and "meh" not in corpus.vocab


# --- forged files: fingerprints that fit, content that does not -------------------------------------------------------

MISSING = object()


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (["warnings"], 5),
        (["probes"], MISSING),
        (["barcodes"], None),
        (["modifiers", "threshold"], "high"),
        (["timescales"], 5),
        (["toy"], {"claims": 5}),
        (["both_ways"], {"shown": "forwards"}),
        (["line_attractor", "explained_variance"], None),
        (["subspace", "explained_variance"], None),
    ],
)
def test_odd_results_are_one_line_that_names_the_file(run, tmp_path, capsys, where, value):
    content = inside = read_json(run / "results.json")
    for key in where[:-1]:
        inside = inside[key]
    if value is MISSING:
        del inside[where[-1]]
    else:
        inside[where[-1]] = value
    before = (run / "results.json").read_bytes()
    write_json(run / "results.json", content)
    try:
        code, told = call(capsys, "report", run, "--out", tmp_path / "r.html")
    finally:
        (run / "results.json").write_bytes(before)
    assert code == 1 and told.startswith("error: ") and "results.json" in told and told.count("\n") == 1
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize("table", [5, {"rows": 5}, {"rows": [5]}, {"rows": [{"title": "x"}]}, {}])
def test_an_odd_table_of_a_reproduction_is_one_line(tmp_path, capsys, table):
    write_json(tmp_path / "results.json", {"table": table})
    code, told = call(capsys, "report", tmp_path)
    assert code == 1 and told.startswith("error: ") and told.count("\n") == 1


@pytest.mark.parametrize(
    "change", [{"version": ["1"]}, {"version": 5}, {"corpus": {}}, {"corpus": {"fingerprint": 5}}, {"config": None}]
)
def test_an_odd_run_is_exported_in_one_line_or_not_at_all(run, tmp_path, capsys, change):
    before = forge(run / "run.json", **change)
    try:
        code, told = call(capsys, "export", run, "--to", tmp_path / "hub")
    finally:
        (run / "run.json").write_bytes(before)
    assert code == 1 and told.startswith("error: ") and "run.json" in told and told.count("\n") == 1
    assert not (tmp_path / "hub").exists()


@pytest.mark.parametrize("change", [{"columns": {"text": "text"}}, {"columns": 5}, {"rows": [1]}, {"dropped": "x"}])
def test_an_odd_corpus_is_described_in_one_line(tmp_path, capsys, change):
    folder = prepared(tmp_path, "text,label\ngood,1\nbad,0\n").path
    about = read_json(folder / "corpus.json")["about"]
    forge(folder / "corpus.json", about={**about, **change})
    code, told = call(capsys, "info", folder)
    assert code == 1 and told.count("\n") == 1 and "corpus.json" in told


def test_complex_weights_are_refused(run, capsys):
    path = run / "weights.safetensors"
    before, (tensors, about) = path.read_bytes(), read_tensors(path)
    mark = write_tensors(path, {**tensors, "E": tensors["E"].astype(np.complex64)}, about)
    named, content = (run / "run.json").read_bytes(), read_json(run / "run.json")
    write_json(run / "run.json", {**content, "provenance": {**content["provenance"], "weights": mark}})
    try:
        code, told = call(capsys, "probe", run, "not good")
    finally:
        path.write_bytes(before)
        (run / "run.json").write_bytes(named)
    assert code == 1 and "complex64" in told


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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_figures_of_a_page_show_words_as_they_are_in_either_theme(browser, tmp_path, theme):
    """In the dark theme, colors are replaced; `white` is a color, and also a word."""
    figure = rnnlens.figures.reading({word: [(word, 0.5 * k)] for k, word in enumerate(ODD)})
    figure.update_layout(height=900, showlegend=True)
    section = Section("a", "A", "", "", drawings=[drawing("reading", figure)])
    said = [Sentence("*a\u202eb* flips the next word.", "a")]  # a mark that would turn the rest of the line
    story = Story("A test", [], "", "logit", [], {"positive": [], "negative": []}, [], [section], verdict=said)
    (tmp_path / "page.html").write_bytes(render(story, no_network()).encode())
    with opened(browser, tmp_path / "page.html", color_scheme=theme) as page:
        draw_all(page)
        for part in (".textpoint text", ".legendtext"):
            assert page.locator(part).all_text_contents() == ODD, part
        assert page.evaluate("getComputedStyle(document.querySelector('#in-short em')).unicodeBidi") == "isolate"
        grey = page.evaluate("document.querySelector('.plot').data[0].line.color")
        assert grey == {"light": "#718096", "dark": "#93a1b5"}[theme]
        assert page.evaluate("window.pwned") is None and page.wrong == []


@pytest.mark.parametrize("width", [390, 1440])
def test_no_word_or_name_widens_the_page_or_turns_its_text(browser, tmp_path, width):
    """A run may be named by 200 letters, or hold a mark that turns all text after it: 57 % became % 75."""
    long, turned = "y" * 400, "run\u202e"
    network = Network(["<unk>", "good", "bad", long], hidden=8, embedding=4, seed=1)
    probes = {"positive": ["good"], "negative": ["bad"]}
    labeled = [Example(f"bad film {k}", "labeled negative, read rightly", True) for k in range(12)]
    section = Section("a", long, "", long, finding=long, table=[["word", "a"], [long, "1"]], folded=True)
    story = Story("A test", [turned, long, "57 %"], "", "logit", labeled, probes, [("a", turned, "57 %")], [section])
    text = render(story, live(network, {}, {}, probes), [long])
    assert "\u202e" not in text
    (tmp_path / "page.html").write_bytes(text.encode())
    with opened(browser, tmp_path / "page.html", f"#read=good+{long}+bad", width=width) as page:
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        assert "run\\u202e · " in page.locator(".byline").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(
            "document.querySelector('.words').scrollWidth <= document.querySelector('.words').clientWidth"
        )
        assert page.evaluate("rnnlens.read('good')")[0]["word"] == "good" and page.wrong == []


def test_a_text_of_any_length_is_drawn(browser):
    """The functions of JavaScript take about a hundred thousand arguments at most: Math.max(...logits) failed."""
    page = browser.new_page()
    page.add_script_tag(content=joined(("elements", "charts", "bothchart", "classchart")))
    draw = """n => {
        const words = Array(n).fill('good'), logits = Array.from({ length: n + 1 }, (_, t) => t % 7 - 3)
        const reading = { start: 0, length: n, adds: t => ({ forwards: logits[t], backwards: 1 }), gains: logits }
        const series = [{ name: 'a', look: 'a', words, logits, reading }]
        const places = placesOf(600, series)
        readingChart(places, series, 'logit', { above: 'up', below: 'down' }, () => {})
        gainChart(places, series, () => {})
        return [...reachOf([reading]), ...drawnClasses(logits.map(logit => Array(9).fill(logit)), 9)]
    }"""
    assert page.evaluate(draw, 200_000) == [-3 * 1.05, 4 * 1.05, 0, 1, 2, 3, 4, 5, 6]
    page.close()


def test_no_number_in_the_titles_of_panels_is_cut_on_a_phone(browser):
    """A title such as “extremely”: …, changes valence by −103 %, which is an annotation, ended within the number."""
    page = browser.new_page()
    page.add_script_tag(content=joined(("narrow",)))
    text = "<b>“extremely”</b>: no clear modifier, changes valence by −103 %"
    note = {"text": text, "x": 0, "xref": "x domain", "xanchor": "left"}
    figure = {"data": [], "layout": {"xaxis": {}, "yaxis": {}, "annotations": [note]}}
    read = "([figure, width]) => fitted(figure, 400, width).layout.annotations[0].text"
    assert page.evaluate(read, [figure, 366]) == text.replace("changes valence", "changes<br>valence")
    assert page.evaluate(read, [figure, 900]) == text
    page.close()


def test_no_name_in_a_legend_and_no_title_of_a_panel_is_cut_at_the_edge_of_its_figure(browser):
    """On a phone the end of the intensified review was cut; on a tablet that of "95.60 % unchanged"."""
    page = browser.new_page()
    page.add_script_tag(content=joined(("narrow",)))
    name = "intensified: “this movie is extremely awesome . i definitely like it .”"
    said = "threshold at the true share of positives: 95.60 % unchanged"
    title = {"text": said, "x": 0.75, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "center"}
    axes = {"xaxis": {"domain": [0, 0.5]}, "xaxis2": {"domain": [0.5, 1], "anchor": "y2"}, "yaxis": {}, "yaxis2": {}}
    figure = {"data": [{"name": name}, {"name": "short"}], "layout": {**axes, "annotations": [title]}}
    read = """([figure, width]) => {
        const { layout, height } = fitted(figure, 400, width)
        return [figure.data.map(trace => trace.name), layout.annotations[0].text, height]
    }"""
    names, _, tall = page.evaluate(read, [figure, 366])
    assert names == [name.replace(" awesome", "<br>awesome"), "short"]
    figure["data"][0]["name"] = "plain: “this movie is awesome . i do .”"
    assert page.evaluate(read, [figure, 366])[2] == tall - 15
    figure["data"][0]["name"] = name
    assert page.evaluate(read, [figure, 690]) == [[name, "short"], said.replace(" unch", "<br>unch"), 415]
    assert page.evaluate(read, [figure, 900]) == [[name, "short"], said, 400]
    page.close()


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
