"""Fixed and slow points: states that a constant input does not move, or hardly moves (Supplement B).

Fixed points solve h = F(h). Newton's method finds them; on a line attractor it slides along the line to its few fixed
points. Slow points are all states that hardly move, "regardless of whether they are local minima"; running the network
until its transients have decayed leads to them. `find_fixed_points` has a mode for each.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from rnnlens.common.display import Facts, Shown
from rnnlens.common.progress import progress_bar
from rnnlens.common.ranges import in_range
from rnnlens.common.rows import chosen_row, chosen_rows
from rnnlens.dynamics.inputs import Inputs, given_states, held_input
from rnnlens.dynamics.jacobians import linearise
from rnnlens.dynamics.problem import Problem, Search, energy
from rnnlens.dynamics.solvers import gauss_newton, newton_dense, newton_krylov, relax, search_roots
from rnnlens.dynamics.triangular import is_triangular, slope, solve_fixed
from rnnlens.networks import Cell, Network
from rnnlens.networks.finite import check_precision
from rnnlens.networks.parallel import in_parallel

Mode = Literal["fixed", "slow"]
SLOW = 0.1  # a point is slow if a step moves it by less than this share of ‖J_rec Δh‖ for typical deflections Δh


@dataclass(frozen=True, eq=False, repr=False)
class FixedPoints(Shown):
    """The points that were reached from K starts.

    states      (K, N)  the points; q is never larger than at the start
    q           (K,)    ½‖h − F(h)‖² at these states, in float64
    converged   (K,)    mode fixed: q ≤ tolerance; mode slow: q ≤ tolerance or `slowness` below 0.1
    iterations  (K,)    steps taken, of all kinds
    starts      (K, N)  the states that the search started from
    inputs      (D,) or (K, D)  the constant input; zero unless given
    labels      (K,)    the row of `unique` that each start led to, −1 if it did not converge
    multiplicity (K,)   how many starts led to each point of `unique`; ones otherwise
    deflections (M, N)  a few typical differences between a start and its point, used by `slowness`
    """

    network: Network = field(repr=False)
    states: Tensor
    q: Tensor
    converged: Tensor
    iterations: Tensor
    starts: Tensor
    inputs: Tensor
    mode: Mode
    tolerance: float
    multiplicity: Tensor
    deflections: Tensor

    def __len__(self) -> int:
        return len(self.states)

    @property
    def residual(self) -> Tensor:
        """‖h − F(h)‖, (K,)."""
        return (2 * self.q).sqrt()

    def take(self, rows: Tensor | Sequence[int] | int) -> FixedPoints:
        """The points with the given rows (numbers or a mask), with their inputs; an int selects one point."""
        one = isinstance(rows, int) or getattr(rows, "ndim", 1) == 0
        numbers = [chosen_row("rows", rows, len(self))] if one else chosen_rows("rows", rows, len(self), from_end=True)
        rows = torch.as_tensor(numbers, device=self.q.device)
        names = ("states", "q", "converged", "iterations", "starts", "multiplicity")
        chosen = {name: getattr(self, name)[rows] for name in names}
        return replace(self, **chosen, inputs=self.inputs if self.inputs.ndim == 1 else self.inputs[rows])

    @cached_property
    def _merged(self) -> tuple[Tensor, Tensor, Tensor]:
        """Rows of the distinct points, the label of each point, and the multiplicity of each distinct point."""
        return _merge(self)

    @property
    def unique(self) -> FixedPoints:
        """The distinct converged points, each with its smallest q; `multiplicity` counts the starts of each.

        Two points are the same if they differ by less than the tolerance: ‖(I − J)(h₁ − h₂)‖ ≤ 2·√(2·tolerance), that
        is a distance of up to 2·√(2·tolerance)/σ_min(I − J), but at most a hundredth of their norm.
        """
        rows, _, counts = self._merged
        return replace(self.take(rows), multiplicity=counts)

    @property
    def labels(self) -> Tensor:
        return self._merged[1]

    @cached_property
    def stability(self) -> Tensor:
        """Number of eigenvalues of J_rec outside the unit circle at each point, (K,). 0 means stable."""
        if is_triangular(self.network):
            return (slope(self.network, self.states, self.inputs).abs() > 1 + 1e-6).sum(-1)
        counts = []
        for k in range(len(self)):
            e = self.inputs if self.inputs.ndim == 1 else self.inputs[k]
            J = linearise(self.network, self.states[k], e).J_rec().double()
            counts.append(int((torch.linalg.eigvals(J).abs() > 1 + 1e-6).sum()))
        return torch.tensor(counts, dtype=torch.long, device=self.q.device)

    @cached_property
    def slowness(self) -> Tensor:
        """‖h − F(h)‖ / ‖J_rec Δh‖, (K,), with Δh the typical deflection of a start from its point. A linear expansion
        at the point is good if this is small; it is 0 for an exact fixed point."""
        return _slowness(self.network, self.states, self.q, self.inputs, self.deflections)

    def _facts(self) -> Facts:
        q = self.q.quantile(self.q.new_tensor([0.5, 0.95])).tolist() if len(self) else []
        return [
            ("mode", self.mode),
            ("starts", len(self)),
            ("converged", int(self.converged.sum())),
            ("q, median and 95 %", [f"{x:.1e}" for x in q]),
            ("tolerance", f"{self.tolerance:.1e}"),
        ]


@in_range("find_fixed_points")
def find_fixed_points(
    network: Network,
    states: Tensor,
    inputs: Inputs = None,
    mode: Mode = "fixed",
    tolerance: float = 1e-12,
    *,
    chunk: int | None = None,
    progress: bool = False,
) -> FixedPoints:
    """Fixed or slow points of a network from the given states (K, N), usually visited ones.

    inputs: the constant input, embedded (D,) or one for each start (K, D), or a word; None is the blank input.
    mode: "fixed" solves h = F(h) to q ≤ tolerance; "slow" runs the network until transients have decayed.
    For a start that does not converge, the state with the smallest q is returned and `converged` is False. The result
    depends on the arguments alone; the caller's tensors are not changed.
    """
    network.check_rests()
    check_precision(network.h0)
    starts = given_states(network, states)
    e = held_input(network, inputs, len(starts))
    double = doubled(network)
    chunks = torch.arange(len(starts), device=starts.device).split(chunk or _chunk(starts))
    with progress_bar(f"{mode} points", len(starts), progress) as advance:

        def solve(rows: Tensor) -> tuple[Tensor, Tensor]:
            inputs_of_rows = e if e.ndim == 1 else e[rows]
            solved = _solve_chunk(network, double, starts[rows], inputs_of_rows, mode, tolerance)
            advance(len(rows))
            return solved

        parts = in_parallel(solve, chunks, network)
    h, iterations = (torch.cat(part) for part in zip(*parts, strict=True))
    exact, dtype = _problem(double, e), double.h0.dtype
    q = torch.cat([energy(exact.take(rows).residual(h[rows].to(dtype)).double()) for rows in chunks])
    inside = _problem(network, e).inside(h)  # states that the network cannot reach do not count as converged
    points = FixedPoints(
        network,
        h,
        q,
        (q <= tolerance) & inside,
        iterations,
        starts,
        e,
        mode,
        tolerance,
        torch.ones_like(iterations),
        _typical(starts - h),
    )
    if mode == "slow":
        points = replace(points, converged=points.converged | ((points.slowness < SLOW) & inside))
    return points


def _solve_chunk(
    network: Network, double: Network, starts: Tensor, e: Tensor, mode: Mode, tolerance: float
) -> tuple[Tensor, Tensor]:
    """States and iterations for a chunk of starts: first in the network's own precision, then in float64."""
    if mode == "fixed" and is_triangular(network):
        exact = _problem(double, e)
        fine = Search.begin(exact, starts.to(double.h0.dtype, copy=True))
        solve_fixed(exact, fine, tolerance)
        return fine.h.to(starts.dtype), fine.iterations
    problem = _problem(network, e)
    search = Search.begin(problem, starts.clone())
    if mode == "slow":
        relax(problem, search, tolerance, steps=36, rest=0.8)
        gauss_newton(problem, search, _moving(problem, search, starts, tolerance))
        return search.h, search.iterations
    search_roots(problem, search, tolerance)
    exact, dtype = _problem(double, e), double.h0.dtype
    fine = Search.begin(exact, search.h.to(dtype))
    fine.iterations = search.iterations
    if dtype != starts.dtype:  # refine the states that single precision brought close to a fixed point
        newton_krylov(exact, fine, tolerance, steps=4, below=1e-7)
    # A state that is slow but not fixed is at a minimum of q along a slow manifold, where dense Newton would not help.
    # A state that is not even slow (in an unstable or chaotic network) is solved for again, from its start.
    rows = _moving(exact, fine, starts.to(dtype), tolerance)
    if len(rows):
        retry = Search.begin(exact.take(rows), starts[rows].to(dtype))
        newton_dense(exact.take(rows).unbounded(), retry, tolerance)
        fine.iterations[rows] += retry.iterations
        solved = (retry.q <= tolerance) & exact.inside(retry.h)
        fine.put(rows[solved], retry.h[solved], retry.g[solved], retry.q[solved])
    return fine.h.to(starts.dtype), fine.iterations


