"""A parallel scan: all states of h' = a∘h + b, for coefficients a and b that do not depend on h.

Steps of this kind compose, (a₂, b₂)∘(a₁, b₁) = (a₂a₁, a₂b₁ + b₂), so time can be cut into C chunks that are scanned at
once. Two passes: the first computes what each whole chunk does, C short steps then give the state at which every chunk
begins, and the second pass computes all states. There are no logarithms and no divisions, so rounding errors are those
of the steps. A GPU with Triton needs no chunks: one kernel goes through all words (`fused_scan`).
(`torch.associative_scan` computes the same, but only where torch can compile, and without derivatives on a CPU.)
"""

from __future__ import annotations

import importlib
import math
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any

import torch
from torch import Tensor


def linear_scan(a: Tensor, b: Tensor, h0: Tensor, chunks: int | None = None) -> Tensor:
    """States (B, T, M) after each step of h' = a∘h + b, for a, b (B, T, M) from h0 (B, M). Derivatives of any order.

    chunks: number of chunks; by default one on a CPU, where T steps of B × M numbers are as fast, and on a GPU without
    Triton the number that gives the fewest kernels.
    """
    if chunks is None:
        chunks = best_chunks(a.shape[1]) if a.is_cuda else 1
    return _LinearScan.apply(a, b, h0, chunks, False)


@cache
def kernels() -> ModuleType | None:
    """`fused_scan`, if Triton is there, which torch brings along for GPUs except on Windows."""
    try:
        return importlib.import_module("rnnlens.networks.fused_scan")
    except ImportError:
        return None


def best_chunks(T: int) -> int:
    """The number of chunks C with the fewest kernels: three for each of T/C steps, one for each chunk, and one for each
    step that is left over."""
    lengths = range(1, 2 * math.isqrt(max(T, 1)) + 1)
    return max(1, T // min(lengths, key=lambda L: 3 * L + T // L + T % L))


class _LinearScan(torch.autograd.Function):
    """The scan: s_t = a_t s_{t−1} + b_t, s_{−1} = start; with `back`, s_t = a_t s_{t+1} + b_t, s_T = start."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, start: Tensor, chunks: int, back: bool) -> Tensor:
        states = torch.empty_like(a)
        _scan(a, b, start, chunks, back, states)
        ctx.save_for_backward(a, states, start)
        ctx.chunks, ctx.back = chunks, back
        return states

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # The gradient δ of the states obeys a recurrence in the other direction: δ_t = grad_t + a_{t+1} δ_{t+1}.
        (a, states, start), back = ctx.saved_tensors, ctx.back
        if not grad.shape[1]:
            return a, grad, torch.zeros_like(start), None, None
        first, last = (-1, 0) if back else (0, -1)
        earlier, later = (slice(1, None), slice(None, -1)) if back else (slice(None, -1), slice(1, None))
        if torch.is_grad_enabled():  # create_graph=True
            rest = _LinearScan.apply(a[:, later], grad[:, earlier], grad[:, last], ctx.chunks, not back)
            delta = _joined(rest, grad[:, last], back)
            da = delta * _joined(states[:, earlier], start, not back)
        else:
            delta, da = torch.empty_like(a), torch.empty_like(a)
            delta[:, last] = grad[:, last]
            _scan(a[:, later], grad[:, earlier], grad[:, last], ctx.chunks, not back, delta[:, earlier])
            torch.mul(delta[:, later], states[:, earlier], out=da[:, later])
            torch.mul(delta[:, first], start, out=da[:, first])
        return da, delta, a[:, first] * delta[:, first], None, None


def _joined(states: Tensor, end: Tensor, before: bool) -> Tensor:
    """States (B, T, M) with one more, (B, M), before or after them."""
    return torch.cat([end.unsqueeze(1), states] if before else [states, end.unsqueeze(1)], 1)


def _scan(a: Tensor, b: Tensor, start: Tensor, chunks: int, back: bool, states: Tensor) -> None:
    """Write the states (B, T, M) of a scan."""
    if a.is_cuda and (fused := kernels()) is not None:
        fused.linear_states(a, b, start, back, states)
        return
    T = a.shape[1]
    chunks = max(1, min(chunks, T))
    length = T // chunks if chunks > 1 else 0
    whole = chunks * length  # the steps that fill chunks; fewer than a chunk's are left over, and come last
    if whole:
        here = slice(T - whole, T) if back else slice(0, whole)
        a_, b_, filled = (part[:, here].unflatten(1, (chunks, length)) for part in (a, b, states))
        _fill_chunks(a_, b_, filled, start, back)
        start = states[:, T - whole if back else whole - 1]
    left = slice(0, T - whole) if back else slice(whole, T)
    steps = list(zip(*(part[:, left].unbind(1) for part in (a, b, states)), strict=True))
    for factor, shift, new in reversed(steps) if back else steps:
        torch.addcmul(shift, factor, start, out=new)
        start = new


def _fill_chunks(a: Tensor, b: Tensor, states: Tensor, start: Tensor, back: bool) -> None:
    """Write the states (B, C, L, M) of C chunks of L steps each, given their coefficients, from `start` (B, M)."""
    C = a.shape[1]
    order = range(C - 1, -1, -1) if back else range(C)
    steps = list(zip(*(part.unbind(2) for part in (a, b, states)), strict=True))  # views, made once
    steps = steps[::-1] if back else steps
    factor, shift = steps[0][0].clone(), steps[0][1].clone()  # what each chunk does: h → factor∘h + shift
    for a_t, b_t, _ in steps[1:]:
        factor.mul_(a_t)
        torch.addcmul(b_t, a_t, shift, out=shift)
    begins = torch.empty_like(shift)
    begins[:, order[0]] = start
    for now, following in pairwise(order):
        torch.addcmul(shift[:, now], factor[:, now], begins[:, now], out=begins[:, following])
    before = begins
    for a_t, b_t, new in steps:
        torch.addcmul(b_t, a_t, before, out=new)
        before = new
