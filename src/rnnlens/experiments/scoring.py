"""How near the truth a measurement of words comes: which are modifiers, of what kind, how strong, how far they reach.

Pure functions of arrays over words. Intervals are 95 %, by bootstrap over words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rnnlens.corpora.truth import Truth

LEARNABLE = 500  # occurrences in training from which on a modifier is called frequent enough to be learnt
REACHABLE = (
    1_200  # … its reach: who knows all else tells it within 30 % in three of four cases (studies.validation_reach)
)
BINS = (0, 150, 300, 600, 1_200)  # occurrences at which frequency bins begin
DRAWS = 1_000


def average_precision(size: np.ndarray, positive: np.ndarray, weight: np.ndarray | None = None) -> float:
    """The mean, over modifiers, of the precision among the words that score at least as much. weight (n,): how often
    each word counts. Words of equal size are one step."""
    order = np.argsort(-size, kind="stable")
    size, hits = size[order], positive[order].astype(np.float64)
    weight = np.ones(len(size)) if weight is None else weight[order]
    last = np.append(size[1:] != size[:-1], True)
    found, seen = np.cumsum(hits * weight)[last], np.cumsum(weight)[last]
    if found[-1] == 0:
        return 0.0
    return float((np.diff(found, prepend=0.0) * found / np.maximum(seen, 1e-300)).sum() / found[-1])


def ranking(size: np.ndarray, positive: np.ndarray, seed: int = 0, draws: int = DRAWS) -> dict[str, Any]:
    """How well a size ranks modifiers before other words: average precision with its interval, and the share of the M
    modifiers that are among the first M words."""
    order, M = np.argsort(-np.abs(size), kind="stable"), int(positive.sum())
    size, positive = np.abs(size)[order], positive[order]  # what is sorted is soon sorted again
    generator = np.random.default_rng(seed)
    drawn = [average_precision(size, positive, generator.poisson(1.0, len(size)).astype(float)) for _ in range(draws)]
    return {
        "average_precision": average_precision(size, positive),
        "interval": np.quantile(drawn, [0.025, 0.975]).tolist(),
        "recall_at_m": float(positive[:M].mean()),
    }


def above(size: np.ndarray, other: np.ndarray, positive: np.ndarray, seed: int = 0) -> dict[str, Any]:
    """By how much one size ranks better than another, in average precision, over the same words drawn again."""
    generator = np.random.default_rng(seed)
    weights = [np.ones(len(size)), *generator.poisson(1.0, (DRAWS, len(size))).astype(float)]

    def precisions(values: np.ndarray) -> np.ndarray:
        order = np.argsort(-np.abs(values), kind="stable")
        values, hits = np.abs(values)[order], positive[order]
        return np.array([average_precision(values, hits, weight[order]) for weight in weights])

    differences = precisions(size) - precisions(other)
    return {"difference": float(differences[0]), "interval": np.quantile(differences[1:], [0.025, 0.975]).tolist()}


def among_first(size: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Which words are the first M, M being the number of modifiers, (n,)."""
    first = np.zeros(len(size), dtype=bool)
    first[np.argsort(-np.abs(size), kind="stable")[: int(positive.sum())]] = True
    return first


def by_frequency(size: np.ndarray, positive: np.ndarray, counts: np.ndarray) -> list[dict[str, Any]]:
    """Recall of modifiers of each frequency among the first M of all words."""
    first = among_first(size, positive)
    found = []
    for inside, about in _bins(counts):
        rows = positive & inside
        wrong = int((first & ~positive & inside).sum())
        found.append({**about, "n": int(rows.sum()), "recall": _mean(first[rows]), "wrong": wrong})
    return found


