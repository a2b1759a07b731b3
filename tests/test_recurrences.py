"""The recurrences of today: scans equal steps, equations equal the papers', and one flat state holds every layer."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from rnnlens import Network, RnnlensError, analyze, export, load
from rnnlens.cli import main
from rnnlens.networks import ARCHITECTURES, RECURRENCES, selective_steps, step_by_step
from rnnlens.networks import layers as layers_module
from rnnlens.networks.architectures import make_cell
from rnnlens.networks.linear_scan import best_chunks, linear_scan
from rnnlens.networks.selective_scan import plain_scan, selective_scan

B, T, H, D = 3, 9, 5, 4
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
KINDS = [(arch, layers, None) for arch in RECURRENCES for layers in (1, 2)] + [("mingru", 1, 4), ("mamba", 2, 1)]
kinds = pytest.mark.parametrize(("arch", "layers", "convolution"), KINDS, ids=["-".join(map(str, k)) for k in KINDS])
WORDS = ["<unk>", "not", "bad", "at", "all", "good"]


def make(arch, layers=1, convolution=None, dtype=torch.float64, scale=1.0):
    generator = torch.Generator().manual_seed(0)
    cell = make_cell(arch, H, D, layers, convolution, generator).to(dtype)
    e = scale * torch.randn(B, T, D, generator=generator, dtype=dtype)
    h0 = torch.randn(B, cell.size, generator=generator, dtype=dtype)
    return cell, e.requires_grad_(), h0.requires_grad_()


def close(ours, reference, tolerance=1e-12):
    torch.testing.assert_close(ours, reference, rtol=0, atol=tolerance)


# --- the scan ---------------------------------------------------------------------------------------------------------


def one_by_one(a, b, h0):
    states = [h0]
    for t in range(a.shape[1]):
        states.append(a[:, t] * states[-1] + b[:, t])
    return torch.stack(states[1:], 1) if len(states) > 1 else b


@settings(max_examples=30, deadline=None)
@given(steps=st.integers(0, 40), chunks=st.one_of(st.none(), st.integers(1, 45)), seed=st.integers(0, 99))
def test_the_scan_in_chunks_equals_its_steps_with_its_derivatives(steps, chunks, seed):
    generator = torch.Generator().manual_seed(seed)
    a, b, h0 = (
        torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()
        for shape in ((2, steps, 3), (2, steps, 3), (2, 3))
    )
    ours, reference = linear_scan(a, b, h0, chunks), one_by_one(a, b, h0)
    scale = max([1.0, *reference.detach().abs().flatten().tolist()])
    close(ours / scale, reference / scale)
    weight = torch.randn(ours.shape, generator=generator, dtype=torch.float64)
    both = [
        torch.autograd.grad((s * weight).sum() / scale, (a, b, h0), materialize_grads=True) for s in (ours, reference)
    ]
    for mine, theirs in zip(*both, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-10)


def test_the_scan_has_second_derivatives():
    generator = torch.Generator().manual_seed(0)
    parts = [
        torch.rand(*shape, generator=generator).double().requires_grad_() for shape in ((1, 6, 2), (1, 6, 2), (1, 2))
    ]
    assert torch.autograd.gradgradcheck(lambda a, b, h: linear_scan(a, b, h, 2), parts)


def test_chunks_need_few_kernels():
    assert best_chunks(600) == 40 and best_chunks(1) == best_chunks(0) == 1
    for T in (2, 7, 100, 601):
        C = best_chunks(T)
        kernels = 3 * (T // C) + C + T % C
        assert kernels <= 4 * math.sqrt(3 * T) + 4


# --- layers and stacks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TOLERANCE, ids=["float32", "float64"])
@kinds
def test_sequences_equal_repeated_steps_with_their_gradients(arch, layers, convolution, dtype):
    cell, e, h0 = make(arch, layers, convolution, dtype)
    reference, states = step_by_step(cell.step, e, h0), cell.sequence(e, h0)
    close(states, reference, TOLERANCE[dtype])
    close(cell.outputs(e, h0), reference[:, 1:, cell.output], TOLERANCE[dtype])
    weight = torch.randn(states.shape, generator=torch.Generator().manual_seed(1), dtype=dtype)
    wanted = [e, h0, *cell.parameters()]
    theirs = torch.autograd.grad((reference * weight).sum(), wanted)
    for mine, other in zip(torch.autograd.grad((states * weight).sum(), wanted), theirs, strict=True):
        close(mine, other, 10 * TOLERANCE[dtype])


@kinds
def test_saturated_gates_give_finite_states_and_gradients(arch, layers, convolution):
    cell, e, h0 = make(arch, layers, convolution, torch.float32, scale=300.0)
    outputs = cell.outputs(e, h0)
    assert outputs.isfinite().all()
    for gradient in torch.autograd.grad(outputs.sum(), [e, *cell.parameters()], materialize_grads=True):
        assert gradient.isfinite().all()


def test_a_few_words_at_a_time_give_the_same_outputs_and_gradients(monkeypatch):
    cell, e, h0 = make("mamba", 2)
    wanted = [e, h0, *cell.parameters()]
    whole = cell.outputs(e, h0)
    theirs = torch.autograd.grad(whole.square().sum(), wanted)
    monkeypatch.setattr(layers_module, "AT_ONCE", 4 * B * H * 16)  # four words
    monkeypatch.setattr("rnnlens.networks.recurrences.without_states", lambda x: False)
    close(cell.outputs(e, h0), whole)
    for mine, other in zip(torch.autograd.grad(cell.outputs(e, h0).square().sum(), wanted), theirs, strict=True):
        close(mine, other)
    with torch.no_grad():
        close(cell.outputs(e, h0), whole)


@kinds
def test_the_step_takes_any_leading_dimensions_and_no_word(arch, layers, convolution):
    cell, _, _ = make(arch, layers, convolution)
    generator = torch.Generator().manual_seed(1)
    h = torch.randn(2, 3, cell.size, generator=generator, dtype=torch.float64)
    e = torch.randn(2, 3, D, generator=generator, dtype=torch.float64)
    close(cell.step(h, e)[1, 2], cell.step(h[1, 2], e[1, 2]))
    close(cell.step(h[0, 0], e)[1, 2], cell.step(h[0, 0], e[1, 2]))
    assert cell.sequence(e[:, :0], h[:, 0]).shape == (2, 1, cell.size)
    assert cell.outputs(e[:, :0], h[:, 0]).shape == (2, 0, H)


@kinds
def test_the_slope_is_the_diagonal_of_the_jacobian_and_the_rest_is_nilpotent(arch, layers, convolution):
    cell, e, h0 = (
        part.detach() if isinstance(part, torch.Tensor) else part for part in make(arch, layers, convolution)
    )
    J = torch.func.jacrev(lambda h: cell.step(h, e[0, 0]))(h0[0])
    close(cell.slope(h0[0], e[0, 0]), J.diagonal())
    rest = J - torch.diag(J.diagonal())
    assert torch.linalg.matrix_power(rest, cell.depth).abs().max() == 0
    ours = cell.slope(h0[0], e[0, 0]).sort().values
    values = torch.linalg.eigvals(J).real.sort().values
    assert (ours - values).abs().max() < 1e-3, "eigenvalues (a defective matrix's are inexact)"


def test_named_parts_cover_the_flat_state_once():
    for arch, layers, convolution in KINDS:
        cell, _, _ = make(arch, layers, convolution)
        covered = [i for part in cell.parts.values() for i in range(part.start, part.stop)]
        assert covered == list(range(cell.size))
    assert list(make("mamba", 2)[0].parts) == [
        "layer 1 convolution", "layer 1 state", "layer 2 convolution", "layer 2 state", "output",
    ]  # fmt: skip
    assert list(make("mingru")[0].parts) == ["layer 1 state"]


# --- the equations of the papers --------------------------------------------------------------------------------------


def test_mingru_and_minlstm_are_the_papers_equations():
    cell, e, h = make("mingru")
    layer, x = cell.layers[0], e[:, 0]
    a = x @ layer.W.T + layer.b
    z, new = torch.sigmoid(a[:, :H]), a[:, H:]
    close(cell.step(h, x), (1 - z) * h + z * new)
    cell, e, h = make("minlstm")
    layer = cell.layers[0]
    a = e[:, 0] @ layer.W.T + layer.b
    f, i, new = torch.sigmoid(a[:, :H]), torch.sigmoid(a[:, H : 2 * H]), a[:, 2 * H :]
    close(cell.step(h, e[:, 0]), f / (f + i) * h + i / (f + i) * new)


def test_rglru_is_griffins_block_word_by_word():
    cell, e, h0 = make("rglru")
    layer = cell.layers[0]
    u = e @ layer.W[:H].T + layer.b[:H]
    padded = torch.cat([h0[:, : 3 * H].unflatten(1, (3, H)), u], 1).transpose(1, 2)
    conv = F.conv1d(padded, layer.conv_w.T.unsqueeze(1), layer.conv_b, groups=H).transpose(1, 2)
    h, ys = h0[:, 3 * H : 4 * H], []
    for t in range(T):
        c = conv[:, t]
        r, i = torch.sigmoid(c @ layer.U[:H].T + layer.c[:H]), torch.sigmoid(c @ layer.U[H:].T + layer.c[H:])
        a = torch.sigmoid(-layer.decay) ** (8 * r)  # the paper's a^(c r): softplus(Λ) = −log σ(−Λ)
        h = a * h + torch.sqrt(1 - a**2) * (i * c)
        ys.append(h * F.gelu(e[:, t] @ layer.W[H:].T + layer.b[H:]))
    close(cell.outputs(e, h0), torch.stack(ys, 1))


def test_mamba_is_the_selective_scan_word_by_word():
    cell, e, h0 = make("mamba")
    layer, S = cell.layers[0], 16
    u = e @ layer.W[:H].T + layer.b[:H]
    padded = torch.cat([h0[:, : 3 * H].unflatten(1, (3, H)), u], 1).transpose(1, 2)
    conv = F.silu(F.conv1d(padded, layer.conv_w.T.unsqueeze(1), layer.conv_b, groups=H)).transpose(1, 2)
    h, ys = h0[:, 3 * H : -H].unflatten(1, (H, S)), []
    for t in range(T):
        c = conv[:, t]
        low, input_map, output_map = (c @ layer.V.T + F.pad(layer.v, (1, 0))).split([1, S, S], 1)
        delta = F.softplus(low @ layer.W_delta.T + layer.b_delta)
        h = torch.exp(torch.einsum("bh,hs->bhs", delta, -torch.exp(layer.A))) * h
        h = h + torch.einsum("bh,bs,bh->bhs", delta, input_map, c)
        y = torch.einsum("bhs,bs->bh", h, output_map) + layer.d * c
        ys.append(y * F.silu(e[:, t] @ layer.W[H:].T + layer.b[H:]))
    close(cell.outputs(e, h0), torch.stack(ys, 1))


def test_the_second_layer_reads_a_normalized_residual_stream():
    cell, e, h0 = make("mingru", 2)
    first, second = cell.layers
    h1 = first.step(h0[:, :H], e[:, 0])[0]
    x = e[:, 0] + h1 @ cell.O[0].T
    normal = cell.norms[0] * x / torch.sqrt((x**2).mean(-1, keepdim=True) + 1e-5)
    close(cell.step(h0, e[:, 0]), torch.cat([h1, second.step(h0[:, H:], normal)[0]], -1))


# --- networks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arch", "layers"), [("gru", 2), ("lstm", 3), ("mingru", 2), ("mamba", 1)])
def test_a_network_is_made_again_from_its_config(arch, layers):
    network = Network(WORDS, arch, hidden=6, embedding=3, layers=layers, memory=50, seed=3)
    again = Network(WORDS, seed=3, **network.config)
    assert repr(again) == repr(network)
    for name, value in network.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])
    assert network.read("not bad") == again.read("not bad")


def test_the_convolution_is_kept_in_the_config():
    assert Network(WORDS, "mingru", hidden=6, embedding=3, convolution=4).config["convolution"] == 4
    assert Network(WORDS, "mamba", hidden=6, embedding=3, convolution=2).config["convolution"] == 2
    assert "convolution" not in Network(WORDS, "mamba", hidden=6, embedding=3).config


@pytest.mark.parametrize("arch", RECURRENCES)
def test_initial_time_constants_are_those_at_blank_input(arch):
    network = Network(WORDS, arch, hidden=200, embedding=3, memory=100, layers=2).double()
    layer = network.cell.layers[0]
    with torch.no_grad():
        if arch in ("rglru", "mamba"):
            layer.conv_b.zero_(), layer.b[:200].zero_()
        kept = network.cell.slope(network.h0, torch.zeros(3).double())[layer.sizes[0] : layer.size : layer.expand]
    words = kept / (1 - kept)
    assert 1 - 1e-6 <= words.min() < 2 and 50 < words.max() <= 100 + 1e-3
    assert 5 < words.median() < 20, "log-uniform"


def test_the_command_trains_layers_with_a_convolution(tmp_path):
    texts = tmp_path / "texts.csv"
    texts.write_text("text,label\n" + "".join(f"it was {['bad', 'good'][i % 2]},{i % 2}\n" for i in range(60)))
    flags = ["train", str(texts), "--out", str(tmp_path / "run"), "--hidden", "6", "--embedding", "4", "--epochs", "2"]
    with pytest.raises(SystemExit, match="0"):
        main([*flags, "--arch", "mingru", "--layers", "2", "--convolution", "3", "--device", "cpu"])
    run = load(tmp_path / "run")
    assert run.network.config == {"arch": "mingru", "hidden": 6, "embedding": 4, "layers": 2, "convolution": 3}
    assert run.about["network"] == run.network.config and len(run.network.read("it was good")) == 3
    exported = load(export(run, tmp_path / "export"))
    assert exported.network.predict_proba(["it was bad"]).tolist() == run.predict_proba(["it was bad"]).tolist()


def test_an_analysis_goes_on_without_the_modes_that_a_convolution_has_not(tmp_path):
    words = ["<unk>", *(f"word{i}" for i in range(60))]
    network = Network(words, "mamba", hidden=4, embedding=4, memory=50, seed=1).requires_grad_(False)
    analysis = analyze(network, starts=60, top=60)
    assert analysis.ending.modes is None and "modes" not in analysis.results["ending"]
    value = complex(*analysis.results["line_attractor"]["integration_eigenvalue"])
    kept = network.cell.slope(analysis.line.h_star, torch.zeros(4))
    assert value.imag == 0 and abs(value.real - float(kept[(kept - 1).abs().argmin()])) < 1e-5
    figure = analysis.figures.ending()
    assert figure.data, "the figure of the end needs no modes"
    with pytest.raises(RnnlensError, match="no 'ending.modes': the eigenvectors of J_rec at h"):
        analysis.figures.ending_modes()


def test_bad_shapes_are_refused_in_one_line():
    with pytest.raises(RnnlensError, match="arch is 'rwkv': expected gru, .* or rglru"):
        Network(WORDS, "rwkv")
    with pytest.raises(RnnlensError, match="layers is 0: expected a whole number, from 1"):
        Network(WORDS, "mingru", layers=0)
    with pytest.raises(RnnlensError, match="convolution is 4 with 'gru', which has none: expected one of mingru"):
        Network(WORDS, "gru", convolution=4)
    assert set(RECURRENCES) < set(ARCHITECTURES)


def selective_inputs(n, T, H, S, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = ((n, T, H), (n, T, H), (n, T, S), (n, T, S), (H, S), (n, H, S))
    delta, c, B, C, A, start = (torch.randn(*shape, generator=generator).double() for shape in shapes)
    return [part.requires_grad_() for part in (F.softplus(delta), c, B, C, -A.exp(), start)]


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 5), T=st.integers(0, 20), H=st.integers(1, 4), S=st.integers(1, 3),
    numbers=st.sampled_from([1, 8, 100]), fewest=st.integers(1, 5), seed=st.integers(0, 99),
)  # fmt: skip
def test_mambas_scan_a_few_words_at_a_time_equals_the_plain_one(n, T, H, S, numbers, fewest, seed):
    inputs = selective_inputs(n, T, H, S, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selective_steps, "NUMBERS", numbers)
        patch.setattr(selective_steps, "FEWEST", fewest)
        ours, reference = selective_scan(*inputs), plain_scan(*inputs)
        close(ours, reference)
        weight = torch.randn(ours.shape, generator=torch.Generator().manual_seed(seed)).double()
        mine, theirs = (torch.autograd.grad((y * weight).sum(), inputs, retain_graph=True) for y in (ours, reference))
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_mambas_scan_has_second_derivatives():
    assert torch.autograd.gradgradcheck(selective_scan, selective_inputs(2, 4, 3, 2))


class Written(TorchDispatchMode):
    """The most numbers that one operation gave."""

    most = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        if isinstance(found, torch.Tensor) and func is torch.ops.aten.mul.Tensor:
            self.most = max(self.most, found.numel())
        return found


def test_mambas_scan_of_a_few_texts_multiplies_the_numbers_of_these_texts_alone(monkeypatch):
    monkeypatch.setattr(selective_steps, "NUMBERS", 2 * 6)  # of two texts
    inputs = [part.detach() for part in selective_inputs(20, 10, 3, 2)]
    with Written() as written:
        y, kept, _ = selective_steps.selective_outputs(*inputs)
        selective_steps.selective_gradients(*inputs[:5], kept, y)
    assert written.most == 2 * 10 * 3


@pytest.mark.parametrize("last", [False, True])
def test_mamba_rounds_the_same_numbers_under_autocast_with_and_without_its_states(last):
    cell, e, h0 = make("mamba", dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        states = cell.sequence(e, h0)
        found = cell.outputs_and_state(e, h0) if last else (cell.outputs(e, h0),)
    for one, other in zip(found, (states[:, 1:, cell.output], states[:, -1]), strict=False):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_mamba_reads_and_learns_without_the_states_of_all_words(monkeypatch):
    cell = make_cell("mamba", 6, 4, 2, None, torch.Generator().manual_seed(0)).double()
    e = torch.randn(3, 40, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64, requires_grad=True)
    h0 = torch.zeros(3, cell.size, dtype=torch.float64)
    found, kept = [], []
    for plain in (True, False):
        with monkeypatch.context() as patch:
            if plain:
                patch.setattr("rnnlens.networks.recurrences.without_states", lambda x: False)
            with torch.autograd.graph.saved_tensors_hooks(lambda x: (kept.append(x.numel()), x)[1], lambda x: x):
                kept.clear()
                y = cell.outputs(e, h0)
        assert (max(kept) >= 3 * 40 * 6 * 16) == plain, "the plain scan keeps all states for its backward pass"
        found.append([y, *torch.autograd.grad(y.square().sum(), [e, *cell.parameters()])])
    for steps, scan in zip(*found, strict=True):
        torch.testing.assert_close(steps, scan, rtol=1e-10, atol=1e-10)
