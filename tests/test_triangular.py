"""Structure, used: what is read from the diagonal of J_rec equals what the whole matrix gives."""

import pytest
import torch
from tests.torch_networks import exact as close

from rnnlens import Network, adapt, find_fixed_points, linear_modes
from rnnlens.common.errors import RnnlensError
from rnnlens.context import find_modifiers, fit_bilinear
from rnnlens.dynamics import features, input_change, jacobians, linearise
from rnnlens.dynamics import modes as modes_module
from rnnlens.dynamics.line_attractor import fit_line_attractor
from rnnlens.dynamics.modes import TriangularModes, decompose, integration_mode
from rnnlens.dynamics.step_jacobians import StepLinearisation
from rnnlens.networks import RECURRENCES

WORDS = ["<unk>", *(f"word{i}" for i in range(40))]
KINDS = [(arch, layers, None) for arch in RECURRENCES for layers in (1, 2)] + [("mingru", 1, 4), ("mamba", 1, 1)]
kinds = pytest.mark.parametrize(("arch", "layers", "convolution"), KINDS, ids=["-".join(map(str, k)) for k in KINDS])


def make(arch, layers=1, convolution=None, hidden=4, **options):
    network = Network(WORDS, arch, hidden, 3, layers=layers, convolution=convolution, **options).double()
    generator = torch.Generator().manual_seed(0)
    h = torch.randn(5, network.size, generator=generator, dtype=torch.float64)
    e = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    return network.requires_grad_(False), h, e


def opaque(network):
    """The same network as a step function that rnnlens knows nothing about."""
    return adapt(network.step, network.E, (network.w, network.b), WORDS, network.h0)


@kinds
def test_products_and_jacobians_equal_autograd(arch, layers, convolution):
    network, h, e = make(arch, layers, convolution)
    J_rec, J_inp = torch.func.vmap(torch.func.jacrev(network.step, (0, 1)))(h, e)
    here = linearise(network, h, e)
    close(here.J_rec(), J_rec)
    close(here.J_inp(), J_inp)
    close(here.rec(h), torch.einsum("knm,km->kn", J_rec, h))
    close(here.rec_T(h), torch.einsum("kmn,km->kn", J_rec, h))
    close(here.inp(e), torch.einsum("knd,kd->kn", J_inp, e))
    close(here.inp_T(h), torch.einsum("knd,kn->kd", J_inp, h))


@kinds
def test_the_fixed_point_at_an_input_is_found_exactly_from_anywhere(arch, layers, convolution):
    network, h, _ = make(arch, layers, convolution, memory=10)
    for word in (None, "word3"):
        points = find_fixed_points(network, 10 * h, inputs=word)
        e = torch.zeros(3).double() if word is None else network.E[4]
        assert bool(points.converged.all()) and len(points.unique) == 1
        close(network.step(points.states[0], e), points.states[0], 1e-11)
        assert int(points.unique.stability) == 0
    reached = h
    for _ in range(500):
        reached = network.step(reached, e)
    close(points.states, reached, 1e-5)


@kinds
def test_eigenvalues_and_timescales_are_those_of_the_matrix(arch, layers, convolution):
    network, h, e = make(arch, layers, convolution, memory=50)
    modes, (J, _) = linear_modes(network, h[0], e[0]), jacobians(network, h[0], e[0])
    assert isinstance(modes, TriangularModes)
    ours, theirs = (values.abs().sort().values for values in (modes.eigenvalues, torch.linalg.eigvals(J)))
    close(ours, theirs, 1e-3)  # torch's are inexact where J is defective
    left = modes.left_of(modes.integration)
    close(left @ J.to(left.dtype), modes.eigenvalues[modes.integration] * left)
    assert modes.timescales[0] == modes.timescales.max() and bool((modes.periods == torch.inf).all())


def test_two_layers_have_modes_and_a_convolution_has_none():
    network, h, _ = make("mingru", 2)
    modes = linear_modes(network, h[0])
    close((modes.right * modes.eigenvalues) @ modes.left, modes.J.to(modes.left.dtype))
    for a in range(len(modes)):  # one by one, by products
        one = modes.left_of(a)
        close(one / one.norm() * (one @ modes.left[a].conj()).sgn().conj(), modes.left[a] / modes.left[a].norm(), 1e-8)
    network, h, _ = make("mingru", convolution=4)
    modes = linear_modes(network, h[0])
    assert len(modes.eigenvalues) == 3 * 3 + 4 and int((modes.eigenvalues.abs() > 0).sum()) == 4
    with pytest.raises(RnnlensError, match="fewer eigenvectors than units"):
        modes.right  # noqa: B018


