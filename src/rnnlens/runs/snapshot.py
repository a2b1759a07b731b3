"""One snapshot of a network while it trained: a record of plain numbers, read from JSON that may come from anywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from rnnlens.common.errors import quoted

MOST = 10_000  # slow points, words or sentences of a snapshot; a file with more is damaged


class WordStrength(NamedTuple):
    """A word at a snapshot: its strength with the standard error, and its own effect in logits (`find_modifiers`)."""

    strength: float
    error: float
    valence: float

    @property
    def is_clear(self) -> bool:
        """Whether the strength is more than two errors from 0, and not tiny."""
        return abs(self.strength) > max(2 * self.error, 0.1)


@dataclass(frozen=True)
class LineFacts:
    """The line attractor at a snapshot: shares of the slow points' variance that a curve and a straight line explain,
    the logits at its ends, the share of visited states within them (`covers`), and what the slow points are (`shape`,
    as of a `LineAttractor`; of snapshots that have none, "line")."""

    explained: float
    pc1_variance: float
    range: tuple[float, float]
    readout_alignment: float
    h_star_logit: float
    covers: float
    settled: int
    through: str
    shape: str = "line"


@dataclass(frozen=True)
class SubspaceFacts:
    """The modifier subspace at a snapshot: shares of variance of its components, the eigenvalue of the integration
    mode, and how much of the last snapshot's subspace it contains (`overlap`, 0 … 1)."""

    explained: tuple[float, ...]
    eigenvalue: complex
    overlap: float


@dataclass(frozen=True)
class SlowPoints:
    """Some slow points, in the order of their logits: their places on the plane of the last snapshot's slow points.
    share: of their variance, the part within this plane. converged of `of` starts led to slow points."""

    converged: int
    of: int
    logits: tuple[float, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    share: float | None


@dataclass(frozen=True)
class Snapshot:
    """The network after `step` steps, with averaged weights if the run averages.

    loss, accuracy   on the documents of `Snapshots`
    shuffled         accuracy with their words in random order; lost, won: documents that became wrong and right by it
    readings         example sentence → final logit
    words            well-known word → strength, error, valence; empty if they could not be measured
    line, subspace, points   None if they could not be found
    """

    step: int
    loss: float
    accuracy: float
    shuffled: float
    lost: int
    won: int
    readings: Mapping[str, float]
    words: Mapping[str, WordStrength]
    line: LineFacts | None
    subspace: SubspaceFacts | None
    points: SlowPoints | None


def snapshot_of(record: Mapping[str, Any]) -> Snapshot:
    """A checked record: the file may come from anywhere."""
    line, subspace, points = (record[name] for name in ("line", "subspace", "points"))
    return Snapshot(
        step=whole_of(record["step"]),
        loss=number_of(record["loss"]),
        accuracy=number_of(record["accuracy"]),
        shuffled=number_of(record["shuffled"]),
        lost=whole_of(record["lost"]),
        won=whole_of(record["won"]),
        readings={text_of(text): number_of(logit) for text, logit in some_of(record["readings"]).items()},
        words={text_of(word): WordStrength(*numbers_of(row)) for word, row in some_of(record["words"] or {}).items()},
        line=None if line is None else _line(line),
        subspace=None if subspace is None else _subspace(subspace),
        points=None if points is None else _points(points),
    )


def _line(record: Mapping[str, Any]) -> LineFacts:
    low, high = numbers_of(record["range"])
    names = ("explained", "pc1_variance", "readout_alignment", "h_star_logit", "covers")
    numbers = {name: number_of(record[name]) for name in names}
    through, shape = text_of(record["through"]), text_of(record.get("shape", "line"))
    return LineFacts(range=(low, high), settled=whole_of(record["settled"]), through=through, shape=shape, **numbers)


def _subspace(record: Mapping[str, Any]) -> SubspaceFacts:
    explained, eigenvalue = numbers_of(record["explained"]), complex(*numbers_of(record["eigenvalue"]))
    return SubspaceFacts(explained, eigenvalue, number_of(record["overlap"]))


def _points(record: Mapping[str, Any]) -> SlowPoints:
    logits, x, y = (numbers_of(record[name]) for name in ("logits", "x", "y"))
    if not len(logits) == len(x) == len(y):
        raise ValueError("its slow points have different numbers of coordinates")
    share = None if record["share"] is None else number_of(record["share"])
    return SlowPoints(whole_of(record["converged"]), whole_of(record["of"]), logits, x, y, share)


def some_of(values: Any) -> Any:
    if len(values) > MOST:
        raise ValueError(f"it has {len(values)} values in one place")
    return values


def numbers_of(values: Any) -> tuple[float, ...]:
    return tuple(map(number_of, some_of(values)))


def number_of(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{quoted(value, 40)} is not a finite number")
    return float(value)


def whole_of(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{quoted(value, 40)} is not a whole number from 0 on")
    return value


def text_of(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{quoted(value, 40)} is not text")
    return value
