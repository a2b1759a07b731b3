"""Fixed points of networks whose answer is known, and of others against float64 dense Newton by autograd."""

import math

import pytest
import torch
from tests.torch_networks import normal

from rnnlens import Network, RnnlensError, adapt
from rnnlens.dynamics import class_geometry, find_fixed_points, fit_line_attractor, linear_modes, linearise
from rnnlens.dynamics.linear_solvers import gmres, least_squares
from rnnlens.networks import CELLS, Vanilla


def of(step, size, inputs=1):
    """A network without words from a step function."""
    return adapt(
        step,
        None,
        (torch.ones(size).double(), torch.zeros(()).double()),
        None,
        torch.zeros(size).double(),
        inputs=inputs,
    )


def vanilla(U, dtype=torch.float64):
    """h' = tanh(U h) as a network of ours."""
    network = Network(["x"], arch="vanilla", hidden=len(U), embedding=1).to(dtype)
    with torch.no_grad():
        for parameter in network.cell.parameters():
            parameter.zero_()
        network.cell.U.copy_(U)
    return network


def q_of(network, h):
    """q at the very states, in float64."""
    import copy

    with torch.no_grad():
        h = h.double()
        return 0.5 * (h - copy.deepcopy(network).double().step(h)).square().sum(-1)


def dense_newton(network, starts, tolerance=1e-24, steps=200):
    """The reference: Newton with autograd's Jacobian in float64, steps halved until q falls; points that converged."""
    found = []
    for h in starts.double():
        for _ in range(steps):
            g = network.step(h) - h
            q = 0.5 * g.square().sum()
            if q <= tolerance:
                found.append(h)
                break
            A = torch.eye(len(h)).double() - torch.func.jacrev(network.step)(h)
            delta, length = torch.linalg.solve_ex(A, g)[0], 1.0
            while length > 1e-3:
                trial = h + length * delta
                if 0.5 * (network.step(trial) - trial).square().sum() < q * (1 - 1e-4 * length):
                    break
                length /= 2
            else:
                break
            h = trial.detach()
    return torch.stack(found).detach()


def distinct(states, radius=1e-6):
    kept = []
    for h in states:
        if all((h - other).norm() > radius for other in kept):
            kept.append(h)
    return torch.stack(kept)


def test_linear_network_has_its_one_point_whatever_its_spectrum():
    """Contracting, oscillating and unstable modes alike."""
    for values in ([0.9, 0.5, -0.3, 0.1], [1.5, -1.2, 0.99, 0.2]):
        R = normal(4, 4, seed=3)
        A = R @ torch.diag(torch.tensor(values).double()) @ torch.linalg.inv(R)
        c = normal(4, seed=4)
        network = of(lambda h, e, A=A, c=c: h @ A.T + c, 4)
        points = find_fixed_points(network, 5 * normal(50, 4))
        assert points.converged.all() and len(points.unique) == 1
        expected = torch.linalg.solve(torch.eye(4).double() - A, c)
        torch.testing.assert_close(points.unique.states[0], expected, rtol=1e-4, atol=1e-4)
        assert points.unique.multiplicity.tolist() == [50]
        assert points.unique.stability.tolist() == [sum(abs(value) > 1 for value in values)]


def test_rotating_network_converges_though_its_steps_only_turn():
    angle = 1.0
    A = 1.01 * torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]).double()
    points = find_fixed_points(of(lambda h, e: h @ A.T, 2), normal(20, 2))
    assert points.converged.all() and points.unique.states.norm() < 1e-5 and points.unique.stability.item() == 2


