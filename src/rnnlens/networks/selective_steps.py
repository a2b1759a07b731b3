"""The outputs of Mamba's recurrence on a CPU, and their gradients, without its states in memory: `fused_scan` does the
same on a GPU.

There are S times as many states as outputs, and writing them, their coefficients and their gradients to memory takes
longer than computing them. So a few words of a few texts are read at a time, and all that belongs to them stays in the
caches. The backward pass begins with the last words; it computes their states again from the stored one before them.

Shapes: n texts, T words, H channels, S states of each channel, L words of a chunk; inside, time comes first.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

NUMBERS = 2**16  # states of the texts that are read together: operations on fewer take longer to start than to run
FEWEST = 8  # words of a chunk: the states between chunks are stored


def selective_outputs(
    delta: Tensor, c: Tensor, B: Tensor, C: Tensor, A: Tensor, start: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The outputs h_t C_t (n, T, H) of h' = exp(Δ A)∘h + (Δ∘c) Bᵀ, the states that `selective_gradients` begins with,
    and the last states (n, H, S); Δ, c (n, T, H), B, C (n, T, S), A (H, S), start (n, H, S)."""
    n, T = delta.shape[:2]
    words, A = _words(n, A), A.t().contiguous()
    y, kept = torch.empty_like(delta), delta.new_empty(-(-T // words), n, *A.shape)
    h = start.mT.clone(memory_format=torch.contiguous_format)
    for texts in _groups(n, A):
        d, c_, B_, C_, y_ = (part[texts].transpose(0, 1) for part in (delta, c, B, C, y))
        x = d * c_
        a, states = delta.new_empty(2, min(words, T), texts.stop - texts.start, *A.shape)
        for number, (chunk, L) in enumerate(_chunks(T, words)):
            kept[number, texts] = h[texts]
            _fill(d[chunk], x[chunk], B_[chunk], A, h[texts], a[:L], states[:L])
            h[texts] = states[L - 1]
            y_[chunk] = _weighted(C_[chunk], states[:L])
    return y, kept, h.mT


def selective_gradients(
    delta: Tensor, c: Tensor, B: Tensor, C: Tensor, A: Tensor, kept: Tensor, dy: Tensor
) -> tuple[Tensor, ...]:
    """The gradients of Δ, c, B, C, A and start, from those of the outputs."""
    n, T = delta.shape[:2]
    words, A = _words(n, A), A.t().contiguous()
    ddelta, dx, dB, dC, dA = (torch.zeros_like(part) for part in (delta, c, B, C, A))
    carry = delta.new_zeros(n, *A.shape)  # the gradient of the state before a word, from that word on
    for texts in _groups(n, A):
        named = (delta, c, B, C, dy, ddelta, dx, dB, dC)
        d, c_, B_, C_, dy_, ddelta_, dx_, dB_, dC_ = (part[texts].transpose(0, 1) for part in named)
        x = d * c_
        buffers, later = delta.new_empty(4, min(words, T), texts.stop - texts.start, *A.shape), carry[texts]
        for number, (chunk, L) in reversed(list(enumerate(_chunks(T, words)))):
            a, states, dh, product = buffers[:, :L]
            first, g = kept[number, texts], dy_[chunk].unsqueeze(2)
            _fill(d[chunk], x[chunk], B_[chunk], A, first, a, states)
            for t in reversed(range(L)):
                torch.addcmul(later, g[t], C_[chunk][t].unsqueeze(2), out=dh[t])
                torch.mul(dh[t], a[t], out=later)
            dC_[chunk] = torch.mul(states, g, out=product).sum(3)
            dB_[chunk] = torch.mul(dh, x[chunk].unsqueeze(2), out=product).sum(3)
            dx_[chunk] = _weighted(B_[chunk], dh)
            of_log_a = a.mul_(dh)
            of_log_a[0] *= first
            of_log_a[1:] *= states[:-1]
            ddelta_[chunk] = torch.mul(of_log_a, A, out=product).sum(2)
            dA += torch.mul(of_log_a, d[chunk].unsqueeze(2), out=product).sum((0, 1))
    return ddelta.addcmul_(dx, c), dx.mul_(delta), dB, dC, dA.t(), carry.mT


def _fill(d: Tensor, x: Tensor, B: Tensor, A: Tensor, h: Tensor, a: Tensor, states: Tensor) -> None:
    """Write a = exp(Δ A) and the states (L, n, S, H) of a chunk, from those before it, h (n, S, H)."""
    torch.mul(d.unsqueeze(2), A, out=a).exp_()
    torch.mul(x.unsqueeze(2), B.unsqueeze(3), out=states)
    for a_t, new in zip(a.unbind(0), states.unbind(0), strict=True):
        torch.addcmul(new, a_t, h, out=new)
        h = new


def _weighted(weights: Tensor, states: Tensor) -> Tensor:
    """The sums (L, n, H) over S of states (L, n, S, H), with weights (L, n, S)."""
    return torch.bmm(weights.flatten(0, 1).unsqueeze(1), states.flatten(0, 1)).view(*states.shape[:2], -1)


def _words(n: int, A: Tensor) -> int:
    """The number of words of a chunk."""
    together = min(n * A.numel(), max(NUMBERS, A.numel()))
    return max(FEWEST, FEWEST * NUMBERS // max(1, together))


def _groups(n: int, A: Tensor) -> Iterator[slice]:
    """The texts that are read together."""
    few = max(1, NUMBERS // A.numel())
    return (slice(first, min(n, first + few)) for first in range(0, n, few))


def _chunks(T: int, words: int) -> Iterator[tuple[slice, int]]:
    """Chunks of the T words, and their lengths."""
    return ((slice(first, min(T, first + words)), min(words, T - first)) for first in range(0, T, words))
