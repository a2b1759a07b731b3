"""The user's own torch network, adapted, computes what it did before; what cannot be is refused by a sentence."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from rnnlens import adapt, from_torch

WORDS = ["<unk>", "not", "bad", "good"]
D, H = 3, 5
IDS = torch.tensor([[1, 2, 3, 1], [3, 3, 0, 2]])


def parts(kind=nn.GRU, outputs=1, **options):
    torch.manual_seed(0)
    return kind(D, H, batch_first=True, **options).double(), nn.Embedding(4, D).double(), nn.Linear(H, outputs).double()


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
def test_torch_rnns_become_networks_that_compute_the_same(kind, bias, layers):
    rnn, embedding, head = parts(kind, num_layers=layers, bias=bias)
    first = torch.randn(layers, 2 if kind is nn.LSTM else 1, H).double()  # (layers, h [and c], H)
    h0 = [part.contiguous() for part in first.unsqueeze(2).expand(-1, -1, 2, -1).unbind(1)]
    expected = head(rnn(embedding(IDS), tuple(h0) if kind is nn.LSTM else h0[0])[0])[..., 0]
    state = tuple(first.unbind(1)) if kind is nn.LSTM else first[:, 0]
    network = from_torch(rnn, embedding, head, WORDS, state)
    torch.testing.assert_close(network.logits(IDS)[:, 1:], expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(network(IDS), expected[:, -1], rtol=0, atol=1e-12)
    states = network.states(IDS)
    torch.testing.assert_close(network.logit(states), network.logits(IDS), rtol=0, atol=1e-12)
    stepped = network.step(states[:, 2], network.embed(IDS[:, 2]))
    torch.testing.assert_close(stepped, states[:, 3], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [nn.GRUCell, nn.LSTMCell, nn.RNNCell])
def test_torch_cells_become_networks(kind):
    torch.manual_seed(0)
    cell, embedding, head = kind(D, H).double(), nn.Embedding(4, D).double(), nn.Linear(H, 1).double()
    network = from_torch(cell, embedding, head, WORDS)
    e = embedding(torch.tensor([2]))
    expected = cell(e)[0] if kind is nn.LSTMCell else cell(e)
    torch.testing.assert_close(network.step(network.h0[None], e)[:, :H], expected, rtol=0, atol=1e-12)


def test_relu_networks_too():
    rnn, embedding, head = parts(nn.RNN, nonlinearity="relu")
    network = from_torch(rnn, embedding, head, WORDS)
    torch.testing.assert_close(network.logits(IDS)[:, 1:], head(rnn(embedding(IDS))[0])[..., 0], rtol=0, atol=1e-12)


def test_class_heads_are_read_as_differences():
    rnn, embedding, head = parts(outputs=2)
    out = head(rnn(embedding(IDS))[0][:, -1])
    two = from_torch(rnn, embedding, head, WORDS)
    torch.testing.assert_close(two(IDS), out[:, 1] - out[:, 0], rtol=0, atol=1e-12)
    rnn, embedding, head = parts(outputs=4)
    out = head(rnn(embedding(IDS))[0][:, -1])
    one_of = from_torch(rnn, embedding, head, WORDS, target=2)
    torch.testing.assert_close(one_of(IDS), out[:, 2] - out[:, [0, 1, 3]].mean(1), rtol=0, atol=1e-12)
    pair = from_torch(rnn, embedding, head, WORDS, target=(3, 1))
    torch.testing.assert_close(pair(IDS), out[:, 3] - out[:, 1], rtol=0, atol=1e-12)


def test_the_original_is_copied_not_shared():
    rnn, embedding, head = parts()
    network = from_torch(rnn, embedding, head, WORDS).float()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    assert rnn.weight_hh_l0.dtype == torch.float64 and rnn.weight_hh_l0.abs().sum() > 0
    assert embedding.weight.abs().sum() > 0 and head.weight.abs().sum() > 0


def test_any_step_function_is_welcome():
    rnn, embedding, head = parts(nn.RNN)
    A, C, b = rnn.weight_hh_l0.detach(), rnn.weight_ih_l0.detach(), (rnn.bias_hh_l0 + rnn.bias_ih_l0).detach()
    network = adapt(lambda h, e: torch.tanh(h @ A.T + e @ C.T + b), embedding, head, WORDS, torch.zeros(H).double())
    torch.testing.assert_close(network(IDS), from_torch(rnn, embedding, head, WORDS)(IDS), rtol=0, atol=1e-12)
    assert network.step(torch.zeros(2, 3, H).double(), torch.zeros(2, 3, D).double()).shape == (2, 3, H)
    assert [word for word, _ in network.read("not bad")] == ["not", "bad"]


class Leaky(nn.Module):
    def __init__(self):
        super().__init__()
        self.rate, self.mix = nn.Parameter(torch.tensor(0.5)), nn.Linear(D, H)

    def forward(self, h, e):
        return torch.tanh(self.rate * h + self.mix(e))

    def advance(self, h, e):
        return self(h, e)


@pytest.mark.parametrize("kind", ["module", "method"])
def test_a_users_module_is_copied_not_shared(kind):
    module = Leaky()
    before = copy.deepcopy(module.state_dict())
    step = module if kind == "module" else module.advance
    network = adapt(step, torch.randn(4, D), (torch.ones(H), 0.0), WORDS, torch.zeros(H))
    network.double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    assert network(IDS).dtype == torch.float64 and network(IDS).abs().sum() == 0, "the copy moves with the network"
    assert len(network.state_dict()) == 4 + len(before)
    assert module.training and all(torch.equal(before[name], p) for name, p in module.state_dict().items())
    assert all(p.dtype == torch.float32 for p in module.parameters())


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_parts_take_the_rnns_dtype(kind, dtype):
    rnn, embedding, head = parts(kind)
    rnn, blocks = rnn.to(dtype), 2 if kind is nn.LSTM else 1
    first = np.full((1, 1, H), 0.25)
    pair = (first, first) if blocks == 2 else first
    for state in (None, pair, np.full(blocks * H, 0.25, np.float32), [0.25] * (blocks * H), [0] * (blocks * H)):
        network = from_torch(rnn, embedding, head, WORDS, state)
        assert {p.dtype for p in network.parameters()} == {dtype}
        assert network(IDS).dtype == dtype and network.states(IDS).dtype == dtype
        if state is not None:
            assert torch.equal(network.h0, torch.full_like(network.h0, 0.25 if np.any(state) else 0.0))


@pytest.mark.parametrize(
    "readout",
    [
        (torch.ones(1, H), 0.5),
        (torch.ones(H), torch.tensor([0.5])),
        (np.ones(H), np.float32(0.5)),
        ([1] * H, 0.5),
        (torch.tensor([[0.0] * H, [1.0] * H]), [0.0, 0.5]),
    ],
)
def test_readouts_may_be_written_in_many_ways(readout):
    rnn, embedding, _ = parts()
    network = from_torch(rnn, embedding, readout, WORDS)
    expected = rnn(embedding(IDS))[0][:, -1].sum(-1) + 0.5
    torch.testing.assert_close(network(IDS), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_an_embeddings_max_norm_is_applied(norm):
    rnn, _, head = parts()
    torch.manual_seed(0)
    embedding = nn.Embedding(4, D, padding_idx=0, max_norm=1.0, norm_type=norm).double()
    embedding.weight.data[1] /= 100  # short: stays as it is
    before = embedding.weight.detach().clone()
    network = from_torch(rnn, embedding, head, WORDS)
    assert torch.equal(embedding.weight, before), "the module itself is left alone"
    every = torch.arange(4)
    with torch.no_grad():
        torch.testing.assert_close(network.embed(every), embedding(every), rtol=0, atol=0)
    assert torch.equal(network.E[:2], before[:2]) and not torch.equal(network.E[2:], before[2:])


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
def test_from_torch_leaves_the_users_chance_alone(kind):
    given = parts(kind)
    before = torch.get_rng_state()
    from_torch(*given, WORDS)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
def test_an_empty_sequence_is_the_initial_state(kind, layers):
    rnn, embedding, head = parts(kind, num_layers=layers)
    nothing = torch.zeros(2, 0, dtype=torch.long)
    whole = from_torch(rnn, embedding, head, WORDS)
    stepped = adapt(whole.step, embedding, (whole.w, whole.b), WORDS, whole.h0)
    for network in (whole, stepped):
        assert torch.equal(network.states(nothing), network.h0.expand(2, 1, -1))
        assert network.logits(nothing).shape == (2, 1) and network(nothing).shape == (2,)


def test_continuous_inputs_need_no_words():
    rnn, _, head = parts()
    x = torch.randn(2, 6, D).double()
    network = from_torch(rnn, None, head, None)
    torch.testing.assert_close(network(x), head(rnn(x)[0][:, -1])[:, 0], rtol=0, atol=1e-12)
    stepped = adapt(
        network.step,
        None,
        (torch.ones(H).double(), torch.tensor(0.5).double()),
        None,
        torch.zeros(H).double(),
        inputs=D,
    )
    torch.testing.assert_close(stepped.states(x), network.states(x), rtol=0, atol=1e-12)


def test_gradients_reach_an_adapted_modules_parameters():
    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(torch.tensor(0.5))

        def forward(self, h, e):
            return torch.tanh(self.a * h + e @ torch.ones(D, H))

    network = adapt(Step(), torch.randn(4, D), (torch.ones(H), 0.0), WORDS, torch.zeros(H))
    network(IDS).sum().backward()
    assert any("function.a" in name and p.grad is not None for name, p in network.named_parameters())


def test_a_cell_whose_forward_takes_the_state_first_is_a_step():
    class Mine(nn.GRUCell):
        def forward(self, h, e):
            return super().forward(e, h)

    cell = Mine(H, H)
    h, e = torch.randn(2, H), torch.randn(2, H)
    network = adapt(cell, torch.zeros(4, H), nn.Linear(H, 1), WORDS, torch.zeros(H))
    torch.testing.assert_close(network.step(h, e), cell(h, e))


def test_compiled_modules_are_read_as_the_modules_that_they_wrap():
    gru, embedding, head = parts()
    network = from_torch(*(torch.compile(part) for part in (gru, embedding, head)), WORDS)
    torch.testing.assert_close(network(IDS), from_torch(gru, embedding, head, WORDS)(IDS), rtol=0, atol=0)
