"""Flags: which ones were given, whole numbers that are not rounded, and ranges checked before a command runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, make_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from cyclopts import convert

from rnnlens.common.ranges import RANGES, check_options
from rnnlens.experiments.recipe import RECIPE
from rnnlens.runs.config import TrainConfig


class TrainFlags(TrainConfig):
    """The fields of TrainConfig that were given as flags, under `given`; they are checked as TrainConfig's are."""

    given: dict[str, Any]

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        object.__setattr__(self, "given", given)


def _with_defaults(config: TrainConfig) -> type[TrainFlags]:
    """The same flags with the values of `config` as the defaults that `--help` shows."""
    hints = get_type_hints(TrainConfig)
    shown = [(field.name, hints[field.name], getattr(config, field.name)) for field in fields(config)]
    place = {"__module__": __name__}  # cyclopts does not look into classes of the standard library
    return make_dataclass("RecipeFlags", shown, bases=(TrainFlags,), frozen=True, init=False, namespace=place)


if TYPE_CHECKING:
    RecipeFlags = TrainFlags
else:
    RecipeFlags = _with_defaults(RECIPE)


def whole_numbers_whole(hint: Any, tokens: Sequence[Any]) -> Any:
    """The value of a flag, as cyclopts converts it, but 1.5 is refused for a whole number: cyclopts rounds it."""
    kinds = get_args(hint) or (hint,)
    if int in kinds and float not in kinds:
        for token in tokens:
            if "." in token.value:
                raise ValueError(f"expected a whole number, not {token.value}")
    return convert(hint, tokens)


def checked(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with the ranges of its options checked before anything else."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        if command.__name__ in RANGES:
            check_options(command.__name__, options)
        command(*arguments, **options)

    return run
