"""A long text is read a part at a time, from the state in which the part before it ended: the same numbers, in memory
that does not grow with the states of the text."""

import pytest
import torch
from tests.torch_networks import WORDS, D, H, sentences
from tests.torch_networks import exact as close
from torch import nn

import rnnlens
from rnnlens import Network, RnnlensError, from_torch
from rnnlens.networks import ARCHITECTURES, long_texts
from rnnlens.networks.projected import projected

CLASSES = ["a", "b", "c"]
MODULES = {
    "lstm of 2 layers": (nn.LSTM, {"num_layers": 2}, {}),
    "projected lstm": (nn.LSTM, {"num_layers": 2, "proj_size": 3}, {}),
    "pooled gru": (nn.GRU, {}, {"pooling": "mean"}),
    "pooled lstm of 2 layers": (nn.LSTM, {"num_layers": 2}, {"pooling": "mean"}),
}
BOTH_WAYS = {
    "bidirectional lstm": (nn.LSTM, {"bidirectional": True}, {}),
    "pooled bidirectional gru": (nn.GRU, {"bidirectional": True}, {"pooling": "mean"}),
    "2 bidirectional layers": (nn.LSTM, {"bidirectional": True, "num_layers": 2}, {}),
    "3 pooled bidirectional layers": (nn.GRU, {"bidirectional": True, "num_layers": 3}, {"pooling": "mean"}),
}


def texts():
    return sentences(n=3)


def of_module(kind):
    torch.manual_seed(0)
    cell, shape, options = {**MODULES, **BOTH_WAYS}[kind]
    rnn = cell(D, H, batch_first=True, **shape)
    units = (2 if rnn.bidirectional else 1) * (rnn.proj_size or H)
    return from_torch(rnn, nn.Embedding(len(WORDS), D), nn.Linear(units, 1), WORDS, **options).double()


def of_kind(kind):
    if kind in ARCHITECTURES:
        return Network(WORDS, kind, H, D).double()
    if kind == "without a subspace":
        network = Network(WORDS, "lstm", H, D).double()
        return projected(network, torch.eye(2 * H, dtype=torch.float64)[:2], torch.zeros(2))
    if kind == "a user's step":
        mixed = torch.randn(D, H, generator=torch.Generator().manual_seed(0)).double()
        E, head = torch.randn(len(WORDS), D).double(), (torch.ones(H).double(), 0.0)
        return rnnlens.adapt(lambda h, e: torch.tanh(0.9 * h + e @ mixed), E, head, WORDS, torch.zeros(H).double())
    if "layers of" in kind:
        return Network(WORDS, kind.split()[-1], H, D, layers=2).double()
    return of_module(kind)


def in_parts(monkeypatch, long=20, part=12):
    monkeypatch.setattr(long_texts, "LONG", long)
    monkeypatch.setattr(long_texts, "PART", part)


LAYERS = ["2 layers of mingru", "2 layers of mamba", "2 layers of lstm"]
KINDS = [*ARCHITECTURES, *LAYERS, *MODULES, "without a subspace", "a user's step"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_text_is_read_in_parts_with_equal_logits(kind, monkeypatch):
    network, (ids, lengths) = of_kind(kind).requires_grad_(False), texts()
    expected, last, e = network.logits(ids), network(ids, lengths), network.embed(ids)
    in_parts(monkeypatch)
    embedded, embed = [], network.embed
    monkeypatch.setattr(network, "embed", lambda ids: embedded.append(ids.numel()) or embed(ids))
    close(network.logits(ids), expected)
    assert len(embedded) > 2 and max(embedded) <= 12, "only the words of one part are embedded at a time"
    close(network.logits_of(e), expected)
    close(network(ids, lengths), last)
    close(network.last_outputs_of(e, lengths), network.last_outputs_of(e[:, : max(lengths)], lengths))


@pytest.mark.parametrize("kind", ["lstm", "mamba", *MODULES])
def test_the_state_after_a_part_is_that_of_all_states(kind):
    network, (ids, _) = of_kind(kind).requires_grad_(False), texts()
    e = network.embed(ids)
    h0 = torch.rand(len(e), network.size, generator=torch.Generator().manual_seed(0)).double()
    states = network.cell.sequence(e, h0)
    outputs, end = long_texts.outputs_and_state(network.cell, e, h0)
    close(outputs, states[:, 1:, network.cell.output])
    close(end, states[:, -1])


@pytest.mark.parametrize("kind", BOTH_WAYS)
def test_both_directions_of_a_long_text_are_read_in_parts(kind, monkeypatch):
    network, (ids, lengths) = of_module(kind).requires_grad_(False), texts()
    expected, whole = network(ids, lengths), network(ids)
    outputs = network.outputs(ids, lengths) if "layers" in kind else []
    in_parts(monkeypatch)
    cells = [reader.cell for reader in network.modules() if isinstance(reader, Network)]
    read = []
    for cell in cells:
        for name in ("outputs", "sequence"):
            kept = getattr(cell, name)
            monkeypatch.setattr(cell, name, lambda e, h, kept=kept: read.append(e.shape[:2].numel()) or kept(e, h))
    close(network(ids, lengths), expected)
    close(network(ids), whole)
    assert all(words <= 12 for words in read)
    for ours, others in zip(network.outputs(ids, lengths) if outputs else [], outputs, strict=True):
        close(ours, others)


def test_classes_are_read_from_the_last_outputs_of_a_long_text(monkeypatch):
    network, (ids, lengths) = Network(WORDS, "lstm", H, D, classes=CLASSES).double().requires_grad_(False), texts()
    lengths[0] = 0
    expected = network(ids, lengths)
    in_parts(monkeypatch)
    close(network(ids, lengths), expected)
    for wrong in (lengths - 1, lengths + ids.shape[1]):
        with pytest.raises(RnnlensError, match="lengths range from"):
            network(ids, wrong)


def test_a_text_whose_gradients_are_wanted_is_one_part(monkeypatch):
    network, (ids, _) = of_kind("lstm"), texts()
    in_parts(monkeypatch)
    assert len(long_texts.parts_of(network, ids)) == 1
    with torch.no_grad():
        assert len(long_texts.parts_of(network, ids)) > 1
    network.requires_grad_(False)
    assert len(long_texts.parts_of(network, network.embed(ids).requires_grad_())) == 1
