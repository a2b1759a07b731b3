"""The constant input at which fixed points, lines and modes are computed: zero (the blank input) unless given.

Points, lines and modes store this input, so that nothing is expanded at another one by accident.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.options import OBJECTS
from rnnlens.networks import Network

Inputs = Tensor | str | None


def check_tensor(name: str, value: object, what: str, size: int, like: Tensor | None = None, one: bool = False) -> None:
    """Refuse what is not a tensor (..., size), or with `one` (size,), of the dtype and on the device of `like`. what:
    what it should be, for messages."""
    expected = f"{what}, a tensor ({size},)" if one else f"{what}, a tensor (..., {size})"
    if not isinstance(value, Tensor):
        raise RnnlensError(f"{name} is {quoted(type(value).__name__)}: expected {expected}")
    if value.shape[-1:] != (size,) or (one and value.ndim > 1):
        raise RnnlensError(f"{name} has shape {tuple(value.shape)}: expected {expected}")
    if like is not None and (value.dtype != like.dtype or value.device != like.device):
        raise RnnlensError(
            f"{name} is {value.dtype} on {value.device}: expected {like.dtype} on {like.device}, as the network; pass "
            f"{name}.to(network.h0)"
        )


def check_states(network: Network, one: bool = False, **states: Tensor) -> None:
    """Refuse arguments that are not states (..., N) of a network, or with `one` not one state (N,)."""
    OBJECTS["network"].check("network", network)
    for name, value in states.items():
        check_tensor(name, value, "one state" if one else "states", network.size, network.h0, one)


def check_inputs(network: Network, **inputs: Tensor | None) -> None:
    """Refuse arguments that are neither embedded inputs (..., D) of a network nor None."""
    for name, value in inputs.items():
        if value is not None:
            check_tensor(name, value, "inputs", network.inputs, network.h0)


def given_states(network: Network, states: Tensor) -> Tensor:
    """States (K, N) from (..., N), of any real dtype, in the dtype and on the device of the network."""
    check_tensor("states", states, "states of the network", network.size)
    if not states.is_floating_point() or states.is_meta:
        raise RnnlensError(f"states are {states.dtype} on {states.device}: expected real numbers, as torch.float32")
    rows = states.detach().reshape(-1, network.size).to(network.h0, copy=True)
    if not len(rows):
        raise RnnlensError("states has no rows: expected at least one state")
    if not bool(rows.isfinite().all()):
        raise RnnlensError("some states are NaN or infinite: expected finite numbers")
    return rows


def held_input(network: Network, inputs: Inputs, count: int | None = None) -> Tensor:
    """The input (D,) from an embedded input (D,), a word, or None for zero; with `count`, also (count, D)."""
    if inputs is None:
        return network.h0.new_zeros(network.inputs).detach()
    if isinstance(inputs, str):
        if network.vocab is None or inputs not in network.vocab:
            raise RnnlensError(f"{quoted(inputs)} is not in the vocabulary of this network: expected one of its words")
        inputs = network.embed(torch.tensor(network.vocab.index[inputs], device=network.h0.device))
    expected = f"({network.inputs},)" + ("" if count is None else f" or ({count}, {network.inputs})")
    if not isinstance(inputs, Tensor) or inputs.is_meta:
        raise RnnlensError(f"inputs is {quoted(type(inputs).__name__)}: expected a tensor {expected}, a word or None")
    e = inputs.detach().to(network.h0)
    if e.shape not in ((network.inputs,), (count, network.inputs)):
        raise RnnlensError(f"inputs have shape {tuple(e.shape)}: expected {expected}")
    if not bool(e.isfinite().all()):
        raise RnnlensError("inputs are NaN or infinite: expected finite numbers")
    return e


def check_points(network: Network, own: Network, states: Tensor, e: Tensor) -> None:
    """Refuse points (K, N) that were found in the network `own` at inputs e, (D,) or (K, D), if `network` steps from
    the first of them to other states: it has other weights."""
    check_tensor("points", states, "states", network.size)
    if (states.dtype, states.device) != (network.h0.dtype, network.h0.device):
        raise RnnlensError(
            f"the points are of states in {states.dtype} on {states.device}, and the network has {network.h0.dtype} on "
            f"{network.h0.device}: find them again with find_fixed_points(network, states)"
        )
    if own is network:
        return
    h, e = states[:8], e[:8] if e.ndim == 2 else e
    here, there = network.step(h, e).detach(), own.step(h.to(own.h0), e.to(own.h0)).detach().to(h)
    if not bool((here - there).norm() <= 1e-3 * (here.norm() + there.norm())):
        raise RnnlensError(
            "the points are of another network, which steps from them to other states: find those of this network with "
            "find_fixed_points(network, states)"
        )


def same_input(network: Network, own: Tensor, expected: Inputs) -> Tensor:
    """The one input (D,) of points that were found at `own`, (D,) or (K, D); an error if `expected` is another one."""
    if own.ndim == 2:
        if not len(own) or not bool((own == own[0]).all()):
            raise RnnlensError(
                "the points were found at several inputs: expected points of one input; choose some with points.take"
            )
        own = own[0]
    if expected is not None and not torch.equal(held_input(network, expected), own.to(network.h0)):
        raise RnnlensError(
            "the points were found at another input than inputs=: leave inputs out, or find points at that input with "
            "find_fixed_points(network, states, inputs)"
        )
    return own
