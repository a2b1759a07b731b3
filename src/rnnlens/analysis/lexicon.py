"""Published lists of modifiers, with a sign or a grade for each word if the list has one.

Formats, recognized by their content:

- one word per line (`.txt`), or columns separated by commas or tabs: first the word, then optionally a number (with a
  point, −0.5), a sign (+, −) or a kind (negator, intensifier, adverb …); a first line `word,…` is a heading;
- VADER's `word <tab> mean <tab> …`, which is such a table; the name `vader` stands for the boosters and negations in
  the installed package vaderSentiment;
- the polarity shifters of Schulder et al.: part of speech, lemma, SHIFTER or NONSHIFTER, direction, source.

A word with value 0 is not a modifier; None marks a modifier of unknown sign.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rnnlens.analysis.trees import read_text
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.options import PATH
from rnnlens.corpora.words import spelled

KINDS: dict[str, float | None] = {
    "": None, "modifier": None, "modal": None, "adverb": None, "+": 1.0, "-": -1.0, "−": -1.0, "positive": 1.0,
    "negative": -1.0, "negator": -1.0, "negation": -1.0, "diminisher": -1.0, "downtoner": -1.0, "shifter": -1.0,
    "intensifier": 1.0, "booster": 1.0, "amplifier": 1.0, "nonshifter": 0.0, "none": 0.0,
}  # fmt: skip
HEADINGS = ("word", "words", "term", "lemma", "token")
EXPECTED = "expected one word per line, with a number, a sign or a kind such as negator after a comma or a tab"


@dataclass(frozen=True)
class Lexicon:
    """Words in lower case with their values: above 0 intensifiers, below 0 negators and diminishers, None of unknown
    sign."""

    name: str
    values: Mapping[str, float | None]

    @property
    def modifiers(self) -> frozenset[str]:
        return frozenset(word for word, value in self.values.items() if value != 0)

    @property
    def names_others(self) -> bool:
        """Whether the list also contains words that are not modifiers."""
        return any(value == 0 for value in self.values.values())


def read_lexicon(source: Path | str | Lexicon) -> Lexicon:
    """Read a lexicon from a file, or VADER's modifiers by the name `vader`."""
    if isinstance(source, Lexicon):
        return source
    if isinstance(source, str | Path) and str(source).lower() == "vader":
        return _vader()
    path = PATH.check("a lexicon", source)
    values: dict[str, float | None] = {}
    named = 2  # columns, by the heading
    text = read_text(path, "a lexicon")
    first = text.lstrip().split("\n", 1)[0]
    if "\t" in first:  # VADER's list has unescaped quotes
        rows = csv.reader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        rows = csv.reader(text.splitlines())
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            heading = not values and cells and cells[0].lower() in HEADINGS
            if heading:
                named = len(cells)
            elif any(cells) and not cells[0].startswith("#"):
                _check_separators(cells, named)
                _add(values, *_entry(cells))
    except (csv.Error, ValueError) as error:
        raise RnnlensError(f"{quoted(str(path))}, line {rows.line_num}: {error}; {EXPECTED}") from None
    if not values:
        raise RnnlensError(f"{quoted(str(path))} holds no words: {EXPECTED}")
    return Lexicon(path.stem, values)


def _check_separators(cells: list[str], named: int) -> None:
    """Raise a ValueError if a decimal comma splits a value (`not,-0,5`) or semicolons separate columns (`not;-0.5`).
    named: the number of columns that the heading names; a third one may hold whole numbers, such as counts."""
    if re.search(r"\w\s*;", cells[0]):
        raise ValueError(f"{quoted(cells[0], 40)} has a semicolon: separate columns by commas or tabs")
    if len(cells) > max(named, 2) and re.fullmatch("[+−-]?0", cells[1]) and re.fullmatch(r"[0-9]+", cells[2]):
        raise ValueError(
            f"the value of {quoted(cells[0], 40)} is {quoted(','.join(cells[1:3]), 40)}: write decimals with a point, "
            "or name every column in a first line such as word,value,count"
        )


def _entry(cells: list[str]) -> tuple[str, float | None]:
    """The word of a row and its value."""
    if len(cells) > 2 and cells[2] in ("SHIFTER", "NONSHIFTER"):
        return cells[1], KINDS[cells[2].lower()]
    word, value = cells[0], cells[1].lower() if len(cells) > 1 else ""
    if not word:
        raise ValueError("there is no word in the first column")
    if value in KINDS:
        return word, KINDS[value]
    try:
        grade = float(value.replace("−", "-"))
    except ValueError:
        grade = float("nan")
    if abs(grade) < float("inf"):
        return word, grade
    raise ValueError(f"the value of {quoted(word, 40)} is {quoted(cells[1], 40)}")


def _add(values: dict[str, float | None], word: str, value: float | None) -> None:
    """Add a word. A word that occurs twice is a modifier if one of its entries says so."""
    word = spelled(word.replace("_", " "))
    if word not in values or values[word] == 0:
        values[word] = value


def _vader() -> Lexicon:
    try:
        from vaderSentiment.vaderSentiment import BOOSTER_DICT, NEGATE
    except ImportError as error:
        raise RnnlensError("the lexicon vader needs its package: `pip install vaderSentiment`") from error
    values: dict[str, float | None] = {word.lower(): float(grade) for word, grade in BOOSTER_DICT.items()}
    return Lexicon("vader", values | {word.lower(): -1.0 for word in NEGATE})
