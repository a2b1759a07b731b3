"""Networks of several classes, of several layers and of both directions in the page: they compute what torch does, and
the reader shows it."""

import pytest
import torch
from browser import opened
from torch import nn

import rnnlens
from rnnlens.context import project_out, steer
from rnnlens.networks import Network
from rnnlens.networks.stack import Stack
from rnnlens.page.live import live
from rnnlens.page.render import render
from rnnlens.page.sections import Example, Story

WORDS = ["<unk>", "not", "very", "good", "great", "bad", "awful", "the", "film", "was"]
NAMES = ["anger", "fear", "joy", "love", "surprise"]
PROBES = {"positive": ["good", "great"], "negative": ["bad", "awful"]}
TEXTS = ["not good", "The film was not very good", "qwertz <pad> bad", "was the great film awful, not bad?", "very"]


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
    "five classes, lstm": lambda: from_torch(nn.LSTM(6, 10), nn.Linear(10, 5), classes=NAMES),
    "ordered": lambda: lively(Network(WORDS, "gru", 12, 6, classes=["1", "2", "3", "4"], ordered=True)),
    "stack of gru": lambda: stacked("gru"),
    "stack of lstm": lambda: stacked("lstm"),
    "stack of ugrnn": lambda: stacked("ugrnn"),
    "stack of vanilla": lambda: stacked("vanilla"),
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


@pytest.mark.parametrize(("name", "backwards"), [("stack of gru", False), ("both ways, gru", True)])
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
