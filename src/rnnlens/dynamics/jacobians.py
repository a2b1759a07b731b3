"""First-order expansions of the step function (eqs. 1-3): J_rec = ∂F/∂h, J_inp = ∂F/∂e, and products with them.

For the four cells h' = φ(h, d, u) the derivatives of φ are elementwise, so with p = ∂φ

    J_rec = diag(p_h) + Σ_g diag(p_u^g) U_g        J_inp = Σ_g diag(p_d^g) W_g

and a batch of products with vectors costs one matrix product. Layers of cells follow by the chain rule; other networks
are differentiated by torch.
The paper's x is a one-hot word, e = E x. Its input Jacobian J_inp E, N × W, is never formed: see `features`.

Shapes: N flat state, H units, D embedding, W words, G gates, S blocks of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, cast

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.dynamics.attached import check_attached
from rnnlens.dynamics.inputs import check_inputs, check_states
from rnnlens.networks import Cell, Network
from rnnlens.networks.given import said
from rnnlens.networks.onednn import linear
from rnnlens.networks.stack import Stack


@in_range()
def jacobians(network: Network, h: Tensor, e: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """J_rec (..., N, N) and J_inp (..., N, D) at states h (..., N) and embedded inputs e (..., D), zero if None."""
    here = linearise(network, h, e)
    return here.J_rec(), here.J_inp()


class Linearisation(Protocol):
    """The Jacobians of F at (h, e), over leading dimensions, and products with them that do not form them."""

    def J_rec(self) -> Tensor:
        """∂F/∂h, (..., N, N)."""

    def J_inp(self) -> Tensor:
        """∂F/∂e, (..., N, D)."""

    def rec(self, v: Tensor) -> Tensor:
        """J_rec v for v (..., N)."""

    def inp(self, v: Tensor) -> Tensor:
        """J_inp v for v (..., D) → (..., N)."""

    def rec_T(self, v: Tensor) -> Tensor:
        """J_recᵀ v for v (..., N)."""

    def inp_T(self, v: Tensor) -> Tensor:
        """J_inpᵀ v for v (..., N) → (..., D)."""


def linearise(network: Network, h: Tensor, e: Tensor | None = None, u: Tensor | None = None) -> Linearisation:
    """The linearization of a network's step at h (..., N) and e (..., D). u: `recurrent_input` of h, if it is known."""
    check_states(network, h=h)
    check_inputs(network, e=e)
    with torch.no_grad():
        if e is None:
            e = h.new_zeros(network.inputs)
        try:
            lead = torch.broadcast_shapes(h.shape[:-1], e.shape[:-1])
        except RuntimeError as error:
            raise RnnlensError(
                f"h has shape {tuple(h.shape)} and e {tuple(e.shape)}: expected one input, or one for each state"
            ) from error
        h = h.expand(*lead, network.size)
        if isinstance(network.cell, Cell):
            cell = network.cell
            u = cell.recur(h) if u is None else u
            return CellLinearisation(cell, *cell.partials(h, cell.drive(e).expand(*lead, -1), u))
        if isinstance(network.cell, Stack) and network.cell.of_cells:
            return _of_layers(network.cell, h, e)
        if getattr(network.cell, "depth", 0) == 1:
            return DiagonalLinearisation(network, h, e.expand(*lead, network.inputs))
        with _differentiated():
            check_attached(network)
        return StepLinearisation(network, h, e.expand(*lead, network.inputs))


def _of_layers(stack: Stack, h: Tensor, e: Tensor) -> StackLinearisation:
    """The linearization of layers of cells at h (..., N) and e, whose leading dimensions broadcast to those of h."""
    layers = []
    for layer, part in zip(stack.layers, h.split(stack.sizes, -1), strict=True):
        cell = cast(Cell, layer)
        d, u = cell.drive(e).expand(*h.shape[:-1], -1), cell.recur(part)
        layers.append(CellLinearisation(cell, *cell.partials(part, d, u)))
        e = cell.combine(part, d, u)[..., cell.output]
    return StackLinearisation(stack.sizes, layers)


def recurrent_input(network: Network, h: Tensor) -> Tensor | None:
    """u = U h + c of a cell at states h (..., N), on which all of its steps and derivatives at h depend; the product
    takes most of their time in large networks. None for other step functions."""
    return network.cell.recur(h) if isinstance(network.cell, Cell) else None


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


