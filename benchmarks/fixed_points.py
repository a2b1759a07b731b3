"""Fixed points, slow points and Jacobians of the integrator, against the field's tool and plain Adam, to the same end.

Each peer runs until its points are as good as ours: in slow mode until the median of q is no larger, in fixed mode
until as many starts have reached q ≤ 1e-12; or until its time is up, and then the ratio is "at least".
fixed-point-finder, which never gets as far in fixed mode, runs with its setting for depth, 20,000 iterations. All are
timed over as many rounds, side by side. q is always re-evaluated in float64 at the states returned.

`--peer CHECKOUT` adds fixed-point-finder: `git clone https://github.com/mattgolub/fixed-point-finder CHECKOUT`.
"""

from __future__ import annotations

import copy
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.integrator import integrator, noisy_states
from benchmarks.size import CPU, Size
from benchmarks.table import Row
from benchmarks.timing import once, side_by_side
from rnnlens import Network
from rnnlens.dynamics import find_fixed_points, jacobians
from rnnlens.dynamics.fixed_points import Mode, doubled
from rnnlens.dynamics.problem import Problem, Search
from rnnlens.dynamics.solvers import newton_dense

TOLERANCE, DEPTH = 1e-12, 20_000
FINDER = "git clone https://github.com/mattgolub/fixed-point-finder"
Solve = Callable[[int], Tensor]  # how many iterations → states


def rows(peer: Path | None = None, size: Size = CPU) -> Iterator[Row]:
    network = integrator().to(size.device)
    starts = noisy_states(network, size.states)
    yield from point_rows(network, starts, size.patience, peer)
    yield from jacobian_rows(network, starts[:64], peer)


def point_rows(network: Network, starts: Tensor, most: float, peer: Path | None = None) -> Iterator[Row]:
    """`most`: seconds that a peer may take to get as far as we do."""
    modes: tuple[Mode, ...] = ("slow", "fixed")
    for mode in modes:
        ours = find_fixed_points(network, starts, mode=mode, tolerance=TOLERANCE)
        reached = quality(network, ours.states)
        what = f"{mode} points of a gru, {len(starts):,} starts of {network.size} units"
        note = f"ours {reached.words(mode)}"
        if mode == "fixed":
            yield from _depth(network, starts, what, note, peer)
            yield _dense(network, starts, what, note)
        for name, get, solve in _peers(network, starts, mode, peer):
            steps, states = until(network, solve, mode, reached, most)
            theirs = quality(network, states)
            best = side_by_side(
                {
                    "ours": lambda mode=mode: find_fixed_points(network, starts, mode=mode, tolerance=TOLERANCE),
                    "peer": lambda solve=solve, steps=steps: solve(steps),
                },
                3,
                most,
                warm=True,
            )
            short = not theirs.as_good(reached, mode)
            told = f"{note}; peer {theirs.words(mode)} {'when stopped after' if short else 'after'} {steps:,} steps"
            yield Row(what, best["ours"], f"{name}, until as good", best["peer"], get, told, at_least=short)


def _ours(network: Network, starts: Tensor) -> Callable[[], object]:
    return lambda: find_fixed_points(network, starts, tolerance=TOLERANCE)


def _depth(network: Network, starts: Tensor, what: str, note: str, peer: Path | None) -> Iterator[Row]:
    """fixed-point-finder with the setting that brought it deepest."""
    if peer is None:
        return
    found: list[Tensor] = []
    setting: dict[str, Any] = {"lr_init": 0.03, "max_iters": DEPTH}
    contenders = {
        "ours": _ours(network, starts),
        "peer": lambda: found.append(run_peer(peer, network, starts, **setting)),
    }
    best = side_by_side(contenders, 2, warm=True)
    told = f"{note}; peer {quality(network, found[-1]).words('fixed')}"
    yield Row(what, best["ours"], f"fixed-point-finder (rate 0.03, {DEPTH:,} iterations)", best["peer"], FINDER, told)


def _dense(network: Network, starts: Tensor, what: str, note: str) -> Row:
    """Newton's method in float64 with whole matrices, from the same starts."""
    double = doubled(network)
    exact = Problem(double, double.h0.new_zeros(double.inputs), *double.cell.bounds())  # h = F(h) at the blank input
    found: list[Tensor] = []

    def dense() -> None:
        search = Search.begin(exact, starts.to(exact.low))
        newton_dense(exact, search, TOLERANCE)
        found.append(search.h)

    best = side_by_side({"ours": _ours(network, starts), "peer": dense}, 1, warm=True)
    told = f"{note}; peer {quality(network, found[-1]).words('fixed')}"
    return Row(what, best["ours"], "dense Newton in float64, damped", best["peer"], note=told)


