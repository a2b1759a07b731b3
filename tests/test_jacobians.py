"""Jacobians in closed form are autograd's, and products and contractions never need the matrices."""

import pytest
import torch
from tests.torch_networks import exact as close

from rnnlens import Network, RnnlensError, adapt
from rnnlens.dynamics import find_fixed_points, input_change, jacobians, linear_modes, linearise, word_effects
from rnnlens.dynamics.step_jacobians import StepLinearisation
from rnnlens.networks import CELLS

WORDS = list("abcdefg")
archs = pytest.mark.parametrize("arch", CELLS)
scales = pytest.mark.parametrize("scale", [1.0, 20.0], ids=["ordinary", "saturated"])


def make(arch, scale=1.0):
    """A network, and states and inputs with two leading dimensions."""
    generator = torch.Generator().manual_seed(0)
    network = Network(WORDS, arch=arch, hidden=6, embedding=4).double()
    h = scale * torch.randn(3, 2, network.size, generator=generator, dtype=torch.float64)
    e = scale * torch.randn(3, 2, 4, generator=generator, dtype=torch.float64)
    return network, h, e


def adapted(network):
    """The same network as a step function that rnnlens knows nothing about."""
    readout = (network.w.detach(), network.b.detach())
    return adapt(network.step, network.E.detach(), readout, WORDS, network.h0.detach())


def by_autograd(network, h, e):
    both = torch.func.jacrev(network.step, (0, 1))
    return torch.func.vmap(torch.func.vmap(both))(h, e)


@scales
@archs
def test_closed_form_equals_autograd(arch, scale):
    network, h, e = make(arch, scale)
    for ours, reference in zip(jacobians(network, h, e), by_autograd(network, h, e), strict=True):
        close(ours, reference)
    for ours, reference in zip(jacobians(network, h), by_autograd(network, h, torch.zeros_like(e)), strict=True):
        close(ours, reference)
    one = jacobians(network, h[1, 1], e[1, 1])
    close(one[0], jacobians(network, h, e)[0][1, 1])


@scales
@archs
@pytest.mark.parametrize("kind", ["cell", "adapted"])
def test_products_equal_matrices(arch, kind, scale):
    network, h, e = make(arch, scale)
    J_rec, J_inp = by_autograd(network, h, e)
    here = linearise(network if kind == "cell" else adapted(network), h, e)
    close(here.J_rec(), J_rec)
    close(here.J_inp(), J_inp)
    generator = torch.Generator().manual_seed(1)
    v, x = torch.randn(h.shape, generator=generator).double(), torch.randn(e.shape, generator=generator).double()
    close(here.rec(v), (J_rec @ v.unsqueeze(-1)).squeeze(-1))
    close(here.inp(x), (J_inp @ x.unsqueeze(-1)).squeeze(-1))
    close(here.rec_T(v), (J_rec.mT @ v.unsqueeze(-1)).squeeze(-1))
    close(here.inp_T(v), (J_inp.mT @ v.unsqueeze(-1)).squeeze(-1))