@dataclass(frozen=True)
class StepLinearisation:
    """Jacobians of any step function, by torch. h (..., N) and e (..., D) have the same leading dimensions."""

    network: Network
    h: Tensor
    e: Tensor

    def J_rec(self) -> Tensor:
        return self._jacobian(0)

    def J_inp(self) -> Tensor:
        return self._jacobian(1)

    def _jacobian(self, argument: int) -> Tensor:
        # One vector-Jacobian product per row, for all points together: a batched step treats each point separately, so
        # the sum over points has the right gradient, and the user's code need not support vmap.
        points = [self.h.detach(), self.e.detach()]
        points[argument] = points[argument].clone().requires_grad_()
        with torch.enable_grad(), _differentiated():
            new = self.network.step(*points)
            if not new.requires_grad:  # it does not depend on this argument (`check_attached`)
                return new.new_zeros(*new.shape, points[argument].shape[-1])
            rows = [
                torch.autograd.grad(new[..., i].sum(), points[argument], retain_graph=True, materialize_grads=True)[0]
                for i in range(self.network.size)
            ]
        return torch.stack(rows, -2)

    def rec(self, v: Tensor) -> Tensor:
        return self._forward(0, v)

    def inp(self, v: Tensor) -> Tensor:
        return self._forward(1, v)

    def inp_of_many(self) -> Callable[[Tensor], Tensor]:
        """`inp` for many vectors, of which each takes less time: J_inpᵀ v is recorded once, as a function of v, and the
        derivative of this function is J_inp. It is `inp` itself if torch cannot differentiate the step twice."""
        e, generator = self.e.clone().requires_grad_(), torch.Generator().manual_seed(0)
        v, x = (torch.randn(like.shape[-1], generator=generator).to(like).expand_as(like) for like in (self.h, self.e))
        v = v.clone().requires_grad_()
        try:
            with torch.enable_grad():
                new = self.network.step(self.h.detach(), e)
                pulled = torch.autograd.grad(new, e, v, create_graph=True)[0]
            pushed = torch.autograd.grad(pulled, v, x, retain_graph=True)[0]
        except RuntimeError:
            return self.inp
        # What a backward pass of the user's own computes outside of torch is missing in its derivative: then vᵀ (J x)
        # is not (Jᵀ v)ᵀ x.
        off = (v * pushed).sum(-1) - (pulled * x).sum(-1)
        size = v.norm(dim=-1) * pushed.norm(dim=-1) + pulled.norm(dim=-1) * x.norm(dim=-1)
        if not bool((off.abs() <= 1e-3 * size).all()):
            return self.inp
        return lambda x: torch.autograd.grad(pulled, v, x.expand_as(pulled), retain_graph=True)[0]

    def _of(self, argument: int) -> tuple[Callable[[Tensor], Tensor], Tensor]:
        """The step as a function of h or e alone: the products of the other one have no derivative to compute."""
        h, e = self.h.contiguous(), self.e.contiguous()  # forward mode does not accept expanded tensors
        return (lambda e: self.network.step(h, e), e) if argument else (lambda h: self.network.step(h, e), h)

    def _forward(self, argument: int, v: Tensor) -> Tensor:
        step, point = self._of(argument)
        with _differentiated():
            return torch.func.jvp(step, (point,), (v.expand_as(point).contiguous(),))[1].detach()

    def rec_T(self, v: Tensor) -> Tensor:
        return self._backward(0, v)

    def inp_T(self, v: Tensor) -> Tensor:
        return self._backward(1, v)

    def _backward(self, argument: int, v: Tensor) -> Tensor:
        step, point = self._of(argument)
        with _differentiated():
            return torch.func.vjp(step, point)[1](v.expand_as(self.h))[0].detach()


class DiagonalLinearisation(StepLinearisation):
    """Jacobians of one layer of a linear recurrence without convolution: J_rec is diagonal."""

    @cached_property
    def slope(self) -> Tensor:
        with torch.no_grad():
            return self.network.cell.slope(self.h, self.e)

    def J_rec(self) -> Tensor:
        return torch.diag_embed(self.slope)

    def rec(self, v: Tensor) -> Tensor:
        return self.slope * v

    def rec_T(self, v: Tensor) -> Tensor:
        return self.slope * v


@contextmanager
def _differentiated() -> Iterator[None]:
    """Turn torch's errors about a step function without derivative into one line."""
    try:
        yield
    except RuntimeError as error:
        if any(words in str(error) for words in ("out of memory", "allocate memory")):
            raise
        raise RnnlensError(
            f"step(h, e) cannot be differentiated: {said(error)}; use torch operations on h and e throughout, without "
            ".detach(), .item(), torch.no_grad() or numpy"
        ) from error


# --- contractions with the words --------------------------------------------------------------------------------------


@torch.no_grad()
@in_range()
def word_effects(network: Network, h: Tensor, e: Tensor | None = None) -> Tensor:
    """wᵀ J_inp E, (..., W): the effect of each word as the next input on the logit, to first order."""
    embedding = embedding_of(network)
    here = linearise(network, h, e)
    return here.inp_T(readout_after(network, h, e)) @ embedding.t()


@torch.no_grad()
def readout_after(network: Network, h: Tensor, e: Tensor | None = None) -> Tensor:
    """∂logit/∂h (..., N) at the state after h (..., N) and input e, by which effects are read to first order: w, if the
    head is linear."""
    return network.readout_at(h if network.features is None else network.step(h, e))


def embedding_of(network: Network) -> Tensor:
    if network.E is None:
        raise RnnlensError("this network has no words: expected a network with word embeddings")
    return network.E.detach()
