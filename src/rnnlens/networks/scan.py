"""One scan for everything that has no fused kernel: UGRNN, adapted and perturbed networks.

For a cell h' = φ(h, d, u) the backward pass is written out. Autograd through a loop would take T small products for
the gradient of U and several graph nodes a step; here all partial derivatives of φ are computed at once, the loop
that is left has one product a step, and the gradient of U is a single product at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rnnlens.errors import RnnlensError

if TYPE_CHECKING:
    from rnnlens.networks.cells import Cell


def scan(cell: Cell, e: Tensor, h0: Tensor) -> Tensor:
    """States (B, T+1, N), h0 first, of inputs e (B, T, D) from h0 (B, N).

    Under autocast the drives are computed in its precision, the recurrence, where errors add up, in the weights' own.
    """
    if not e.shape[1]:
        return h0.unsqueeze(1).clone()
    drives = cell.drive(e.transpose(0, 1))  # time first: every step reads and writes one block of memory
    d, h0, c = (part.to(cell.U.dtype) for part in (drives, h0, cell.c))
    with _no_autocast(e.device.type):
        if wants_gradient(d, h0, cell.U, c):
            return _Scan.apply(d, h0, cell.U, c, cell).transpose(0, 1)
        U_t = cell.U.t().contiguous()

        def advance(h: Tensor, d: Tensor) -> Tensor:
            return cell.combine(h, d, torch.addmm(c, h[:, cell.output], U_t))

        return repeat(advance, d, h0).transpose(0, 1)


def wants_gradient(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


@torch.no_grad()
def repeat(advance: Callable[[Tensor, Tensor], Tensor], d: Tensor, h0: Tensor, *, record: bool = True) -> Tensor:
    """States (T+1, B, N), h0 (B, N) first, of h' = advance(h, d[t]) for drives d (T, B, ·), without gradients.

    On a GPU a step of a small network is a dozen kernels of a few microseconds, and launching each takes longer than
    running it. So a few steps are recorded once as a CUDA graph, which is launched as a whole (`record`: not where
    `advance` is a user's own, which may do what a graph cannot hold)."""
    T, few = len(d), 8
    states = h0.new_empty(T + 1, *h0.shape)
    states[0] = h0

    def some(states: Tensor, d: Tensor) -> None:
        for t in range(len(d)):
            states[t + 1] = advance(states[t], d[t])

    if not (record and d.is_cuda) or 4 * few > T:
        some(states, d)
        return states
    here, aside = torch.cuda.current_stream(), torch.cuda.Stream()
    aside.wait_stream(here)
    graph, part, drive = torch.cuda.CUDAGraph(), states.new_empty(few + 1, *h0.shape), torch.empty_like(d[:few])
    with torch.cuda.stream(aside):
        some(states[: few + 1], d[:few])  # also lets libraries allocate what they need, which a recording may not
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            some(part, drive)
        finally:
            graph.capture_end()
    here.wait_stream(aside)
    for t in range(few, T, few):
        stop = min(t + few, T)
        part[0] = states[t]
        drive[: stop - t] = d[t:stop]
        graph.replay()
        states[t + 1 : stop + 1] = part[1 : stop - t + 1]
    return states


def step_by_step(step: Any, e: Tensor, h0: Tensor) -> Tensor:
    """The same for any step(h, e), left to autograd: the reference for the scan above."""
    states = [h0]
    for t in range(e.shape[1]):
        states.append(step(states[-1], e[:, t]))
    return torch.stack(states, 1)


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, d: Tensor, h0: Tensor, U: Tensor, c: Tensor, cell: Cell) -> Tensor:
        T, B, _ = d.shape
        hs = d.new_empty(T + 1, B, cell.size)
        us = torch.empty_like(d)
        hs[0] = h0
        U_t = U.t().contiguous()
        for t in range(T):
            torch.addmm(c, hs[t, :, cell.output], U_t, out=us[t])
            hs[t + 1] = cell.combine(hs[t], d[t], us[t])
        ctx.save_for_backward(d, hs, us, U)
        ctx.cell = cell
        return hs

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # create_graph=True
            raise RnnlensError(
                "the scan has first derivatives only, and create_graph=True asks for second ones: "
                "use step_by_step(cell.step, e, h0) of rnnlens.networks"
            )
        with _no_autocast(grad.device.type):
            return *_backward(ctx.cell, grad, *ctx.saved_tensors), None


def _backward(cell: Cell, grad: Tensor, d: Tensor, hs: Tensor, us: Tensor, U: Tensor) -> tuple[Tensor, ...]:
    """Gradients of the drives, h0, U and c from that of the states."""
    T, B, _ = d.shape
    S, G, H = cell.blocks, cell.gates, cell.hidden
    p_h, p_d, p_u = cell.partials(hs[:-1], d, us)
    deltas = torch.empty_like(hs[1:])  # the gradient at the state after step t, everything later included
    du = torch.empty_like(us)
    delta = grad[T]
    for t in range(T - 1, -1, -1):
        deltas[t] = delta
        if S == 1:
            torch.mul(p_u[t, :, 0], delta.unsqueeze(1), out=du[t].view(B, G, H))
            delta = torch.addmm(torch.addcmul(grad[t], p_h[t, :, 0, 0], delta), du[t], U)
        else:
            delta = delta.view(B, S, 1, H)
            torch.sum(p_u[t] * delta, 1, out=du[t].view(B, G, H))
            delta = grad[t] + (p_h[t] * delta).sum(1).view(B, S * H)
            delta[:, cell.output] += du[t] @ U
    deltas = deltas.view(T, B, S, 1, H)
    dd = du if p_d is p_u else (p_d * deltas).sum(2).view(T, B, G * H)
    dU = du.view(T * B, G * H).t() @ hs[:-1, :, cell.output].reshape(T * B, H)
    return dd, delta, dU, du.sum((0, 1))


def _no_autocast(device: str) -> AbstractContextManager[Any]:
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()
