"""Why our networks do not show a claim, as far as it was measured: for the replication page and the model cards."""

from __future__ import annotations

VANILLA = "The vanilla network hardly modifies, as in the paper."
REASONS = {
    "one curve": "Networks that read several kinds of text keep more than one slow direction.",
    "one mode integrates": "The vanilla network forgets: its slowest mode decays.",
    "nine tenths": "The distance from the line includes slow parts that do not modify; along the first component of "
    "the subspace τ is one or two words.",
    "two components": "Our modifiers are 400 words of five kinds of text; they move the state in more directions.",
    "three bilinear": "The same: modifiers of five kinds of text move the state in more directions.",
    "projecting it out": "The projection hardly moves h0 (see the two interventions in docs/replication.md).",
    "beginning on the line": "Reviews are long: the first words decide few of them.",
    "words count more at once": "The integration mode decays a little at h*; dividing by that decay more than makes up "
    "for what blank inputs take away.",
    "50 blank inputs cost": "The paper's effect, 0.05 to 0.2 points, is smaller than the interval; blank inputs were "
    "part of the training.",
    "the second component": "Both components decay within two words.",
    "most well-known modifiers are clear": "Their strengths are within two errors of 0, or their own valence outweighs "
    "them.",
    "removing directions of other": "The modifiers' own directions matter little here.",
    "removing the modifier subspace": "Three directions hold part of what modifiers do; the rest lies in others.",
}  # fmt: skip


def reason(claim: str, arch: str = "") -> str:
    """The reason why a claim is not shown; empty where none was found."""
    known = next((text for start, text in REASONS.items() if claim.startswith(start)), "")
    return known or (VANILLA if arch == "vanilla" else "")
