"""What each section of the page found, in one line: the title of a folded section."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import Any

from rnnlens.analysis.paper_claims import sign_pattern
from rnnlens.common.display import percent, signed
from rnnlens.common.sides import TWO_SIDES, sides_of
from rnnlens.page.sections import badge

Results = Mapping[str, Any]


def finding(section: str, results: Results, claims: Sequence[Mapping[str, Any]]) -> str:
    """One line of measured facts; the number of shown claims for sections without a sentence of their own, or whose
    results are missing."""
    try:
        return FINDINGS[section](results)
    except (KeyError, TypeError, ValueError, IndexError):  # not measured here, or not finite
        return f"Claims: {tally(claims)}" if claims else ""


def tally(claims: Sequence[Mapping[str, Any]]) -> str:
    """How many of the claims that were measured, and that null networks do not show, are shown."""
    kinds = [badge(claim["shown"], claim.get("unspecific", False))[0] for claim in claims]
    measured = len(kinds) - kinds.count("open")
    unspecific = sum(bool(claim.get("unspecific")) and claim["shown"] is not None for claim in claims)
    shown = f"{kinds.count('shown')} of {measured} shown" if measured else ""
    return (
        ", ".join(part for part in (shown, f"{unspecific} unspecific" if unspecific else "") if part) or "not measured"
    )


def _line(r: Results) -> str:
    line = r["line_attractor"]
    found = f"A curve explains {percent(line['explained_variance'], 0)} of the variance of the slow points"
    return f"{found} and covers {percent(line['covers'], 0)} of the readings visited" if "covers" in line else found


def _probes(r: Results) -> str:
    last = {name: words[-1][1] for name, words in r["probes"]["reviews"].items()}
    return ", ".join(f"{name} {signed(last[name], 1)}" for name in ("intensified", "plain", "negated")).capitalize()


def _norm(r: Results) -> str:
    return "The largest norms: " + ", ".join(f"“{word}”" for word, _ in r["modifiers"]["strongest_by_norm"][:5])


def _impulse(r: Results) -> str:
    tau = r["impulse"]["not"]["tau"]
    return f"After *not* nine tenths of the way back to the line takes {log(10) * tau:.1f} words"


def _barcodes(r: Results) -> str:
    right, total, _ = sign_pattern(r)
    if not total:
        raise ValueError("no barcodes")
    above, below = sides_of(r).words
    both = "positive and negative words" if sides_of(r) == TWO_SIDES else f"{above} and {below}"
    return f"{right} of {total} well-known modifiers change {both} in the right direction"


def _subspace(r: Results) -> str:
    shares = r["subspace"]["explained_variance"][:2]
    held = "One component holds" if len(shares) == 1 else "Two components hold"
    return f"{held} {percent(sum(shares), 0)} of where modifiers move the state"


def _timescales(r: Results) -> str:
    taus = [f"{tau:.1f}" for tau in r["timescales"]["mean"] if tau is not None]
    if not taus:
        raise ValueError("no component fades")
    return f"Modifiers fade with timescales of {', '.join(taus)} words along the components, on average"


def _components(r: Results) -> str:
    held = r["subspace"]["explained_variance"][: r["subspace"]["rank"]]
    return (
        "The components hold " + ", ".join(percent(share, 0) for share in held) + " of where modifiers move the state"
    )


def _steering(r: Results) -> str:
    steering = r["steering"]
    (none,), others = ([one for one in steering["doses"] if one["gain"] == 0], steering["others"])
    left = none["modification"]
    found = "" if left is None else f"modifiers keep {percent(left, 0)} of their strength, and "
    change = 100 * none["accuracy"]["difference"]
    found = f"At gain 0 {found}accuracy changes by {signed(change, 1)} points"
    controls = [one["accuracy"]["difference"] for draw in others for one in draw if one["gain"] == 0]
    if not controls:
        return found
    return f"{found}; along other words' directions by {signed(100 * sum(controls) / len(controls), 1)}"


def _beginning(r: Results) -> str:
    times = f"{1 + r['beginning']['barcode']['share']:.1f}".replace("-", "−")
    return f"At the beginning of a text the next word counts ×{times}, to first order"


def _ending(r: Results) -> str:
    return f"In the long run the median word has {percent(r['ending']['ratio_median'], 0)} of its effect at once"


def _bilinear(r: Results) -> str:
    one, _, three = (_explained(share) for share in r["bilinear"]["held_out"][:3])
    return f"One term explains {one} of how modifiers change effects, three {three}"


def _negation(r: Results) -> str:
    form = r["modifiers"]["negation_form"]
    shift, factor = form["shift_explained"], form["factor_explained"]
    if max(shift, factor) <= 0:
        return "Neither a factor nor a shift explains it"
    better = "A factor" if factor > shift else "A shift"
    return f"{better} fits better: a factor explains {_explained(factor)}, a shift {_explained(shift)}"


def _explained(share: float) -> str:
    """A share of variance; a model that fits worse than the mean explains nothing."""
    return percent(share, 0) if share > 0 else "nothing"


FINDINGS: dict[str, Callable[[Results], str]] = {
    "line": _line,
    "probes": _probes,
    "norm": _norm,
    "impulse": _impulse,
    "barcodes": _barcodes,
    "subspace": _subspace,
    "timescales": _timescales,
    "components": _components,
    "steering": _steering,
    "beginning": _beginning,
    "ending": _ending,
    "bilinear": _bilinear,
    "negation": _negation,
}
