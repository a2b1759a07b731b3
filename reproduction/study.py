"""What all studies share: a record of what was measured, and a page of the documentation made from it.

A study measures, stores its record as docs/results/NAME.json and fills in its template, reproduction/NAME.md, which
becomes docs/NAME.md. Called without anything to measure, it writes the page from the record.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from rnnlens.common.files import atomic_file, json_text

HERE, DOCS = Path(__file__).parent, Path(__file__).parents[1] / "docs"


def record_of(name: str) -> Path:
    return DOCS / "results" / f"{name}.json"


def store(name: str, record: dict[str, Any]) -> None:
    """Write the record, with its numbers at six digits."""
    with atomic_file(record_of(name)) as temporary:
        temporary.write_text(json_text(_rounded(record), indent=1) + "\n", encoding="utf-8")


def stored(name: str) -> dict[str, Any]:
    record = json.loads(record_of(name).read_text(encoding="utf-8"))
    record.pop("fingerprint", None)
    return record


def filled(template: str, /, **values: Any) -> str:
    """The text of a template in this folder, with `values` in it."""
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string((HERE / template).read_text(encoding="utf-8")).render(values)


def write_page(name: str, /, **values: Any) -> None:
    """Write docs/NAME.md, or leave the old page if its template fails."""
    text = filled(f"{name}.md", **values)
    with atomic_file(DOCS / f"{name}.md") as temporary:
        temporary.write_text(text, encoding="utf-8")


def _rounded(content: Any) -> Any:
    if isinstance(content, float):
        return float(f"{content:.6g}")
    if isinstance(content, dict):
        return {name: _rounded(value) for name, value in content.items()}
    return [_rounded(value) for value in content] if isinstance(content, list | tuple) else content
