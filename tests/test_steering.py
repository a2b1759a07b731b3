"""Steering: `steer` follows its formula, changes nothing at gain 1, and scales what modifiers do to the next word."""

import numpy as np
import pytest
import torch
from handmade import Documents, handmade

import rnnlens
from rnnlens import steer
from rnnlens.context import Probes, Reviews, dose_response, final_logits
from rnnlens.context.dose_response import GAINS as MEASURED
from rnnlens.context.dose_response import Steering, modifications, steered_strengths
from rnnlens.context.strength import strengths
from rnnlens.context.subspace import random_subspace
from rnnlens.dynamics import linearise

ARCHS = ("gru", "lstm", "ugrnn", "vanilla")
WORDS = list("abcde")
GAINS = (0.0, 0.5, 1.0, 2.0)


def rows(network, rank=2, seed=1):
    return random_subspace(network.size, rank, torch.Generator().manual_seed(seed)).to(network.h0)


def made(kind):
    """A network of an architecture, of two layers of torch's, or of a Python function."""
    if kind == "layers":
        torch.manual_seed(0)
        parts = torch.nn.LSTM(4, 5, num_layers=2), torch.nn.Embedding(5, 4), torch.nn.Linear(5, 1)
        return rnnlens.from_torch(*parts, WORDS).double().requires_grad_(False)
    network = rnnlens.Network(WORDS, arch="gru" if kind == "function" else kind, hidden=6, embedding=4).double()
    if kind == "function":
        network = rnnlens.adapt(network.step, network.E, (network.w.detach(), network.b.detach()), WORDS, network.h0)
    return network.requires_grad_(False)


def formula(network, V, gain, h, e):
    new = network.step(h, e)
    return new + (gain - 1) * torch.einsum("rn,rm,...m->...n", V, V, new - network.step(h, torch.zeros_like(e)))


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("kind", [*ARCHS, "layers", "function"])
def test_steps_states_and_jacobians_follow_the_formula(kind, gain):
    network = made(kind)
    V, generator = rows(network), torch.Generator().manual_seed(2)
    other = steer(network, V, gain)
    h = torch.randn(3, 2, network.size, generator=generator, dtype=torch.float64)
    e = torch.randn(3, 2, network.inputs, generator=generator, dtype=torch.float64)
    close = {"rtol": 0, "atol": 1e-12}
    torch.testing.assert_close(other.step(h, e), formula(network, V, gain, h, e), **close)

    ids = torch.tensor([[0, 1, 2, -1, 4], [3, 3, -1, 0, 1]])
    states = [network.h0.expand(2, -1)]
    for t in range(ids.shape[1]):
        states.append(formula(network, V, gain, states[-1], network.embed(ids[:, t])))
    torch.testing.assert_close(other.states(ids), torch.stack(states, 1), **close)
    torch.testing.assert_close(other.logits(ids), network.logit(torch.stack(states, 1)), **close)
    lengths = torch.tensor([3, 5])
    torch.testing.assert_close(other(ids, lengths), network.logit(torch.stack([states[3][0], states[5][1]])), **close)
    assert other.read("a b c")[-1][1] == pytest.approx(float(other(ids[:1, :3])), abs=1e-12)

    for one_h, one_e in ((h[0, 0], e[0, 0]), (h[2, 1], e[2, 1])):
        by_torch = torch.func.jacrev(lambda h, e: formula(network, V, gain, h, e), (0, 1))(one_h, one_e)
        for ours, reference in zip(rnnlens.jacobians(other, one_h, one_e), by_torch, strict=True):
            torch.testing.assert_close(ours, reference, **close)
        torch.testing.assert_close(linearise(other, one_h, one_e).rec(one_h), by_torch[0] @ one_h, **close)


@pytest.mark.parametrize("kind", [*ARCHS, "layers", "function"])
def test_gain_one_is_the_network_and_gain_zero_writes_nothing(kind):
    network = made(kind).float()
    V, ids = rows(network), torch.tensor([[0, 1, 2, -1, 4]])
    same = steer(network, V, 1)
    assert torch.equal(same.states(ids), network.states(ids)) and torch.equal(same(ids), network(ids))
    e = network.E[:3]
    h = torch.randn(3, network.size, generator=torch.Generator().manual_seed(0))
    assert torch.equal(same.step(h, e), network.step(h, e))
    none = steer(network, V, 0)
    torch.testing.assert_close(none.step(h, e) @ V.t(), network.step(h) @ V.t(), rtol=0, atol=1e-6)
    for gain in GAINS:  # blank inputs are read as before: slow points and the line stay
        assert torch.equal(steer(network, V, gain).step(h), network.step(h))


def test_steering_copies_the_network_and_can_be_repeated():
    network = rnnlens.Network(WORDS, hidden=6, embedding=4)
    V = rows(network)
    twice = steer(steer(network, V, 0.5), V, 2)
    assert all(p.requires_grad for p in network.parameters()) and not any(p.requires_grad for p in twice.parameters())
    h, e = torch.randn(3, 6, generator=torch.Generator().manual_seed(0)), network.E[:3]
    torch.testing.assert_close(twice.step(h, e), network.step(h, e))  # half, then double
    with torch.no_grad():
        network.cell.W.add_(1)
    assert not torch.equal(twice.cell.cell.cell.W, network.cell.W)
    learning = steer(network, V, 2).requires_grad_()
    learning(torch.tensor([[0, 1, 2]])).sum().backward()
    assert bool(learning.cell.cell.U.grad.any())


