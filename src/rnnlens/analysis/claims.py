"""What the paper says of networks that read real language, checked against one network's results.

A claim holds, does not hold, or was not measured; beside it stand our number and the paper's. Each claim is a function
of the results (`analysis.paper_claims`), which says what it needs: where that is missing, nothing was measured; any
other error is a mistake and is raised.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

NULLS = Path(__file__).with_name("nulls.json")

Results = Mapping[str, Any]
Finding = tuple[bool, str] | None
"""Whether the claim holds, and the numbers that say so; None where there is nothing to measure it on."""


@dataclass(frozen=True)
class Claim:
    """One statement, whether this network shows it (None: not measured), the numbers that say so, and the paper's.

    Without the paper's, it is a check of our own. unspecific: networks that learnt nothing show it too (`NULLS`), so it
    says nothing of what a network has learnt, and is not counted."""

    claim: str
    shown: bool | None
    measured: str
    section: str
    paper: str = ""
    unspecific: bool = False


@dataclass(frozen=True)
class Check:
    """How a claim is checked. needs: the parts of the results that it reads, as in `accuracy.test_shuffled`."""

    section: str
    claim: str
    paper: str
    needs: tuple[str, ...]
    find: Callable[[Results], Finding]

    def __call__(self, results: Results) -> Claim:
        finding = self.find(results) if all(_has(results, need) for need in self.needs) else None
        shown, measured = (None, "") if finding is None else finding
        unspecific = self.claim in shown_by_nulls()
        return Claim(self.claim, shown, measured, self.section, self.paper, unspecific)


CHECKS: list[Check] = []


def claim(
    section: str, text: str, *needs: str, paper: str = ""
) -> Callable[[Callable[[Results], Finding]], Callable[[Results], Finding]]:
    """Register a function as the check of a claim; claims are reported in the order in which they are registered."""

    def register(find: Callable[[Results], Finding]) -> Callable[[Results], Finding]:
        CHECKS.append(Check(section, text, paper, needs, find))
        return find

    return register


def counted(claims: Sequence[Claim]) -> tuple[int, int]:
    """Of the paper's claims that were measured and are specific: how many are shown, of how many."""
    some = [claim.shown for claim in claims if claim.paper and not claim.unspecific and claim.shown is not None]
    return sum(some), len(some)


@cache
def shown_by_nulls() -> dict[str, list[str]]:
    """Claims that networks which learnt nothing show, each with the names of these networks (`studies.nulls`)."""
    return json.loads(NULLS.read_text(encoding="utf-8"))["claims"] if NULLS.exists() else {}


def _has(results: Results, need: str) -> bool:
    """Whether a part of the results is there."""
    part: Any = results
    for name in need.split("."):
        if not isinstance(part, Mapping) or name not in part:
            return False
        part = part[name]
    return True
