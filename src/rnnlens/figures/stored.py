"""What figures are drawn from: stored results, or an error that says what is not stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rnnlens.common.errors import RnnlensError, quoted


def part(results: Any, *names: str, needs: str = "`rnnlens analyze` stores it") -> Any:
    """What is stored under names, one within the other: in the content of results.json, or in the `.results` of an
    analysis or a run."""
    found = getattr(results, "results", results)
    for depth, name in enumerate(names, start=1):
        if not isinstance(found, Mapping) or name not in found:
            raise RnnlensError(f"these results have no {quoted('.'.join(names[:depth]))}: {needs}")
        found = found[name]
    return found


def perhaps(results: Any, name: str) -> Mapping[str, Any]:
    """What is stored under a name, or nothing."""
    return getattr(results, "results", results).get(name) or {}


def among(stored: Mapping[str, Any], words: str | Sequence[str], usual: Sequence[str], what: str) -> list[str]:
    """The words asked for, which must be stored; of the usual ones those that are, or if none is, the first that are
    (a network need not know English)."""
    asked = [words] if isinstance(words, str) else list(words)
    missing = [word for word in asked if word not in stored]
    if missing and (tuple(asked) != tuple(usual) or not stored):
        raise RnnlensError(
            f"no {what} of {quoted(missing[0])} is stored: expected some of {quoted(', '.join(stored), 300)}"
        )
    if not asked:
        raise RnnlensError(f"no words to show the {what} of: expected some of {quoted(', '.join(stored), 300)}")
    return [word for word in asked if word in stored] or list(stored)[: len(asked)]


def two_coordinates(points: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """The first two coordinates in the modifier subspace."""
    if points and len(points[0]) < 2:
        raise RnnlensError("the modifier subspace has 1 component: this figure needs 2 (analyze with rank=2 or more)")
    return [(point[0], point[1]) for point in points]
