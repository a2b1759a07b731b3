"""Whether torch differentiates a user's step completely.

A part of the state that a step detaches, as in `torch.cat([a.detach(), b])`, is constant for torch: its derivatives are
exactly 0, without an error. They are compared with finite differences. A derivative that is not 0 is never questioned:
a step with a hard threshold may have one on purpose, where finite differences are 0 (straight-through, surrogate).

Shapes: S states, N flat state, D embedding, K numbers of the result, C numbers of h or e.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rnnlens.networks import Network
from rnnlens.networks.adapters import Adapted

STATES, NUMBERS = 16, 64  # states that are tried, and the most numbers of each that are compared
ROWS = 256  # states in a batch
AGREED = 6  # of the states, where the result must change
SIZES = (1.0, 0.5, 2.0)  # of the finite differences, all of which must agree: at a kink or a jump they do not
CLOSE = 0.1  # relative difference up to which they agree
NOISE = 32  # units of rounding that a change must exceed


def check_attached(network: Network) -> None:
    """Raise a RuntimeError if a user's step depends on a part of h or e that it detaches. Each step is checked once, at
    a few states around h0 and inputs around words."""
    for cell in network.cell.modules():
        if not isinstance(cell, Adapted) or cell.attached:
            continue
        tried = _tried(network, cell)
        for argument, name in enumerate("he"):
            missing = _missing(cell, tried, argument)
            if missing is not None:
                k, c = missing
                raise RuntimeError(
                    f"its result is detached from {name}: number {k} of it changes with number {c} of {name} "
                    "(both from 0), but has derivative 0"
                )
        cell.attached = True


@torch.no_grad()
def _tried(network: Network, cell: Adapted) -> tuple[Tensor, Tensor]:
    """States (S, N) and inputs (S, D). They have no zeros, where |x| and max(x, 0) have a kink."""
    generator, h0 = torch.Generator().manual_seed(0), network.h0.detach()
    h = h0 + 0.1 * torch.randn(STATES, cell.size, generator=generator).to(h0)
    e = torch.randn(STATES, cell.inputs, generator=generator).to(h0)
    if network.E is not None and len(network.E):
        e = network.E.detach()[torch.arange(STATES, device=e.device) % len(network.E)] + 0.1 * e
    return h, e


def _missing(cell: Adapted, at: tuple[Tensor, Tensor], argument: int) -> tuple[int, int] | None:
    """A number k of the result and a number c of an argument, such that k changes with c in several states, but has
    derivative 0 in all of them; None if there are none, or if torch has no derivative."""
    results, numbers = (_spread(size, at[0]) for size in (cell.size, at[argument].shape[-1]))
    try:
        slopes = _derivatives(cell, at, argument, results)[..., numbers]
    except RuntimeError:  # torch's own, told where derivatives are needed
        return None
    moved = torch.cat(
        [
            _moved(cell, parts, argument, numbers)[..., results].transpose(1, 2)
            for parts in zip(*(x.split(max(1, ROWS // len(numbers))) for x in at), strict=True)
        ]
    )
    found = (((moved & (slopes == 0)).sum(0) >= AGREED) & ~(moved & (slopes != 0)).any(0)).nonzero()
    return (int(results[found[0, 0]]), int(numbers[found[0, 1]])) if len(found) else None


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
def _moved(cell: Adapted, at: tuple[Tensor, ...], argument: int, numbers: Tensor) -> Tensor:
    """Which numbers of the result change smoothly with some numbers of an argument, (S, C, N): by the same slope over
    all sizes, and by more than rounding."""
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
    return torch.stack(agree).all(0) & (slopes[0].abs() * min(SIZES) > NOISE * eps * largest)
