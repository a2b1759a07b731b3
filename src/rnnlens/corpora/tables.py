"""Files of rows as polars scans, read in batches; errors in them become one line."""

from __future__ import annotations

import csv
import glob
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs
from polars.exceptions import PanicException, PolarsError

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.corpora.jsonl import bad_line, check_values
from rnnlens.corpora.labels import kind_of_label

SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
TEXT_NAMES = ("text", "review", "review_text", "reviewtext", "sentence", "content", "body", "comment", "document")
LABEL_NAMES = (
    "label", "labels", "sentiment", "polarity", "class", "target", "y",
    "stars", "star_rating", "rating", "score", "overall",
)  # fmt: skip
COLUMN_NAMES = {*TEXT_NAMES, *LABEL_NAMES}
LONGEST = 1 << 26  # characters of a text that Python reads


class NoSuchFileError(RnnlensError):
    """The hub answered, and has no file of that name."""


@dataclass(frozen=True)
class Table:
    """One split of a source: a scan, its files (none for the hub), and about how many bytes of text they hold."""

    frame: pl.LazyFrame
    kind: str
    columns: tuple[str, ...]
    where: str
    files: tuple[Path, ...] = ()
    bytes: int = 1 << 30
    headless: bool = False  # the csv files of Zhang et al.: no header, `\n` for a line break
    nested: frozenset[str] = frozenset()  # columns of lists or records


def open_files(files: Sequence[Path], where: str) -> Table:
    """One split from one or several files of the same kind."""
    kinds = sorted({SUFFIXES.get(file.suffix.lower(), "") for file in files})
    if "" in kinds:
        raise RnnlensError(f"{where} has an unknown suffix: expected {', '.join(SUFFIXES)}, .tar or .tar.gz")
    if len(kinds) > 1:
        raise RnnlensError(f"{where} has files of several kinds ({', '.join(kinds)}): keep one")
    kind, table = kinds[0], Table(pl.LazyFrame(), kinds[0], (), where, tuple(files))
    with reading(table):
        headless = kind in ("csv", "tsv") and _headless(files[0])
        frame, nested = _scan(kind, list(files), headless)
        columns = tuple(frame.collect_schema().names())
        text_bytes = sum(file.stat().st_size for file in files) * (3 if kind == "parquet" else 1)
    return Table(frame, kind, columns, where, tuple(files), text_bytes, headless, nested)


def open_hub(path: str, source: str) -> Table:
    """One split from the hub, by its hf:// path; NoSuchFileError if the hub answers that there is none."""
    kind = SUFFIXES.get(Path(path).suffix.lower(), "")
    if not kind:
        raise RnnlensError(
            f"{quoted(path, 200)} has an unknown suffix: expected hf://datasets/owner/name/….parquet, .csv or .jsonl"
        )
    table = Table(pl.LazyFrame(), kind, (), quoted(source, 200))
    with reading(table):
        frame, nested = _scan(kind, path)
        return Table(frame, kind, tuple(frame.collect_schema().names()), table.where, nested=nested)


def read_column(table: Table, name: str) -> pl.Series:
    """One whole column. All fields of csv rows are parsed, since polars detects ragged rows only then."""
    with reading(table):
        flags = pl.QueryOptFlags(projection_pushdown=table.kind not in ("csv", "tsv"))
        column = table.frame.select(_named(name)).collect(engine="streaming", optimizations=flags).to_series()
        if _bracketed(table, column):
            check_values(table.files, name)
        return column


def batches(table: Table, text: str, rows: int) -> Iterator[pl.Series]:
    """The text column, about `rows` rows at a time, in order."""
    texts, checked = _named(text).cast(pl.String), False
    if table.headless:
        texts = texts.str.replace_all("\\n", "\n", literal=True).str.replace_all('\\"', '"', literal=True)
    with reading(table):
        frames = table.frame.select(texts).collect_batches(chunk_size=rows, maintain_order=True, engine="streaming")
        try:
            for batch in frames:
                column = batch.to_series()
                if not checked and _bracketed(table, column):
                    check_values(table.files, text)
                    checked = True
                yield column
        finally:
            if hasattr(frames, "stop"):
                frames.stop()  # otherwise an abandoned query keeps running in the background


def _bracketed(table: Table, column: pl.Series) -> bool:
    """Whether rows of a jsonl file may hold lists or records, which polars gives as text, in JSON."""
    return table.kind == "jsonl" and bool(column.str.contains(r"^[\[{]").any())


def _named(name: str) -> pl.Expr:
    """The column of this very name, renamed: polars takes `*` and `^…$` for patterns of names."""
    return cs.by_name(name).alias("column")


