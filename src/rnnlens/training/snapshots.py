"""`train(…, snapshots=N)`: the weights at N moments of a training. `Run.at(step)` opens them."""

from __future__ import annotations

from pathlib import Path

from rnnlens.common.files import write_tensors
from rnnlens.common.provenance import KEY
from rnnlens.networks import AnyNetwork
from rnnlens.runs.weights import snapshot_path, weights_of
from rnnlens.training.checkpoint import Weights

EARLY = 100  # moments are linear in the steps up to this fraction of the training, and logarithmic after it


def moments(total: int, count: int | None) -> list[int]:
    """`count` different steps from 0 to `total`, closer together at the beginning; all steps if there are fewer."""
    if count is None:
        return []
    count = min(count, total + 1)
    if count < 2:
        return [total]
    scale, steps = total / EARLY, [0]
    for k in range(1, count):
        step = round(scale * ((1 + EARLY) ** (k / (count - 1)) - 1))
        steps.append(min(max(step, steps[-1] + 1), total - (count - 1 - k)))
    return steps


def write_snapshot(out: Path, step: int, network: AnyNetwork, average: Weights | None, mark: str) -> None:
    """Write the weights after this many steps: averaged, if the run averages. mark: the fingerprint of the run."""
    weights = weights_of(network) | (average or {})
    write_tensors(snapshot_path(out, step), weights, {KEY: {"run": mark}})
