"""Every cell is its equation: step, scan, fused kernel, torch.nn and autograd all agree."""

import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from rnnlens import RnnlensError
from rnnlens.networks import CELLS, scan, step_by_step
from rnnlens.networks.onednn import MULTIPLICATIONS, ONEDNN, PRODUCT, is_quicker, linear, tanh

B, T, H, D = 3, 7, 5, 4
TORCH = {"gru": nn.GRU, "lstm": nn.LSTM, "vanilla": nn.RNN}
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
archs = pytest.mark.parametrize("arch", CELLS)


def make(arch, dtype=torch.float64, seed=0, scale=1.0):
    """A cell, inputs and an initial state; `scale` > 1 saturates its gates."""
    generator = torch.Generator().manual_seed(seed)
    cell = CELLS[arch](H, D, generator).to(dtype)
    e = scale * torch.randn(B, T, D, generator=generator, dtype=dtype)
    h0 = torch.randn(B, cell.size, generator=generator, dtype=dtype)
    return cell, e, h0


@dtypes
@pytest.mark.parametrize("arch", TORCH)
def test_step_and_sequence_agree_with_torch_nn(arch, dtype):
    cell, e, h0 = make(arch, dtype)
    peer = TORCH[arch](D, H, batch_first=True).to(dtype)
    for name, weight in (
        ("weight_ih_l0", cell.W),
        ("weight_hh_l0", cell.U),
        ("bias_ih_l0", cell.b),
        ("bias_hh_l0", cell.c),
    ):
        getattr(peer, name).data.copy_(weight)
    first = [part.unsqueeze(0).contiguous() for part in h0.split(H, -1)]
    expected, last = peer(e, tuple(first) if arch == "lstm" else first[0])
    states = cell.sequence(e, h0)
    torch.testing.assert_close(states[:, 1:, :H], expected, rtol=0, atol=TOLERANCE[dtype])
    last = torch.cat([part[0] for part in last], -1) if arch == "lstm" else last[0]
    torch.testing.assert_close(states[:, -1], last, rtol=0, atol=TOLERANCE[dtype])
    torch.testing.assert_close(cell.outputs(e, h0), expected, rtol=0, atol=TOLERANCE[dtype])


@dtypes
@archs
def test_fused_scan_and_repeated_steps_agree(arch, dtype):
    cell, e, h0 = make(arch, dtype)
    reference = step_by_step(cell.step, e, h0)
    for states in (cell.sequence(e, h0), scan(cell, e, h0)):
        assert states.shape == (B, T + 1, cell.size)
        torch.testing.assert_close(states, reference, rtol=0, atol=TOLERANCE[dtype])
    with torch.no_grad():
        torch.testing.assert_close(scan(cell, e, h0), reference, rtol=0, atol=TOLERANCE[dtype])


def test_ugrnn_is_the_papers_equation():
    cell, e, h0 = make("ugrnn")
    a = e[:, 0] @ cell.W.T + cell.b + h0 @ cell.U.T + cell.c
    c, g = torch.tanh(a[:, :H]), torch.sigmoid(a[:, H:])
    torch.testing.assert_close(cell.step(h0, e[:, 0]), g * h0 + (1 - g) * c, rtol=0, atol=1e-14)


@pytest.mark.parametrize("scale", [1.0, 20.0], ids=["ordinary", "saturated"])
@archs
def test_scans_own_backward_pass_equals_autograd(arch, scale):
    cell, e, h0 = make(arch, scale=scale)
    e.requires_grad_()
    h0.requires_grad_()
    weight = torch.randn(B, T + 1, cell.size, dtype=e.dtype, generator=torch.Generator().manual_seed(1))
    wanted = [e, h0, *cell.parameters()]
    ours = torch.autograd.grad((scan(cell, e, h0) * weight).sum(), wanted)
    theirs = torch.autograd.grad((step_by_step(cell.step, e, h0) * weight).sum(), wanted)
    for mine, reference in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, reference, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 20.0], ids=["ordinary", "saturated"])
