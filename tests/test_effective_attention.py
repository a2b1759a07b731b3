"""Effective attention is exact: parts sum to the layer's outputs, and equal the products of Mamba's matrices."""

import pytest
import torch
import torch.nn.functional as F

from rnnlens import Network, linear_modes
from rnnlens.context import effective_attention
from rnnlens.networks import RECURRENCES

WORDS = ["<unk>", "not", "bad", "at", "all", "good"]
TEXT = "not bad at all good"


def make(arch, layers=1, **options):
    network = Network(WORDS, arch, 5, 4, layers=layers, **options).double().requires_grad_(False)
    network.h0.normal_(generator=torch.Generator().manual_seed(0))
    return network


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("arch", RECURRENCES)
def test_parts_sum_to_the_outputs_and_the_logit(arch, layers):
    network = make(arch, layers)
    found = effective_attention(network, TEXT)
    ids = torch.as_tensor(network.vocab.encode(found.words)).unsqueeze(0)
    outputs = network.states(ids)[0, 1:, network.cell.output]
    torch.testing.assert_close(found.parts.sum(1) + found.direct, outputs)
    torch.testing.assert_close(found.outputs, outputs)
    logits = found.logits.sum(1) + found.direct @ network.readout_w + network.b
    torch.testing.assert_close(logits, network.logits(ids)[0, 1:])
    torch.testing.assert_close(found.weights.sum(1), torch.ones(5).double())
    later = torch.ones(5, 6).triu(2).bool()
    assert found.parts[later].abs().max() < 1e-15, "no word adds to what was said before it"
    assert effective_attention(network, TEXT, layer=1).layer == 1


def test_it_equals_the_attention_of_mambas_matrices():
    """α_{s,t} = C_s (Ā_s … Ā_{t+1}) B̄_t for each channel, gated, from dense products of the layer's own matrices."""
    network = make("mamba")
    layer, found = network.cell.layers[0], effective_attention(network, TEXT)
    e = network.E[torch.as_tensor(network.vocab.encode(found.words))]
    c, _, _, _ = layer.linear_form(e.unsqueeze(0), network.h0[: layer.size].unsqueeze(0))
    c, S = c[0], layer.expand
    delta = F.softplus(c @ layer.V[: -2 * S].T @ layer.W_delta.T + layer.b_delta)
    B, C = (c @ layer.V[-2 * S :].T + layer.v).split(S, 1)
    gate = F.silu(e @ layer.W[5:].T + layer.b[5:])
    for s in range(5):
        for t in range(s + 1):
            for channel in range(5):
                product = torch.eye(S).double()
                for r in range(t + 1, s + 1):
                    product = torch.diag(torch.exp(-delta[r, channel] * layer.A[channel].exp())) @ product
                weight = C[s] @ product @ (delta[t, channel] * B[t]) * gate[s, channel]
                torch.testing.assert_close(found.parts[s, t + 1, channel], weight * c[t, channel], rtol=0, atol=1e-12)


def test_a_hand_made_leaky_sum_forgets_at_its_known_rate():
    network = make("mingru")
    layer = network.cell.layers[0]
    layer.W[:5] = 0  # no word opens a gate: all are forgotten at the same rate
    keep = 1 - torch.sigmoid(layer.b[:5])
    found = effective_attention(network, TEXT)
    for s in range(5):
        torch.testing.assert_close(found.parts[s, 0], keep ** (s + 1) * network.h0)
        for t in range(1, s + 2):
            torch.testing.assert_close(found.parts[s, t], keep ** (s + 1 - t) * found.parts[t - 1, t])
    times = linear_modes(network, network.h0).by_part()["layer 1 state"]
    torch.testing.assert_close(times, -1 / keep.log())