def test_bistable_units_have_every_combination_and_hand_computed_saddles():
    """h' = tanh(2h), unit by unit: 0 and ±0.9575…; 27 points, as many unstable directions as zeros."""
    network = vanilla(2 * torch.eye(3).double())
    star = 0.9575040240772687
    points = find_fixed_points(
        network, 2 * torch.rand(4_000, 3, generator=torch.Generator().manual_seed(0)).double() - 1
    )
    assert points.converged.float().mean() > 0.99
    rounded = {tuple(round(value / star) for value in state.tolist()) for state in points.unique.states}
    near = (points.unique.states.abs() - star).abs().minimum(points.unique.states.abs())
    assert near.max() < 1e-5
    stable = points.unique.states[points.unique.stability == 0]
    assert len(stable) == 8 and (stable.abs() - star).abs().max() < 1e-5
    # Starts at the saddles stay there: every one of the 27 is recognised.
    grid = torch.cartesian_prod(*[torch.tensor([-star, 0.0, star]).double()] * 3)
    saddles = find_fixed_points(network, grid)
    assert saddles.converged.all() and len(saddles.unique) == 27
    assert saddles.stability.tolist() == (grid == 0).sum(1).tolist()
    assert rounded <= set(map(tuple, torch.cartesian_prod(*[torch.tensor([-1, 0, 1])] * 3).tolist()))


def test_exact_line_attractor_every_start_rests_where_it_falls():
    """Eigenvalue 1 along one direction: I − J has no inverse anywhere on the line."""
    R = normal(6, 6, seed=1)
    A = R @ torch.diag(torch.tensor([1.0, 0.9, 0.5, 0.3, -0.4, 0.1]).double()) @ torch.linalg.inv(R)
    network = of(lambda h, e: h @ A.T, 6)
    starts = normal(200, 6)
    for mode in ("fixed", "slow"):
        points = find_fixed_points(network, starts, mode=mode)
        assert points.converged.all()
        left = torch.linalg.inv(R)[0]  # what the dynamics keep
        torch.testing.assert_close(points.states @ left, starts @ left, rtol=0, atol=1e-3)


def test_ring_attractor_is_found_all_around():
    network = of(lambda h, e: h * (1 + 0.3 * (1 - h.square().sum(-1, keepdim=True))), 2)
    points = find_fixed_points(network, torch.tanh(normal(300, 2)), mode="slow")
    assert points.converged.all()
    radius = points.states.norm(dim=1)
    on_ring, at_centre = (radius - 1).abs() < 1e-2, radius < 0.3  # around the centre, a fixed point too, it is slow
    assert (on_ring | at_centre).all() and on_ring.float().mean() > 0.9
    angles = torch.atan2(points.states[on_ring, 1], points.states[on_ring, 0])
    assert torch.histc(angles.float(), 12, -math.pi, math.pi).min() > 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_chaotic_network_has_every_point_that_dense_newton_finds(dtype):
    N = 40
    exact = vanilla(1.5 * normal(N, N, seed=5) / N**0.5)
    starts = torch.tanh(normal(400, N, seed=6))
    reference = distinct(dense_newton(exact, starts))
    points = find_fixed_points(vanilla(exact.cell.U.detach(), dtype), starts.to(dtype))
    assert (q_of(exact, points.states[points.converged]) <= 1e-12).all(), "every point reported is one"
    unique = points.unique.states.double()
    apart = torch.cdist(reference, unique).min(1).values
    assert apart.max() < 1e-4, f"{int((apart >= 1e-4).sum())} of {len(reference)} points of dense Newton were missed"
    assert len(unique) == len(distinct(unique, 1e-4)), "no point is reported twice"


@pytest.mark.parametrize("arch", CELLS)
def test_every_architecture_agrees_with_dense_newton(arch):
    network = Network(["x", "y"], arch=arch, hidden=12, embedding=2, seed=3).double()
    with torch.no_grad():
        network.cell.U.mul_(2.5)
    starts = 0.7 * torch.tanh(normal(150, network.size, seed=2))
    reference = distinct(dense_newton(network, starts))
    low, high = network.cell.bounds()  # far outside, where gates saturate, Newton meets "points" no network can be in
    reference = reference[((reference >= low) & (reference <= high)).all(1)]
    points = find_fixed_points(network, starts)
    assert (q_of(network, points.states[points.converged]) <= 1e-12).all()
    assert torch.cdist(reference, points.unique.states).min(1).values.max() < 1e-4


