"""An analysis in a few lines: what a notebook shows of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rnnlens.analysis.claims import Claim, counted
from rnnlens.analysis.paper_claims import line_found
from rnnlens.common.display import Facts, percents, table_html


def facts_of(analysis: Any) -> Facts:
    """The main results of an `Analysis`."""
    modifiers, (shown, of) = analysis.modifiers, counted(analysis.claims)
    return [
        ("network", repr(analysis.network)),
        ("verdict", " ".join(sentence.text for sentence in analysis.verdict)),
        ("warnings", analysis.warnings or "none"),
        ("line attractor", line_found(analysis.results["line_attractor"])),
        ("modifiers", f"{len(modifiers.selected):,} of {len(modifiers):,} words"),
        ("negators and diminishers", modifiers.strongest(12, ("negator", "diminisher"))),
        ("intensifiers", modifiers.strongest(12, "intensifier")),
        ("subspace", f"{percents(analysis.subspace.explained.tolist()[:3])} of the modifiers' variance"),
        ("timescales, words", analysis.timescales.mean()),
        ("bilinear model, 1, 2, 3 terms", percents(analysis.bilinear.explained.tolist()[:3])),
        ("claims of the paper", f"{shown} of {of} that were measured and are specific are shown"),
    ]


def claims_table(claims: Iterable[Claim]) -> str:
    """The paper's claims beside what was measured, as HTML."""
    rows = [
        ["–" if claim.shown is None else "✓" if claim.shown else "✗", claim.claim, claim.measured, claim.paper]
        for claim in claims
    ]
    return table_html(rows, ["", "claim", "here", "paper"])
