"""Several networks in one page: each reads what torch reads, tables and figure show what was measured, words and names
stay text, and networks that cannot be compared are refused in one line."""

import pytest
import torch
from browser import axe, draw_all, opened, unfold
from handmade import handmade
from pages import write_reviews
from test_page import HOSTILE, sentences

import rnnlens
from rnnlens.analysis.claims import counted
from rnnlens.analysis.verdict import plain
from rnnlens.common.display import signed
from rnnlens.context import Probes

COMMON = ["<unk>", "not", "never", "very", "good", "great", "bad", "awful", "the", "film", "was", "don't", ".", "été"]
PROBES = Probes(("good", "great"), ("bad", "awful"))


def network_of(arch, words, seed=0, **more):
    """An untrained network, made livelier."""
    network = rnnlens.Network(words, arch=arch, hidden=14, embedding=8, seed=seed, **more)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(parameter + 0.15 * torch.randn(parameter.shape, generator=generator))
    return network.requires_grad_(False)


def analyzed(arch, words, seed=0, probes=PROBES):
    return rnnlens.analyze(network_of(arch, words, seed), probes=probes, rank=2, top=200, starts=60)


@pytest.fixture(scope="module")
def four():
    """Four architectures whose vocabularies overlap."""
    archs = ("gru", "lstm", "ugrnn", "vanilla")
    return [
        analyzed(arch, [*COMMON, *(f"w{i}" for i in range(10 * k, 10 * k + 30))], k) for k, arch in enumerate(archs)
    ]


