"""Networks of the usual kinds are torch's own: projections, heads, pooling, both directions, whole modules."""

import pytest
import torch
from torch import nn

from rnnlens import from_torch, jacobians

WORDS, D, H = [f"w{i}" for i in range(12)], 4, 6
directions = pytest.mark.parametrize("batch_first", [True, False], ids=["batch first", "time first"])
depths = pytest.mark.parametrize("layers", [1, 2, 3])


def sentences(seed=0, n=200, longest=15):
    """Random ids (n, T) and lengths (n,); the ids after a sentence's end are words too, which must not be read."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (n,), generator=generator)
    return torch.randint(len(WORDS), (n, longest), generator=generator), lengths


def outputs_of(rnn, embedding, ids, lengths):
    """torch's own outputs (B, T, ·), padded with zeros, and its last hidden states (B, ·), both directions joined."""
    e = embedding(ids)
    e = e if rnn.batch_first else e.transpose(0, 1)
    packed = nn.utils.rnn.pack_padded_sequence(e, lengths, batch_first=rnn.batch_first, enforce_sorted=False)
    padded, last = rnn(packed)
    last = last[0] if isinstance(last, tuple) else last
    outputs, _ = nn.utils.rnn.pad_packed_sequence(padded, batch_first=True)
    return outputs, last[-2:].transpose(0, 1).flatten(1) if rnn.bidirectional else last[-1]


def close(ours, reference, atol=1e-5):
    torch.testing.assert_close(ours, reference, rtol=0, atol=atol)


def by_autograd(step, h, e):
    return torch.func.vmap(torch.func.jacrev(step, (0, 1)))(h, e)


# --- several layers and projections -----------------------------------------------------------------------------------


@depths
@directions
@pytest.mark.parametrize("kind", ["gru", "lstm", "proj_size", "no bias"])
def test_stacks_and_projections_are_torchs_own(kind, layers, batch_first):
    torch.manual_seed(layers)
    options = {"num_layers": layers, "batch_first": batch_first, "dropout": 0.5 if layers > 1 else 0.0}
    options |= {"proj_size": {"proj_size": 3}, "no bias": {"proj_size": 2, "bias": False}}.get(kind, {})
    rnn = (nn.GRU if kind == "gru" else nn.LSTM)(D, H, **options)
    embedding, head = nn.Embedding(len(WORDS), D), nn.Linear(options.get("proj_size", H), 1)
    network, (ids, lengths) = from_torch(rnn, embedding, head, WORDS), sentences()
    rnn.eval()  # only now: dropout between layers is never part of the network
    with torch.no_grad():
        close(network(ids, lengths), head(outputs_of(rnn, embedding, ids, lengths)[1]).squeeze(1))
        states = network.states(ids)
        close(states[:, 1:], torch.stack([network.step(states[:, t], embedding(ids[:, t])) for t in range(15)], 1))


@pytest.mark.parametrize("layers", [1, 2])
def test_jacobians_of_projected_lstms_are_autograds(layers):
    torch.manual_seed(0)
    rnn = nn.LSTM(D, H, proj_size=3, num_layers=layers).double()
    network = from_torch(rnn, torch.randn(len(WORDS), D).double(), nn.Linear(3, 1), WORDS)
    h, e = torch.randn(5, network.size).double(), torch.randn(5, D).double()

    def step(h, e):  # torch's own module on one state, whose parts are joined as ours are
        parts = [part.split([3, H]) for part in h.split(3 + H)]
        state = [torch.stack(part).unsqueeze(1) for part in zip(*parts, strict=True)]
        _, (new, c) = rnn(e.view(1, 1, D), tuple(state))
        return torch.cat([new[:, 0], c[:, 0]], 1).flatten()

    both = [torch.autograd.functional.jacobian(step, point) for point in zip(h, e, strict=True)]
    for ours, reference in zip(jacobians(network, h, e), zip(*both, strict=True), strict=True):
        close(ours, torch.stack(reference), atol=1e-10)


def test_a_projected_lstm_starts_from_torchs_own_state():
    torch.manual_seed(0)
    rnn, embedding, head = nn.LSTM(D, H, 2, proj_size=3), nn.Embedding(len(WORDS), D), nn.Linear(3, 1)
    start, ids = (torch.randn(2, 1, 3), torch.randn(2, 1, H)), sentences()[0][:1]
    network = from_torch(rnn, embedding, head, WORDS, initial_state=start)
    with torch.no_grad():
        close(network(ids), head(rnn(embedding(ids[0]).unsqueeze(1), start)[0][-1])[0])
