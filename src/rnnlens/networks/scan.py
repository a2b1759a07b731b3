"""One scan for everything that has no fused kernel: UGRNN, adapted and perturbed networks.

For a cell h' = φ(h, d, u) the backward pass is written out. Autograd through a loop would take T small products for
the gradient of U and several graph nodes a step; here all partial derivatives of φ are computed at once, the loop
that is left has one product a step, and the gradient of U is a single product at the end.
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
    (B, N) at the one end or, with `back`, at the other.

    On a GPU a step of a small network is a dozen kernels of a few microseconds, and launching each takes longer than
    running it. So a few steps are recorded once as a CUDA graph, which is launched as a whole (`record`: not where
    `advance` is a user's own, which may do what a graph cannot hold)."""
    T, few = len(d[0]), 8
    states = h0.new_empty(T + 1, *h0.shape)
    states[T if back else 0] = h0

    def some(states: Tensor, d: Sequence[Tensor]) -> None:
        for t in reversed(range(len(d[0]))) if back else range(len(d[0])):
            states[t + (not back)] = advance(states[t + back], *(part[t] for part in d))

    if not (record and h0.is_cuda) or 4 * few > T:
        some(states, d)
        return states
    blocks = (
        [(max(0, t - few), t) for t in range(T, 0, -few)] if back else [(t, min(t + few, T)) for t in range(0, T, few)]
    )
    here, (aside, pool, _, lock) = torch.cuda.current_stream(h0.device), _recorder(h0.device)
    aside.wait_stream(here)
    graph, room, held = torch.cuda.CUDAGraph(), h0.new_empty(few + 1, *h0.shape), [torch.empty_like(x[:few]) for x in d]
    with lock, torch.cuda.stream(aside):
        first, last = blocks[0]  # by hand: it also lets libraries allocate what they need, which a recording may not
        some(states[first : last + 1], [part[first:last] for part in d])
        graph.capture_begin(pool, capture_error_mode="thread_local")
        try:
            some(room, held)
        finally:
            graph.capture_end()
    here.wait_stream(aside)
    for first, last in blocks[1:]:
        at = (
            few - (last - first) if back else 0
        )  # where a shorter last block lies, so that its start is the recording's
        room[few if back else 0] = states[last if back else first]
        for part, whole in zip(held, d, strict=True):
            part[at : at + last - first] = whole[first:last]
        graph.replay()
        new = slice(0, last - first) if back else slice(1, last - first + 1)
        states[first : last + 1][new] = room[at : at + last - first + 1][new]
    return states


@cache
def _recorder(device: torch.device) -> tuple[torch.cuda.Stream, Any, torch.cuda.CUDAGraph, Lock]:
    """One stream and one pool of memory for all recordings (each new one would keep what it took to itself), which one
    thread at a time may use."""
    aside, pool, first = torch.cuda.Stream(device), torch.cuda.graph_pool_handle(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(aside):
        room = torch.zeros(1, device=device)
        first.capture_begin(pool, capture_error_mode="thread_local")
        room += 1
        first.capture_end()
    return aside, pool, first, Lock()  # a pool lives as long as one of its graphs


def step_by_step(step: Any, e: Tensor, h0: Tensor) -> Tensor:
    """The same for any step(h, e), left to autograd: the reference for the scan above."""
    states = [h0]
    for t in range(e.shape[1]):
        states.append(step(states[-1], e[:, t]))
    return torch.stack(states, 1)


def _forward(cell: Recurrence, U: Tensor, c: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    U_t = U.t().contiguous()
    return lambda h, d: cell.combine(h, d, torch.addmm(c, h[:, cell.output], U_t))


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
                "the scan has first derivatives only, and create_graph=True asks for second ones: "
                "use step_by_step(cell.step, e, h0) of rnnlens.networks"
            )
        with no_autocast(grad.device.type):
            return *_backward(ctx.cell, grad, *ctx.saved_tensors), None


def _backward(cell: Recurrence, grad: Tensor, d: Tensor, hs: Tensor, U: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    """Gradients of the drives, h0, U and c from that of the states."""
    T, B, _ = d.shape
    S, G, H = cell.blocks, cell.gates, cell.hidden
    past = hs[:-1, :, cell.output].reshape(T * B, H)
    us = torch.addmm(c, past, U.t()).view_as(d)  # all at once: quicker than having kept them
    p_h, p_d, p_u = cell.partials(hs[:-1], d, us)

    def advance(delta: Tensor, p_h: Tensor, p_u: Tensor, grad: Tensor) -> Tensor:
        """The gradient one step earlier, everything later included."""
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
    return dd, deltas[0], du.view(T * B, G * H).t() @ past, du.sum((0, 1))


def no_autocast(device: str) -> AbstractContextManager[Any]:
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()
