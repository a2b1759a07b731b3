"""Check options before anything is read or computed, with the same table of allowed values (`options`) for Python and
the command line.

`check_options("analyze", top=-5)` raises "top is -5: expected a whole number, at least 1". Commands check their
options so, and functions with the decorator `in_range`. This module imports nothing heavy.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from rnnlens.common.allowed import Allowed
from rnnlens.common.errors import RnnlensError
from rnnlens.common.options import OBJECTS, RANGES

P = ParamSpec("P")
R = TypeVar("R")


def check_options(of: str, options: Mapping[str, Any] | None = None, /, **more: Any) -> dict[str, Any]:
    """The options as functions take them; an error, which names the option, if a value is not allowed. Options that
    the table does not have are not checked."""
    return _checked(RANGES[of], {**(options or {}), **more})


def check_fields(of: str, record: Any) -> None:
    """Check the fields of a frozen record, and store them as functions take them."""
    for name, value in check_options(of, {field.name: getattr(record, field.name) for field in fields(record)}).items():
        object.__setattr__(record, name, value)


def in_range(of: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function with a check of its arguments before it runs: those of its entry `of` in `RANGES`, and
    those in `OBJECTS`. A line, subspace or table of words must have states like the network's. None is
    allowed where it is the default. The function receives numbers and paths as `Allowed.plain` has them; its attribute
    `allowed` has the kinds by name."""

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        every = {**RANGES[of], **{name: kind for name, kind in OBJECTS.items() if name not in RANGES[of]}}
        known = {name: kind for name, kind in every.items() if name in signature.parameters}
        for name, kind in known.items():
            if signature.parameters[name].default is None:
                known[name] = replace(kind, none=True)

        @wraps(function)
        def checked(*arguments: P.args, **options: P.kwargs) -> R:
            try:
                given = signature.bind(*arguments, **options)
            except TypeError:  # the call itself says best what is missing
                return function(*arguments, **options)
            given.arguments.update(_checked(known, given.arguments))
            _check_states(given.arguments)
            return function(*given.args, **given.kwargs)

        checked.allowed = known  # type: ignore[attr-defined]
        return checked

    return decorated


def _checked(known: Mapping[str, Allowed], given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: kind.check(name, given[name]) for name, kind in known.items() if name in given}


def _check_states(given: Mapping[str, Any]) -> None:
    """Refuse a line, a subspace or a table of words of another network, if its states differ in size or type from those
    of the network, or if its own network reads these differently. The rows of a subspace are converted where they are
    used; it may be of another network."""
    network = given.get("network")
    h0 = getattr(network, "h0", None)
    if h0 is None:
        return
    check_numbers(h0)
    table = getattr(given.get("modifiers"), "line", None)
    subspaces = [(name, part) for name in ("subspace", "others") for part in _listed(given.get(name))]
    for name, part in (("line", given.get("line")), ("modifiers", table), *subspaces):
        h = getattr(part, "h_star", h0)
        if h.shape != h0.shape:
            raise RnnlensError(
                f"{name} is of another network: its states have {h.shape[-1]} numbers, those of the network "
                f"{h0.shape[-1]}"
            )
        if name in ("line", "modifiers"):
            check_reading(name, network, getattr(part, "network", network), getattr(part, "knots", h))
    line = given.get("line")
    if table is not None and line is not None and not bool((table.h_star == line.h_star).all()):
        raise RnnlensError(
            "modifiers were measured at the h* of another line: pass modifiers.line, or measure them again with "
            "find_modifiers(network, line)"
        )


def check_numbers(h0: Any) -> None:
    """Refuse a network whose initial state, like its weights, is on the meta device."""
    if h0.is_meta:
        raise RnnlensError("the network is on torch's meta device, which holds no numbers: load its weights first")


def check_reading(name: str, network: Any, own: Any, h: Any) -> None:
    """Refuse a part that was measured in the network `own` if `network` has states of another type, or reads its states
    h (..., N) differently: it has other weights, or is the view of another class. Copies, and copies without a
    subspace, read states as the original. The whole network of a view is not checked: its logits are others."""
    h0 = network.h0
    if (h.dtype, h.device) != (h0.dtype, h0.device):
        raise RnnlensError(
            f"{name} is of states in {h.dtype} on {h.device}, and the network has {h0.dtype} on {h0.device}: expected "
            "the network that it was measured in"
        )
    if own is network or not hasattr(network, "logit"):
        return
    here, there = network.logit(h).detach(), own.logit(h.to(own.h0)).detach().to(h)  # `own` may have been moved since
    if here.shape == there.shape and not bool(((here - there).abs() <= 1e-3 * (1 + there.abs())).all()):
        raise RnnlensError(
            f"{name} is of another network, which reads the same states differently: pass the network that it was "
            "measured in"
        )


def _listed(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else [given]
