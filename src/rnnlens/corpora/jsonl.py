"""What is wrong with a jsonl file, by its own lines: polars' errors do not name them, and it gives lists as text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from rnnlens.common.errors import RnnlensError, quoted

_BRACKETED = re.compile(rb":\s*[\[{]")  # in a line of JSON with a list or record in it


def check_values(files: Sequence[Path], name: str) -> None:
    """Refuse lists and records in a column. A text may begin with a bracket too, so the lines themselves decide."""
    for file in files:
        with open(file, "rb") as lines:
            for number, line in enumerate(lines, 1):
                value = json.loads(line).get(name) if _BRACKETED.search(line) else None
                if isinstance(value, list | dict):
                    raise RnnlensError(
                        f"column {quoted(name)} of {quoted(str(file), 200)} holds lists or records, the first in line "
                        f"{number}: expected one text or label in each row; join or pick them first"
                    )


def bad_line(file: Path) -> str | None:
    """The first line of a file that is not a JSON object, in words."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")  # Python reads NaN, polars does not

    with open(file, "rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                content = json.loads(line, parse_constant=refuse) if line.strip() else {}
            except ValueError as error:
                return f"{quoted(str(file), 200)}: line {number} is not complete JSON ({error})"
            if not isinstance(content, dict):
                return f"{quoted(str(file), 200)}: line {number} is JSON, but not an object"
    return None
