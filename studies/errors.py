"""How much another training changes a word's strength: the rule behind the errors of single networks.

    python -m studies.errors RUNS …    # runs named ARCH-NAME-SEED → src/rnnlens/context/errors.json
    python -m studies.errors --check RUNS …    # how well the rule does on other runs; nothing is written

Of networks that differ in their seed alone, the variance of a word's strength is fitted as

    floor² + (own · own effect)² + (size · strength)² + rare²/count

by maximum likelihood (the variances of a few seeds are gamma distributed about it).
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

import rnnlens
from rnnlens.artifacts import write_json
from rnnlens.context.modifiers import Modifiers
from rnnlens.context.strength import MODIFIERS, RULE
from rnnlens.experiments.analyze import find_line

NAMES = ("floor", "own", "size", "rare")


def measured(folder: Path) -> Modifiers:
    network = rnnlens.load(folder).network
    _, line, _, _ = find_line(network, rnnlens.visited_states(network, n=1_000))
    return rnnlens.find_modifiers(network, line)


def groups(folders: list[Path]) -> dict[str, list[Modifiers]]:
    """Networks that differ in their seed alone."""
    found: dict[str, list[Modifiers]] = defaultdict(list)
    for folder in folders:
        print(folder.name, flush=True)
        found[folder.name.rsplit("-", 1)[0]].append(measured(folder))
    return {name: some for name, some in found.items() if len(some) > 1}


def parts_of(some: list[Modifiers]) -> tuple[np.ndarray, np.ndarray, int]:
    """Of each word: the variance of its strength over seeds, and what the rule is made of (M, 4)."""
    strength = np.stack([one.strength.numpy() for one in some])
    own = np.stack([one.own.numpy() for one in some])
    counts = np.ones(len(some[0])) if some[0].counts is None else some[0].counts.numpy()
    known = np.stack([np.ones(strength.shape[1]), (own**2).mean(0), strength.mean(0) ** 2, 1 / np.maximum(1, counts)], 1)
    return strength.var(0, ddof=1), known, len(some) - 1


def fit(parts: list[tuple[np.ndarray, np.ndarray, int]]) -> dict[str, float]:
    def loss(logs: np.ndarray) -> float:
        total = 0.0
        for variance, known, freedom in parts:
            expected = known @ np.exp(2 * logs)
            total += freedom * float((np.log(expected) + variance / expected).mean())
        return total

    found = minimize(loss, np.log([0.03, 0.05, 0.1, 0.3]), method="Nelder-Mead", options={"maxiter": 4000}).x
    return {name: round(float(np.exp(value)), 4) for name, value in zip(NAMES, found, strict=True)}


def same_sign(some: list[Modifiers]) -> dict[str, Any]:
    """Of the words that one network calls clear modifiers: the share to which another gives the same sign; and how many
    standard errors the two are apart, as a root mean square over all words."""
    right, clear, apart = 0, 0, []
    for one, other in permutations(some, 2):
        rows = [i for i, kind in enumerate(one.kinds) if kind in MODIFIERS]
        right += int((one.strength[rows].sign() == other.strength[rows].sign()).sum())
        clear += len(rows)
        both = (one.errors[2].square() + other.errors[2].square()).sqrt()
        apart.append(float(((one.strength - other.strength) / both).square().mean().sqrt()))
    pairs = len(some) * (len(some) - 1)
    return {"clear": clear / pairs, "same_sign": right / clear if clear else None, "apart": float(np.mean(apart))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--check", action="store_true", help="only say how well the present rule does")
    asked = parser.parse_args()
    found = groups(asked.runs)
    if not asked.check:
        rule = fit([parts_of(some) for some in found.values()])
        rule["usual_count"] = float(np.median(next(iter(found.values()))[0].network.vocab.counts))
        networks = {name: len(some) for name, some in found.items()}
        write_json(RULE, {"rule": rule, "networks": networks, "by": "python -m studies.errors"})
        print(rule)
    for name, some in found.items():
        print(name, same_sign(some))


if __name__ == "__main__":
    main()
