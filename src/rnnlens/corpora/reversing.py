"""A corpus whose documents run from their last word to their first, for networks that read backward."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.splits import Split, content_fingerprint


def reversed_corpus(corpus: Corpus) -> Corpus:
    """The same documents with their words in reverse order, in memory; labels and vocabulary are the same.

    A network that is trained on it reads texts from their last word to their first; `prepare(…, reverse=True)` writes
    such a corpus. The backward reader of a bidirectional network (`BothWays.backwards`) is analyzed with it.
    `about["reversed"]` is the fingerprint of the given corpus."""
    if not isinstance(corpus, Corpus):
        raise RnnlensError(f"reversed_corpus got {quoted(type(corpus).__name__)}: expected a Corpus")
    if "reversed" in corpus.about:
        raise RnnlensError("this corpus is reversed already: use the one that it was made from")
    splits: dict[str, Any] = {name: _reversed(split) for name, split in corpus.splits.items()}
    about = {**corpus.about, "reversed": corpus.fingerprint}
    mark = content_fingerprint(corpus.vocab, splits, corpus.classes)
    return replace(corpus, **splits, about=about, path=None, fingerprint=mark)


def _reversed(split: Split) -> Split:
    first, last = int(split.offsets[0]), int(split.offsets[-1])
    return replace(
        split, ids=backwards(np.asarray(split.ids)[first:last], split.lengths), offsets=split.offsets - first
    )


def backwards(ids: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The words of documents that follow one another, each from its last word to its first; lengths (n,) of them."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ends = offsets[:-1] + offsets[1:] - 1  # first plus last place of each document
    return ids[np.repeat(ends, lengths) - np.arange(len(ids))]
