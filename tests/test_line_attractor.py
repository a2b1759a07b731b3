"""The line attractor is recovered where there is one, and not claimed where there is none."""

import pytest
import torch
from tests.torch_networks import normal

from rnnlens import Network, adapt
from rnnlens.dynamics import find_fixed_points, fit_line_attractor


def network_with(step, size, w):
    return adapt(step, None, (w, torch.zeros(()).double()), None, torch.zeros(size).double(), inputs=1)


def still(size, w=None):
    """A network whose every state is a fixed point."""
    return network_with(lambda h, e: h, size, torch.eye(size).double()[0] if w is None else w)


def test_straight_line_of_a_linear_network():
    """Eigenvalue 1 along r, 0.5 across it; readout along r."""
    r = torch.nn.functional.normalize(normal(5), dim=0)
    A = 0.5 * torch.eye(5).double() + 0.5 * torch.outer(r, r)
    network = network_with(lambda h, e: h @ A.T, 5, 2 * r)
    points = find_fixed_points(network, normal(500, 5, seed=1), mode="slow")
    line = fit_line_attractor(network, points)
    assert line.is_line and line.explained > 0.99 and line.pc1_variance > 0.999 and line.bend < 1e-3
    assert line.readout_alignment == pytest.approx(1, abs=1e-6)
    assert line.integration_eigenvalue == pytest.approx(1, abs=1e-9)
    off = torch.nn.functional.normalize(normal(5, seed=2) - (normal(5, seed=2) @ r) * r, dim=0)
    h = line.at(0.7) + 0.3 * off
    assert line.distance(h).item() == pytest.approx(0.3, abs=1e-3)
    torch.testing.assert_close(line.nearest(h), line.at(0.7), rtol=0, atol=1e-3)
    assert abs(line.tangent(h) @ r) == pytest.approx(1, abs=1e-4)
    assert network.logit(line.h_star).abs() < 1e-4  # solved for, not the nearest of the sample


def test_curved_line_is_followed_and_its_bend_told():
    s = torch.linspace(-1, 1, 400).double()
    curve = torch.stack([s, 0.5 * s**2, torch.zeros(400).double()], 1)
    line = fit_line_attractor(still(3), curve + 0.005 * normal(400, 3))
    assert line.is_line and line.explained > 0.995 > line.pc1_variance
    assert line.bend == pytest.approx(0.25, abs=0.02)  # 0.5 high over a chord of 2
    h = torch.tensor([[0.5, 0.125, 0.4], [-0.8, 0.32, -0.1]]).double()
    torch.testing.assert_close(line.distance(h), torch.tensor([0.4, 0.1]).double(), rtol=0, atol=0.01)
    slope = torch.tensor([1.0, 0.5, 0.0]).double() / 1.25**0.5
    torch.testing.assert_close(line.tangent(h[0]), slope, rtol=0, atol=0.03)
    assert (line.logits.diff() > 0).all()


def test_a_cloud_and_a_ring_are_not_called_lines():
    assert not fit_line_attractor(still(4), normal(500, 4)).is_line
    angle = torch.linspace(0, 6.28, 500).double()
    ring = fit_line_attractor(still(2), torch.stack([angle.cos(), angle.sin()], 1))
    assert not ring.is_line and ring.explained < 0.8 and "not one-dimensional" in repr(ring)


@pytest.mark.parametrize("arch", ["gru", "lstm", "ugrnn", "vanilla"])
def test_every_architecture_and_precision(arch):
    network = Network(["x"], arch=arch, hidden=6, embedding=2)
    points = find_fixed_points(network, torch.tanh(normal(60, network.size)).float(), mode="slow")
    line = fit_line_attractor(network, points.starts)
    assert line.knots.dtype == torch.float32 and line.nearest(points.states).shape == points.states.shape
    assert line.to_dict().keys() >= {"pc1_variance", "integration_eigenvalue", "readout_alignment"}


def test_the_nearest_point_is_looked_for_on_every_segment():
    from rnnlens.dynamics.curves import nearest_on

    knots = torch.tensor([[0.0, 0.0], [10.0, 0.0], [10.0, 4.0], [5.0, 4.0]]).double()
    point, segment, along = nearest_on(knots, torch.tensor([5.0, 1.5]).double())
    assert point.tolist() == [5, 0] and segment == 0 and along == 0.5


