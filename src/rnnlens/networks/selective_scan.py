"""The outputs of Mamba's recurrence, without its states in memory.

Shapes: B batch, T time, H channels, S states of each channel.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rnnlens.networks import selective_steps
from rnnlens.networks.linear_scan import kernels, linear_scan


def without_states(x: Tensor) -> bool:
    """Whether the scan over x can do without its states: on a CPU, and on a GPU that has kernels for it."""
    return x.is_cpu or (x.is_cuda and kernels() is not None)


def selective_coefficients(delta: Tensor, c: Tensor, B: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    """a = exp(Δ A) and b = (Δ∘c) Bᵀ, (..., H, S), from Δ, c (..., H), B (..., S) and A (H, S)."""
    return torch.exp(delta.unsqueeze(-1) * A), (delta * c).unsqueeze(-1) * B.unsqueeze(-2)


def selective_scan(delta: Tensor, c: Tensor, B: Tensor, C: Tensor, A: Tensor, start: Tensor) -> Tensor:
    """h_t C_t (B, T, H) of h' = exp(Δ A)∘h + (Δ∘c) Bᵀ, for Δ, c (B, T, H), B, C (B, T, S), A (H, S) and h before the
    first word (B, H, S); see `without_states`. Derivatives of any order."""
    return _SelectiveScan.apply(delta, c, B, C, A, start)


def plain_scan(delta: Tensor, c: Tensor, B: Tensor, C: Tensor, A: Tensor, start: Tensor) -> Tensor:
    """The same, with all states in memory."""
    a, b = selective_coefficients(delta, c, B, A)
    states = linear_scan(a.flatten(-2), b.flatten(-2), start.flatten(-2)).unflatten(-1, A.shape)
    return (states @ C.unsqueeze(-1)).squeeze(-1)


class _SelectiveScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        delta, c, B, C, A, start = (x.contiguous() for x in inputs)
        y, kept = _functions(delta).selective_outputs(delta, c, B, C, A, start)[:2]
        ctx.save_for_backward(*inputs, kept)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, ...]:
        *inputs, kept = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph=True
            apart = [x.view_as(x) for x in inputs]  # Δ depends on c: what comes by that way is not c's own
            wanted = [x for x, needed in zip(apart, ctx.needs_input_grad, strict=True) if needed]
            found = iter(torch.autograd.grad(plain_scan(*apart), wanted, dy, create_graph=True))
            return tuple(next(found) if needed else None for needed in ctx.needs_input_grad)  # type: ignore[misc]
        delta, c, B, C, A = (x.contiguous() for x in inputs[:-1])
        return _functions(delta).selective_gradients(delta, c, B, C, A, kept, dy.contiguous())


def _functions(x: Tensor) -> Any:
    """The module that computes on the device of x."""
    return kernels() if x.is_cuda else selective_steps
