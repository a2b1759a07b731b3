"""A network whose words write more, or less, into a subspace of the state."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rnnlens.common.ranges import in_range
from rnnlens.networks.network import Network
from rnnlens.networks.wrapped import Wrapped, check_rows, with_cell


class Steered(Wrapped):
    """h' = F(h, e) + (gain − 1) Vᵀ V [F(h, e) − F(h, 0)]: what an input adds to the state beyond a blank input is
    multiplied by `gain` along the orthonormal rows of V (R, N).

    What is already in the state is not scaled: that would compound from step to step. Blank inputs are read as before,
    so slow points and the line are those of the wrapped cell.
    """

    def __init__(self, cell: Any, V: Tensor, gain: float):
        super().__init__(cell, V)
        self.gain = gain

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        new = self.cell.step(h, e)
        if self.gain == 1:
            return new
        written = new - self.cell.step(h, torch.zeros_like(e))
        return new + (self.gain - 1) * (written @ self.V.t()) @ self.V

    def advance(self, h: Tensor, d: Tensor) -> Tensor:
        cell, u = self.cell, self.cell.recur(h)
        new = cell.combine(h, d, u)
        written = new - cell.combine(h, cell.b, u)  # the drive of a blank input is the bias
        return torch.addmm(new, written @ self.V.t(), self.V, alpha=self.gain - 1)

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
