"""Grades: labels with a known scale (stars, ratings, 0 to 1, negative / neutral / positive) as targets from 0 to 1.

A network that is trained on grades learns how positive a text is, and 0.5 for neutral ones. Needs only NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rnnlens.common.errors import RnnlensError
from rnnlens.corpora.options import TARGETS
from rnnlens.corpora.splits import NEUTRAL, Split


def target_at(place: float, targets: tuple[float, float] = TARGETS) -> float:
    """The target at a place from −1, the most negative, to 1; 0 is neutral.

    >>> [target_at(place) for place in (-1, -0.5, 0, 0.5, 1)]
    [0.03, 0.2, 0.5, 0.8, 0.97]
    """
    above = float(np.interp(abs(place), [0, 0.5, 1], [0.5, *targets]))
    return round(above if place >= 0 else 1 - above, 3)


def checked_grades(grades: Any) -> np.ndarray:
    """Grades (n,) float32, checked: numbers from 0 to 1."""
    given = np.asarray(grades, dtype=np.float64)
    if given.ndim != 1:
        raise RnnlensError(f"grades have the shape {given.shape}: expected one grade per text")
    wrong = given[~((given >= 0) & (given <= 1))]
    if len(wrong):
        raise RnnlensError(
            f"grades hold {wrong[0]:g}: expected numbers from 0 (negative) to 1 (positive); divide stars by their range"
        )
    return given.astype(np.float32)


def labels_of(grades: np.ndarray) -> np.ndarray:
    """0 below 0.5, 1 above, NEUTRAL at 0.5: (n,) uint8."""
    return np.where(grades == 0.5, NEUTRAL, grades > 0.5).astype(np.uint8)


def targets_of(split: Any) -> np.ndarray:
    """What a network is trained toward: the grades of a split if it has some, else its labels."""
    grades = getattr(split, "grades", None)
    return np.asarray(split.labels if grades is None else grades)


def decided(split: Any) -> Any:
    """The documents of a split that are negative or positive: without neutral ones, which only grades can teach."""
    return split.decided if isinstance(split, Split) else split
