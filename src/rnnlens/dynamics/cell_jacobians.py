"""Jacobians of cells in closed form, and of layers of cells by the chain rule.

For the four cells h' = φ(h, d, u) the derivatives of φ are elementwise, so with p = ∂φ

    J_rec = diag(p_h) + Σ_g diag(p_u^g) U_g        J_inp = Σ_g diag(p_d^g) W_g

and a batch of products with vectors costs one matrix product.

Shapes: N flat state, H units, D embedding, G gates, S blocks of the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from rnnlens.networks import Cell
from rnnlens.networks.onednn import linear
from rnnlens.networks.stack import Stack


@dataclass(frozen=True)
class CellLinearisation:
    """Jacobians of a cell in closed form. p_h (..., S, S, H), p_d and p_u (..., S, G, H): the cell's `partials`."""

    cell: Cell
    p_h: Tensor
    p_d: Tensor
    p_u: Tensor

    @torch.no_grad()
    def J_rec(self) -> Tensor:
        S, H = self.cell.blocks, self.cell.hidden
        J = _rows(self.p_u, self.cell.U).unsqueeze(-2)  # (..., S, H, 1, H): the recurrent input is the first block
        if S > 1:
            J = torch.cat([J, J.new_zeros(*J.shape[:-2], S - 1, H)], -2)
        J.diagonal(dim1=-3, dim2=-1).add_(self.p_h)  # (..., S, S, H): the diagonal of every block
        return J.reshape(*J.shape[:-4], S * H, S * H)

    @torch.no_grad()
    def J_inp(self) -> Tensor:
        return _rows(self.p_d, self.cell.W).flatten(-3, -2)

    @torch.no_grad()
    def rec(self, v: Tensor) -> Tensor:
        blocks = v.unflatten(-1, (self.cell.blocks, self.cell.hidden))
        new = _forward(self.p_u, linear(v[..., self.cell.output], self.cell.U))
        if self.cell.blocks == 1:
            return torch.addcmul(new, self.p_h[..., 0, 0, :], v)
        return new + (self.p_h * blocks.unsqueeze(-3)).sum(-2).flatten(-2)

    @torch.no_grad()
    def inp(self, v: Tensor) -> Tensor:
        return _forward(self.p_d, linear(v, self.cell.W))

    @torch.no_grad()
    def rec_T(self, v: Tensor) -> Tensor:
        blocks = v.unflatten(-1, (self.cell.blocks, self.cell.hidden))
        new = (self.p_h * blocks.unsqueeze(-2)).sum(-3).flatten(-2)
        new[..., self.cell.output] += linear(_backward(self.p_u, blocks), self.cell.U.t())
        return new

    @torch.no_grad()
    def inp_T(self, v: Tensor) -> Tensor:
        gates = _backward(self.p_d, v.unflatten(-1, (self.cell.blocks, self.cell.hidden)))
        return linear(gates, self.cell.W.t())


