"""Access to parts of stored results, with an error that names a missing part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rnnlens.common.allowed import shown
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.options import WORDS
from rnnlens.common.sides import Sides, sides_of


def part(results: Any, *names: str, needs: str = "`rnnlens analyze` stores it") -> Any:
    """The part of the results under nested names. results: the content of results.json, or an analysis or a run, which
    have it in `.results`. needs: what to do if the part is missing, for the error message."""
    record = getattr(results, "results", results)
    if not isinstance(record, Mapping):
        raise RnnlensError(f"got {shown(results)}: expected a run, an analysis, or the content of results.json")
    for depth, name in enumerate(names, start=1):
        if not isinstance(record, Mapping) or name not in record:
            raise RnnlensError(f"these results have no {quoted('.'.join(names[:depth]))}: {needs}")
        record = record[name]
    return record


def toy_part(result: Any, name: str) -> Any:
    """A part of the toy study, from a run, its results, or as it is."""
    record = getattr(result, "results", result)
    if not isinstance(record, Mapping):
        raise RnnlensError(f"got {shown(result)}: expected a run of `rnnlens toy`, its results, or toy.{name} of these")
    whole = record is not result or "toy" in record or "provenance" in record
    return part(record, "toy", name, needs="`rnnlens toy` stores it") if whole else record


def perhaps(results: Any, name: str) -> Mapping[str, Any]:
    """The part of the results under a name, or an empty mapping."""
    return getattr(results, "results", results).get(name) or {}


def side_names(results: Any) -> Sides:
    """The names of the two sides of the logit. They are text, not markup."""
    record = getattr(results, "results", results)
    return sides_of(record if isinstance(record, Mapping) else {})


def among(stored: Mapping[str, Any], words: str | Sequence[str], usual: Sequence[str], what: str) -> list[str]:
    """The words to show. Words that the caller chose must be stored. Of the default words (`usual`) those that are
    stored are shown or, if none is (the network may not know English), the first stored ones."""
    chosen = [words] if isinstance(words, str) else list(WORDS.check("words", words))
    missing = [word for word in chosen if word not in stored]
    if not stored:
        raise RnnlensError(
            f"these results have no {what}, since no word is clearly a modifier: analyze more words (top)"
        )
    if missing and (tuple(chosen) != tuple(usual)):
        raise RnnlensError(
            f"no {what} of {quoted(missing[0])} is stored: expected words among {quoted(', '.join(stored), 300)}"
        )
    if not chosen:
        raise RnnlensError(f"no words to show the {what} of: expected words among {quoted(', '.join(stored), 300)}")
    return [word for word in chosen if word in stored] or list(stored)[: len(chosen)]


def two_coordinates(points: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """The first two coordinates in the modifier subspace."""
    if points and len(points[0]) < 2:
        raise RnnlensError("the modifier subspace has 1 component: this figure needs 2 (analyze with rank=2 or more)")
    return [(point[0], point[1]) for point in points]
