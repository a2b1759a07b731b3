"""Fixed points, slow points and Jacobians of the integrator, against the field's tool and plain Adam, side by side.

`python -m benchmarks.fixed_points [--peer CHECKOUT] [--deep] [--device cuda]`, where CHECKOUT is a clone of
github.com/mattgolub/fixed-point-finder. Without it, only our own plain-Adam reference is measured. q is always
re-evaluated in float64 at the states each tool returns; truth is float64 Newton with dense matrices.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.integrator import integrator, noisy_states
from benchmarks.timing import side_by_side
from rnnlens import Network
from rnnlens.dynamics import find_fixed_points, jacobians
from rnnlens.dynamics.fixed_points import _problem
from rnnlens.dynamics.solvers import Search, newton_dense


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.fixed_points", description=__doc__)
    parser.add_argument("--peer", type=Path, help="a checkout of fixed-point-finder")
    parser.add_argument("--deep", action="store_true", help="also the peer tuned for depth (minutes)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    network = integrator().to(arguments.device)
    starts = noisy_states(network, 1024)
    print(f"GRU of {network.size} units, {len(starts)} noisy visited states, {arguments.device}")

    truth = _truth(network, starts)
    print(f"truth: {len(truth)} fixed points at logits {', '.join(f'{x:.2f}' for x in truth)}")
    ours, ours_s = _timed(lambda: find_fixed_points(network, starts), 3)
    unique = sorted(network.logit(ours.unique.states).tolist())
    print(f"ours find {len(unique)}, at logits {', '.join(f'{x:.2f}' for x in unique)}; starts that did not converge: "
          f"{int((~ours.converged).sum())}")  # fmt: skip
    slow, slow_s = _timed(lambda: find_fixed_points(network, starts, mode="slow"), 3)
    _row("ours, fixed", ours_s, _q(network, ours.states), ours_s)
    _row("ours, slow", slow_s, _q(network, slow.states), slow_s)

    adam, adam_s = _timed(lambda: plain_adam(network, starts, 250))
    _row("plain Adam, 250 steps", adam_s, _q(network, adam), slow_s)
    if arguments.peer:
        _peers(network, starts, arguments.peer, arguments.deep, ours_s, slow_s)
    _scaling(network)
    _jacobians(network, starts, arguments.peer)


def rows() -> Iterator[tuple[str, float, str, float]]:
    """For `make bench`: against what needs no other project."""
    network = integrator()
    starts = noisy_states(network, 1024)
    _, slow = _timed(lambda: find_fixed_points(network, starts, mode="slow"), 3)
    _, adam = _timed(lambda: plain_adam(network, starts, 250))
    yield "slow points of a GRU, 1,024 starts of 256 units", slow, "250 steps of Adam, at no lower q", adam
    few = starts[:64]
    both = torch.func.vmap(torch.func.jacrev(network.step, (0, 1)))
    times = side_by_side(
        {
            "ours": lambda: jacobians(network, few),
            "jacrev": lambda: both(few, few.new_zeros(len(few), network.inputs)),
        }
    )
    yield "Jacobians of a GRU, 64 states of 256 units", times["ours"], "vmap(jacrev(step))", times["jacrev"]


def _peers(network: Network, starts: Tensor, peer: Path, deep: bool, ours_s: float, slow_s: float) -> None:
    quick, quick_s = _timed(lambda: run_peer(peer, network, starts, lr_init=0.01, max_iters=250))
    _row("fixed-point-finder, quick", quick_s, _q(network, quick), slow_s)
    if deep:
        slowest, deep_s = _timed(lambda: run_peer(peer, network, starts, lr_init=0.03, max_iters=20_000))
        _row("fixed-point-finder, deep", deep_s, _q(network, slowest), ours_s)


def _scaling(network: Network) -> None:
    for count in (1_000, 10_000):
        many = noisy_states(network, count, seed=1)
        points, seconds = _timed(lambda many=many: find_fixed_points(network, many), 2)
        print(f"{count:>6} starts: {seconds:.2f} s, {int(points.converged.sum())} converged")


def _jacobians(network: Network, states: Tensor, peer: Path | None) -> None:
    _, seconds = _timed(lambda: jacobians(network, states), 8)
    print(f"Jacobians (recurrent and input) of {len(states)} points: {1e3 * seconds:.1f} ms", end="")
    if peer:
        few = states[:64]
        finder = _finder(peer, network)
        fps = sys.modules["FixedPoints"].FixedPoints(
            xstar=few.cpu().numpy(), inputs=_zeros(network, len(few)), dtype_complex=np.complex64
        )
        _, theirs = _timed(lambda: finder._compute_recurrent_jacobians(fps))
        theirs *= len(states) / len(few)
        print(
            f"; fixed-point-finder, recurrent alone, from {len(few)}: {theirs:.1f} s, {theirs / seconds:.0f}×", end=""
        )
    print()


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
    finder = _finder(peer, network, **options)
    found = finder._run_joint_optimization(
        starts.cpu().numpy().copy(), _zeros(network, len(starts))
    )  # it writes into them
    return torch.as_tensor(np.asarray(found.xstar), dtype=starts.dtype, device=starts.device)


def _finder(peer: Path, network: Network, **options: Any) -> Any:
    sys.path.insert(0, str(peer))
    from FixedPointFinderTorch import FixedPointFinderTorch

    rnn = nn.GRU(network.inputs, network.size, batch_first=True, device=network.h0.device)
    cell = network.cell
    names = {"weight_ih_l0": cell.W, "weight_hh_l0": cell.U, "bias_ih_l0": cell.b, "bias_hh_l0": cell.c}
    rnn.load_state_dict({name: weight.detach() for name, weight in names.items()})
    return FixedPointFinderTorch(rnn, verbose=False, super_verbose=False, **options)


def _zeros(network: Network, count: int) -> np.ndarray:
    return np.zeros((count, network.inputs), dtype=np.float32)


def _truth(network: Network, starts: Tensor) -> list[float]:
    """Logits of the fixed points that dense Newton in float64 finds from 256 of the states, relaxed or not."""
    double = copy.deepcopy(network).double()
    problem = _problem(double, double.h0.new_zeros(double.inputs).detach())
    search = Search.begin(problem, starts[:256].double())
    newton_dense(problem, search, 1e-24)
    found = search.h[search.q <= 1e-20]
    logits = double.logit(found).detach().sort().values
    return (
        [x.item() for x in logits[torch.cat([torch.ones(1, device=logits.device), logits.diff()]) > 1e-3]]
        if len(logits)
        else []
    )


def _q(network: Network, states: Tensor) -> Tensor:
    double = copy.deepcopy(network).double()
    with torch.no_grad():
        return 0.5 * (double.step(states.double()) - states.double()).square().sum(-1)


def _timed(run: Any, rounds: int = 1) -> tuple[Any, float]:
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        result = run()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return result, best


def _row(name: str, seconds: float, q: Tensor, reference: float) -> None:
    share = 100 * float((q <= 1e-12).float().mean())
    print(
        f"{name:28s} {seconds:9.3f} s  q median {q.median():.0e}, max {q.max():.0e}, q ≤ 1e-12: {share:5.1f} %"
        f"  {seconds / reference:7.1f}× ours", flush=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
