"""Side-by-side timing: the contenders take turns, so that whatever else the machine does falls on all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import torch


def side_by_side(contenders: Mapping[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Best seconds of each contender over some rounds, one call of each a round, after one call to warm up."""
    best = dict.fromkeys(contenders, float("inf"))
    for turn in range(rounds + 1):
        for name, contender in contenders.items():
            _wait()
            start = time.perf_counter()
            contender()
            _wait()
            if turn:
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
