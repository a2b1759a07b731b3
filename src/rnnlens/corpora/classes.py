"""Names of classes: which labels become classes, in which order, and how they are checked. Needs only NumPy."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from rnnlens.common.errors import RnnlensError, RnnlensWarning, quoted
from rnnlens.corpora.words import well_formed

MOST_CLASSES = 1_000
LONGEST = 200  # characters of a name
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
    if unseen := [name for name in names if not _as_seen(name) or well_formed(name) != name]:
        raise RnnlensError(f"the class {quoted(unseen[0])} cannot be shown: expected a name of visible characters")
    if long := [name for name in names if len(name) > LONGEST]:
        raise RnnlensError(
            f"the class {quoted(long[0], 60)} has {len(long[0]):,} characters: expected at most {LONGEST}"
        )
    check_number(len(names))
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise RnnlensError(f"classes hold {quoted(twice)} twice: expected each name once")
    return names


def check_number(n: int) -> None:
    """Refuse a number of classes that is too small or too large."""
    if not 2 <= n <= MOST_CLASSES:
        raise RnnlensError(f"there {'is 1 class' if n == 1 else f'are {n:,} classes'}: expected 2 to {MOST_CLASSES:,}")


def in_order(names: Collection[str]) -> tuple[str, ...]:
    """Names as they are numbered: whole numbers by size, then other names alphabetically."""

    def place(name: str) -> tuple[bool, float, str]:
        return (False, int(name), name) if _WHOLE.fullmatch(name) else (True, 0, name)

    return tuple(sorted(names, key=place))


def warn_alike(names: Iterable[str], where: str) -> None:
    """Warn of two names that readers may not tell apart, such as Joy and joy."""
    seen: dict[str, str] = {}
    for name in names:
        first = seen.setdefault(_as_seen(name), name)
        if first != name:
            message = (
                f"{where} holds the classes {quoted(first)} and {quoted(name)}, which differ only in case or in how "
                "their characters are encoded: if they are one class, write them the same"
            )
            warnings.warn(RnnlensWarning(message), stacklevel=3)
            return


def _as_seen(name: str) -> str:
    """A name without the differences that are hard to see."""
    return "".join(char for char in unicodedata.normalize("NFKC", name).casefold() if char.isprintable()).strip()


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
    try:
        given = np.asarray(labels)
    except ValueError as error:  # lists of several lengths
        raise RnnlensError("labels are not a list of numbers or names: expected one label per text") from error
    if given.ndim != 1:
        raise RnnlensError(f"labels have the shape {given.shape}: expected one label per text")
    names = None if classes is None else checked_names(classes)
    values = given.tolist()
    if values and all(isinstance(value, str) for value in values):
        distinct = set(values)
        if names is None and len(distinct) > 2:
            names = checked_names(in_order(distinct))
            warn_alike(names, "the list of labels")
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
        if len(distinct) == 1:
            raise RnnlensError(f"all labels are {quoted(values[0])}: expected two or more classes")
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
