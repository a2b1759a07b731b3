"""Whether torch differentiates a user's step completely.

What a step detaches, as in `torch.cat([a.detach(), b])`, is constant for torch, without an error: derivatives are
compared with finite differences. A derivative of exactly 0 where the result changes is an error. One that is not 0 but
far from the change gives a warning: a gate may be detached, but a step may also have such a derivative on purpose (a
straight-through estimator). Where the result does not change smoothly, derivatives are never questioned.

Shapes: S states, N flat state, D embedding, K numbers of the result, C numbers of h or e.
"""

from __future__ import annotations

import warnings
from weakref import WeakSet

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensWarning
from rnnlens.networks import Network
from rnnlens.networks.adapters import Adapted

STATES, NUMBERS = 16, 64  # states that are tried, and the most numbers of each that are compared
ROWS = 256  # states in a batch
AGREED = 6  # of the states, where the result must change
SIZES = (1.0, 0.5, 2.0)  # of the finite differences, all of which must agree: at a kink or a jump they do not
CLOSE = 0.1  # relative difference up to which they agree
NOISE = 32  # units of rounding that a change must exceed
FAR = 0.2  # relative difference from which on a derivative is far from the change

_CHECKED: WeakSet[Adapted] = WeakSet()


def check_attached(network: Network) -> None:
    """Raise a RuntimeError if a user's step depends on a part of h or e that it detaches, and warn if a derivative is
    far from the change of the result. Each step is checked once, at a few states around h0 and inputs around words."""
    for cell in network.cell.modules():
        if not isinstance(cell, Adapted) or cell in _CHECKED:
            continue
        tried = _tried(network, cell)
        for argument, name in enumerate("he"):
            missing, far = _compared(cell, tried, argument)
            if missing is not None:
                k, c = missing
                raise RuntimeError(
                    f"its result is detached from {name}: component {k} of the new state changes with component {c} of "
                    f"{name} (counted from 0), but torch's derivative is 0"
                )
            if far is not None:
                k, c = far
                warning = (
                    f"torch's derivative of step(h, e) differs from its change: component {k} of the new state by "
                    f"component {c} of {name} (counted from 0); if the step detaches a part, Jacobians lack its effect"
                )
                warnings.warn(RnnlensWarning(warning), stacklevel=2)
        _CHECKED.add(cell)


@torch.no_grad()
def _tried(network: Network, cell: Adapted) -> tuple[Tensor, Tensor]:
    """States (S, N) and inputs (S, D). They have no zeros, where |x| and max(x, 0) have a kink."""
    generator, h0 = torch.Generator().manual_seed(0), network.h0.detach()
    h = h0 + 0.1 * torch.randn(STATES, cell.size, generator=generator).to(h0)
    e = torch.randn(STATES, cell.inputs, generator=generator).to(h0)
    if network.E is not None and len(network.E):
        e = network.E.detach()[torch.arange(STATES, device=e.device) % len(network.E)] + 0.1 * e
    return h, e


Pair = tuple[int, int] | None


def _compared(cell: Adapted, at: tuple[Tensor, Tensor], argument: int) -> tuple[Pair, Pair]:
    """Two pairs of a number of the result and a number of an argument with which it changes in several states: one
    with derivative 0 in all of them, and one with a derivative far from the change in several. None if there are none,
    or if torch has no derivative."""
    results, numbers = (_spread(size, at[0]) for size in (cell.size, at[argument].shape[-1]))
    try:
        slopes = _derivatives(cell, at, argument, results)[..., numbers]
    except RuntimeError:  # torch's own, told where derivatives are needed
        return None, None
    parts = zip(*(x.split(max(1, ROWS // len(numbers))) for x in at), strict=True)
    found = [_changes(cell, part, argument, numbers) for part in parts]
    moved, change = (torch.cat(columns)[..., results].transpose(1, 2) for columns in zip(*found, strict=True))

    def pair(wrong: Tensor, right: Tensor | None = None) -> Pair:
        there = (moved & wrong).sum(0) >= AGREED
        there = (there if right is None else there & ~(moved & right).any(0)).nonzero()
        return (int(results[there[0, 0]]), int(numbers[there[0, 1]])) if len(there) else None

    return pair(slopes == 0, slopes != 0), pair((slopes - change).abs() > FAR * change.abs())


def _spread(size: int, like: Tensor) -> Tensor:
    """At most `NUMBERS` of the numbers below `size`, spread evenly."""
    return torch.linspace(0, size - 1, min(size, NUMBERS), device=like.device).round().long()


def _derivatives(cell: Adapted, at: tuple[Tensor, Tensor], argument: int, results: Tensor) -> Tensor:
    """The derivatives of some numbers of the result with respect to an argument, by torch: (S, K, N or D)."""
    points = [x.clone().requires_grad_(i == argument) for i, x in enumerate(at)]
    with torch.enable_grad():
        new = cell.step(*points)
        if not new.requires_grad:
            return torch.zeros(len(new), len(results), points[argument].shape[-1], device=new.device)
        rows = [
            torch.autograd.grad(new[:, k].sum(), points[argument], retain_graph=True, materialize_grads=True)[0]
            for k in results
        ]
    return torch.stack(rows, 1)


@torch.no_grad()
def _changes(cell: Adapted, at: tuple[Tensor, ...], argument: int, numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Which numbers of the result change smoothly with some numbers of an argument, (S, C, N): by the same slope over
    all sizes, and by more than rounding. And these slopes, (S, C, N)."""
    eps = torch.finfo(at[0].dtype).eps
    step = eps ** (1 / 3)  # the size with the least error of rounding and curvature together
    points = [x.unsqueeze(1).expand(-1, len(numbers), -1) for x in at]
    along, rows = torch.zeros_like(points[argument]), torch.arange(len(numbers), device=numbers.device)
    along[:, rows, numbers] = step * (0.1 + at[argument][:, numbers].abs())
    slopes, largest = [], at[0].new_tensor(1.0)
    for size in SIZES:
        ends = []
        for sign in (1, -1):
            given = [x + sign * size * along if i == argument else x for i, x in enumerate(points)]
            ends.append(cell.step(*given))
        slopes.append((ends[0] - ends[1]) / size)
        largest = torch.maximum(largest, ends[0].abs().max())
    agree = [(slope - slopes[0]).abs() <= CLOSE * slopes[0].abs() for slope in slopes[1:]]
    moved = torch.stack(agree).all(0) & (slopes[0].abs() * min(SIZES) > NOISE * eps * largest)
    return moved, slopes[0] / (2 * along.sum(-1, keepdim=True))
