"""Texts, a corpus or a split in the ids of a model's words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rnnlens.common.errors import BadInput, quoted
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.recoded import recoded
from rnnlens.corpora.splits import Split, blocks_of
from rnnlens.corpora.texts import list_of_texts
from rnnlens.corpora.vocab import PAD, Vocab


def labels_of(X: Corpus | Split, classes: np.ndarray) -> np.ndarray:
    """The labels (n,) of a split, or of a corpus's training split, as a model's classes; an error if they are labels of
    other classes."""
    names, n = classes.tolist(), len(classes)
    by_number = n == 2 or names == list(range(n))
    if isinstance(X, Corpus) and ((len(X.classes) or 2) != n or not (by_number or X.classes == tuple(map(str, names)))):
        raise BadInput(
            f"the corpus has {quoted(list(X.classes)) if X.classes else 'two'} classes, and the model {quoted(names)}: "
            "expected the same classes; else pass texts and y"
        )
    labels = np.asarray((X.train.decided if isinstance(X, Corpus) else X).labels).astype(int)
    if len(labels) and not 0 <= labels.min() <= labels.max() < n:
        raise BadInput(
            f"the labels are from {labels.min()} to {labels.max()}, and the model has {n} classes: expected 0 to "
            f"{n - 1}"
        )
    return classes[labels]


def check_own_labels(y: object) -> None:
    """Refuse labels that are given beside a corpus."""
    if y is not None:
        raise BadInput("y is given beside a corpus, which has labels of its own: leave y out, or pass texts and y")


def check_order(corpus: Corpus | Split) -> None:
    """Refuse a corpus, or a split of one, whose words are in reverse order: these models read texts in their usual
    order, in which modifiers change the words after them."""
    if (corpus.train if isinstance(corpus, Corpus) else corpus).backward:
        raise BadInput(
            "the words of the corpus are in reverse order, and this model reads texts in their usual order: pass the "
            "corpus that it was made from, or prepare it without --reverse"
        )


def encoded(X: Sequence[str] | Corpus | Split, vocab: Vocab) -> Split:
    """The documents to read; of a corpus, those of its training split. A corpus with other words, or a split of one, is
    recoded. A split without a corpus does not say what its words are: only ids that no word has are refused."""
    if isinstance(X, Corpus):
        check_order(X)
        return X.with_vocab(vocab).train.decided
    if isinstance(X, Split):
        check_order(X)
        if X.vocab is not None:
            return X if X.vocab == vocab else recoded({"": X}, X.vocab, vocab)[""]
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