@archs
def test_partials_in_closed_form_equal_autograd(arch, scale):
    cell, e, h0 = make(arch, scale=scale)
    h, d = h0[0], cell.drive(e[0, 0])
    u = cell.recur(h)
    for partial, jacobian in zip(
        cell.partials(h, d, u), torch.func.jacrev(cell.combine, (0, 1, 2))(h, d, u), strict=True
    ):
        blocks = jacobian.unflatten(0, (-1, H)).unflatten(-1, (-1, H))  # (S, H, S or G, H): diagonal in the two H
        torch.testing.assert_close(partial, torch.einsum("shgh->sgh", blocks), rtol=0, atol=1e-14)
        off = blocks - torch.einsum("sgh,hk->shgk", partial, torch.eye(H, dtype=h.dtype))
        assert off.abs().max() < 1e-14, "φ acts on every unit alone"


@archs
def test_step_takes_any_leading_dimensions(arch):
    cell, _, _ = make(arch)
    h = torch.randn(2, 3, 4, cell.size, dtype=torch.float64)
    e = torch.randn(2, 3, 4, D, dtype=torch.float64)
    assert cell.step(h, e).shape == h.shape
    torch.testing.assert_close(cell.step(h, e)[1, 2, 3], cell.step(h[1, 2, 3], e[1, 2, 3]), rtol=0, atol=1e-13)


@archs
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31), t=st.integers(1, 9), b=st.integers(1, 4))
def test_a_sequence_is_its_beginning_and_the_rest(arch, seed, t, b):
    cell, _, _ = make(arch)
    generator = torch.Generator().manual_seed(seed)
    e = torch.randn(b, t + 3, D, generator=generator, dtype=torch.float64)
    h0 = torch.randn(b, cell.size, generator=generator, dtype=torch.float64)
    whole = cell.sequence(e, h0)
    first = cell.sequence(e[:, :t], h0)
    torch.testing.assert_close(whole[:, : t + 1], first, rtol=0, atol=1e-12)
    torch.testing.assert_close(whole[:, t:], cell.sequence(e[:, t:], first[:, -1]), rtol=0, atol=1e-12)


@archs
def test_an_empty_sequence_is_its_beginning(arch):
    cell, e, h0 = make(arch)
    for states in (cell.sequence(e[:, :0], h0), scan(cell, e[:, :0], h0)):
        torch.testing.assert_close(states, h0.unsqueeze(1), rtol=0, atol=0)
    assert cell.outputs(e[:, :0], h0).shape == (B, 0, H)


def test_second_derivatives_of_the_scan_are_refused_not_dropped():
    cell, e, h0 = make("ugrnn")
    e.requires_grad_()
    with pytest.raises(RnnlensError, match="first derivatives only.*step_by_step"):
        torch.autograd.grad(scan(cell, e, h0).sum(), e, create_graph=True)
    (first,) = torch.autograd.grad(step_by_step(cell.step, e, h0).sum(), e, create_graph=True)
    assert torch.autograd.grad(first.pow(2).sum(), e)[0].abs().sum() > 0


@archs
def test_under_autocast_states_stay_in_the_weights_precision(arch):
    cell, e, h0 = make(arch, torch.float32)
    e.requires_grad_()
    exact = step_by_step(cell.step, e, h0)
    wanted = [e, *cell.parameters()]
    gradients = torch.autograd.grad(exact.sum(), wanted)
    low = torch.autocast("cpu", dtype=torch.bfloat16)
    with low, torch.backends.mkldnn.flags(enabled=False):  # oneDNN's bfloat16 products kill some processors
        for states in (cell.sequence(e, h0), scan(cell, e, h0), step_by_step(cell.step, e, h0)):
            assert states.dtype == torch.float32
            torch.testing.assert_close(states, exact, rtol=0, atol=0.03)
            for ours, reference in zip(torch.autograd.grad(states.sum(), wanted), gradients, strict=True):
                torch.testing.assert_close(ours, reference, rtol=0.05, atol=0.2)
    with torch.no_grad(), low, torch.backends.mkldnn.flags(enabled=False):
        assert scan(cell, e, h0).dtype == torch.float32


