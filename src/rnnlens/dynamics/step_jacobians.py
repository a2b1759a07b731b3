"""Jacobians of any step function by torch's automatic differentiation, and of one layer of a linear recurrence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError
from rnnlens.networks import Network
from rnnlens.networks.given import said


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
        with torch.enable_grad(), differentiated():
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
        with differentiated():
            return torch.func.jvp(step, (point,), (v.expand_as(point).contiguous(),))[1].detach()

    def rec_T(self, v: Tensor) -> Tensor:
        return self._backward(0, v)

    def inp_T(self, v: Tensor) -> Tensor:
        return self._backward(1, v)

    def _backward(self, argument: int, v: Tensor) -> Tensor:
        step, point = self._of(argument)
        with differentiated():
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
def differentiated() -> Iterator[None]:
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