def test_the_gain_scales_what_known_modifiers_do():
    """In the handmade network *not* writes −2 into a coordinate that multiplies the next word by 1 + its value."""
    network, _ = handmade()
    analysis = rnnlens.analyze(network, probes=Probes(("great", "good"), ("awful", "bad")), rank=2, starts=200)
    pads = ["<pad>"] * 60  # until the initial state has faded
    for gain in GAINS:
        other = steer(network, analysis.subspace, gain)
        plain, negated = (other.read(words=[*pads, *words])[-1][1] for words in (["good"], ["not", "good"]))
        assert plain == pytest.approx(1.5, abs=1e-3)  # 1 and a transient of a half: valence is not steered
        assert negated == pytest.approx(1.5 * (1 - 2 * gain), abs=1e-2)


# --- the dose-response ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def known():
    """The analysis of the handmade network, which modifies by 1 + what modifiers wrote."""
    return rnnlens.analyze(handmade()[0], probes=Probes(("great", "good"), ("awful", "bad")), rank=2, starts=200)


@pytest.mark.parametrize("arch", ARCHS)
def test_strengths_are_those_of_the_steered_network(arch):
    """Also along directions that the readout sees, where a step's own effect is steered too."""
    words = [f"w{i}" for i in range(60)]
    network = rnnlens.Network(words, arch=arch, hidden=8, embedding=4, seed=1).double().requires_grad_(False)
    analysis = rnnlens.analyze(network, starts=100)
    modifiers, chosen = analysis.modifiers, torch.arange(20)
    for V in (analysis.subspace.components, rows(network)):
        found = steered_strengths(network, modifiers, chosen, V, GAINS)
        for gain, ours in zip(GAINS, found, strict=True):
            other = steer(network, V, gain)
            reference = strengths(other, analysis.line, modifiers.ids[chosen], analysis.probes).strength
            np.testing.assert_allclose(ours, reference.numpy(), rtol=1e-9, atol=1e-9)


def test_the_modification_of_a_bilinear_network_is_its_gain(known):
    chosen = known.modifiers.selected
    found = steered_strengths(known.network, known.modifiers, chosen, known.subspace.components, MEASURED)
    for gain, (mean, (low, high)) in zip(MEASURED, modifications(found, MEASURED), strict=True):
        assert mean == pytest.approx(gain, abs=2e-3) and low - 1e-9 <= mean <= high + 1e-9


def test_the_modification_is_signed_by_the_strength_at_gain_one():
    strength = np.array([[0.0, 0.0], [-2.0, 1.0], [2.0, -1.0], [-4.0, 0.5]])
    values = [mean for mean, _ in modifications(strength, (0.5, 1, 1.5, 2))]
    assert values == pytest.approx([0, 1, -1, 1.5])
    assert modifications(np.zeros((2, 0)), (0, 1)) == [(None, None), (None, None)]


def test_doses_are_accuracies_of_the_steered_network_paired_with_gain_one(known):
    network, generator = known.network, np.random.default_rng(0)
    some = [generator.integers(0, len(network.vocab), n) for n in generator.integers(3, 30, 60)]
    steered = [steer(network, known.subspace, gain) for gain in MEASURED]
    some = [
        row for row in some if all(abs(float(one(torch.as_tensor(row)[None]))) > 1e-9 for one in steered)
    ]  # no ties
    logits = np.array([float(network(torch.as_tensor(row)[None])) for row in some])
    reviews = Reviews.of(Documents(some, (logits > 0).astype(int)), "cpu")  # right as it is
    steering = dose_response(network, known.subspace, known.modifiers, reviews, draws=2, others=[known.subspace])
    assert steering.rank == 2 and steering.words == len(known.modifiers.selected) and len(steering.random) == 2
    assert [dose.gain for dose in steering.doses] == list(MEASURED)
    for dose in steering.doses:
        right = (final_logits(steer(network, known.subspace, dose.gain), reviews) > 0) == reviews.labels
        assert dose.accuracy.accuracy == pytest.approx(right.mean()) and dose.accuracy.before == 1
    at = {dose.gain: dose for dose in steering.doses}
    assert at[1.0].accuracy.difference == 0 and at[0.0].accuracy.difference < 0
    assert at[0.0].accuracy.interval[0] < at[0.0].accuracy.difference < at[0.0].accuracy.interval[1]
    for draw in steering.random:  # random directions are orthogonal to the readout, and hold little of what words write
        for dose in draw:
            assert abs(dose.modification - 1) < abs(at[dose.gain].modification - 1) or dose.gain == 1
    same = [(dose.gain, dose.modification) for dose in steering.others[0]]
    assert same == [(dose.gain, dose.modification) for dose in steering.doses if dose.gain in dict(same)]
    assert Steering.from_dict(steering.to_dict()) == steering and "×1.00, ×" in str(steering)