@archs
def test_layers_of_cells_follow_by_the_chain_rule(arch):
    network = Network(WORDS, arch=arch, hidden=6, embedding=4, layers=3).double()
    assert network.cell.of_cells
    h, e, v = torch.randn(3, 3, 2, network.size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    e, x = e[..., :4], v[..., :4]
    J_rec, J_inp = by_autograd(network, h, e)
    here = linearise(network, h, e)
    assert not isinstance(here, StepLinearisation), "a product costs those of the weights, and no step"
    close(here.J_rec(), J_rec)
    close(here.J_inp(), J_inp)
    close(here.rec(v), (J_rec @ v.unsqueeze(-1)).squeeze(-1))
    close(here.inp(x), (J_inp @ x.unsqueeze(-1)).squeeze(-1))
    close(here.inp(x[0, 0]), J_inp @ x[0, 0])
    close(here.rec_T(v), (J_rec.mT @ v.unsqueeze(-1)).squeeze(-1))
    close(here.inp_T(v), (J_inp.mT @ v.unsqueeze(-1)).squeeze(-1))
    close(here.rec_T(v[0, 0]), J_rec.mT @ v[0, 0])
    close(word_effects(network, h[0, 0], e), (network.w.detach() @ jacobians(network, h[0, 0], e)[1]) @ network.E.mT)
    full = jacobians(network, h)[1] - jacobians(network, h[0, 0])[1]
    close(input_change(network, h, h[0, 0]), (full @ network.E.detach().T).flatten(-2).norm(dim=-1))
    with torch.no_grad():
        pairs = network.step(h.unsqueeze(2), network.E)
        close(pairs, network.step(h.unsqueeze(2).expand(-1, -1, 7, -1), network.E.expand(3, 2, -1, -1)))


@archs
@pytest.mark.parametrize("kind", ["cell", "adapted"])
def test_contractions_equal_the_words_jacobian_formed_in_full(arch, kind):
    network, h, _ = make(arch)
    reference = h[0, 0] * 0.5
    full = jacobians(network, h)[1] @ network.E.detach().T  # (3, 2, N, W)
    change = full - jacobians(network, reference)[1] @ network.E.detach().T
    network = network if kind == "cell" else adapted(network)
    close(word_effects(network, h), (network.w.detach() @ full))
    close(input_change(network, h, reference), change.flatten(-2).norm(dim=-1))
    close(input_change(network, h, h), torch.zeros(3, 2).double())


class OnceOnly(torch.autograd.Function):
    """tanh that torch can differentiate once, forward and backward."""

    generate_vmap_rule = False

    @staticmethod
    def forward(x):
        return x.tanh()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return grad * (1 - ctx.saved_tensors[0] ** 2)

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * (1 - ctx.saved_tensors[0] ** 2)


class Outside(OnceOnly):
    """The same with a backward pass that torch does not record, as of a kernel of one's own."""

    @staticmethod
    def backward(ctx, grad):
        return grad.detach() * (1 - ctx.saved_tensors[0] ** 2)


def partly_outside(x):
    return Outside.apply(x / 2) + torch.tanh(x / 2)


@pytest.mark.parametrize("tanh", [torch.tanh, OnceOnly.apply, partly_outside], ids=["twice", "once", "partly"])
def test_all_columns_of_a_users_step_need_few_steps(tanh):
    torch.manual_seed(0)
    W, U, E = torch.randn(6, 20).double(), torch.randn(6, 6).double(), torch.randn(7, 20).double()
    calls = []

    def step(h, e):
        calls.append(len(h))
        return tanh(e @ W.T + h @ U.T)

    network = adapt(step, E, (torch.ones(6).double(), torch.zeros(()).double()), WORDS, torch.zeros(6).double())
    h = torch.randn(5, 6).double()
    full = jacobians(network, h)[1] @ E.T
    calls.clear()
    close(input_change(network, h, h[0]), (full - full[0]).flatten(1).norm(dim=-1))
    assert len(calls) < 20 or tanh is not torch.tanh, "not one for each of the 20 numbers of an input"


def test_first_order_expansion_predicts_small_steps():
    network, h, e = make("gru")
    here, small = linearise(network, h, e), 1e-5
    v, x = torch.ones_like(h), torch.ones_like(e)
    with torch.no_grad():
        moved = network.step(h + small * v, e + small * x) - network.step(h, e)
    assert (moved - small * (here.rec(v) + here.inp(x))).abs().max() < 100 * small**2


def test_single_precision_too():
    network, h, e = make("lstm")
    for ours, exact in zip(
        jacobians(network.float(), h.float(), e.float()), jacobians(network.double(), h, e), strict=True
    ):
        assert ours.dtype == torch.float32
        torch.testing.assert_close(ours.double(), exact, rtol=0, atol=1e-5)


def test_autocast_is_refused_where_numbers_would_be_rounded():
    """Products are in bfloat16 there: Jacobians were off by a part in a thousand, and a search ended in a traceback."""
    network = Network(["a", "b"], arch="gru", hidden=4, embedding=3)
    with torch.autocast("cpu", torch.bfloat16):
        for call in (jacobians, find_fixed_points, linear_modes):
            with pytest.raises(RnnlensError, match="torch.autocast is on"):
                call(network, network.h0.detach())


def test_inference_mode_is_refused_where_torch_differentiates():
    """There torch records nothing, and the Jacobian of a step was a matrix of zeros. Closed forms need no torch."""
    network = Network(["a", "b"], arch="mamba", hidden=4, embedding=3, layers=2)
    gru = Network(["a", "b"], arch="gru", hidden=4, embedding=3)
    with torch.inference_mode():
        with pytest.raises(RnnlensError, match="use torch.no_grad"):
            jacobians(network, network.h0)
        closed = jacobians(gru, gru.h0)[0]
    torch.testing.assert_close(closed, jacobians(gru, gru.h0)[0])
