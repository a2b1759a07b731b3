"""Side-by-side timing: the contenders take turns, so that whatever else the machine does falls on all of them.

Where others are at work on the same cores, and one thread of ours, seconds are those of the CPU (`of_the_cpu`): what
the clock on the wall then says is mostly theirs.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch


def side_by_side(
    contenders: Mapping[str, Callable[[], object]],
    rounds: int = 7,
    budget: float = float("inf"),
    warm: bool = False,
    wall: bool = False,
) -> dict[str, float]:
    """Best seconds of each contender over as many rounds for all, one call of each a round, after one call to warm up
    (unless all are `warm`); fewer rounds, but at least one, where they would take longer than `budget` seconds. `wall`:
    by the clock on the wall in any case, for contenders with threads of their own."""
    best = dict.fromkeys(contenders, float("inf"))
    begun = time.perf_counter()
    for turn in range(1 if warm else 0, rounds + 1):
        for name, contender in contenders.items():
            taken = once(contender, wall)
            if turn:
                best[name] = min(best[name], taken)
        if turn and time.perf_counter() - begun > budget:
            break
    return best


def once(contender: Callable[[], object], wall: bool = False) -> float:
    """Seconds of one call."""
    clock = time.perf_counter if wall else _clock
    _wait()
    start = clock()
    contender()
    _wait()
    return clock() - start


def of_the_cpu() -> None:
    """From now on count the seconds that this process has a core."""
    global _clock
    _clock = time.process_time


def peak_memory() -> float:
    """The most memory of this process so far, in MB. (`ru_maxrss` of a new process begins with that of its parent.)"""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024


def whose_clock() -> str:
    return "the CPU's" if _clock is time.process_time else "the wall's"


_clock: Callable[[], float] = time.perf_counter


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
