"""Networks of several classes, of several layers and of both directions in the page: they compute what torch does, and
the reader shows it."""

import re
from types import SimpleNamespace

import pytest
import torch
from browser import draw_all, opened
from torch import nn

import rnnlens
from rnnlens.common.display import signed
from rnnlens.context import Probes, project_out, steer
from rnnlens.context.effects import effects, word_inputs
from rnnlens.corpora import PieceVocab
from rnnlens.networks import Network
from rnnlens.networks.stack import Stack
from rnnlens.page.analysis import analysis_story
from rnnlens.page.live import live
from rnnlens.page.render import render
from rnnlens.page.sections import Example, Story

WORDS = ["<unk>", "not", "very", "good", "great", "bad", "awful", "the", "film", "was"]
NAMES = ["anger", "fear", "joy", "love", "surprise"]
PROBES = {"positive": ["good", "great"], "negative": ["bad", "awful"]}
TEXTS = ["not good", "The film was not very good", "qwertz <pad> bad", "was the great film awful, not bad?", "very"]


@pytest.fixture(autouse=True)
def seeded():
    """torch's own modules draw their initial weights from its global generator; in some draws of a ReLU head no word
    has an effect."""
    torch.manual_seed(0)


def lively(module, seed=2):
    """Larger weights than those of an untrained network."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(parameter + 0.15 * torch.randn(parameter.shape, generator=generator))
    return module


def from_torch(rnn, head, seed=2, **options):
    embedding = nn.Embedding(len(WORDS), rnn.input_size)
    return rnnlens.from_torch(lively(rnn, seed), lively(embedding, seed + 1), lively(head, seed + 2), WORDS, **options)


def stacked(arch):
    """Two layers of one of our own architectures."""
    layers = [lively(rnnlens.networks.CELLS[arch](10, size), seed) for seed, size in ((3, 6), (4, 10))]
    cell, generator = Stack(layers), torch.Generator().manual_seed(5)
    E, w, h0 = (torch.randn(shape, generator=generator) for shape in ((len(WORDS), 6), 10, cell.size))
    return Network.assemble(cell, E, w, torch.tensor(0.3), 0.1 * h0, rnnlens.Vocab(WORDS), f"stack of {arch}")


def mlp(last):
    return nn.Sequential(nn.Linear(10, 7), nn.Tanh(), nn.Dropout(), nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, last))


MADE = {
    "five classes": lambda: lively(Network(WORDS, "gru", 12, 6, classes=NAMES)),
    "ordered": lambda: lively(Network(WORDS, "gru", 12, 6, classes=["1", "2", "3", "4"], ordered=True)),
    "two layers": lambda: lively(Network(WORDS, "gru", 12, 6, layers=2)),
    "stack of lstm": lambda: stacked("lstm"),
    "stack of ugrnn": lambda: stacked("ugrnn"),
    "three layers, classes": lambda: from_torch(nn.LSTM(6, 10, num_layers=3), nn.Linear(10, 5), classes=NAMES),
    "projected lstm": lambda: from_torch(nn.LSTM(6, 14, num_layers=2, proj_size=10), nn.Linear(10, 1)),
    "mlp": lambda: from_torch(nn.GRU(6, 10), mlp(1)),
    "mlp, classes": lambda: from_torch(nn.RNN(6, 10, nonlinearity="relu"), mlp(5), classes=NAMES),
    "both ways, gru": lambda: from_torch(nn.GRU(6, 10, bidirectional=True), nn.Linear(20, 1)),
    "both ways, lstm": lambda: from_torch(nn.LSTM(6, 10, bidirectional=True), nn.Linear(20, 1)),
    "both ways, ordered": lambda: lively(
        rnnlens.BothWays.untrained(WORDS, "gru", 16, 6, classes=["1", "2", "3", "4"], ordered=True)
    ),
    "both ways, classes": lambda: from_torch(nn.GRU(6, 10, bidirectional=True), nn.Linear(20, 5), classes=NAMES),
}


def modern(arch, layers=1, **how):
    """A recurrence of today, with weights large enough that every gate is at work."""
    return lively(Network(WORDS, arch, 12, 6, layers=layers, **how))


MODERN = {
    "mingru": lambda: modern("mingru"),
    "mingru, convolution": lambda: modern("mingru", convolution=4, classes=NAMES),
    "two layers of mingru": lambda: modern("mingru", 2, classes=["1", "2", "3", "4"], ordered=True),
    "minlstm": lambda: modern("minlstm", classes=NAMES),
    "three layers of minlstm, convolution": lambda: modern("minlstm", 3, convolution=2),
    "mamba": lambda: modern("mamba", classes=["1", "2", "3", "4"], ordered=True),
    "mamba without convolution": lambda: modern("mamba", convolution=1, classes=NAMES),
    "two layers of mamba": lambda: modern("mamba", 2),
    "rglru": lambda: modern("rglru", classes=["1", "2", "3", "4"], ordered=True),
    "two layers of rglru, no convolution": lambda: modern("rglru", 2, convolution=1, classes=NAMES),
    "two layers of rglru": lambda: modern("rglru", 2),
    "both ways, mamba": lambda: lively(rnnlens.BothWays.untrained(WORDS, "mamba", 16, 6)),
}
MADE |= MODERN


def one_logit(network):
    return network.of_class(None if network.ordered else NAMES[2]) if network.several_classes else network


def shown(whole, backwards=False):
    """The network that an analysis of `whole` would be of, and the network that reads both ways, if it is one."""
    if not isinstance(whole, rnnlens.BothWays):
        return one_logit(whole), None
    view = one_logit(whole)
    return (view.backwards if backwards else view.forwards), whole


def write_page(path, whole, arrays=None, backwards=False):
    network, both = shown(whole, backwards)
    story = Story("A test", [], "", "logit", [Example("not good")], PROBES, [], [])
    path.write_bytes(render(story, live(network, arrays or {}, {}, PROBES, both=both)).encode())
    return path


def subspace_of(network, seed=0):
    generator = torch.Generator().manual_seed(seed)
    V = torch.linalg.qr(torch.randn(network.size, 2, generator=generator))[0].t().contiguous()
    return {"h_star": 0.3 * torch.randn(network.size, generator=generator), "line": torch.zeros(2), "subspace": V}


@pytest.mark.parametrize("name", MADE)
def test_every_kind_of_network_reads_what_torch_reads(browser, tmp_path, name):
    whole = MADE[name]()
    arrays = subspace_of(shown(whole)[0])
    path = write_page(tmp_path / "page.html", whole, arrays)
    with opened(browser, path) as page:
        theirs = page.evaluate("texts => texts.map(text => rnnlens.logits(text))", TEXTS)
        torch.testing.assert_close(torch.tensor(theirs).squeeze(-1), whole(TEXTS).detach(), atol=1e-4, rtol=0)
        for text in TEXTS:
            found = page.evaluate("text => rnnlens.read(text)", text)
            if isinstance(whole, rnnlens.BothWays):
                for one, (word, forwards, backwards) in zip(found, one_logit(whole).read(text), strict=True):
                    assert one["word"] == word
                    assert abs(one["forwards"] - forwards) < 1e-4 and abs(one["backwards"] - backwards) < 1e-4
                continue
            for one, (word, read) in zip(found, whole.read(text), strict=True):
                assert one["word"] == word
                if whole.several_classes:
                    assert max(abs(a - b) for a, b in zip(one["classes"], read.values(), strict=True)) < 1e-4
                else:
                    assert abs(one["logit"] - read) < 1e-4
        assert page.wrong == []


def test_a_network_that_reads_pieces_of_words_does_not_run_in_its_page():
    """The page has no tokenizer: it read `awful` as an unknown word, where torch reads the pieces aw and ##ful."""
    pieces = [*WORDS, "aw", "##ful"]
    tokenizer = SimpleNamespace(get_vocab=lambda: {piece: i for i, piece in enumerate(pieces)}, tokenize=str.split)
    embedding, head = nn.Embedding(len(pieces), 6), nn.Linear(10, 1)
    network = rnnlens.from_torch(nn.GRU(6, 10), embedding, head, PieceVocab(tokenizer))
    found = live(network, {}, {}, PROBES)
    assert not found.runs and "subword tokenizer" in found.why_not and "network" not in found.data


