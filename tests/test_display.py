"""Results show themselves in a notebook: what is worth knowing, and words stay words."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree
from zlib import crc32

import pytest
import torch
from handmade import Documents, handmade

import rnnlens
from rnnlens.cli import main
from rnnlens.common.display import cell_text
from rnnlens.common.files import write_json
from rnnlens.context import Probes, linear_quality, mode_removal, perturb, word_inputs
from rnnlens.context.perturbation import Reviews

EVIL = "<script>alert('x')</script>"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.open = set(), []

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags(html):
    parser = Tags()
    parser.feed(html)
    assert parser.open == []
    return parser.seen


@pytest.fixture(scope="module")
def analysis():
    """A network that calls one of its words a script."""
    network, _ = handmade()
    words = [EVIL if word == "not" else word for word in network.vocab.words]
    network.vocab = rnnlens.Vocab(words, network.vocab.counts)
    return rnnlens.analyze(network, probes=Probes(("great", "good"), ("awful", "bad")), rank=2, starts=200)


def test_every_result_shows_itself_and_escapes_words(analysis):
    network, line = analysis.network, analysis.line
    e = word_inputs(network, ["good", "bad"])
    h_mod = network.step(line.h_star, word_inputs(network, [EVIL])[0])
    ids = network.vocab.encode(["good", "bad", "very", "great"]).tolist()
    reviews = Reviews.of(Documents([ids, ids[::-1]], torch.tensor([1, 0]).numpy()), "cpu")
    perturbed = perturb(network, analysis.subspace, reviews, ranks=(1,), draws=lambda rank: 2)
    records = [
        analysis,
        analysis.points,
        line,
        line.modes,
        analysis.probes,
        analysis.modifiers,
        analysis.barcodes[EVIL],
        analysis.subspace,
        analysis.impulses[EVIL],
        analysis.impulses[EVIL].fit,
        analysis.timescales,
        analysis.bilinear,
        *analysis.edges,
        analysis.edges[1].modes,
        linear_quality(network, line.h_star.unsqueeze(0), e),
        mode_removal(network, h_mod, line.h_star, e),
        perturbed,
        perturbed.shuffled,
        analysis.location,
    ]
    assert len(records) == 20
    named = 0
    for record in records:
        html = record._repr_html_()
        allowed = {"b", "table", "tr", "td", "th"}
        assert tags(html) <= allowed and type(record).__name__ in html
        named += "&lt;script&gt;" in html
        assert "tensor(" not in repr(record), "a terminal shows facts, not matrices"
    assert named >= 5
    assert repr(line.modes).startswith(f"Modes(modes: {network.size}; ")


def test_numbers_in_it_are_the_records(analysis):
    html = analysis.barcodes[EVIL]._repr_html_()
    assert f"<td>{cell_text(analysis.barcodes[EVIL].share)}</td>" in html
    assert re.search(r"claims of the paper</td><td>\d+ of \d+ that were measured", analysis._repr_html_())
    assert f"{analysis.timescales.mean()[0]:.4g}" in analysis.timescales._repr_html_()


def test_every_figure_of_a_run_as_a_file(tmp_path, capsys):
    from rnnlens.runs import unpack

    run = unpack("reviews-gru", tmp_path / "run")

    def call(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(["figures", *map(str, arguments)])
        return stop.value.code, *capsys.readouterr()

    code, _, err = call(tmp_path / "run", "--format", "html")
    assert code == 1 and "rnnlens analyze" in err
    rnnlens.analyze(run, top=500).save()
    code, out, err = call(tmp_path / "run", "--format", "html", "--out", tmp_path / "figures")
    assert code == 0, err
    files = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert len(files) == 16 and "subspace.html" in files and "not drawn" not in out
    known = {name: value for name, value in run.results["accuracy"].items() if not isinstance(value, dict)}
    write_json(run.path / "results.json", {**run.results, "accuracy": known})
    assert "perturbation: not drawn" in call(tmp_path / "run", "--format", "html", "--out", tmp_path / "fewer")[1]
    code, _, err = call(tmp_path / "run", "--format", "gif")
    assert code == 2 and '"gif"' in err


def test_pictures_share_one_browser(tmp_path):
    pytest.importorskip("kaleido", reason="needs kaleido: pip install -e '.[images]'")
    from browser import chromium

    from rnnlens.figures import write_figure
    from rnnlens.figures.pictures import shared_browser

    chromium()
    figure = rnnlens.figures.reading({"one": [("not", 0.5), ("good", 1.0)]})
    with shared_browser():
        for kind in ("svg", "png", "pdf") * 2:  # the second of a kind replaces the first
            path = write_figure(figure, tmp_path / f"reading.{kind}")
            assert path.read_bytes()[:4] in (b"<svg", b"\x89PNG", b"%PDF")
    assert ElementTree.parse(tmp_path / "reading.svg").getroot().tag.endswith("svg")
    data, at = (tmp_path / "reading.png").read_bytes(), 8
    while at < len(data):  # the chunks: length, type, content, checksum
        end = at + 8 + int.from_bytes(data[at : at + 4], "big")
        assert crc32(data[at + 4 : end]) == int.from_bytes(data[end : end + 4], "big")
        at = end + 4
    pages = (tmp_path / "reading.pdf").read_bytes()
    start = int(pages[pages.rindex(b"startxref") :].split()[1])
    assert pages[start : start + 4] == b"xref"


def test_terms_of_the_pages_glossary_are_found_as_whole_words():
    from rnnlens.page.sections import explained

    assert "term-" not in explained("spreading non-subspace bathe line")
    found = explained("Removing the modifier subspace from the state, and `the state`, twice: state")
    assert found.count("term-subspace") == 1 and found.count("term-state") == 1 and "term-modifier" not in found
    assert "<code>the state</code>" in found


def test_percentages_have_no_negative_zero():
    from rnnlens.common.display import percent

    assert percent(-0.0001, 0) == "0 %" and percent(-0.126) == "−12.6 %"
