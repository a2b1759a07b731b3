"""What the documents tell of modifiers who knows the form of the language: that they multiply what follows, fading.

`known_valences` knows all valences, the weights of edges and how far modifiers reach on average: who must find the
valences in the same documents should not hope to know better. `two_regressions` knows nothing but the form: valences by
a sparse logistic regression on words, then strengths by another on what follows each word.
"""

from __future__ import annotations

import warnings

import numpy as np

from rnnlens.corpora.corpus import Corpus, Split
from rnnlens.corpora.synthetic import FAR, edge_weights
from rnnlens.corpora.truth import Truth

FADES = 0.75  # of what a modifier does, this share is left a word later: a guess, where nothing is known
SPARSE = (0.05, 0.1, 0.2, 0.3, 0.5)  # inverse penalties to choose from


def known_valences(corpus: Corpus, truth: Truth, ids: np.ndarray, prior: float = 0.35) -> np.ndarray:
    """The strength (M,) of each of the words as a modifier, given all valences; prior: its standard deviation."""
    split = corpus.train
    value = truth.valence[split.ids] * edge_weights(truth.edge, np.asarray(split.lengths))
    fade = 1 - 1 / truth.scope[truth.modifiers].mean()
    sums, y = truth.sums["train"], np.asarray(split.labels).astype(float)
    # Reaches are not known one by one: labels are less certain than the sums' scale says.
    surer = _slope(sums.expected, y)
    return _strengths(split, truth.scale * surer * value, surer * sums.plain, fade, ids, len(truth.words), prior)


def two_regressions(corpus: Corpus, ids: np.ndarray, prior: float = 0.7) -> np.ndarray:
    """The strength (M,) of each of the words as a modifier, valences estimated."""
    weights, constant = sparse_valences(corpus)
    value = weights[corpus.train.ids]
    row = np.repeat(np.arange(len(corpus.train)), np.asarray(corpus.train.lengths))
    plain = np.bincount(row, value, minlength=len(corpus.train)) + constant
    return _strengths(corpus.train, value, plain, FADES, ids, len(corpus.vocab), prior)


def sparse_valences(corpus: Corpus) -> tuple[np.ndarray, float]:
    """Weights (W,) and constant of a logistic regression on word counts with a penalty on the weights' sizes, of the
    strength that reads validation documents best."""
    from sklearn.linear_model import LogisticRegression

    x, y = _counts(corpus.train, len(corpus.vocab)), np.asarray(corpus.train.labels)
    assert corpus.validation is not None
    against = _counts(corpus.validation, len(corpus.vocab)), np.asarray(corpus.validation.labels)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how a penalty is named changes from version to version of scikit-learn
        for C in SPARSE:
            model = LogisticRegression(C=C, penalty="l1", solver="liblinear", random_state=0).fit(x, y)
            found.append((model.score(*against), model.coef_[0], float(model.intercept_[0])))
    best = max(found, key=lambda one: one[0])
    return best[1], best[2]


def _counts(split: Split, words: int):  # type: ignore[no-untyped-def]
    from scipy.sparse import csr_matrix

    lengths = np.asarray(split.lengths)
    row = np.repeat(np.arange(len(lengths)), lengths)
    x = csr_matrix((np.ones(len(row)), (row, np.asarray(split.ids).astype(np.int64))), shape=(len(lengths), words))
    x.sum_duplicates()
    return x


def _strengths(
    split: Split, value: np.ndarray, plain: np.ndarray, fade: float, ids: np.ndarray, words: int, prior: float
) -> np.ndarray:
    """By a logistic regression of the label on what each word, were it a modifier, would have changed: Σ v·fade^(k−1)
    over the words that follow it at lags k; value (words,): the valence of each, plain (n,): documents' sums."""
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix

    text, lengths = np.asarray(split.ids).astype(np.int64), np.asarray(split.lengths)
    follows = np.zeros(len(text))  # what follows each word, less the further away
    left = np.repeat(np.asarray(split.offsets)[1:], lengths) - np.arange(len(text)) - 1
    for lag in range(1, FAR // 2):
        there = np.flatnonzero(left >= lag)
        follows[there] += value[there + lag] * fade ** (lag - 1)
    column = np.full(words, -1)
    column[ids] = np.arange(len(ids))
    kept = np.flatnonzero((follows != 0) & (column[text] >= 0))
    row = np.repeat(np.arange(len(split)), lengths)[kept]
    x = csr_matrix((follows[kept], (row, column[text[kept]])), shape=(len(split), len(ids)))
    y = np.asarray(split.labels).astype(float)

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        z = plain + x @ b
        p = 0.5 * (1 + np.tanh(z / 2))
        return float(np.logaddexp(0, z).sum() - y @ z + 0.5 * b @ b / prior**2), x.T @ (p - y) + b / prior**2

    return minimize(loss, np.zeros(len(ids)), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    from sklearn.linear_model import LogisticRegression

    return float(LogisticRegression(C=1e6).fit(x[:, None], y).coef_[0, 0])
