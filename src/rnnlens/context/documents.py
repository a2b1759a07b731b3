"""Modifiers that labelled documents bear out: a regression on the documents that begins with what networks say.

A network that was taught by one label a document knows words' valences well and modifiers less well: it heeds some of
what they do, and takes all to reach about as far. The documents know more. If a word modifies others, what follows it
counts more or less towards the label:

    logit = Σ value + Σ strength(word) Σₖ fade^(k−1) value(k words later)

values     of words: a sparse regression's, mixed with as much of the networks' valences as helps to read validation
           documents, less what is small; kept as they are
strengths  by a logistic regression, each with a normal prior about what the networks are sure of, times as much as the
           documents bear out of that as a whole. Shrunk for words seldom seen, this is the score to find modifiers by
           where labelled documents exist
reaches    each word's fade by its likelihood, strength integrated out, with a log-normal prior about the networks' own

The constants were chosen on synthetic languages of their own (`studies.validation_constants` has how much they matter).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnlens.display import Facts, Shown, table_html
from rnnlens.errors import RnnlensError, quoted
from rnnlens.terminal import printable

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from rnnlens.corpora.corpus import Corpus, Split

LAGS = 30  # words after a modifier that are looked at
PRIOR = 0.4  # standard deviation of strengths about what networks say
WIDE = 0.8  # … about 0, where a reach is looked for
APART = 0.5  # standard deviation of log τ about what networks say
SEEN = 50.0  # how many occurrences outweigh the belief that a word modifies nothing
MIXED = (0.0, 1 / 3, 1 / 2)  # how much of a word's value the networks may say
SMALL = 0.2  # standard deviations of valences, taken from all of them: most words have none
TAUS = np.geomspace(1.2, 12.0, 70)
SPARSE = (0.05, 0.1, 0.2, 0.3, 0.5)  # inverse penalties to choose from


@dataclass(frozen=True, eq=False)
class Borne(Shown):
    """What documents bear out of words (M,), given by their ids.

    strength         (M,)  the change of what follows as a share of it (−1: nothing is left)
    error            (M,)  its standard deviation were values and all other words known: the least that it may be
    score            (M,)  the strength, n/(n + 50) of it for a word seen n times: what to find modifiers by
    value            (W,)  of every word of the vocabulary, in logits
    share            how much more, or less, of modification the documents show than the networks are sure of
    fade             what is left of a modification one word later, for strengths
    logits           (n,)  of documents, modifiers heeded
    """

    split: Split = field(repr=False)
    words: list[str]
    ids: np.ndarray
    strength: np.ndarray
    error: np.ndarray
    score: np.ndarray
    value: np.ndarray
    share: float
    fade: float
    logits: np.ndarray

    @property
    def order(self) -> np.ndarray:
        """Rows by the size of `score`, strongest first."""
        return np.argsort(-np.abs(self.score), kind="stable")

    def strongest(self, n: int = 20) -> list[str]:
        """The n words that change most what follows them."""
        return [self.words[i] for i in self.order[:n]]

    def __getitem__(self, word: str) -> dict[str, float]:
        if word not in self._rows:
            raise RnnlensError(f"{quoted(word)} is not among the {len(self.words)} words: check its spelling")
        row = self._rows[word]
        return {name: float(getattr(self, name)[row]) for name in ("strength", "error", "score")}

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def _facts(self) -> Facts:
        return [("words", len(self.words)), ("documents", len(self.split)), ("share", self.share)]

    def _drawing(self) -> str:
        names = ("score", "strength", "error")
        rows = [[self.words[i], *(float(getattr(self, name)[i]) for name in names)] for i in self.order[:30]]
        return table_html(rows, ("word", *names))

    def __repr__(self) -> str:
        said = ", ".join(f"{self.words[i]} {self.score[i]:+.2f}" for i in self.order[:8])
        return printable(f"Borne({len(self.words)} words in {len(self.split)} documents: {said} …)")

    def reaches(self, ids: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """τ (R,) of some of the words, given what networks say of it (R,)."""
        y, strength = np.asarray(self.split.labels).astype(float), np.zeros(len(self.value))
        strength[self.ids] = self.strength
        own = self.fade ** np.arange(LAGS)
        found = np.empty(len(ids))
        for k, (documents, follows) in enumerate(following(self.split, self.value[self.split.ids], ids)):
            others = self.logits[documents] - strength[ids[k]] * own @ follows
            found[k] = likely_reach(follows, others, y[documents], float(tau[k]))
        return found


def following(split: Split, value: np.ndarray, ids: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of each of some words, the documents that have it, (d,), and what follows it there at each lag, (LAGS, d); value
    (tokens,)."""
    text, row, left = places(split)
    order = np.argsort(text, kind="stable")
    starts, ends = np.searchsorted(text[order], np.stack([ids, np.asarray(ids) + 1]))
    for start, end in zip(starts, ends, strict=True):
        at = order[start:end]
        documents, place = np.unique(row[at], return_inverse=True)
        follows = np.zeros((LAGS, len(documents)))
        for lag in range(1, LAGS + 1):
            inside = left[at] >= lag
            follows[lag - 1] = np.bincount(place[inside], value[at[inside] + lag], minlength=len(documents))
        yield documents, follows


