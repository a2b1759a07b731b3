"""Pages of the documentation, made from a template beside the study and what it measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from rnnlens.common.files import atomic_file


def write_page(template: Path, page: Path, **values: Any) -> None:
    """Fill in a template and write the page, or leave the old page if the template fails."""
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    text = environment.from_string(template.read_text(encoding="utf-8")).render(values)
    with atomic_file(page) as temporary:
        temporary.write_text(text, encoding="utf-8")
