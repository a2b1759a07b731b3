"""The page in a real browser: the network inside it computes what torch does, every part does what it says, nothing is
asked of anyone, and words stay text."""

import random
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from browser import axe, draw_all, opened
from handmade import handmade

import rnnlens
from rnnlens.analysis.table import TITLES, table_results
from rnnlens.common.files import write_json
from rnnlens.context import Probes, project_out
from rnnlens.context.effects import effects
from rnnlens.context.strength import fading
from rnnlens.experiments.toy import study_toy
from rnnlens.networks import CELLS
from rnnlens.page.live import live
from rnnlens.page.render import render
from rnnlens.page.sections import Example, Story

HERE = Path(__file__).parent
HOSTILE = [
    "<script>window.hacked=1</script>", "</script><script>window.hacked=2</script>",
    "<img src=x onerror=window.hacked=3>", '"quoted"', "o'clock", "&amp;", "%{x}", "<!--", "__proto__", "constructor",
    "👍", "ليس", "שלום", "a\u202eb", "white",
]  # fmt: skip
WORDS = [
    "<unk>", "not", "very", "good", "great", "bad", "awful", "the", "film", "was", "don't", ".", ",", "!", "été", "👍",
]  # fmt: skip


def sentences(words, n=200, seed=0):
    """Texts with known and unknown words, pads, capitals, markup, Penn Treebank splits, odd spaces."""
    chance = random.Random(seed)
    odd = ["qwertz", "<pad>", "It 's", "DO n't", "<br />", "so—so", "…", "“yes”", "ΟΔΥΣΣΕΥΣ", "\xa0", "x\xady"]
    found = []
    for _ in range(n):
        some = [
            chance.choice(odd) if chance.random() < 0.15 else chance.choice(words) for _ in range(chance.randint(1, 30))
        ]
        found.append(" ".join(word.title() if chance.random() < 0.2 else word for word in some))
    return [text for text in found if rnnlens.corpora.words.split_words(text)]


def story(**more):
    given = {
        "title": "A test",
        "byline": [],
        "reads": "",
        "unit": "logit",
        "examples": [Example("not good")],
        "facts": [],
        "sections": [],
        "probes": {"positive": ["good", "great"], "negative": ["bad", "awful"]},
    }
    return Story(**{**given, **more})


