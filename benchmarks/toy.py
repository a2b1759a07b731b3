"""Generating toy reviews: vectorised, against a plain loop over words."""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.table import Row
from benchmarks.timing import side_by_side
from rnnlens import ToyLanguage

MANY, FEW = 100_000, 2_000


def rows() -> Iterator[Row]:
    best = side_by_side(
        {"ours": lambda: ToyLanguage().sample(MANY, seed=0), "loop": lambda: [plain_review() for _ in range(FEW)]}, 3
    )
    peer = f"a loop over words (scaled from {FEW:,} reviews)"
    yield Row(f"{MANY:,} toy reviews of 50 words", best["ours"], peer, best["loop"] * MANY / FEW)


def plain_review(length: int = 50) -> tuple[list[str], list[float]]:
    """One review and its targets, word by word."""
    valence = {"awful": -2, "bad": -1, "the": 0, "good": 1, "awesome": 2}
    tokens = [*valence, "extremely", "not", "<pad>"]
    words: list[str] = []
    targets: list[float] = []
    total = 0.0
    while len(words) < length:
        word = random.choice(tokens)
        if (word == "extremely" and words[-1:] == ["extremely"]) or (word == "not" and "not" in words[-4:]):
            continue
        value = valence.get(word, 0) * (2 if words[-1:] == ["extremely"] else 1) * (-1 if "not" in words[-4:] else 1)
        total += value
        words.append(word)
        targets.append(total)
    return words, targets
