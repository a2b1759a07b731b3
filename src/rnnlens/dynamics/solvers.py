"""Root finding for h = F(h) from many starts at once: relaxation, Newton with matrix-free GMRES, the drift along slow
manifolds, damped dense Newton.

Every solver takes states (K, N) and iterates all of them together; a state that has converged drops out of the
iteration. q is ½‖h − F(h)‖². No solver returns a state with a larger q than at its start.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rnnlens.dynamics.linear_solvers import Product, gmres, least_squares, one_by_one, solve_damped
from rnnlens.dynamics.problem import Problem, Search, energy, line_search

FAR = 500.0  # words that a step along a slow manifold covers
RUNS = (100, 200, 400, 800, 1600)  # steps of the network between attempts to solve h = F(h)


def relax(problem: Problem, search: Search, tolerance: float, steps: int, window: int = 6, rest: float = 0.9) -> None:
    """Run the network itself, h ← F(h), until its transients have decayed: the residual falls by less than a share of
    1 − `rest` in `window` steps. The rest is slow drift, which more steps would not remove."""
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


def search_roots(problem: Problem, search: Search, tolerance: float) -> None:
    """Solve h = F(h): run the network, and start Newton's method from where it has come; then follow slow manifolds.

    Where that fails, the network runs on, twice as long each time, unless it neither slows down nor is slow: some
    networks need thousands of steps to come near a fixed point."""
    relax(problem, search, tolerance, steps=36)
    rows = torch.nonzero(search.q > tolerance).squeeze(1)
    h, g, q = search.h[rows], search.g[rows], search.q[rows]
    for steps in (*RUNS, 0):
        if not len(rows):
            return
        here = problem.take(rows)
        near = Search(h.clone(), g.clone(), q.clone(), search.iterations[rows])
        neighbours = Neighbours.of(here, h)
        newton_krylov(here, near, tolerance, neighbours)
        follow(here, near, tolerance, neighbours)
        search.iterations[rows] = near.iterations
        search.put(rows, near.h, near.g, near.q)
        left = near.q > tolerance
        rows, h, g, here, before = rows[left], h[left], g[left], here.take(left), q[left]
        search.iterations[rows] += steps
        for _ in range(steps):
            h = h + g
            g = here.residual(h)
        q = energy(g)
        settling = (q < 0.5 * before) | (q < 1e-3 * h.square().sum(1))  # false for NaN
        rows, h, g, q = rows[settling], h[settling], g[settling], q[settling]


def newton_krylov(
    problem: Problem,
    search: Search,
    tolerance: float,
    neighbours: Neighbours | None = None,
    *,
    steps: int = 30,
    inner: int = 8,
    below: float = torch.inf,
) -> None:
    """Newton's method: (I − J) δ = g is solved by GMRES from products J v alone, preconditioned with inverses at nearby
    states. A step that does not reduce q is halved. A state that no step improves, or whose q has not halved in five
    steps, is dropped: it is at a minimum of q that is not a fixed point. States with q ≥ `below` are skipped."""
    rows = torch.nonzero((search.q > tolerance) & (search.q < below)).squeeze(1)
    if not len(rows):
        return
    neighbours = neighbours or Neighbours.of(problem.take(rows), search.h[rows])
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
        taken = line_search(here, search, rows, h, delta, q, lengths[rows])
        lengths[rows] = (4 * taken).clamp(max=1)  # after a short step, the next one starts short too
        go_on = (taken > 0) & (search.q[rows] > tolerance)
        search.iterations[rows] += 1
        if step % 5 == 0:
            go_on &= search.q[rows] < 0.5 * landmark[rows]
            landmark[rows] = search.q[rows]
        rows = rows[go_on]
        if not len(rows):
            return


def follow(problem: Problem, search: Search, tolerance: float, neighbours: Neighbours, steps: int = 60) -> None:
    """For states where Newton's method is stuck: follow the drift along a slow manifold to where it turns, and start
    Newton's method again from there.

    The drift is dh/dt = F(h) − h. A step of implicit Euler over `FAR` words, δ = (I + I/FAR − J)⁻¹ g, is one product
    with the inverse at the nearest of the `neighbours`. It is shortened where q grows, since lines bend. Between two
    states with opposite steps lies a fixed point, near the place where the interpolated step is 0."""
    stuck = torch.nonzero(search.q > tolerance).squeeze(1)
    if not len(stuck):
        return
    here = problem.take(stuck)
    end = Search(search.h[stuck], search.g[stuck], search.q[stuck], search.iterations[stuck])
    before, last = end.h.clone(), torch.zeros_like(end.h)  # the state one step earlier, and the step from there
    rows = torch.arange(len(stuck), device=stuck.device)
    lengths = torch.ones_like(end.q)
    for _ in range(steps):
        order, product = neighbours.arrange(end.h[rows])
        rows = rows[order]
        delta, back = product(end.g[rows]), last[rows]
        turned = (delta * back).sum(1) < 0
        if turned.any():
            at, size = rows[turned], back[turned].square().sum(1)
            share = size / (size - (delta[turned] * back[turned]).sum(1))
            end.h[at] = torch.lerp(before[at], end.h[at], share.unsqueeze(1))
            end.g[at] = here.take(at).residual(end.h[at])
            end.q[at] = energy(end.g[at])
            rows, delta = rows[~turned], delta[~turned]
        h, q, along = end.h[rows], end.q[rows], here.take(rows)
        new = along.clip(torch.addcmul(h, lengths[rows].unsqueeze(1), delta))
        g = along.residual(new)
        new_q = energy(g)
        good = new_q <= 4 * q  # false for NaN
        lengths[rows] = torch.where(good, (2 * lengths[rows]).clamp(max=1), lengths[rows] / 4)
        end.iterations[rows] += 1
        moved = rows[good]
        before[moved], last[moved] = h[good], delta[good]
        end.h[moved], end.g[moved], end.q[moved] = new[good], g[good], new_q[good]
        rows = rows[(end.q[rows] > tolerance) & (lengths[rows] > 1e-3)]
        if not len(rows):
            break
    newton_krylov(here, end, tolerance, neighbours)
    search.iterations[stuck] = end.iterations
    search.put(stuck, end.h, end.g, end.q)


@dataclass(frozen=True)
class Neighbours:
    """A few states (C, N) and (I + I/FAR − J)⁻¹ there (C, N, N). Nearby states have nearly the same Jacobian, so a few
    inverses precondition thousands of states, and GMRES needs a few products instead of dozens. (On a line attractor
    I − J alone has no inverse.)"""

    centres: Tensor
    inverses: Tensor

    @classmethod
    def of(cls, problem: Problem, h: Tensor, most: int = 32, share: int = 32) -> Neighbours:
        count = max(1, min(most, len(h) // share))
        logits = problem.network.logit(h).detach()
        order = torch.argsort(logits[:, 0] if logits.ndim > 1 else logits)  # of several classes, by the first
        picked = order[torch.linspace(0, len(h) - 1, count, device=h.device).long()]
        centres = h[picked]
        A = -problem.take(picked).linearise(centres).J_rec()
        A.diagonal(dim1=1, dim2=2).add_(1 + 1 / FAR)
        inverses = one_by_one(lambda a: torch.linalg.inv_ex(a)[0], A)
        broken = ~torch.isfinite(inverses).flatten(1).all(1)
        inverses[broken] = torch.eye(h.shape[1], dtype=h.dtype, device=h.device)
        return cls(centres, inverses)

    def arrange(self, h: Tensor) -> tuple[Tensor, Product]:
        """An order of the states that groups them by nearest center, and the product with the centers' inverses."""
        nearest = torch.cdist(h, self.centres).argmin(1)
        order = torch.argsort(nearest, stable=True)
        counts = torch.bincount(nearest, minlength=len(self.centres)).tolist()

        def product(v: Tensor) -> Tensor:
            parts = v.split(counts)
            return torch.cat([part @ inverse.t() for part, inverse in zip(parts, self.inverses, strict=True)])

        return order, product


