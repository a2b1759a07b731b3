"""What words do at a state, in full, to first order, and with modes removed; and the toy study built on them."""

import json
import runpy
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import rnnlens
from rnnlens import Network, adapt, linear_modes, linear_quality, mode_removal, remove_modes
from rnnlens.common.files import write_tensors
from rnnlens.context import after, effects, linear_effects, word_inputs
from rnnlens.experiments.toy import study_toy, toy_config, train_toy
from rnnlens.networks.cells import CELLS

HERE = Path(__file__).parent
WORDS = ["a", "b", "c", "d"]


def network_of(arch, hidden=6, seed=0):
    return Network(WORDS, arch=arch, hidden=hidden, embedding=3, seed=seed).double().requires_grad_(False)


def adapted():
    inner = network_of("gru")
    return adapt(inner.step, inner.E, (inner.w, inner.b), WORDS, inner.h0), inner


def modified_sum(seed=0):
    """A network whose truth is known, in skewed coordinates z of the state h = Q z: z0 sums up valences times 1 + z1,
    z1 is what the word `very` leaves (it decays by 0.3 a step), the others are decoys that every word stirs."""
    generator = torch.Generator().manual_seed(seed)
    size = 7
    Q = torch.randn(size, size, generator=generator, dtype=torch.float64) + 2 * torch.eye(size, dtype=torch.float64)
    inverse = torch.linalg.inv(Q)
    decay = torch.tensor([1, 0.3, 0.9, 0.8, 0.7, 0.6, 0.5], dtype=torch.float64)
    stir = torch.randn(size - 2, 2, generator=generator, dtype=torch.float64)

    def step(h, e):
        z = h @ inverse.t()
        new = decay * z
        summed = new[..., :1] + e[..., :1] * (1 + z[..., 1:2])
        new = torch.cat([summed, new[..., 1:2] + e[..., 1:2], new[..., 2:] + e @ stir.t()], -1)
        return new @ Q.t()

    E = torch.tensor([[1, 0], [-2, 0], [0, 1]], dtype=torch.float64)  # good, awful, very
    w = inverse[0].clone()
    return adapt(
        step, E, (w, torch.zeros((), dtype=torch.float64)), ["good", "awful", "very"], torch.zeros(size).double()
    )


@pytest.mark.parametrize("arch", [*CELLS, "adapted"])
def test_effects_are_steps_with_the_word_less_steps_without(arch):
    network = adapted()[0] if arch == "adapted" else network_of(arch)
    h = torch.randn(5, 2, network.size, dtype=torch.float64)
    e = word_inputs(network, ["c", "a", "<pad>"])
    found = effects(network, h, e)
    assert found.shape == (5, 2, 3)
    for v in range(3):
        alone = (network.step(h, e[v].expand(5, 2, -1)) - network.step(h)) @ network.w
        torch.testing.assert_close(found[..., v], alone, atol=1e-12, rtol=0)
    assert found[..., 2].abs().max() == 0  # a pad does nothing beyond what a pad does


@pytest.mark.parametrize("arch", [*CELLS, "adapted"])
def test_linear_effects_are_the_readouts_derivatives(arch):
    network = adapted()[0] if arch == "adapted" else network_of(arch)
    h, e = torch.randn(4, network.size, dtype=torch.float64), word_inputs(network, WORDS)
    gradient = torch.func.jacrev(lambda x: network.step(h, x) @ network.w)(torch.zeros(4, network.inputs).double())
    slopes = torch.stack([gradient[k, k] for k in range(4)])
    torch.testing.assert_close(linear_effects(network, h, e), slopes @ e.t(), atol=1e-12, rtol=0)


def test_blocks_of_states_do_not_change_effects(monkeypatch):
    network = network_of("lstm")
    h, e = torch.randn(9, network.size, dtype=torch.float64), word_inputs(network, WORDS)
    whole = effects(network, h, e)
    monkeypatch.setattr(sys.modules["rnnlens.context.effects"], "BLOCK", 1)
    torch.testing.assert_close(effects(network, h, e), whole, atol=1e-14, rtol=0)