def test_one_layer_of_mingru_has_each_unit_as_a_mode_with_known_timescale():
    network, h, _ = make("mingru")
    kept = 1 - torch.sigmoid(network.cell.layers[0].b[:4])  # at blank input
    modes = linear_modes(network, h[0])
    close(modes.eigenvalues.real, kept.sort(descending=True).values)
    close(modes.timescales, -1 / kept.sort(descending=True).values.log())
    close(modes.right.abs(), torch.eye(4).double()[:, kept.argsort(descending=True)])


def test_a_defective_jacobian_of_any_step_keeps_its_slowest_mode():
    """A user's step with a convolution buffer, of whose structure rnnlens knows nothing."""
    network, h, _ = make("mingru", convolution=4, memory=50)
    foreign = opaque(network)
    with pytest.raises(RnnlensError, match="defective"):
        decompose(jacobians(foreign, h[0])[0])
    known, e = linear_modes(network, h[0]), torch.zeros(3).double()
    value, (left,) = integration_mode(foreign, h[0], e)
    assert abs(value - complex(known.eigenvalues[known.integration])) < 1e-9
    J = jacobians(foreign, h[0])[0]
    close(left @ J, value.real * left, 1e-9)


def test_of_a_large_state_the_slowest_mode_comes_from_products_alone(monkeypatch):
    network, h, _ = make("rglru", 2, hidden=12, memory=200)
    known = linear_modes(network, h[0])
    monkeypatch.setattr(modes_module, "DENSE", 16)
    foreign = opaque(network)
    monkeypatch.setattr(StepLinearisation, "J_rec", lambda self: pytest.fail("N × N"))
    value, (left,) = integration_mode(foreign, h[0], torch.zeros(3).double())
    assert abs(value - complex(known.eigenvalues[known.integration])) < 1e-6
    moved = linearise(network, h[0]).rec_T(left)
    close(moved, value.real * left, 1e-6)
    with pytest.raises(RnnlensError, match="do not fit into memory"):
        linear_modes(foreign, h[0])
    with pytest.raises(RnnlensError, match="do not fit into memory"):
        known.right  # noqa: B018


# --- the input Jacobian -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["mingru", "minlstm"])
def test_features_of_one_layer_are_two_or_three_numbers_for_each_unit(arch):
    network, h, _ = make(arch)
    found = features.input_features(network, h)
    assert found.shape == (5, 4 * {"mingru": 2, "minlstm": 3}[arch])
    full = (jacobians(network, h)[1] @ network.E.T).flatten(1)
    close(found @ found.T, full @ full.T)
    close(input_change(network, h, h[0]), input_change(opaque(network), h, h[0]))


def test_a_sketch_has_the_same_inner_products_on_average(monkeypatch):
    network, h, _ = make("mamba", 2, hidden=40)
    exact = features.input_features(network, h)
    monkeypatch.setattr(features, "MOST", 100)
    monkeypatch.setattr(features, "BUCKETS", 512)
    sketch = features.input_features(network, h)
    assert sketch.shape[1] == 3 * 512 < exact.shape[1]
    between = [torch.cdist(found, found).flatten()[1:5] for found in (sketch, exact)]
    torch.testing.assert_close(*between, rtol=0.1, atol=0)


def test_the_bilinear_model_of_one_layer_of_mingru_is_exact_with_as_many_terms_as_units():
    """h' = (1−z(e))∘h + z(e)∘h̃(e), so J_inp(h) − J_inp(h*) is linear in h − h*."""
    network, h, _ = make("mingru", hidden=8, memory=20)
    states = network.states(torch.randint(1, 41, (20, 30), generator=torch.Generator().manual_seed(0))).flatten(0, 1)
    line = fit_line_attractor(network, states)
    modifiers = find_modifiers(network, line, top=40)
    for change in (1e-3, 1.0, 100.0):
        moved = line.h_star + change * h[:, :1].new_ones(8)
        both = [features.input_features(network, at) - features.input_features(network, line.h_star) for at in (
            moved, line.h_star + 2 * (moved - line.h_star))]  # fmt: skip
        torch.testing.assert_close(2 * both[0], both[1], rtol=1e-9, atol=1e-12)
    bilinear = fit_bilinear(network, line, modifiers, rank=3, most=8)
    assert abs(float(bilinear.explained[-1]) - 1) < 1e-10 and len(bilinear.explained) == 8
    assert bilinear.terms(0.5) <= bilinear.terms(0.999) <= 8
