"""What the page and the verdict say of a network is true of weak networks too."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.handmade import handmade

from rnnlens.analysis.locate import warnings_of
from rnnlens.analysis.paper_claims import analysis_claims, known_by_norm, shuffling_costs
from rnnlens.context.blank import BlankInput
from rnnlens.context.edges import ending
from rnnlens.context.probes import Probes
from rnnlens.dynamics import fit_line_attractor


def row(word: str, strength: float, kind: str) -> dict[str, Any]:
    return {"word": word, "strength": strength, "error": 0.05, "kind": kind, "valence": 0.0, "tau": 1.0}


def measured_on(n: int, before: float, shuffled: float = -0.01, half: float = 0.02) -> dict[str, Any]:
    difference = {"difference": shuffled, "interval": [shuffled - half, shuffled + half], "n": n, "before": before}
    return {"test_shuffled": difference, "test_subspace_removed": {}, "test_random_removed": {}}


def test_no_claim_is_shown_by_an_interval_that_includes_zero_or_a_list_that_holds_every_word() -> None:
    assert shuffling_costs({"accuracy": measured_on(12, 0.8, shuffled=-0.08, half=0.2)})[0] is False
    words = [{**row("not", -1, "negator"), "norm": 1.0}]
    assert known_by_norm({"modifiers": {"words": words, "of": 40, "threshold": 0.1}}) is None


@pytest.mark.parametrize(
    ("low", "high", "at", "spread", "biased"),
    [
        (0.0035, 0.0038, 0.0037, 0.12, False),  # untrained: the slow points are one
        (0.24, 0.25, 0.24, 0.12, True),
        (0.24, 0.25, 0.24, 3.0, False),  # readings forget, but reach far beyond
        (-3.0, 3.0, 0.5, 3.0, False),
        (0.7, 5.0, 0.7, 3.0, True),
    ],
)
def test_h_star_is_called_biased_by_the_size_of_readings(
    low: float, high: float, at: float, spread: float, biased: bool
) -> None:
    line: Any = SimpleNamespace(range=(low, high), is_line=True, explained=1.0, h_star=torch.tensor(at))
    network: Any = SimpleNamespace(logit=lambda h: h)
    told = warnings_of(BlankInput(1.0, 0.0, (spread, 0.0, 0.0)), line, network)
    assert any("biased state" in warning for warning in told) == biased


def test_growth_is_not_taken_out_of_what_a_network_forgot() -> None:
    """|λ|^50 of a mode that forgets is 0 or rounding errors: a quotient by it is an error, or noise."""
    network, Q = handmade()
    line = fit_line_attractor(network, torch.linspace(-4, 4, 50).double().unsqueeze(1) * Q[:, 0])
    held = ending(network, line, Probes(("good", "great"), ("bad", "awful")))
    assert held.growth > 0.9 and held.ratio_over_growth == float(held.ratio.median()) / held.growth
    for growth in (0.0, 1e-20):
        lost = dataclasses.replace(held, growth=growth)
        assert lost.to_dict()["ratio_over_growth"] is None and repr(lost)
        (claim,) = (c for c in analysis_claims({"ending": lost.to_dict()}) if c.claim.startswith("words count more"))
        assert claim.shown is None