def likely_reach(follows: np.ndarray, others: np.ndarray, y: np.ndarray, tau: float, apart: float = APART) -> float:
    """τ of one word from what follows it (LAGS, d), the logits of all else and the labels (d,): the mean of its
    logarithm, which before was normal about log `tau` with standard deviation `apart`."""
    fades = np.exp(-1 / (TAUS - 1))[:, None] ** np.arange(LAGS)
    likely = evidence(fades @ follows, others, y) - 0.5 * (np.log(TAUS / tau) / apart) ** 2
    weight = np.exp(likely - likely.max())
    return float(np.exp(weight @ np.log(TAUS) / weight.sum()))


def in_documents(
    corpus: Corpus,
    ids: np.ndarray,
    tau: float,
    valence: np.ndarray | None = None,
    sure: np.ndarray | None = None,
    sparse: np.ndarray | None = None,
    *,
    prior: float = PRIOR,
    seen: float = SEEN,
    small: float = SMALL,
) -> Borne:
    """What the training documents bear out of words (M,), given by their ids, if modifiers usually reach as far as τ.

    valence, sure (M,): what networks say; without, the documents speak alone. sparse (W,): of `sparse_valences`, if
    known. prior, seen, small: see the constants."""
    from scipy.sparse import csr_matrix

    ids, valence, sure = _checked(corpus, ids, tau, valence, sure)
    split, words = corpus.train, len(corpus.vocab)
    value = _values(corpus, sparse_valences(corpus)[0] if sparse is None else sparse, ids, valence, small)
    text, row, _ = places(split)
    y = np.asarray(split.labels).astype(float)
    plain = np.bincount(row, value[text], minlength=len(split)).astype(float)
    slope, constant = logistic_line(plain, y)
    value, plain = slope * value, slope * plain + constant
    fade = float(np.exp(-1 / (tau - 1)))
    x = followed(split, value[text], fade, ids, words)
    said, share = np.zeros(len(ids)) if sure is None else sure, 0.0
    if said.any():
        share = max(0.0, float(regress(csr_matrix((x @ said)[:, None]), plain, y, prior=10.0)[0]))
    strength = regress(x, plain, y, prior, share * said)
    logits = plain + x @ strength
    p = _sigmoid(logits)
    error = 1 / np.sqrt(np.asarray(x.multiply(x).T @ (p * (1 - p))).ravel() + 1 / prior**2)
    counts = np.bincount(text, minlength=words)[ids]
    score = strength * counts / (counts + seen)
    return Borne(split, corpus.vocab.decode(ids.tolist()), ids, strength, error, score, value, share, fade, logits)


