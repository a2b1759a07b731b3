"""How much another training changes a word's strength: the rule behind the errors of single networks.

    python -m reproduction.errors RUNS …    # runs named ARCH-NAME-SEED → src/rnnlens/context/errors.json
    python -m reproduction.errors --check RUNS …    # how well the rule does on other runs; nothing is written

Of networks that differ in their seed alone, the standard deviation of a word's strength is fitted as

    most · moves/(moves + half) · (words/read)^power

by maximum likelihood (the variances of a few seeds are gamma distributed about its square). `moves` is how far the word
moves the state, in units of the median word; `read` is how many words the network's training texts have, `words` that
of the largest.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize

import rnnlens
from rnnlens.analysis.locate import location_of
from rnnlens.common.files import write_json
from rnnlens.context.modifiers import Modifiers
from rnnlens.context.strength import MODIFIERS, RULE


def measured(folder: Path) -> Modifiers:
    network = rnnlens.load(folder).network
    line = location_of(network, rnnlens.visited_states(network, n=300)).line
    return rnnlens.find_modifiers(network, line)


def groups(folders: list[Path]) -> dict[str, list[Modifiers]]:
    """Networks that differ in their seed alone."""
    found: dict[str, list[Modifiers]] = defaultdict(list)
    for folder in folders:
        print(folder.name, flush=True)
        found[folder.name.rsplit("-", 1)[0]].append(measured(folder))
    return {name: some for name, some in found.items() if len(some) > 1}


def fit(found: Iterable[list[Modifiers]]) -> dict[str, float]:
    parts, read = [], []
    for some in found:
        strength, moves = (torch.stack([getattr(one, name) for one in some]) for name in ("strength", "moves"))
        parts.append((strength.var(0).numpy(), moves.mean(0).numpy(), len(some) - 1))
        vocab = some[0].network.vocab
        assert vocab is not None and vocab.counts is not None
        read.append(float(vocab.counts.sum()))

    def loss(given: np.ndarray) -> float:
        (most, half), total = np.exp(given[:2]), 0.0
        for (variance, moves, freedom), words in zip(parts, read, strict=True):
            expected = (most * moves / (moves + half) * (max(read) / words) ** given[2]) ** 2
            total += freedom * float((np.log(expected) + variance / expected).mean())
        return total

    *logs, power = minimize(loss, [np.log(0.1), np.log(2.0), 0.2], method="Nelder-Mead").x
    most, half = np.exp(logs)
    return {
        "most": round(float(most), 4),
        "half": round(float(half), 4),
        "power": round(float(power), 4),
        "words": max(read),
        "fewest": min(read),
    }


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
        rule = fit(found.values())
        networks = {name: len(some) for name, some in found.items()}
        write_json(RULE, {"rule": rule, "networks": networks, "by": "python -m reproduction.errors"})
        print(rule)
    for name, some in found.items():
        print(name, same_sign(some))


if __name__ == "__main__":
    main()
