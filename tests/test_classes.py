"""Networks and corpora with three or more classes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import rnnlens
from rnnlens import Network, RnnlensError, from_torch
from rnnlens.networks.projected import projected

WORDS = ["<unk>", "red", "green", "blue", "not", "very"]
NAMES = ["anger", "joy", "fear"]


def torch_parts(classes: int, kind=nn.GRU, hidden: int = 7):
    torch.manual_seed(0)
    return kind(4, hidden, batch_first=True), nn.Embedding(len(WORDS), 4), nn.Linear(hidden, classes)


def batch(n: int = 20, longest: int = 9) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(1, longest + 1, (n,), generator=generator)
    return torch.randint(0, len(WORDS), (n, longest), generator=generator), lengths


# --- networks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
def test_logits_of_five_classes_equal_those_of_torchs_own_head(kind):
    rnn, embedding, head = torch_parts(5, kind)
    network = from_torch(rnn, embedding, head, WORDS, classes=["a", "b", "c", "d", "e"])
    ids, lengths = batch(200)
    with torch.no_grad():
        every = head(rnn(embedding(ids))[0])
        final = every[torch.arange(len(ids)), lengths - 1]
        torch.testing.assert_close(network(ids, lengths), final, atol=1e-5, rtol=0)
        torch.testing.assert_close(network.logits(ids)[:, 1:], every, atol=1e-5, rtol=0)
        torch.testing.assert_close(network(ids), every[:, -1], atol=1e-5, rtol=0)
    assert network.classes == ("a", "b", "c", "d", "e")


def test_the_view_of_a_class_is_its_logit_minus_the_mean_of_the_others():
    network = Network(WORDS, hidden=6, embedding=3, classes=NAMES).double()
    ids, lengths = batch()
    logits = network(ids, lengths)
    view = network.of_class("joy")
    torch.testing.assert_close(view(ids, lengths), logits[:, 1] - (logits[:, 0] + logits[:, 2]) / 2, atol=1e-12, rtol=0)
    assert view.target == "joy" and "'joy'" in view.reads and view.cell is network.cell and view.E is network.E
    assert "joy" in repr(view) and "3 classes" in repr(network)


@pytest.mark.parametrize("arch", ["gru", "lstm", "ugrnn", "vanilla"])
def test_derivatives_of_a_view_equal_autograds(arch):
    network = Network(WORDS, arch=arch, hidden=6, embedding=3, classes=NAMES).double()
    view = network.of_class("fear")
    h, e = torch.randn(view.size).double(), torch.randn(3).double()

    def contrast(h, e):
        logits = network.logit(network.step(h, e))
        return logits[2] - (logits[0] + logits[1]) / 2

    J_rec, J_inp = rnnlens.jacobians(view, h, e)
    by_state, by_input = torch.func.grad(contrast, (0, 1))(h, e)
    torch.testing.assert_close(view.w @ J_rec, by_state, atol=1e-10, rtol=0)
    torch.testing.assert_close(view.w @ J_inp, by_input, atol=1e-10, rtol=0)


def test_texts_are_read_as_probabilities_and_predicted_as_names():
    network = Network(WORDS, hidden=6, embedding=3, classes=NAMES)
    texts = ["red not green", "blue", "very blue", ""]
    shares = network.predict_proba(texts)
    assert shares.shape == (4, 3) and np.allclose(shares.sum(1), 1)
    assert network.predict(texts).tolist() == [NAMES[k] for k in shares.argmax(1)]
    reading = network.read("red not green")
    assert [word for word, _ in reading] == ["red", "not", "green"]
    assert list(reading[-1][1]) == NAMES and np.allclose(list(reading[-1][1].values()), shares[0])
    assert network("red not green").shape == (3,) and network(texts).shape == (4, 3)


def test_two_classes_keep_one_logit():
    rnn, embedding, head = torch_parts(2)
    ids, lengths = batch()
    named = from_torch(rnn, embedding, head, WORDS, classes=["ham", "spam"])
    plain = from_torch(rnn, embedding, head, WORDS, target=1)
    assert torch.equal(named(ids, lengths), plain(ids, lengths)) and named(ids).shape == (20,)
    assert set(named.predict(["red", "very blue"])) <= {"ham", "spam"}
    assert torch.equal(named.of_class("ham")(ids), -named(ids))
    first, second = Network(WORDS, hidden=5, embedding=3), Network(WORDS, hidden=5, embedding=3, classes=["a", "b"])
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert first.predict(["red"]).dtype == np.int64 and "classes" not in first.config


def test_a_projected_network_keeps_its_classes():
    network = Network(WORDS, hidden=6, embedding=3, classes=NAMES)
    V = torch.linalg.qr(torch.randn(6, 2))[0].t()
    quiet = projected(network, V, torch.zeros(2))
    assert quiet.classes == tuple(NAMES) and quiet(batch()[0]).shape == (20, 3)


def test_fixed_points_need_no_class_and_lines_do():
    network = Network(WORDS, hidden=6, embedding=3, classes=NAMES)
    states = network.states(batch()[0]).detach().reshape(-1, 6)
    points = rnnlens.find_fixed_points(network, states, mode="slow")
    with pytest.raises(RnnlensError, match="3 classes .*'anger'.* choose a class, network.of_class"):
        rnnlens.fit_line_attractor(network, points)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Network(WORDS, classes=["a"]), "there is 1 class: expected 2 to 1,000"),
        (lambda: Network(WORDS, classes=map(str, range(10_000))), "there are 10,000 classes: expected 2 to 1,000"),
        (lambda: Network(WORDS, classes=["a", "b", "a"]), "hold 'a' twice"),
        (lambda: Network(WORDS, classes=["a", 2, "c"]), "hold '2' of type int: expected names"),
        (lambda: Network(WORDS, classes="abc"), "classes is 'abc': expected a list of names"),
        (lambda: Network(WORDS, classes=NAMES).of_class("x"), "no class 'x': expected one of 'anger', 'joy', 'fear'"),
        (lambda: Network(WORDS).of_class("joy"), "one logit without classes"),
        (lambda: Network(WORDS, classes=NAMES).w, "3 classes .* needs one logit"),
        (lambda: from_torch(*torch_parts(4), WORDS, classes=NAMES), "4 outputs, but there are 3 classes"),
        (lambda: from_torch(*torch_parts(3), WORDS, classes=NAMES, target=1), "classes= together with target="),
        (lambda: from_torch(*torch_parts(3), WORDS), r"classes=\[names\] for all classes, target=class"),
    ],
)
def test_classes_that_do_not_fit_are_refused_in_one_line(make, message):
    with pytest.raises(RnnlensError, match=message) as error:
        make()
    assert "\n" not in str(error.value)
