"""What data alone say of words, without any network: scores that an analysis must beat to be worth its while."""

from __future__ import annotations

from typing import Any

import numpy as np

from rnnlens.context.probes import bag_of_words


def data_scores(corpus: Any, ids: np.ndarray, seed: int = 0) -> dict[str, np.ndarray]:
    """Scores (M,) of words, given by their ids, as modifiers.

    frequency         how often a word is seen
    valence           the size of its weight in a logistic regression on bags of words
    bigram log-odds   how far the log-odds of the label, given the word and the next one, are from what the two say
                      each alone: the mean size over the word's bigrams, each shrunk by how rare it is
    bigram contrast   the z score of: after this word, the next word's valence goes with the label more, or less, than
                      it does after words in general
    """
    weights = bag_of_words(corpus, seed)
    first, second, labels = _bigrams(corpus.train)
    W = len(corpus.vocab)
    counts = np.bincount(np.asarray(corpus.train.ids), minlength=W)
    return {
        "frequency": counts[ids].astype(float),
        "valence": np.abs(weights)[ids],
        "bigram log-odds": _log_odds(first, second, labels, W)[ids],
        "bigram contrast": np.abs(_contrast(weights, first, second, labels, W))[ids],
    }


def _bigrams(split: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Neighbouring words within documents, and the label of their document."""
    ids, lengths = np.asarray(split.ids).astype(np.int64), np.asarray(split.lengths)
    inside = np.ones(len(ids), dtype=bool)
    inside[np.asarray(split.offsets)[1:] - 1] = False  # the last word of a document has no next
    place = np.flatnonzero(inside[:-1]) if len(ids) and inside[-1] else np.flatnonzero(inside)
    labels = np.repeat(np.asarray(split.labels).astype(float), lengths)
    return ids[place], ids[place + 1], labels[place]


def _log_odds(first: np.ndarray, second: np.ndarray, labels: np.ndarray, W: int, prior: float = 5.0) -> np.ndarray:
    overall = labels.mean()

    def odds(key: np.ndarray, size: int) -> np.ndarray:
        seen, positive = np.bincount(key, minlength=size), np.bincount(key, labels, minlength=size)
        share = (positive + prior * overall) / (seen + prior)
        return np.log(share / (1 - share)) - np.log(overall / (1 - overall))

    pairs, inverse, times = np.unique(first * W + second, return_inverse=True, return_counts=True)
    surprise = odds(inverse, len(pairs)) - (odds(first, W)[pairs // W] + odds(second, W)[pairs % W]) * (
        times / (times + prior)
    )
    total = np.bincount(pairs // W, times * np.abs(surprise), minlength=W)
    return total / np.maximum(1, np.bincount(first, minlength=W))


def _contrast(weights: np.ndarray, first: np.ndarray, second: np.ndarray, labels: np.ndarray, W: int) -> np.ndarray:
    x = weights[second] - weights[second].mean()
    y = labels - labels.mean()
    slope = (x * y).sum() / max((x * x).sum(), 1e-300)
    residual = y - slope * x
    spread = np.sqrt(np.bincount(first, x * x, minlength=W)) * residual.std()
    return np.bincount(first, x * residual, minlength=W) / np.maximum(spread, 1e-12)
