"""The labels, the source and the weight of each training document."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.corpora.protocol import CorpusLike, SplitLike
from rnnlens.corpora.splits import NEUTRAL
from rnnlens.networks import AnyNetwork, BothWays
from rnnlens.networks.matching import check_known_classes
from rnnlens.runs.config import TrainConfig


def sources_of(corpus: CorpusLike) -> tuple[str, ...]:
    """The names of a corpus's sources if it has several, else none."""
    return getattr(corpus, "sources", ())


def source_numbers(split: SplitLike, names: Sequence[str]) -> np.ndarray:
    """The index of each document's source in `names`, (n,); 0 for all if there is one source."""
    return np.zeros(len(split), np.int64) if not names else np.asarray(getattr(split, "sources", None), np.int64)


def check_labels(network: AnyNetwork, split: SplitLike) -> None:
    """Refuse training documents whose labels are not the network's classes, or lack one of them; and targets at every
    word for a network that reads both ways, which has no logit there."""
    if isinstance(network, BothWays) and np.ndim(split.labels) != 1:
        raise RnnlensError(
            "this corpus has a target at every word, as the toy language has, and a network that reads both ways has "
            "one logit for a whole text: train one that reads one way"
        )
    if not network.several_classes:
        check_known_classes(network, split)
        return
    labels, n = np.asarray(split.labels), len(network.classes)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= n:
        raise RnnlensError(
            f"labels are {labels.dtype} of shape {labels.shape}: expected numbers of the {n} classes, 0 … {n - 1}"
        )
    absent = np.flatnonzero(np.bincount(labels, minlength=n) == 0)
    if len(absent):
        raise RnnlensError(
            f"no training document has the class {quoted(network.classes[absent[0]])}: expected some of each class"
        )


def document_weights(corpus: CorpusLike, config: TrainConfig) -> np.ndarray | None:
    """The weight of each training document (n,), 1 on average, if `config.balance` is set or there are several sources:
    all classes of a source weigh the same, and the mean over a source is proportional to its given weight. Neutral
    documents have the mean weight of their source. None if all weigh the same."""
    labels, names = np.asarray(corpus.train.labels), sources_of(corpus)
    if labels.ndim == 2 or not (config.balance or names):
        return None
    numbers = source_numbers(corpus.train, names)
    n_classes = len(getattr(corpus, "classes", ())) or 2
    neutral = np.zeros(len(labels), bool) if getattr(corpus.train, "grades", None) is None else labels == NEUTRAL
    known = np.where(neutral, 0, labels)
    groups = n_classes * numbers + known
    n_class = np.bincount(groups[~neutral], minlength=n_classes * max(1, len(names)))
    n_source = np.bincount(numbers[~neutral], minlength=max(1, len(names)))
    source_weights = np.array([part["weight"] for part in corpus.about["sources"]] if names else [1.0])
    weights = source_weights[numbers] * n_source[numbers] / (n_classes * np.maximum(1, n_class[groups]))
    weights = np.where(neutral, source_weights[numbers], weights)
    return (weights / weights.mean()).astype(np.float32)
