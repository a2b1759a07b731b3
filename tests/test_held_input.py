"""Slow points found at an input are analyzed at this input: line, modes and stability; words' effects only at none."""

from __future__ import annotations

import pytest
import torch
from tests.handmade import handmade
from tests.support.calls import refused
from torch import Tensor

import rnnlens
from rnnlens import Network, adapt
from rnnlens.context import find_modifiers
from rnnlens.context.barcodes import barcode
from rnnlens.context.edges import ending
from rnnlens.context.probes import Probes
from rnnlens.dynamics import FixedPoints, find_fixed_points, fit_line_attractor, jacobians, linear_modes

AT_INPUT, AT_ZERO = 1.0, 1.02  # the integration eigenvalues of the network below
HELD = torch.tensor([1.0, 0.0], dtype=torch.float64)


def gated_points(inputs: Tensor | None = HELD) -> tuple[Network, Tensor, FixedPoints]:
    """h = Q z: the input e1 turns the eigenvalue of z1 from 1.02 to 1, and moves z2, which forgets half a step."""
    Q = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64))[0]

    def step(h: Tensor, e: Tensor) -> Tensor:
        z, gate = h @ Q, AT_ZERO + (AT_INPUT - AT_ZERO) * e[..., :1]
        return torch.cat([gate * z[..., :1], 0.5 * z[..., 1:2] + e[..., :1], 0.3 * z[..., 2:]], -1) @ Q.t()

    network = adapt(step, None, (Q[:, 0].clone(), 0.0), None, torch.zeros(3, dtype=torch.float64), inputs=2)
    starts = torch.randn(200, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return network, Q, find_fixed_points(network, starts, inputs=inputs, mode="slow")


def test_line_modes_and_stability_are_those_at_the_points_own_input() -> None:
    network, Q, points = gated_points()
    line = fit_line_attractor(network, points)
    assert torch.equal(line.inputs, HELD)
    assert line.integration_eigenvalue == pytest.approx(AT_INPUT, abs=1e-9)
    assert line.to_dict()["integration_eigenvalue"][0] == pytest.approx(AT_INPUT, abs=1e-9)
    exact = torch.autograd.functional.jacobian(lambda h: network.step(h, HELD), line.h_star)
    torch.testing.assert_close(line.modes.J, exact, rtol=0, atol=1e-12)
    left = line.modes.left[line.modes.integration].real
    assert abs(left @ Q[:, 0]) / left.norm() == pytest.approx(1)
    assert points.stability.tolist() == [0] * len(points), "at zero input every one has a direction of 1.02"
    assert line.distance(line.h_star + 0.1 * Q[:, 2]).item() == pytest.approx(0.1, abs=1e-2)


def test_modes_of_a_point_are_taken_at_its_input_and_of_a_state_at_the_input_that_is_said() -> None:
    network, _, points = gated_points()
    one = points.take(3)
    h = one.states[0]
    exact = torch.autograd.functional.jacobian(lambda h: network.step(h, HELD), h)
    for modes in (linear_modes(network, one), linear_modes(network, one, HELD), linear_modes(network, h, inputs=HELD)):
        torch.testing.assert_close(modes.J, exact, rtol=0, atol=1e-12)
        assert torch.equal(modes.inputs, HELD)
    assert linear_modes(network, h).eigenvalues.real.max() == pytest.approx(AT_ZERO)
    torch.testing.assert_close(linear_modes(network, h).J, jacobians(network, h)[0])


def test_states_are_held_at_the_input_that_is_said() -> None:
    network, _, points = gated_points()
    at_input = fit_line_attractor(network, points.states, inputs=HELD)
    assert at_input.integration_eigenvalue == pytest.approx(AT_INPUT, abs=1e-9)
    assert fit_line_attractor(network, points.states).integration_eigenvalue == pytest.approx(AT_ZERO)
    each = gated_points(HELD.expand(200, 2))[2]  # one input for each point, and all the same
    assert fit_line_attractor(network, each).integration_eigenvalue == pytest.approx(AT_INPUT, abs=1e-9)
    mixed = HELD.expand(200, 2).clone()
    mixed[:, 1] = torch.linspace(0, 1, 200)
    refused(lambda: fit_line_attractor(network, gated_points(mixed)[2]), "found at several inputs")


def test_another_input_than_the_points_is_refused() -> None:
    network, _, points = gated_points()
    other = torch.tensor([0.5, 0.0], dtype=torch.float64)
    refused(lambda: fit_line_attractor(network, points, inputs=other), "another input")
    refused(lambda: linear_modes(network, points.take(0), other), "another input")
    refused(lambda: linear_modes(network, points), "200 points: expected one")


def test_word_effects_are_refused_on_a_line_at_another_input_than_the_blank_one() -> None:
    network, Q = handmade()
    states = torch.linspace(-4, 4, 50).double().unsqueeze(1) * Q[:, 0]
    line, probes = fit_line_attractor(network, states, inputs="w3"), Probes(("good", "great"), ("bad", "awful"))
    for call in (
        lambda: find_modifiers(network, line),
        lambda: barcode(network, line, "not", probes),
        lambda: ending(network, line, probes),
        lambda: Probes.from_network(network, line),
    ):
        refused(call, "an input that is not blank")
    modes = linear_modes(network, line.h_star, "w3")
    refused(lambda: rnnlens.mode_removal(network, Q[:, 1], line.h_star, network.E[:2], modes), "not blank")
