"""One scan for everything that has no fused kernel: UGRNN, adapted and perturbed networks.

For a cell h' = φ(h, d, u) the backward pass is written out. Autograd through a loop would take T small products for
the gradient of U and several graph nodes a step; here all partial derivatives of φ are computed at once, the loop
that is left has one product a step, and the gradient of U is a single product at the end.
"""

from __future__ import annotations

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
    dtype = cell.U.dtype
    with _no_autocast(e.device.type):
        # A function's context says which inputs need gradients even where none are taken: only here is it known.
        keep = torch.is_grad_enabled()
        states = _Scan.apply(drives.to(dtype), h0.to(dtype), cell.U, cell.c.to(dtype), cell, keep)
    return states.transpose(0, 1)


def step_by_step(step: Any, e: Tensor, h0: Tensor) -> Tensor:
    """The same for any step(h, e), left to autograd: the reference for the scan above."""
    states = [h0]
    for t in range(e.shape[1]):
        states.append(step(states[-1], e[:, t]))
    return torch.stack(states, 1)


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, d: Tensor, h0: Tensor, U: Tensor, c: Tensor, cell: Cell, keep: bool) -> Tensor:
        T, B, _ = d.shape
        hs = d.new_empty(T + 1, B, cell.size)
        keep = keep and any(ctx.needs_input_grad)  # for a backward pass: all recurrent inputs, else the last one
        us = torch.empty_like(d) if keep else d.new_empty(1, *d.shape[1:]).expand_as(d)
        hs[0] = h0
        U_t = U.t().contiguous()
        for t in range(T):
            torch.addmm(c, hs[t, :, cell.output], U_t, out=us[t])
            hs[t + 1] = cell.combine(hs[t], d[t], us[t])
        if keep:
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
            return *_backward(ctx.cell, grad, *ctx.saved_tensors), None, None


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
