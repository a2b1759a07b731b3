"""A network whose state is projected out of a subspace, at the start and after every step (§5.3.4)."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError
from rnnlens.networks.cells import Cell
from rnnlens.networks.network import Network
from rnnlens.networks.scan import no_autocast, repeat, step_by_step, wants_gradient


class Projected(nn.Module):
    """h' = P F(h, e), with P h = h − Vᵀ(V h − at): the coordinates along the orthonormal rows of V stay at `at`.

    V (R, N), at (R,). Wraps any cell, which is not changed.
    """

    V: Tensor
    at: Tensor

    def __init__(self, cell: Any, V: Tensor, at: Tensor):
        super().__init__()
        self.cell = cell
        self.register_buffer("V", V.detach().clone())
        self.register_buffer("at", at.detach().clone())

    @property
    def size(self) -> int:
        return self.cell.size

    @property
    def inputs(self) -> int:
        return self.cell.inputs

    @property
    def output(self) -> slice:
        return self.cell.output

    def project(self, h: Tensor) -> Tensor:
        if h.ndim == 2:
            return torch.addmm(h, h @ self.V.t() - self.at, self.V, alpha=-1)
        return h - (h @ self.V.t() - self.at) @ self.V

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        return self.project(self.cell.step(h, e))

    def sequence(self, e: Tensor, h0: Tensor) -> Tensor:
        """All states (B, T+1, N), h0 first (projected too)."""
        h0, cell = self.project(h0), self.cell
        if wants_gradient(e, h0, *cell.parameters()):
            return step_by_step(self.step, e, h0)
        e = e.transpose(0, 1)
        if not isinstance(cell, Cell):
            return repeat(self.step, (e,), h0, record=False).transpose(0, 1)
        d = cell.drive(e).to(cell.U.dtype)
        with no_autocast(e.device.type):  # as in `scan`, since errors add up
            return repeat(lambda h, d: self.project(cell.combine(h, d, cell.recur(h))), (d,), h0).transpose(0, 1)

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        return self.sequence(e, h0)[:, 1:, self.output]


def projected(network: Network, V: Tensor, at: Tensor) -> Network:
    """A new network with the same weights whose state, from the start on, has the coordinates `at` (R,) along the
    orthonormal rows of V (R, N)."""
    if V.ndim != 2 or V.shape[1] != network.size or not len(V):
        raise RnnlensError(
            f"the subspace has shape {tuple(V.shape)}: expected (R, {network.size}) with R of at least 1"
        )
    gram = V.double() @ V.double().t()
    if (gram - torch.eye(len(V), dtype=gram.dtype, device=gram.device)).abs().max() > 1e-4:
        raise RnnlensError("the rows of the subspace are not orthonormal: pass them through torch.linalg.qr first")
    inner = copy.deepcopy(network.cell)  # a copy: freezing or moving it does not change the original
    cell = Projected(inner, V.to(network.h0), at.to(network.h0))
    h0 = cell.project(network.h0.detach().unsqueeze(0))[0]
    return network.with_parts(cell, h0, f"{network.arch}, projected").requires_grad_(False)
