"""Fixed and slow points: where the network, left alone, stays (Supplement B).

Fixed points solve h = F(h); Newton's method finds them, sliding along a line attractor to its few true ones. Slow
points are wherever the state hardly moves, "regardless of whether they are local minima"; the network's own transients
lead to them. They are two questions, hence two modes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from rnnlens.dynamics.jacobians import linearise
from rnnlens.dynamics.solvers import Problem, Search, energy, gauss_newton, newton_dense, newton_krylov, relax
from rnnlens.errors import RnnlensError, quoted
from rnnlens.networks import Cell, Network
from rnnlens.progress import progress_bar

Mode = Literal["fixed", "slow"]
SLOW = 0.1  # a point is slow if it moves in a step by less than this share of what a typical deflection does


@dataclass(frozen=True, eq=False)
class FixedPoints:
    """Where each of K starts led.

    states      (K, N)  the points, never worse than their starts
    q           (K,)    ½‖h − F(h)‖² at these very states, in float64
    converged   (K,)    mode fixed: q ≤ tolerance; mode slow: that, or `slowness` below a tenth
    iterations  (K,)    steps taken, of all kinds
    starts      (K, N)  where they began
    inputs      (D,) or (K, D)  the input that is held; zero unless given
    labels      (K,)    which row of `unique` each start led to, −1 for none
    multiplicity (K,)   of `unique`: how many starts led to each point; else ones
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

    def __len__(self) -> int:
        return len(self.states)

    @property
    def residual(self) -> Tensor:
        """‖h − F(h)‖, (K,)."""
        return (2 * self.q).sqrt()

    def take(self, rows: Tensor) -> FixedPoints:
        """Some of the points."""
        names = ("states", "q", "converged", "iterations", "starts", "multiplicity")
        chosen = {name: getattr(self, name)[rows] for name in names}
        return replace(self, **chosen, inputs=self.inputs if self.inputs.ndim == 1 else self.inputs[rows])

    @cached_property
    def _merged(self) -> tuple[Tensor, Tensor, Tensor]:
        """Rows of the representatives, the label of each point, how many points each representative stands for."""
        return _merge(self)

    @property
    def unique(self) -> FixedPoints:
        """The distinct converged points, the one with the smallest q of each; `multiplicity` says how many led there.

        Two points are one if they lie within the distance that the tolerance leaves open, √(2·tolerance)/σ_min(I − J).
        """
        rows, _, counts = self._merged
        return replace(self.take(rows), multiplicity=counts)

    @property
    def labels(self) -> Tensor:
        return self._merged[1]

    @cached_property
    def stability(self) -> Tensor:
        """Unstable directions of each point, (K,): eigenvalues of J_rec outside the unit circle. 0 is stable."""
        values = [torch.linalg.eigvals(J).abs() for J in self._jacobians()]
        return torch.stack([(v > 1).sum() for v in values]) if values else torch.zeros(0, dtype=torch.long)

    def _jacobians(self):  # type: ignore[no-untyped-def]
        for k in range(len(self)):
            e = self.inputs if self.inputs.ndim == 1 else self.inputs[k]
            yield linearise(self.network, self.states[k], e).J_rec()

    @cached_property
    def slowness(self) -> Tensor:
        """‖h − F(h)‖ / ‖J_rec Δh‖, (K,), with Δh the typical deflection of the starts from the points they led to: how
        far a point is from being a good place to linearise at. 0 for an exact fixed point."""
        return _slowness(self.network, self.states, self.q, self.inputs, self.starts - self.states)

    def __repr__(self) -> str:
        q = self.q.median().item() if len(self) else 0.0
        return f"FixedPoints({len(self)} {self.mode} points, {int(self.converged.sum())} converged, median q {q:.1e})"


