"""Labeled texts whose negators follow their words."""

import numpy as np


def texts_of(n, seed=0):
    """Texts whose negators follow their words: "good not"."""
    rng, texts, labels = np.random.default_rng(seed), [], []
    values = {"good": 1, "great": 1, "bad": -1, "awful": -1}
    while len(texts) < n:
        words, total = [], 0
        for word in rng.choice(list(values), rng.integers(1, 4)):
            negated = rng.random() < 0.4
            words += [*rng.choice(["the", "film", "was", "it", "is"], 2), word, *(["not"] if negated else [])]
            total += values[word] * (-1 if negated else 1)
        if total:
            texts.append(" ".join(map(str, words)))
            labels.append(int(total > 0))
    return texts, labels
