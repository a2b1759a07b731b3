"""Places on the attractor of several classes: the evidence that states hold, and slow points with given evidence."""

from __future__ import annotations

import torch
from torch import Tensor

from rnnlens.dynamics.inputs import given_states
from rnnlens.networks import Network

SETTLE = (20, 10, 0)  # numbers of blank inputs tried before the search for slow points; more would leave visited states
NEAR = 50  # slow points from which one with given evidence is estimated


def evidence(network: Network, h: Tensor) -> Tensor:
    """The logits of C classes, centered over classes, (..., C); of ordered classes their scale, (..., 1)."""
    if network.ordered:
        return network.of_class().logit(h).unsqueeze(-1)
    logits = network.logit(h)
    return logits - logits.mean(-1, keepdim=True)


def settled_states(network: Network, states: Tensor) -> tuple[Tensor, int]:
    """States (K, N) after blank inputs, which remove fast transients, and the number of these inputs.

    If the attractor leaks or drifts to its ends, blank inputs remove it too. Their number is the largest of `SETTLE`
    that keeps, for every class, half of the spread of its evidence and half of the states in the middle of it."""
    states = given_states(network, states)
    read = evidence(network, states)
    middle, spread = read.median(0).values, read.std(0)

    def inside(at: Tensor) -> Tensor:
        return ((at - middle).abs() <= 0.5 * spread).double().mean(0)

    for settled in SETTLE:
        rested = states
        for _ in range(settled):
            rested = network.step(rested)
        left = evidence(network, rested)
        if bool((left.std(0) >= 0.5 * spread).all()) and bool((inside(left) >= 0.5 * inside(read)).all()):
            break
    return rested, settled


@torch.no_grad()
def slow_point_at(network: Network, slow: Tensor, wanted: Tensor, turns: int = 5) -> Tensor:
    """The slow point (N,) with the wanted evidence (C,), from slow points (K, N).

    A linear regression of the nearest slow points on their evidence gives a first state. Two moves then alternate: ten
    blank inputs, which remove fast components, and a shift along the regression to the wanted evidence. The result is
    the nearest slow point itself if these states are less slow than it."""
    x, apart = slow.double(), (evidence(network, slow) - wanted).double()
    distance = apart.norm(dim=1)
    near = distance.argsort()[: min(NEAR, len(x))]
    weight = torch.exp(-2 * (distance[near] / distance[near[-1]].clamp(min=1e-12)).square()).sqrt().unsqueeze(1)
    terms = torch.cat([torch.ones_like(weight), apart[near]], 1) * weight
    # Evidence sums to 0, so that one of its C dimensions is empty: the solution is the one of least norm.
    solved = torch.linalg.lstsq(terms.cpu(), (x[near] * weight).cpu(), rcond=1e-8, driver="gelsd").solution.to(slow)
    first, along = solved[0], solved[1:]  # adding v @ along raises the evidence by v
    nearest, h = slow[near[0]], first
    for _ in range(turns):
        for _ in range(10):
            h = network.step(h)
        h = h - (evidence(network, h) - wanted).to(h) @ along

    def speed(at: Tensor) -> float:
        return float((network.step(at) - at).norm())

    best = min((first, h), key=speed)
    return best if speed(best) <= 2 * speed(nearest) + 1e-6 else nearest.clone()


def class_directions(network: Network, h: Tensor) -> Tensor:
    """The gradients (C, N) of the classes' logits at a state (N,), centered over classes: the readouts, if they are
    linear. Of ordered classes they all lie along one direction, from the lowest class to the highest."""
    with torch.enable_grad():
        at = h.detach().clone().requires_grad_()
        logits = network.logit(at)
        rows = torch.stack([torch.autograd.grad(logit, at, retain_graph=True)[0] for logit in logits])
    return (rows - rows.mean(0)).detach()
