"""How well the linear expansion predicts the effects of words, on the line and after modifiers (Supp. A.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.display import Shown
from rnnlens.common.ranges import in_range
from rnnlens.context.effects import check_expansion, effects, linear_effects
from rnnlens.networks import Network


@dataclass(frozen=True, eq=False, repr=False)
class LinearQuality(Shown):
    """Effects of words (V) at states (K), without the readout's bias.

    linear  (K, V)  wᵀ J_inp(h) v
    full    (K, V)  w·[F(h, v) − F(h, 0)]
    """

    linear: Tensor
    full: Tensor

    @property
    def ratio(self) -> float:
        """The paper's number: the mean of |linear / full|. It rewards overshoot, and over- and undershoot cancel."""
        return float((self.linear / self.full).abs().mean())

    @property
    def agreement(self) -> float:
        """1 − Σ|linear − full| / Σ|full|: 1 if the expansion is exact, 0 if it is no better than predicting 0."""
        return float(1 - (self.linear - self.full).abs().sum() / self.full.abs().sum())

    def to_dict(self) -> dict[str, Any]:
        return {
            "ratio": self.ratio,
            "agreement": self.agreement,
            "linear": self.linear.tolist(),
            "full": self.full.tolist(),
        }


@torch.no_grad()
@in_range()
def linear_quality(network: Network, h: Tensor, e: Tensor) -> LinearQuality:
    """Compare the expansions at states h (K, N), or one state (N,), with full updates for embedded words e (V, D)."""
    check_expansion(network, h, e)
    h = h.reshape(-1, network.size)
    return LinearQuality(linear_effects(network, h, e).double(), effects(network, h, e).double())
