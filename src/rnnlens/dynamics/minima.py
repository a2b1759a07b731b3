"""Minima of q = ½‖h − F(h)‖² that are no fixed points: where a search that minimizes q must end.

On a slow manifold without a fixed point nearby, q has a minimum above 0. `certified` checks one exactly, with the
gradient and the Hessian of q by autograd in float64.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rnnlens.dynamics.problem import Problem, Search, energy
from rnnlens.networks import Network

ENOUGH = 1e-4  # share of q by which a further step would lower it, at most


def minimize(problem: Problem, search: Search, tolerance: float, steps: int = 200, memory: int = 2**27) -> None:
    """Minimize q from each state by the method of Levenberg and Marquardt, with whole matrices: until q ≤ tolerance, or
    until a step would lower q by less than a hundredth of `ENOUGH`."""
    N = search.h.shape[1]
    for rows in torch.nonzero(search.q > tolerance).squeeze(1).split(max(1, memory // (8 * N * N))):
        damping = torch.full_like(search.q[rows], 1e-3)
        for _ in range(steps):
            if not len(rows):
                break
            h, g, q, here = search.h[rows], search.g[rows], search.q[rows], problem.take(rows)
            A = -here.linearise(h).J_rec()
            A.diagonal(dim1=1, dim2=2).add_(1)
            square, slope = A.mT @ A, (A.mT @ g.unsqueeze(-1)).squeeze(-1)
            size = square.diagonal(dim1=1, dim2=2).mean(1)
            square.diagonal(dim1=1, dim2=2).add_((damping * size).unsqueeze(1))
            factor = torch.linalg.cholesky_ex(square)[0]
            delta = torch.cholesky_solve(slope.unsqueeze(-1), factor).squeeze(-1)
            trial = here.clip(h + delta)
            new_g = here.residual(trial)
            new_q = energy(new_g)
            gain = (q - new_q) / (0.5 * (delta * slope).sum(1)).clamp(min=torch.finfo(q.dtype).tiny)
            damping = torch.where(
                gain > 0.5, damping / 5, torch.where(gain > 0.1, damping, 4 * damping.clamp(min=1e-9))
            )
            search.put(rows, trial, new_g, new_q)
            search.iterations[rows] += 1
            promising = (delta * slope).sum(1) > 0.01 * ENOUGH * q
            go_on = (search.q[rows] > tolerance) & promising & (damping < 1e9)
            rows, damping = rows[go_on], damping[go_on]


def certified(network: Network, h: Tensor, e: Tensor) -> bool:
    """Whether q has a minimum at h (N,), with the constant input e (D,): its Hessian is positive definite, and Newton's
    step on q would lower it by less than `ENOUGH` of its value."""

    def q(h: Tensor) -> Tensor:
        return energy(network.step(h.unsqueeze(0), e.unsqueeze(0))[0] - h)

    h = h.detach().clone()
    hessian = torch.autograd.functional.hessian(q, h)
    slope = torch.autograd.functional.jacobian(q, h)
    factor, failed = torch.linalg.cholesky_ex(hessian)
    if bool(failed):
        return False
    step = torch.cholesky_solve(slope.unsqueeze(1), factor).squeeze(1)
    return bool(0.5 * (step @ slope) <= ENOUGH * q(h))
