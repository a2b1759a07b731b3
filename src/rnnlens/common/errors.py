"""The exceptions that users see: one line each, with what was given, what was expected and what to do."""

from __future__ import annotations

import errno
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import TextIO

from rnnlens.common.terminal import allow_any_text, printable, say


class RnnlensError(Exception):
    """A mistake in the input or the environment, in one line. The command line prints it and exits with 1."""

    def __str__(self) -> str:
        return printable(super().__str__())


class BadInput(RnnlensError, ValueError):
    """Input of the wrong kind, where scikit-learn raises a ValueError."""


class UnknownWord(RnnlensError, KeyError):
    """A word that the vocabulary does not have, where a dict raises a KeyError."""

    def __str__(self) -> str:
        return printable(Exception.__str__(self))  # KeyError.__str__ puts quotes around the message


class UnknownId(RnnlensError, IndexError):
    """An id that no word has, or the number of a row that is not there, where a list raises an IndexError."""


class Diverged(RnnlensError):
    """A model whose weights are NaN, infinite or all zero. A search records it and goes on."""


class UsageError(RnnlensError):
    """A mistake in how a command was called. The command line exits with 2."""


class RnnlensWarning(UserWarning):
    """A result that may be unreliable or easy to misread, in one line. The command line prints it once."""

    def __str__(self) -> str:
        return printable(super().__str__())


def quoted(value: object, limit: int = 120) -> str:
    """A user's value in quotes, safe to print in one line: control characters escaped, the middle of long text cut."""
    text = repr(value if isinstance(value, str) else str(value))
    half = limit // 2
    return text if len(text) <= limit else text[:half] + "…" + text[-half:]


def one_of(names: Iterable[str]) -> str:
    """What was expected in place of an unknown name, for the end of a message."""
    known = ", ".join(names)
    return f"expected one of {known}" if known else "there are none"


def pasted(path: object) -> str:
    """A path for a command that the user can paste: quoted for the shell, and never read as a flag."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


AGAIN = "run the same command again, with --resume if it has this flag"


def exit_code_of(command: Callable[[], object]) -> int:
    """Run a command and return its exit code: 0 for success, 1 for a failure, 2 for wrong usage. Failures that users
    can fix become one line on stderr; RNNLENS_DEBUG=1 shows the traceback."""
    allow_any_text(sys.stdout, sys.stderr)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("once", RnnlensWarning)
            warnings.showwarning = _show_warning
            command()
        return 0
    except (RnnlensError, KeyboardInterrupt, OSError, MemoryError, RuntimeError) as error:
        message = _in_one_line(error)
        if message is None or os.environ.get("RNNLENS_DEBUG"):
            raise
        say(f"error: {message}", error=True)
        return 2 if isinstance(error, UsageError) else 1


def _in_one_line(error: BaseException) -> str | None:
    """The message for an error that the user can fix; None for a bug, which keeps its traceback."""
    if isinstance(error, RnnlensError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return f"interrupted; finished results are kept. To continue, {AGAIN}"
    if isinstance(error, OSError):
        what = "the output" if error.filename is None else quoted(str(error.filename))  # print names no file
        advice = "; choose a path that you have permission for" if error.errno in (errno.EACCES, errno.EPERM) else ""
        return f"cannot read or write {what}: {error.strerror or error}{advice}"
    return OUT_OF_MEMORY if lacks_memory(error) else None  # any other RuntimeError is a bug


OUT_OF_MEMORY = "out of memory: try fewer or shorter texts, smaller batches or a smaller network"


def lacks_memory(error: BaseException) -> bool:
    """Whether an error, of which torch has several, says that memory is full."""
    return isinstance(error, MemoryError) or any(text in str(error) for text in ("out of memory", "allocate memory"))


_default_showwarning = warnings.showwarning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning of rnnlens as one line, any other as Python does."""
    if issubclass(category, RnnlensWarning):
        say(f"warning: {message}", error=True)
    else:
        _default_showwarning(message, category, filename, lineno, file, line)
