"""Whether a part of a user's step is constant for torch alone.

What a step detaches, as in `torch.cat([a.detach(), b])`, has the derivative 0, without an error. Derivatives that are
exactly 0 are compared with finite differences, except where the result does not change smoothly.

Shapes: S states, N flat state, D embedding, K components of the result, C components of h or e.
"""

from __future__ import annotations

from weakref import WeakSet

import torch
from torch import Tensor

from rnnlens.networks import Network
from rnnlens.networks.adapters import Adapted

STATES, MOST = 16, 32  # states that are tried, and the most components of each that are compared
AGREED = 6  # of the states, where the result must change
SIZES = (1.0, 0.5, 2.0)  # of the finite differences, all of which must agree: at a kink or a jump they do not
CLOSE = 0.1  # relative difference up to which they agree
NOISE = 32  # units of rounding that a change must exceed

_CHECKED: WeakSet[Adapted] = WeakSet()


def check_attached(network: Network) -> None:
    """Raise a RuntimeError if a user's step depends on a part of h or e that it detaches. Each step is checked once, at
    a few states around h0 and inputs around words, which have no zeros: there |x| and max(x, 0) have a kink."""
    for cell in network.cell.modules():
        if not isinstance(cell, Adapted) or cell in _CHECKED:
            continue
        generator, h0 = torch.Generator().manual_seed(0), network.h0.detach()
        h = h0 + 0.1 * torch.randn(STATES, cell.size, generator=generator).to(h0)
        e = torch.randn(STATES, cell.inputs, generator=generator).to(h0)
        if network.E is not None and len(network.E):
            e = network.E.detach()[torch.arange(STATES, device=e.device) % len(network.E)] + 0.1 * e
        for argument, name in enumerate("he"):
            detached = _detached(cell, (h, e), argument)
            if detached is not None:
                k, c = detached
                raise RuntimeError(
                    f"its result is detached from {name}: component {k} of the new state changes with component {c} of "
                    f"{name} (counted from 0), but torch's derivative is 0"
                )
        _CHECKED.add(cell)


def _detached(cell: Adapted, at: tuple[Tensor, Tensor], argument: int) -> tuple[int, int] | None:
    """A component of the result and one of an argument with which it changes in several states, while its derivative is
    0 in all of them. None if there is none, or if torch has no derivative."""
    results, numbers = (
        torch.linspace(0, size - 1, min(size, MOST), device=at[0].device).round().long()
        for size in (cell.size, at[argument].shape[-1])
    )
    points = [x.clone().requires_grad_(i == argument) for i, x in enumerate(at)]
    slopes = at[0].new_zeros(len(numbers), len(results), dtype=torch.bool)  # whether any derivative is not 0
    try:
        with torch.enable_grad():
            new = cell.step(*points)
            for i, k in enumerate(results if new.requires_grad else ()):
                total = new[:, k].sum()
                row = torch.autograd.grad(total, points[argument], retain_graph=True, materialize_grads=True)[0]
                slopes[:, i] = (row[:, numbers] != 0).any(0)
    except RuntimeError:  # torch's own, told where derivatives are needed
        return None
    changes = _changes(cell, at, argument, numbers)[..., results].sum(0) >= AGREED
    found = (changes & ~slopes).nonzero().tolist()
    return (int(results[found[0][1]]), int(numbers[found[0][0]])) if found else None


@torch.no_grad()
def _changes(cell: Adapted, at: tuple[Tensor, Tensor], argument: int, numbers: Tensor) -> Tensor:
    """Which components of the result change smoothly with some components of an argument, (S, C, N): by the same slope
    over all sizes, and by more than rounding."""
    eps = torch.finfo(at[0].dtype).eps
    step = eps ** (1 / 3)  # the size with the least error of rounding and curvature together
    points = [x.unsqueeze(1).expand(-1, len(numbers), -1) for x in at]
    along, rows = torch.zeros_like(points[argument]), torch.arange(len(numbers), device=numbers.device)
    along[:, rows, numbers] = step * (0.1 + at[argument][:, numbers].abs())
    slopes, largest = [], at[0].new_tensor(1.0)
    for size in SIZES:
        one, other = (
            cell.step(*(x + sign * size * along if i == argument else x for i, x in enumerate(points)))
            for sign in (1, -1)
        )
        slopes.append((one - other) / size)
        largest = torch.maximum(largest, one.abs().max())
    agree = [(slope - slopes[0]).abs() <= CLOSE * slopes[0].abs() for slope in slopes[1:]]
    return torch.stack(agree).all(0) & (slopes[0].abs() * min(SIZES) > NOISE * eps * largest)
