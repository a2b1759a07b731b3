"""What is wrong with a jsonl file, by its own lines: polars' errors do not name them, and it gives lists as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rnnlens.common.errors import RnnlensError, quoted

_BRACKETED = re.compile(rb":\s*[\[{]")  # in a line of JSON with a list or record in it


def check_values(files: Sequence[Path], name: str) -> None:
    """Refuse lists and records in a column. A text may begin with a bracket too, so the lines themselves decide."""
    for file in files:
        for number, content in objects(file, having=_BRACKETED):
            if isinstance(content.get(name), list | dict):
                raise RnnlensError(nested_value(file, number, name, content[name]))


def objects(file: Path, having: re.Pattern[bytes] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a jsonl file, with the numbers of their lines; having: only of lines that match it. Lines that are
    no JSON are left out."""
    with open(file, "rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                content = json.loads(line) if having is None or having.search(line) else None
            except (ValueError, RecursionError):
                continue
            if isinstance(content, dict):
                yield number, content


def nested_value(file: Path, number: int, name: str, value: Any) -> str:
    """The message about a list or record in a line of a file."""
    return (
        f"column {quoted(name)} of {quoted(str(file), 200)} holds lists or records, the first in line {number}, "
        f"{quoted(json.dumps(value, ensure_ascii=False), 60)}: expected one text or label in each row; join or pick "
        "them first"
    )


def bad_line(file: Path) -> tuple[Path, int, str] | None:
    """The file, the number and the problem of the first line that is not a JSON object."""

    def refuse(constant: str) -> None:
        raise ValueError(f"holds {constant}, which is not JSON")

    with open(file, "rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                content = json.loads(line, parse_constant=refuse) if line.strip() else {}
            except json.JSONDecodeError:
                return file, number, "is not complete JSON"
            except (ValueError, RecursionError) as error:
                return file, number, str(error) if isinstance(error, ValueError) else "is nested too deeply"
            if not isinstance(content, dict):
                return file, number, "is JSON, but not an object"
    return None


def mixed(file: Path) -> tuple[Path, int, str, Any] | None:
    """The file, the line, the name and the value of the first list or record in a column that has other values too."""
    plain: set[str] = set()
    nested: dict[str, tuple[Path, int, str, Any]] = {}
    for number, content in objects(file):
        for name, value in content.items():
            if isinstance(value, list | dict):
                nested.setdefault(name, (file, number, name, value))
            elif value is not None:
                plain.add(name)
            if name in plain and name in nested:
                return nested[name]
    return None
