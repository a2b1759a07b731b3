"""Nothing is computed at another input, from another network, or from weights that are no numbers, without an error."""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings

import numpy as np
import pytest
import torch
from handmade import handmade
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn

import rnnlens
from rnnlens import Network, RnnlensError, TrainConfig, adapt, from_torch, train
from rnnlens.analysis.checks import check_results
from rnnlens.baselines import ModifierConvolution
from rnnlens.common.files import read_json, read_tensors, write_json, write_tensors
from rnnlens.dynamics import FixedPoints, find_fixed_points, fit_line_attractor, jacobians, linear_modes, linearise
from rnnlens.experiments.trials import run_trial
from rnnlens.runs import load_weights


def told(call, *parts: str) -> str:
    """The one line that a call is refused by; it holds all the parts."""
    with pytest.raises(RnnlensError) as error:
        call()
    line = str(error.value)
    assert "\n" not in line
    for part in parts:
        assert part in line, line
    return line


# --- dynamics at the points' own input --------------------------------------------------------------------------------

AT_INPUT, AT_ZERO = 1.0, 1.02  # the integration eigenvalues of the network below
HELD = torch.tensor([1.0, 0.0], dtype=torch.float64)


def gated() -> tuple[Network, Tensor]:
    """h = Q z: the input e1 turns the eigenvalue of z1 from 1.02 to 1, and moves z2, which forgets half a step."""
    Q = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64))[0]

    def step(h: Tensor, e: Tensor) -> Tensor:
        z, gate = h @ Q, AT_ZERO + (AT_INPUT - AT_ZERO) * e[..., :1]
        return torch.cat([gate * z[..., :1], 0.5 * z[..., 1:2] + e[..., :1], 0.3 * z[..., 2:]], -1) @ Q.t()

    return adapt(step, None, (Q[:, 0].clone(), 0.0), None, torch.zeros(3, dtype=torch.float64), inputs=2), Q


def gated_points(inputs: Tensor | None = HELD) -> tuple[Network, Tensor, FixedPoints]:
    network, Q = gated()
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


def test_one_input_each_is_one_line_where_all_are_the_same() -> None:
    network, _, points = gated_points(HELD.expand(200, 2))
    assert fit_line_attractor(network, points).integration_eigenvalue == pytest.approx(AT_INPUT, abs=1e-9)
    mixed = HELD.expand(200, 2).clone()
    mixed[:, 1] = torch.linspace(0, 1, 200)
    told(lambda: fit_line_attractor(network, gated_points(mixed)[2]), "found at several inputs", "points.take")


def test_another_input_than_the_points_is_refused() -> None:
    network, _, points = gated_points()
    other = torch.tensor([0.5, 0.0], dtype=torch.float64)
    told(lambda: fit_line_attractor(network, points, inputs=other), "another input", "find_fixed_points")
    told(lambda: linear_modes(network, points.take(0), other), "another input")
    told(lambda: linear_modes(network, points), "200 points: expected one", "points.take(0)")
    told(lambda: linear_modes(network, points.states[0], torch.zeros(3)), "inputs have shape (3,): expected (2,)")
    told(lambda: linear_modes(network, [0.0] * 3), "h is 'list'")
    told(lambda: linear_modes(network, points.states[0], [1.0, 0.0]), "inputs is 'list'")
    told(lambda: find_fixed_points(network, [[0.0] * 3]), "states is 'list'")
    told(lambda: fit_line_attractor(network, [[0.0] * 3] * 3), "points is 'list'")


def test_word_effects_are_refused_on_a_line_at_another_input_than_the_blank_one() -> None:
    from rnnlens.context import find_modifiers
    from rnnlens.context.barcodes import barcode
    from rnnlens.context.edges import ending
    from rnnlens.context.probes import Probes

    network, Q = handmade()
    states = torch.linspace(-4, 4, 50).double().unsqueeze(1) * Q[:, 0]
    line = fit_line_attractor(network, states, inputs="w3")
    probes = Probes(("good", "great"), ("bad", "awful"))
    for call in (
        lambda: find_modifiers(network, line),
        lambda: barcode(network, line, "not", probes),
        lambda: ending(network, line, probes),
        lambda: Probes.from_network(network, line),
    ):
        told(call, "an input that is not blank")
    modes = linear_modes(network, line.h_star, "w3")
    e = network.E[:2]
    told(lambda: rnnlens.mode_removal(network, Q[:, 1], line.h_star, e, modes), "an input that is not blank")


