"""A cell around another cell that changes its steps in a subspace of the state; for `projected` and `steered`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError
from rnnlens.networks.cells import Cell, Step
from rnnlens.networks.network import Network
from rnnlens.networks.scan import no_autocast, repeat, step_by_step, wants_gradient


class Wrapped(nn.Module):
    """A cell with other steps. A subclass defines `changed`, the same from drives as `advance`, and may change the
    initial state in `start`. The wrapped cell is not changed.

    V (R, N): orthonormal rows; (K, R, N) of K cells in one (`stack`), whose states are (K, B, N).
    """

    V: Tensor

    def __init__(self, cell: Any, V: Tensor):
        super().__init__()
        self.cell = cell
        self.register_buffer("V", V.detach().clone())

    @classmethod
    def stack(cls, cells: Sequence[Self]) -> Self:
        """K cells around the same cell as one, for `networks.versions`."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        return self.cell.size

    @property
    def inputs(self) -> int:
        return self.cell.inputs

    @property
    def output(self) -> slice:
        return self.cell.output

    def start(self, h0: Tensor) -> Tensor:
        """The initial state (B, N) in place of h0."""
        return h0

    def changed(self, F: Callable[[Tensor, Tensor], Tensor], h: Tensor, e: Tensor) -> Tensor:
        """The next state in place of F(h, e)."""
        raise NotImplementedError

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        return self.changed(self.cell.step, h, e)

    def quick_step(self) -> Step:
        """`step` by torch's function, for states h (B, N) of one of our cells (`Cell.quick_step`)."""
        return partial(self.changed, self.cell.quick_step())

    def advance(self, h: Tensor, d: Tensor) -> Tensor:
        """`step` for states h (B, N) of one of our cells, from the drives d (B, G·H) of the inputs."""
        raise NotImplementedError

    def sequence(self, e: Tensor, h0: Tensor) -> Tensor:
        """All states (B, T+1, N), the initial one first."""
        h0, cell = self.start(h0), self.cell
        if wants_gradient(e, h0, *cell.parameters()):
            return step_by_step(self.step, e, h0)
        e = e.transpose(0, 1)
        if not isinstance(cell, Cell):
            return repeat(self.step, (e,), h0, record=False).transpose(0, 1)
        d = cell.drive(e).to(cell.U.dtype)
        with no_autocast(e.device.type):  # as in `scan`, since errors add up
            return repeat(self.advance, (d,), h0).transpose(0, 1)

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        return self.sequence(e, h0)[:, 1:, self.output]


def add_product(h: Tensor, a: Tensor, V: Tensor) -> Tensor:
    """h + a V for states h (..., N), coordinates a (..., R) and rows V (R, N), or (K, R, N) of K cells."""
    if h.ndim == 2:
        return torch.addmm(h, a, V)
    return torch.baddbmm(h, a, V) if V.ndim == 3 else h + a @ V


def stacked(rows: Sequence[Tensor]) -> Tensor:
    """Rows (R, ...) of K cells as one tensor (K, most R, ...), filled up with zeros, which change nothing."""
    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)


def check_rows(V: Tensor, size: int) -> None:
    """Refuse rows that do not span a subspace of states of this size, or are not orthonormal."""
    if V.ndim != 2 or V.shape[1] != size or not len(V):
        raise RnnlensError(f"the subspace has shape {tuple(V.shape)}: expected (R, {size}) with R of at least 1")
    gram = V.double() @ V.double().t()
    apart = (gram - torch.eye(len(V), dtype=gram.dtype, device=gram.device)).abs().max()
    if not bool(apart <= 1e-4):  # also for NaN
        raise RnnlensError("the rows of the subspace are not orthonormal: pass them through torch.linalg.qr first")


def with_cell(network: Network, wrap: Any, how: str) -> Network:
    """A new network with the same weights around the cell wrap(cell). how: a word for its kind."""
    cell = wrap(copy.deepcopy(network.cell))  # a copy: freezing or moving it does not change the original
    h0 = cell.start(network.h0.detach().unsqueeze(0))[0]
    return network.with_parts(cell, h0, f"{network.arch}, {how}").requires_grad_(False)
