"""Command lines without cyclopts: argparse with errors in one line, and the types of some arguments."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NoReturn

from rnnlens.common.errors import quoted
from rnnlens.common.options import PATH
from rnnlens.common.terminal import say


class Program(argparse.ArgumentParser):
    """A parser whose errors are one line; the exit code is 2."""

    def error(self, message: str) -> NoReturn:
        say(f"error: {message} (see `{self.prog} --help`)", error=True)
        sys.exit(2)


def path(text: str) -> Path:
    """A path; `~` is the home folder."""
    if text not in PATH:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is no path: expected one with names of 1 to 255 bytes")
    return Path(PATH.plain(text))


def whole_or_none(text: str) -> int | None:
    """A whole number, or None."""
    if text.lower() in ("none", "null"):
        return None
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number or None, not {quoted(text)}") from None