def _moving(problem: Problem, search: Search, starts: Tensor, tolerance: float) -> Tensor:
    """Rows of the states that are neither fixed nor slow, (R,)."""
    rows = torch.nonzero(search.q > tolerance).squeeze(1)
    if not len(rows):
        return rows
    e = problem.take(rows).e
    slowness = _slowness(problem.network, search.h[rows], search.q[rows], e, _typical(starts - search.h))
    return rows[slowness >= SLOW]


def _chunk(starts: Tensor) -> int:
    """Number of states to solve for at a time: on a CPU few enough that every core gets a chunk."""
    return max(64, (2**23 if starts.is_cuda else 2**17) // starts.shape[1])


def doubled(network: Network) -> Network:
    """The network in float64; unchanged if a user's step function holds tensors of another precision."""
    if network.h0.dtype == torch.float64:
        return network
    double = copy.deepcopy(network).double()
    if not isinstance(network.cell, Cell):
        try:
            with torch.no_grad():
                double.step(double.h0.unsqueeze(0))
        except RuntimeError:
            return network
    return double


def _problem(network: Network, e: Tensor) -> Problem:
    e = e.to(network.h0.dtype)
    if isinstance(network.cell, Cell):
        low, high = network.cell.bounds()
    else:
        high = torch.full_like(network.h0.detach(), torch.inf)
        low = -high
    return Problem(network, e, low, high)


def _merge(points: FixedPoints) -> tuple[Tensor, Tensor, Tensor]:
    """Group converged points: in order of q, each remaining point takes all points that are the same as it."""
    labels = torch.full((len(points),), -1, device=points.q.device)
    rows: list[int] = []
    counts: list[int] = []
    left = torch.nonzero(points.converged).squeeze(1)
    left = left[torch.argsort(points.q[left], stable=True)]
    # A point is known only to within its residual or the tolerance, whichever is larger.
    slack, lengths = (2 * points.q.clamp(min=points.tolerance)).sqrt(), points.states.norm(dim=1)
    while len(left):
        leader = int(left[0])
        e = points.inputs if points.inputs.ndim == 1 else points.inputs[leader]
        h = points.states[leader]
        reach = 1e-2 * max(1.0, float(lengths[leader]))
        near = (lengths[left] - lengths[leader]).abs() <= 1.01 * reach  # no other can be as close
        some = torch.nonzero(near).squeeze(1)
        near[some] = (points.states[left[some]] - h).norm(dim=1) <= reach
        if points.inputs.ndim == 2:
            near &= (points.inputs[left] == e).all(1)
        near[0] = True
        some = torch.nonzero(near).squeeze(1)[1:]  # J is needed for few points
        if len(some):
            apart = points.states[left[some]] - h
            moved = apart - linearise(points.network, h.expand_as(apart), e).rec(apart)
            near[some] = moved.norm(dim=1) <= slack[left[some]] + slack[leader]
        labels[left[near]] = len(rows)
        rows.append(leader)
        counts.append(int(points.multiplicity[left[near]].sum()))
        left = left[~near]
    chosen, multiplicity = (torch.tensor(part, dtype=torch.long, device=points.q.device) for part in (rows, counts))
    return chosen, labels, multiplicity


def _typical(deflections: Tensor, sample: int = 4) -> Tensor:
    """A few deflections (M, N) whose lengths lie between the median and the 90th percentile: starts that were at rest
    have lengths near 0, and outliers are not typical either."""
    lengths = deflections.norm(dim=1)
    order = torch.argsort(lengths.nan_to_num(torch.inf, torch.inf))[: max(1, int(torch.isfinite(lengths).sum()))]
    at = torch.linspace(0.5, 0.9, min(sample, len(order)), device=deflections.device) * (len(order) - 1)
    return deflections[order[at.round().long()]]


def _slowness(network: Network, h: Tensor, q: Tensor, e: Tensor, deflections: Tensor) -> Tensor:
    """‖h − F(h)‖ / ‖J_rec Δh‖ at states h (K, N), root mean square over the deflections Δh (M, N)."""
    here = linearise(network, h, e)
    moved = torch.stack([here.rec(d.expand_as(h)).norm(dim=1) for d in deflections]).square().mean(0).sqrt()
    residual = (2 * q).sqrt().to(h.dtype)
    return torch.where(residual == 0, 0.0, residual / moved.clamp(min=torch.finfo(h.dtype).tiny))
