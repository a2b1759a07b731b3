"""The allowed values of every numeric option: one table, for Python and the command line.

`check_options("analyze", top=-5)` raises "top is -5: expected a whole number, at least 1". Commands check their
options before they read or compute anything, and so do functions with the decorator `in_range`. This module imports
nothing heavy.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

from rnnlens.common.errors import RnnlensError, quoted

LARGEST = 2**31 - 1  # of a count
WIDEST = 2**16  # units of a network, components of an embedding: torch cannot address much larger products
THREADS = 1024  # more can crash the process

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Range:
    """Whole or finite numbers from `low` to `high`.

    above, below   exclude `low` and `high` themselves
    zero, none     allow 0 and None too, whatever the limits are
    what           the allowed values in words, for messages
    """

    what: str
    low: float
    high: float = math.inf
    whole: bool = False
    above: bool = False
    below: bool = False
    zero: bool = False
    none: bool = False

    def __contains__(self, value: object) -> bool:
        if value is None:
            return self.none
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        number = int(value) if isinstance(value, Integral) else float(value)
        if self.zero and number == 0:
            return True
        low = number > self.low if self.above else number >= self.low
        high = number < self.high if self.below else number <= self.high
        return low and high and (self.whole or math.isfinite(number))


def whole(low: int, high: int = LARGEST, none: bool = False) -> Range:
    """Whole numbers from `low` to `high`."""
    limits = f"at least {low}" if high == LARGEST else f"from {low} to {high:,}"
    return Range(f"a whole number, {limits}{', or None' if none else ''}", low, high, whole=True, none=none)


COUNT, FROM_ZERO, OPTIONAL_COUNT = whole(1), whole(0), whole(1, none=True)
SEED = Range("a whole number, from 0 to 2^63 - 1", 0, 2**63 - 1, whole=True)
ABOVE_ZERO = Range("a number above 0", 0, above=True)
AT_LEAST_ZERO = Range("a number, at least 0", 0)
SHARE = Range("a share from 0 to 1", 0, 1)
BELOW_ONE = Range("a share from 0 to below 1", 0, 1, below=True)
SNAPSHOTS = whole(2, 1000, none=True)  # of a training; the first is before it, the last at its end
SOURCE_WEIGHT = Range("a number above 0, from 1e-6 to 1e6", 1e-6, 1e6)

SHAPE = {  # of a network before training
    "hidden": whole(1, WIDEST),
    "embedding": whole(1, WIDEST),
    "scale": ABOVE_ZERO,
    "memory": Range("a number of words, at least 1, or 0 for none", 1, zero=True),
    "layers": whole(1, 1000),
    "convolution": whole(1, 1000, none=True),
    "seed": SEED,
}
TRAINING = {  # the fields of TrainConfig
    "epochs": COUNT,
    "steps": FROM_ZERO,
    "batch": COUNT,
    "learning_rate": ABOVE_ZERO,
    "warmup": SHARE,
    "final_rate": SHARE,
    "momentum": BELOW_ONE,
    "second_momentum": BELOW_ONE,
    "word_epsilon": ABOVE_ZERO,
    "sparsity": AT_LEAST_ZERO,
    "weight_decay": AT_LEAST_ZERO,
    "clip": AT_LEAST_ZERO,
    "word_dropout": BELOW_ONE,
    "dropout_run": Range("a number, at least 1", 1),
    "embedding_dropout": BELOW_ONE,
    "blanks": FROM_ZERO,
    "average": BELOW_ONE,
    "max_words": OPTIONAL_COUNT,
    "patience": FROM_ZERO,
    "checkpoint_every": FROM_ZERO,
    "seed": SEED,
}
SEVERAL = {"jobs": whole(0, THREADS), "seeds": whole(1, 10_000), "most": COUNT}  # 0 jobs: in this process

RANGES: dict[str, dict[str, Range]] = {
    "prepare": {
        "vocab_size": whole(2),
        "min_count": COUNT,
        "max_words": OPTIONAL_COUNT,
        "validation": BELOW_ONE,
        "test": BELOW_ONE,
        "seed": SEED,
        "neighbours": COUNT,
        "limit": whole(2, none=True),
    },
    "network": SHAPE,
    "training": TRAINING,
    "train": {**SHAPE, **TRAINING, "threads": whole(1, THREADS, none=True), "snapshots": SNAPSHOTS},
    "demo": {"seed": SEED},
    "analyze": {
        "top": COUNT,
        "rank": COUNT,
        "starts": OPTIONAL_COUNT,
        "reviews": OPTIONAL_COUNT,
        "seed": SEED,
    },
    "steer": {"gain": Range("a number from 0 to 10; 1 changes nothing", 0, 10)},
    "audit": {"worst": COUNT, "seed": SEED},
    "agree": {"top": COUNT, "seed": SEED},
    "report": {"words": whole(0, none=True)},
    "baselines": {**SEVERAL, "seed": SEED},
    "estimator": {
        **TRAINING,
        "epochs": OPTIONAL_COUNT,
        "decay": SHARE,
        "l1": AT_LEAST_ZERO,
        "l2": AT_LEAST_ZERO,
        "vocab_size": whole(2),
        "min_count": COUNT,
        "random_state": Range("a whole number, from 0 to 2^63 - 1, None", 0, 2**63 - 1, whole=True, none=True),
    },
    "sweep": {**SEVERAL, "trials": COUNT, "seed": SEED},
    "reproduce": {**SEVERAL, "trials": FROM_ZERO},
    "validate": {**SHAPE, **TRAINING, **SEVERAL, "language_seed": SEED, "documents": whole(100, none=True)},
    "toy": {**SHAPE, "reviews": COUNT, "starts": COUNT},
    "toy_corpus": {"train": COUNT, "validation": COUNT, "seed": SEED},
    "synthetic": {"train": whole(2), "validation": FROM_ZERO, "test": FROM_ZERO, "seed": SEED},
    # Functions of Python that no command has the options of.
    "ToyLanguage": {"length": COUNT, "pads": FROM_ZERO},
    "evaluate": {"max_words": OPTIONAL_COUNT, "tokens": COUNT, "most": COUNT},
    "fit_readout": {"max_words": OPTIONAL_COUNT, "seed": SEED},
    "visited_states": {"n": COUNT, "seed": SEED, "max_words": OPTIONAL_COUNT, "length": COUNT, "tokens": COUNT},
    "find_fixed_points": {"tolerance": ABOVE_ZERO, "chunk": OPTIONAL_COUNT},
    "fit_line_attractor": {
        "knots": whole(2, 100_000),
        "trim": Range("a share from 0 to below 0.5", 0, 0.5, below=True),
        "smooth": AT_LEAST_ZERO,
    },
    "class_geometry": {"starts": COUNT, "seed": SEED},
    "probes": {"n": COUNT, "seed": SEED, "most": COUNT, "common": COUNT},
    "find_modifiers": {"top": COUNT},
    "class_strengths": {"top": COUNT},
    "strongest": {"n": FROM_ZERO},
    "modifier_rows": {"most": whole(0, none=True)},
    "class_modifiers": {"words": COUNT},
    "steps": {"steps": COUNT, "fastest": ABOVE_ZERO},
    "fit_subspace": {"rank": OPTIONAL_COUNT},
    "fit_bilinear": {"rank": COUNT, "most": COUNT, "seed": SEED},
    "attribute": {"draws": COUNT, "seed": SEED},
    "mode_removal": {"most": COUNT, "draws": COUNT, "seed": SEED},
}
"""Command, record or function → option → its allowed values."""


def check_options(of: str, options: Mapping[str, Any] | None = None, /, **more: Any) -> None:
    """Refuse a value outside its range; the error names the option. Options without a range are not checked."""
    ranges = RANGES[of]
    for name, value in {**(options or {}), **more}.items():
        if name in ranges and value not in ranges[name]:
            raise RnnlensError(f"{name} is {shown(value)}: expected {_expected(ranges[name], value)}")


def in_range(of: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function with a check of its options before it runs; `of` is their entry in `RANGES`."""

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        bind = inspect.signature(function).bind

        @wraps(function)
        def checked(*arguments: P.args, **options: P.kwargs) -> R:
            try:
                given = bind(*arguments, **options).arguments
            except TypeError:  # the call itself says best what is missing
                given = {}
            check_options(of, given)
            return function(*arguments, **options)

        return checked

    return decorated


def _expected(allowed: Range, value: object) -> str:
    """The range in words, with the upper limit of counts if the value is above it."""
    over = allowed.high == LARGEST and isinstance(value, Integral) and int(value) > LARGEST
    return f"a whole number, at most {LARGEST:,}" if over else allowed.what


def shown(value: object) -> str:
    """A value as messages show it: numbers as they are, anything else in quotes."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return quoted(value).strip("'") if number else quoted(value)
