"""A network that somebody gives is read as it computes, is left as it was, and is refused where it cannot be read; one
whose numbers ran away says so."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from tests.support.calls import refused
from torch import Tensor, nn

import rnnlens
from rnnlens import Network, RnnlensError, adapt, from_torch
from rnnlens.analysis.checks import check_results
from rnnlens.baselines import ModifierConvolution
from rnnlens.common.files import read_json, read_tensors, write_json, write_tensors
from rnnlens.dynamics import fit_line_attractor, jacobians, linearise
from rnnlens.runs import load_weights

WORDS = ["<unk>", "not", "bad", "good"]
D, H = 3, 5
IDS = torch.tensor([[1, 2, 3, 1], [3, 3, 0, 2]])


def parts(outputs: int = 1, **options: bool) -> tuple[nn.GRU, nn.Embedding, nn.Linear]:
    torch.manual_seed(0)
    return nn.GRU(D, H, **options), nn.Embedding(4, D), nn.Linear(H, outputs)


class Step(nn.Module):
    """A step with a layer that behaves differently in training mode."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.mix, self.layer = nn.Linear(H + D, H), layer

    def forward(self, h: Tensor, e: Tensor) -> Tensor:
        return self.layer(torch.tanh(self.mix(torch.cat([h, e], -1))))


def adapted(step: Callable[[Tensor, Tensor], Tensor], words: list[str] = WORDS) -> Network:
    torch.manual_seed(1)
    return adapt(step, torch.randn(len(words), D), (torch.ones(H), 0.0), words, torch.zeros(H))


MANY = [f"w{i}" for i in range(30)]

# --- modules and functions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", [nn.Dropout(0.5), nn.BatchNorm1d(H)])
def test_an_adapted_module_is_in_eval_mode_and_the_users_own_is_left_alone(layer: nn.Module) -> None:
    module = Step(layer)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    network = adapted(module)
    network.train()  # whatever mode the network is put into
    assert network.read("not good") == network.read("not good")
    torch.testing.assert_close(network(IDS)[:1], network(IDS[:1]))
    assert all(part.training for part in module.modules())
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    module.eval()
    e = torch.randn(2, D)
    torch.testing.assert_close(network.step(torch.zeros(2, H), e), module(torch.zeros(2, H), e))


def test_a_step_by_chance_with_memory_or_across_the_batch_is_refused() -> None:
    calls = []

    def counts(h: Tensor, e: Tensor) -> Tensor:
        calls.append(1)
        return h + len(calls)

    refused(lambda: adapted(lambda h, e: 0.5 * h + 0.1 * torch.randn_like(h)), "two different states")
    refused(lambda: adapted(counts), "two different states")
    refused(lambda: adapted(lambda h, e: h - h.mean(0)), "other states of the batch")
    refused(lambda: adapted(lambda h, e: h.double()), "torch.float64 for h of torch.float32")


def test_a_step_without_derivatives_is_not_taken_for_one_that_forgets() -> None:
    network, ones, mix = adapted(lambda h, e: 0.5 * h.detach()), torch.ones(5, H), torch.randn(D, H)
    refused(lambda: jacobians(network, network.h0), "cannot be differentiated")
    refused(lambda: linearise(network, ones).rec(ones), "cannot be differentiated")
    for step in (
        lambda h, e: torch.tanh(0.5 * h.detach() + e @ mix),
        lambda h, e: torch.as_tensor(np.tanh(0.5 * h.detach().numpy() + (e.detach() @ mix).numpy())),
    ):
        refused(lambda step=step: rnnlens.analyze(adapted(step, MANY), starts=40), "cannot be differentiated")  # type: ignore[misc]
    constant = adapted(lambda h, e: torch.ones_like(h))
    assert linearise(constant, ones).rec(ones).abs().sum() == 0


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
    refused(lambda: from_torch(Residual(D, H), embedding, head, WORDS), "another forward than nn.GRU")
    refused(lambda: from_torch(gru, ScaledEmbedding(4, D), head, WORDS), "another forward than nn.Embedding")
    refused(lambda: from_torch(gru, embedding, Squashed(H, 1), WORDS), "another forward than nn.Linear")
    refused(lambda: adapt(lambda h, e: h, ScaledEmbedding(4, D), head, WORDS, torch.zeros(H)), "another forward")
    patched = parts()[0]
    patched.forward = lambda x, h=None: (x, h)
    refused(lambda: from_torch(patched, embedding, head, WORDS), "another forward")
    torch.manual_seed(0)
    renamed = Renamed(D, H)
    assert torch.equal(from_torch(renamed, embedding, head, WORDS)(IDS), from_torch(gru, embedding, head, WORDS)(IDS))


def test_modules_with_hooks_are_refused_until_the_hooks_are_removed() -> None:
    for place in range(3):
        for add in ("register_forward_hook", "register_forward_pre_hook"):
            given = parts()
            handle = getattr(given[place], add)(lambda *_: None)
            refused(lambda given=given: from_torch(*given, WORDS), "has forward hooks")
            handle.remove()
            assert from_torch(*given, WORDS)(IDS).shape == (2,)


