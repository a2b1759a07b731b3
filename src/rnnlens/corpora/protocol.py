"""What rnnlens needs of a corpus. `Corpus` and `ToyCorpus` provide it; a class of your own can too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from rnnlens.corpora.vocab import Vocab


class Documents(Protocol):
    """Documents of ids that can be read in batches."""

    @property
    def lengths(self) -> np.ndarray:
        """Words of each document, (n,)."""
        ...

    def batch(self, indices: np.ndarray, max_words: int | None = None, /) -> tuple[np.ndarray, np.ndarray]:
        """A batch of documents: ids (B, T) int64 with PAD on the right, and lengths (B,). Of longer documents,
        the last `max_words` words."""
        ...


class SplitLike(Documents, Protocol):
    """Labeled documents, such as a `Split`."""

    def __len__(self) -> int:
        """n, the number of documents."""
        ...

    @property
    def ids(self) -> np.ndarray:
        """The ids of all documents."""
        ...

    @property
    def labels(self) -> np.ndarray:
        """0 or 1 for each document, (n,), or a target at every word, (n, T)."""
        ...


class CorpusLike(Protocol):
    """Splits with one vocabulary, such as a `Corpus`."""

    @property
    def vocab(self) -> Vocab: ...

    @property
    def train(self) -> SplitLike: ...

    @property
    def validation(self) -> SplitLike | None: ...

    @property
    def test(self) -> SplitLike | None: ...

    @property
    def about(self) -> Mapping[str, Any]:
        """The origin of the documents, for run.json: plain data."""
        ...

    @property
    def fingerprint(self) -> str:
        """Identifies the content: other content has another fingerprint."""
        ...