def test_a_linear_network_agrees_with_its_expansion_and_overshoot_is_seen_by_one_number_only():
    network = modified_sum()  # linear in each word
    e = word_inputs(network, ["good", "awful"])
    quality = linear_quality(network, torch.randn(3, network.size, dtype=torch.float64), e)
    assert quality.agreement == pytest.approx(1) and quality.ratio == pytest.approx(1)
    full = quality.full
    half = torch.tensor([[0.5, 1.5]], dtype=torch.float64)
    off = type(quality)(full * half, full)
    assert off.ratio == pytest.approx(1) and off.agreement < 0.6  # the paper's ratio does not see the errors


@pytest.mark.parametrize("order", ["single", "greedy"])
@pytest.mark.parametrize("what", ["state", "input"])
def test_removing_the_mode_that_carries_a_modifier_removes_exactly_its_effect(order, what):
    network = modified_sum()
    h_star = torch.zeros(network.size, dtype=torch.float64)
    h_mod = after(network, h_star, ["very"])[-1]
    e = word_inputs(network, ["good", "awful"])
    torch.testing.assert_close(effects(network, h_mod, e), torch.tensor([2.0, -4.0]).double())
    if what == "input":  # here words act along the line alone, and that mode stays: nothing else changes their effects
        removal = mode_removal(network, h_mod, h_star, e, what=what, order=order, most=6)
        assert removal.modes.integration not in [removal.modes.units[i][0] for i in removal.units]
        torch.testing.assert_close(removal.remaining, torch.ones(7).double())
        return
    removal = mode_removal(network, h_mod, h_star, e, order=order, most=3)
    first = removal.modes.units[removal.units[0]]
    assert removal.modes.eigenvalues[first[0]].real == pytest.approx(0.3)
    assert removal.remaining[0] == pytest.approx(1) and removal.remaining[1:].max() < 1e-9
    torch.testing.assert_close(removal.effects[1], removal.reference, atol=1e-9, rtol=0)
    # The mode is one of seven: three random ones mostly miss it, then change nothing at all.
    changed = (removal.random[:, 3] - 1).abs()
    assert ((changed < 1e-9) | (changed > 1 - 1e-9)).all() and changed.median() < 1e-9
    assert removal.rotated[:, 1].min() > 0.01  # no mode that points elsewhere does it alone


