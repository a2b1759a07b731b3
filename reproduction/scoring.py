"""Scores of measured words against the truth: which are modifiers, their kinds, strengths and timescales.

Intervals are 95 %, by bootstrap over words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reproduction.languages import Truth
from rnnlens.context.modifiers import Modifiers
from rnnlens.context.strength import LEAST_ERRORS, MODIFIERS, kind_of

DRAWS = 1_000
NEAR = 0.3  # largest relative error of a τ that counts as right


def average_precision(size: np.ndarray, positive: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Average precision: the mean over modifiers of the precision among all words of at least the same size. Words of
    equal size are one step. weight (n,): how often each word counts."""
    order = np.argsort(-size, kind="stable")
    size, hits = size[order], positive[order].astype(np.float64)
    weight = np.ones(len(size)) if weight is None else weight[order]
    last = np.append(size[1:] != size[:-1], True)
    hit_counts, counts = np.cumsum(hits * weight)[last], np.cumsum(weight)[last]
    if hit_counts[-1] == 0:
        return 0.0
    return float((np.diff(hit_counts, prepend=0.0) * hit_counts / np.maximum(counts, 1e-300)).sum() / hit_counts[-1])


def ranking(size: np.ndarray, positive: np.ndarray, seed: int = 0, draws: int = DRAWS) -> dict[str, Any]:
    """How well the order by size ranks modifiers before other words: average precision with its interval."""
    order = np.argsort(-size, kind="stable")
    size, positive = size[order], positive[order]  # sorting sorted values again is quick
    generator = np.random.default_rng(seed)
    drawn = [average_precision(size, positive, generator.poisson(1.0, len(size)).astype(float)) for _ in range(draws)]
    return {"value": average_precision(size, positive), "interval": np.quantile(drawn, [0.025, 0.975]).tolist()}


def agreement(measured: np.ndarray, true: np.ndarray, seed: int = 0) -> dict[str, Any]:
    """The correlation of measured with true values; `slope` is that of the regression of measured on true values."""
    if len(true) < 3 or np.ptp(true) == 0 or np.ptp(measured) == 0:
        return {"n": len(true), "r": None, "interval": None, "slope": None}
    interval = _bootstrap(lambda at: float(np.corrcoef(true[at], measured[at])[0, 1]), len(true), seed)
    return {
        "n": len(true),
        "r": float(np.corrcoef(true, measured)[0, 1]),
        "interval": interval,
        "slope": float(np.polyfit(true, measured, 1)[0]),
    }


def kinds(called: list[str], share: np.ndarray, positive: np.ndarray) -> dict[str, float | None]:
    """Measured kinds (`called`) against the kinds that follow by definition from the true strengths `share` (M,).

    right: the share of true modifiers with the right kind. precision: the share of words called modifiers that are."""
    true = [kind_of(value) for value in share.tolist()]
    right = np.array([c == t for c, t in zip(called, true, strict=True)])
    named = np.array([kind in MODIFIERS for kind in called])
    changes = np.array([kind in MODIFIERS for kind in true])
    return {"right": _mean(right[changes]), "precision": _mean(positive[named])}


def near(measured: np.ndarray, true: np.ndarray) -> float | None:
    """The share of τ within 30 % of the truth; a modifier without a τ counts as wrong."""
    with np.errstate(invalid="ignore"):
        return _mean(np.abs(measured - true) <= NEAR * true)


def within(measured: np.ndarray, true: np.ndarray, error: np.ndarray) -> float | None:
    """The share of true values within ± 2 errors of the measured values."""
    return _mean(np.abs(measured - true) <= LEAST_ERRORS * error)


def score_modifiers(modifiers: Modifiers, truth: Truth, seed: int = 0) -> dict[str, Any]:
    """All scores of the measured words: rankings by |strength|, by norm and in the order of the list; strengths, kinds
    and τ of the true modifiers; how often strengths are within ± 2 errors of the truth."""
    ids = modifiers.ids.cpu().numpy()
    strength, error, norm, tau = (
        x.double().cpu().numpy() for x in (modifiers.strength, modifiers.error, modifiers.norm, modifiers.tau)
    )
    positive, share = np.isin(ids, truth.modifiers), truth.share[ids]
    place = np.empty(len(ids))
    place[modifiers.order.cpu().numpy()] = np.arange(len(ids))
    return {
        "words": len(ids),
        "modifiers": int(positive.sum()),
        "average_precision": {
            name: ranking(size, positive, seed)
            for name, size in {"strength": np.abs(strength), "norm": norm, "order": -place}.items()
        },
        "strength": agreement(strength[positive], share[positive], seed),
        "kinds": kinds(list(modifiers.kinds), share, positive),
        "tau": {"within": near(tau[positive], truth.tau[ids[positive]])},
        "coverage": {
            "modifiers": within(strength[positive], share[positive], error[positive]),
            "other_words": within(strength[~positive], share[~positive], error[~positive]),
            "seeds": between_seeds(modifiers),
        },
    }


def between_seeds(modifiers: Modifiers) -> float | None:
    """For a consensus: how often the strengths of two networks differ by at most 2 errors of their difference."""
    strengths, errors = (
        [getattr(one, name).double().cpu().numpy() for one in modifiers.members] for name in ("strength", "error")
    )
    pairs = [(i, j) for i in range(modifiers.networks) for j in range(i)] if modifiers.members else []
    shares = [within(strengths[i], strengths[j], np.hypot(errors[i], errors[j])) for i, j in pairs]
    return float(np.mean([share for share in shares if share is not None])) if shares else None


def _bootstrap(measure: Callable[[np.ndarray], float], n: int, seed: int, draws: int = DRAWS) -> list[float]:
    generator = np.random.default_rng(seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = [measure(generator.integers(0, n, n)) for _ in range(draws)]
    return np.nanquantile(drawn, [0.025, 0.975]).tolist()


def _mean(values: np.ndarray) -> float | None:
    return float(np.mean(values)) if len(values) else None
