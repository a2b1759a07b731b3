"""Rows that a caller chose, by their numbers or by a mask: documents, points, words or modes.

Converted to whole numbers, a mask would mean rows 0 and 1, and 1.7 would mean row 1: both are checked here.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Set
from typing import Any

import numpy as np

from rnnlens.common.allowed import shown
from rnnlens.common.errors import RnnlensError, UnknownId


def chosen_rows(name: str, rows: Any, n: int, what: str = "rows", from_end: bool = False) -> np.ndarray:
    """The numbers (k,) int64, from 0 to n − 1, of the rows that a list or array of whole numbers, or a mask of n flags,
    chooses. from_end: −1 is the last row, as in Python. name, what: of the argument and its rows, for messages."""
    given = _array(rows)
    if given is not None and given.dtype == bool and given.shape == (n,):
        return np.flatnonzero(given)
    low = -n if from_end else 0
    expected = f"expected numbers of {what}, from {low} to {n - 1}, or a mask of {n}"
    if given is None or given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise RnnlensError(f"{name} is {shown(rows)}: {expected}")
    if given.size and not low <= int(given.min()) <= int(given.max()) < n:
        raise UnknownId(f"{name} is {shown(given.tolist())}: {expected}")
    numbers = given.astype(np.int64)
    return np.where(numbers < 0, numbers + n, numbers) if from_end else numbers


def chosen_row(name: str, row: Any, n: int) -> int:
    """The number, from 0 to n − 1, of one row; −1 is the last one, as in Python."""
    try:
        number = None if isinstance(row, bool) else operator.index(row)
    except TypeError:
        number = None
    expected = f"expected a whole number, from {-n} to {n - 1}"
    if number is None:
        raise RnnlensError(f"{name} is {shown(row)}: {expected}")
    if not -n <= number < n:
        raise UnknownId(f"{name} is {shown(number)}: {expected}")
    return number + n if number < 0 else number


def _array(rows: Any) -> np.ndarray | None:
    """Rows as an array; None if they are none."""
    rows = list(rows) if isinstance(rows, Set | Iterator) else rows
    try:
        return np.asarray(rows.detach().cpu() if hasattr(rows, "detach") else rows)
    except (TypeError, ValueError, RuntimeError):  # lists of several lengths, a tensor without numbers
        return None