# --- networks that are what was given ---------------------------------------------------------------------------------

WORDS = ["<unk>", "not", "bad", "good"]
D, H = 3, 5
IDS = torch.tensor([[1, 2, 3, 1], [3, 3, 0, 2]])


def parts(outputs: int = 1, **options) -> tuple[nn.GRU, nn.Embedding, nn.Linear]:
    torch.manual_seed(0)
    return nn.GRU(D, H, **options), nn.Embedding(4, D), nn.Linear(H, outputs)


class Step(nn.Module):
    """A step with a layer that behaves differently in training mode."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.mix, self.layer = nn.Linear(H + D, H), layer

    def forward(self, h: Tensor, e: Tensor) -> Tensor:
        return self.layer(torch.tanh(self.mix(torch.cat([h, e], -1))))

    def advance(self, h: Tensor, e: Tensor) -> Tensor:
        return self(h, e)


def adapted(step) -> Network:
    torch.manual_seed(1)
    return adapt(step, torch.randn(4, D), (torch.ones(H), 0.0), WORDS, torch.zeros(H))


LAYERS = {"dropout": lambda: nn.Dropout(0.5), "rare": lambda: nn.Dropout(0.05), "norm": lambda: nn.BatchNorm1d(H)}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("method", [False, True])
def test_an_adapted_module_is_in_eval_mode_and_the_users_own_is_left_alone(layer: str, method: bool) -> None:
    module = Step(LAYERS[layer]())
    before = {name: value.clone() for name, value in module.state_dict().items()}
    network = adapted(module.advance if method else module)
    network.train()  # whatever mode the network is put into
    assert network.read("not good") == network.read("not good")
    torch.testing.assert_close(network(IDS)[:1], network(IDS[:1]))
    assert all(part.training for part in module.modules())
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    module.eval()
    e = torch.randn(2, D)
    torch.testing.assert_close(network.step(torch.zeros(2, H), e), module(torch.zeros(2, H), e))


def test_an_adapted_module_with_dropout_is_analyzed_alike_twice() -> None:
    module, words = Step(nn.Dropout(0.5)), [f"w{i}" for i in range(30)]
    assert module.training
    torch.manual_seed(1)
    network = adapt(module, torch.randn(30, D), (torch.ones(H), 0.0), words, torch.zeros(H))
    first, second = (rnnlens.analyze(network, starts=40).modifiers for _ in range(2))
    assert first.norm.tolist() == second.norm.tolist() and first.strength.tolist() == second.strength.tolist()


class Holder:
    def __init__(self, module: nn.Module):
        self.module = module

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        return self.module(h, e)

    def __call__(self, h: Tensor, e: Tensor) -> Tensor:
        return self.module(h, e)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("kind", ["closure", "bound", "callable", "partial", "default", "list"])
def test_a_function_that_uses_a_module_in_training_mode_is_refused(kind: str, layer: str) -> None:
    module = Step(LAYERS[layer]())
    several = [module]
    step = {
        "closure": lambda h, e: module(h, e),
        "bound": Holder(module).step,
        "callable": Holder(module),
        "partial": functools.partial(lambda net, h, e: net(h, e), module),
        "default": lambda h, e, net=module: net(h, e),
        "list": lambda h, e: several[0](h, e),
    }[kind]
    before = {name: value.clone() for name, value in module.state_dict().items()}
    E, chance = torch.randn(4, D), torch.get_rng_state()
    told(lambda: adapt(step, E, (torch.ones(H), 0.0), WORDS, torch.zeros(H)), "'Step' in training mode", ".eval()")
    assert torch.equal(torch.get_rng_state(), chance)
    assert all(part.training for part in module.modules())
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    module.eval()
    assert adapted(step).read("not good") == adapted(step).read("not good")


def test_a_module_whose_training_mode_changes_nothing_may_be_used_in_a_function() -> None:
    module = Step(nn.Identity())
    assert module.training and adapted(lambda h, e: module(h, e))(IDS).shape == (2,) and module.training


def test_a_step_by_chance_with_memory_or_across_the_batch_is_refused() -> None:
    calls = []

    def counts(h: Tensor, e: Tensor) -> Tensor:
        calls.append(1)
        return h + len(calls)

    told(lambda: adapted(lambda h, e: 0.5 * h + 0.1 * torch.randn_like(h)), "two different states", "noise")
    told(lambda: adapted(lambda h, e: torch.dropout(torch.ones_like(h), 0.5, True)), "two different states")
    told(lambda: adapted(counts), "two different states")
    told(lambda: adapted(lambda h, e: h - h.mean(0)), "depends on the other states of the batch")
    told(lambda: adapted(Step(nn.BatchNorm1d(H, track_running_stats=False))), "other states of the batch")
    told(lambda: adapted(lambda h, e: h.double()), "torch.float64 for h of torch.float32")


def test_a_step_without_derivatives_is_told() -> None:
    network = adapted(lambda h, e: 0.5 * h.detach())
    told(lambda: jacobians(network, network.h0), "cannot be differentiated", ".detach()")
    numpy = adapted(lambda h, e: torch.as_tensor(h.detach().numpy() * 0.5))
    ones = torch.ones(5, H)
    told(lambda: linearise(numpy, ones).rec(ones), "cannot be differentiated")
    told(lambda: linearise(network, ones).rec(ones), "cannot be differentiated: its result is detached from h")
    words, mix = [f"w{i}" for i in range(30)], torch.randn(D, H)
    for step in (
        lambda h, e: torch.tanh(0.5 * h.detach() + e @ mix),
        lambda h, e: torch.as_tensor(np.tanh(0.5 * h.detach().numpy() + (e.detach() @ mix).numpy())),
    ):
        given = adapt(step, torch.randn(30, D), (torch.ones(H), 0.0), words, torch.zeros(H))
        told(lambda given=given: rnnlens.analyze(given, starts=40), "cannot be differentiated")
    constant = adapted(lambda h, e: torch.ones_like(h))
    assert linearise(constant, ones).rec(ones).abs().sum() == 0


MIX, INTO = torch.linspace(-1, 1, H * H).sin().reshape(H, H), torch.linspace(-2, 2, D * H).cos().reshape(D, H)


def without_gradient(h: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.tanh(h @ MIX.to(h))


def straight_through(x: Tensor) -> Tensor:
    """sign(x), with derivative 1."""
    return x + (torch.sign(x) - x).detach()


DETACHED = {
    "part of h": ("h", lambda h, e: torch.tanh(torch.cat([h[:, :2].detach(), h[:, 2:]], -1) @ MIX.to(h))),
    "part of the result": ("h", lambda h, e: torch.cat([(h @ MIX.to(h))[:, :1].detach(), 0.5 * h[:, 1:]], -1)),
    "gate": ("h", lambda h, e: torch.sigmoid(h.detach() @ MIX.to(h)) * h),
    "rectified": ("h", lambda h, e: 0.9 * h + torch.relu(h.detach() @ MIX.to(h) + e @ INTO.to(h))),
    "no_grad": ("h", lambda h, e: 0.5 * h + without_gradient(h)),
    "part of e": ("e", lambda h, e: 0.5 * h + torch.cat([e[:, :1].detach(), e[:, 1:]], -1) @ INTO.to(h)),
}
ATTACHED = {
    "rectified": lambda h, e: torch.relu(h @ MIX.to(h) + e @ INTO.to(h)),
    "kinks at zero": lambda h, e: h.abs() + torch.relu(e) @ INTO.to(h).relu(),
    "hard gate": lambda h, e: (h @ MIX.to(h) > 0).to(h) * h + e @ INTO.to(h),
    "reset": lambda h, e: 0.9 * h + e @ INTO.to(h) - (h > 0.05).to(h).detach(),
    "straight through": lambda h, e: 0.5 * h + straight_through(h @ MIX.to(h) + e @ INTO.to(h)),
    "rounded": lambda h, e: torch.round(16 * torch.tanh(h @ MIX.to(h))) / 16,
    "rounded by a cast": lambda h, e: torch.tanh(h @ MIX.to(h)).bfloat16().to(h),
    "stable softmax": lambda h, e: (h - h.max(-1, keepdim=True)[0].detach()).exp().cumsum(-1),
    "steep": lambda h, e: torch.sigmoid(1e6 * h @ MIX.to(h)),
    "saturated": lambda h, e: torch.sigmoid(50 + h @ MIX.to(h)),
    "largest": lambda h, e: h * (h >= h.max(-1, keepdim=True)[0]),
    "word by number": lambda h, e: 0.5 * h + INTO.to(h)[e[:, 0].long() % D],
}


def adapted_as(dtype: torch.dtype, step) -> Network:
    E = torch.eye(4, D, dtype=dtype)  # with zeros, where some steps have a kink
    return adapt(step, E, (torch.ones(H, dtype=dtype), 0.0), WORDS, torch.zeros(H, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", DETACHED)
def test_a_step_that_detaches_a_part_is_told(kind: str, dtype: torch.dtype) -> None:
    argument, step = DETACHED[kind]
    network = adapted_as(dtype, step)
    assert network.read("not good"), "reading needs no derivatives"
    line = told(lambda: jacobians(network, network.h0), f"its result is detached from {argument}", ".detach()")
    assert f"of {argument} (counted from 0), but torch's derivative is 0" in line
    told(lambda: jacobians(rnnlens.networks.steered.steered(network, torch.eye(H)[:1], 2.0), network.h0), "detached")


@pytest.mark.parametrize("detached", [100, None])
def test_large_states_are_checked_by_a_sample(detached: int | None) -> None:
    mix = torch.randn(200, 200, generator=torch.Generator().manual_seed(0)) / 14

    def step(h: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
        kept = h if detached is None else torch.cat([h[:, :detached].detach(), h[:, detached:]], -1)
        return torch.tanh(kept @ mix + e.sum(-1, keepdim=True))

    network = adapt(step, torch.eye(4, D), (torch.ones(200), 0.0), WORDS, torch.zeros(200))
    if detached is None:
        assert jacobians(network, network.h0)[0].shape == (200, 200)
    else:
        told(lambda: jacobians(network, network.h0), "its result is detached from h")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ATTACHED)
def test_a_step_with_kinks_jumps_or_a_derivative_of_its_own_is_not_called_detached(
    kind: str, dtype: torch.dtype
) -> None:
    network = adapted_as(dtype, ATTACHED[kind])
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        J_rec, J_inp = jacobians(network, network.h0)
    assert J_rec.shape == (H, H) and J_inp.shape == (H, D)
    assert not warned
    if kind in ("rounded", "steep"):
        assert not J_inp.any(), "they do not depend on the input"


class Residual(nn.GRU):
    def forward(self, x, h=None):
        y, h = super().forward(x, h)
        return y + 1, h


class ScaledEmbedding(nn.Embedding):
    def forward(self, ids):
        return 2 * super().forward(ids)


class Squashed(nn.Linear):
    def forward(self, h):
        return torch.tanh(super().forward(h))


class Renamed(nn.GRU):
    """A subclass that computes what nn.GRU does."""


def test_only_modules_that_compute_what_their_class_does_are_read() -> None:
    gru, embedding, head = parts()
    told(
        lambda: from_torch(Residual(D, H), embedding, head, WORDS),
        "'Residual' has another forward than nn.GRU",
        "adapt",
    )
    told(lambda: from_torch(gru, ScaledEmbedding(4, D), head, WORDS), "another forward than nn.Embedding", "the matrix")
    told(lambda: from_torch(gru, embedding, Squashed(H, 1), WORDS), "another forward than nn.Linear", "(w, b)")
    told(lambda: adapt(lambda h, e: h, ScaledEmbedding(4, D), head, WORDS, torch.zeros(H)), "another forward")
    patched = parts()[0]
    patched.forward = lambda x, h=None: (x, h)
    told(lambda: from_torch(patched, embedding, head, WORDS), "another forward")
    torch.manual_seed(0)
    renamed = Renamed(D, H)
    torch.manual_seed(0)
    assert torch.equal(
        from_torch(renamed, embedding, head, WORDS)(IDS), from_torch(nn.GRU(D, H), embedding, head, WORDS)(IDS)
    )


def test_modules_with_hooks_are_refused_until_the_hooks_are_removed() -> None:
    for place in range(3):
        for add in ("register_forward_hook", "register_forward_pre_hook"):
            given = parts()
            handle = getattr(given[place], add)(lambda *_: None)
            told(lambda given=given: from_torch(*given, WORDS), "has forward hooks", "handle.remove()")
            handle.remove()
            assert from_torch(*given, WORDS)(IDS).shape == (2,)
    normed = nn.utils.weight_norm(parts()[0], "weight_hh_l0")
    told(lambda: from_torch(normed, *parts()[1:], WORDS), "has forward hooks", "remove_weight_norm")


def test_a_parametrized_module_is_read_as_it_computes_and_left_alone() -> None:
    gru, embedding, head = parts(batch_first=True)
    nn.utils.parametrizations.spectral_norm(gru, "weight_hh_l0")
    before = {name: value.clone() for name, value in gru.state_dict().items()}
    network = from_torch(gru, embedding, head, WORDS)
    assert gru.training and all(torch.equal(before[name], value) for name, value in gru.state_dict().items())
    gru.eval()
    torch.testing.assert_close(network(IDS), head(gru(embedding(IDS))[0][:, -1])[:, 0])


def test_words_without_an_order_are_refused() -> None:
    for words in (set(WORDS), frozenset(WORDS)):
        told(lambda words=words: from_torch(*parts(), words), "has no order: expected a list of words")
        told(lambda words=words: Network(words), "has no order")
    told(lambda: rnnlens.Vocab(5), "of type int: expected a list of words")
    assert rnnlens.Vocab(dict.fromkeys(WORDS).keys()).words == tuple(WORDS)


def test_two_outputs_are_read_as_classes_with_a_word_about_it_or_as_said() -> None:
    gru, embedding, head = parts(2, batch_first=True)
    out = head(gru(embedding(IDS))[0][:, -1])
    with pytest.warns(UserWarning, match=r"2 outputs, read as two classes: output 1 minus output 0.*output=0"):
        silent = from_torch(gru, embedding, head, WORDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classes = from_torch(gru, embedding, head, WORDS, target=1)
        one = from_torch(gru, embedding, head, WORDS, output=1)
        zero = from_torch(gru, embedding, head, WORDS, output=0)
    torch.testing.assert_close(silent(IDS), out[:, 1] - out[:, 0])
    torch.testing.assert_close(classes(IDS), out[:, 1] - out[:, 0])
    torch.testing.assert_close(one(IDS), out[:, 1])
    torch.testing.assert_close(zero(IDS), out[:, 0])
    assert silent.reads == classes.reads == "output 1 − 0" and "reads output 1 − 0" in repr(silent)
    assert "reads output 0 of 2" in repr(zero)
    told(lambda: from_torch(gru, None, head, None), "2 classes or outputs", "target=class", "output=number")
    told(lambda: from_torch(gru, embedding, head, WORDS, output=2), "output is '2': expected a number below 2")
    told(lambda: from_torch(gru, embedding, head, WORDS, output=0, target=1), "both target= and output=")


def test_inputs_with_time_first_must_be_said_to_be_turned() -> None:
    gru, _, head = parts()
    x = torch.randn(6, 2, D)  # (T, B, D), as this module takes it
    told(lambda: from_torch(gru, None, head, None), "(T, B, D), but rnnlens reads (B, T, D)", "batch_first=True")
    told(lambda: from_torch(gru, None, head, None, batch_first=False), "(T, B, D)")
    network = from_torch(gru, None, head, None, batch_first=True)
    torch.testing.assert_close(network(x.transpose(0, 1)), head(gru(x)[0][-1])[:, 0])
    assert "continuous inputs (B, T, 3)" in repr(network)
    assert from_torch(nn.GRUCell(D, H), None, head, None)(x.transpose(0, 1)).shape == (2,), "a cell has no layout"


def test_networks_of_complex_numbers_or_none_at_all_are_refused() -> None:
    gru, embedding, head = parts()
    told(lambda: from_torch(nn.GRU(D, H, device="meta"), embedding, head, WORDS), "meta device")
    told(lambda: from_torch(gru, torch.randn(4, D, dtype=torch.complex64), head, WORDS), "embedding is torch.complex64")


def test_what_is_read_is_checked() -> None:
    network = Network(WORDS, hidden=4, embedding=2)
    ids = network(IDS)
    for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32):
        torch.testing.assert_close(network(IDS.to(dtype)), ids)
    for call, part in (
        (lambda: network.states(IDS.bool()), "got torch.bool"),
        (
            lambda: network.states(torch.full((1, 2), 255, dtype=torch.uint8)),
            "word ids range from 255 to 255: expected 0 … 3",
        ),
        (lambda: network.states(IDS.numpy()), "ids is 'ndarray': expected a tensor"),
        (lambda: network.states(IDS.tolist()), "ids is 'list': expected a tensor"),
        (lambda: network(IDS, torch.tensor([2, 5])), "lengths range from 2 to 5: expected 0 … 4"),
        (lambda: network(IDS, torch.tensor([-1, 2])), "lengths range from -1 to 2"),
        (lambda: network(IDS, torch.tensor([2])), "shape (1,): expected whole numbers, (2,)"),
        (lambda: network(IDS, [1, 2]), "lengths is 'list'"),
        (lambda: network.states(IDS, torch.zeros(3)), "h0 has shape (3,): expected (4,)"),
        (lambda: jacobians(network, [0.0] * 4), "h is 'list': expected states, a tensor (..., 4)"),
        (lambda: jacobians(network, torch.zeros(5)), "h has shape (5,): expected states, a tensor (..., 4)"),
        (
            lambda: jacobians(network, torch.zeros(4), torch.zeros(3)),
            "e has shape (3,): expected inputs, a tensor (..., 2)",
        ),
        (lambda: fit_line_attractor(network, torch.full((9, 4), torch.nan)), "some points are NaN or infinite"),
        (lambda: network.read(None), "of type NoneType: expected text"),
        (lambda: network.read(5), "of type int: expected text"),
        (lambda: network.read(b"not bad"), "of type bytes: expected text"),
        (lambda: network.read([1, 2]), "'1' of type int"),
        (lambda: network.read({"not", "bad"}), "of type set: expected text"),
    ):
        told(call, part)
    torch.testing.assert_close(network(IDS, torch.tensor([4, 4], dtype=torch.int32)), ids)


# --- models that diverged ---------------------------------------------------------------------------------------------

TEXTS = ["good movie", "not good movie", "bad movie", "not bad movie", "so good", "so bad", "good so", "bad so"] * 8
LABELS = [1, 0, 0, 1, 1, 0, 1, 0] * 8
QUICK = {"epochs": 2, "min_count": 1, "batch": 16}


def fitted(modifiers="learn", **options) -> ModifierConvolution:
    return ModifierConvolution(modifiers, **{**QUICK, **options}).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"epochs": 0}, "epochs is 0: expected a whole number, at least 1"),
        ({"batch": -1}, "batch is -1: expected a whole number, at least 1"),
        ({"random_state": -1}, "random_state is -1: expected a whole number, from 0 to 2^63 - 1, None, or NumPy's"),
        ({"random_state": "x"}, "random_state is 'x': expected a whole number"),
        ({"sparsity": math.nan}, "sparsity is nan: expected a number, at least 0"),
        ({"l1": math.inf}, "l1 is inf"),
        ({"l2": math.inf}, "l2 is inf"),
        ({"l2": "much"}, "l2 is 'much'"),
        ({"device": "nope"}, "device is 'nope': expected cpu or cuda"),
        ({"modifiers": ["not", "not"]}, "modifiers holds 'not' twice"),
        ({"modifiers": [5]}, "modifiers holds '5' of type int: expected words"),
        ({"modifiers": {"not", "so"}}, "expected a list of words"),
        ({"modifiers": 5}, "modifiers is 5: expected a list of words"),
        ({"class_weight": {0: math.nan, 1: 1.0}}, "class_weight is '{0: nan, 1: 1.0}'"),
        ({"class_weight": {0: -1.0, 1: 1.0}}, "class_weight is"),
        ({"class_weight": {0: 0, 1: 0}}, "at least 0 for each class, not 0 for all"),
    ],
)
def test_parameters_that_no_model_can_be_fitted_with_are_refused(options: dict, line: str) -> None:
    told(lambda: fitted(**options), line)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_missing_gpu_is_told() -> None:
    told(lambda: fitted(device="cuda"), "torch sees no GPU here")


def test_a_fit_that_diverged_says_so_and_leaves_nothing_to_predict_with() -> None:
    model = ModifierConvolution("learn", learning_rate=1e4, **QUICK)
    told(lambda: model.fit(TEXTS, LABELS), "the fit diverged", "try a learning_rate below 10000")
    with pytest.raises(NotFittedError):
        model.predict(["good"])
    good = fitted()
    before = good.predict_proba(TEXTS)
    good.set_params(learning_rate=1e4)
    told(lambda: good.fit(TEXTS[::-1], LABELS[::-1]), "the fit diverged")
    assert (good.predict_proba(TEXTS) == before).all(), "an earlier fit is kept as it was"


@pytest.mark.parametrize("wild", [math.nan, math.inf, 1e38])
def test_a_model_of_no_numbers_does_not_predict(wild: float, tmp_path) -> None:
    model = fitted(["not"])
    model.save(tmp_path / "model")
    model.model_.beta.fill_(wild)
    for call in (model.predict, model.predict_proba, model.decision_function):
        told(lambda call=call: call(["good " * 9]), "not finite")
    if math.isfinite(wild):
        return
    told(lambda: model.score(TEXTS, LABELS), "the model diverged", "'beta'", "fit it again")
    told(lambda: model.explain("not good"), "the model diverged")
    told(lambda: model.modifier_rows(), "the model diverged")
    told(lambda: model.save(tmp_path / "again"), "the model diverged")
    weights = tmp_path / "model" / "weights.safetensors"
    tensors, about = read_tensors(weights)
    mark = write_tensors(weights, {**tensors, "beta": np.full_like(tensors["beta"], wild)}, about)
    file = tmp_path / "model" / "baseline.json"
    write_json(file, {**read_json(file), "provenance": {"weights": mark}})
    told(lambda: ModifierConvolution.load(tmp_path / "model"), "the model diverged")


@pytest.mark.parametrize(
    ("model", "parameters"),
    [("comw", {"learning_rate": 1e4}), ("gru", {"learning_rate": 1e30, "hidden": 4, "embedding": 2, "epochs": 2})],
)
def test_a_search_notes_a_trial_that_diverged_and_goes_on(model: str, parameters: dict) -> None:
    corpus = rnnlens.Corpus.from_texts(TEXTS, LABELS, min_count=1, validation=0.25)
    found = run_trial(model, corpus, parameters, modifiers=["not"])
    assert found["accuracy"] is None and "learning_rate below" in found["error"]


def test_only_texts_are_explained() -> None:
    model = fitted(["not"])
    told(lambda: model.explain(None), "the text is 'None' of type NoneType")
    told(lambda: model.explain(["not good"]), "expected one text")


def small(dtype: torch.dtype = torch.float32) -> Network:
    words = ["<unk>", "not", "very", "good", "bad", "movie", *(f"w{i}" for i in range(40))]
    return Network(words, hidden=8, embedding=4).to(dtype)


@pytest.mark.parametrize("value", [0.0, 1e-42, math.inf, math.nan, 1e38, 1e10, 1e7])
@pytest.mark.parametrize("where", ["E", "cell.U", "cell.W", "readout_w", "all"])
def test_a_network_that_cannot_be_measured_is_refused_in_one_line(where: str, value: float) -> None:
    network = small()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if where in (name, "all"):
                parameter.copy_(parameter.sign() * value if value else 0 * parameter)
    try:
        analysis = rnnlens.analyze(network, starts=40)
    except RnnlensError as error:
        assert "\n" not in str(error)
        return
    assert (where, value) in {("cell.U", 0.0), ("cell.U", 1e-42), ("E", 1e7), ("cell.W", 1e7), ("readout_w", 1e7)}
    check_results(analysis.results)


def test_a_network_of_no_numbers_does_not_read() -> None:
    for value in (math.nan, math.inf):
        network = small()
        with torch.no_grad():
            network.readout_w.fill_(value)
        told(lambda network=network: network.read("not good"), "'readout_w'")
    large = Network(WORDS, hidden=64, embedding=4)
    with torch.no_grad():
        large.readout_w.copy_(3e38 * large.states(IDS[:1])[0, -1].sign())
    told(lambda: large.read(words=["not", "bad", "good", "not"]), "are not finite", "overflow")
    told(lambda: small().to("meta").read("not good"), "meta device")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex64])
def test_analyze_names_a_precision_that_it_cannot_use(dtype: torch.dtype) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told(lambda: rnnlens.analyze(small(dtype)), f"the network is {dtype}: expected float32 or float64")


def test_results_that_are_no_numbers_are_named() -> None:
    told(lambda: check_results({"a": [1.0, {"b": math.nan}]}), "nan for 'a.1.b'")
    check_results({"a": [1.0, None, "inf", 3]})


def test_a_run_whose_words_all_end_at_zero_is_not_finished(tmp_path) -> None:
    corpus = rnnlens.Corpus.from_texts(TEXTS, LABELS, min_count=1)
    config = TrainConfig(epochs=2, batch=16, sparsity=5_000, learning_rate=0.05)
    network = Network(corpus.vocab, hidden=4, embedding=2)
    told(
        lambda: train(network, corpus, config, tmp_path / "run", progress=False),
        "all word embeddings became zero",
        "a sparsity below 5000",
    )
    told(lambda: rnnlens.load(tmp_path / "run"), "not finished")


def test_complex_weights_are_not_read_as_real_ones(tmp_path) -> None:
    corpus = rnnlens.Corpus.from_texts(TEXTS, LABELS, min_count=1)
    run = train(
        Network(corpus.vocab, hidden=4, embedding=2), corpus, TrainConfig(epochs=1), tmp_path / "run", progress=False
    )
    tensors, _ = read_tensors(run.weights)
    forged = {**tensors, "E": tensors["E"].astype(np.complex64)}
    told(lambda: load_weights(run.network, forged, run.weights), "complex64")


def test_a_network_without_modifiers_is_refused_by_what_it_lacks() -> None:
    """A step that is linear, or has no memory: no word changes the effect of the next."""
    words, E = [f"w{i}" for i in range(12)], torch.randn(12, 2, generator=torch.Generator().manual_seed(0)).double()
    Q = torch.linalg.qr(torch.ones(3, 3).double() + torch.diag(torch.tensor([1.0, 2.0, 3.0])))[0]
    V = Q[:2]
    readout, h0 = (torch.ones(3).double(), 0.0), torch.zeros(3).double()
    for step in (
        lambda h, e: h @ (Q * torch.tensor([0.99, 0.5, 0.2]).double()) @ Q.T + e @ V,
        lambda h, e: torch.tanh(e @ V) + 0 * h,
    ):
        network = rnnlens.adapt(step, E, readout, words, h0)
        told(lambda network=network: rnnlens.analyze(network), "the input Jacobian is the same after every word")


def test_growth_is_not_taken_out_of_what_a_network_forgot() -> None:
    """|λ|^50 of a mode that forgets is 0 or rounding errors: a quotient by it is an error, or noise."""
    from rnnlens.analysis.paper_claims import analysis_claims
    from rnnlens.context.edges import ending
    from rnnlens.context.probes import Probes

    network, Q = handmade()
    line = fit_line_attractor(network, torch.linspace(-4, 4, 50).double().unsqueeze(1) * Q[:, 0])
    held = ending(network, line, Probes(("good", "great"), ("bad", "awful")))
    assert held.growth > 0.9 and held.ratio_over_growth == float(held.ratio.median()) / held.growth
    for growth in (0.0, 1e-20):
        lost = dataclasses.replace(held, growth=growth)
        assert lost.to_dict()["ratio_over_growth"] is None and repr(lost)
        (claim,) = (c for c in analysis_claims({"ending": lost.to_dict()}) if c.claim.startswith("words count more"))
        assert claim.shown is None
