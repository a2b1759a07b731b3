"""A network whose words write more, or less, into a subspace of the state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.ranges import in_range
from rnnlens.networks.network import Network
from rnnlens.networks.wrapped import Wrapped, add_product, check_rows, stacked, with_cell


class Steered(Wrapped):
    """h' = F(h, e) + (gain − 1) Vᵀ V [F(h, e) − F(h, 0)]: what an input adds to the state beyond a blank input is
    multiplied by `gain` along the orthonormal rows of V (R, N).

    What is already in the state is not scaled: that would compound from step to step. Blank inputs are read as before,
    so slow points and the line are those of the wrapped cell.
    """

    write: Tensor

    def __init__(self, cell: Any, V: Tensor, gain: float, write: Tensor | None = None):
        """write: (gain − 1) V; given for several cells in one, whose gains differ."""
        super().__init__(cell, V)
        self.gain = gain
        self.register_buffer("write", (gain - 1) * self.V if write is None else write)

    @classmethod
    def stack(cls, cells: Sequence[Steered]) -> Steered:
        return cls(cells[0].cell, stacked([one.V for one in cells]), nan, stacked([one.write for one in cells]))

    def changed(self, F: Callable[[Tensor, Tensor], Tensor], h: Tensor, e: Tensor) -> Tensor:
        new = F(h, e)
        if self.gain == 1:
            return new
        return self._add(new, new - F(h, torch.zeros_like(e)))

    def advance(self, h: Tensor, d: Tensor) -> Tensor:
        cell, u = self.cell, self.cell.recur(h)
        new = cell.combine(h, d, u)
        return self._add(new, new - cell.combine(h, cell.b, u))  # the drive of a blank input is the bias

    def _add(self, new: Tensor, written: Tensor) -> Tensor:
        return add_product(new, written @ self.V.mT, self.write)

    def sequence(self, e: Tensor, h0: Tensor) -> Tensor:
        return self.cell.sequence(e, h0) if self.gain == 1 else super().sequence(e, h0)

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        return self.cell.outputs(e, h0) if self.gain == 1 else super().outputs(e, h0)

    def extra_repr(self) -> str:
        return f"gain={self.gain:g}"


@in_range("steer")
def steered(network: Network, V: Tensor, gain: float) -> Network:
    """A new network with the same weights in which words write `gain` times as much along the orthonormal rows of V
    (R, N)."""
    check_rows(V, network.size)
    V = V.to(network.h0)
    return with_cell(network, lambda cell: Steered(cell, V, gain), f"gain {gain:g}")
