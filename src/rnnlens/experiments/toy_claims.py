"""The paper's claims about the toy network, checked against the measured numbers."""

from __future__ import annotations

from statistics import median
from typing import Any

from rnnlens.analysis.claims import Claim
from rnnlens.common.display import percent
from rnnlens.context.blank import BlankInput

ALIVE, GONE = (0.8, 1.2), 0.1  # shares of the language's modification: range within the scope, most beyond it
DESTROYED, UNITS, UNTOUCHED = 0.8, 3, 0.1  # at most UNITS mode units must destroy this share; random ones change less


def toy_claims(toy: dict[str, Any]) -> list[dict[str, Any]]:
    """The claims of §4 and Supp. A, checked on a run's `toy` results."""
    return [
        vars(claim)
        for claim in (
            _reads(toy),
            _holds(toy),
            _line(toy),
            _integrates(toy),
            *_durations(toy),
            *_distances(toy),
            *_aligned(toy),
            *_linear(toy),
            *_removal(toy),
        )
    ]


def _reads(toy: dict[str, Any]) -> Claim:
    off, phrase = max((abs(r["logit"] - r["target"]), r["phrase"]) for r in toy["phrases"])
    return Claim(
        "the network reads every phrase as the language does (within 0.25)",
        off <= 0.25,
        f"furthest off: “{phrase}”, by {off:.2f}",
        "phrases",
    )


def _holds(toy: dict[str, Any]) -> Claim:
    blank = BlankInput.from_dict(toy["blank_input"])
    return Claim(
        "the reading holds over blank inputs, once transients are gone", not blank.drifts, blank.summary(), "phrases"
    )


def _line(toy: dict[str, Any]) -> Claim:
    line = toy["line"]
    claim = f"the slow points form one curve over the readings −{line['reach']:.0f} … +{line['reach']:.0f}"
    if "explained_variance" not in line:
        return Claim(claim, False, f"only {line['slow_points']} slow points have such readings", "state_space")
    return Claim(
        claim,
        line["explained_variance"] >= 0.9 and line["largest_gap"] <= 1,
        f"a curve explains {percent(line['explained_variance'])} of their variance (a straight line "
        f"{percent(line['pc1_variance'])}), the largest gap between readings is {line['largest_gap']:.2f}",
        "state_space",
    )


def _integrates(toy: dict[str, Any]) -> Claim:
    eigenvalues = {word: complex(*modes["integration_eigenvalue"]) for word, modes in toy["modes"].items()}
    places = {round(modes["logit"], 9) for modes in toy["modes"].values()}
    same = " (the same slow point is nearest to both)" if len(eigenvalues) > 1 and len(places) == 1 else ""
    return Claim(
        "one mode integrates: an eigenvalue within 0.02 of 1 at both operating points",
        all(abs(value - 1) <= 0.02 for value in eigenvalues.values()),
        ", ".join(f"{value.real:.4f} near h_{word}" for word, value in eigenvalues.items()) + same,
        "modes",
    )


def _durations(toy: dict[str, Any]) -> list[Claim]:
    claims = []
    for word, fills in toy["deflection"].items():
        scope = next(iter(fills.values()))["scope"]
        least = min(min(d["effect_least"][:scope]) for d in fills.values())
        most = max(max(d["effect_most"][:scope]) for d in fills.values())
        later = max(abs(x) for d in fills.values() for x in d["effect_least"][scope:] + d["effect_most"][scope:])
        claims.append(
            Claim(
                f"`{word}` modifies the next {'word' if scope == 1 else _count(scope, 'word')} and no later one",
                least >= ALIVE[0] and most <= ALIVE[1] and later <= GONE,
                f"{percent(least)} … {percent(most)} of the language's modification within its scope, at most "
                f"{percent(later)} later (least and most over the valence words, readings −10, 0 and 10, blank "
                "inputs and neutral words)",
                "deflection",
            )
        )
    return claims


def _distances(toy: dict[str, Any]) -> list[Claim]:
    claims = []
    for word, fills in toy["deflection"].items():
        scope = next(iter(fills.values()))["scope"]
        steps = {fill: d["distance_steps"] for fill, d in fills.items()}
        claims.append(
            Claim(
                f"the state is off the line for {_count(scope, 'step')} after `{word}`",
                all(n == scope for n in steps.values()),
                "above half its first distance for "
                + ", ".join(
                    f"{_count(n, 'step')} ({'blank inputs' if 'pad' in fill else fill})" for fill, n in steps.items()
                ),
                "deflection",
            )
        )
    return claims


