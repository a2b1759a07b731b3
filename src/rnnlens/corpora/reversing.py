"""A corpus whose documents run from their last word to their first, for networks that read backward."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.splits import Split


def reversed_corpus(corpus: Corpus) -> Corpus:
    """The same documents with their words in reverse order, in memory; labels and vocabulary are the same.

    The backward reader of a bidirectional network (`BothWays.backwards`) is analyzed with it. `about["reversed"]` is
    the fingerprint of the given corpus."""
    if not isinstance(corpus, Corpus):
        raise RnnlensError(f"reversed_corpus got {quoted(type(corpus).__name__)}: expected a Corpus")
    if "reversed" in corpus.about:
        raise RnnlensError("this corpus is reversed already: use the one that it was made from")
    splits: dict[str, Any] = {name: _reversed(split) for name, split in corpus.splits.items()}
    mark = hashlib.sha256(f"reversed {corpus.fingerprint}".encode()).hexdigest()[: len(corpus.fingerprint)]
    about = {**corpus.about, "reversed": corpus.fingerprint}
    return replace(corpus, **splits, about=about, path=None, fingerprint=mark)


def _reversed(split: Split) -> Split:
    ends = split.offsets[:-1] + split.offsets[1:] - 1  # first plus last place of each document
    places = np.repeat(ends, split.lengths) - np.arange(split.offsets[0], split.offsets[-1])
    return replace(split, ids=np.asarray(split.ids)[places], offsets=split.offsets - split.offsets[0])