def _rows(p: Tensor, weight: Tensor) -> Tensor:
    """Σ_g diag(p^g) weight_g: (..., S, G, H) and (G·H, K) → (..., S, H, K)."""
    G, H = p.shape[-2:]
    gates, flat = weight.unflatten(0, (G, H)), p.reshape(-1, G, H)
    rows = p.new_empty(len(flat), H, weight.shape[1])
    # On a CPU, take a few points at a time, so that the sum over gates stays in its cache.
    block = max(1, len(flat) if p.is_cuda else 2**18 // max(1, rows[:1].numel()))
    for start in range(0, len(flat), block):
        target, part = rows[start : start + block], flat[start : start + block]
        torch.mul(part[:, 0, :, None], gates[0], out=target)
        for g in range(1, G):
            target.addcmul_(part[:, g, :, None], gates[g])
    return rows.view(*p.shape[:-2], H, weight.shape[1])


def _forward(p: Tensor, gates: Tensor) -> Tensor:
    """Σ_g p^g ∘ gates_g: (..., S, G, H) and (..., G·H) → (..., S·H)."""
    gates = gates.unflatten(-1, (p.shape[-2], p.shape[-1])).unsqueeze(-3)
    total = p[..., 0, :] * gates[..., 0, :]
    for g in range(1, p.shape[-2]):
        total.addcmul_(p[..., g, :], gates[..., g, :])
    return total.flatten(-2)


def _backward(p: Tensor, blocks: Tensor) -> Tensor:
    """Σ_s p^s ∘ v_s: (..., S, G, H) and (..., S, H) → (..., G·H)."""
    if p.shape[-3] == 1:
        return (p[..., 0, :, :] * blocks).flatten(-2)
    return (p * blocks.unsqueeze(-2)).sum(-3).flatten(-2)


@dataclass(frozen=True)
class StackLinearisation:
    """Jacobians of several layers of cells, from those of each layer: a layer's input is the output of the one below.

    sizes: of the layers' parts of the state."""

    sizes: list[int]
    layers: list[CellLinearisation]

    @torch.no_grad()
    def J_rec(self) -> Tensor:
        own = [layer.J_rec() for layer in self.layers]
        wide, start = own[0].new_zeros(*own[0].shape[:-2], 0, sum(self.sizes)), 0
        rows: list[Tensor] = []
        for layer, J, size in zip(self.layers, own, self.sizes, strict=True):
            wide = layer.J_inp() @ wide if rows else wide.new_zeros(*J.shape[:-1], wide.shape[-1])
            wide[..., start : start + size] += J
            rows.append(wide)
            wide, start = wide[..., layer.cell.output, :], start + size
        return torch.cat(rows, -2)

    @torch.no_grad()
    def J_inp(self) -> Tensor:
        rows: list[Tensor] = []
        below: Tensor | None = None
        for layer in self.layers:
            J = layer.J_inp()
            rows.append(J if below is None else J @ below)
            below = rows[-1][..., layer.cell.output, :]
        return torch.cat(rows, -2)

    @torch.no_grad()
    def rec(self, v: Tensor) -> Tensor:
        new: list[Tensor] = []
        below: Tensor | None = None
        for layer, part in zip(self.layers, v.split(self.sizes, -1), strict=True):
            own = layer.rec(part)
            new.append(own if below is None else own + layer.inp(below))
            below = new[-1][..., layer.cell.output]
        return torch.cat(new, -1)

    @torch.no_grad()
    def inp(self, v: Tensor) -> Tensor:
        new = []
        for layer in self.layers:
            new.append(layer.inp(v))
            v = new[-1][..., layer.cell.output]
        return torch.cat(new, -1)

    @torch.no_grad()
    def rec_T(self, v: Tensor) -> Tensor:
        pairs = zip(self.layers, self._at_outputs(v), strict=True)
        return torch.cat([layer.rec_T(part) for layer, part in pairs], -1)

    @torch.no_grad()
    def inp_T(self, v: Tensor) -> Tensor:
        return self.layers[0].inp_T(self._at_outputs(v)[0])

    def _at_outputs(self, v: Tensor) -> list[Tensor]:
        """The parts of v, with what comes back to the output of each layer from those above."""
        parts = list(v.split(self.sizes, -1))
        for k in reversed(range(1, len(parts))):
            back = self.layers[k].inp_T(parts[k])  # one vector v at many states gives one for each
            parts[k - 1] = parts[k - 1].expand(*back.shape[:-1], -1).clone()
            parts[k - 1][..., self.layers[k - 1].cell.output] += back
        return parts


def of_layers(stack: Stack, h: Tensor, e: Tensor) -> StackLinearisation:
    """The linearization of layers of cells at h (..., N) and e, whose leading dimensions broadcast to those of h."""
    layers = []
    for layer, part in zip(stack.layers, h.split(stack.sizes, -1), strict=True):
        cell = cast(Cell, layer)
        d, u = cell.drive(e).expand(*h.shape[:-1], -1), cell.recur(part)
        layers.append(CellLinearisation(cell, *cell.partials(part, d, u)))
        e = cell.combine(part, d, u)[..., cell.output]
    return StackLinearisation(stack.sizes, layers)
