"""Linear systems of many states at once: GMRES and least squares from products alone, and damped dense systems."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from rnnlens.dynamics.jacobians import Linearisation

Product = Callable[[Tensor], Tensor]


def gmres(product: Product, b: Tensor, inner: int, tolerance: float) -> Tensor:
    """Solve A x = b for K systems (K, N) at once from products A v alone: one cycle of GMRES with at most `inner`
    products, which ends when 95 % of the residuals are below `tolerance`·‖b‖."""
    K, N = b.shape
    V = b.new_empty(K, inner + 1, N)
    R, y = b.new_zeros(inner, inner, K), b.new_zeros(inner + 1, K)  # H made triangular by rotations; right-hand side
    cos, sin = b.new_empty(inner, K), b.new_empty(inner, K)
    norm = b.norm(dim=1)
    tiny = torch.finfo(b.dtype).tiny
    V[:, 0] = b / norm.clamp(min=tiny).unsqueeze(1)
    y[0] = norm
    used = 0
    for j in range(inner):
        w = product(V[:, j]).unsqueeze(2)
        basis = V[:, : j + 1]
        along = torch.bmm(basis, w)
        w = torch.baddbmm(w, basis.mT, along, alpha=-1).squeeze(2)
        length = w.norm(dim=1)
        torch.div(w, length.clamp(min=tiny).unsqueeze(1), out=V[:, j + 1])
        column = [*along.squeeze(2).unbind(1), length]
        for i in range(j):  # earlier rotations, then the one that clears this column's last entry
            column[i], column[i + 1] = (
                cos[i] * column[i] + sin[i] * column[i + 1],
                cos[i] * column[i + 1] - sin[i] * column[i],
            )
        whole = torch.hypot(column[j], column[j + 1]).clamp(min=tiny)
        cos[j], sin[j] = column[j] / whole, column[j + 1] / whole
        for i in range(j):
            R[i, j] = column[i]
        R[j, j] = whole
        y[j], y[j + 1] = cos[j] * y[j], -sin[j] * y[j]
        used = j + 1
        # Do not wait for the hardest 5 %: the line search checks their steps like all others.
        if float((y[used].abs() <= tolerance * norm).float().mean()) >= 0.95:
            break
    x = y[:used].clone()
    for i in range(used - 1, -1, -1):  # back substitution
        x[i] = (x[i] - (R[i, i + 1 : used] * x[i + 1 : used]).sum(0)) / R[i, i]
    return torch.bmm(x.t().unsqueeze(1), V[:, :used]).squeeze(1)


def least_squares(J: Linearisation, b: Tensor, steps: int) -> Tensor:
    """x (K, N) that reduces ‖(I − J) x − b‖ for K systems at once: a few conjugate gradient steps (CGLS)."""
    tiny = torch.finfo(b.dtype).tiny
    x, r = torch.zeros_like(b), b
    s = r - J.rec_T(r)
    p, size = s, s.square().sum(1, keepdim=True)
    for _ in range(steps):
        Ap = p - J.rec(p)
        along = size / Ap.square().sum(1, keepdim=True).clamp(min=tiny)
        x, r = x + along * p, r - along * Ap
        s, before = r - J.rec_T(r), size
        size = s.square().sum(1, keepdim=True)
        p = s + (size / before.clamp(min=tiny)) * p
    return x


def solve_damped(A: Tensor, g: Tensor, damping: Tensor) -> Tensor:
    """δ of A δ = g, or of (AᵀA + damping·I) δ = Aᵀg where damping > 0 or A is singular."""
    delta = one_by_one(lambda a, b: torch.linalg.solve_ex(a, b)[0], A, g)
    damped = (damping > 0) | ~torch.isfinite(delta).all(-1)
    if damped.any():
        A, g = A[damped], g[damped]
        square, right = A.mT @ A, (A.mT @ g.unsqueeze(-1)).squeeze(-1)
        square.diagonal(dim1=1, dim2=2).add_(damping[damped].clamp(min=1e-12).unsqueeze(1))
        delta[damped] = one_by_one(lambda a, b: torch.linalg.solve_ex(a, b)[0], square, right)
    return delta


def one_by_one(function: Callable[..., Tensor], *batches: Tensor) -> Tensor:
    """Apply a function to batches of matrices: all at once on a GPU, one after another on the CPU, where torch's
    batched LU hangs with several threads (oneMKL: "Parameter 6 was incorrect on entry to SLASWP") and is no faster."""
    if batches[0].is_cuda or len(batches[0]) == 0:
        return function(*batches)
    return torch.stack([function(*items) for items in zip(*batches, strict=True)])