def newton_dense(problem: Problem, search: Search, tolerance: float, steps: int = 100, memory: int = 2**28) -> None:
    """Newton's method with the whole matrix I − J, and Levenberg's damping if Newton's step does not reduce q. A state
    whose q has not halved in ten steps is dropped: it is at a minimum of q that is not a fixed point."""
    N = search.h.shape[1]
    for rows in torch.nonzero(search.q > tolerance).squeeze(1).split(max(1, memory // (8 * N * N))):
        damping, landmark = torch.zeros_like(search.q[rows]), search.q[rows]
        for step in range(1, steps + 1):
            if not len(rows):
                break
            h, g, q, here = search.h[rows], search.g[rows], search.q[rows], problem.take(rows)
            A = -here.linearise(h).J_rec()
            A.diagonal(dim1=1, dim2=2).add_(1)
            moved = (
                line_search(here, search, rows, h, solve_damped(A, g, damping), q, torch.ones_like(q), halvings=10) > 0
            )
            search.iterations[rows] += 1
            # Damp states that did not move more, up to gradient descent, and the others less.
            damping = torch.where(moved, damping * 0.1 * (damping > 1e-8), (damping * 10).clamp(min=1e-6))
            go_on = search.q[rows] > tolerance
            if step % 10 == 0:
                go_on &= search.q[rows] < 0.5 * landmark
                landmark = search.q[rows]
            rows, damping, landmark = rows[go_on], damping[go_on], landmark[go_on]


def gauss_newton(problem: Problem, search: Search, rows: Tensor, steps: int = 20, inner: int = 6) -> None:
    """Reduce q without sliding along slow directions: Gauss-Newton steps, truncated after a few conjugate gradient
    iterations, which reduce the fast directions first. For states that are not slow after running the network."""
    for _ in range(steps):
        if not len(rows):
            return
        h, g, q, here = search.h[rows], search.g[rows], search.q[rows], problem.take(rows)
        delta = least_squares(here.linearise(h), g, inner)
        line_search(here, search, rows, h, delta, q, torch.ones_like(q))
        search.iterations[rows] += 1
        rows = rows[search.q[rows] < 0.5 * q]
