"""What blank inputs do to the reading: transients and drift told apart, on networks where both are known."""

import math

import pytest
import torch
from handmade import LATE, handmade

from rnnlens import adapt, analyze, from_torch
from rnnlens.analysis.locate import locate, warnings_of
from rnnlens.context import BlankInput, blank_input
from rnnlens.dynamics import visited_states


def summing(leak=1.0, drift=0.0, scale=1.0, tau=5.0):
    """A state of two: z0 is kept but for `leak` and `drift` a step, z1 decays; the logit is scale · (z0 + z1)."""
    factors = torch.tensor([leak, math.exp(-1 / tau)], dtype=torch.float64)
    shift = torch.tensor([drift, 0.0], dtype=torch.float64)

    def step(h, e):
        return factors * h + shift + 0 * e.sum(-1, keepdim=True)

    w = torch.full((2,), scale, dtype=torch.float64)
    zeros = torch.zeros(3, 1, dtype=torch.float64)
    return adapt(step, zeros, (w, torch.zeros((), dtype=torch.float64)), ["a", "b", "c"], torch.zeros(2).double())


def states(n=400, transient=0.5):
    """Readings with standard deviation 3, each with a transient besides."""
    generator = torch.Generator().manual_seed(0)
    z0 = torch.randn(n, generator=generator, dtype=torch.float64)
    z0 = 3 * (z0 - z0.mean()) / z0.std(correction=0)
    return torch.stack([z0, torch.full_like(z0, transient)], 1)


def test_a_transient_is_in_the_first_change_and_not_in_the_second():
    found = blank_input(summing(), states(transient=2.0))
    assert found.first == pytest.approx(2.0, abs=1e-3) and found.then == pytest.approx(0, abs=1e-3)
    assert found.spread == pytest.approx([3.0] * 3, abs=1e-6) and not found.drifts
    assert BlankInput.from_dict(found.to_dict()) == found


def test_the_transient_of_a_network_made_by_hand_is_measured():
    network, Q = handmade()
    z = torch.zeros(5, 8, dtype=torch.float64)
    z[:, 0] = torch.arange(5.0) - 2
    z[:, 3] = 0.5 * z[:, 0]
    found = blank_input(network, z @ Q.t())
    gone = 0.5 * 1.2 * (1 - math.exp(-50 / LATE))  # the mean |reading| of the states is 1.2
    assert found.first == pytest.approx(gone, rel=1e-6)
    assert found.then == pytest.approx(gone * math.exp(-50 / LATE), rel=1e-6) and not found.drifts


@pytest.mark.parametrize(
    ("network", "drifts"),
    [
        (summing(drift=0.005), False),  # 0.25 over 50 blank inputs, a twelfth of the spread
        (summing(drift=0.007), True),  # 0.35
        (summing(leak=math.exp(-1 / 1000)), False),  # 5 % of every reading
        (summing(leak=math.exp(-1 / 200)), True),  # 22 %
        (summing(leak=math.exp(-1 / 20)), True),  # most is gone after 50 blank inputs, and what is left goes too
        (summing(leak=math.exp(-1 / 2)), False),  # nothing is left that could drift: there is no line, and that is told
    ],
)
def test_a_drift_of_a_tenth_of_the_spread_is_warned_of_whatever_the_scale_of_the_logits(network, drifts):
    at = states()
    before = blank_input(network, at)
    assert before.drifts is drifts
    for scale in (1e-3, 50.0):
        other = summing(scale=scale)
        other.step = network.step
        found = blank_input(other, at)
        assert found.drifts is drifts and found.then == pytest.approx(scale * before.then)


def test_a_network_that_forgets_is_found():
    """Its slow points are all but one point, and a curve explains any scatter along one direction."""
    found = blank_input(summing(leak=math.exp(-1 / 2)), states())
    assert found.forgets and not found.drifts
    assert not blank_input(summing(leak=math.exp(-1 / 50)), states()).forgets  # a third is left
    assert not BlankInput(0.0, 0.0, [0.0] * 3).forgets  # all readings are equal from the first


def test_slow_points_that_lie_together_are_not_called_a_line():
    torch.manual_seed(0)
    rnn, embedding, head = torch.nn.GRU(16, 24), torch.nn.Embedding(407, 16), torch.nn.Linear(24, 1)
    network = from_torch(rnn, embedding, head, ["<unk>", *(f"w{i}" for i in range(406))])
    analysis = analyze(network, starts=300)
    stored = analysis.results["line_attractor"]
    assert stored["explained_variance"] >= 0.9 and stored["is_line"] is analysis.location.is_line is False
    assert not analysis.line.is_line and "one point!" in repr(analysis.line)
    assert any("the network forgets" in warning for warning in analysis.warnings)


def test_an_analysis_stores_both_changes_and_warns_of_the_second_alone():
    network, _ = handmade()
    analysis = analyze(network, starts=200)
    stored = analysis.results["blank_input"]
    assert set(stored) == {"first", "then", "spread"} and len(stored["spread"]) == 3
    measured = blank_input(network, analysis.states).to_dict()
    assert all(stored[name] == pytest.approx(measured[name], rel=1e-5) for name in measured)
    assert stored["first"] > 5 * stored["then"] > 0
    loud = BlankInput(stored["first"], stored["then"], [0.0, 0.0, 0.0])
    quiet = BlankInput(10 * stored["spread"][0], 0.0, stored["spread"])
    (told,) = set(warnings_of(loud, analysis.line, network)) - set(warnings_of(quiet, analysis.line, network))
    assert "drifts" in told
    assert not any("drifts" in warning for warning in analysis.results["warnings"])


def test_a_network_that_oscillates_has_no_slow_points_and_this_is_told():
    """Its states go around a cycle, so the curve through them is none of slow points, whatever its shape."""
    turn = torch.tensor([[math.cos(0.3), -math.sin(0.3)], [math.sin(0.3), math.cos(0.3)]]).double()

    def step(h, e):
        h = h + 0.3 * e
        return h @ turn.T * (1.3 - 0.3 * h.square().sum(-1, keepdim=True)).clamp(min=0.1)

    E = torch.randn(12, 2, generator=torch.Generator().manual_seed(0)).double()
    w = torch.tensor([1.0, 0.0]).double()
    network = adapt(step, E, (w, torch.zeros(()).double()), [f"w{i}" for i in range(12)], torch.zeros(2).double())
    location = locate(network, visited_states(network, n=100))
    assert not location.points.converged.any()
    assert location.shape == location.to_dict()["line_attractor"]["shape"] == "no slow points" and not location.is_line
    assert any("fewer than three slow points" in told for told in location.warnings())
    assert not any("one-dimensional" in told for told in location.warnings())
