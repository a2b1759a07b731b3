"""Statistics of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rnnlens.common.ranges import in_range
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.splits import NEUTRAL, Split, blocks_of


@in_range("statistics")
def statistics(corpus: Corpus) -> dict[str, dict[str, Any]]:
    """For each split: reviews, share of positive ones or of each class, words, quantiles of words per review, share of
    `<unk>`."""
    return {
        name: _statistics(split, np.arange(len(split)), _unknown(split, corpus.vocab.unk), corpus.classes)
        for name, split in corpus.splits.items()
    }


@in_range("statistics")
def source_statistics(corpus: Corpus) -> dict[str, dict[str, dict[str, Any]]]:
    """The same for each of several sources: source → split → statistics. A split without documents of a source is left
    out; empty for a corpus of one source."""
    by_source: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in corpus.sources}
    for part, split in corpus.splits.items() if by_source else ():
        unknown = _unknown(split, corpus.vocab.unk)
        for name, of_splits in by_source.items():
            chosen = corpus._of_sources(split, [name])
            if len(chosen):
                of_splits[part] = _statistics(split, chosen, unknown, corpus.classes)
    return by_source


def _statistics(split: Split, chosen: np.ndarray, unknown: np.ndarray, classes: Sequence[str]) -> dict[str, Any]:
    """Statistics of the chosen documents of a split; unknown: the number of unknown words of each document, (n,)."""
    lengths, labels, unknown = split.lengths[chosen], np.asarray(split.labels)[chosen], unknown[chosen]
    names = ("min", "5%", "25%", "median", "75%", "95%", "max")
    quantiles = np.quantile(lengths, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1], method="nearest") if len(lengths) else []
    decided = labels if split.grades is None else labels[labels != NEUTRAL]
    share = {"positive": float(decided.mean()) if len(decided) else 0.0}
    share |= {} if split.grades is None else {"neutral": 1 - len(decided) / max(1, len(labels))}
    if classes:
        counts = np.bincount(labels, minlength=len(classes)) / max(1, len(labels))
        share = {"classes": dict(zip(classes, counts.tolist(), strict=True))}  # type: ignore[dict-item]
    return {
        "reviews": len(labels),
        **share,
        "words": int(lengths.sum()),
        "words per review": dict(zip(names, map(int, quantiles), strict=False)),
        "unknown": int(unknown.sum()) / max(1, int(lengths.sum())),
    }


def _unknown(split: Split, unk: int) -> np.ndarray:
    """How many words of each document are unknown, (n,) int64."""
    counts, done = np.zeros(len(split), np.int64), 0
    for block in blocks_of(split.ids) if unk >= 0 else ():
        at = done + np.flatnonzero(block == unk)
        counts += np.bincount(np.searchsorted(split.offsets, at, side="right") - 1, minlength=len(split))
        done += len(block)
    return counts