@pytest.mark.parametrize("kind", ["biorthogonal", "orthogonal"])
def test_many_removals_at_once_are_single_ones(kind):
    network = network_of("gru", hidden=9)
    h_star, h_mod = torch.randn(2, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    e = word_inputs(network, WORDS)
    modes = linear_modes(network, h_star)
    removal = mode_removal(network, h_mod, h_star, e, modes, kind=kind, most=4)
    reference, whole = effects(network, h_star, e), effects(network, h_mod, e)
    for k in range(len(removal.units) + 1):
        rows = [a for i in removal.units[:k] for a in modes.units[i]]
        h = remove_modes(h_mod, modes, h_star, rows, kind)
        torch.testing.assert_close(removal.effects[k], effects(network, h, e))
        left = (effects(network, h, e) - reference).norm() / (whole - reference).norm()
        assert removal.remaining[k].item() == pytest.approx(left.item())
        assert removal.size[k].item() == pytest.approx(((h - h_star).norm() / (h_mod - h_star).norm()).item())
    given = mode_removal(network, h_mod, h_star, e, modes, kind=kind, units=removal.units[::-1])
    assert given.units == removal.units[::-1] and given.remaining[-1].item() == pytest.approx(
        removal.remaining[-1].item()
    )


def test_a_rotated_networks_modes_are_modes_of_the_rotated_matrix():
    from rnnlens.context.mode_removal import _rotated

    modes = linear_modes(network_of("gru", hidden=9), torch.zeros(9).double())
    other = _rotated(modes, torch.Generator().manual_seed(0))
    J, values = other.J.to(other.right.dtype), other.eigenvalues
    torch.testing.assert_close(J @ other.right, other.right * values)
    torch.testing.assert_close(other.left @ other.right, torch.eye(9, dtype=other.right.dtype))


def test_a_pair_of_modes_leaves_together():
    turn = torch.tensor([[0.6, -0.5], [0.5, 0.6]], dtype=torch.float64)

    def step(h, e):
        turned = h[..., 1:3] @ turn.t()
        return torch.cat([h[..., :1] + e[..., :1] * (1 + h[..., 1:2]), turned + e[..., 1:2]], -1)

    E = torch.eye(2, dtype=torch.float64)
    w, zero = torch.tensor([1.0, 0, 0]).double(), torch.zeros((), dtype=torch.float64)
    network = adapt(step, E, (w, zero), ["good", "very"], torch.zeros(3).double())
    h_star = torch.zeros(3, dtype=torch.float64)
    h_mod = after(network, h_star, ["very"])[-1]
    removal = mode_removal(network, h_mod, h_star, word_inputs(network, ["good"]), most=1)
    assert len(removal.modes.units[removal.units[0]]) == 2 and removal.remaining[1] < 1e-9


# --- the study of a trained network -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    """The trained toy GRU that tests come with (`rnnlens toy --seed 0`), taken apart."""
    folder = tmp_path_factory.mktemp("toy") / "run"
    shutil.copytree(HERE / "data" / "toy-gru", folder)
    run = rnnlens.load(folder)
    study_toy(run, starts=2_000, progress=False)
    return rnnlens.load(folder)  # from the files alone


def test_the_trained_network_shows_what_the_issue_is_about(studied):
    toy = studied.results["toy"]
    claims = {claim["claim"]: claim for claim in toy["claims"]}
    expected = (
        "the network reads",
        "the reading holds",
        "the slow points form",
        "one mode integrates",
        "`extremely` mod",
        "`not` mod",
        "the linear expansion",
        "the paper's ratio",
        "removing at most 3 mode units (orthogonal",
    )
    for start in expected:
        found = [claim for text, claim in claims.items() if text.startswith(start)]
        assert found and all(claim["shown"] for claim in found), found
    lasts = toy["deflection"]
    assert lasts["extremely"]["<pad>"]["effect_steps"] == 1 and lasts["not"]["the"]["effect_steps"] == 4


def test_claims_that_fail_are_told_with_their_numbers(studied):
    from rnnlens.experiments.toy_claims import toy_claims

    toy = json.loads(json.dumps(studied.results["toy"]))
    toy["linear_quality"]["agreement"] = 0.4
    toy["deflection"]["not"]["the"]["effect_most"][5] = 0.6
    missed = {claim["claim"]: claim["measured"] for claim in toy_claims(toy) if not claim["shown"]}
    assert any("0.400" in measured for measured in missed.values())
    assert any(text.startswith("`not` modifies") and "60.0 %" in measured for text, measured in missed.items())


def test_the_example_tells_the_story(studied, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["toy.py", str(studied.path)])
    runpy.run_path(str(HERE.parent / "examples" / "toy.py"), run_name="__main__")
    told = capsys.readouterr().out
    assert "LineAttractor: logits" in told and "without 3 modes" in told


@pytest.mark.parametrize("arch", list(CELLS))
def test_an_untrained_tiny_network_gets_its_study_and_fails_its_claims(tmp_path, arch):
    config = replace(toy_config(0), epochs=1)
    run = train_toy(tmp_path / "run", arch=arch, hidden=2, embedding=3, reviews=64, config=config)
    study_toy(run, starts=200, progress=False)
    claims = run.results["toy"]["claims"]
    assert not all(claim["shown"] for claim in claims) and rnnlens.report(run).exists()
    study_toy(rnnlens.load(run.path), starts=200, progress=False)  # again, over what is there
    assert run.results["toy"]["claims"] == rnnlens.load(run.path).results["toy"]["claims"]


def test_a_toy_study_keeps_the_arrays_of_an_analysis(tmp_path):
    run = train_toy(tmp_path / "run", hidden=2, embedding=3, reviews=64, config=replace(toy_config(0), epochs=1))
    arrays = {"subspace": torch.zeros(1, 2), "slow_points": torch.ones(3, 2)}  # as if by `analyze`
    mark = write_tensors(run.path / "analysis.safetensors", arrays, {"provenance": run.provenance})
    run.add_results(subspace={}, line_attractor={"is_line": True}, provenance={"analysis": mark})
    study_toy(rnnlens.load(run.path), starts=200, progress=False)
    found = rnnlens.load(run.path)
    assert "claims" in found.results["toy"] and found.results["line_attractor"] == {"is_line": True}
    assert found.analysis_arrays().keys() == arrays.keys()