def _aligned(toy: dict[str, Any]) -> list[Claim]:
    if not {"extremely", "not"} <= set(toy["mode_angles"]):
        return []
    nearest, text = {}, {}
    for word, angles in toy["mode_angles"].items():
        best = min(range(len(angles["angles"])), key=lambda i: angles["angles"][i])
        real, imaginary = angles["eigenvalues"][best]
        tau = angles["timescales"][best]
        nearest[word] = (real, imaginary, float("inf") if tau is None else tau)
        pairs = sum(len(unit) == 2 for unit in angles["units"]) / len(angles["units"])
        text[word] = (
            f"nearest left eigenvector at {angles['angles'][best]:.0f}°, λ = {_complex(real, imaginary)}, τ "
            f"{'infinite' if tau is None else f'{tau:.1f} steps'} ({percent(pairs)} of all units are pairs)"
        )
    fast, slow = nearest["extremely"], nearest["not"]
    return [
        Claim(
            "`extremely` deflects the state most along a mode that decays within a step",
            fast[2] <= 1,
            text["extremely"],
            "mode_angles",
        ),
        Claim(
            "`not` deflects it most along an oscillating pair that lasts longer than a step",
            slow[1] != 0 and slow[2] > 1,
            text["not"],
            "mode_angles",
        ),
    ]


def _linear(toy: dict[str, Any]) -> list[Claim]:
    quality = toy["linear_quality"]
    return [
        Claim(
            "the linear expansion predicts what words do (1 − Σ|error|/Σ|full| at least 0.85)",
            quality["agreement"] >= 0.85,
            f"{quality['agreement']:.3f}",
            "linear_quality",
        ),
        Claim(
            "the paper's ratio of linear to full effect is within 10 % of 1 (paper: 0.918)",
            abs(quality["ratio"] - 1) <= 0.1,
            f"{quality['ratio']:.3f}",
            "linear_quality",
        ),
    ]


def _removal(toy: dict[str, Any]) -> list[Claim]:
    claims = []
    for word, removals in toy["mode_removal"].items():
        phrase = " ".join([word, *["the"] * removals["neutral"]])
        for kind in ("orthogonal", "biorthogonal"):
            for order, name in (("single", "the paper's order"), ("greedy", "greedy order")):
                result = removals[f"state_{kind}_{order}"]
                at = min(range(min(UNITS, len(result["remaining"]) - 1) + 1), key=lambda k: result["remaining"][k])
                chance = median([abs(1 - _at(draw, UNITS)) for draw in result["random_remaining"]])
                rotated = [1 - min(draw[: UNITS + 1]) for draw in result["rotated_remaining"]]
                destroyed = 1 - result["remaining"][at]
                claims.append(
                    Claim(
                        f"removing at most {UNITS} mode units ({kind}, {name}) destroys {percent(DESTROYED)} of the "
                        f"effect of `{phrase}`, random units change it by at most {percent(UNTOUCHED)}",
                        destroyed >= DESTROYED and chance <= UNTOUCHED,
                        f"{percent(destroyed)} with {_count(at, 'unit')}, which leaves a deflection of "
                        f"{percent(result['size'][at])} of its length; {UNITS} random units change "
                        f"{percent(chance)} (median of {len(result['random_remaining'])}); units chosen alike in "
                        f"rotated copies of the network destroy {percent(median(rotated))} (median of "
                        f"{len(rotated)}, {sum(x >= destroyed for x in rotated)} of them as much)",
                        "mode_removal",
                    )
                )
        first = removals["state_orthogonal_single"]["remaining"]
        claims.append(
            Claim(
                f"the single mode that matters most carries `{phrase}` nearly alone (at least {percent(DESTROYED)})",
                1 - _at(first, 1) >= DESTROYED,
                f"{percent(1 - _at(first, 1))} (orthogonal)",
                "mode_removal",
            )
        )
    return claims


def _at(values: list[float], k: int) -> float:
    """The k-th value, or the last if there are fewer."""
    return values[min(k, len(values) - 1)]


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}{'' if n == 1 else 's'}"


def _complex(real: float, imaginary: float) -> str:
    return f"{real:.2f}" if imaginary == 0 else f"{real:.2f} ± {abs(imaginary):.2f}i"
