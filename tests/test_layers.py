"""Which layer integrates and which one modifies: hand-made networks of two layers, in which the answer is known."""

import json

import pytest
import torch
from torch import nn

import rnnlens
from rnnlens import Network, Probes, Vocab, figures
from rnnlens.context.layers import kept_by, several_parts, study_layers
from rnnlens.figures.style import shown
from rnnlens.networks import step_by_step
from rnnlens.networks.stack import Stack

# Inputs: [is it "not", is it "very", valence].
WORDS = ["<unk>", "not", "very", "good", "great", "bad", "awful"]
E = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 2], [0, 0, -1], [0, 0, -2]]).double()
PROBES = Probes(("good", "great"), ("bad", "awful"))
FACTORS = {"not": -2.0, "very": 0.5}


class Given(nn.Module):
    """A layer with a given step(h, e) and output."""

    blocks, hidden = 1, 3

    def __init__(self, step, size, inputs, output):
        super().__init__()
        self.step, self.size, self.inputs, self.output = step, size, inputs, output

    def sequence(self, e, h0):
        return step_by_step(self.step, e, h0)

    def outputs(self, e, h0):
        return self.sequence(e, h0)[:, 1:, self.output]


def factor(h):
    return 1 - 2 * h[..., 0:1] + 0.5 * h[..., 1:2]


def flags_then_sum():
    """The first layer remembers the last word's flags and gives the changed valence; the second one adds it up."""
    first = Given(lambda h, e: torch.cat([e[..., :2], factor(h) * e[..., 2:]], -1), 3, 3, slice(2, 3))
    return [first, Given(lambda h, e: h + e, 1, 1, slice(0, 1))]


def copy_then_all():
    """The first layer passes its input on; the second one remembers the flags and adds up."""
    first = Given(lambda h, e: e + 0 * h, 3, 3, slice(0, 3))
    second = Given(
        lambda h, e: torch.cat([h[..., :1] + factor(h[..., 1:]) * e[..., 2:], e[..., :2]], -1), 3, 3, slice(0, 1)
    )
    return [first, second]


def made(layers):
    cell = Stack(layers)
    w, b = torch.ones(1).double(), torch.zeros(()).double()
    return Network.assemble(cell, E, w, b, torch.zeros(cell.size).double(), Vocab(WORDS)).requires_grad_(False)


@pytest.mark.parametrize(("layers", "modifies"), [(flags_then_sum, 0), (copy_then_all, 1)], ids=["first", "second"])
def test_the_layer_that_modifies_and_the_one_that_integrates_are_found(layers, modifies):
    network = made(layers())
    total = network.cell.output.start
    states = torch.zeros(60, network.size).double()
    states[:, total] = torch.linspace(-3, 3, 60)
    line = rnnlens.fit_line_attractor(network, rnnlens.find_fixed_points(network, states))
    modifiers = rnnlens.find_modifiers(network, line, probes=PROBES)
    subspace = rnnlens.fit_subspace(network, line, modifiers, rank=1)
    found = study_layers(network, line, subspace, ["not", "very", "<unk>"], PROBES)
    assert found.parts == ["layer 1", "layer 2"]
    for word, change in FACTORS.items():
        shares = found[word]
        assert shares[f"layer {1 + modifies}"] == pytest.approx(change, abs=1e-6)
        assert shares[f"layer {2 - modifies}"] == pytest.approx(0, abs=1e-6)
        assert sum(shares.values()) == pytest.approx(modifiers[word]["strength"], abs=1e-6)
    assert found.keeps.tolist() == pytest.approx([0, 1], abs=1e-6), "the second layer integrates in both"
    assert float(found.subspace.sum()) == pytest.approx(1)


@pytest.fixture(scope="module")
def of_mamba():
    """The parts of two layers of Mamba as stored, and the network."""
    network = Network([*WORDS, "<b>x", "the", "movie", "was"], "mamba", 6, 4, layers=2, seed=1).requires_grad_(False)
    line = rnnlens.fit_line_attractor(
        network, rnnlens.find_fixed_points(network, rnnlens.visited_states(network, n=60), mode="slow")
    )
    modifiers = rnnlens.find_modifiers(network, line, probes=PROBES)
    subspace = rnnlens.fit_subspace(network, line, modifiers)
    return network, line, study_layers(network, line, subspace, ["<b>x", "very"], PROBES)


