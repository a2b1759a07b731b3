"""What the paper says of the toy network, checked against what was measured: each claim holds or not, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ALIVE, GONE = 0.9, 0.1  # shares of the language's own modification: a modifier in force, and one that is over
DESTROYED, UNITS, UNTOUCHED = 0.8, 3, 0.1  # removing at most so many mode units destroys so much; random ones do not


@dataclass(frozen=True)
class Claim:
    """One statement, whether this network shows it, and the numbers that say so."""

    claim: str
    shown: bool
    measured: str
    section: str


def toy_claims(toy: dict[str, Any]) -> list[dict[str, Any]]:
    """The claims of §4 and Supp. A for a run's `toy` results."""
    return [
        vars(claim)
        for claim in (
            _reads(toy), _holds(toy), _line(toy), _integrates(toy), *_durations(toy), *_distances(toy),
            *_aligned(toy), *_linear(toy), *_removal(toy),
        )
    ]  # fmt: skip


def _reads(toy: dict[str, Any]) -> Claim:
    off, phrase = max((abs(r["logit"] - r["target"]), r["phrase"]) for r in toy["phrases"])
    return Claim(
        "the network reads every phrase as the language does (within 0.25)", off <= 0.25,
        f"furthest off: “{phrase}”, by {off:.2f}", "phrases",
    )  # fmt: skip


def _holds(toy: dict[str, Any]) -> Claim:
    drift = toy["pad_drift"]
    return Claim(
        "without input the reading stays where it is (within 1 over 50 pads)", drift <= 1,
        f"it strays by {drift:.2f}", "phrases",
    )  # fmt: skip


def _line(toy: dict[str, Any]) -> Claim:
    line = toy["line"]
    return Claim(
        f"the slow points form one curve over the readings −{line['reach']:.0f} … +{line['reach']:.0f}",
        line["explained_variance"] >= 0.9 and line["largest_gap"] <= 1,
        f"a curve explains {_percent(line['explained_variance'])} of their variance (a straight line "
        f"{_percent(line['pc1_variance'])}), the largest gap between readings is {line['largest_gap']:.2f}",
        "state_space",
    )


def _integrates(toy: dict[str, Any]) -> Claim:
    found = {word: complex(*modes["integration_eigenvalue"]) for word, modes in toy["modes"].items()}
    return Claim(
        "one mode integrates: an eigenvalue within 0.02 of 1 at both operating points",
        all(abs(value - 1) <= 0.02 for value in found.values()),
        ", ".join(f"{value.real:.4f} near h_{word}" for word, value in found.items()), "modes",
    )  # fmt: skip


def _durations(toy: dict[str, Any]) -> list[Claim]:
    claims = []
    for word, fills in toy["deflection"].items():
        alive, gone = 1.0, 0.0
        for d in fills.values():
            alive = min(alive, *d["effect"][: d["scope"]])
            gone = max(gone, *(abs(x) for x in d["effect"][d["scope"] :]))
        scope = next(iter(fills.values()))["scope"]
        claims.append(
            Claim(
                f"`{word}` modifies the next {'word' if scope == 1 else _count(scope, 'word')} and no later one",
                alive >= ALIVE and gone <= GONE,
                f"within its scope at least {_percent(alive)} of the language's modification, later at most "
                f"{_percent(gone)} (after pads and after neutral words)",
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
                + ", ".join(f"{_count(n, 'step')} ({'pads' if 'pad' in fill else fill})" for fill, n in steps.items()),
                "deflection",
            )
        )
    return claims


def _aligned(toy: dict[str, Any]) -> list[Claim]:
    claims = []
    wanted = {"extremely": ("a mode that decays within a step", False), "not": ("an oscillating pair", True)}
    for word, (mode, oscillates) in wanted.items():
        if word not in toy["mode_angles"]:
            continue
        angles = toy["mode_angles"][word]
        best = min(range(len(angles["angles"])), key=lambda i: angles["angles"][i])
        real, imaginary = angles["eigenvalues"][best]
        tau = angles["timescales"][best]
        fast = tau is not None and tau <= 1
        claims.append(
            Claim(
                f"`{word}` deflects the state most along {mode}",
                (imaginary != 0) if oscillates else fast,
                f"nearest left eigenvector at {angles['angles'][best]:.0f}°, λ = {_complex(real, imaginary)}, "
                f"τ {'infinite' if tau is None else f'{tau:.1f} steps'}",
                "mode_angles",
            )
        )
    return claims


def _linear(toy: dict[str, Any]) -> list[Claim]:
    quality = toy["linear_quality"]
    return [
        Claim(
            "the linear expansion predicts what words do (1 − Σ|error|/Σ|full| at least 0.85)",
            quality["agreement"] >= 0.85, f"{quality['agreement']:.3f}", "linear_quality",
        ),
        Claim(
            "the paper's ratio of linear to full effect is within 10 % of 1 (paper: 0.918)",
            abs(quality["ratio"] - 1) <= 0.1, f"{quality['ratio']:.3f}", "linear_quality",
        ),
    ]  # fmt: skip


def _removal(toy: dict[str, Any]) -> list[Claim]:
    claims = []
    for word, found in toy["mode_removal"].items():
        best = {order: found[f"state_biorthogonal_{order}"] for order in ("single", "greedy")}
        destroyed = {order: 1 - min(r["remaining"][: UNITS + 1]) for order, r in best.items()}
        by_chance = _median([abs(1 - draw[UNITS]) for draw in best["single"]["random_remaining"]])
        basis = 1 - _median([min(draw[: UNITS + 1]) for draw in best["greedy"]["random_basis_remaining"]])
        phrase = " ".join([word, *["the"] * found["neutral"]])
        claims.append(
            Claim(
                f"removing at most {UNITS} mode units destroys {_percent(DESTROYED)} of the effect of `{phrase}`, "
                f"random units change it by at most {_percent(UNTOUCHED)}",
                max(destroyed.values()) >= DESTROYED and by_chance <= UNTOUCHED,
                f"{_percent(destroyed['single'])} in the paper's order, {_percent(destroyed['greedy'])} in greedy "
                f"order; {UNITS} random units change {_percent(by_chance)} (median of "
                f"{len(best['single']['random_remaining'])} draws), the best {UNITS} directions of a random "
                f"basis destroy {_percent(basis)}",
                "mode_removal",
            )
        )
    return claims


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}{'' if n == 1 else 's'}"


def _complex(real: float, imaginary: float) -> str:
    return f"{real:.2f}" if imaginary == 0 else f"{real:.2f} ± {abs(imaginary):.2f}i"