def find_fixed_points(
    network: Network,
    states: Tensor,
    inputs: Tensor | str | None = None,
    mode: Mode = "fixed",
    tolerance: float = 1e-12,
    *,
    chunk: int | None = None,
    progress: bool = False,
) -> FixedPoints:
    """Fixed or slow points of a network from the given states (K, N), usually visited ones.

    inputs: the input held all the while, embedded (D,) or one for each start (K, D), or a word; None is zero input.
    mode: "fixed" solves h = F(h) to q ≤ tolerance; "slow" lets transients die out and keeps what is slow.
    Starts that do not converge are returned as the best state met, and `converged` says so. What is computed depends on
    the arguments alone; the caller's tensors are left as they are.
    """
    if mode not in ("fixed", "slow"):
        raise RnnlensError(f"mode is {quoted(mode)}: expected fixed or slow")
    starts = _starts(network, states)
    e = _inputs(network, inputs, len(starts))
    if tolerance <= 0:
        raise RnnlensError(f"tolerance is {tolerance}: expected a number above 0")
    double = network if network.h0.dtype == torch.float64 else copy.deepcopy(network).double()
    chunks = torch.arange(len(starts), device=starts.device).split(chunk or _chunk(starts))
    with progress_bar(f"{mode} points", len(starts), progress) as advance:

        def solve(rows: Tensor) -> tuple[Tensor, Tensor]:
            held = e if e.ndim == 1 else e[rows]
            found = _solve_chunk(network, double, starts[rows], held, mode, tolerance)
            advance(len(rows))
            return found

        parts = _in_parallel(solve, chunks, starts.device)
    h, iterations = (torch.cat(part) for part in zip(*parts, strict=True))
    exact = _problem(double, e)
    q = torch.cat([energy(exact.take(rows).residual(h[rows].double())) for rows in chunks])
    points = FixedPoints(
        network, h, q, q <= tolerance, iterations, starts, e, mode, tolerance, torch.ones_like(iterations)
    )
    if mode == "slow":
        points = replace(points, converged=points.converged | (points.slowness < SLOW))
    return points


def _solve_chunk(
    network: Network, double: Network, starts: Tensor, e: Tensor, mode: Mode, tolerance: float
) -> tuple[Tensor, Tensor]:
    """States and iterations of some starts: as far as the network's own precision goes, then in float64."""
    problem = _problem(network, e)
    search = Search.begin(problem, starts.clone())
    if mode == "slow":
        relax(problem, search, tolerance, steps=36, rest=0.8)
        gauss_newton(problem, search, _restless(problem, search, starts, tolerance))
        return search.h, search.iterations
    for steps in (36, 48):  # from where Newton's method got stuck, the network itself may lead on
        relax(problem, search, tolerance, steps)
        newton_krylov(problem, search, tolerance)
    exact = _problem(double, e)
    fine = Search.begin(exact, search.h.double())
    fine.iterations = search.iterations
    newton_krylov(exact, fine, tolerance, steps=4)
    # What is slow by now and yet no fixed point sits at a minimum of q along a slow manifold; the whole matrix would
    # not move it. What is not even slow (an unstable, a chaotic network) is taken up again from its start.
    rows = _restless(exact, fine, starts.double(), tolerance)
    if len(rows):
        anew = Search.begin(exact.take(rows), starts[rows].double())
        newton_dense(exact.take(rows).unbounded(), anew, tolerance)
        fine.iterations[rows] += anew.iterations
        found = (anew.q <= tolerance) & exact.inside(anew.h)
        fine.put(rows[found], anew.h[found], anew.g[found], anew.q[found])
    return fine.h.to(starts.dtype), fine.iterations


def _restless(problem: Problem, search: Search, starts: Tensor, tolerance: float) -> Tensor:
    """Rows of the states that are neither fixed nor slow."""
    rows = torch.nonzero(search.q > tolerance).squeeze(1)
    if not len(rows):
        return rows
    there = problem.take(rows)
    pace = _slowness(there.network, search.h[rows], search.q[rows], there.e, starts - search.h)
    return rows[pace >= SLOW]


