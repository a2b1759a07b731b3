"""One scan for everything that has no fused kernel: UGRNN, adapted and perturbed networks.

For a cell h' = φ(h, d, u) the backward pass is written out. Autograd through a loop would take T small products for
the gradient of U and several graph nodes per step; here all partial derivatives of φ are computed at once, the
remaining loop has one product per step, and the gradient of U is a single product at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import Lock
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError
from rnnlens.networks.onednn import linear


class Recurrence(Protocol):
    """What a scan needs of a cell h' = φ(h, d, u) with d = W e + b and u = U h + c."""

    U: Any
    c: Any
    hidden: int
    gates: ClassVar[int]
    blocks: ClassVar[int]

    @property
    def output(self) -> slice: ...
    def drive(self, e: Tensor) -> Tensor: ...
    def combine(self, h: Tensor, d: Tensor, u: Tensor) -> Tensor: ...
    def partials(self, h: Tensor, d: Tensor, u: Tensor) -> tuple[Tensor, Tensor, Tensor]: ...


def scan(cell: Recurrence, e: Tensor, h0: Tensor) -> Tensor:
    """States (B, T+1, N), h0 first, of inputs e (B, T, D) from h0 (B, N).

    Under autocast the drives are computed in its precision, the recurrence, where errors add up, in the weights' own.
    """
    if not e.shape[1]:
        return h0.unsqueeze(1).clone()
    drives = cell.drive(e.transpose(0, 1))  # time first: every step reads and writes one block of memory
    d, h0, c = (part.to(cell.U.dtype) for part in (drives, h0, cell.c))
    with no_autocast(e.device.type):
        if wants_gradient(d, h0, cell.U, c):
            return _Scan.apply(d, h0, cell.U, c, cell).transpose(0, 1)
        return repeat(_forward(cell, cell.U, c), (d,), h0).transpose(0, 1)


def wants_gradient(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


@torch.no_grad()
def repeat(
    advance: Callable[..., Tensor], d: tuple[Tensor, ...], h0: Tensor, *, back: bool = False, record: bool = True
) -> Tensor:
    """States (T+1, B, N) of h' = advance(h, d[0][t], d[1][t] …) for drives d (T, B, ·), without gradients; from h0
    (B, N) at the first step or, with `back`, backward from the last.

    On a GPU a step of a small network is a dozen kernels of a few microseconds, and launching each takes longer than
    running it. So a few steps are recorded once as a CUDA graph, which is launched as a whole. record: False for a
    user's own `advance`, which may do what a graph cannot record."""
    T, few = len(d[0]), 8
    states = h0.new_empty(T + 1, *h0.shape)
    states[T if back else 0] = h0

    def run(states: Tensor, d: Sequence[Tensor]) -> None:
        for t in reversed(range(len(d[0]))) if back else range(len(d[0])):
            states[t + (not back)] = advance(states[t + back], *(part[t] for part in d))

    if not (record and h0.is_cuda) or 4 * few > T or torch.cuda.is_current_stream_capturing():
        run(states, d)
        return states
    blocks = (
        [(max(0, t - few), t) for t in range(T, 0, -few)] if back else [(t, min(t + few, T)) for t in range(0, T, few)]
    )
    current, (side, pool, _, lock) = torch.cuda.current_stream(h0.device), recorder(h0.device)
    side.wait_stream(current)
    graph, buffer = torch.cuda.CUDAGraph(), h0.new_empty(few + 1, *h0.shape)
    drives = [torch.empty_like(part[:few]) for part in d]
    with lock, torch.cuda.stream(side):
        first, last = blocks[0]  # not recorded: here libraries allocate their memory, which a recording may not do
        run(states[first : last + 1], [part[first:last] for part in d])
        graph.capture_begin(pool, capture_error_mode="thread_local")
        try:
            run(buffer, drives)
        finally:
            graph.capture_end()
    current.wait_stream(side)
    for first, last in blocks[1:]:
        at = few - (last - first) if back else 0  # a shorter last block begins where the recording does
        buffer[few if back else 0] = states[last if back else first]
        for drive, part in zip(drives, d, strict=True):
            drive[at : at + last - first] = part[first:last]
        graph.replay()
        new = slice(0, last - first) if back else slice(1, last - first + 1)
        states[first : last + 1][new] = buffer[at : at + last - first + 1][new]
    return states


@cache
def recorder(device: torch.device) -> tuple[torch.cuda.Stream, Any, torch.cuda.CUDAGraph, Lock]:
    """One stream and one memory pool for all recordings (a new pool each time would never release its memory), and a
    lock, since one thread at a time may use them."""
    side, pool, graph = torch.cuda.Stream(device), torch.cuda.graph_pool_handle(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        number = torch.zeros(1, device=device)
        graph.capture_begin(pool, capture_error_mode="thread_local")
        number += 1
        graph.capture_end()
    return side, pool, graph, Lock()  # a pool lives as long as one of its graphs


def step_by_step(step: Any, e: Tensor, h0: Tensor) -> Tensor:
    """The same for any step(h, e), differentiated by autograd: the reference for `scan`."""
    states = [h0]
    for t in range(e.shape[1]):
        states.append(step(states[-1], e[:, t]))
    return torch.stack(states, 1)


def _forward(cell: Recurrence, U: Tensor, c: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda h, d: cell.combine(h, d, linear(h[:, cell.output], U, c))


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, d: Tensor, h0: Tensor, U: Tensor, c: Tensor, cell: Recurrence) -> Tensor:
        hs = repeat(_forward(cell, U, c), (d,), h0)
        ctx.save_for_backward(d, hs, U, c)
        ctx.cell = cell
        return hs

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # create_graph=True
            raise RnnlensError(
                "the scan has first derivatives only, but create_graph=True needs second ones: "
                "use step_by_step(cell.step, e, h0) of rnnlens.networks"
            )
        with no_autocast(grad.device.type):
            return *_backward(ctx.cell, grad, *ctx.saved_tensors), None


def _backward(cell: Recurrence, grad: Tensor, d: Tensor, hs: Tensor, U: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    """Gradients of the drives, h0, U and c from the gradient of the states."""
    T, B, _ = d.shape
    S, G, H = cell.blocks, cell.gates, cell.hidden
    past = hs[:-1, :, cell.output].reshape(T * B, H)
    us = linear(past, U, c).view_as(d)  # recomputed all at once, which is quicker than storing them
    p_h, p_d, p_u = cell.partials(hs[:-1], d, us)

    def advance(delta: Tensor, p_h: Tensor, p_u: Tensor, grad: Tensor) -> Tensor:
        """The gradient of the state one step earlier, from all later steps."""
        if S == 1:
            du = (p_u[:, 0] * delta.unsqueeze(1)).view(B, G * H)
            return torch.addmm(torch.addcmul(grad, p_h[:, 0, 0], delta), du, U)
        delta = delta.view(B, S, 1, H)
        earlier = grad + (p_h * delta).sum(1).view(B, S * H)
        earlier[:, cell.output] += (p_u * delta).sum(1).view(B, G * H) @ U
        return earlier

    deltas = repeat(advance, (p_h, p_u, grad[:-1]), grad[T], back=True)
    after = deltas[1:].view(T, B, S, 1, H)
    du = (p_u * after).sum(2).view(T, B, G * H)
    dd = du if p_d is p_u else (p_d * after).sum(2).view(T, B, G * H)
    return dd, deltas[0], linear(du.view(T * B, G * H).t(), past.t()), du.sum((0, 1))


def no_autocast(device: str) -> AbstractContextManager[Any]:
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()
