"""The one exception users meet: what was given, what was expected, what to do, in one line."""

from __future__ import annotations


class RnnlensError(Exception):
    """A mistake in the input or the environment, told in one line. The command line prints it and exits with 1."""


def quoted(value: object, limit: int = 120) -> str:
    """The user's own value, safe to print in one line: control characters escaped, long text cut."""
    text = repr(value if isinstance(value, str) else str(value))
    half = limit // 2
    return text if len(text) <= limit else text[:half] + "…" + text[-half:]