def test_two_outputs_are_read_as_classes_with_a_word_about_it_or_as_said() -> None:
    gru, embedding, head = parts(2, batch_first=True)
    out = head(gru(embedding(IDS))[0][:, -1])
    with pytest.warns(UserWarning, match="2 outputs, read as two classes: output 1 minus output 0"):
        silent = from_torch(gru, embedding, head, WORDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classes = from_torch(gru, embedding, head, WORDS, target=1)
        one, zero = (from_torch(gru, embedding, head, WORDS, output=k) for k in (1, 0))
    torch.testing.assert_close(silent(IDS), out[:, 1] - out[:, 0])
    torch.testing.assert_close(classes(IDS), out[:, 1] - out[:, 0])
    torch.testing.assert_close(one(IDS), out[:, 1])
    torch.testing.assert_close(zero(IDS), out[:, 0])


def test_inputs_with_time_first_must_be_said_to_be_turned() -> None:
    gru, _, head = parts()
    x = torch.randn(6, 2, D)  # (T, B, D), as this module takes it
    refused(lambda: from_torch(gru, None, head, None), "(T, B, D), but rnnlens reads (B, T, D)")
    network = from_torch(gru, None, head, None, batch_first=True)
    torch.testing.assert_close(network(x.transpose(0, 1)), head(gru(x)[0][-1])[:, 0])
    assert from_torch(nn.GRUCell(D, H), None, head, None)(x.transpose(0, 1)).shape == (2,), "a cell has no layout"


# --- numbers that ran away --------------------------------------------------------------------------------------------

TEXTS = ["good movie", "not good movie", "bad movie", "not bad movie", "so good", "so bad", "good so", "bad so"] * 8
LABELS = [1, 0, 0, 1, 1, 0, 1, 0] * 8
QUICK = {"epochs": 2, "min_count": 1, "batch": 16}


def test_a_fit_that_diverged_says_so_and_leaves_nothing_to_predict_with() -> None:
    model = ModifierConvolution("learn", learning_rate=1e4, **QUICK)
    refused(lambda: model.fit(TEXTS, LABELS), "the fit diverged")
    with pytest.raises(NotFittedError):
        model.predict(["good"])
    good = ModifierConvolution("learn", **QUICK).fit(TEXTS, LABELS)
    before = good.predict_proba(TEXTS)
    refused(lambda: good.set_params(learning_rate=1e4).fit(TEXTS[::-1], LABELS[::-1]), "the fit diverged")
    assert (good.predict_proba(TEXTS) == before).all(), "an earlier fit is kept as it was"


def test_a_model_of_no_numbers_does_not_predict(tmp_path: Path) -> None:
    model = ModifierConvolution(["not"], **QUICK).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    model.model_.beta.fill_(math.nan)
    for call in (model.predict, model.predict_proba, model.decision_function, model.explain):
        refused(lambda call=call: call("good" if call == model.explain else ["good"]))  # type: ignore[misc]
    refused(lambda: model.save(tmp_path / "again"), "the model diverged")
    weights, file = tmp_path / "model" / "weights.safetensors", tmp_path / "model" / "baseline.json"
    tensors, about = read_tensors(weights)
    mark = write_tensors(weights, {**tensors, "beta": np.full_like(tensors["beta"], math.nan)}, about)
    write_json(file, {**read_json(file), "provenance": {"weights": mark}})
    refused(lambda: ModifierConvolution.load(tmp_path / "model"), "the model diverged")


def small(dtype: torch.dtype = torch.float32) -> Network:
    words = ["<unk>", "not", "very", "good", "bad", "movie", *(f"w{i}" for i in range(40))]
    return Network(words, hidden=8, embedding=4).to(dtype)


@pytest.mark.parametrize("value", [0.0, 1e-42, math.inf, math.nan, 1e38, 1e7])
@pytest.mark.parametrize("where", ["E", "cell.U", "readout_w", "all"])
def test_what_analyze_finds_are_numbers_or_it_says_why_there_are_none(where: str, value: float) -> None:
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
    assert (where, value) in {("cell.U", 0.0), ("cell.U", 1e-42), ("E", 1e7), ("readout_w", 1e7)}
    check_results(analysis.results)


def test_a_network_of_no_numbers_does_not_read() -> None:
    network = small()
    with torch.no_grad():
        network.readout_w.fill_(math.nan)
    refused(lambda: network.read("not good"), "'readout_w'")
    large = Network(WORDS, hidden=64, embedding=4)
    with torch.no_grad():
        large.readout_w.copy_(3e38 * large.states(IDS[:1])[0, -1].sign())
    refused(lambda: large.read(words=["not", "bad", "good", "not"]), "are not finite")
    refused(lambda: small().to("meta").read("not good"), "meta device")
    refused(lambda: fit_line_attractor(small(), torch.full((9, 8), torch.nan)), "some points are NaN or infinite")


@pytest.mark.parametrize("dtype", [torch.float16, torch.complex64])
def test_a_precision_that_an_analysis_cannot_use_is_refused(dtype: torch.dtype) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refused(lambda: rnnlens.analyze(small(dtype)), f"the network is {dtype}: expected float32 or float64")


def test_complex_weights_are_not_read_as_real_ones() -> None:
    network = small()
    tensors = {name: value.numpy() for name, value in network.state_dict().items()}
    refused(lambda: load_weights(network, {**tensors, "E": tensors["E"].astype(np.complex64)}, Path("x")), "complex64")


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
        refused(lambda network=network: rnnlens.analyze(network), "the input Jacobian is the same after every word")  # type: ignore[misc]
