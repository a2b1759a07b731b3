"""Several bidirectional layers, and heads that are not linear, give torch's own logits; their readers are networks."""

import pytest
import torch
from tests.torch_networks import WORDS, D, H, close, outputs_of, sentences
from torch import nn

import rnnlens
from rnnlens import BothWays, DeepBothWays, RnnlensError, from_torch, jacobians

NAMES = ["a", "b", "c", "d", "e"]
KINDS = ["gru", "lstm", "rnn", "proj_size"]


def deep_of(kind="gru", layers=2, head="linear", batch_first=True, pooling=None, start=None, outputs=1, **options):
    torch.manual_seed(0)
    sizes = {"proj_size": 3} if kind == "proj_size" else {}
    of = {"gru": nn.GRU, "rnn": nn.RNN}.get(kind, nn.LSTM)
    rnn = of(D, H, layers, batch_first=batch_first, bidirectional=True, dropout=0.3 * (layers > 1), **sizes).eval()
    embedding, units = nn.Embedding(len(WORDS), D), 2 * sizes.get("proj_size", H)
    module = nn.Linear(units, outputs)
    if head == "mlp":
        module = nn.Sequential(nn.Linear(units, 7), nn.Tanh(), nn.Dropout(), nn.Linear(7, outputs)).eval()
    return rnn, embedding, module, from_torch(rnn, embedding, module, WORDS, start, pooling=pooling, **options)


def torchs_own(rnn, embedding, head, pooling, ids, lengths):
    outputs, last = outputs_of(rnn, embedding, ids, lengths)
    return head(last if pooling is None else outputs.sum(1) / lengths.unsqueeze(1))


@pytest.mark.parametrize("batch_first", [True, False], ids=["batch first", "time first"])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pooling", [None, "mean"])
def test_logits_of_bidirectional_layers_are_torchs_own(kind, layers, pooling, batch_first):
    ids, lengths = sentences()
    for head, outputs in (("linear", 1), ("mlp", 1), ("linear", 5), ("mlp", 5)):
        options = {"classes": NAMES} if outputs == 5 else {}
        rnn, embedding, module, deep = deep_of(kind, layers, head, batch_first, pooling, outputs=outputs, **options)
        with torch.no_grad():
            expected = torchs_own(rnn, embedding, module, pooling, ids, lengths)
            close(deep(ids, lengths), expected.squeeze(1) if outputs == 1 else expected)
            close(deep(ids[:, :9]), deep(ids, torch.full_like(lengths, 9)))
        assert isinstance(deep, BothWays if layers == 1 and head == "linear" else DeepBothWays)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_layers_start_from_torchs_own_states(kind):
    torch.manual_seed(1)
    start = torch.randn(4, 1, H), torch.randn(4, 1, H)
    start = start[0] if kind == "gru" else start
    rnn, embedding, head, deep = deep_of(kind, start=start)
    ids = sentences(n=1)[0]
    with torch.no_grad():
        last = rnn(embedding(ids), start)[1]
        last = last if kind == "gru" else last[0]
        close(deep(ids), head(last[-2:].transpose(0, 1).flatten(1)).squeeze(1))


@pytest.mark.parametrize("kind", KINDS)
def test_jacobians_of_every_reader_are_autograds(kind):
    rnn, embedding, head, _ = deep_of(kind)
    deep = from_torch(rnn.double(), embedding.double(), head.double(), WORDS)
    for layer in deep.layers:
        for reader in (layer.forwards, layer.backwards):
            h, e = torch.randn(3, reader.size).double(), torch.randn(3, reader.inputs).double()
            reference = [torch.autograd.functional.jacobian(reader.step, point) for point in zip(h, e, strict=True)]
            for ours, own in zip(jacobians(reader, h, e), zip(*reference, strict=True), strict=True):
                close(ours, torch.stack(own), atol=1e-10)


def test_the_readers_of_each_layer_are_torchs_own():
    rnn, embedding, _, deep = deep_of("lstm", 3)
    ids, lengths = sentences()
    with torch.no_grad():
        outputs = deep.outputs(ids, lengths)
        mask = torch.arange(ids.shape[1]) < lengths.unsqueeze(1)
        close(outputs[-1][mask], outputs_of(rnn, embedding, ids, lengths)[0][mask])
        states = deep.layers[1].forwards.states(outputs[0])
        close(states[:, 1:, :H][mask], outputs[1][..., :H][mask])
    reader = deep.layers[1].backwards
    points = rnnlens.find_fixed_points(reader, states[:5, 1], mode="slow")
    assert len(points) == 5 and reader.backward and reader.vocab is None
    assert deep.layers[0].backwards.E is deep.layers[0].forwards.E


def test_reading_says_what_each_word_is_worth():
    for options in ({"kind": "lstm", "layers": 3}, {"layers": 1, "head": "mlp"}):
        *_, deep = deep_of(**options)
        read = deep.read("w3 w1 w4")
        with torch.no_grad():
            assert read.logit == pytest.approx(float(deep("w3 w1 w4")), abs=1e-6)
            without = [float(deep(text)) for text in ("<pad> w1 w4", "w3 <pad> w4", "w3 w1 <pad>")]
        assert [word for word, _ in read] == ["w3", "w1", "w4"] and len(read) == 3
        assert read.effects == pytest.approx([read.logit - logit for logit in without], abs=1e-6)
        assert deep.predict_proba(["w3 w1 w4", ""])[0, 1] == pytest.approx(1 / (1 + 2.718281828**-read.logit), abs=1e-6)


def test_one_class_of_several_is_read():
    *_, deep = deep_of(outputs=5, classes=NAMES)
    ids, lengths = sentences()
    with torch.no_grad():
        scores = deep(ids, lengths)
        close(deep.of_class("c")(ids, lengths), scores[:, 2] - scores[:, [0, 1, 3, 4]].mean(1))
    assert deep.predict_proba(["w1"]).shape == (1, 5) and "5 classes" in repr(deep)
    assert deep.of_class("c").read("w1 w2").words == ["w1", "w2"]


class Deep(nn.Module):
    def __init__(self, mean=False):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(len(WORDS), D), nn.GRU(D, H, 2, bidirectional=True, batch_first=True)
        self.head, self.mean = nn.Sequential(nn.Linear(2 * H, 5), nn.ReLU(), nn.Linear(5, 1)), mean

    def forward(self, ids):
        outputs, last = self.rnn(self.embed(ids))
        return self.head(outputs.mean(1) if self.mean else last[-2:].transpose(0, 1).flatten(1))


def test_a_whole_module_is_checked():
    torch.manual_seed(0)
    paths = {"rnn": "rnn", "embedding": "embed", "readout": "head"}
    assert isinstance(rnnlens.from_module(Deep(), WORDS, **paths), DeepBothWays)
    with pytest.raises(RnnlensError, match="pass pooling='mean'"):
        rnnlens.from_module(Deep(mean=True), WORDS, **paths)
