"""The film in the page, in a real browser: it plays, it can be used without a mouse, motion or script, and words stay
text."""

import dataclasses
import math
from contextlib import contextmanager

import pytest
from browser import axe, opened
from test_film import WORDS, snapshots_of
from test_page import HOSTILE, story

import rnnlens
from rnnlens.page.film import film_data, film_section
from rnnlens.page.live import live
from rnnlens.page.render import render
from rnnlens.runs.snapshot import LineFacts, SlowPoints, SubspaceFacts, WordStrength

N = 9  # snapshots


def filmed(words=("not", "very", "the"), texts=("good", "not good")):
    """A film by hand, in which slow points stretch to a line."""
    film = snapshots_of([-0.2 * k for k in range(N)], [0.5 + 0.05 * k for k in range(N)])
    shots = []
    for k, at in enumerate(film):
        logits = tuple(k * (i - 2) / 2 for i in range(5))
        points = SlowPoints(5, 5, logits, logits, tuple(0.1 * logit**2 for logit in logits), 0.9)
        line = LineFacts(0.5 + 0.05 * k, 0.5, (-k, k), 0.9, 0.0, 0.8, 100, "slow points")
        strengths = {word: WordStrength(0.2 * k * math.cos(i), 0.1, 0.0) for i, word in enumerate(words)}
        readings = {text: k * (i - 0.5) for i, text in enumerate(texts)}
        shots.append(dataclasses.replace(at, words=strengths, readings=readings, points=points, line=line,
                                         subspace=SubspaceFacts((0.5, 0.3), 1 + 0j, k / 8)))  # fmt: skip
    shots[0] = dataclasses.replace(shots[0], words={}, points=None, line=None, subspace=None)
    return dataclasses.replace(film, snapshots=tuple(shots))


@contextmanager
def film_opened(browser, path, **how):
    """The page with the section of the film unfolded, and its charts drawn."""
    with opened(browser, path, "#film", **how) as page:
        page.wait_for_selector("#film-charts svg.own")
        yield page


def page_of(film, path):
    network = rnnlens.Network(["<unk>", *WORDS, "great", "awful"], hidden=6, embedding=3)
    told = story(sections=[film_section(film)], film=film_data(film))
    path.write_bytes(render(told, live(network, {}, {}, told.probes)).encode("utf-8", "replace"))
    return path


def test_the_film_plays_and_follows_the_keyboard(browser, tmp_path):
    film = filmed()
    with film_opened(browser, page_of(film, tmp_path / "page.html")) as page:
        slider, said, dots = page.locator("#film-step"), page.locator("#film-at"), page.locator("#film-charts .dot")
        assert said.inner_text() == "step 80" and dots.count() == 5
        assert page.locator("#film-charts svg.own").count() == 3
        slider.focus()
        page.keyboard.press("ArrowLeft")
        assert said.inner_text() == "step 70" and slider.get_attribute("aria-valuetext") == "step 70"
        cells = page.locator("#film-charts td").all_inner_texts()
        assert cells == ["−3.50", "+3.50"]
        page.keyboard.press("Home")
        assert said.inner_text() == "step 0" and dots.count() == 0  # the first has no slow points
        assert "0 slow points." in page.locator("#film-charts figcaption").nth(2).inner_text()
        button = page.locator("#film-play")
        button.press("Enter")
        assert button.inner_text() == "Pause"
        page.wait_for_function("() => rnnlens.film.shown() >= 2")
        button.press("Space")
        assert button.inner_text() == "Play" and page.evaluate("rnnlens.film.playing()") is False
        page.evaluate(f"rnnlens.film.show({N - 2})")
        button.click()
        page.wait_for_function("() => !rnnlens.film.playing()")  # it ends with the last snapshot
        assert said.inner_text() == "step 80" and page.wrong == []


@pytest.mark.parametrize("width", [390, 1440])
def test_the_film_fits_and_is_accessible(browser, tmp_path, width):
    with film_opened(browser, page_of(filmed(), tmp_path / "page.html"), width=width) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.evaluate(axe())
        found = page.evaluate("axe.run('#film')")["violations"]
        assert found == [], [one["id"] for one in found]


def test_with_reduced_motion_a_press_shows_one_snapshot(browser, tmp_path):
    with film_opened(browser, page_of(filmed(), tmp_path / "page.html"), reduced_motion="reduce") as page:
        button = page.locator("#film-play")
        assert button.inner_text() == "Next"
        for expected in ("step 0", "step 10"):
            button.click()
            assert page.locator("#film-at").inner_text() == expected
        assert page.evaluate("rnnlens.film.playing()") is False


def test_without_script_the_abilities_are_a_table(browser, tmp_path):
    film, context = filmed(), browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_of(film, tmp_path / "page.html").resolve().as_uri())
    page.locator("#film summary").click()  # a fold needs no script
    rows = dict(row.split("\t")[:2] for row in page.locator("#film tbody tr").all_inner_texts())
    expected = {one.said: "never" if one.step is None else f"{one.step:,}" for one in film.abilities}
    assert rows["the line"] == expected["the line"] == "80" and rows["memory"] == "10"
    assert not page.locator("#film-player").is_visible()
    context.close()


def test_hostile_words_and_sentences_stay_text(browser, tmp_path):
    film = dataclasses.replace(filmed(words=HOSTILE, texts=HOSTILE), split=HOSTILE[0])
    film.snapshots[-1].words["not"] = WordStrength(-1.0, 0.1, 0.0)
    with film_opened(browser, page_of(film, tmp_path / "page.html")) as page:
        assert page.evaluate("window.hacked") is None and page.wrong == []
        shown = page.locator("#film-charts th").all_inner_texts()
        assert HOSTILE[0] in shown and HOSTILE[2] in shown and "__proto__" in shown
        assert "“<img src=x onerror=window.hacked=3>”" in page.locator("#film").inner_text()