def test_timescales_and_attention_of_a_recurrence_of_today_are_stored(of_mamba):
    network, line, found = of_mamba
    stored = json.loads(json.dumps(found.to_dict()))
    times = rnnlens.linear_modes(network, line.h_star).by_part()
    for name, quantiles in zip(found.parts, stored["timescales"], strict=True):
        assert quantiles[2] == pytest.approx(float(times[name].quantile(0.5, interpolation="nearest")))
        assert quantiles == sorted(quantiles) and (max(quantiles) == 0) == ("convolution" in name)
    assert [one["layer"] for one in stored["attention"]] == [1, 2]
    for one in stored["attention"]:
        expected = rnnlens.effective_attention(network, "the movie was not very good", one["layer"])
        assert one["words"] == expected.words
        torch.testing.assert_close(torch.tensor(one["weights"]), expected.weights)
    row = stored["words"][0]
    assert sum(row["by_part"]) == pytest.approx(row["strength"], abs=1e-5)
    assert row["interval"][0] <= row["strength"] <= row["interval"][1]


def test_figures_of_parts_show_what_is_stored_and_words_as_text(of_mamba):
    stored = {"layers": of_mamba[2].to_dict()}
    made = {name: draw() for name, draw in figures.catalogue(stored).items()}
    assert set(made) == {"parts", "part_timescales", "attention"}
    forged = {"layers": {**stored["layers"], "parts": ["<a href='x'>"] * len(stored["layers"]["parts"])}}
    assert "<a " not in figures.parts(forged).to_json().encode().decode("unicode_escape")
    rows = {f"“{shown(row['word'])}”": row for row in stored["layers"]["words"]}
    both = figures.parts(stored, ["<b>x", "very"])
    for bars in both.data:
        row = rows[bars.name]
        assert list(bars.x) == [*row["by_part"], row["strength"]]
        ends = [*row["intervals"], row["interval"]]
        assert [x + plus for x, plus in zip(bars.x, bars.error_x.array, strict=True)] == pytest.approx(
            [max(high, x) for (_, high), x in zip(ends, bars.x, strict=True)]
        )
    assert len({bars.marker.pattern.shape for bars in both.data}) == 2
    assert {trace.y[0] for trace in made["part_timescales"].data} == {"layer 1 state", "layer 2 state"}
    first = stored["layers"]["attention"][0]["weights"]
    assert made["attention"].data[0].z[2][1] == first[2][1] and made["attention"].data[0].z[0][3] is None
    assert "<b>x" not in "".join(figure.to_json() for figure in (both, *made.values()))


def test_one_layer_has_no_parts_to_tell_apart():
    assert several_parts(Network(WORDS, "lstm", 6, 4)) == {}
    assert several_parts(Network(WORDS, "mingru", 6, 4)) == {}
    assert list(several_parts(Network(WORDS, "mamba", 6, 4))) == ["layer 1 convolution", "layer 1 state"]


def test_many_parts_are_joined_to_at_most_six():
    network = Network(WORDS, "mingru", 6, 4, layers=9, convolution=2)
    places = several_parts(network)
    assert list(places) == [f"layers {k} to {k + 1}" for k in (1, 3, 5, 7)] + ["layer 9"]
    assert torch.cat([*places.values()]).sort().values.tolist() == list(range(network.size))


def test_a_network_that_forgets_has_no_layer_that_keeps_evidence():
    torch.manual_seed(0)
    network = Network([f"w{i}" for i in range(40)], "gru", 8, 4, layers=2).requires_grad_(False)
    line = rnnlens.fit_line_attractor(
        network, rnnlens.find_fixed_points(network, rnnlens.visited_states(network, n=100), mode="slow")
    )
    probes = Probes(("w1", "w2"), ("w3", "w4"))
    modifiers = rnnlens.find_modifiers(network, line, probes=probes)
    stored = study_layers(network, line, rnnlens.fit_subspace(network, line, modifiers), ["w5"], probes).to_dict()
    assert json.loads(json.dumps(stored))["keeps"] is None, "rounding errors are no evidence"


def test_shares_of_the_evidence_sum_to_one():
    network = Network(WORDS, "gru", 6, 4, layers=3, memory=50).double().requires_grad_(False)
    line = rnnlens.fit_line_attractor(
        network, rnnlens.find_fixed_points(network, rnnlens.visited_states(network, n=200))
    )
    assert float(kept_by(network, line, several_parts(network)).sum()) == pytest.approx(1)
