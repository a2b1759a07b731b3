"""The reach of modifiers is that of a network made by hand, whose traces are known to fall exponentially."""

import math

import pytest
import torch
from handmade import FAST, MODIFIERS, SLOW, handmade

import rnnlens
from rnnlens.context.probes import Probes
from rnnlens.context.scope import falls_to, scopes

PROBES = Probes(("great", "good"), ("awful", "bad"))


def test_the_reach_of_each_modifier_is_that_of_the_trace_it_leaves():
    network, Q = handmade()
    along = torch.linspace(-4, 4, 200, dtype=torch.float64)
    line = rnnlens.fit_line_attractor(network, along.unsqueeze(1) * Q[:, 0])
    ids = torch.as_tensor(network.vocab.encode(list(MODIFIERS)))
    found = scopes(network, line, ids, PROBES, lags=12)
    for row, (fast, slow) in enumerate(MODIFIERS.values()):
        tau = FAST if fast else SLOW
        lag = torch.arange(12).double()
        torch.testing.assert_close(found.interaction[row], (fast + slow) * torch.exp(-lag / tau), atol=1e-6, rtol=1e-6)
        assert found.tau[row].item() == pytest.approx(1 + tau, rel=1e-6)
    several = scopes(network, line, ids, PROBES, lags=12, at=line.knots[20:44:8])
    torch.testing.assert_close(several.interaction, found.interaction, atol=1e-6, rtol=1e-6)


def test_a_curve_that_never_falls_has_no_reach_and_one_that_flips_is_met_on_the_way():
    curves = torch.tensor([[1.0, 0.9, 0.8], [2.0, -2.0, 0.0], [-1.0, -math.exp(-1), 0.0], [0.0, 1.0, 1.0]])
    tau = falls_to(curves)
    assert math.isnan(tau[0]) and math.isnan(tau[3])
    assert tau[1].item() == pytest.approx(1 + (1 - math.exp(-1)) / 2)
    assert tau[2].item() == pytest.approx(2)
