"""The command line: parse, call, print. Everything else is imported by `main`, so that Ctrl-C is one line from the
beginning."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from rnnlens.common.errors import exit_code_of
from rnnlens.common.lazy import lazily

if TYPE_CHECKING:
    from rnnlens.cli.commands import app

__all__ = ["app", "main"]
__getattr__ = lazily(__name__, {"app": "commands"})


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Exit codes: 0 success, 1 failure, 2 bad usage; an error is one line."""

    # torch's threads wait for each other by spinning; beside other processes that makes a step many times as long.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # read when torch is imported

    def command() -> None:
        from rnnlens.cli.commands import run

        run(arguments)

    sys.exit(exit_code_of(command))
