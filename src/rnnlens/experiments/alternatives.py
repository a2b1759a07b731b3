"""Other ways to make one score of several networks' scores, to be compared with the recommended one."""

from __future__ import annotations

import numpy as np


def alternatives(scores: np.ndarray, counts: np.ndarray) -> dict[str, np.ndarray]:
    """Of scores (K, M) of K networks that are not shrunk by frequency, and occurrences (M,)."""
    return {
        "mean, not shrunk": scores.mean(0),
        "mean by its standard error": moderated(scores),
        "mean by its reliability": scores.mean(0) * reliability(scores, counts),
    }


def moderated(scores: np.ndarray) -> np.ndarray:
    """The mean over networks, the less of it the less they agree on the word: times s₀/√(s₀² + s²) with s the mean's
    standard error, of which s₀ is the median."""
    error = scores.std(0, ddof=1) / len(scores) ** 0.5
    usual = max(float(np.median(error)), 1e-12)
    return scores.mean(0) * usual / np.sqrt(usual**2 + error**2)


def reliability(scores: np.ndarray, counts: np.ndarray, group: int = 500) -> np.ndarray:
    """Empirical Bayes: of the variance of the mean, among words of like frequency, the share that is not networks'
    disagreement, (M,); it does not fall with frequency."""
    order = np.argsort(counts, kind="stable")
    at, found = [], []
    for rows in np.array_split(order, max(1, len(order) // group)):
        noise = (scores[:, rows].var(0, ddof=1) / len(scores)).mean()
        at.append(np.log(np.maximum(counts[rows], 1)).mean())
        found.append(max(0.0, 1 - noise / max(float(scores[:, rows].mean(0).var()), 1e-30)))
    return np.interp(np.log(np.maximum(counts, 1)), at, np.maximum.accumulate(found))
