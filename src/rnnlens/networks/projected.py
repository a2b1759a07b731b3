"""A network whose state is projected out of a subspace, at the start and after every step (§5.3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

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
        at = self.at if self.V.ndim == 2 else self.at.unsqueeze(1)
        return add_product(h, at - h @ self.V.mT, self.V)

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        return self.project(self.cell.step(h, e))

    def advance(self, h: Tensor, d: Tensor) -> Tensor:
        return self.project(self.cell.combine(h, d, self.cell.recur(h)))


def projected(network: Network, V: Tensor, at: Tensor) -> Network:
    """A new network with the same weights whose state, from the start on, has the coordinates `at` (R,) along the
    orthonormal rows of V (R, N)."""
    check_rows(V, network.size)
    V, at = V.to(network.h0), at.to(network.h0)
    return with_cell(network, lambda cell: Projected(cell, V, at), "projected")
