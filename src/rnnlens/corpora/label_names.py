"""Numbered labels by the names that a parquet file of Hugging Face's `datasets` has for them (its feature ClassLabel):
0 is positive in some."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from rnnlens.corpora.labels import kind_of_label

UNLABELED = "-1"  # of `datasets`, as in published test sets


def named_labels(labels: Mapping[str, pl.Series], files: Sequence[Path], column: str) -> dict[str, pl.Series]:
    """Labels of splits (as text) under their names, if the first training file has names for all of them, and each name
    is a label that we read, such as neg and pos, or 1 to 5; else unchanged. Rows without a label become null."""
    names = _names(files[0], column) if files and files[0].suffix.lower() in (".parquet", ".pq") else []
    numbers = [str(i) for i in range(len(names))]
    held = {value for of_split in labels.values() for value in of_split.drop_nulls().unique().to_list()}
    if not names or not held <= {*numbers, UNLABELED} or not all(map(kind_of_label, names)):
        return dict(labels)
    return {
        split: of_split.replace_strict(numbers, names, default=None, return_dtype=pl.String)
        for split, of_split in labels.items()
    }


def _names(file: Path, column: str) -> list[str]:
    """The names of a column's numbers, from 0 on; empty if there are none."""
    try:
        feature = json.loads(pl.read_parquet_metadata(file)["huggingface"])["info"]["features"][column]
        names = feature["names"] if feature["_type"] == "ClassLabel" else []
    except (KeyError, TypeError, ValueError, RecursionError):
        return []
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else []
