"""A scan: all states of h' = a∘h + b, for coefficients a and b that do not depend on h.

On a GPU with Triton one kernel goes through all words (`fused_scan`); elsewhere every step is one operation.
(`torch.associative_scan` computes the same, but only where torch can compile, and without derivatives on a CPU.)
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType
from typing import Any

import torch
from torch import Tensor


def linear_scan(a: Tensor, b: Tensor, h0: Tensor) -> Tensor:
    """States (B, T, M) after each step of h' = a∘h + b, for a, b (B, T, M) from h0 (B, M). Derivatives of any order."""
    return _LinearScan.apply(a, b, h0, False)


@cache
def kernels() -> ModuleType | None:
    """`fused_scan`, if Triton is there, which torch brings along for GPUs except on Windows."""
    try:
        return importlib.import_module("rnnlens.networks.fused_scan")
    except ImportError:
        return None


class _LinearScan(torch.autograd.Function):
    """The scan: s_t = a_t s_{t−1} + b_t, s_{−1} = start; with `back`, s_t = a_t s_{t+1} + b_t, s_T = start."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, start: Tensor, back: bool) -> Tensor:
        states = torch.empty_like(a)
        _scan(a, b, start, back, states)
        ctx.save_for_backward(a, states, start)
        ctx.back = back
        return states

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # The gradient δ of the states obeys a recurrence in the other direction: δ_t = grad_t + a_{t+1} δ_{t+1}.
        (a, states, start), back = ctx.saved_tensors, ctx.back
        if not grad.shape[1]:
            return a, grad, torch.zeros_like(start), None
        first, last = (-1, 0) if back else (0, -1)
        earlier, later = (slice(1, None), slice(None, -1)) if back else (slice(None, -1), slice(1, None))
        if torch.is_grad_enabled():  # create_graph=True
            rest = _LinearScan.apply(a[:, later], grad[:, earlier], grad[:, last], not back)
            delta = _joined(rest, grad[:, last], back)
            da = delta * _joined(states[:, earlier], start, not back)
        else:
            delta, da = torch.empty_like(a), torch.empty_like(a)
            delta[:, last] = grad[:, last]
            _scan(a[:, later], grad[:, earlier], grad[:, last], not back, delta[:, earlier])
            torch.mul(delta[:, later], states[:, earlier], out=da[:, later])
            torch.mul(delta[:, first], start, out=da[:, first])
        return da, delta, a[:, first] * delta[:, first], None


def _joined(states: Tensor, end: Tensor, before: bool) -> Tensor:
    """States (B, T, M) with one more, (B, M), before or after them."""
    return torch.cat([end.unsqueeze(1), states] if before else [states, end.unsqueeze(1)], 1)


def _scan(a: Tensor, b: Tensor, start: Tensor, back: bool, states: Tensor) -> None:
    """Write the states (B, T, M) of a scan."""
    if a.is_cuda and (fused := kernels()) is not None:
        fused.linear_states(a, b, start, back, states)
        return
    steps = list(zip(*(part.unbind(1) for part in (a, b, states)), strict=True))
    for factor, shift, new in reversed(steps) if back else steps:
        torch.addcmul(shift, factor, start, out=new)
        start = new
