"""Labels as people write them → 0 negative, 1 positive, or dropped; or numbers of classes; or grades, targets from 0 to
1. The scheme is chosen from all distinct values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.corpora.classes import MOST_CLASSES, in_order
from rnnlens.corpora.grades import labels_of, target_at
from rnnlens.corpora.options import TARGETS
from rnnlens.corpora.splits import NEUTRAL

DROPPED = 255  # the code of a row without a class: no label, or a neutral rating in a corpus without grades
NO_CLASS = 65_535  # the same where there are more than two classes

_WORDS = {"neg": 0, "negative": 0, "false": 0, "pos": 1, "positive": 1, "true": 1}
_NEITHER = ("neutral", "neu")
_STAR_NAMES = ("stars", "star", "rating", "score")
_NEGATIVE_NAMES = ("neg", "negative", "is_negative")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?")  # float() also takes 1_0 and nan
_EXPECTED = (
    "expected 0/1, 1/2, -1/1, -1/0/1, neg/pos, false/true, stars 1 to 5 or ratings 1 to 10; or take numbers from 0 to "
    "1, stars and ratings as grades (--graded), or every value as a class (--classes)"
)
_STARS = ("stars", "ratings 1 to 10")  # graded unless told otherwise
MOST_LISTED = 20  # raw values; of more the first and the last are named


@dataclass(frozen=True)
class Scheme:
    """How raw labels become codes: `name` is for messages, `codes` maps each raw value to 0, 1, NEUTRAL or DROPPED.
    With three or more classes it maps them to numbers of `classes`, their names, or NO_CLASS. `grades` maps each raw
    value with a class to its target; empty if labels are not graded."""

    name: str
    codes: Mapping[object, int]
    classes: tuple[str, ...] = ()
    grades: Mapping[object, float] = field(default_factory=dict)


def decide_scheme(
    values: Collection[object],
    column: str,
    where: str,
    classes: bool = False,
    graded: bool | None = None,
    targets: tuple[float, float] = TARGETS,
) -> Scheme:
    """The scheme that fits all distinct raw values (None: no label) of the label column of `where`.

    classes: every value is a class. Three or more names, none of them a number or a word for positive or negative, are
    classes in any case.
    graded: whether labels become targets from 0 to 1; two sides that are not stars or ratings stay 0 and 1. None grades
    stars and ratings of more than two values. targets: those at the middle and the end of the upper half of a scale."""
    if classes or _are_names(values):
        return _class_scheme(values, column, where)
    numbers: dict[object, float] = {}
    words: dict[object, int] = {}
    for value in values:
        text = "" if value is None else str(value).strip().lower()
        if text in _WORDS:
            words[value] = _WORDS[text]
        elif text in _NEITHER:
            continue
        elif text:
            numbers[value] = _number(text, value, column, where, whole=not graded)
    if words and numbers:
        pair = quoted(str(next(iter(words)))), quoted(str(next(iter(numbers))))
        raise RnnlensError(f"column {quoted(column)} of {where} mixes {pair[0]} and {pair[1]}: {_EXPECTED}")
    if column.strip().lower() in _NEGATIVE_NAMES:
        raise RnnlensError(
            f"the label column of {where} is named {quoted(column)}: 1 may mean negative there; name a column `label` "
            "and write neg and pos into it"
        )
    neutral = [value for value in values if value is not None and str(value).strip().lower() in _NEITHER]
    if words:
        scheme = Scheme("neg/pos", {value: words.get(value, DROPPED) for value in values})
        places = {value: 2.0 * code - 1 for value, code in words.items()} | dict.fromkeys(neutral, 0.0)
        return _graded(scheme, places, targets) if graded and neutral else scheme
    if not numbers:
        held = "only neutral rows" if neutral else "no label"
        raise RnnlensError(f"column {quoted(column)} of {where} holds {held}: {_EXPECTED}")
    scale = _scale(set(numbers.values()), column, where)
    scheme = Scheme(
        scale.name, {value: scale.code(numbers[value]) if value in numbers else DROPPED for value in values}
    )
    if scale.name == "0 to 1":
        return _with_grades(scheme, numbers)
    stars, few = scale.name in _STARS, len(set(numbers.values())) < 3
    if not (stars and not few if graded is None else graded and (stars or not few)):
        return scheme
    return _graded(scheme, {value: scale.place(number) for value, number in numbers.items()}, targets)


def _graded(scheme: Scheme, places: Mapping[object, float], targets: tuple[float, float]) -> Scheme:
    """The scheme with a target for each raw value from its place on a scale from −1 to 1; 0 is neutral."""
    return _with_grades(scheme, {value: target_at(place, targets) for value, place in places.items()})


def _with_grades(scheme: Scheme, grades: Mapping[object, float]) -> Scheme:
    codes = labels_of(np.array(list(grades.values()), np.float32)).tolist()
    return Scheme(scheme.name, {**scheme.codes, **dict(zip(grades, codes, strict=True))}, grades=grades)


def _are_names(values: Collection[object]) -> bool:
    texts = {as_text(value) for value in values} - {""}
    return len(texts) > 2 and not any(_NUMBER.fullmatch(text) or text.lower() in _WORDS for text in texts)


def _class_scheme(values: Collection[object], column: str, where: str) -> Scheme:
    """Every value as a class, whole numbers by size, then names alphabetically. Two classes are 0 and 1."""
    shown = {value: as_text(value) for value in values}
    for text in shown.values():
        if _NUMBER.fullmatch(text) and not text.lstrip("+-").isdigit():
            raise RnnlensError(
                f"column {quoted(column)} of {where} holds the label {quoted(text)}: expected names or whole numbers "
                "as classes, so round the numbers"
            )
    names = in_order(set(shown.values()) - {""})
    if not 2 <= len(names) <= MOST_CLASSES:
        raise RnnlensError(
            f"column {quoted(column)} of {where} holds {len(names):,} classes: expected 2 to {MOST_CLASSES:,}"
        )
    no_class = DROPPED if len(names) == 2 else NO_CLASS
    codes = {value: names.index(text) if text else no_class for value, text in shown.items()}
    return Scheme(f"{len(names)} classes", codes, names if len(names) > 2 else ())


def as_text(value: object) -> str:
    """A raw value as text: empty for none, whole numbers without a decimal point."""
    text = "" if value is None else str(value).strip()
    number = float(text) if _NUMBER.fullmatch(text) else 0.5
    return str(int(number)) if abs(number) < 1e15 and number == int(number) else text


def class_names(codes: Mapping[object, int]) -> dict[str, str]:
    """Which raw values are of which side, neutral or dropped, in words: {"negative": "1, 2", "positive": "4, 5"}."""
    shown = {value: str(value).strip() for value in codes if value is not None}
    shown = {value: text for value, text in shown.items() if text}  # not rows without a label
    named = zip(("negative", "positive", "neutral", "dropped"), (0, 1, NEUTRAL, DROPPED), strict=True)
    numbers = {value: float(text) if _NUMBER.fullmatch(text) else 0.0 for value, text in shown.items()}
    order = sorted(shown, key=lambda value: (numbers[value], shown[value]))
    values_of = {name: [shown[value] for value in order if codes[value] == code] for name, code in named}
    return {name: _listed(values) for name, values in values_of.items() if values}


def _listed(values: list[str]) -> str:
    if len(values) > MOST_LISTED:
        return f"{values[0]} to {values[-1]} ({len(values):,} values)"
    return ", ".join(values)


def named_targets(grades: Mapping[object, float]) -> dict[str, float]:
    """Raw labels as text and their targets, from the lowest on; of many the lowest and the highest."""
    order = sorted(grades, key=lambda value: (grades[value], str(value)))
    named = order if len(order) <= MOST_LISTED else [order[0], order[-1]]
    return {as_text(value): grades[value] for value in named}


def read_as(scheme: Scheme) -> str:
    """How raw labels are read, such as "stars (1, 2 negative; 3 dropped)"."""
    read = "; ".join(f"{values} {side}" for side, values in class_names(scheme.codes).items())
    return f"its labels are read as {scheme.name} ({read}); expected both classes, or --classes"


def kind_of_label(value: object) -> Literal["word", "number"] | None:
    """What kind of label one raw value could be; None if it cannot be one."""
    text = str(value).strip().lower()
    if text in _WORDS or text in _NEITHER:
        return "word"
    return "number" if text.removesuffix(".0").removeprefix("-") in map(str, range(11)) else None


def _number(text: str, value: object, column: str, where: str, whole: bool) -> float:
    number = float(text) if _NUMBER.fullmatch(text) else float("nan")
    if not abs(number) < 1e6 or (whole and number != int(number)):
        raise RnnlensError(f"column {quoted(column)} of {where} holds the label {quoted(str(value))}: {_EXPECTED}")
    return number


@dataclass(frozen=True)
class _Scale:
    """How numbers are read: `code` gives 0, 1 or DROPPED, `place` the place from −1, the most negative, to 1."""

    name: str
    code: Callable[[float], int]
    place: Callable[[float], float]


def _scale(seen: set[float], column: str, where: str) -> _Scale:
    stars = any(name in column.lower() for name in _STAR_NAMES)
    five = _Scale("stars", lambda x: DROPPED if x == 3 else int(x > 3), lambda x: (x - 3) / 2)
    if seen <= {0, 1}:
        return five if stars and seen == {1} else _Scale("0/1", int, lambda x: 2 * x - 1)
    if seen <= {-1, 1}:
        return _Scale("-1/1", lambda x: int(x > 0), float)
    if seen <= {-1, 0, 1}:
        return _Scale("-1/0/1", lambda x: DROPPED if x == 0 else int(x > 0), float)
    if min(seen) >= 0 and max(seen) <= 1:
        return _Scale("0 to 1", lambda x: DROPPED if x == 0.5 else int(x > 0.5), lambda x: 2 * x - 1)
    if seen <= {1, 2} and not stars:
        return _Scale("1/2", lambda x: int(x - 1), lambda x: 2 * x - 3)
    if min(seen) >= 1 and max(seen) <= 5:
        return five
    if min(seen) >= 1 and max(seen) <= 10:
        return _Scale(
            "ratings 1 to 10",
            lambda x: DROPPED if 4 < x < 7 else int(x >= 7),
            lambda x: 0 if 4 < x < 7 else (x - 5.5) / 4.5,
        )
    wrong = min(seen) if min(seen) < 0 or 0 < min(seen) < 1 else max(seen)
    raise RnnlensError(f"column {quoted(column)} of {where} holds labels out of range, such as {wrong:g}: {_EXPECTED}")
