"""What an option may be: a number in a range, a choice, a flag, a text, a path, or an object such as a network.

`kind.check("top", -5)` raises "top is -5: expected a whole number, at least 1". Otherwise it returns the value as
functions take it: NumPy's numbers as Python's, a path as `Path`, with `~` replaced by the home folder.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from rnnlens.common.errors import RnnlensError, quoted

LARGEST = 2**31 - 1  # of a count
LONGEST = 255  # bytes in the name of a file or folder; a whole path has fewer than 4096


@dataclass(frozen=True)
class Allowed:
    """A kind of values. what: the allowed values in words, for messages. none: whether None is one of them."""

    what: str
    none: bool = field(default=False, kw_only=True)

    def __contains__(self, value: object) -> bool:
        return self.none if value is None else self.allows(value)

    def allows(self, value: object) -> bool:
        """Whether a value, which is not None, is allowed."""
        return True

    def plain(self, value: Any) -> Any:
        """An allowed value as functions take it."""
        return value

    def expected(self, value: object) -> str:
        """What was expected in place of a value."""
        return self.what

    def check(self, name: str, value: Any) -> Any:
        """The value as functions take it; an error, which names the option, if it is not allowed."""
        if value not in self:
            raise RnnlensError(f"{name} is {shown(value)}: expected {self.expected(value)}")
        return None if value is None else self.plain(value)


@dataclass(frozen=True)
class Range(Allowed):
    """Whole or finite numbers from `low` to `high`.

    above, below   exclude `low` and `high` themselves
    zero           allow 0 too, whatever the limits are
    """

    low: float
    high: float = math.inf
    whole: bool = False
    above: bool = False
    below: bool = False
    zero: bool = False

    def allows(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        try:
            number = self.plain(value)
        except OverflowError:  # a whole number that no float is as large as
            return False
        if self.zero and number == 0:
            return True
        low = number > self.low if self.above else number >= self.low
        high = number < self.high if self.below else number <= self.high
        return low and high and (self.whole or math.isfinite(number))

    def plain(self, value: Any) -> int | float:
        if self.whole or (type(value) is int and abs(value) <= 2**53):  # 1 and 1.0 differ in a file's fingerprint
            return int(value)
        return float(value)

    def expected(self, value: object) -> str:
        over = self.high == LARGEST and isinstance(value, Integral) and int(value) > LARGEST
        return f"a whole number, at most {LARGEST:,}" if over else self.what


def whole(low: int, high: int = LARGEST, none: bool = False) -> Range:
    """Whole numbers from `low` to `high`."""
    limits = f"at least {low}" if high == LARGEST else f"from {low} to {high:,}"
    return Range(f"a whole number, {limits}{', or None' if none else ''}", low, high, whole=True, none=none)


@dataclass(frozen=True)
class Choice(Allowed):
    """One of several names."""

    names: tuple[str, ...]

    def allows(self, value: object) -> bool:
        return isinstance(value, str) and value in self.names


def one_of(*names: str, none: bool = False) -> Choice:
    """One of the names."""
    return Choice(" or ".join([", ".join(names[:-1]), names[-1]]), names, none=none)


@dataclass(frozen=True)
class Flag(Allowed):
    """True or False, Python's or NumPy's; not a text such as "no", which would be taken as True."""

    def allows(self, value: object) -> bool:
        return isinstance(value, bool) or (type(value).__module__ == "numpy" and type(value).__name__ in _NUMPY)

    def plain(self, value: Any) -> bool:
        return bool(value)


_NUMPY = ("bool", "bool_")  # the name of NumPy's type in its versions 2 and 1


@dataclass(frozen=True)
class Text(Allowed):
    """Any text.

    filled   not an empty one, which is often a variable that was not set
    """

    filled: bool = False

    def allows(self, value: object) -> bool:
        return isinstance(value, str) and bool(value or not self.filled)


@dataclass(frozen=True)
class PathLike(Allowed):
    """The path of a file or folder, which need not exist. An empty text is not the current folder: it is often a
    variable that was not set.

    kept     pass it on as it was given, since it may also be a name of the hub
    folder   of a folder that is written
    """

    kept: bool = False
    folder: bool = False

    def allows(self, value: object) -> bool:
        text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
        try:
            encoded = os.fsencode(text) if isinstance(text, str) else b""
        except UnicodeEncodeError:  # a lone surrogate
            return False
        names = encoded.split(b"/")
        return 0 < len(encoded) < 4096 and b"\0" not in encoded and max(map(len, names)) <= LONGEST

    def plain(self, value: Any) -> Any:
        return value if self.kept else Path(os.path.expanduser(value))


@dataclass(frozen=True)
class Instance(Allowed):
    """Objects that have certain attributes, and lack another one: a network has `train` too, as a corpus has."""

    attributes: tuple[str, ...]
    lacks: str = ""

    def allows(self, value: object) -> bool:
        return all(hasattr(value, name) for name in self.attributes) and not (self.lacks and hasattr(value, self.lacks))


@dataclass(frozen=True)
class Words(Allowed):
    """A list, an array or a column of words; not a text, whose letters would be taken for words, and not a set, which
    has no order."""

    def allows(self, value: object) -> bool:
        listed = isinstance(value, Iterable) and not isinstance(value, str | bytes | Iterator | Set)
        listed = listed and getattr(value, "ndim", 1) == 1
        return listed and all(isinstance(word, str) for word in value)  # type: ignore[attr-defined]

    def plain(self, value: Any) -> list[str]:
        return [str(word) for word in value]


@dataclass(frozen=True)
class Each(Allowed):
    """A list or array of values of one kind.

    distinct   no value may be there twice
    includes   a value that must be there
    empty      whether the list may have no values
    """

    kind: Allowed
    distinct: bool = False
    includes: object = None
    empty: bool = False

    def allows(self, value: object) -> bool:
        values = _listed(value)
        if values is None or not (values or self.empty) or not all(each in self.kind for each in values):
            return False
        twice = self.distinct and any(each in values[:i] for i, each in enumerate(values))
        return not twice and (self.includes is None or self.includes in values)

    def plain(self, value: Any) -> Any:
        return tuple(self.kind.plain(each) for each in _listed(value) or ())


def _listed(value: Any) -> list[Any] | None:
    """The values of a list or of an array with one axis; None for anything else."""
    if isinstance(value, list | tuple | range):
        return list(value)
    return value.tolist() if hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1 else None


@dataclass(frozen=True)
class Either(Allowed):
    """Values of one of several kinds."""

    kinds: tuple[Allowed, ...]

    def allows(self, value: object) -> bool:
        return any(value in kind for kind in self.kinds)

    def plain(self, value: Any) -> Any:
        return next(kind for kind in self.kinds if value in kind).plain(value)


def shown(value: object) -> str:
    """A value as messages show it: numbers as they are; texts, paths and short containers in quotes; the type of
    anything else."""
    if isinstance(value, Real) and not isinstance(value, bool):
        return quoted(value).strip("'")
    written = value is None or isinstance(value, bool | str | bytes | os.PathLike | list | tuple | dict | set)
    return quoted(value) if written else quoted(type(value).__name__)
