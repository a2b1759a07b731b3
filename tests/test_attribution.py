"""Where a network modifies: in hand-made networks the answer is known, and the shares sum to the strength."""

import pytest
import torch

from rnnlens import Network, Probes, adapt
from rnnlens.context import attribute, effects

WORDS = ["<unk>", "not", "good", "great", "bad", "awful"]
# Inputs: [is it "not", valence].
E = torch.tensor([[0.0, 0], [1, 0], [0, 1], [0, 2], [0, -1], [0, -2]]).double()
PROBES = Probes(("good", "great"), ("bad", "awful"))
STATES = torch.tensor([[0.0, 0, 0.5], [0, 0, -1.0], [0, 0, 2.0]]).double()


def two_layers(factor, leak=1.0):
    """State (flag of the first layer, buffer, sum of the second layer). "not" sets flag and buffer; the second layer
    adds factor(flag, buffer) · valence to its sum."""

    def step(h, e):
        flag, buffer, total = h.unbind(-1)
        new = leak * total + factor(flag, buffer) * e[..., 1]
        return torch.stack([e[..., 0], e[..., 0], new], -1)

    return adapt(
        step, E, (torch.tensor([0.0, 0, 1]).double(), torch.tensor(0.0).double()), WORDS, torch.zeros(3).double()
    )


PARTS = {"layer 1": [0], "buffer": [1], "layer 2": [2]}


@pytest.mark.parametrize(
    ("factor", "expected"),
    [
        (lambda flag, buffer: 1 - 2 * flag, [-2.0, 0.0, 0.0]),  # negation is in the first layer
        (lambda flag, buffer: 1 - buffer, [0.0, -1.0, 0.0]),  # in the convolution buffer
        (lambda flag, buffer: 1 - 0.5 * flag - 1.5 * buffer, [-0.5, -1.5, 0.0]),  # in both, independently
        (lambda flag, buffer: 1 - 2 * flag * buffer, [-1.0, -1.0, 0.0]),  # in both together: equal shares
    ],
    ids=["first layer", "buffer", "both", "both together"],
)
def test_negation_is_found_where_it_was_put(factor, expected):
    found = attribute(two_layers(factor), STATES, ["not", "<unk>"], PROBES, parts=PARTS)
    assert found.parts == list(PARTS) and found.exact and found.orders == 6
    torch.testing.assert_close(found.shares[0], torch.tensor(expected).double())
    assert float(found.strength[0]) == pytest.approx(sum(expected)) and found["not"]["layer 2"] == 0
    assert found.shares[1].abs().max() == 0, "a word that does nothing"
    assert found.shares_interval.shape == (2, 3, 2)
    torch.testing.assert_close(found.shares_interval[0, :, 0], torch.tensor(expected).double())  # no state differs


def test_parts_that_work_only_together_do_nothing_alone():
    found = attribute(two_layers(lambda flag, buffer: 1 - 2 * flag * buffer), STATES, ["not"], PROBES, parts=PARTS)
    assert found.alone.abs().max() == 0 and found.without[0].tolist() == [0, 0, -2]


@pytest.mark.parametrize(
    ("arch", "layers", "convolution", "parts"),
    [
        ("mingru", 1, None, ["layer 1 state"]),
        ("mingru", 2, 3, ["layer 1 convolution", "layer 1 state", "layer 2 convolution", "layer 2 state"]),
        ("mamba", 1, None, ["layer 1 convolution", "layer 1 state"]),
        ("gru", 2, None, ["layer 1", "layer 2"]),
        ("lstm", 1, None, ["h", "c"]),
        ("lstm", 2, None, ["layer 1 h", "layer 1 c", "layer 2 h", "layer 2 c"]),
    ],
)
def test_shares_sum_to_the_measured_strength(arch, layers, convolution, parts):
    network = Network(WORDS, arch, 6, 4, layers=layers, convolution=convolution).double().requires_grad_(False)
    states = torch.randn(5, network.size, generator=torch.Generator().manual_seed(0)).double()
    found = attribute(network, states, ["not", "great"], PROBES, draws=50)
    assert found.parts == parts
    torch.testing.assert_close(found.shares.sum(1), found.strength, rtol=1e-9, atol=1e-9)
    e = PROBES.inputs(network)
    after = network.step(states, network.E[1].expand(5, -1))
    with_word, usual = (PROBES.contrast(effects(network, h, e)).mean() for h in (after, states))
    assert float(found.strength[0]) == pytest.approx(float(with_word / usual - 1))
    low, high = found.strength_interval[0]
    assert low <= found.strength[0] <= high
    assert found.to_dict()["words"]["not"]["shares"] == found.shares[0].tolist()


def test_many_parts_are_exchanged_in_random_orders_that_still_sum():
    network = Network(WORDS, "mingru", 9, 4).double().requires_grad_(False)
    states = torch.randn(4, 9, generator=torch.Generator().manual_seed(0)).double()
    found = attribute(network, states, ["not"], PROBES, parts={f"unit {i}": [i] for i in range(8)}, draws=10)
    assert not found.exact and found.parts[-1] == "rest" and len(found.parts) == 9
    torch.testing.assert_close(found.shares.sum(1), found.strength, rtol=1e-9, atol=1e-9)


def test_in_one_layer_of_mingru_a_word_modifies_by_forgetting_alone():
    """What a word writes does not depend on the state: its effect changes only by what it makes the network forget."""
    network = Network(WORDS, "mingru", 6, 4).double().requires_grad_(False)
    layer = network.cell.layers[0]
    layer.W[:6] = 0  # no word changes what is forgotten
    states = torch.randn(5, 6, generator=torch.Generator().manual_seed(0)).double()
    assert attribute(network, states, ["not"], PROBES, draws=10).strength.abs().max() < 1e-12


def test_a_part_may_be_chosen_by_a_mask():
    network = two_layers(lambda flag, buffer: 1 - flag)
    by_numbers = attribute(network, STATES, ["not"], PROBES, parts={"a": [1, 2]})
    for mask in ([False, True, True], torch.tensor([False, True, True])):
        assert torch.equal(attribute(network, STATES, ["not"], PROBES, parts={"a": mask}).shares, by_numbers.shares)
