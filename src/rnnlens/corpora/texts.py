"""Lists of texts, as users pass them: lists, tuples, arrays, columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from rnnlens.common.errors import BadInput, quoted


def list_of_texts(given: Any, advice: str = "") -> list[str]:
    """The texts as a list. One text alone, and anything that is not text, is refused; `advice` ends the message."""
    if isinstance(given, str):
        raise BadInput(f"got the text {quoted(given)}: expected a list of texts; for one text pass [text]")
    if not isinstance(given, Iterable) or isinstance(given, bytes | Set | Mapping):
        raise BadInput(f"the texts are of type {type(given).__name__}: expected a list of texts{advice}")
    texts = list(given)
    for text in texts:
        if not isinstance(text, str):
            raise BadInput(f"a text is {quoted(text)} of type {type(text).__name__}: expected a list of texts{advice}")
    return texts