def by_nature(size: np.ndarray, truth: Truth, ids: np.ndarray, counts: np.ndarray) -> dict[str, Any]:
    """Recall among the first M of all words: of modifiers that reach less and further than the median, of each kind,
    of those with and without valence of their own; and of what the wrong ones are."""
    positive = np.isin(ids, truth.modifiers)
    first, tau = among_first(size, positive), truth.tau[ids]
    middle = np.nanmedian(tau[positive]) if positive.any() else np.nan
    kind, valence = np.array(truth.kinds)[ids], truth.valence[ids]
    wrong = first & ~positive
    return {
        "short": _mean(first[positive & (tau < middle)]), "long": _mean(first[positive & (tau >= middle)]),
        "kinds": {name: _mean(first[kind == name]) for name in sorted(set(kind[positive].tolist()))},
        "with_valence": _mean(first[positive & (valence != 0)]),
        "wrong": {
            "n": int(wrong.sum()), "valence": _mean(valence[wrong] != 0) or 0.0,
            "rare": _mean(counts[wrong] < LEARNABLE) or 0.0,
        },
    }  # fmt: skip


def kinds(found: list[str], true: list[str], learnable: np.ndarray) -> dict[str, Any]:
    """Of the true modifiers, how many are called what they are; and what each kind is called."""
    right = np.array([f == t for f, t in zip(found, true, strict=True)])
    less = {"negator", "diminisher"}
    side = np.array([(f == t) or {f, t} <= less for f, t in zip(found, true, strict=True)])
    table: dict[str, dict[str, int]] = {}
    for f, t in zip(found, true, strict=True):
        row = table.setdefault(t, {})
        row[f] = row.get(f, 0) + 1
    return {
        "accuracy": _mean(right), "accuracy_learnable": _mean(right[learnable]),
        "side": _mean(side), "side_learnable": _mean(side[learnable]), "called": table,
    }  # fmt: skip


def agreement(found: np.ndarray, true: np.ndarray, counts: np.ndarray, seed: int = 0) -> dict[str, Any]:
    """Correlations of found with true strengths: over all modifiers, those frequent enough, and by frequency. `slope`
    is the regression of found on true: how much of a strength is seen."""
    from scipy.stats import spearmanr

    def all_of(rows: np.ndarray) -> dict[str, Any]:
        x, y = true[rows], found[rows]
        if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return {"n": len(x), "pearson": None, "spearman": None, "slope": None, "interval": None}
        interval = _bootstrap(lambda at: float(np.corrcoef(x[at], y[at])[0, 1]), len(x), seed)
        return {
            "n": len(x), "pearson": float(np.corrcoef(x, y)[0, 1]), "interval": interval,
            "spearman": float(spearmanr(x, y).statistic), "slope": float(np.polyfit(x, y, 1)[0]),
        }  # fmt: skip

    known = np.isfinite(found)
    return {
        "all": all_of(known),
        "learnable": all_of(known & (counts >= LEARNABLE)),
        "by_frequency": [{**about, **all_of(known & inside)} for inside, about in _bins(counts)],
    }


def reaches(
    found: np.ndarray, true: np.ndarray, counts: np.ndarray, seed: int = 0, near: float = 0.3
) -> dict[str, Any]:
    """τ against the truth: the share within 30 %, where τ is a lag (as it is defined) and, stricter, where the decay
    τ − 1 is looked at; a modifier without a τ counts as missed. `same`: the share for who says the same τ of every
    modifier, the best one in hindsight."""

    def all_of(rows: np.ndarray) -> dict[str, Any]:
        f, t = found[rows], true[rows]
        if not len(t):
            return {"n": 0, "within": None, "interval": None, "within_decay": None, "ratio": None, "pearson": None,
                    "same": None}  # fmt: skip
        close = _close(f, t, near)
        both = np.isfinite(f)
        return {
            "n": len(t), "within": _mean(close),
            "interval": _bootstrap(lambda at: float(close[at].mean()), len(t), seed),
            "within_decay": _mean(_close(f - 1, t - 1, near)), "with_tau": _mean(both),
            "ratio": float(np.median(f[both] / t[both])) if both.any() else None,
            "pearson": _correlation(f[both], t[both]),
            "same": max(float(_close(np.full(len(t), tau), t, near).mean()) for tau in np.unique(t)),
        }  # fmt: skip

    return {
        "all": all_of(np.ones(len(true), dtype=bool)),
        "learnable": all_of(counts >= LEARNABLE),
        "reachable": all_of(counts >= REACHABLE),
        "by_frequency": [{**about, **all_of(inside)} for inside, about in _bins(counts)],
    }


