"""The constant input at which fixed points, lines and modes are computed: zero (the blank input) unless given.

Points, lines and modes store this input, so that nothing is expanded at another one by accident.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.networks import Network

Inputs = Tensor | str | None


def held_input(network: Network, inputs: Inputs, count: int | None = None) -> Tensor:
    """The input (D,) from an embedded input (D,), a word, or None for zero; with `count`, also (count, D)."""
    if inputs is None:
        return network.h0.new_zeros(network.inputs).detach()
    if isinstance(inputs, str):
        if network.vocab is None or inputs not in network.vocab:
            raise RnnlensError(f"{quoted(inputs)} is not in the vocabulary of this network: expected one of its words")
        inputs = network.embed(torch.tensor(network.vocab.index[inputs], device=network.h0.device))
    expected = f"({network.inputs},)" + ("" if count is None else f" or ({count}, {network.inputs})")
    if not isinstance(inputs, Tensor):
        raise RnnlensError(f"inputs is {quoted(type(inputs).__name__)}: expected a tensor {expected}, a word or None")
    e = inputs.detach().to(network.h0)
    if e.shape not in ((network.inputs,), (count, network.inputs)):
        raise RnnlensError(f"inputs have shape {tuple(e.shape)}: expected {expected}")
    if not bool(e.isfinite().all()):
        raise RnnlensError("inputs are NaN or infinite: expected finite numbers")
    return e


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
