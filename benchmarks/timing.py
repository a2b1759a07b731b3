"""Side-by-side timing: the contenders take turns, so that whatever else the machine does falls on all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import torch


def side_by_side(
    contenders: Mapping[str, Callable[[], object]], rounds: int = 7, budget: float = float("inf"), warm: bool = False
) -> dict[str, float]:
    """Best seconds of each contender over as many rounds for all, one call of each a round, after one call to warm up
    (unless all are `warm`); fewer rounds, but at least one, where they would take longer than `budget` seconds."""
    best = dict.fromkeys(contenders, float("inf"))
    begun = time.perf_counter()
    for turn in range(1 if warm else 0, rounds + 1):
        for name, contender in contenders.items():
            taken = once(contender)
            if turn:
                best[name] = min(best[name], taken)
        if turn and time.perf_counter() - begun > budget:
            break
    return best


def once(contender: Callable[[], object]) -> float:
    """Seconds of one call."""
    _wait()
    start = time.perf_counter()
    contender()
    _wait()
    return time.perf_counter() - start


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