def _checked(
    corpus: Corpus, ids: Any, tau: float, valence: Any, sure: Any
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """As numpy arrays, if they make sense."""
    ids, valence, sure = (None if part is None else np.asarray(part) for part in (ids, valence, sure))
    assert ids is not None
    if not len(ids) or len(np.unique(ids)) < len(ids) or ids.min() < 0 or ids.max() >= len(corpus.vocab):
        raise RnnlensError(f"expected ids of one word or more, each once and below {len(corpus.vocab)}")
    if not tau > 1:
        raise RnnlensError(f"tau is {tau}: expected a lag above 1, at which a modification has fallen to 1/e")
    for name, part in (("valence", valence), ("sure", sure)):
        if part is not None and (part.shape != ids.shape or not np.isfinite(part).all()):
            raise RnnlensError(f"{name} is not {len(ids)} finite numbers, one for each word")
    return ids, valence, sure


def _values(
    corpus: Corpus, sparse: np.ndarray, ids: np.ndarray, valence: np.ndarray | None, small: float
) -> np.ndarray:
    """Values (W,) of all words on one scale, mixed as validation documents are read best, less what is small."""
    alone = sparse / max(float(sparse[ids].std()), 1e-12)
    if valence is None:
        return _without_small(alone, small)
    judge = _judge(corpus)
    (text, row, _), y = places(judge), np.asarray(judge.labels)

    def mixed(weight: float) -> np.ndarray:
        value = alone.copy()
        value[ids] = (1 - weight) * alone[ids] + weight * valence / max(float(valence.std()), 1e-12)
        return _without_small(value, small)

    def loss(value: np.ndarray) -> float:
        z = np.bincount(row, value[text], minlength=len(judge)).astype(float)
        slope, constant = logistic_line(z, y)
        z = slope * z + constant
        return float(np.logaddexp(0, z).sum() - y @ z)

    return min(map(mixed, MIXED), key=loss)


def _without_small(value: np.ndarray, small: float) -> np.ndarray:
    return np.sign(value) * np.maximum(0.0, np.abs(value) - small)


def _judge(corpus: Corpus) -> Split:
    """Validation documents, where there are some."""
    return corpus.validation if corpus.validation is not None and len(corpus.validation) else corpus.train


def followed(split: Split, value: np.ndarray, fade: float, ids: np.ndarray, words: int) -> csr_matrix:
    """What each of the words (M,) would change were it a modifier of strength 1, in every document, (n, M): Σ value ·
    fade^(k−1) over what follows it at lags k; value (tokens,)."""
    from scipy.sparse import csr_matrix

    text, row, left = places(split)
    follows = np.zeros(len(text))
    for lag in range(1, LAGS + 1):
        there = np.flatnonzero(left >= lag)
        follows[there] += value[there + lag] * fade ** (lag - 1)
    column = np.full(words, -1)
    column[ids] = np.arange(len(ids))
    kept = np.flatnonzero((follows != 0) & (column[text] >= 0))
    return csr_matrix((follows[kept], (row[kept], column[text[kept]])), shape=(len(split), len(ids)))


def regress(
    x: csr_matrix, plain: np.ndarray, y: np.ndarray, prior: float, about: np.ndarray | float = 0.0
) -> np.ndarray:
    """Weights (M,) of a logistic regression of y on x (n, M), beyond the logits `plain` (n,); a normal prior about
    `about` with standard deviation `prior`."""
    from scipy.optimize import minimize

    mean = np.broadcast_to(np.asarray(about, dtype=float), x.shape[1:])

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        z, off = plain + x @ b, b - mean
        gradient = x.T @ (_sigmoid(z) - y) + off / prior**2
        return float(np.logaddexp(0, z).sum() - y @ z + 0.5 * off @ off / prior**2), gradient

    return minimize(loss, mean.copy(), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x


def evidence(x: np.ndarray, others: np.ndarray, y: np.ndarray, prior: float = WIDE) -> np.ndarray:
    """The log-likelihood (G,) of labels y (n,) by each of the predictors x (G, n), beyond the logits `others` (n,), its
    weight integrated out (by Laplace's method; the prior is normal about 0)."""
    b = np.zeros(len(x))
    for _ in range(6):
        p = _sigmoid(others + b[:, None] * x)
        sure = (x * x * p * (1 - p)).sum(1) + 1 / prior**2
        b = b + ((x * (y - p)).sum(1) - b / prior**2) / sure
    z = others + b[:, None] * x
    p = _sigmoid(z)
    sure = (x * x * p * (1 - p)).sum(1) + 1 / prior**2
    return z @ y - np.logaddexp(0, z).sum(1) - 0.5 * (b / prior) ** 2 - 0.5 * np.log(sure * prior**2)


def sparse_valences(corpus: Corpus) -> tuple[np.ndarray, float]:
    """Weights (W,) and constant of a logistic regression on word counts with a penalty on the weights' sizes, of the
    strength that reads validation documents best."""
    from sklearn.linear_model import LogisticRegression

    x, y = _counts(corpus.train, len(corpus.vocab)), np.asarray(corpus.train.labels)
    judge = _judge(corpus)
    penalties = SPARSE if judge is not corpus.train else SPARSE[len(SPARSE) // 2 :][:1]
    against = _counts(judge, len(corpus.vocab)), np.asarray(judge.labels)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how a penalty is named changes from version to version of scikit-learn
        for C in penalties:
            model = LogisticRegression(C=C, penalty="l1", solver="liblinear", random_state=0).fit(x, y)
            found.append((model.score(*against), model.coef_[0], float(model.intercept_[0])))
    best = max(found, key=lambda one: one[0])
    return best[1], best[2]


def places(split: Split) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of all words, end to end: their ids, which document each is in, and how many follow it there."""
    text, lengths = np.asarray(split.ids).astype(np.int64), np.asarray(split.lengths)
    left = np.repeat(np.asarray(split.offsets)[1:], lengths) - np.arange(len(text)) - 1
    return text, np.repeat(np.arange(len(split)), lengths), left


def _counts(split: Split, words: int) -> Any:
    from scipy.sparse import csr_matrix

    text, row, _ = places(split)
    x = csr_matrix((np.ones(len(row)), (row, text)), shape=(len(split), words))
    x.sum_duplicates()
    return x


def logistic_line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope and constant of a logistic regression on one number."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1e6).fit(x[:, None], y)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * z))