def jacobian_rows(network: Network, states: Tensor, peer: Path | None = None) -> Iterator[Row]:
    both = torch.func.vmap(torch.func.jacrev(network.step, (0, 1)))
    contenders: dict[str, Callable[[], object]] = {
        "ours": lambda: jacobians(network, states),
        "jacrev": lambda: both(states, states.new_zeros(len(states), network.inputs)),
    }
    if peer is not None:
        finder = _finder(peer, network)
        fps = sys.modules["FixedPoints"].FixedPoints(
            xstar=states.cpu().numpy(), inputs=_zeros(network, len(states)), dtype_complex=np.complex64
        )
        contenders["finder"] = lambda: finder._compute_recurrent_jacobians(fps)
    best = side_by_side(contenders, 5, 10.0)
    what = f"Jacobians of a gru, {len(states)} states of {network.size} units"
    yield Row(what, best["ours"], "vmap(jacrev(step))", best["jacrev"])
    if "finder" in best:
        yield Row(what, best["ours"], "fixed-point-finder, recurrent ones alone", best["finder"], FINDER)


class Quality:
    """How good points are: quantiles of q, and the share that is fixed."""

    def __init__(self, q: Tensor):
        self.median, self.high = q.median().item(), q.quantile(0.95).item()
        self.fixed = (q <= TOLERANCE).double().mean().item()

    def as_good(self, other: Quality, mode: Mode) -> bool:
        if mode == "fixed":
            return self.fixed >= other.fixed
        return self.median <= other.median

    def words(self, mode: Mode) -> str:
        if mode == "fixed":
            return f"{100 * self.fixed:.1f} % of starts at q ≤ {TOLERANCE:.0e}"
        return f"q {self.median:.0e}, 95 % below {self.high:.0e}"


def quality(network: Network, states: Tensor) -> Quality:
    double = copy.deepcopy(network).double()
    with torch.no_grad():
        return Quality(0.5 * (double.step(states.double()) - states.double()).square().sum(-1))


def until(network: Network, solve: Solve, mode: Mode, goal: Quality, most: float) -> tuple[int, Tensor]:
    """The fewest steps, to within an eighth, after which the peer's points are as good as `goal`, and those points; or
    as many as it does within `most` seconds."""
    short, steps, found = 0, 64, solve(64)
    while not quality(network, found).as_good(goal, mode):
        short, steps = steps, 2 * steps
        again: list[Tensor] = []
        taken = once(lambda steps=steps, again=again: again.append(solve(steps)))
        found = again[0]
        if 2 * taken > most and not quality(network, found).as_good(goal, mode):
            return steps, found
    while steps - short > max(1, steps // 8):
        middle = (short + steps) // 2
        earlier = solve(middle)
        if quality(network, earlier).as_good(goal, mode):
            steps, found = middle, earlier
        else:
            short = middle
    return steps, found


def _peers(network: Network, starts: Tensor, mode: Mode, peer: Path | None) -> Iterator[tuple[str, str, Solve]]:
    yield "Adam on q (rate 0.01)", "in this repository", lambda steps: plain_adam(network, starts, steps)
    if peer is not None and mode == "slow":
        yield (
            "fixed-point-finder (rate 0.01)",
            FINDER,
            lambda steps: run_peer(peer, network, starts, lr_init=0.01, max_iters=steps),
        )


def plain_adam(network: Network, starts: Tensor, steps: int, rate: float = 0.01) -> Tensor:
    """What every tool of the field does: gradient descent on q."""
    h = starts.clone().requires_grad_()
    optimiser = torch.optim.Adam([h], lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        (network.step(h) - h).square().sum().mul(0.5).backward()
        optimiser.step()
    return h.detach()


def run_peer(peer: Path, network: Network, starts: Tensor, **options: Any) -> Tensor:
    """All states the peer returns, before it drops duplicates, by its joint optimisation."""
    with redirect_stdout(io.StringIO()):
        finder = _finder(peer, network, **options)
        given = starts.cpu().numpy().copy()  # it writes into them
        found = finder._run_joint_optimization(given, _zeros(network, len(starts)))
    return torch.as_tensor(np.asarray(found.xstar), dtype=starts.dtype, device=starts.device)


def _finder(peer: Path, network: Network, **options: Any) -> Any:
    if str(peer) not in sys.path:
        sys.path.insert(0, str(peer))
    from FixedPointFinderTorch import FixedPointFinderTorch

    rnn = nn.GRU(network.inputs, network.size, batch_first=True, device=network.h0.device)
    cell = network.cell
    names = {"weight_ih_l0": cell.W, "weight_hh_l0": cell.U, "bias_ih_l0": cell.b, "bias_hh_l0": cell.c}
    rnn.load_state_dict({name: weight.detach() for name, weight in names.items()})
    return FixedPointFinderTorch(rnn, verbose=False, super_verbose=False, **options)


def _zeros(network: Network, count: int) -> np.ndarray:
    return np.zeros((count, network.inputs), dtype=np.float32)
