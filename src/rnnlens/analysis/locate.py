"""Where to measure: the slow points of a network, the line through them, and the probe words, found or stored."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import understood
from rnnlens.context.impulse import settle
from rnnlens.context.probes import Probes
from rnnlens.dynamics import FixedPoints, LineAttractor, find_fixed_points, fit_line_attractor, visited_states
from rnnlens.networks import Network
from rnnlens.runs import Run

SETTLE = (200, 100, 50, 20, 10, 0)  # blank inputs before slow points are sought: fast decay is not the line


def states_of(network: Network, run: Run | None, corpus: Any = None, n: int = 2_000, seed: int = 0) -> Tensor:
    """Visited states (K, N) to seek slow points from: the sample that a run stored, those of a corpus, or after random
    words."""
    stored = run.states() if run is not None and corpus is None else None
    if stored is not None:
        return stored
    source = None if corpus is None else getattr(corpus, "validation", None) or corpus
    longest = None if run is None else run.config.max_words
    return visited_states(network, source, n=n, seed=seed, max_words=longest)


def find_line(network: Network, states: Tensor) -> tuple[FixedPoints, LineAttractor, int, str]:
    """Slow points and the curve through them, after as many blank inputs as leave half of the spread along the readout,
    and half of the states in its middle.

    Blank inputs take away transients, but where the line leaks, or drifts to its ends, they take the line away too. A
    network whose slow points are all one has no line at all: the curve is then through the visited states themselves,
    and `is_line` tells."""
    logits = network.logit(states)
    middle, spread = logits.median(), logits.std()

    def inside(at: Tensor) -> Tensor:
        return ((at - middle).abs() <= 0.5 * spread).double().mean()

    for settled in SETTLE:
        rested = settle(network, states, settled)
        left = network.logit(rested)
        if left.std() >= 0.5 * spread and inside(left) >= 0.5 * inside(logits):
            break
    points = find_fixed_points(network, rested, mode="slow")
    try:
        return points, fit_line_attractor(network, points), settled, "slow points"
    except RnnlensError:
        return points, fit_line_attractor(network, rested), settled, "visited states"


def stored_line(run: Run) -> LineAttractor:
    """The line attractor of an analysed run, from the slow points it stored."""
    path = run.path / "analysis.safetensors"
    if not path.exists():
        raise RnnlensError(
            f"the run {quoted(str(run.path))} is not analysed yet: run `rnnlens analyze {run.path}` first"
        )
    arrays = run.analysed()
    with understood(path, "analysis of this network"):
        slow = arrays["slow_points"].to(run.network.h0).reshape(-1, run.network.size)
    return fit_line_attractor(run.network, slow)


def stored_probes(run: Run | None, network: Network, line: LineAttractor) -> Probes:
    """The probe words an analysed run stored, or else those its network reads most strongly."""
    stored = {} if run is None else run.results.get("probes", {})
    if run is not None and "positive" in stored:
        with understood(run.path / "results.json", "result of rnnlens"):
            return Probes(tuple(stored["positive"]), tuple(stored["negative"]), stored["source"])
    return Probes.from_network(network, line)
