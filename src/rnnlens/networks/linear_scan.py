"""A parallel scan: all states of h' = a∘h + b, for coefficients a and b that do not depend on h.

Steps of this kind compose, (a₂, b₂)∘(a₁, b₁) = (a₂a₁, a₂b₁ + b₂), so time can be cut into C chunks that are scanned at
once. Two passes: the first computes what each whole chunk does, C short steps then give the state at which every chunk
begins, and the second pass computes all states. The coefficients are read twice and the states written once, which is
what the time on a GPU depends on; there are no logarithms and no divisions, so rounding errors are those of the steps.
(`torch.associative_scan` computes the same, but only where torch can compile, and without derivatives on a CPU.)
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor


def linear_scan(a: Tensor, b: Tensor, h0: Tensor, chunks: int | None = None) -> Tensor:
    """States (B, T+1, M), h0 first, of h' = a∘h + b for a, b (B, T, M) from h0 (B, M). Derivatives of any order.

    chunks: number of chunks; by default one on a CPU, where T steps of B × M numbers are as fast, and on a GPU the
    number that gives the fewest kernels.
    """
    T = a.shape[1]
    if chunks is None:
        chunks = best_chunks(T) if a.is_cuda else 1
    return _LinearScan.apply(a, b.expand_as(a), h0, max(1, min(chunks, T)), False)


def best_chunks(T: int) -> int:
    """The number of chunks C with the fewest kernels: three for each of T/C steps, one for each chunk, and one for each
    step that is left over."""
    lengths = range(1, 2 * math.isqrt(max(T, 1)) + 1)
    return max(1, T // min(lengths, key=lambda L: 3 * L + T // L + T % L))


class _LinearScan(torch.autograd.Function):
    """The scan; `back` runs it from the last step to the first, as the backward pass does."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, start: Tensor, chunks: int, back: bool) -> Tensor:
        states = _scan(a, b, start, chunks, back)
        ctx.save_for_backward(a, states)
        ctx.chunks, ctx.back = chunks, back
        return states

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # The gradient δ of the states obeys the same recurrence in the other direction: δ_t = grad_t + a_t δ_{t+1}.
        (a, states), back, T = ctx.saved_tensors, ctx.back, grad.shape[1] - 1
        before, after = (slice(1, None), slice(0, T)) if back else (slice(0, T), slice(1, None))
        last = grad[:, 0 if back else T]
        delta = _LinearScan.apply(a, grad[:, before], last, ctx.chunks, not back)
        db = delta[:, after]
        return db * states[:, before], db, delta[:, T if back else 0], None, None


def _scan(a: Tensor, b: Tensor, start: Tensor, chunks: int, back: bool) -> Tensor:
    """States (B, T+1, M): s_{t+1} = a_t s_t + b_t from s_0 = start; with `back`, s_t = a_t s_{t+1} + b_t from s_T."""
    B, T, M = a.shape
    states = a.new_empty(B, T + 1, M)
    length = T // chunks
    whole = chunks * length  # the steps that fill chunks; fewer than a chunk's are left over, and come last
    here, left = (slice(T - whole, T), range(T - whole - 1, -1, -1)) if back else (slice(0, whole), range(whole, T))
    states[:, T if back else 0] = start
    if chunks > 1:
        new = states[:, :-1] if back else states[:, 1:]
        a_c, b_c, s_c = (part[:, here].unflatten(1, (chunks, length)) for part in (a, b, new))
        _fill_chunks(a_c, b_c, s_c, start, back)
    else:
        left = range(T - 1, -1, -1) if back else range(T)
    old, step = (1, 0) if back else (0, 1)
    for t in left:
        torch.addcmul(b[:, t], a[:, t], states[:, t + old], out=states[:, t + step])
    return states


def _fill_chunks(a: Tensor, b: Tensor, states: Tensor, start: Tensor, back: bool) -> None:
    """Write the states (B, C, L, M) of C chunks of L steps each, given their coefficients, from `start` (B, M)."""
    C, L = a.shape[1:3]
    steps = range(L - 1, -1, -1) if back else range(L)
    order = range(C - 1, -1, -1) if back else range(C)
    first = steps[0]
    factor, shift = a[:, :, first].clone(), b[:, :, first].clone()  # what each chunk does: h → factor∘h + shift
    for t in steps[1:]:
        factor.mul_(a[:, :, t])
        torch.addcmul(b[:, :, t], a[:, :, t], shift, out=shift)
    begins = torch.empty_like(shift)
    begins[:, order[0]] = start
    for now, following in pairwise(order):
        torch.addcmul(shift[:, now], factor[:, now], begins[:, now], out=begins[:, following])
    before = begins
    for t in steps:
        torch.addcmul(b[:, :, t], a[:, :, t], before, out=states[:, :, t])
        before = states[:, :, t]
