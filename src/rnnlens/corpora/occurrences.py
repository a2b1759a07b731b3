"""How often each word occurs in each text."""

from __future__ import annotations

from typing import Any

import numpy as np

from rnnlens.corpora.batches import token_batches
from rnnlens.corpora.protocol import CorpusLike

AT_ONCE = 2**20  # padded words that are read at a time: one very long text would make all others as long


def occurrences(corpus: CorpusLike, chosen: np.ndarray) -> Any:
    """Occurrences of each word in the chosen training texts: a sparse matrix (n, W), float32."""
    from scipy.sparse import csr_matrix

    columns, rows = [], []
    for batch in token_batches(corpus.train.lengths[chosen], AT_ONCE, 4096):
        ids, n = corpus.train.batch(chosen[batch])
        is_word = (np.arange(ids.shape[1]) < np.asarray(n)[:, None]) & (ids >= 0)
        rows.append(batch[np.nonzero(is_word)[0]])
        columns.append(ids[is_word])
    row, column = np.concatenate(rows), np.concatenate(columns)
    occurs = csr_matrix((np.ones(len(row), np.float32), (row, column)), shape=(len(chosen), len(corpus.vocab)))
    occurs.sum_duplicates()
    return occurs
