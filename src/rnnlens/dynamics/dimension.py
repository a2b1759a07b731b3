"""How many dimensions a cloud of points has: the participation ratio, and a cross-validated count, with intervals.

The participation ratio (Σ λ)² / Σ λ² of the variances λ along principal axes is n for n equal variances. It has no
threshold, but axes of little variance count little.

The count asks what a readout needs. The principal axes are fitted to one half of the points. The count is the smallest
number of axes from which the readout of the other half is reconstructed to 95 % (R², the mean over outputs, so that
all outputs count the same). A rule about the states alone would not do: states on an attractor of a trained network
have many more axes of small variance that repeat on other points, such as those of a bend, but that nobody reads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

MISSED = 0.05  # largest share of the readout's variance that the counted axes may miss
MOST_AXES = 64  # axes of the points that the count considers
RESAMPLES = 100  # of the bootstrap
INTERVAL = (0.025, 0.975)


@dataclass(frozen=True, eq=False)
class Spread:
    """The principal axes of weighted points, and how many dimensions they fill.

    center (N,), axes (R, N)  orthonormal, largest variance first
    explained (R,)            share of the variance along each
    dimension, interval       participation ratio, 95 % bootstrap interval over points
    count, count_interval     cross-validated number of axes, 95 % bootstrap interval over points
    """

    center: Tensor
    axes: Tensor
    explained: Tensor
    dimension: float
    interval: tuple[float, float]
    count: int
    count_interval: tuple[int, int]


def participation_ratio(variances: Tensor) -> float:
    """(Σ λ)² / Σ λ² of variances (..., R) ≥ 0: n for n equal ones."""
    return float(variances.sum() ** 2 / variances.square().sum().clamp(min=torch.finfo(variances.dtype).tiny))


def least_share(classes: int) -> float:
    """The R² that the counted axes must reach: 95 %. With many classes it is higher, because one of C − 1 equal
    dimensions then explains less than 5 %."""
    return 1 - min(MISSED, 1 / (2 * max(1, classes - 1)))


def spread_of(points: Tensor, weights: Tensor, readouts: Tensor, least: float, seed: int = 0) -> Spread:
    """Axes and dimensions of points (K, N) with weights (K,) and readouts (C, N), whose variance is to be explained.

    least: the share of the readouts' variance that the count asks for."""
    x, w = points.double(), weights.double() / weights.double().sum()
    center = w @ x
    centred = x - center
    variances, axes = _eigen(_covariance(centred, w))
    kept = min(MOST_AXES, len(axes), len(x) - 1)
    z, read = centred @ axes[:kept].t(), readouts.double() @ axes[:kept].t()
    rest = float(variances[kept:].sum()), float(variances[kept:].square().sum())  # of the axes left out: nearly 0
    rng = np.random.default_rng(seed)
    halves = torch.from_numpy(rng.permutation(len(z))).chunk(2)

    def measured(times: Tensor) -> tuple[float, int]:
        """Both measures if each point counts `times` (K,) as much."""
        own = w.cpu() * times
        S = _covariance(z.cpu(), own / own.sum())
        trace, squares = float(S.trace()) + rest[0], float(S.square().sum()) + rest[1]
        parts = [_covariance(z.cpu()[half], own[half] / own[half].sum()) for half in halves]
        return trace**2 / max(squares, 1e-300), _count(parts, read.cpu(), least)

    dimension, count = measured(torch.ones(len(z), dtype=torch.float64))
    drawn = [measured(_resampled(halves, len(z), rng)) for _ in range(RESAMPLES)]
    low, high = np.quantile([one[0] for one in drawn], INTERVAL)
    fewest = np.quantile([one[1] for one in drawn], INTERVAL[0], method="lower")
    most = np.quantile([one[1] for one in drawn], INTERVAL[1], method="higher")
    total = variances.sum().clamp(min=torch.finfo(variances.dtype).tiny)
    return Spread(
        center, axes[:kept], variances[:kept] / total, dimension, (float(low), float(high)), count,
        (int(fewest), int(most)),
    )  # fmt: skip


def _resampled(halves: tuple[Tensor, ...], n: int, rng: np.random.Generator) -> Tensor:
    """How often each of n points is drawn, with replacement within each half, so that no point is in both."""
    times = torch.zeros(n, dtype=torch.float64)
    for half in halves:
        drawn = torch.from_numpy(rng.multinomial(len(half), np.full(len(half), 1 / len(half))))
        times[half] = drawn.double()
    return times


def _covariance(x: Tensor, w: Tensor) -> Tensor:
    centred = x - w @ x
    return (centred * w.unsqueeze(1)).t() @ centred


def _eigen(S: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues (R,), largest first and at least 0, and eigenvectors as rows (R, R)."""
    values, vectors = torch.linalg.eigh(S)
    return values.flip(0).clamp(min=0), vectors.flip(1).t()


def _count(halves: list[Tensor], read: Tensor, least: float) -> int:
    """The smallest number of axes of one half's covariance (R, R) that explains the readouts (C, R) of the other half,
    averaged over both ways."""
    one, other = halves
    explained = (_explained(one, other, read) + _explained(other, one, read)) / 2
    enough = (explained >= least - 1e-9).nonzero()
    return int(enough[0]) + 1 if len(enough) else len(explained)


def _explained(fitted: Tensor, held_out: Tensor, read: Tensor) -> Tensor:
    """R² (R,) of the held-out readouts, mean over readouts, with the first 1, 2, … axes of the fitted covariance.

    What k axes miss has the variance Σ over i, j > k of r_i S_ij r_j, in the coordinates of the axes."""
    axes = _eigen(fitted)[1]
    S, r = axes @ held_out @ axes.t(), read @ axes.t()
    parts = r.unsqueeze(2) * S * r.unsqueeze(1)  # (C, R, R)
    from_here = parts.flip(1, 2).cumsum(1).cumsum(2).diagonal(dim1=1, dim2=2).flip(1)  # sums over i, j ≥ k
    total, missed = from_here[:, 0], torch.cat([from_here[:, 1:], torch.zeros_like(from_here[:, :1])], 1)
    read_at_all = total > 1e-12 * total.max()
    return (1 - missed[read_at_all] / total[read_at_all].unsqueeze(1)).mean(0)
