"""What the documents tell of modifiers who knows the form of the language: that they multiply what follows, fading.

`known_valences` knows all valences, the weights of edges and how far modifiers reach on average: who must find the
valences in the same documents should not hope to know better. `two_regressions` knows nothing but the form: it is
`in_documents` without networks. `known_others` knows everything but one word's strength and reach: who must learn the
rest should not hope to tell reaches better.
"""

from __future__ import annotations

import numpy as np

from rnnlens.context.documents import (
    LAGS,
    Borne,
    followed,
    following,
    in_documents,
    likely_reach,
    logistic_line,
    regress,
)  # fmt: skip
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.synthetic import edge_weights
from rnnlens.corpora.truth import Truth

REACH = 4.5  # how far modifiers reach: a guess, where nothing is known


def known_valences(corpus: Corpus, truth: Truth, ids: np.ndarray, prior: float = 0.35) -> np.ndarray:
    """The strength (M,) of each of the words as a modifier, given all valences; prior: its standard deviation."""
    split = corpus.train
    value = truth.valence[split.ids] * edge_weights(truth.edge, np.asarray(split.lengths))
    fade = float(1 - 1 / truth.scope[truth.modifiers].mean())
    sums, y = truth.sums["train"], np.asarray(split.labels).astype(float)
    # Reaches are not known one by one: labels are less certain than the sums' scale says.
    surer = logistic_line(sums.expected, y)[0]
    x = followed(split, truth.scale * surer * value, fade, ids, len(truth.words))
    return regress(x, surer * sums.plain, y, prior)


def two_regressions(corpus: Corpus, ids: np.ndarray, sparse: np.ndarray | None = None) -> Borne:
    """What the documents say of the words (M,), valences estimated; sparse (W,): these, if known."""
    return in_documents(corpus, ids, REACH, sparse=sparse)


def known_others(corpus: Corpus, truth: Truth, ids: np.ndarray, tau: float, apart: float) -> np.ndarray:
    """τ (R,) of some modifiers, given all valences, edges, the other modifiers, and how reaches are spread: log-normal
    about `tau`, with standard deviation `apart`."""
    split, sums = corpus.train, truth.sums["train"]
    y = np.asarray(split.labels).astype(float)
    surer = logistic_line(sums.expected, y)[0]
    value = surer * truth.scale * truth.valence[split.ids] * edge_weights(truth.edge, np.asarray(split.lengths))
    found = np.empty(len(ids))
    for k, (documents, follows) in enumerate(following(split, value, ids)):
        own = truth.share[ids[k]] * (1 - 1 / truth.scope[ids[k]]) ** np.arange(LAGS)
        others = surer * sums.expected[documents] - own @ follows
        found[k] = likely_reach(follows, others, y[documents], tau, apart)
    return found
