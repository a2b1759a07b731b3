"""Rows of a csv or tsv file that became part of a text: those after a quote that is closed in a later row only."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection

import polars as pl

from rnnlens.common.errors import RnnlensWarning, quoted
from rnnlens.corpora.tables import Table, separator_of

MANY = 1_000  # labels; more are grades


def row_pattern(table: Table, label: str, labels: Collection[str]) -> str | None:
    """A pattern of a line that is a row of the file, with one of its labels; None for files that have no quotes."""
    if table.kind not in ("csv", "tsv"):
        return None
    separator = re.escape(separator_of(table.kind, table.files[0] if table.files else None))
    field, k = rf"[^\n{separator}]*", table.columns.index(label)
    any_of = "|".join(re.escape(text) for text in sorted(labels)) if len(labels) <= MANY else r"[0-9.eE+-]+"
    of_label = f'"?(?:{any_of})"?'
    fields = [field] * k + [of_label] + [field] * (len(table.columns) - 1 - k)
    return rf"(?m)^{separator.join(fields)}\r?$"


def warn_of_rows(texts: pl.Series, pattern: str, where: str) -> bool:
    """Warn of the first text of which at least half of the lines after the first are such rows; whether there is one.
    (A single line, such as "2,000 people", may look like one.)"""
    several = texts.filter(texts.str.contains("\n", literal=True))
    held = several.filter(2 * several.str.count_matches(pattern) >= several.str.count_matches("\n", literal=True))
    if not len(held):
        return False
    lines = held[0].count("\n") + 1
    message = (
        f"a text of {where} runs over {lines:,} lines that look like rows of their own: {quoted(held[0], 40)}; if the "
        "quote before it should not be there, double or remove it, and prepare the corpus again"
    )
    warnings.warn(RnnlensWarning(message), stacklevel=3)
    return True