STEERED = ["two layers", "mingru", "three layers of minlstm, convolution", "two layers of mamba", "two layers of rglru"]


@pytest.mark.parametrize(("name", "backwards"), [*((name, False) for name in STEERED), ("both ways, gru", True)])
def test_the_subspace_is_removed_and_steered_as_torch_does_it(browser, tmp_path, name, backwards):
    whole = MADE[name]()
    network, both = shown(whole, backwards)
    arrays = subspace_of(network)
    changed = {
        "{off: true}": project_out(network, arrays["subspace"], arrays["h_star"]),
        "{gain: 1.6}": steer(network, arrays["subspace"], 1.6),
    }
    with opened(browser, write_page(tmp_path / "page.html", whole, arrays, backwards)) as page:
        for options, other in changed.items():
            expected = other if both is None else rnnlens.BothWays(both.forwards, other, both.b)
            theirs = page.evaluate(f"texts => texts.map(text => rnnlens.logits(text, {options})[0])", TEXTS)
            torch.testing.assert_close(torch.tensor(theirs), expected(TEXTS).detach(), atol=1e-4, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("name", ["mingru", "two layers of mamba"])
def test_the_card_of_a_word_has_the_strength_that_torch_has(browser, tmp_path, name):
    network, probes = MADE[name](), Probes(tuple(PROBES["positive"]), tuple(PROBES["negative"]))
    arrays = subspace_of(network)
    h_star, (word,) = arrays["h_star"].unsqueeze(0), word_inputs(network, ["not"])

    def contrast(h):
        positive, negative = effects(network, h, probes.inputs(network)).split(2, -1)
        return float(positive.mean() - negative.mean())

    states = [h_star, network.step(h_star, word.unsqueeze(0))]
    with opened(browser, write_page(tmp_path / "page.html", network, arrays)) as page:
        seen = page.evaluate("rnnlens.word('not')")
        assert seen["barcode"]["share"] == pytest.approx(contrast(states[1]) / contrast(states[0]) - 1, abs=1e-4)
        plain, after = (network.step(h) for h in states)
        assert seen["fade"]["strength"][1] == pytest.approx(contrast(after) / contrast(plain) - 1, abs=1e-4)
        assert page.evaluate("rnnlens.card('not')") and page.wrong == []


# --- the reader -------------------------------------------------------------------------------------------------------


def percent(share):
    return "<1 %" if 0 < share < 0.005 else f"{round(100 * share)} %"


def test_probabilities_are_shown_word_by_word_and_a_class_can_be_followed(browser, tmp_path):
    network = MADE["five classes"]()
    path = write_page(tmp_path / "page.html", network)
    with opened(browser, path, "#read=not+very+good") as page:
        read = network.read("not very good")
        last = read[-1][1]
        best = max(last, key=last.get)
        keys = page.locator("#class-keys .class-key")
        assert keys.all_inner_texts() == [f"{name}\n{percent(last[name])}" for name in NAMES]
        assert page.locator("#verdict").inner_text() == f"{best} {percent(last[best])}"
        numbers = page.locator("#words-a .logit").all_inner_texts()
        assert numbers == [percent(shares[best]) for _, shares in read]
        other = min(last, key=last.get)
        key = keys.filter(has_text=other)
        key.focus()
        page.keyboard.press("Enter")
        assert key.get_attribute("aria-pressed") == "true" and page.evaluate("document.activeElement.ariaPressed")
        numbers = page.locator("#words-a .logit").all_inner_texts()
        assert numbers == [percent(shares[other]) for _, shares in read]
        page.locator("#focus", has_text=f"to the evidence of {other}").wait_for()
        page.wait_for_function(f"location.hash.includes('class={other}')")
        evidence = network.of_class(other).read("not very good")
        page.locator("#words-a .word").nth(1).hover()
        assert f"adds {signed(evidence[1][1] - evidence[0][1])}" in page.locator("#focus").inner_text()
        page.reload()
        page.wait_for_function("document.documentElement.dataset.ready")
        assert page.locator("#class-keys [aria-pressed=true]").inner_text().startswith(other)
        page.locator("#class-keys [aria-pressed=true]").click()
        assert page.locator("#class-keys [aria-pressed=true]").count() == 0
        page.click("#compare")
        assert page.locator("#reading svg").count() == 2 and page.wrong == []


def test_ordered_classes_have_an_expected_class(browser, tmp_path):
    network = MADE["ordered"]()
    with opened(browser, write_page(tmp_path / "page.html", network), "#read=not+very+good") as page:
        expected = [sum(int(k) * p for k, p in shares.items()) for _, shares in network.read("not very good")]
        assert page.locator("#words-a .logit").all_inner_texts() == [f"{value:.1f}" for value in expected]
        assert page.locator("#verdict").inner_text().startswith(f"{expected[-1]:.1f} expected")
        assert page.locator("#class-keys button").count() == 0 and page.wrong == []


def test_both_directions_are_shown_and_sum_to_the_logit(browser, tmp_path):
    both = MADE["both ways, gru"]()
    with opened(browser, write_page(tmp_path / "page.html", both), "#read=not+very+good") as page:
        sides = both.read("not very good")
        verdict = page.locator("#verdict").inner_text()
        for value in (sides.logit, sides.forward_part, sides.backward_part, sides.bias):
            assert signed(value) in verdict
        numbers = page.locator("#words-a .logit").all_inner_texts()
        assert numbers == [signed(left + right, 1) for _, left, right in sides]
        assert page.locator("#reading .adds.forwards").count() == page.locator("#reading .adds.backwards").count() == 3
        assert "from the right" in page.locator("#focus").inner_text() and page.wrong == []


def test_a_network_that_reads_backward_is_shown_in_its_order(browser, tmp_path):
    backwards = MADE["both ways, gru"]().backwards
    path = tmp_path / "page.html"
    story = Story("A test", [], "", "logit", [Example("not good")], PROBES, [], [])
    path.write_bytes(render(story, live(backwards, {}, {}, PROBES)).encode())
    with opened(browser, path, "#read=not+very+good") as page:
        found = page.evaluate("rnnlens.read('not very good')")
        read = backwards.read(words=["good", "very", "not"])
        assert [one["word"] for one in found] == ["good", "very", "not"]
        assert max(abs(one["logit"] - logit) for one, (_, logit) in zip(found, read, strict=True)) < 1e-4


# --- in the terminal --------------------------------------------------------------------------------------------------


# --- the whole page ---------------------------------------------------------------------------------------------------

HOSTILE = [
    "<script>window.hacked=1</script>", '"quoted" & <b>bold</b>', "\u05e9\u05de\u05d7\u05d4 a\u202eb", "long " * 39,
    "__proto__", "`code` *em* {0} %{x}",
]  # fmt: skip


def results_of_classes(names, shown):
    """What an analysis stores about all classes, made by hand."""
    n = len(names)
    geometry = {
        "dimension": 2.7,
        "dimension_interval": [2.5, 2.9],
        "count": 3,
        "count_interval": [3, 4],
        "explained": [0.5, 0.3, 0.2],
        "shape": "between",
        "simplex_cosine": -0.2,
        "through": "slow points",
        "points": [{"at": [0.1 * k, 0.2, 0.3], "class": k} for k in range(n)],
        "directions": [[1.0, 0.1 * k, 0.0] for k in range(n)],
    }
    rows = [{"word": word, "kind": "negator", "strength": -0.9, "error": 0.1} for word in ("not", "<i>never")]
    words = [{**row, "by_class": [-0.5 - 0.1 * k for k in range(n)], "errors": [0.1] * n} for row in rows]
    spread = {word: [[own, *([-own / (n - 1)] * (n - 1))]] * n for word, own in (("", 1.0), ("not", 0.4))}
    counts = {"n": 2, "of": 40, "unclear": 3}
    stored = {"names": names, "ordered": False, "shown": shown, "geometry": geometry, "modifiers": words}
    return {"classes": {**stored, **counts, "spread": spread}}


@pytest.fixture(scope="module")
def of_classes(tmp_path_factory):
    """The page of an analysis of one of several classes with hostile names."""
    words = [*WORDS, *(f"w{i}" for i in range(40))]
    network = lively(Network(words, "gru", 12, 6, classes=HOSTILE)).of_class(HOSTILE[0])
    analysis = rnnlens.analyze(network, probes=Probes(("good", "great"), ("bad", "awful")), starts=100)
    results = {**analysis.results, **results_of_classes(HOSTILE, HOSTILE[0])}
    story = analysis_story(network, results, None)
    path = tmp_path_factory.mktemp("classes") / "page.html"
    path.write_bytes(render(story, live(network, analysis.arrays(), results, story.probes)).encode())
    return path


SEEN = """() => [document.body.innerText, ...[...document.querySelectorAll('svg text')].map(one => one.textContent),
  ...[...document.querySelectorAll('[title], [aria-label]')].map(one => one.title + one.ariaLabel)].join('\\n')"""


def test_hostile_class_names_stay_text_and_nothing_is_called_positive_or_a_review(browser, of_classes):
    with opened(browser, of_classes, width=390) as page:
        assert page.locator("#class-keys .class-name").all_inner_texts() == [name.strip() for name in HOSTILE]
        assert "Drag" not in page.locator("#classes figcaption").inner_text()  # on a phone it does not turn
        assert page.locator("#classes .turns").text_content() == "Drag to turn."
        page.evaluate("document.querySelector('#classes figure').remove()")  # without a graphics card it takes seconds
        draw_all(page)
        assert page.evaluate("rnnlens.card('not')")
        text = page.evaluate(SEEN)
        assert re.findall(r".*\b(?:positive|negative|reviews?)\b.*", text, re.IGNORECASE) == []
        page.keyboard.press("Escape")
        assert "toward '<script>" in text and "away from '<script>" in text
        table = page.locator("#class-modifiers table").inner_text()
        assert "<i>never" in table and "−0.90 ± 0.10" in table and HOSTILE[4] in table
        assert "+40 % (+100 %)" in page.locator("#class-spread table").inner_text()
        assert "3 (3 to 4)" in page.locator("#classes table").first.inner_text()
        for k in range(len(HOSTILE)):
            page.locator("#class-keys button").nth(k).click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("window.hacked") is None and page.wrong == []
