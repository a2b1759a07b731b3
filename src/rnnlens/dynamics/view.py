"""Coordinates for plots of states: their first three principal components."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class View:
    """centre (N,): the mean; axes (3, N): orthonormal, or zero beyond N dimensions; variance (3,): their shares."""

    centre: Tensor
    axes: Tensor
    variance: list[float]

    def __call__(self, h: Tensor) -> list:
        """Coordinates of states (..., N) as nested lists (..., 3)."""
        return ((h.double() - self.centre) @ self.axes.t()).tolist()


def principal_view(states: Tensor, towards: Tensor) -> View:
    """The first three principal components of states (K, N), signed to point in the direction `towards` (N,)."""
    states = states.double()
    centre = states.mean(0)
    _, size, axes = torch.linalg.svd(states - centre, full_matrices=False)
    axes, shares = axes[:3], (size.square() / size.square().sum().clamp(min=1e-300))[:3]
    sign = torch.sign(axes @ towards.double())
    axes = axes * torch.where(sign == 0, 1.0, sign).unsqueeze(1)
    missing = 3 - len(axes)
    return View(centre, torch.nn.functional.pad(axes, (0, 0, 0, missing)), [*shares.tolist(), *[0.0] * missing])
