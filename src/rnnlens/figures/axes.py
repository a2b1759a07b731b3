"""Ranges of axes, and the axis of timescales, which can be 0 or infinite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple


def padded(values: Sequence[float], margin: float) -> list[float]:
    """The range of values, extended at both ends by a margin, given as a share of the range."""
    low, high = min(values), max(values)
    extra = margin * ((high - low) or 1.0)
    return [low - extra, high + extra]


class TimescaleAxis(NamedTuple):
    """A logarithmic axis. It cannot show 0 and ∞, so they are drawn at `zero` and `endless`, at its ends."""

    edges: tuple[float, float]
    ticks: dict[float, str]
    zero: float
    endless: float
    border: float | None  # where the part for ∞ begins

    @classmethod
    def of(cls, taus: Sequence[float | None]) -> TimescaleAxis:
        finite = [tau for tau in taus if tau]
        low, high = min(finite, default=0.5) / 1.8, max(finite, default=10.0) * 1.6
        zero, endless = low / 1.6, high * 1.8
        marks = [10.0**k * m for k in range(-4, 8) for m in (1, 3)]
        ticks = {mark: f"{mark:g}" for mark in marks if 1.25 * low <= mark <= high}
        ticks |= ({zero: "0"} if 0 in taus else {}) | ({endless: "∞"} if None in taus else {})
        edges = (zero / 1.4 if 0 in taus else low, endless * 1.5 if None in taus else high)
        return cls(edges, ticks, zero, endless, high if None in taus else None)

    def at(self, tau: float | None) -> float:
        return self.endless if tau is None else tau or self.zero

    def share(self, x: float) -> float:
        """The position of a value along the axis, from 0 (left) to 1 (right)."""
        return math.log(x / self.edges[0]) / math.log(self.edges[1] / self.edges[0])

    def settings(self) -> dict[str, Any]:
        """Keyword arguments of `update_xaxes`."""
        return {
            "type": "log",
            "range": [math.log10(edge) for edge in self.edges],
            "tickvals": list(self.ticks),
            "ticktext": list(self.ticks.values()),
            "zeroline": False,
        }
