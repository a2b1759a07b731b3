"""What the training texts alone predict about the attractor of several classes (after Aitken, Ramasesh et al., "The
geometry of integration in text classification RNNs").

A network that adds up evidence moves by the evidence of each word. The evidence of a word is its log-odds in each of
the C classes, centered over classes: C − 1 dimensions if classes have words of their own, fewer if classes share
them, as neighboring ratings do. Two predictions follow: the dimension of the words' evidence, weighted by frequency,
and the dimension that the correlations between the classes' evidence leave, over texts (their sums of evidence).

Log-odds of rare words are mostly noise, which looks like C − 1 dimensions. All covariances are therefore between the
log-odds of one half of the texts and those of the other half, in which noise cancels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rnnlens.corpora.occurrences import occurrences
from rnnlens.corpora.protocol import CorpusLike
from rnnlens.dynamics.dimension import INTERVAL, least_share, needed, participation_ratio

GROUPS = 12  # random groups of texts, from which halves and thirds are drawn
SPLITS, RESAMPLES = 10, 40  # for the estimate, and for its interval
MOST_TEXTS = 10_000
MOST_COUNTS = 30_000_000  # of groups × classes × words
READ = 4_000  # texts whose evidence is added up
Parts = list[np.ndarray]  # groups


def predicted_dimensions(corpus: CorpusLike, classes: int, seed: int = 0) -> dict[str, Any]:
    """The dimension of class evidence in the training texts. `words`: of the evidence of words, weighted by frequency.
    `classes`: of the correlations between classes over texts, with their matrix. Each has the participation ratio
    (`dimension`), its 95 % interval over texts, and the number of dimensions that hold 95 % of the variance
    (`count`)."""
    rng = np.random.default_rng(seed)
    labels = np.asarray(corpus.train.labels)
    chosen = np.sort(rng.permutation(len(labels))[:MOST_TEXTS])
    labels, group = labels[chosen], rng.permutation(len(chosen)) % GROUPS
    occurs = _frequent(occurrences(corpus, chosen), corpus.vocab.unk, max(1, MOST_COUNTS // (GROUPS * classes)))
    counts = _counts(occurs, labels, group, classes)
    shares = _rates(counts.sum(0)).mean(0)  # of each word, (W,)
    read = np.sort(rng.permutation(len(chosen))[:READ])
    few, few_labels, few_group = occurs[read], labels[read], group[read]

    def of_words(parts: Parts) -> np.ndarray:
        return _words_covariance(counts, shares, parts)

    def of_texts(parts: Parts) -> np.ndarray:
        rows = np.concatenate([np.nonzero(few_group == g)[0] for g in parts[0]])
        return _correlations(_texts_covariance(few[rows], few_labels[rows], counts, parts[1:]))

    words, _ = _measured(of_words, 2, classes, rng)
    texts, correlations = _measured(of_texts, 3, classes, rng)
    return {"words": words, "classes": {**texts, "correlations": correlations.tolist()}}


def _measured(
    covariance: Callable[[Parts], np.ndarray], parts: int, classes: int, rng: np.random.Generator
) -> tuple[dict[str, Any], np.ndarray]:
    """Dimension, interval and count of a covariance (C, C) that is estimated from groups in several parts; and the
    covariance, the mean over random splits."""

    def split() -> Parts:
        return np.array_split(rng.permutation(GROUPS), parts)

    mean = np.mean([covariance(split()) for _ in range(SPLITS)], axis=0)
    drawn = [covariance([rng.choice(part, len(part)) for part in split()]) for _ in range(RESAMPLES)]
    ratios = np.array([participation_ratio(_variances(one)) for one in drawn])
    values = _variances(mean)
    dimension = participation_ratio(values)
    # One split of resampled texts is noisier than the mean over splits, which lowers its ratio: only the spread counts.
    low, high = np.quantile(ratios - ratios.mean() + dimension, INTERVAL).clip(1, max(1, classes - 1))
    return {
        "dimension": dimension,
        "interval": [float(low), float(high)],
        "count": needed(values, least_share(classes)),
    }, mean


def _variances(S: np.ndarray) -> torch.Tensor:
    """The eigenvalues, largest first; those below 0, which are noise, are 0."""
    return torch.from_numpy(np.linalg.eigvalsh(S)[::-1].copy()).clamp(min=0)


def _frequent(occurs: Any, unknown: int, most: int) -> Any:
    """The columns (n, W) of the most frequent words, without unknown ones."""
    counts = np.asarray(occurs.sum(0), np.float64).ravel()
    if unknown >= 0:
        counts[unknown] = 0
    chosen = np.argsort(-counts, kind="stable")[:most]
    return occurs[:, np.sort(chosen[counts[chosen] > 0])].astype(np.float64)


def _counts(occurs: Any, labels: np.ndarray, group: np.ndarray, classes: int) -> np.ndarray:
    """Occurrences of each word in each class and group of texts, (G, C, W)."""
    from scipy.sparse import csr_matrix

    row = group * classes + labels
    member = csr_matrix((np.ones(len(row)), (row, np.arange(len(row)))), shape=(GROUPS * classes, len(row)))
    return np.asarray((member @ occurs).todense()).reshape(GROUPS, classes, -1)


def _rates(counts: np.ndarray) -> np.ndarray:
    """The frequency of each word in each class, (C, W)."""
    return counts / np.maximum(counts.sum(1, keepdims=True), 1)


def _log_odds(counts: np.ndarray) -> np.ndarray:
    """Evidence (C, W) of words, centered over classes: the logarithm of observed over expected occurrences, one of each
    added, so that rare words have little evidence in large and in small classes."""
    expected = _rates(counts).mean(0) * counts.sum(1, keepdims=True)
    odds = np.log((counts + 1) / (expected + 1))
    return odds - odds.mean(0)


def _words_covariance(counts: np.ndarray, shares: np.ndarray, parts: Parts) -> np.ndarray:
    """Covariance (C, C) of evidence over words, weighted by their frequency, between two parts of the texts."""
    one, other = (_log_odds(counts[part].sum(0)) for part in parts)
    S = ((one - one @ shares[:, None]) * shares) @ other.T
    return (S + S.T) / 2


def _texts_covariance(occurs: Any, labels: np.ndarray, counts: np.ndarray, parts: Parts) -> np.ndarray:
    """Covariance (C, C) of the texts' sums of evidence, all classes weighted equally. Evidence is from two parts that
    the texts are not in."""
    weights = 1 / np.bincount(labels, minlength=counts.shape[1])[labels]
    weights = weights / weights.sum()
    one, other = (occurs @ _log_odds(counts[part].sum(0)).T for part in parts)
    S = ((one - weights @ one) * weights[:, None]).T @ other
    return (S + S.T) / 2


def _correlations(S: np.ndarray) -> np.ndarray:
    size = np.sqrt(np.maximum(np.diag(S), 1e-12 * max(float(np.trace(S)), 1e-300)))
    with np.errstate(over="ignore"):  # a class without variance
        return np.clip(S / size / size[:, None], -1, 1)