@pytest.mark.parametrize("mode", ["fixed", "slow"])
@pytest.mark.parametrize("arch", CELLS)
def test_never_worse_than_the_start_never_outside_the_box(arch, mode):
    network = Network(["x"], arch=arch, hidden=10, embedding=2, seed=1).double()
    with torch.no_grad():
        network.cell.U.mul_(6.0)  # wild
    starts = torch.tanh(2 * normal(100, network.size))
    before = starts.clone()
    points = find_fixed_points(network, starts, mode=mode)
    assert torch.equal(starts, before), "the caller's states are left alone"
    assert (points.q <= q_of(network, starts) * (1 + 1e-9)).all()
    torch.testing.assert_close(points.q, q_of(network, points.states), rtol=1e-9, atol=1e-30)
    torch.testing.assert_close(points.residual, (2 * points.q).sqrt())
    low, high = network.cell.bounds()
    assert ((points.states >= low) & (points.states <= high)).all()
    if mode == "fixed":
        assert torch.equal(points.converged, points.q <= 1e-12)


def test_labels_say_which_start_led_where():
    network = vanilla(2 * torch.eye(2).double())
    starts = torch.tensor([[0.5, 0.5], [0.4, 0.6], [-0.5, 0.5], [0.3, 0.2]]).double()
    points = find_fixed_points(network, starts)
    unique = points.unique
    assert points.labels.min() >= 0 and unique.multiplicity.sum() == 4
    torch.testing.assert_close(unique.states[points.labels], points.states, rtol=0, atol=1e-5)


def test_chunks_and_repetition_change_nothing():
    network = Network(["x"], arch="gru", hidden=8, embedding=2, seed=1).double()
    starts = torch.tanh(normal(90, 8))
    whole, parts = find_fixed_points(network, starts), find_fixed_points(network, starts, chunk=17)
    torch.testing.assert_close(whole.states, parts.states, rtol=0, atol=1e-5)
    assert torch.equal(whole.states, find_fixed_points(network, starts).states)


def test_a_word_held_forever():
    network = Network(["good", "bad"], arch="gru", hidden=6, embedding=3).double()
    starts = torch.tanh(normal(20, 6))
    e = network.embed(torch.tensor(1))
    for held in ("bad", e, e.expand(20, 3)):
        points = find_fixed_points(network, starts, inputs=held)
        assert points.converged.all()
        with torch.no_grad():
            moved = network.step(points.states, e.expand(20, 3)) - points.states
        assert moved.norm(dim=1).max() < 2e-6


def test_slowness_of_an_exact_fixed_point_is_zero_and_of_a_moving_state_is_not():
    network = of(lambda h, e: 0.5 * h, 2)
    points = find_fixed_points(network, torch.tensor([[0.0, 0.0], [1.0, 1.0]]).double(), mode="slow")
    assert points.slowness[0] == 0 and points.converged.all()
    drifting = of(lambda h, e: 0.5 * h + torch.tensor([0.0, 5.0]).double() * (1 + h[..., :1].square()), 2)
    restless = of(lambda h, e: h + torch.tensor([1.0, 0.0]).double(), 2)
    assert find_fixed_points(drifting, normal(10, 2), mode="slow").converged.all()
    assert not find_fixed_points(restless, normal(10, 2), mode="slow").converged.any()


def test_solvers_solve():
    network = of(lambda h, e: 0.5 * h @ normal(30, 30, seed=2) / 30**0.5, 30)
    J = linearise(network, torch.zeros(7, 30).double())
    b = normal(7, 30, seed=1)

    def times(v):
        return v - J.rec(v)

    torch.testing.assert_close(times(gmres(times, b, 30, 0.0)), b, rtol=0, atol=1e-9)
    short = gmres(times, b, 6, 0.0)
    assert ((times(short) - b).norm(dim=1) < 0.5 * b.norm(dim=1)).all()
    torch.testing.assert_close(times(least_squares(J, b, 60)), b, rtol=0, atol=1e-5)


def test_the_drift_along_a_line_leads_to_its_fixed_point():
    """Along the line the drift is 1e-3 and nearly the same everywhere: Newton's method steps anywhere, or nowhere."""
    turn = torch.linalg.qr(normal(8, 8, seed=3))[0]

    def step(h, e):
        z = h @ turn
        drift = -1e-3 * torch.tanh(2 * z[..., :1])
        return torch.cat([z[..., :1] + drift, 0.3 * z[..., 1:] + 0.1 * z[..., :1].sin()], -1) @ turn.T

    points = find_fixed_points(of(step, 8), 6 * normal(60, 8))
    assert points.converged.all() and len(points.unique) == 1 and points.unique.stability.item() == 0


