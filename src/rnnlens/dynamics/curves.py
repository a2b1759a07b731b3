"""A curve through slow points, by the logit: its fit, how much of it holds the logit, and how far it still reaches.

Shapes: K points, N flat state, M knots.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rnnlens.dynamics.fixed_points import FixedPoints
from rnnlens.networks import Network

NEAR = 0.05  # a point is near a knot if they differ by at most this share of the curve's range
CROSSED = 20  # words in which the effects of modifiers are over: what moves along the curve is to take longer
FEW = 5  # steps over which its movement is averaged


def local_regression(h: Tensor, s: Tensor, at: Tensor, width: float) -> tuple[Tensor, Tensor]:
    """Weighted linear regressions of h (K, N) on s (K,), one around each of `at` (M,): values (M, N), slopes (M, N).

    Each kernel is at least as wide as the distance to its sixth nearest point."""
    distance = (s.unsqueeze(0) - at.unsqueeze(1)).abs()
    sixth = distance.kthvalue(min(len(s), 6), dim=1).values
    scale = torch.maximum(torch.full_like(at, width), sixth).unsqueeze(1)
    weight = torch.exp(-0.5 * (distance / scale) ** 2)
    weight = weight / weight.sum(1, keepdim=True)
    mean_s, mean_h = weight @ s, weight @ h
    centred = s.unsqueeze(0) - mean_s.unsqueeze(1)
    variance = (weight * centred.square()).sum(1, keepdim=True)
    slope = ((weight * centred) @ h) / variance.clamp(min=torch.finfo(h.dtype).tiny)
    spread = variance > 1e-9 * scale.square()  # of points with one s, slopes would be rounding errors
    slope = torch.where(spread, slope, 0.0)
    return mean_h + (at - mean_s).unsqueeze(1) * slope, slope


def nearest_on(knots: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For states h (..., N): the nearest point of the polygon through the knots (..., N), the index of its segment
    (...), and its position on the segment, 0 … 1 (...)."""
    # In float64: near the line, squared distances are small differences of large numbers.
    flat, knots = h.reshape(-1, h.shape[-1]).double(), knots.double()
    start, edge = knots[:-1], knots[1:] - knots[:-1]
    length = edge.square().sum(1).clamp(min=torch.finfo(h.dtype).tiny)
    # For every state and segment: the position of its projection, and the squared distance to it.
    reach = flat @ edge.t() - (start * edge).sum(1)
    along = (reach / length).clamp(0, 1)
    distance = torch.cdist(flat, start).square() - 2 * along * reach + along.square() * length
    left = distance.argmin(1)
    along = along.gather(1, left.unsqueeze(1)).squeeze(1)
    point = start[left] + along.unsqueeze(1) * edge[left]
    return point.to(h).reshape(h.shape), left.reshape(h.shape[:-1]), along.to(h).reshape(h.shape[:-1])


def near_knots(values: Tensor, at: Tensor) -> Tensor:
    """Which of the equally spaced numbers `at` (M,) have one of the values (K,) near them, (M,)."""
    values = values.sort().values
    right = torch.searchsorted(values, at).clamp(1, len(values) - 1)
    apart = torch.minimum((values[right] - at).abs(), (values[right - 1] - at).abs())
    return apart <= NEAR * (at[-1] - at[0])


def held_share(network: Network, points: FixedPoints | Tensor, knots: Tensor, logits: Tensor, e: Tensor) -> float:
    """The share of the knots (M, N), which are equally spaced by their logits (M,), that have a point near them or hold
    their logit: `FEW` steps move it by so little that the whole curve would take `CROSSED`. Between separate fixed
    points, as those of a switch, states do neither. (One step does not tell: between points that are far apart the
    curve lies off the states that hold, to which the first step returns.)"""
    states: Tensor = points.states if isinstance(points, FixedPoints) else points
    start = h = knots[~near_knots(network.logit(states).to(logits), logits)].to(states)
    if not len(start):  # a user's step may not take a batch of no states
        return 1.0
    for _ in range(FEW):
        h = network.step(h, e)
    held = (network.logit(h) - network.logit(start)).abs() <= FEW / CROSSED * (logits[-1] - logits[0])  # NaN is not
    return 1 - int((~held).sum()) / len(knots)


def spread_left(points: FixedPoints, direction: Tensor) -> float:
    """The standard deviation of the points along a direction (N,), as a share of that of their starts; 1 if the starts
    do not differ along it."""
    before, after = ((states.double() @ direction).std(correction=0) for states in (points.starts, points.states))
    return float(after / before) if float(before) > 0 else 1.0
