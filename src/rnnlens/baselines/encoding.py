"""Texts, a corpus or a split in the ids of a model's words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rnnlens.common.errors import BadInput
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.splits import Split, blocks_of
from rnnlens.corpora.texts import list_of_texts
from rnnlens.corpora.vocab import PAD, Vocab


def encoded(X: Sequence[str] | Corpus | Split, vocab: Vocab) -> Split:
    """The documents to read; of a corpus, those of its training split. A corpus with other words is recoded. A split
    does not say what its words are: only ids that no word has are refused."""
    if isinstance(X, Corpus):
        return X.with_vocab(vocab).train
    if isinstance(X, Split):
        largest = max((int(block.max()) for block in blocks_of(X.ids)), default=PAD)
        if largest >= len(vocab):
            raise BadInput(
                f"the split has the id {largest}, and the model knows {len(vocab)} words: pass the corpus itself, or a "
                "split of corpus.with_vocab(model.vocab_)"
            )
        return X
    rows = [vocab.encode(text) for text in list_of_texts(X)]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    ids = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
    return Split(ids, offsets, np.zeros(len(rows), dtype=np.uint8))
