"""Root finding for h = F(h) from many starts at once: relaxation, Newton with matrix-free GMRES, damped dense Newton.

Every solver takes states (K, N) and works on all of them in step; a state that is done is set aside and costs nothing
more. q is ½‖h − F(h)‖². None returns a state with a larger q than it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from rnnlens.dynamics.jacobians import Linearisation, linearise
from rnnlens.networks import Cell, Network

Product = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Problem:
    """F(·, e) of a network, for states (K, N) with inputs e (D,) or (K, D), within bounds low ≤ h ≤ high (N,)."""

    network: Network
    e: Tensor
    low: Tensor
    high: Tensor

    def take(self, rows: Tensor) -> Problem:
        """The problem of some of the states."""
        return self if self.e.ndim == 1 else replace(self, e=self.e[rows])

    @cached_property
    def _drive(self) -> Tensor:
        """The input never changes, so its product with the weights is taken once."""
        return self.network.cell.drive(self.e).detach()

    @torch.no_grad()
    def residual(self, h: Tensor) -> Tensor:
        """g = F(h) − h, (K, N)."""
        cell = self.network.cell
        if isinstance(cell, Cell):
            return cell.combine(h, self._drive, cell.recur(h)).sub_(h)
        return self.network.step(h, self.e.expand(*h.shape[:-1], -1)) - h

    def linearise(self, h: Tensor) -> Linearisation:
        return linearise(self.network, h, self.e)

    def unbounded(self) -> Problem:
        """The same, free to pass through states that the network cannot be in."""
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
    """States so far and what is known of them: h (K, N), residual g (K, N), q (K,), iterations (K,)."""

    h: Tensor
    g: Tensor
    q: Tensor
    iterations: Tensor

    @classmethod
    def begin(cls, problem: Problem, h: Tensor) -> Search:
        g = problem.residual(h)
        return cls(h, g, energy(g), torch.zeros(len(h), dtype=torch.long, device=h.device))

    def put(self, rows: Tensor, h: Tensor, g: Tensor, q: Tensor) -> None:
        """Take over better states; the others stay."""
        better = q < self.q[rows]
        rows = rows[better]
        self.h[rows], self.g[rows], self.q[rows] = h[better], g[better], q[better]


def relax(problem: Problem, search: Search, tolerance: float, steps: int, window: int = 6, rest: float = 0.9) -> None:
    """Run the network itself, h ← F(h), until its transients are over: the residual falls by less than 1 − `rest` in
    `window` steps. What is left then is slow drift, which running on would not end."""
    rows = torch.nonzero(search.q > tolerance).squeeze(1)
    h, g, here = search.h[rows], search.g[rows], problem.take(rows)
    before = search.q[rows]
    for step in range(1, steps + 1):
        if not len(rows):
            return
        h = h + g
        g = here.residual(h)
        search.iterations[rows] += 1
        if step % window == 0 or step == steps:
            q = energy(g)
            search.put(rows, h, g, q)
            go_on = (q > tolerance) & (q < rest**2 * before)
            if not go_on.all():
                rows, h, g, here, q = rows[go_on], h[go_on], g[go_on], here.take(go_on), q[go_on]
            before = q


def newton_krylov(
    problem: Problem, search: Search, tolerance: float, steps: int = 30, inner: int = 8, below: float = torch.inf
) -> None:
    """Newton's method: (I − J) δ = g by GMRES through products J v alone, with neighbours' inverses to precondition.
    A step that does not reduce q is halved; a state that no step improves, or whose q has not halved in five, is left:
    it has met a minimum of q that is no fixed point. States with q ≥ `below` are not taken up at all."""
    rows = torch.nonzero((search.q > tolerance) & (search.q < below)).squeeze(1)
    if not len(rows):
        return
    neighbours = Neighbours.of(problem.take(rows), search.h[rows])
    landmark, lengths = search.q.clone(), torch.ones_like(search.q)
    for step in range(1, steps + 1):
        order, precondition = neighbours.arrange(search.h[rows])
        rows = rows[order]
        h, g, q, here = search.h[rows], search.g[rows], search.q[rows], problem.take(rows)
        J = here.linearise(h).rec

        def product(v: Tensor, J: Product = J, precondition: Product = precondition) -> Tensor:
            v = precondition(v)
            return v - J(v)

        delta = precondition(gmres(product, g, inner, 0.1))
        taken = _line_search(here, search, rows, h, delta, q, lengths[rows])
        lengths[rows] = (4 * taken).clamp(max=1)  # where a step had to be short, the next is not tried at full length
        go_on = (taken > 0) & (search.q[rows] > tolerance)
        search.iterations[rows] += 1
        if step % 5 == 0:
            go_on &= search.q[rows] < 0.5 * landmark[rows]
            landmark[rows] = search.q[rows]
        rows = rows[go_on]
        if not len(rows):
            return


@dataclass(frozen=True)
class Neighbours:
    """(I − J)⁻¹ at a few of the states, (C, N) and (C, N, N): states nearby have nearly the same Jacobian, so that
    a handful of inverses serves thousands of starts, and GMRES needs a few products instead of dozens."""

    centres: Tensor
    inverses: Tensor

    @classmethod
    def of(cls, problem: Problem, h: Tensor, most: int = 32, share: int = 32) -> Neighbours:
        count = max(1, min(most, len(h) // share))
        order = torch.argsort(problem.network.logit(h).detach())
        picked = order[torch.linspace(0, len(h) - 1, count, device=h.device).long()]
        there, centres = problem.take(picked), h[picked]
        A = -there.linearise(centres).J_rec()
        A.diagonal(dim1=1, dim2=2).add_(1 + 1e-6)  # an exact line attractor's I − J has no inverse
        inverses = one_by_one(lambda a: torch.linalg.inv_ex(a)[0], A)
        broken = ~torch.isfinite(inverses).flatten(1).all(1)
        inverses[broken] = torch.eye(h.shape[1], dtype=h.dtype, device=h.device)
        return cls(centres, inverses)

    def arrange(self, h: Tensor) -> tuple[Tensor, Product]:
        """An order of the states in which those of one centre stand together, and the product with their inverses."""
        nearest = torch.cdist(h, self.centres).argmin(1)
        order = torch.argsort(nearest, stable=True)
        counts = torch.bincount(nearest, minlength=len(self.centres)).tolist()

        def product(v: Tensor) -> Tensor:
            parts = v.split(counts)
            return torch.cat([part @ inverse.t() for part, inverse in zip(parts, self.inverses, strict=True)])

        return order, product


def newton_dense(problem: Problem, search: Search, tolerance: float, steps: int = 100, memory: int = 2**28) -> None:
    """Newton's method with the whole matrix I − J, and Levenberg's damping where Newton's own step does not help.
    A state whose q has not halved in ten steps is given up: it has met a minimum of q that is no fixed point."""
    N = search.h.shape[1]
    for some in torch.nonzero(search.q > tolerance).squeeze(1).split(max(1, memory // (8 * N * N))):
        damping, landmark = torch.zeros_like(search.q[some]), search.q[some]
        for step in range(1, steps + 1):
            if not len(some):
                break
            h, g, q, here = search.h[some], search.g[some], search.q[some], problem.take(some)
            A = -here.linearise(h).J_rec()
            A.diagonal(dim1=1, dim2=2).add_(1)
            moved = _line_search(here, search, some, h, _solve(A, g, damping), q, torch.ones_like(q), halvings=10) > 0
            search.iterations[some] += 1
            # A state that did not move is damped more, up to plain descent; one that did is damped less.
            damping = torch.where(moved, damping * 0.1 * (damping > 1e-8), (damping * 10).clamp(min=1e-6))
            go_on = search.q[some] > tolerance
            if step % 10 == 0:
                go_on &= search.q[some] < 0.5 * landmark
                landmark = search.q[some]
            some, damping, landmark = some[go_on], damping[go_on], landmark[go_on]


def _solve(A: Tensor, g: Tensor, damping: Tensor) -> Tensor:
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
    """A function of matrices over batches of them: together on a GPU, one after another on the CPU, where torch's
    batched LU hangs with several threads (oneMKL: "Parameter 6 was incorrect on entry to SLASWP") and is no faster."""
    if batches[0].is_cuda or len(batches[0]) == 0:
        return function(*batches)
    return torch.stack([function(*items) for items in zip(*batches, strict=True)])


def _line_search(
    problem: Problem,
    search: Search,
    rows: Tensor,
    h: Tensor,
    delta: Tensor,
    q: Tensor,
    lengths: Tensor,
    halvings: int = 8,
) -> Tensor:
    """Try h + ℓδ from the given lengths ℓ (K,) on, halved until q falls; returns the length taken, 0 for none, (K,)."""
    taken = torch.zeros_like(q)
    todo = torch.arange(len(rows), device=h.device)
    for _ in range(halvings):
        here, length = problem.take(todo), lengths[todo]
        trial = here.clip(torch.addcmul(h[todo], length.unsqueeze(1), delta[todo]))
        g = here.residual(trial)
        new = energy(g)
        good = new < q[todo] * (1 - 1e-4 * length)  # false for NaN
        search.put(rows[todo[good]], trial[good], g[good], new[good])
        taken[todo[good]] = length[good]
        todo = todo[~good]
        if not len(todo):
            break
        lengths = lengths / 2
    return taken


def gmres(product: Product, b: Tensor, inner: int, tolerance: float) -> Tensor:
    """x (K, N) of A x = b for K systems at once, from products A v alone: one cycle of GMRES, at most `inner` products,
    ended when nearly all residuals are below `tolerance` times their b."""
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
        # A few hard systems among many easy ones are not waited for: their steps are checked like all others.
        if float((y[used].abs() <= tolerance * norm).float().mean()) >= 0.95:
            break
    x = y[:used].clone()
    for i in range(used - 1, -1, -1):  # back substitution
        x[i] = (x[i] - (R[i, i + 1 : used] * x[i + 1 : used]).sum(0)) / R[i, i]
    return torch.bmm(x.t().unsqueeze(1), V[:, :used]).squeeze(1)


def gauss_newton(problem: Problem, search: Search, rows: Tensor, steps: int = 20, inner: int = 6) -> None:
    """Reduce q without sliding along slow directions: Gauss-Newton steps, cut short after a few conjugate gradients,
    which see the fast directions first. For states that running the network does not bring to rest."""
    for _ in range(steps):
        if not len(rows):
            return
        h, g, q, here = search.h[rows], search.g[rows], search.q[rows], problem.take(rows)
        there = here.linearise(h)
        delta = least_squares(there, g, inner)
        _line_search(here, search, rows, h, delta, q, torch.ones_like(q))
        search.iterations[rows] += 1
        rows = rows[search.q[rows] < 0.5 * q]


def least_squares(J: Linearisation, b: Tensor, steps: int) -> Tensor:
    """x (K, N) that reduces ‖(I − J) x − b‖ for K systems at once: some conjugate gradients on the normal equations."""
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
