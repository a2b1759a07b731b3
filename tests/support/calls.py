"""Calls that are refused in one line, and commands, in this process."""

import contextlib
import io
from collections.abc import Callable

import pytest

from rnnlens import RnnlensError
from rnnlens.cli import main


def refused(call: Callable[[], object], *parts: str) -> str:
    """The one line by which a call is refused; the parts are in it."""
    with pytest.raises(RnnlensError) as error:
        call()
    line = str(error.value)
    assert "\n" not in line and all(part in line for part in parts), line
    return line


def command(*arguments: object) -> tuple[int, str, str]:
    """Exit code, output and errors of `rnnlens ARGUMENTS`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0), out.getvalue(), err.getvalue()


def refused_command(*arguments: object) -> str:
    """The one line by which a command is refused."""
    code, out, err = command(*arguments)
    assert code in (1, 2) and not out and err.startswith("error: ") and err.count("\n") == 1, (code, out, err)
    return err
