"""Three directions to look at states from: their first principal components."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class View:
    """centre (N,), axes (3, N) orthonormal (zero beyond the network's own dimensions), variance (3,): shares of all."""

    centre: Tensor
    axes: Tensor
    variance: list[float]

    def __call__(self, h: Tensor) -> list:
        """Coordinates of states (..., N) as nested lists (..., 3)."""
        return ((h.double() - self.centre) @ self.axes.t()).tolist()


def principal_view(states: Tensor, towards: Tensor) -> View:
    """The first principal components of states (K, N), each pointing to where `towards` (N,) points."""
    states = states.double()
    centre = states.mean(0)
    _, size, axes = torch.linalg.svd(states - centre, full_matrices=False)
    axes, shares = axes[:3], (size.square() / size.square().sum().clamp(min=1e-300))[:3]
    sign = torch.sign(axes @ towards.double())
    axes = axes * torch.where(sign == 0, 1.0, sign).unsqueeze(1)
    missing = 3 - len(axes)
    return View(centre, torch.nn.functional.pad(axes, (0, 0, 0, missing)), [*shares.tolist(), *[0.0] * missing])
