"""Other ways to make one score of networks' strengths, to be compared with the recommended one."""

from __future__ import annotations

import numpy as np
import torch

from rnnlens.context.strength import PRIOR, sure_scores


def recommended(strengths: np.ndarray, lasting: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The score of K networks with strengths (K, M) and lasting valences (K, M), as `find_modifiers` computes it."""
    parts = strengths.mean(0), mean_valence(lasting), counts
    mean, usual, seen = (torch.from_numpy(np.ascontiguousarray(part)) for part in parts)
    return sure_scores(mean, usual, seen).numpy()


def mean_valence(lasting: np.ndarray) -> np.ndarray:
    """Of K networks' valences (K, M), each by its own scale."""
    return (lasting / np.maximum(lasting.std(1, keepdims=True), 1e-30)).mean(0)


def alternatives(strengths: np.ndarray, lasting: np.ndarray, counts: np.ndarray) -> dict[str, np.ndarray]:
    """Of K networks' strengths and lasting valences (K, M), and occurrences (M,)."""
    mean = strengths.mean(0)
    found = {
        "strength": mean,
        "strength, shrunk": mean * counts / (counts + PRIOR),
        "strength beyond chance": recommended(strengths, lasting, np.full_like(counts, 10**12)),
    }
    return found if len(strengths) < 2 else {**found, "strength by its standard error": moderated(strengths)}


def moderated(strengths: np.ndarray) -> np.ndarray:
    """The mean over networks, the less of it the less they agree on the word: times s₀/√(s₀² + s²) with s the mean's
    standard error, of which s₀ is the median."""
    error = strengths.std(0, ddof=1) / len(strengths) ** 0.5
    usual = max(float(np.median(error)), 1e-12)
    return strengths.mean(0) * usual / np.sqrt(usual**2 + error**2)
