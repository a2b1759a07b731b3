"""How often each word occurs in each text."""

from __future__ import annotations

from typing import Any

import numpy as np

from rnnlens.corpora.protocol import CorpusLike


def occurrences(corpus: CorpusLike, chosen: np.ndarray) -> Any:
    """Occurrences of each word in the chosen training texts: a sparse matrix (n, W), float32."""
    from scipy.sparse import csr_matrix

    columns, rows = [], []
    for start in range(0, len(chosen), 4096):
        ids, n = corpus.train.batch(chosen[start : start + 4096])
        is_word = (np.arange(ids.shape[1]) < np.asarray(n)[:, None]) & (ids >= 0)
        rows.append(np.nonzero(is_word)[0] + start)
        columns.append(ids[is_word])
    row, column = np.concatenate(rows), np.concatenate(columns)
    occurs = csr_matrix((np.ones(len(row), np.float32), (row, column)), shape=(len(chosen), len(corpus.vocab)))
    occurs.sum_duplicates()
    return occurs
