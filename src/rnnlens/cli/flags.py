"""Flags of commands: which ones were given, no rounding of whole numbers, and ranges checked before a command runs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, get_args

from cyclopts import convert

from rnnlens.common.allowed import PathLike
from rnnlens.common.errors import quoted
from rnnlens.common.options import PATH, RANGES
from rnnlens.common.ranges import check_options
from rnnlens.runs.config import TrainConfig


class TrainFlags(TrainConfig):
    """A TrainConfig from flags; `given` has only the fields that were given as flags."""

    given: dict[str, Any]

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        object.__setattr__(self, "given", given)


def convert_strictly(hint: Any, tokens: Sequence[Any]) -> Any:
    """Convert a flag's value as cyclopts does, but raise an error for 1.5 as a whole number, which cyclopts would
    round, and for a path that is none, such as an empty one, which would be the current folder; and replace a `~` at
    the beginning of a path, which shells leave as it is in `--out=~/run`."""
    types = get_args(hint) or (hint,)
    if int in types and str in types:  # a whole number, or else a name
        hint = int if all(re.fullmatch("[0-9]+", token.value) for token in tokens) else str
    elif int in types and float not in types:
        for token in tokens:
            if not re.fullmatch("[+-]?[0-9][0-9_]*", token.value) and token.value.lower() not in ("none", "null"):
                shown = token.value if re.fullmatch(r"[\w.+-]+", token.value) else quoted(token.value)
                raise ValueError(f"expected a whole number, not {shown}")
    if Path in types:
        for token in tokens:
            if token.value not in PATH:
                raise ValueError(f"{quoted(token.value)} is no path: expected one with names of 1 to 255 bytes")
        tokens = [token.evolve(value=os.path.expanduser(token.value)) for token in tokens]
    return convert(hint, tokens)


def checked(command: Callable[..., None]) -> Callable[..., None]:
    """The command with a check, before it runs, of its options, and whether the folder that it writes can be made."""
    known = RANGES.get(command.__name__, {})
    folders = [name for name, kind in known.items() if isinstance(kind, PathLike) and kind.folder]

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        if known:
            check_options(command.__name__, options)
        if places := [options[name] for name in folders if options.get(name) is not None]:
            from rnnlens.common.replacing import check_place

            for folder in places:
                check_place(folder, folder=True)
        command(*arguments, **options)

    return run
