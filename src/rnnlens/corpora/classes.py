"""Names of classes: which labels become classes, in which order, and how they are checked. Needs only NumPy."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from rnnlens.common.errors import RnnlensError, quoted

MOST_CLASSES = 1_000
_WHOLE = re.compile(r"-?[0-9]{1,200}")  # int() also takes 1_0 and digits of other scripts


def checked_names(classes: Iterable[str]) -> tuple[str, ...]:
    """Names of classes as a tuple, in their order: from 2 to `MOST_CLASSES` different texts."""
    if isinstance(classes, str | bytes | Set | Mapping) or not isinstance(classes, Iterable):
        raise RnnlensError(f"classes is {quoted(classes)}: expected a list of names, such as ['anger', 'joy', 'fear']")
    names = tuple(classes)
    if wrong := [name for name in names if not isinstance(name, str) or not name.strip()]:
        raise RnnlensError(
            f"classes hold {quoted(wrong[0])} of type {type(wrong[0]).__name__}: expected names, as texts"
        )
    if not 2 <= len(names) <= MOST_CLASSES:
        raise RnnlensError(f"the number of classes is {len(names):,}: expected 2 to {MOST_CLASSES:,}")
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise RnnlensError(f"classes hold {quoted(twice)} twice: expected each name once")
    return names


def in_order(names: Collection[str]) -> tuple[str, ...]:
    """Names as they are numbered: whole numbers by size, then other names alphabetically."""

    def place(name: str) -> tuple[bool, float, str]:
        return (False, int(name), name) if _WHOLE.fullmatch(name) else (True, 0, name)

    return tuple(sorted(names, key=place))


def check_ordered(names: Sequence[str]) -> None:
    """Refuse labels that have no order: fewer than three classes, or names that are not whole numbers."""
    if len(names) < 3:
        raise RnnlensError("there are two classes, which need no order: leave ordered (--ordered) out")
    for name in names:
        if not _WHOLE.fullmatch(name):
            raise RnnlensError(
                f"the class {quoted(name)} is not a whole number, so that the order of the classes is unknown: leave "
                "ordered (--ordered) out, or write numbers as labels"
            )


def label_dtype(n: int) -> np.dtype[Any]:
    """The type in which labels of n classes are stored."""
    return np.dtype(np.uint8 if n <= 256 else np.uint16)


def named_labels(labels: Sequence[Any] | np.ndarray, classes: Sequence[str] | None) -> tuple[np.ndarray, Sequence[str]]:
    """Labels as class numbers (n,), and the names of the classes; no names for 0 and 1 without `classes`.

    labels: numbers of classes, or their names. Three or more different names need no `classes`: they are numbered in
    the order of `in_order`."""
    given = np.asarray(labels)
    if given.ndim != 1:
        raise RnnlensError(f"labels have the shape {given.shape}: expected one label per text")
    names = None if classes is None else checked_names(classes)
    values = given.tolist()
    if values and all(isinstance(value, str) for value in values):
        distinct = set(values)
        if names is None and len(distinct) > 2:
            names = checked_names(in_order(distinct))
        if names is not None:
            if unknown := [value for value in distinct if value not in names]:
                raise RnnlensError(f"labels hold {quoted(min(unknown))}: expected {_some(names)}")
            number = {name: i for i, name in enumerate(names)}
            return np.array([number[value] for value in values], label_dtype(len(names))), names
        if len(distinct) == 2 and distinct != {"0", "1"}:
            raise RnnlensError(
                f"labels are {_some(sorted(distinct))}, and do not say which is positive: pass classes=[negative, "
                "positive], with these names"
            )
    n = 2 if names is None else len(names)
    wrong = [value for value in values if value not in range(n)]
    if wrong:
        expected, fix = f"0 … {n - 1}, the numbers of the classes, or their names", ""
        if names is None:
            expected = "0 (negative) and 1 (positive), or names of classes"
            fix = "; pass three or more numbers as names, list(map(str, labels)), or 0, 1, 2 … with classes=[names]"
        raise RnnlensError(f"labels hold {wrong[0]!r:.40}: expected {expected}{fix}")
    return given.astype(label_dtype(n)), names or ()


def _some(names: Sequence[str]) -> str:
    return ", ".join(quoted(name, 40) for name in names[:6]) + (", …" if len(names) > 6 else "")


def find_class(names: Sequence[str], name: object) -> int:
    """The number of a class."""
    if name not in names:
        raise RnnlensError(f"there is no class {quoted(name)}: expected one of {_some(names)}")
    return list(names).index(str(name))
