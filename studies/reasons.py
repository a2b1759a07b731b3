"""Why our networks do not show a claim: for the replication page and the model cards."""

from __future__ import annotations

VANILLA = "The vanilla network hardly modifies, as in the paper."
REASONS = {  # "perhaps" where the reason itself was not measured
    "one curve": "Perhaps because networks that read several kinds of text keep more than one slow direction.",
    "one mode integrates": "The slowest mode of the vanilla networks decays or grows by more than 2 % a word.",
    "nine tenths": "The distance from the line shrinks more slowly than the modifier's effect: along the first "
    "component of the subspace τ is at most about two words.",
    "two components": "Perhaps because modifiers of five kinds of text move the state in more directions.",
    "three bilinear": "Perhaps because modifiers of five kinds of text move the state in more directions.",
    "projecting it out": "The initial state matters little for whole reviews: beginning on the line costs nothing "
    "clear, either.",
    "beginning on the line": "The initial state matters little for whole reviews; perhaps because they are long.",
    "words count more at once": "The integration mode decays a little at h*; dividing by that decay more than makes up "
    "for what blank inputs take away.",
    "50 blank inputs cost": "The paper's effect, 0.05 to 0.2 points, is smaller than the interval; blank inputs were "
    "part of the training.",
    "the second component": "The two components decay about equally fast.",
    "most well-known modifiers are clear": "Their strengths are within two errors of 0, or their own valence outweighs "
    "them.",
    "removing directions of other": "Directions of other common words matter as much.",
    "removing the modifier subspace": "Three directions hold only part of what word order contributes.",
}  # fmt: skip


def reason(claim: str, arch: str = "") -> str:
    """The reason why a claim is not shown; empty where none was found."""
    known = next((text for start, text in REASONS.items() if claim.startswith(start)), "")
    return known or (VANILLA if arch == "vanilla" else "")
