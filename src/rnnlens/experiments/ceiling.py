"""What the documents could tell of modifiers at best: who knows every valence, and how far modifiers reach on average.

A logistic regression of the label on what each word, were it a modifier, would have changed: Σ v·q^(k−1) over the words
that follow it at lags k. Its coefficients are strengths (as shares) that a learner, who must find the valences in the
same documents, should not hope to know better.
"""

from __future__ import annotations

import numpy as np

from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.synthetic import FAR, edge_weights
from rnnlens.corpora.truth import Truth


def known_valences(corpus: Corpus, truth: Truth, ids: np.ndarray, prior: float = 0.35) -> np.ndarray:
    """The strength (M,) of each of the words as a modifier, given all valences; prior: its standard deviation."""
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix

    split = corpus.train
    words, lengths = np.asarray(split.ids).astype(np.int64), np.asarray(split.lengths)
    value = truth.scale * truth.valence[words] * edge_weights(truth.edge, lengths)
    follows = np.zeros(len(words))  # what follows each word, less the further away
    fade = 1 - 1 / truth.scope[truth.modifiers].mean()
    left = np.repeat(np.asarray(split.offsets)[1:], lengths) - np.arange(len(words)) - 1
    for lag in range(1, FAR // 2):
        there = np.flatnonzero(left >= lag)
        follows[there] += value[there + lag] * fade ** (lag - 1)
    column = np.full(len(truth.words), -1)
    column[ids] = np.arange(len(ids))
    kept = np.flatnonzero((follows != 0) & (column[words] >= 0))
    row = np.repeat(np.arange(len(split)), lengths)[kept]
    x = csr_matrix((follows[kept], (row, column[words[kept]])), shape=(len(split), len(ids)))
    y = np.asarray(split.labels).astype(float)
    sums = truth.sums["train"]
    # Reaches are not known one by one: labels are less certain than the sums' scale says.
    surer = _slope(sums.expected, y)
    x, base = x * surer, sums.plain * surer

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        z = base + x @ b
        p = 0.5 * (1 + np.tanh(z / 2))
        return float(np.logaddexp(0, z).sum() - y @ z + 0.5 * b @ b / prior**2), x.T @ (p - y) + b / prior**2

    return minimize(loss, np.zeros(len(ids)), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    from sklearn.linear_model import LogisticRegression

    return float(LogisticRegression(C=1e6).fit(x[:, None], y).coef_[0, 0])
