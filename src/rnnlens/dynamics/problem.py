"""What the solvers of h = F(h) share: F at a held input, the states of a search, and the choice of a step's length."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from rnnlens.dynamics.jacobians import Linearisation, linearise
from rnnlens.networks import Cell, Network


@dataclass(frozen=True)
class Problem:
    """F(·, e) of a network, for states (K, N) with inputs e (D,) or (K, D), within bounds low ≤ h ≤ high (N,)."""

    network: Network
    e: Tensor
    low: Tensor
    high: Tensor

    def take(self, rows: Tensor) -> Problem:
        """The problem for the states with the given rows."""
        return self if self.e.ndim == 1 else replace(self, e=self.e[rows])

    @cached_property
    def _drive(self) -> Tensor:
        """The product of the constant input with the weights, computed once."""
        return self.network.cell.drive(self.e).detach()

    @torch.no_grad()
    def residual(self, h: Tensor) -> Tensor:
        """g = F(h) − h, (K, N)."""
        cell = self.network.cell
        if isinstance(cell, Cell):
            return cell.combine(h, self._drive, cell.recur(h)).sub_(h)
        return self.network.step(h, self.e) - h

    def linearise(self, h: Tensor) -> Linearisation:
        return linearise(self.network, h, self.e)

    def unbounded(self) -> Problem:
        """The same problem without bounds, so that iterations may pass through states that the network cannot reach."""
        return replace(self, low=torch.full_like(self.low, -torch.inf), high=torch.full_like(self.high, torch.inf))

    def inside(self, h: Tensor) -> Tensor:
        """Which states lie within the bounds, (K,)."""
        return ((h >= self.low) & (h <= self.high)).all(-1)

    def clip(self, h: Tensor) -> Tensor:
        return torch.minimum(torch.maximum(h, self.low), self.high)


def energy(g: Tensor) -> Tensor:
    """q = ½‖g‖², (K,)."""
    return 0.5 * g.square().sum(-1)


@dataclass
class Search:
    """The current states h (K, N) with their residual g (K, N), q (K,) and number of iterations (K,)."""

    h: Tensor
    g: Tensor
    q: Tensor
    iterations: Tensor

    @classmethod
    def begin(cls, problem: Problem, h: Tensor) -> Search:
        g = problem.residual(h)
        return cls(h, g, energy(g), torch.zeros(len(h), dtype=torch.long, device=h.device))

    def put(self, rows: Tensor, h: Tensor, g: Tensor, q: Tensor) -> None:
        """Replace states by new ones that have a smaller q."""
        better = q < self.q[rows]
        rows = rows[better]
        self.h[rows], self.g[rows], self.q[rows] = h[better], g[better], q[better]


def line_search(
    problem: Problem,
    search: Search,
    rows: Tensor,
    h: Tensor,
    delta: Tensor,
    q: Tensor,
    lengths: Tensor,
    halvings: int = 8,
) -> Tensor:
    """Try h + ℓδ, starting from the given lengths ℓ (K,) and halving until q falls; returns the ℓ taken, 0 if none,
    (K,)."""
    taken = torch.zeros_like(q)
    pending = torch.arange(len(rows), device=h.device)
    for _ in range(halvings):
        here, length = problem.take(pending), lengths[pending]
        trial = here.clip(torch.addcmul(h[pending], length.unsqueeze(1), delta[pending]))
        g = here.residual(trial)
        new = energy(g)
        good = new < q[pending] * (1 - 1e-4 * length)  # false for NaN
        search.put(rows[pending[good]], trial[good], g[good], new[good])
        taken[pending[good]] = length[good]
        pending = pending[~good]
        if not len(pending):
            break
        lengths = lengths / 2
    return taken