def nearer(
    found: np.ndarray, other: np.ndarray, true: np.ndarray, counts: np.ndarray, seed: int = 0, near: float = 0.3
) -> dict[str, Any]:
    """By how much more of the reaches (n,) are within 30 % of the true ones than another's, over modifiers drawn
    again."""
    close = _close(found, true, near).astype(float) - _close(other, true, near)
    return {
        name: {
            "difference": _mean(close[rows]),
            "interval": _bootstrap(lambda at, of=close[rows]: float(of[at].mean()), int(rows.sum()), seed)  # type: ignore[misc]
            if rows.any() else None,
        }
        for name, rows in {"learnable": counts >= LEARNABLE, "reachable": counts >= REACHABLE}.items()
    }  # fmt: skip


def score_words(
    truth: Truth, ids: np.ndarray, counts: np.ndarray, sizes: dict[str, np.ndarray], share: np.ndarray,
    kind: list[str], tau: np.ndarray, seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Everything that is asked of a measurement of words (M,), given by their ids: each of the scores `sizes` (M,) as a
    ranking, and the shares, kinds and reaches of the true modifiers among them."""
    positive = np.isin(ids, truth.modifiers)
    counts = np.asarray(counts)
    known = ~positive | (counts >= LEARNABLE)  # without modifiers that are too rare to be learnt
    factors = positive & (truth.shift[ids] == 0)  # what a shifter does is no share of valence
    return {
        "words": len(ids),
        "modifiers": int(positive.sum()),
        "learnable": int((positive & (counts >= LEARNABLE)).sum()),
        "scores": {
            name: {
                **ranking(size, positive, seed),
                "learnable": ranking(size[known], positive[known], seed, draws=100),
                "by_frequency": by_frequency(size, positive, counts),
                "by_nature": by_nature(size, truth, ids, counts),
            }
            for name, size in sizes.items()
        },
        "kinds": kinds(
            [kind[i] for i in np.flatnonzero(factors)], [truth.kinds[i] for i in ids[factors]],
            counts[factors] >= LEARNABLE,
        ),
        "strength": agreement(share[factors], truth.share[ids[factors]], counts[factors], seed),
        "reach": reaches(tau[positive], truth.tau[ids[positive]], counts[positive], seed),
    }  # fmt: skip


def _close(found: np.ndarray, true: np.ndarray, near: float) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.abs(found - true) <= near * true


def _correlation(x: np.ndarray, y: np.ndarray) -> float | None:
    return float(np.corrcoef(x, y)[0, 1]) if len(x) > 2 and np.ptp(x) > 0 and np.ptp(y) > 0 else None


def _bins(counts: np.ndarray) -> list[tuple[np.ndarray, dict[str, Any]]]:
    ends = (*BINS[1:], None)
    return [
        ((counts >= low) & (counts < (np.inf if high is None else high)), {"from": low, "to": high})
        for low, high in zip(BINS, ends, strict=True)
    ]


def _bootstrap(measure: Callable[[np.ndarray], float], n: int, seed: int, draws: int = DRAWS) -> list[float]:
    generator = np.random.default_rng(seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = [measure(generator.integers(0, n, n)) for _ in range(draws)]
    return np.nanquantile(drawn, [0.025, 0.975]).tolist()


def _mean(values: np.ndarray) -> float | None:
    return float(np.mean(values)) if len(values) else None