@torch.no_grad()
@pytest.mark.parametrize("shape", [(2**15,), (3, 7, 2, 40, 5, 64), (300, 256)])
def test_the_quick_tanh_is_tanh(shape, monkeypatch):
    calls, to_mkldnn = [], torch.Tensor.to_mkldnn
    monkeypatch.setattr(torch.Tensor, "to_mkldnn", lambda *given: calls.append(1) or to_mkldnn(*given))
    x = 3 * torch.randn(shape)
    x.view(-1)[:6] = torch.tensor([torch.inf, -torch.inf, 1e-30, -0.0, 1e-42, -200.0])
    for part in (x, x.transpose(0, -1), x.double()):
        torch.testing.assert_close(tanh(part), torch.tanh(part.double()).to(part), rtol=2e-7, atol=1e-38)
    assert torch.isnan(tanh(x * torch.nan)).all()
    assert len(calls) == 3 * ONEDNN  # all but the one in float64


def test_the_quick_tanh_is_left_to_torch_where_it_is_differentiated():
    x = torch.randn(2, 2**15)
    slope = 1 - torch.tanh(x) ** 2
    y = x.clone().requires_grad_()
    torch.testing.assert_close(torch.autograd.grad(tanh(y).sum(), y)[0], slope)
    with torch.no_grad():
        torch.testing.assert_close(torch.func.jvp(tanh, (x,), (torch.ones_like(x),))[1], slope)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.testing.assert_close(torch.func.vmap(tanh)(x), torch.tanh(x))


@torch.no_grad()
@pytest.mark.parametrize("lead", [(700,), (7, 5, 20)])
@pytest.mark.parametrize("bias", [True, False])
def test_the_quick_product_is_the_product(lead, bias):
    generator = torch.Generator().manual_seed(0)
    x, W = torch.randn(*lead, 64, generator=generator), torch.randn(256, 32, generator=generator)
    b = torch.randn(256, generator=generator) if bias else None
    for part, weights in ((x[..., 32:], W), (x[..., :32].contiguous(), W), (x[..., :32], W.t().contiguous().t())):
        assert is_quicker(part, weights) == (PRODUCT is not None)
        double = torch.nn.functional.linear(part.double(), weights.double(), None if b is None else b.double())
        torch.testing.assert_close(linear(part, weights, b).double(), double, rtol=0, atol=2e-5)
    x[..., 0] = torch.nan
    assert torch.isnan(linear(x[..., :32], W, b)).all()
    assert linear(x[:0, ..., :32], W, b).shape == (0, *lead[1:], 256)


@torch.no_grad()
def test_the_quick_product_adds_any_bias_that_torch_adds():
    """oneDNN reads a bias as one block of memory and takes no derivatives; both would go wrong without a word."""
    x, W, b = torch.randn(256, 256), torch.randn(512, 256), torch.randn(1024)
    assert is_quicker(x, W) == (PRODUCT is not None)
    for bias in (b[::2], b[:1].expand(512), b[:1], b[:512].expand(256, 512)):
        torch.testing.assert_close(linear(x, W, bias), x @ W.t() + bias, rtol=0, atol=2e-4)
    along = torch.ones(512)
    torch.testing.assert_close(torch.func.jvp(lambda b: linear(x, W, b), (along,), (along,))[1], along.expand(256, 512))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        linear(x[:, :200], W)


def test_forward_derivatives_pass_through_quick_products_and_tanh():
    x, W = torch.randn(256, 256), torch.randn(512, 256)
    with torch.no_grad(), torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        slopes = [torch.autograd.forward_ad.unpack_dual(y).tangent for y in (linear(dual, W), tanh(dual))]
    torch.testing.assert_close(slopes[0], W.sum(1).expand(256, 512), rtol=0, atol=2e-4)
    torch.testing.assert_close(slopes[1], 1 - torch.tanh(x) ** 2)


@torch.no_grad()
@pytest.mark.parametrize("arch", CELLS)
def test_many_texts_are_read_as_few_are(arch):
    """Many rows are read step by step with the quick product, few by torch's kernel."""
    cell = CELLS[arch](160, 16, torch.Generator().manual_seed(0))
    e = torch.randn(80, 12, 16, generator=torch.Generator().manual_seed(1))
    h0 = torch.zeros(80, cell.size)
    quick = PRODUCT is not None and cell.gates * 80 * 160 * 160 >= MULTIPLICATIONS
    assert is_quicker(h0[:, cell.output], cell.U) == quick
    for part in (slice(0, 2), slice(78, 80)):
        few = cell.sequence(e[part], h0[part])
        torch.testing.assert_close(cell.sequence(e, h0)[part], few, rtol=0, atol=2e-6)