def _chunk(starts: Tensor) -> int:
    """States to solve for at a time: what fits in a GPU's memory, or keeps every core's products in its cache."""
    if starts.is_cuda:
        return max(64, 2**23 // starts.shape[1])
    most = max(64, 2**18 // starts.shape[1])
    return max(1, min(most, -(-len(starts) // torch.get_num_threads())))


def _in_parallel(solve: Callable[[Tensor], Any], chunks: Sequence[Tensor], device: torch.device) -> list[Any]:
    """On a CPU, a chunk a core: the cores then never wait for each other, as they would, at every product, if two
    shared one chunk. On a busy machine such waiting can cost ten times the work."""
    threads = torch.get_num_threads()
    if device.type != "cpu" or threads == 1 or len(chunks) == 1:
        return [solve(rows) for rows in chunks]
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            return list(pool.map(solve, chunks))
    finally:
        torch.set_num_threads(threads)


def _problem(network: Network, e: Tensor) -> Problem:
    e = e.to(network.h0.dtype)
    if isinstance(network.cell, Cell):
        low, high = network.cell.bounds()
    else:
        high = torch.full_like(network.h0.detach(), torch.inf)
        low = -high
    return Problem(network, e, low, high)


def _starts(network: Network, states: Tensor) -> Tensor:
    if states.ndim < 1 or states.shape[-1] != network.size:
        raise RnnlensError(
            f"states have shape {tuple(states.shape)}: expected (K, {network.size}), states of the network"
        )
    starts = states.detach().reshape(-1, network.size).to(network.h0)
    if not torch.isfinite(starts).all():
        raise RnnlensError("some of the states are not finite: expected numbers")
    return starts


def _inputs(network: Network, inputs: Tensor | str | None, count: int) -> Tensor:
    if inputs is None:
        return network.h0.new_zeros(network.inputs).detach()
    if isinstance(inputs, str):
        if network.vocab is None or inputs not in network.vocab:
            raise RnnlensError(f"{quoted(inputs)} is no word of this network: expected one of its vocabulary")
        inputs = network.embed(torch.tensor(network.vocab.index[inputs], device=network.h0.device))
    e = inputs.detach().to(network.h0)
    if e.shape not in ((network.inputs,), (count, network.inputs)):
        raise RnnlensError(
            f"inputs have shape {tuple(e.shape)}: expected ({network.inputs},) or ({count}, {network.inputs})"
        )
    return e


def _merge(points: FixedPoints) -> tuple[Tensor, Tensor, Tensor]:
    """Leaders, best first: each takes all points within its radius. One pass over the points for each distinct one."""
    labels = torch.full((len(points),), -1, device=points.q.device)
    rows: list[int] = []
    counts: list[int] = []
    left = torch.nonzero(points.converged).squeeze(1)
    left = left[torch.argsort(points.q[left], stable=True)]
    states = points.states.double()
    while len(left):
        leader = int(left[0])
        radius = _radius(points, leader)
        near = (states[left] - states[leader]).norm(dim=1) <= radius
        near[0] = True
        labels[left[near]] = len(rows)
        rows.append(leader)
        counts.append(int(near.sum()))
        left = left[~near]
    device = points.q.device
    return (
        torch.tensor(rows, dtype=torch.long, device=device),
        labels,
        torch.tensor(counts, dtype=torch.long, device=device),
    )


def _radius(points: FixedPoints, row: int) -> float:
    """How far apart two states of one point may lie: 2·√(2·tolerance)/σ_min(I − J), each being that close to it."""
    e = points.inputs if points.inputs.ndim == 1 else points.inputs[row]
    J = linearise(points.network, points.states[row], e).J_rec().double()
    smallest = torch.linalg.svdvals(torch.eye(len(J), dtype=J.dtype, device=J.device) - J)[-1]
    return 2 * (2 * points.tolerance) ** 0.5 / max(float(smallest), 1e-12)


def _slowness(network: Network, h: Tensor, q: Tensor, e: Tensor, deflections: Tensor, sample: int = 4) -> Tensor:
    """‖h − F(h)‖ / ‖J_rec Δh‖ at states h (K, N), root mean square over some of the deflections Δh (M, N), short to
    long, of the longer half (starts that were at rest already say nothing)."""
    longest = torch.argsort(deflections.norm(dim=1), descending=True)[: max(1, len(deflections) // 2)]
    picked = longest[torch.linspace(0, len(longest) - 1, min(sample, len(longest)), device=h.device).long()]
    here = linearise(network, h, e)
    moved = torch.stack([here.rec(d.expand_as(h)).norm(dim=1) for d in deflections[picked]]).square().mean(0).sqrt()
    residual = (2 * q).sqrt().to(h.dtype)
    return torch.where(residual == 0, 0.0, residual / moved.clamp(min=torch.finfo(h.dtype).tiny))