@pytest.fixture(scope="module")
def page_of_four(four, tmp_path_factory):
    return rnnlens.report(four, tmp_path_factory.mktemp("four") / "comparison.html")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two analyzed runs on the same reviews, with hostile names and sources."""
    folder = tmp_path_factory.mktemp("runs")
    write_reviews(folder / "reviews.csv", 200)
    corpus = rnnlens.load_corpus(folder / "reviews.csv", min_count=1)
    names = ("<img src=x onerror=window.hacked=1>", 'b" onload="window.hacked=2')
    for seed, name in enumerate(names):
        network = rnnlens.Network(corpus.vocab, hidden=6, embedding=4, seed=seed)
        run = rnnlens.train(network, corpus, rnnlens.TrainConfig(epochs=1, seed=seed), folder / name)
        rnnlens.analyze(run, probes=Probes(("good", "fine"), ("bad", "awful")), rank=2, starts=60).save()
        accuracy = {"test": 0.9, "test_sources": {"<b>yelp</b>": {"accuracy": 0.5 + seed / 8, "n": 1_234}}}
        run.add_results(accuracy=accuracy)
    return [folder / name for name in names]


# --- the live networks ------------------------------------------------------------------------------------------------


def test_every_network_reads_what_torch_reads(browser, four, page_of_four):
    texts = sentences([*COMMON[1:], "w5", "w25", "w55"], n=60)
    with opened(browser, page_of_four) as page:
        for text, theirs in zip(texts, page.evaluate("texts => texts.map(rnnlens.read)", texts), strict=True):
            assert [one["name"] for one in theirs] == ["GRU", "LSTM", "UGRNN", "vanilla"]
            for analysis, found in zip(four, theirs, strict=True):
                ours = analysis.network.read(text)
                assert [one["word"] for one in found["words"]] == [word for word, _ in ours]
                assert max(abs(a["logit"] - b) for a, (_, b) in zip(found["words"], ours, strict=True)) < 1e-4
        assert page.wrong == []


def test_one_sentence_is_read_by_all_and_unknown_words_are_marked_for_each(browser, four, page_of_four):
    text = "The film was not good w5 w55"
    with opened(browser, page_of_four) as page:
        page.fill("#text", text)
        rows = page.locator(".reads-row")
        assert rows.count() == 4 and page.locator("#reading .line").count() == 4
        looks = page.evaluate(
            "[...document.querySelectorAll('#reading .line')].map(line => getComputedStyle(line)).map(style => "
            "style.stroke + style.strokeDasharray)"
        )
        assert len(set(looks)) == 4
        for k, analysis in enumerate(four):
            last = analysis.network.read(text)[-1][1]
            assert signed(last) in rows.nth(k).locator(".row-said").inner_text()
            assert signed(last) in page.locator("#verdict .total").nth(k).inner_text()
            words = rows.nth(k).locator(".word")
            assert words.count() == 7
            for word, place in (("w5", 5), ("w55", 6)):
                known = word in analysis.network.vocab
                assert ("unknown to the network" in words.nth(place).text_content()) != known
        rows.nth(1).locator(".word").nth(3).hover()
        focus = page.locator("#focus")
        assert focus.locator(".focus-word").inner_text() == "not"
        for k, analysis in enumerate(four):
            row = analysis.modifiers["not"]
            assert f"{signed(row['strength'])} ± {row['error']:.2f}" in focus.locator("tbody tr").nth(k).inner_text()
        rows.nth(0).locator(".word").nth(3).focus()
        page.keyboard.press("End")
        assert "unknown to the network" in focus.inner_text()
        page.wait_for_function("() => location.hash.startsWith('#read=')")
        fragment = "#" + page.url.split("#", 1)[1]
        page.fill("#text", "")
        assert page.locator(".word").count() == 0
        assert page.wrong == []
    with opened(browser, page_of_four, fragment) as page:
        assert page.input_value("#text") == text and page.locator(".word").count() == 28


# --- tables and figure ------------------------------------------------------------------------------------------------


def test_tables_show_what_was_measured(browser, four, page_of_four):
    with opened(browser, page_of_four) as page:
        unfold(page)
        cards = page.locator(".in-short")
        for k, analysis in enumerate(four):
            text = cards.nth(k).inner_text().replace("\u00a0", " ")
            assert all(plain(sentence.text).replace("`", "") in text for sentence in analysis.verdict)
            assert all(warning.replace("`", "") in text for warning in analysis.warnings)
        table = {
            row.locator("th").inner_text(): row.locator("td").all_inner_texts()
            for row in page.locator("#known tbody tr").all()
        }
        for word in ("not", "very", "the"):
            rows = [analysis.modifiers[word] for analysis in four]
            assert table[word][:4] == [f"{signed(row['strength'])} ± {row['error']:.2f}" for row in rows]
        assert table["not"][4] == "−1.10"  # what people say
        assert f"know {len(COMMON) - 1} words in common" in page.locator("#strengths .lead").inner_text()
        facts = page.locator("#facts tbody").inner_text()
        assert "a GRU, 14 units" in facts and "{} of {}".format(*counted(four[0].claims)) in facts
        claims = page.locator("#claims-table tbody tr")
        assert claims.count() == len(four[0].claims)
        for k, row in enumerate(claims.all()):
            for analysis, cell in zip(four, row.locator("td").all(), strict=True):
                claim, said = analysis.claims[k], cell.inner_text()
                words = {None: "not measured", True: "✓ shown", False: "✗ not shown"}
                assert (words[claim.shown] if claim.shown is None or not claim.unspecific else "unspecific") in said
        detail = page.locator("#claims-table .detail").first
        assert not detail.is_visible()
        page.check("#numbers")
        assert detail.is_visible() and page.wrong == []


# --- names and words --------------------------------------------------------------------------------------------------


def test_hostile_names_and_words_stay_text(browser, runs, tmp_path):
    words = [*HOSTILE, *COMMON]
    some = [analyzed("gru", words, seed, Probes((*HOSTILE[:3], "good"), (*HOSTILE[7:9], "bad"))) for seed in (0, 1)]
    for given in (runs, some):
        path = rnnlens.report(given, tmp_path / f"{len(list(tmp_path.iterdir()))}.html")
        with opened(browser, path) as page:
            unfold(page)
            draw_all(page)
            page.fill("#text", " ".join(words))
            for t in range(page.locator(".reads-row").first.locator(".word").count()):
                page.locator(".reads-row").first.locator(".word").nth(t).focus()
            if given is not some:
                assert runs[0].name in page.locator(".byline").inner_text()
                assert runs[1].name in page.locator("#reader").inner_text()
            assert page.evaluate("window.hacked") is None and page.wrong == []
            assert page.locator("script[src], img").count() == 0 and page.locator("[onload], [onerror]").count() == 0


@pytest.mark.parametrize(("width", "theme"), [(1440, "light")])
def test_nothing_overflows_and_axe_finds_nothing_serious(browser, page_of_four, width, theme):
    with opened(browser, page_of_four, width=width, color_scheme=theme, bypass_csp=True) as page:
        draw_all(page)
        page.fill("#text", "the film was not very good . " * 12)
        page.check("#numbers")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        outside = page.evaluate(
            "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, .examples, svg, .words') && "
            "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 90))"
        )
        assert outside == []
        page.fill("#text", "The film was not good")
        page.click("#theme")
        page.click("#theme")
        page.evaluate(axe())
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        assert [(one["id"], [node["html"][:120] for node in one["nodes"]][:3]) for one in serious] == []
        twice = "[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) < i)"
        assert page.evaluate(twice) == [] and page.wrong == []


# --- which networks ---------------------------------------------------------------------------------------------------


def test_a_network_that_cannot_run_here_stands_in_tables_and_figure(browser, four, tmp_path):
    network, _ = handmade()
    other = rnnlens.analyze(network, probes=Probes(("great", "good"), ("awful", "bad")), rank=2, starts=200)
    with opened(browser, rnnlens.report([four[0], other], tmp_path / "page.html")) as page:
        assert "this page cannot run" in page.locator("#live .note").inner_text()
        assert page.locator(".reads-row").count() == 1 and page.locator(".in-short").count() == 2
        unfold(page)
        draw_all(page)
        assert page.locator("#known thead .network .swatch").count() == 2
        words = page.evaluate("document.querySelector('.plot').data.flatMap(trace => trace.customdata ?? [])")
        assert {"not", "very"} <= set(words)
        page.evaluate("document.querySelector('.plot').emit('plotly_click', {points: [{customdata: 'very'}]})")
        assert page.input_value("#text") == "It was very good." and page.wrong == []


def of_classes(*names):
    """Analyses of different networks, each for one class."""
    classes = ["joy", "anger", "<b>fear"]
    networks = [network_of("gru", COMMON, seed, classes=classes).of_class(name) for seed, name in enumerate(names)]
    return [rnnlens.analyze(network, probes=PROBES, rank=2, starts=60) for network in networks]


def test_networks_of_several_classes_are_compared_on_one(browser, tmp_path):
    some = of_classes("<b>fear", "<b>fear")
    with opened(browser, rnnlens.report(some, tmp_path / "page.html")) as page:
        assert page.locator("h1").inner_text() == "Two networks side by side: the class '<b>fear'"
        assert "more evidence of the class '<b>fear'" in page.locator("#live .lead").inner_text()
        for analysis, found in zip(some, page.evaluate("rnnlens.read('not good')"), strict=True):
            assert found["words"][-1]["logit"] == pytest.approx(analysis.network.read("not good")[-1][1], abs=1e-4)
        assert page.wrong == []
