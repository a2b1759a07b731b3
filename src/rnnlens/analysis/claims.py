"""The paper's claims about networks that read real language, checked against one network's results.

A claim holds, does not hold, or was not measured; each is reported with our number and the paper's. A claim is a
function of the results (`analysis.paper_claims`), registered with the parts of the results that it needs. If one of
these is missing, the claim was not measured; any error in the function is a bug and is raised.
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
"""Whether the claim holds, and the numbers that show it; None if it cannot be measured."""


@dataclass(frozen=True)
class Claim:
    """A claim, whether this network shows it (None: not measured), the measured numbers, and the paper's.

    A claim without the paper's numbers is an additional check. unspecific: networks that learned nothing show it too
    (`NULLS`), so it is no evidence of learning and is not counted.
    """

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
    """How many of the paper's claims are shown, and how many were measured and are specific."""
    shown = [claim.shown for claim in claims if claim.paper and not claim.unspecific and claim.shown is not None]
    return sum(shown), len(shown)


@cache
def shown_by_nulls() -> dict[str, list[str]]:
    """Claims that null networks show, each with the names of these networks (`reproduction.nulls`)."""
    return json.loads(NULLS.read_text(encoding="utf-8"))["claims"] if NULLS.exists() else {}


def _has(results: Results, need: str) -> bool:
    """Whether the results have a part, as in `accuracy.test_shuffled`."""
    part: Any = results
    for name in need.split("."):
        if not isinstance(part, Mapping) or name not in part:
            return False
        part = part[name]
    return True