def _scan(kind: str, files: list[Path] | str, headless: bool = False) -> tuple[pl.LazyFrame, frozenset[str]]:
    """A scan of files, or of a pattern on the hub, and its columns of lists or records."""
    pattern = isinstance(files, str)
    if kind == "parquet":
        frame = pl.scan_parquet(files, glob=pattern)
        return frame, _nested(frame)
    if kind == "jsonl":
        # polars takes every name of such a file for a pattern: `a[1].jsonl` would be a1.jsonl.
        paths = files if isinstance(files, str) else [Path(glob.escape(str(file))) for file in files]
        # Names from the first rows; all values as text, since labels may mix 1 and "neg".
        first = pl.scan_ndjson(paths, infer_schema_length=1000)
        return pl.scan_ndjson(paths, schema=dict.fromkeys(first.collect_schema().names(), pl.String)), _nested(first)
    separator = separator_of(kind, None if isinstance(files, str) else files[0])
    frame = pl.scan_csv(files, separator=separator, has_header=not headless, infer_schema=False, glob=pattern)
    if headless:
        names = frame.collect_schema().names()
        frame = frame.rename({name: f"column {i}" for i, name in enumerate(names, 1)})
    return frame, frozenset()


def _nested(frame: pl.LazyFrame) -> frozenset[str]:
    return frozenset(name for name, kind in frame.collect_schema().items() if kind.is_nested())


def separator_of(kind: str, file: Path | None) -> str:
    """A tab for tsv files; else a semicolon if the first line has one and no comma, as spreadsheets with decimal commas
    write it; else a comma."""
    if kind == "tsv" or file is None:
        return "\t" if kind == "tsv" else ","
    with open(file, encoding="utf-8-sig", errors="replace") as lines:
        first = lines.readline(1 << 16)
    return ";" if ";" in first and "," not in first else ","


def _headless(file: Path) -> bool:
    """Whether a csv file starts with a row of data: at least one field of its first line, but not all, is a label of
    the same kind as those below it. (`positive` above 0 and 1 is a header, and so is a line with a usual column's
    name.)"""
    with _rows(file) as rows:
        first: list[str] = next(rows, [])
        kinds = [kind_of_label(field) for field in first]
        if not any(kinds) or all(kinds) or any(field.strip().lower() in COLUMN_NAMES for field in first):
            return False
        below: list[list[str]] = list(islice(rows, 20))
    return any(
        kind is not None and all(kind_of_label(row[i]) in (kind, None) for row in below if len(row) > i and row[i])
        for i, kind in enumerate(kinds)
    )


@contextmanager
def _rows(file: Path) -> Iterator[Any]:
    """The rows of a csv or tsv file, as Python reads them."""
    before = csv.field_size_limit(LONGEST)
    try:
        with open(file, encoding="utf-8-sig", errors="replace", newline="") as lines:
            yield csv.reader(lines, delimiter=separator_of(SUFFIXES[file.suffix.lower()], file))
    finally:
        csv.field_size_limit(before)


# --- errors -----------------------------------------------------------------------------------------------------------


@contextmanager
def reading(table: Table) -> Iterator[None]:
    """Turn errors in reading a table into one line that names the file and what to do."""
    try:
        yield
    except (PolarsError, PanicException, OSError, csv.Error) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        kind = NoSuchFileError if not table.files and _is_absence(error, reason) else RnnlensError
        raise kind(_message(table, reason)) from error


def _is_absence(error: BaseException, reason: str) -> bool:
    """Whether the error of polars means that no file matches, and not that the hub could not be reached."""
    return isinstance(error, FileNotFoundError) or "expanded paths were empty" in reason


def _message(table: Table, reason: str) -> str:
    """What is wrong with a table and what to do, from the first line of polars' message."""
    if not table.files:
        return (
            f"cannot read {table.where} from the hub ({reason[:160]}): "
            "if this machine is offline, give a local file or folder instead"
        )
    for file in table.files:
        if file.suffix.lower() not in (".parquet", ".pq") and (at := _bad_byte(file)) is not None:
            line, offset, byte = at
            wide = offset == 0 and byte in (0xFE, 0xFF)
            return (
                f"{quoted(str(file), 200)} is not UTF-8: byte 0x{byte:02x} at offset {offset}, line {line}; "
                f"convert it first, for example with iconv -f {'utf-16' if wide else 'latin1'} -t utf-8"
            )
    if table.kind == "jsonl" and (wrong := next(filter(None, map(bad_line, table.files)), None)):
        return f'cannot read {wrong}; expected one JSON object in each line, such as {{"text": "good", "label": 1}}'
    if "more fields" in reason:
        ragged = next(filter(None, map(_ragged_row, table.files)), None)
        problem = "line {} has {} fields, the first has {}".format(*ragged) if ragged else "a row has too many fields"
        return f"{table.where} is ragged: {problem}; put quotes around texts that hold a separator"
    if reason.startswith(("could not parse", "CSV malformed")):
        return f"{table.where} is not a complete csv file, perhaps a quote in it is never closed: close or double it"
    return f"cannot read {table.where}: {reason[:200]}; is the file complete?"


def _bad_byte(file: Path) -> tuple[int, int, int] | None:
    """Line, offset and value of the first byte that is not UTF-8."""
    offset = 0
    with open(file, "rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return number, offset + error.start, line[error.start]
            offset += len(line)
    return None


def _ragged_row(file: Path) -> tuple[int, int, int] | None:
    """Line, number of fields, and number expected, of the first row with more fields than the first one."""
    with suppress(csv.Error), _rows(file) as rows:
        expected = len(next(rows, []))
        return next(((rows.line_num, len(row), expected) for row in rows if len(row) > expected), None)
    return None