def known_line(network, seed=0):
    """h*, a line and a subspace of a network that has none: any will do to compare computations."""
    generator = torch.Generator().manual_seed(seed)
    h = 0.3 * torch.randn(network.size, generator=generator)
    direction = torch.randn(network.size, generator=generator)
    line = (
        h + torch.linspace(-1, 1, 9).unsqueeze(1) * direction + 0.05 * torch.randn(9, network.size, generator=generator)
    )
    V = torch.linalg.qr(torch.randn(network.size, 3, generator=generator))[0].t().contiguous()
    return {"h_star": h, "line": line, "subspace": V}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The packaged network, analyzed, and its page."""
    analysis = rnnlens.analyze(rnnlens.load("zoo:reviews-gru"), top=3_000)
    return analysis, rnnlens.report(analysis, tmp_path_factory.mktemp("demo") / "report.html")


# --- the network in the page ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", CELLS)
def test_the_page_reads_what_torch_reads(browser, tmp_path, arch):
    network = rnnlens.Network(WORDS, arch=arch, hidden=48, embedding=24, seed=1)
    with torch.no_grad():
        for parameter in network.parameters():  # livelier than an untrained one
            parameter.copy_(parameter + 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)))
    arrays = known_line(network)
    path = tmp_path / "page.html"
    path.write_bytes(render(story(), live(network, arrays, {}, story().probes)).encode())
    quiet = project_out(network, arrays["subspace"], arrays["h_star"])
    texts = sentences(WORDS[1:])
    assert len(texts) >= 195
    with opened(browser, path) as page:
        for options, reads in (
            ({}, network.read),
            ({"off": True}, quiet.read),
            ({"pads": True}, lambda text: network.read(words=[*(w for w, _ in network.read(text)), *["<pad>"] * 50])),
        ):
            theirs = page.evaluate("([texts, how]) => texts.map(text => rnnlens.read(text, how))", [texts, options])
            for text, found in zip(texts, theirs, strict=True):
                ours = reads(text)
                assert [one["word"] for one in found] == [word for word, _ in ours], text
                assert max(abs(a["logit"] - b) for a, (_, b) in zip(found, ours, strict=True)) < 1e-4, text
        assert page.wrong == []


def test_the_packaged_network_reads_the_same_in_its_page(browser, demo):
    analysis, path = demo
    texts = sentences(list(analysis.network.vocab.words[:4_000]), seed=1)
    quiet = project_out(analysis.network, analysis.subspace)
    with opened(browser, path) as page:
        for network, options in ((analysis.network, {}), (quiet, {"off": True})):
            theirs = page.evaluate("([texts, how]) => texts.map(text => rnnlens.read(text, how))", [texts, options])
            for text, found in zip(texts, theirs, strict=True):
                for one, (word, logit) in zip(found, network.read(text), strict=True):
                    assert one["word"] == word and abs(one["logit"] - logit) < 1e-4, text
        unknown = {one["word"]: one["known"] for one in page.evaluate("rnnlens.read('a qwertzuiop <pad> film')")}
        assert unknown == {"a": True, "qwertzuiop": False, "<pad>": True, "film": True}


@pytest.mark.parametrize("arch", CELLS)
def test_strengths_and_their_fading_in_the_page_are_those_of_the_analysis(browser, tmp_path, arch):
    network = rnnlens.Network(WORDS, arch=arch, hidden=20, embedding=8, seed=3).requires_grad_(False)
    arrays, probes = known_line(network), Probes(("good", "great"), ("bad", "awful"))
    path = tmp_path / "page.html"
    path.write_bytes(render(story(), live(network, arrays, {}, story().probes)).encode())
    h, e = arrays["h_star"], probes.inputs(network)
    line = SimpleNamespace(h_star=h)
    with opened(browser, path) as page:
        for word in ("not", "very", "the"):
            found = page.evaluate("word => rnnlens.word(word)", word)
            after = network.step(h, network.E[network.vocab.index[word]])
            change = effects(network, after, e) - effects(network, h, e)
            assert found["barcode"]["positive"] + found["barcode"]["negative"] == pytest.approx(
                change.tolist(), abs=1e-5
            )
            strength = probes.contrast(effects(network, after, e)) / probes.contrast(effects(network, h, e)) - 1
            assert found["barcode"]["share"] == pytest.approx(float(strength), rel=1e-3, abs=1e-4)
            fades = fading(network, line, after.unsqueeze(0), probes)[0]
            assert found["fade"]["strength"] == pytest.approx(fades.tolist(), rel=1e-3, abs=1e-3)
            assert found["at"] == pytest.approx(((after - h) @ arrays["subspace"].t()).tolist(), abs=1e-5)


def test_a_words_card_says_what_the_analysis_found(browser, demo):
    analysis, path = demo
    with opened(browser, path) as page:
        for word in ("not", "very", "the"):
            found, row = page.evaluate("word => rnnlens.word(word)", word), analysis.modifiers[word]
            assert found["barcode"]["share"] == pytest.approx(row["strength"], abs=1e-4)
            assert row["tau"] is None or found["fade"]["tau"] == pytest.approx(row["tau"], rel=0.02)
        page.evaluate("rnnlens.card('not')")
        card = page.locator("#card")
        text = card.inner_text()
        row = analysis.modifiers["not"]
        assert "a negator" in text and f"rank {analysis.modifiers.rank('not')} of 3,000" in text
        assert f"{row['strength']:+.2f} ± {row['error']:.2f}".replace("-", "−") in text
        assert f"{row['count']:,} times" in text
        near = page.evaluate("rnnlens.nearest('not', 5)")
        at = analysis.subspace.project(analysis.modifiers.h_mod)
        strongest = analysis.modifiers.order[:300].tolist()
        here = analysis.modifiers.row("not")
        order = sorted((i for i in strongest if i != here), key=lambda i: float((at[i] - at[here]).norm()))
        assert near == [analysis.modifiers.words[i] for i in order[:5]]
        card.get_by_role("button", name=near[0], exact=False).first.click()
        assert page.locator("#card-word").inner_text() == near[0]
        page.keyboard.press("Escape")
        assert not card.is_visible() and page.wrong == []


# --- the live part ----------------------------------------------------------------------------------------------------


def last(page, name="a"):
    return page.evaluate("name => rnnlens.shown()[name].reading.logits.at(-1)", name)


def test_typing_and_every_switch_change_what_they_should(browser, demo):
    analysis, path = demo
    network, text = analysis.network, "It was not a very good film, but I liked it."
    read = network.read(text)
    with opened(browser, path) as page:
        page.fill("#text-a", text)
        assert last(page) == pytest.approx(read[-1][1], abs=1e-4)
        words = page.locator("#words-a .word")
        assert [words.nth(i).locator(".name").inner_text() for i in range(words.count())] == [w for w, _ in read]
        said = f"{read[-1][1]:+.2f}".replace("-", "−")
        assert said in page.locator("#verdict").inner_text()
        page.check("#off")
        assert last(page) == pytest.approx(project_out(network, analysis.subspace).read(text)[-1][1], abs=1e-4)
        assert "unchanged" in page.locator("#verdict").inner_text() and said in page.locator("#verdict").inner_text()
        page.uncheck("#off")
        page.check("#pads")
        padded = network.read(words=[*(w for w, _ in read), *["<pad>"] * 50])
        assert (
            last(page) == pytest.approx(padded[-1][1], abs=1e-4)
            and "50 blank inputs" in page.locator("#words-a").inner_text()
        )
        page.uncheck("#pads")
        page.check("#shuffle")
        order = page.evaluate("rnnlens.shown().a.tokens.map(token => token.word)")
        assert sorted(order) == sorted(w for w, _ in read) and order != [w for w, _ in read]
        assert last(page) == pytest.approx(network.read(words=order)[-1][1], abs=1e-4)
        page.click("#again")
        assert page.evaluate("rnnlens.shown().a.tokens.map(token => token.word)") != order
        page.uncheck("#shuffle")
        assert last(page) == pytest.approx(read[-1][1], abs=1e-4)
        page.fill("#text-a", "")
        assert "Nothing read yet" in page.locator("#verdict").inner_text()
        assert page.wrong == []


def test_two_sentences_side_by_side_and_a_link_that_keeps_them(browser, demo):
    analysis, path = demo
    with opened(browser, path) as page:
        page.fill("#text-a", "not & <b>bad</b> 👍")
        page.click("#compare")
        page.fill("#text-b", "very bad")
        page.check("#off")
        quiet = project_out(analysis.network, analysis.subspace)
        assert last(page, "b") == pytest.approx(quiet.read("very bad")[-1][1], abs=1e-4)
        assert "first" in page.locator("#verdict").inner_text() and "second" in page.locator("#verdict").inner_text()
        page.click("#share")
        url, before = page.url, (last(page, "a"), last(page, "b"))
        page.click("#compare")
        assert page.evaluate("rnnlens.shown().b === undefined")
    with opened(browser, path, "#" + url.split("#", 1)[1]) as page:
        assert page.input_value("#text-a") == "not & <b>bad</b> 👍" and page.input_value("#text-b") == "very bad"
        assert page.is_checked("#off") and (last(page, "a"), last(page, "b")) == before
        assert page.wrong == []


def test_arcs_show_what_a_modifier_does_to_a_later_word(browser, demo):
    analysis, path = demo
    network, text = analysis.network, "it was not good"
    words, states = network.vocab.split(text), [network.h0]
    with torch.no_grad():
        inputs = [network.E[network.vocab.index[word]] for word in words]
        for e in inputs:
            states.append(network.step(states[-1], e))
        blank = network.step(states[2])  # in place of `not`
        alone, after = (float(effects(network, h, inputs[3].unsqueeze(0))) for h in (blank, states[3]))
    with opened(browser, path) as page:
        page.fill("#text-a", text)
        arc = page.locator("#arcs-a .arc[data-from='2'][data-to='3']")
        arc.wait_for()
        told = f"not changes good by {after / alone - 1:+.2f}: it adds {after:+.2f} instead of {alone:+.2f}"
        assert arc.get_attribute("aria-label") == told.replace("-", "−")
        assert page.locator("#words-a .name").nth(3).get_attribute("data-modified") == "negator"
        arc.focus()  # by keyboard as by pointer
        assert page.locator(".focus-word").inner_text() == "good"
        assert "not changes it here by" in page.locator("#focus").inner_text()
        page.fill("#text-a", "<img src=x onerror=window.hacked=3> qwertzuiop")
        page.wait_for_function("document.querySelectorAll('#arcs-a .arc').length === 0")
        assert page.evaluate("window.hacked") is None and page.wrong == []


# --- the table --------------------------------------------------------------------------------------------------------


def test_the_table_sorts_searches_and_stays_quick(browser, demo):
    analysis, path = demo
    with opened(browser, path) as page:

        def first(n=3):
            return page.evaluate(
                "n => [...document.querySelectorAll('#rows tbody bdi')].slice(0, n).map(w => w.textContent)", n
            )

        rows = page.locator("#rows tbody tr")
        assert first() == analysis.modifiers.strongest(3) and rows.count() == 100
        page.get_by_role("button", name="seen", exact=False).click()
        counts = analysis.modifiers.counts
        assert first(2) == [analysis.modifiers.words[i] for i in counts.argsort(descending=True)[:2].tolist()]
        assert page.locator("#rows th[aria-sort=descending]").inner_text().startswith("seen")
        for typed in ("n't", "N’T"):
            page.fill("#search", typed)
            assert all("n't" in word for word in first(10)) and rows.count() > 10
        page.fill("#search", "")
        page.select_option("#kind", "negator")
        assert "negator" in rows.nth(0).inner_text()
        page.select_option("#kind", "")
        page.fill("#search", "qqqqq")
        assert "No word matches" in page.locator("#found").inner_text() and rows.count() == 0
        page.fill("#search", "")
        page.click("#more")
        assert rows.count() == 200
        rows.nth(0).get_by_role("button").click()
        assert page.locator("#card").is_visible()
        page.keyboard.press("Escape")
        with page.expect_download() as download:
            page.click("#csv")
        saved = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
        assert saved[0].startswith('"word","kind","strength"') and len(saved) == 3_001 and page.wrong == []


# --- all sizes, both themes, everyone ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "theme"), [(390, "dark")])
def test_nothing_overflows_nobody_is_asked_and_axe_finds_nothing_serious(browser, demo, width, theme):
    _, path = demo
    with opened(browser, path, width=width, color_scheme=theme, bypass_csp=True) as page:
        draw_all(page)
        page.fill("#text-a", "a " * 300)
        page.click("#compare")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        outside = page.evaluate(
            "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, .examples, svg, .words') && "
            "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 90))"
        )
        assert outside == [] and page.wrong == []

        def is_dark():
            return page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 20, 25)"

        assert is_dark() == (theme == "dark")
        page.click("#theme")
        assert is_dark() != (theme == "dark")
        page.wait_for_timeout(300)
        page.click("#theme")
        page.fill("#text-a", "not good")
        assert page.wrong == [] and is_dark() == (theme == "dark")
        script = axe()
        for prepare in ("0", "rnnlens.card('not')"):
            page.evaluate(prepare)
            page.evaluate(script)
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
            serious = [
                (one["id"], [node["html"][:120] for node in one["nodes"]][:3])
                for one in found
                if one["impact"] in ("serious", "critical")
            ]
            assert serious == []


def test_a_strict_policy_holds(browser, demo):
    _, path = demo
    with opened(browser, path) as page:
        page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked = 1\">')")
        page.evaluate(
            "document.head.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 2'}))"
        )
        page.wait_for_timeout(200)
        assert page.evaluate("window.hacked") is None
        assert page.wrong and all("Content Security Policy" in line for line in page.wrong), page.wrong


# --- other networks ---------------------------------------------------------------------------------------------------


def test_hostile_words_stay_text(browser, tmp_path):
    words = [*HOSTILE, "not", "very", "good", "bad", *(f"w{i}" for i in range(90_000 - 19))]
    torch.manual_seed(0)
    network = rnnlens.from_torch(torch.nn.GRU(4, 10), torch.nn.Embedding(len(words), 4), torch.nn.Linear(10, 1), words)
    probes = Probes(tuple(HOSTILE[:7]) + ("good",), tuple(HOSTILE[7:14]) + ("bad",))
    analysis = rnnlens.analyze(network, probes=probes, top=400, starts=100)
    path = rnnlens.report(analysis, tmp_path / "report.html")
    assert path.stat().st_size < 12e6
    with opened(browser, path) as page:
        draw_all(page)
        page.fill("#text-a", " ".join(HOSTILE))
        for word in HOSTILE:
            page.fill("#search", word.lower())
            assert word in page.evaluate("[...document.querySelectorAll('#rows tbody bdi')].map(w => w.textContent)")
            assert page.evaluate("word => rnnlens.card(word)", word)
            assert page.evaluate("document.getElementById('card-word').textContent") == word
            page.keyboard.press("Escape")
        assert page.evaluate("window.hacked") is None and page.evaluate("rnnlens.read('constructor')")[0]["known"]
        assert page.wrong == [] and page.locator("script[src], img").count() == 0


def test_a_page_may_carry_fewer_words_and_says_so(browser, tmp_path):
    words = ["<unk>", "not", "very", "good", "great", "bad", "awful", *(f"w{i}" for i in range(500))]
    vocab = rnnlens.Vocab(words, list(range(len(words), 0, -1)))
    network = rnnlens.Network(vocab, hidden=8, embedding=4)
    path = tmp_path / "page.html"
    carried = live(network, known_line(network), {}, story().probes, words=10)
    assert (carried.words, carried.of) == (10, len(words)) and live(network, {}, {}, story().probes).words == len(words)
    path.write_bytes(render(story(), carried).encode())
    with opened(browser, path) as page:
        assert "carries its 10 most frequent words" in page.locator(".byline").inner_text()
        found = page.evaluate("rnnlens.read('not w400 w2')")
        assert [one["known"] for one in found] == [True, False, True]
        assert found[-1]["logit"] == pytest.approx(network.read(words=["not", "<unk>", "w2"])[-1][1], abs=1e-5)
        page.fill("#text-a", "w400")
        assert "not carried by this page" in page.locator("#words-a .word").text_content()


def test_networks_that_cannot_run_here_get_their_page_all_the_same(browser, tmp_path):
    network, _ = handmade()
    probes = Probes(("great", "good"), ("awful", "bad"))
    path = rnnlens.report(rnnlens.analyze(network, probes=probes, rank=2, starts=200), tmp_path / "report.html")
    with opened(browser, path) as page:
        assert "this page cannot run" in page.locator("#live").inner_text() and page.locator("#text-a").count() == 0
        draw_all(page)
        assert page.evaluate("rnnlens.read('not good')") is None
        page.evaluate("rnnlens.card('not')")
        card = page.locator("#card")
        assert "a negator" in card.inner_text() and card.locator("svg").count() == 2
        assert page.locator("#rows tbody tr").count() > 30 and page.wrong == []


def test_toy_runs_have_their_own_page(browser, tmp_path):
    shutil.copytree(HERE / "data" / "toy-gru", tmp_path / "run")
    run = rnnlens.load(tmp_path / "run")
    study_toy(run, starts=500, progress=False)
    path = rnnlens.report(run)
    with opened(browser, path, width=390) as page:
        for phrase in ("good", "extremely good", "not good", "not the the the the good", "not <pad> bad"):
            found = page.evaluate("text => rnnlens.read(text)", phrase)
            assert found[-1]["logit"] == pytest.approx(run.network.read(phrase)[-1][1], abs=1e-4)
        assert page.evaluate("rnnlens.word('not').barcode.kind") == "negator"
        assert not page.locator("#off").is_visible() and page.locator(".claims .badge").count() == len(
            run.results["toy"]["claims"]
        )
        assert draw_all(page) == 8 and page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.wrong == []


def test_a_reproduction_has_its_page_with_and_without_a_network(browser, tmp_path):
    right = np.random.default_rng(0).random((10, 3, 500))
    answers = {model: right[k] < 0.85 + 0.01 * k for k, model in enumerate(TITLES)}
    one = {"difference": -0.04, "accuracy": 0.86, "before": 0.9, "interval": [-0.05, -0.03]}
    phrases = [{"not bad": 0.5, "bad": -1.0}, {"not bad": 0.7, "bad": -1.2}]
    results = {
        "table": table_results(answers, "imdb"),
        "architectures": {arch: {"shuffled": [one, one], "phrases": phrases} for arch in ("gru", "lstm")},
    }
    write_json(tmp_path / "results.json", results)
    shutil.copytree(HERE / "data" / "toy-gru", tmp_path / "more" / "gru" / "0")
    shutil.copy(tmp_path / "results.json", tmp_path / "more" / "results.json")
    for folder in (tmp_path, tmp_path / "more"):
        with opened(browser, rnnlens.report(folder)) as page:
            assert draw_all(page) == 2
            table = page.locator("#table table").inner_text()
            assert "CoMW + β_mod + β_BOD + β_EOD" in table and "90.75 %" in table
            row = next(row for row in results["table"]["rows"] if row["model"] == "gru")
            assert f"{100 * row['accuracy']:.2f} %" in table and f"{100 * row['interval'][0]:.2f} %" in table
            assert "−4.00" in page.locator("#architectures table").inner_text()
            assert "+0.60" in page.locator("#architectures table").inner_text()
            twice = "[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) < i)"
            assert page.evaluate(twice) == []
            reads = page.evaluate("rnnlens.read('not good')")
            assert (reads is None) == (folder == tmp_path) and page.wrong == []