@pytest.mark.parametrize("gain", [1.5, 2, 20])  # from twenty steps from one state to the other to a single one
def test_separate_fixed_points_are_not_called_a_line(gain):
    """A switch between two states: a curve through them explains everything, but states between them move."""
    switch = network_with(lambda h, e: torch.tanh(gain * h), 3, torch.ones(3).double())
    along = normal(300, 1) + 0 * normal(300, 3)  # the units agree: ±(1, 1, 1)
    points = find_fixed_points(switch, along, mode="slow")
    line = fit_line_attractor(switch, points)
    assert line.explained > 0.99 and line.filled <= 0.75
    torch.testing.assert_close(line.tangents, torch.full((64, 3), 3**-0.5).double())  # though the points have no spread
    assert line.shape == "separate points" and not line.is_line and "separate points!" in repr(line)
    assert fit_line_attractor(switch, points.states).shape == "separate points"  # states alone, without starts


def test_states_that_overflow_between_points_are_not_held():
    """NaN is larger than no limit. A curve without gaps steps no states: a user's step may refuse a batch of none."""

    def step(h, e):
        assert h.numel()
        return torch.where(h.abs() < 0.8, torch.nan, h)

    network, along = network_with(step, 3, torch.ones(3).double()), torch.linspace(0.95, 1, 100).double().unsqueeze(1)
    line = fit_line_attractor(network, torch.cat([-along, along]) * torch.ones(3).double())
    assert line.shape == "separate points" and line.filled < 0.5
    assert fit_line_attractor(network, along * torch.ones(3).double()).is_line


def test_a_sparse_line_is_a_line():
    """Five points of a perfect line leave gaps, but all states between them are slow."""
    line = fit_line_attractor(still(3), normal(5, 1) * torch.ones(3).double())
    assert line.is_line and line.filled == 1


@pytest.mark.parametrize("decay", [0.3, 0.9])
def test_the_scatter_around_one_fixed_point_is_not_called_a_line(decay):
    A = torch.diag(torch.tensor([decay, 0.1, 0.05]).double())
    network = network_with(lambda h, e: h @ A, 3, torch.ones(3).double())
    line = fit_line_attractor(network, find_fixed_points(network, normal(300, 3), mode="slow"))
    assert line.explained > 0.99 and line.kept < 0.1
    assert line.shape == "one point" and not line.is_line and "one point!" in repr(line)


def test_starts_far_beyond_the_ends_of_a_line_leave_it_a_line():
    """Of starts a hundred times as far apart, less than a tenth is left; but the line holds what is on it."""
    network = network_with(lambda h, e: torch.tensor([1.0, 0.0]).double() * h.clamp(-1, 1), 2, normal(2))
    line = fit_line_attractor(network, find_fixed_points(network, 100 * normal(300, 2), mode="slow"))
    assert line.kept < 0.1 and line.is_line


def test_the_line_keeps_both_parts_of_a_complex_integration_mode():
    """The phase of a complex eigenvector is arbitrary: what is orthogonal to its real part alone may be integrated."""
    a, b = 0.99, 0.02
    A = torch.tensor([[a, -b, 0, 0], [b, a, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 0.4]]).double()
    Q = torch.linalg.qr(normal(4, 4))[0]
    J = Q @ A @ Q.T
    network = network_with(lambda h, e: h @ J.T, 4, Q[:, 2].contiguous())
    line = fit_line_attractor(network, Q[:, 2] * normal(50, 1))
    assert abs(line.integration_eigenvalue.imag) == pytest.approx(b)
    plane = Q[:, :2].T
    torch.testing.assert_close((plane @ line.valence.T).norm(dim=1), torch.ones(2).double())


def test_all_eigenvalues_near_one_are_counted():
    """A plane has two; the claim about the nearest one says that it is not alone."""
    from rnnlens.analysis.paper_claims import one_mode_integrates

    A = torch.diag(torch.tensor([1.0, 0.99, 0.97, 0.5]).double())
    line = fit_line_attractor(network_with(lambda h, e: h @ A, 4, normal(4)), normal(50, 4))
    assert line.integrating == 2 and line.to_dict()["integrating"] == 2
    assert one_mode_integrates({"line_attractor": line.to_dict()}) == (True, "1.0000, one of 2 so near")
    earlier = {"integration_eigenvalue": [0.99, 0.0]}  # results of an earlier version have no count
    assert one_mode_integrates({"line_attractor": earlier}) == (True, "0.9900")
