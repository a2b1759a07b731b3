"""Scans as single kernels, for GPUs: written in Triton, which torch brings along where it can use a GPU.

One program reads a few channels of one text from its first word to its last, with their states in registers. So the
coefficients are read once and only what is asked for is written: for Mamba the outputs, never its states, of which
there are S times as many. Its backward pass begins with the last K words: it computes their states again from a stored
one, then goes back over them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 32  # channels of a program, which is one warp
FEW = 16  # channels of a program for Mamba, which has S states of each; sums over channels then need no other warp
EVERY = 32  # words between stored states of Mamba


@triton.jit
def _linear_kernel(a, b, start, out, T, M, a_B, a_T, b_B, b_T, s_B, o_B, o_T, BACK: tl.constexpr, BLOCK: tl.constexpr):
    text, m = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    real = m < M
    h = tl.load(start + text * s_B + m, mask=real)
    for i in range(T):
        t = T - 1 - i if BACK else i
        factor = tl.load(a + text * a_B + t * a_T + m, mask=real)
        h = factor * h + tl.load(b + text * b_B + t * b_T + m, mask=real)
        tl.store(out + text * o_B + t * o_T + m, h, mask=real)


def linear_states(a: Tensor, b: Tensor, start: Tensor, back: bool, out: Tensor) -> None:
    """Write the states (B, T, M) of s_t = a_t s_{t−1} + b_t, from `start` (B, M); with `back`, of
    s_t = a_t s_{t+1} + b_t. The last dimension of each must be contiguous."""
    B, T, M = a.shape
    a, b, start = (x if x.stride(-1) == 1 else x.contiguous() for x in (a, b, start))
    strides = (*a.stride()[:2], *b.stride()[:2], start.stride(0), *out.stride()[:2])
    with torch.cuda.device(a.device):
        _linear_kernel[B, triton.cdiv(M, BLOCK)](a, b, start, out, T, M, *strides, back, BLOCK, num_warps=1)


@triton.jit
def _selective_kernel(
    delta, c, B, C, A, start, y, kept, T, H, N, EVERY: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr
):
    text, j = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    s = tl.arange(0, S)
    real = j < H
    of_state = j[:, None] * S + s[None, :]
    both = real[:, None] & (s[None, :] < S)
    rate = tl.load(A + of_state, mask=both, other=0.0)
    h = tl.load(start + text * H * S + of_state, mask=both, other=0.0)
    for t in range(T):
        if t % EVERY == 0:
            tl.store(kept + (text * N + t // EVERY) * H * S + of_state, h, mask=both)
        row = text * T + t
        d = tl.load(delta + row * H + j, mask=real, other=0.0)
        x = d * tl.load(c + row * H + j, mask=real, other=0.0)
        h = tl.exp(d[:, None] * rate) * h + x[:, None] * tl.load(B + row * S + s)[None, :]
        tl.store(y + row * H + j, tl.sum(h * tl.load(C + row * S + s)[None, :], 1), mask=real)


@triton.jit
def _selective_back_kernel(
    delta, c, B, C, A, kept, dy, scratch, ddelta, dc, dB, dC, dA, dstart, T, H, N, P,
    EVERY: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    text, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    j, s = part * BLOCK + tl.arange(0, BLOCK), tl.arange(0, S)
    real = j < H
    of_state = j[:, None] * S + s[None, :]
    both = real[:, None] & (s[None, :] < S)
    rate = tl.load(A + of_state, mask=both, other=0.0)
    dh, drate = tl.zeros_like(rate), tl.zeros_like(rate)
    mine = scratch + text * EVERY * H * S + of_state
    for i in range(N):
        chunk = N - 1 - i
        first = chunk * EVERY
        last = tl.minimum(first + EVERY, T)
        h = tl.load(kept + (text * N + chunk) * H * S + of_state, mask=both, other=0.0)
        tl.debug_barrier()
        for t in range(first, last):  # the states before each word
            tl.store(mine + (t - first) * H * S, h, mask=both)
            row = text * T + t
            d = tl.load(delta + row * H + j, mask=real, other=0.0)
            x = d * tl.load(c + row * H + j, mask=real, other=0.0)
            h = tl.exp(d[:, None] * rate) * h + x[:, None] * tl.load(B + row * S + s)[None, :]
        tl.debug_barrier()
        for k in range(last - first):
            t = last - 1 - k
            row = text * T + t
            d = tl.load(delta + row * H + j, mask=real, other=0.0)
            u = tl.load(c + row * H + j, mask=real, other=0.0)
            g = tl.load(dy + row * H + j, mask=real, other=0.0)
            b = tl.load(B + row * S + s)[None, :]
            before = tl.load(mine + (t - first) * H * S, mask=both, other=0.0)
            a = tl.exp(d[:, None] * rate)
            x = d * u
            partial = (row * P + part) * S + s
            tl.store(dC + partial, tl.sum(g[:, None] * (a * before + x[:, None] * b), 0))
            dh += g[:, None] * tl.load(C + row * S + s)[None, :]
            tl.store(dB + partial, tl.sum(dh * x[:, None], 0))
            dx = tl.sum(dh * b, 1)
            of_a = dh * before * a  # the gradient of log a
            tl.store(ddelta + row * H + j, tl.sum(of_a * rate, 1) + dx * u, mask=real)
            tl.store(dc + row * H + j, dx * d, mask=real)
            drate += of_a * d[:, None]
            dh = dh * a
    tl.store(dA + text * H * S + of_state, drate, mask=both)
    tl.store(dstart + text * H * S + of_state, dh, mask=both)


def selective_outputs(
    delta: Tensor, c: Tensor, B: Tensor, C: Tensor, A: Tensor, start: Tensor
) -> tuple[Tensor, Tensor]:
    """The outputs h_t C_t (B, T, H) of h' = exp(Δ A)∘h + (Δ∘c) Bᵀ, and the states that `selective_gradients` begins
    with; Δ, c (B, T, H), B, C (B, T, S), A (H, S), start (B, H, S), all contiguous."""
    (n, T, H), S = delta.shape, A.shape[-1]
    stored = triton.cdiv(T, EVERY)
    y, kept = torch.empty_like(delta), delta.new_empty(n, stored, H, S)
    with torch.cuda.device(delta.device):
        _selective_kernel[n, triton.cdiv(H, FEW)](
            delta, c, B, C, A, start, y, kept, T, H, stored, EVERY, S, FEW, num_warps=1
        )
    return y, kept


def selective_gradients(
    delta: Tensor, c: Tensor, B: Tensor, C: Tensor, A: Tensor, kept: Tensor, dy: Tensor
) -> tuple[Tensor, ...]:
    """The gradients of Δ, c, B, C, A and start, from those of the outputs."""
    (n, T, H), S = delta.shape, A.shape[-1]
    parts = triton.cdiv(H, FEW)
    scratch = delta.new_empty(n, EVERY, H, S)
    ddelta, dc = torch.empty_like(delta), torch.empty_like(c)
    dB, dC = delta.new_empty(2, n, T, parts, S)
    dA, dstart = delta.new_empty(2, n, H, S)
    with torch.cuda.device(delta.device):
        _selective_back_kernel[n, parts](
            delta, c, B, C, A, kept, dy, scratch, ddelta, dc, dB, dC, dA, dstart, T, H, kept.shape[1], parts,
            EVERY, S, FEW, num_warps=1,
        )  # fmt: skip
    return ddelta, dc, dB.sum(2), dC.sum(2), dA.sum(0), dstart
