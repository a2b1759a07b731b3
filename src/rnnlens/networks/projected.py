"""A network whose state is projected out of a subspace, at the start and after every step (§5.3.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from rnnlens.networks.cells import Step
from rnnlens.networks.network import Network
from rnnlens.networks.wrapped import Wrapped, add_product, check_rows, stacked, with_cell


class Projected(Wrapped):
    """h' = P F(h, e), with P h = h − Vᵀ(V h − at): the coordinates along the orthonormal rows of V stay at `at`.

    V (R, N), at (R,), or (K, R, N) and (K, R). Wraps any cell, which is not changed.
    """

    at: Tensor

    def __init__(self, cell: Any, V: Tensor, at: Tensor):
        super().__init__(cell, V)
        self.register_buffer("at", at.detach().clone())

    @classmethod
    def stack(cls, cells: Sequence[Projected]) -> Projected:
        return cls(cells[0].cell, stacked([one.V for one in cells]), stacked([one.at for one in cells]))

    def start(self, h0: Tensor) -> Tensor:
        return self.project(h0)

    def project(self, h: Tensor) -> Tensor:
        V, at = self.V, self.at
        if h.ndim == 2:
            return torch.addmm(h, torch.addmm(at, h, V.t(), alpha=-1), V)
        return add_product(h, (at if V.ndim == 2 else at.unsqueeze(1)) - h @ V.mT, V)

    def changed(self, F: Callable[[Tensor, Tensor], Tensor], h: Tensor, e: Tensor) -> Tensor:
        return self.project(F(h, e))

    def quick_step(self) -> Step:
        F, V, rows, at = self.cell.quick_step(), self.V, self.V.t(), self.at

        def step(h: Tensor, e: Tensor) -> Tensor:
            h = F(h, e)
            return torch.addmm(h, torch.addmm(at, h, rows, alpha=-1), V)

        return step

    def advance(self, h: Tensor, d: Tensor) -> Tensor:
        return self.project(self.cell.advance(h, d))


def projected(network: Network, V: Tensor, at: Tensor) -> Network:
    """A new network with the same weights whose state, from the start on, has the coordinates `at` (R,) along the
    orthonormal rows of V (R, N)."""
    check_rows(V, network.size)
    V, at = V.to(network.h0), at.to(network.h0)
    return with_cell(network, lambda cell: Projected(cell, V, at), "projected")
