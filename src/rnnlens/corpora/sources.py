"""Sources of reviews: the hub, csv, tsv, jsonl and parquet files, folders of them, the aclImdb folder or tar.

A `Source` has all labels in memory (one byte per row) and reads its texts in batches.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import file_fingerprint
from rnnlens.corpora.aclimdb import find_aclimdb, read_aclimdb_folder, read_aclimdb_tar
from rnnlens.corpora.classes import MOST_CLASSES, checked_names, in_order
from rnnlens.corpora.label_names import UNLABELED, named_labels
from rnnlens.corpora.labels import (
    DROPPED,
    NO_CLASS,
    Scheme,
    class_names,
    decide_scheme,
    kind_of_label,
    named_targets,
    read_as,
)
from rnnlens.corpora.options import PrepareConfig
from rnnlens.corpora.tables import (
    LABEL_NAMES,
    SUFFIXES,
    TEXT_NAMES,
    NoSuchFileError,
    Table,
    batches,
    open_files,
    open_hub,
    read_column,
    reading,
)
from rnnlens.corpora.unclosed import row_pattern, warn_of_rows

HUB = {"imdb": "stanfordnlp/imdb", "yelp": "fancyzhx/yelp_polarity"}
SPLITS = {"train": ("train",), "validation": ("validation", "valid", "val", "dev"), "test": ("test",)}

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_BATCH_BYTES = 8 << 20
_SAMPLE = 1000  # rows read to recognize the text and label columns
_GRADES = 1_000_000  # distinct grades of a column of numbers from 0 to 1


@dataclass(frozen=True)
class Source:
    """Labeled reviews whose texts are not read yet.

    labels  split name → (rows,) uint8: 0 negative, 1 positive, NEUTRAL, DROPPED; of three or more classes, whose names
            are `names`, uint16: the number of the class, NO_CLASS
    read    yields (split name, texts), the rows of each split in order
    grades  split name → (rows,) float32, targets from 0 to 1; empty if labels are not graded
    groups  split name → (rows,) uint64, equal for rows that belong together; empty if rows are not grouped
    """

    name: str
    labels: Mapping[str, np.ndarray]
    read: Callable[[], Iterator[tuple[str, pl.Series]]]
    scheme: str
    columns: Mapping[str, str]
    classes: Mapping[str, str]
    """Which raw labels are negative, positive or dropped, in words."""
    names: tuple[str, ...] = ()
    targets: Mapping[str, float] = field(default_factory=dict)
    """Raw labels and their grades; of many, the lowest and the highest."""
    grades: Mapping[str, np.ndarray] = field(default_factory=dict)
    groups: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def dropped(self) -> int:
        """The code of rows without a class."""
        return NO_CLASS if self.names else DROPPED


def open_source(source: str | Path, config: PrepareConfig = PrepareConfig()) -> Source:  # noqa: B008 - frozen
    """Recognize the kind of `source`, and read its labels, as `config` says."""
    opened = _opened(source, config)
    return replace(opened, groups=_runs(opened, config.group)) if isinstance(config.group, int) else opened


def _opened(source: str | Path, config: PrepareConfig) -> Source:
    where, path = quoted(str(source), 200), Path(source).expanduser()
    if (name := hub_name(source)) is not None:
        return _from_tables(where, str(source), _hub_tables(name, str(source)), config)
    _check_exists(path, where)
    if path.is_file() and path.name.lower().endswith((".tar", ".tar.gz", ".tgz")):
        labels, read = read_aclimdb_tar(path)
    elif (folder := find_aclimdb(path)) is not None:
        labels, read = read_aclimdb_folder(folder)
    elif path.is_dir():
        return _from_tables(where, str(source), _folder_tables(path, where), config)
    else:
        return _from_tables(where, str(source), {"train": open_files([path], where)}, config)
    if isinstance(config.group, str):
        raise RnnlensError(f"{where} has no column {quoted(config.group)} (--group): it is a folder of texts")
    if "train" not in labels:
        raise RnnlensError(f"{where} holds no train/pos and train/neg: expected the aclImdb folder or its tar")
    _check_classes(labels, where)
    return Source(str(source), labels, read, "neg/pos folders", {}, {"negative": "neg", "positive": "pos"})


def local_files(source: str | Path) -> list[Path]:
    """The local files (or folders of files) that a source consists of; none for the hub. A path that does not exist is
    an error."""
    path = Path(source).expanduser()
    if hub_name(source) is not None:
        return []
    _check_exists(path, quoted(str(source), 200))
    if (folder := find_aclimdb(path)) is not None:
        sides = [folder / part / side for part in ("train", "test") for side in ("neg", "pos")]
        return [side for side in sides if side.is_dir()]
    if path.is_dir():
        return sorted(file for files in _folder_files(path).values() for file in files)
    return [path]


def file_state(file: Path) -> tuple[str, str]:
    """The path of a file or folder of files, and a fingerprint of the content: sizes and times can stay the same when
    the content changes. Other kinds of files, such as pipes, have an empty fingerprint; readers refuse them."""
    try:
        if not file.is_dir():
            return str(file.resolve()), file_fingerprint(file) if file.is_file() else ""
        digest = hashlib.sha256()
        for part in sorted(file.glob("*.txt")):
            content = part.read_bytes()
            digest.update(f"/{len(content)}/{part.name}\n".encode(errors="surrogateescape") + content)
    except OSError as error:
        raise RnnlensError(f"cannot read {quoted(str(file), 200)}: {error.strerror or error}") from error
    return str(file.resolve()), digest.hexdigest()


def hub_name(source: str | Path) -> str | None:
    """The owner/name (or hf:// path) of a source on the hub; None for a local path. Only sources written hf:…, and the
    short names in `HUB` if there is no file of that name, are requested from the hub."""
    name = str(source)
    if name.startswith("hf://"):
        return name
    if name.startswith("hf:"):
        if not _HUB_NAME.fullmatch(name[3:]):
            raise RnnlensError(f"{quoted(name, 200)} is not a data set of the hub: expected hf:owner/name")
        return name[3:]
    return HUB.get(name.lower()) if not os.path.exists(Path(name).expanduser()) else None


def _check_exists(path: Path, where: str) -> None:
    if not os.path.exists(path):
        short = ", ".join(HUB)
        raise RnnlensError(
            f"there is no file or folder {where}; a data set of the hub is written hf:owner/name (short names: {short})"
        )


# --- which files ------------------------------------------------------------------------------------------------------


def _folder_files(folder: Path) -> dict[str, list[Path]]:
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES and not file.is_dir())
    named = {split: [f for f in files if f.name.lower().startswith(names)] for split, names in SPLITS.items()}
    return {split: of_split for split, of_split in named.items() if of_split}


def _folder_tables(folder: Path, where: str) -> dict[str, Table]:
    files = _folder_files(folder)
    if "train" not in files:
        raise RnnlensError(
            f"{where} holds no train file: expected train.csv, .tsv, .jsonl or .parquet in it "
            "(test and validation are optional), or the path of a single file"
        )
    return {split: open_files(of_split, f"{where} ({split})") for split, of_split in files.items()}


def _hub_tables(name: str, source: str) -> dict[str, Table]:
    if name.startswith("hf://"):
        return {"train": open_hub(name, source)}
    tables = {"train": open_hub(f"hf://datasets/{name}/**/train*.parquet", source)}
    for split in ("validation", "test"):
        try:
            tables[split] = open_hub(f"hf://datasets/{name}/**/{split}*.parquet", source)
        except NoSuchFileError:  # no other error: a failing connection must not turn a part of train into test
            if split == "test" and source.lower() in HUB:
                raise
    return tables


# --- which columns ----------------------------------------------------------------------------------------------------


def with_same_classes(sources: Sequence[Source]) -> list[Source]:
    """Sources with the same names of classes, those of all of them; two classes stay negative and positive."""
    if not any(source.names for source in sources) or len(sources) == 1:
        return list(sources)
    for source in sources:
        if not source.names:
            many = next(other for other in sources if other.names)
            raise RnnlensError(
                f"{quoted(source.name, 200)} has two classes and {quoted(many.name, 200)} has {len(many.names)}: "
                "expected the same classes; prepare them apart, or take every label as a class with --classes"
            )
    names = checked_names(in_order({name for source in sources for name in source.names}))
    renamed = []
    for source in sources:
        table = np.full(NO_CLASS + 1, NO_CLASS, np.uint16)
        table[: len(source.names)] = [names.index(name) for name in source.names]
        labels = {split: table[codes] for split, codes in source.labels.items()}
        renamed.append(replace(source, labels=labels, names=names))
    return renamed


def _from_tables(where: str, name: str, tables: dict[str, Table], config: PrepareConfig) -> Source:
    text, label = _columns(tables["train"], where, config.text, config.label)
    classes = config.classes or config.ordered
    raw = {split: _raw_labels(table, text, label) for split, table in tables.items()}
    if not classes:
        raw = named_labels(raw, tables["train"].files, label)
    for split, column in raw.items():
        if not len(column):
            raise RnnlensError(f"{tables[split].where} is empty: expected rows with a text and a label")
    _check_labeled(raw, tables)
    values = _distinct(raw, label, where, most=_GRADES if config.graded else _SAMPLE)
    scheme = decide_scheme(values, label, where, classes, config.graded, config.targets)
    labels = {split: _codes(column, scheme.codes, bool(scheme.classes)) for split, column in raw.items()}
    _check_classes(labels, where, scheme)
    grades = {split: _grades(column, scheme.grades) for split, column in raw.items()} if scheme.grades else {}
    group = config.group if isinstance(config.group, str) else None
    groups = {split: _groups(table, group, name) for split, table in tables.items()} if group else {}

    def texts() -> Iterator[tuple[str, pl.Series]]:
        for split, table in tables.items():
            row = row_pattern(table, label, {str(value) for value in scheme.codes if value})
            rows = max(1, len(labels[split]))
            size = min(50_000, max(64, _BATCH_BYTES * rows // max(1, table.bytes)))
            for batch in batches(table, text, size):
                row = None if row and warn_of_rows(batch, row, table.where) else row
                yield split, batch

    sides = {} if scheme.classes else class_names(scheme.codes)
    columns = {"text": text, "label": label, **({"group": group} if group else {})}
    targets = named_targets(scheme.grades)
    return Source(name, labels, texts, scheme.name, columns, sides, scheme.classes, targets, grades, groups)


def _columns(table: Table, where: str, text: str | None, label: str | None) -> tuple[str, str]:
    """The names of the text and label columns: as given, else recognized by name, else by their values."""
    columns = table.columns
    for flag, name in (("text", text), ("label", label)):
        if name is not None and name not in columns:
            raise RnnlensError(
                f"{where} has no column {quoted(name)} (given as {flag}= / --{flag}): it has {_listed(columns)}"
            )
    label = label or _named(LABEL_NAMES, [name for name in columns if name != text])
    text = text or _named(TEXT_NAMES, [name for name in columns if name != label])
    if text is None or label is None:
        with reading(table):
            sample = table.frame.head(_SAMPLE).collect()
        marks = [name for name in columns if name != text and _all_labels(sample[name])]
        label = label or (marks[0] if len(marks) == 1 else None)
        words = [name for name in columns if name not in (label, *marks) and sample.schema[name] == pl.String]
        text = text or (words[0] if len(words) == 1 else None)
    for flag, name in (("text", text), ("label", label)):
        if name is None:
            raise RnnlensError(
                f"no {flag} column found in {where}: it has {_listed(columns)}; name it with {flag}=… / --{flag} …"
            )
        if f"{name}_duplicated_0" in columns:  # polars' name for a second one
            raise RnnlensError(f"{where} has several columns {quoted(name)}: rename or remove all but one of them")
    assert text is not None
    assert label is not None
    return text, label


def _named(names: Sequence[str], columns: Sequence[str]) -> str | None:
    lowered = {column.strip().lower(): column for column in reversed(columns)}
    return next((lowered[name] for name in names if name in lowered), None)


def _all_labels(column: pl.Series) -> bool:
    values = column.drop_nulls().unique()
    return 0 < len(values) <= 11 and all(map(kind_of_label, values.to_list()))


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in columns[:8]) + (", …" if len(columns) > 8 else "")


# --- labels -----------------------------------------------------------------------------------------------------------


def _raw_labels(table: Table, text: str, label: str) -> pl.Series:
    """The labels as text: files of several splits may hold the same labels as numbers and as text."""
    for name in (text, label):
        if name not in table.columns:
            raise RnnlensError(f"{table.where} has no column {quoted(name)}: it has {_listed(table.columns)}")
        if name in table.nested:
            raise RnnlensError(
                f"column {quoted(name)} of {table.where} holds lists or records: expected one text or label in each "
                "row; join or pick them first"
            )
    column = read_column(table, label)
    with reading(table):
        if column.dtype.is_float() or column.dtype.is_decimal():
            column = column.cast(pl.Float64).fill_nan(None)
            return column.cast(pl.String).str.strip_suffix(".0")
        return column.cast(pl.String)


def _check_labeled(raw: Mapping[str, pl.Series], tables: Mapping[str, Table]) -> None:
    """Refuse validation and test texts without labels, as published test sets have them: empty, or −1 where train has
    no −1."""
    none = [""] if UNLABELED in raw["train"] else ["", UNLABELED]
    for split, column in raw.items():
        if split != "train" and column.drop_nulls().str.strip_chars().is_in(none).all():
            raise RnnlensError(
                f"{tables[split].where} has no labels, as published test sets do: each is empty or {UNLABELED}; give "
                "the training file alone, and some of its reviews are held out instead"
            )


def _grades(column: pl.Series, grades: Mapping[object, float]) -> np.ndarray:
    """The grade of each row, (rows,) float32; 0.5 for rows without one, which are dropped."""
    return column.replace_strict(list(grades), list(grades.values()), default=0.5, return_dtype=pl.Float32).to_numpy()


def _groups(table: Table, name: str, source: str) -> np.ndarray:
    """A number for each row, (rows,) uint64: equal for equal values of a column, of its own for a row without one."""
    if name not in table.columns:
        raise RnnlensError(
            f"{table.where} has no column {quoted(name)} (given as group= / --group): it has {_listed(table.columns)}"
        )
    column = read_column(table, name)
    with reading(table):
        column = column.fill_nan(None) if column.dtype.is_float() else column
        values = column.cast(pl.String).str.strip_chars().str.strip_suffix(".0")
        values = values.set(values == "", None)
    alone = pl.Series([f"{source}\0{table.where}\0{row}" for row in np.flatnonzero(values.is_null().to_numpy())])
    hashes = values.hash().to_numpy().copy()
    hashes[values.is_null().to_numpy()] = alone.cast(pl.String).hash().to_numpy()
    return hashes


def _runs(source: Source, n: int) -> dict[str, np.ndarray]:
    """For each split a number for each row, (rows,) uint64, equal for `n` neighboring rows of a class."""
    number = pl.int_range(pl.len()).over("class") // n
    return {
        split: pl.DataFrame({"class": codes})
        .select(pl.concat_str(pl.lit(source.name), pl.lit(split), "class", number, separator="\0").hash())
        .to_series()
        .to_numpy()
        for split, codes in source.labels.items()
    }


def _distinct(raw: Mapping[str, pl.Series], label: str, where: str, most: int) -> list[object]:
    values: set[object] = set()
    for column in raw.values():
        distinct = column.unique()
        if len(distinct) > most:
            raise RnnlensError(
                f"column {quoted(label)} of {where} holds {len(distinct):,} distinct values, too many for "
                f"labels: expected at most {MOST_CLASSES:,} classes; if another column holds the labels, name it with "
                "label=… / --label …"
            )
        values.update(distinct.to_list())
    return sorted(values, key=str)


def _codes(column: pl.Series, codes: Mapping[object, int], several: bool) -> np.ndarray:
    known = {value: code for value, code in codes.items() if value is not None}
    absent, dtype = (NO_CLASS, pl.UInt16) if several else (DROPPED, pl.UInt8)
    return column.replace_strict(list(known), list(known.values()), default=absent, return_dtype=dtype).to_numpy()


def _check_classes(labels: Mapping[str, np.ndarray], where: str, scheme: Scheme | None = None) -> None:
    names = () if scheme is None else scheme.classes
    for code, name in enumerate(names or ("negative", "positive")):
        if not np.any(labels["train"] == code):
            if names:
                raise RnnlensError(f"{where} has no text of class {quoted(name)} to train on: expected some of each")
            expected = "expected reviews of both classes" if scheme is None else read_as(scheme)
            raise RnnlensError(f"{where} has no {name} review to train on: {expected}")
