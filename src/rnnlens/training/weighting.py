"""Which source each document is from, and how much each training document counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rnnlens.corpora.protocol import CorpusLike, SplitLike
from rnnlens.runs.config import TrainConfig


def sources_of(corpus: CorpusLike) -> tuple[str, ...]:
    """The names of a corpus's sources, where it has several."""
    return getattr(corpus, "sources", ())


def source_numbers(split: SplitLike, names: Sequence[str]) -> np.ndarray:
    """The number of each document's source among `names`, (n,); 0 for all where there is one source."""
    return np.zeros(len(split), np.int64) if not names else np.asarray(getattr(split, "sources", None), np.int64)


def document_weights(corpus: CorpusLike, config: TrainConfig) -> np.ndarray | None:
    """How much each training document counts (n,), 1 on average. Where that is asked for, or there are several sources,
    the two classes of a source count equally, and the documents of a source by its weight on average; None where all
    count the same."""
    labels, names = np.asarray(corpus.train.labels), sources_of(corpus)
    if labels.ndim == 2 or not (config.balance or names):
        return None
    numbers = source_numbers(corpus.train, names)
    groups = 2 * numbers + labels
    n_class = np.bincount(groups, minlength=2 * max(1, len(names)))
    n_source = np.bincount(numbers, minlength=max(1, len(names)))
    given = np.array([part["weight"] for part in corpus.about["sources"]] if names else [1.0])
    counts = given[numbers] * n_source[numbers] / (2 * n_class[groups])
    return (counts / counts.mean()).astype(np.float32)
