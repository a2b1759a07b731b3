"""Exponential decay, fitted to many series at once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rnnlens.common.display import Shown
from rnnlens.common.errors import RnnlensError, quoted


@dataclass(frozen=True, eq=False, repr=False)
class ExponentialFit(Shown):
    """a·exp(−t/τ) + c for many series at once: tau, a, c, r2, each (...). τ is NaN where a series does not decay."""

    tau: Tensor
    a: Tensor
    c: Tensor
    r2: Tensor

    def at(self, t: Tensor) -> Tensor:
        """The fitted curves at times t (T,), (..., T)."""
        return self.a.unsqueeze(-1) * torch.exp(-t / self.tau.unsqueeze(-1)) + self.c.unsqueeze(-1)


@torch.no_grad()
def fit_exponential(y: Tensor, shortest: float = 0.2, longest: float | None = None, steps: int = 200) -> ExponentialFit:
    """Fit y(t) ≈ a·exp(−t/τ) + c to series (..., T) at t = 0 … T−1.

    For each τ of a fine logarithmic grid, a and c follow by linear regression; the τ with the best fit is kept. τ is
    NaN if it is the shortest or longest of the grid, if the fit explains less than half of the variance, or if less
    than half of the series decays (|a| ≤ |c|).
    """
    if not isinstance(y, Tensor) or not y.is_floating_point() or y.ndim < 1 or y.shape[-1] < 2:
        given = f"{y.dtype} of shape {tuple(y.shape)}" if isinstance(y, Tensor) else type(y).__name__
        raise RnnlensError(f"y is {quoted(given)}: expected real numbers (..., T), at least 2 in a series")
    T = y.shape[-1]
    if shortest >= (longest or T):
        until = f"the {T} steps of a series" if longest is None else f"longest, {longest}"
        raise RnnlensError(f"shortest is {shortest}: expected less than {until}")
    grid = torch.logspace(
        torch.log10(torch.tensor(shortest)), torch.log10(torch.tensor(longest or float(T))), steps, dtype=torch.float64
    ).to(y.device)
    t = torch.arange(T, dtype=torch.float64, device=y.device)
    basis = torch.exp(-t / grid.unsqueeze(1))
    centred = basis - basis.mean(1, keepdim=True)
    unit = centred / centred.norm(dim=1, keepdim=True)
    flat = y.double().reshape(-1, T)
    deviation = flat - flat.mean(1, keepdim=True)
    best = (deviation @ unit.t()).square().max(1)
    spread = deviation.square().sum(1)
    k = best.indices
    a = (deviation * centred[k]).sum(1) / centred[k].square().sum(1)
    c = flat.mean(1) - a * basis[k].mean(1)
    r2 = torch.where(spread > 0, best.values / spread.clamp(min=1e-300), torch.zeros_like(spread))
    falls = a.abs() > c.abs()  # most of a + c decays
    tau = torch.where((k > 0) & (k < steps - 1) & (r2 >= 0.5) & falls, grid[k], torch.nan)
    return ExponentialFit(*(x.reshape(y.shape[:-1]).to(y.dtype) for x in (tau, a, c, r2)))
