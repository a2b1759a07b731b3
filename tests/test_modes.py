"""Modes decompose J_rec, say how long things last, and can be taken out of a deflection."""

import math

import pytest
import torch
from tests.torch_networks import normal

from rnnlens import Network, RnnlensError
from rnnlens.dynamics import jacobians, linear_modes, remove_modes
from rnnlens.dynamics.modes import decompose


def known():
    """A matrix with eigenvalues 0.99, 0.8·exp(±i·2π/5), −0.5, 0.1 in a random basis."""
    turn = 2 * math.pi / 5
    block = 0.8 * torch.tensor([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    D = torch.block_diag(torch.tensor([[0.99]]), block, torch.tensor([[-0.5]]), torch.tensor([[0.1]])).double()
    R = normal(5, 5)
    return R, R @ D @ torch.linalg.inv(R)


def test_known_spectrum_timescales_and_periods():
    modes = decompose(known()[1])
    torch.testing.assert_close(modes.timescales, -1 / torch.log(torch.tensor([0.99, 0.8, 0.8, 0.5, 0.1]).double()))
    expected = torch.tensor([math.inf, 5, 5, 2, math.inf]).double()
    torch.testing.assert_close(modes.periods, expected)
    assert modes.units == [(0,), (1, 2), (3,), (4,)] and modes.integration == 0


@pytest.mark.parametrize("arch", ["gru", "lstm", "ugrnn", "vanilla"])
def test_left_and_right_are_biorthonormal_and_rebuild_the_jacobian(arch):
    network = Network(["x"], arch=arch, hidden=8, embedding=2).double()
    h = 0.3 * torch.tanh(normal(network.size))
    modes = linear_modes(network, h)
    eye = torch.eye(network.size, dtype=torch.complex128)
    torch.testing.assert_close(modes.left @ modes.right, eye, rtol=0, atol=1e-9)
    rebuilt = (modes.right * modes.eigenvalues) @ modes.left
    torch.testing.assert_close(rebuilt.real, jacobians(network, h)[0], rtol=0, atol=1e-9)
    assert sorted(a for unit in modes.units for a in unit) == list(range(network.size))
    assert (modes.eigenvalues.abs().diff() < 1e-9).all(), "slowest first"


def test_amplitudes_rebuild_a_deflection_and_decay_with_their_eigenvalues():
    _, J = known()
    modes, delta = decompose(J), normal(5, seed=1)
    amplitudes = modes.amplitudes(delta)
    torch.testing.assert_close((modes.right @ amplitudes).real, delta)
    after = modes.amplitudes(torch.linalg.matrix_power(J, 7) @ delta)
    torch.testing.assert_close(after, modes.eigenvalues**7 * amplitudes)


@pytest.mark.parametrize("kind", ["biorthogonal", "orthogonal"])
def test_removed_modes_are_not_excited_and_conjugates_go_together(kind):
    _, J = known()
    modes, h_star, h = decompose(J), normal(5, seed=2), normal(3, 5, seed=3)
    cut = remove_modes(h, modes, h_star, [1], kind) - h_star
    left = modes.amplitudes(cut)
    assert left[:, 1:3].abs().max() < 1e-9
    others = modes.amplitudes(h - h_star)[:, [0, 3, 4]]
    unchanged = torch.allclose(left[:, [0, 3, 4]], others)
    assert unchanged == (kind == "biorthogonal")
    assert torch.equal(remove_modes(h, modes, h_star, []), h)
    torch.testing.assert_close(remove_modes(h, modes, h_star, range(5), kind), h_star.expand(3, 5))


def test_angles_are_to_the_span_of_left_eigenvectors():
    R, J = known()
    modes, L = decompose(J), torch.linalg.inv(R)
    angles = modes.angles(L[0])
    assert angles[0] < 1e-4 and angles.shape == (4,)
    inside_pair = 0.3 * L[1] - 2 * L[2]
    assert modes.angles(inside_pair)[1] < 1e-4
    normal_to_it = torch.linalg.svd(L[1:3])[2][-1]
    assert modes.angles(normal_to_it)[1] == pytest.approx(90, abs=1e-4)


def test_the_angle_to_a_real_mode_is_that_between_two_vectors():
    """Rounding leaves imaginary parts of 1e-16 in the left eigenvectors of real modes: they are no directions."""
    J = normal(30, 30, seed=7) / 30**0.5
    modes, direction = decompose(J), normal(30, seed=8)
    values, left = torch.linalg.eig(J.t())
    for unit, angle in zip(modes.units, modes.angles(direction).tolist(), strict=True):
        if len(unit) == 2:
            continue
        row = left[:, (values - modes.eigenvalues[unit[0]]).abs().argmin()].real
        cosine = (row @ direction).abs() / row.norm() / direction.norm()
        assert angle == pytest.approx(torch.rad2deg(torch.acos(cosine)).item(), abs=1e-6)
        cut = remove_modes(direction, modes, torch.zeros(30).double(), unit, "orthogonal")
        torch.testing.assert_close(cut, direction - (row @ direction) * row / row.square().sum())


def test_pairs_that_are_equally_slow_are_not_mixed_up():
    B = torch.tensor([[0.5, -0.3], [0.3, 0.5]]).double()
    for J in (torch.block_diag(B, -B), torch.block_diag(B, B)):
        modes = decompose(J)
        for unit in modes.units:
            torch.testing.assert_close(modes.eigenvalues[unit[0]], modes.eigenvalues[unit[1]].conj())
        cut = remove_modes(torch.ones(4).double(), modes, torch.zeros(4).double(), [0])
        assert modes.amplitudes(cut)[list(modes.units[0])].abs().max() < 1e-12


def test_a_matrix_without_modes_is_told():
    with pytest.raises(RnnlensError, match="defective"):
        decompose(torch.diag(torch.ones(2).double(), 1))
