"""How sure an accuracy is."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

Z = NormalDist().inv_cdf(0.975)


def accuracy_interval(accuracy: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of an accuracy on n texts. (Importing scipy.stats for it takes longer than an audit.)"""
    middle, half = accuracy + Z * Z / (2 * n), Z * sqrt(accuracy * (1 - accuracy) / n + (Z / (2 * n)) ** 2)
    low, high = (middle - half) / (1 + Z * Z / n), (middle + half) / (1 + Z * Z / n)
    return low if accuracy > 0 else 0.0, high if accuracy < 1 else 1.0