def test_threads_change_nothing():
    """Cells are solved a chunk a thread, users' own steps one after another; the answers are those of one thread."""
    U = 1.5 * normal(24, 24, seed=5) / 24**0.5
    starts = torch.tanh(normal(300, 24, seed=6))
    for network in (vanilla(U), of(lambda h, e: torch.tanh(h @ U.T), 24)):
        found = []
        for threads in (1, 4):
            torch.set_num_threads(threads)
            try:
                found.append(
                    find_fixed_points(network, starts, chunk=64 if isinstance(network.cell, Vanilla) else None)
                )
                assert torch.get_num_threads() == threads
            finally:
                torch.set_num_threads(1)
        torch.testing.assert_close(found[0].states, found[1].states, rtol=0, atol=1e-6)


def test_a_step_that_holds_single_precision_tensors_stays_single():
    A = 0.5 * torch.eye(3)
    network = adapt(lambda h, e: torch.tanh(h @ A), None, (torch.ones(3), 0.0), None, torch.zeros(3), inputs=1)
    assert find_fixed_points(network, torch.rand(10, 3)).converged.all()


def test_points_of_a_line_are_not_merged_with_what_is_far_away():
    line = find_fixed_points(of(lambda h, e: h * torch.tensor([1.0, 0.5]).double(), 2), 5 * normal(100, 2))
    assert line.converged.all() and len(line.unique) > 20
    split = of(lambda h, e: torch.where(h < 1, h, 10 + 0.5 * (h - 10)), 1)  # a line below 1, one point at 10
    points = find_fixed_points(split, torch.tensor([[0.0], [0.5], [8.0], [9.0]]).double())
    assert points.labels[2] == points.labels[3] != points.labels[0]
    two = find_fixed_points(of(lambda h, e: 0.5 * h + e, 1), torch.zeros(2, 1), inputs=torch.tensor([[0.0], [1e-7]]))
    assert len(two.unique) == 2, "points of different inputs are different points"
    assert line.unique.unique.multiplicity.sum() == 100


def test_one_outlier_does_not_make_everything_slow():
    step = torch.tensor([1.0, 0.0]).double()
    network = of(lambda h, e: torch.where(h.abs().amax(-1, keepdim=True) > 1e3, 0.5 * h, h + step), 2)
    starts = torch.cat([normal(10, 2), torch.full((1, 2), 1e6).double()])
    assert not find_fixed_points(network, starts, mode="slow").converged[:10].any()


def test_states_outside_the_box_are_no_answer():
    network = Network(["x"], hidden=4, embedding=2).double()
    with torch.no_grad():
        network.cell.U.mul_(3)
    for mode in ("fixed", "slow"):
        points = find_fixed_points(network, 40 * normal(50, 4), mode=mode)
        assert (points.states[points.converged].abs() <= 1).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda n, p: find_fixed_points(n, torch.full((3, 4), torch.nan)),  # no point would converge
        lambda n, p: find_fixed_points(n, torch.zeros(3, 4), tolerance=math.nan),
        lambda n, p: find_fixed_points(n, torch.zeros(3, 4), inputs=torch.full((2,), torch.inf)),
        lambda n, p: fit_line_attractor(n, torch.ones(10, 4)),  # one logit: a curve through noise
        lambda n, p: fit_line_attractor(Network(["x"], hidden=4, embedding=2, seed=1), p),  # points of another network
        lambda n, p: linear_modes(n, p.take(0), inputs=torch.ones(2)),  # found at another input
        lambda n, p: linear_modes(n, torch.full((4,), torch.nan)),
        lambda n, p: class_geometry(Network(["x"], hidden=4, classes=["a", "b", "c"]), states=torch.zeros(50, 4)),
    ],
)
def test_what_would_be_wrong_without_a_word_is_refused(call):
    network = Network(["x"], hidden=4, embedding=2)
    with pytest.raises(RnnlensError):
        call(network, find_fixed_points(network, 0.1 * normal(5, 4).float()))
