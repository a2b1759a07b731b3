"""The page's dial in a real browser: it reads as `rnnlens.steer` does, and slider, keyboard, reset and link work."""

import pytest
import torch
from browser import opened
from test_page import WORDS, known_line, last, sentences, story

import rnnlens
from rnnlens.context import steer
from rnnlens.page.live import live
from rnnlens.page.render import render

GAINS = (0, 0.5, 1, 2)
TEXT = "It was not a very good film, but I liked it."


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The packaged network, analyzed, and its page."""
    analysis = rnnlens.analyze(rnnlens.load("zoo:reviews-gru"), top=1_000)
    return analysis, rnnlens.report(analysis, tmp_path_factory.mktemp("demo") / "report.html")


def check_readings(page, network, V, texts):
    for gain in GAINS:
        other = steer(network, V, gain)
        theirs = page.evaluate("([texts, gain]) => texts.map(text => rnnlens.read(text, {gain}))", [texts, gain])
        for text, found in zip(texts, theirs, strict=True):
            for one, (word, logit) in zip(found, other.read(text), strict=True):
                assert one["word"] == word and abs(one["logit"] - logit) < 1e-4, (gain, text)


def set_gain(page, gain):
    page.evaluate(
        """gain => {
          const slider = document.getElementById('gain')
          slider.value = gain
          slider.dispatchEvent(new Event('input', {bubbles: true}))
        }""",
        str(gain),
    )


def test_the_packaged_network_is_steered_as_torch_steers_it(browser, demo):
    analysis, path = demo
    texts = sentences(list(analysis.network.vocab.words[:4_000]), n=25, seed=1)
    with opened(browser, path) as page:
        check_readings(page, analysis.network, analysis.subspace, texts)
        assert page.wrong == []


@pytest.mark.parametrize("arch", ["lstm", "ugrnn", "vanilla"])
def test_other_architectures_are_steered_as_torch_steers_them(browser, tmp_path, arch):
    network = rnnlens.Network(WORDS, arch=arch, hidden=24, embedding=12, seed=1).requires_grad_(False)
    for parameter in network.parameters():  # livelier than an untrained one
        parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)))
    arrays, path = known_line(network), tmp_path / "page.html"
    path.write_bytes(render(story(), live(network, arrays, {}, story().probes)).encode())
    with opened(browser, path) as page:
        check_readings(page, network, arrays["subspace"], sentences(WORDS[1:], n=25))
        set_gain(page, 0.5)
        assert "this many times as much" in page.locator("#gain-hint").inner_text()  # nothing was measured
        assert page.wrong == []


def test_the_slider_the_keyboard_and_reset_turn_the_dial(browser, demo):
    analysis, path = demo
    network = analysis.network

    def expected(gain):
        return pytest.approx(steer(network, analysis.subspace, gain).read(TEXT)[-1][1], abs=1e-4)

    with opened(browser, path) as page:
        page.fill("#text-a", TEXT)
        for gain in GAINS:
            set_gain(page, gain)
            assert last(page) == expected(gain) and page.locator("#gain-value").inner_text() == f"{gain:.2f}"
            assert ("unchanged" in page.locator("#verdict").inner_text()) == (gain != 1)
            assert page.locator("#gain-reset").is_visible() == (gain != 1)
        page.click("#gain-reset")
        assert last(page) == expected(1) and not page.locator("#gain-said").is_visible()
        page.focus("#gain")
        page.keyboard.press("ArrowLeft")
        assert last(page) == expected(0.95) and page.locator("#gain-value").inner_text() == "0.95"
        page.keyboard.press("Home")
        assert last(page) == expected(0)
        page.locator("#gain").dblclick()
        assert last(page) == expected(1) and page.input_value("#gain") == "1"
        set_gain(page, 2)
        page.fill("#text-a", TEXT + " Not bad!")  # only new words are read again, at the same gain
        longer = steer(network, analysis.subspace, 2).read(TEXT + " Not bad!")[-1][1]
        assert last(page) == pytest.approx(longer, abs=1e-4)
        page.check("#off")  # without the subspace there is nothing to turn
        assert last(page) == pytest.approx(
            rnnlens.project_out(network, analysis.subspace).read(TEXT + " Not bad!")[-1][1], abs=1e-4
        )
        assert page.is_disabled("#gain") and not page.locator("#gain-said").is_visible()
        assert page.wrong == []


def test_a_link_keeps_the_gain_and_strange_ones_are_harmless(browser, demo):
    analysis, path = demo
    with opened(browser, path) as page:
        page.fill("#text-a", TEXT)
        set_gain(page, 0.35)
        page.click("#share")
        fragment = "#" + page.url.split("#", 1)[1]
        before = last(page)
    assert "gain=0.35" in fragment
    with opened(browser, path, fragment) as page:
        assert page.input_value("#gain") == "0.35" and last(page) == before
        strange = (("7", "2.00"), ("-1", "0.00"), ("x", "1.00"), ("", "1.00"), ("NaN", "1.00"), ("0.333", "0.35"))
        for k, (given, shown) in enumerate(strange):
            text = "not good " + k * "very "
            page.evaluate("hash => { location.hash = hash }", f"#read={text.replace(' ', '+')}&gain={given}")
            page.wait_for_function("text => document.getElementById('text-a').value === text", arg=text)
            assert page.locator("#gain-value").inner_text() == shown
            expected = steer(analysis.network, analysis.subspace, float(shown)).read(text)[-1][1]
            assert last(page) == pytest.approx(expected, abs=1e-4)
        assert page.wrong == []
