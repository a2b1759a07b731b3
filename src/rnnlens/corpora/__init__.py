"""Corpora: text → words → ids. Reading a prepared corpus needs only NumPy; preparing one also needs polars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rnnlens.common.lazy import lazily

_HOMES = {
    "PAD": "vocab", "UNK": "vocab", "Vocab": "vocab", "PieceVocab": "pieces", "split_words": "words",
    "Corpus": "corpus", "reversed_corpus": "reversing",
    "Split": "splits", "CorpusLike": "protocol", "SplitLike": "protocol",
    "statistics": "counting", "source_statistics": "counting",
    "PrepareConfig": "options", "prepare": "prepared", "load_corpus": "prepared",
    "Modifier": "toy", "ToyLanguage": "toy", "ToyCorpus": "toy", "toy_corpus": "toy",
}  # fmt: skip

__all__ = [  # a literal list, since type checkers do not evaluate _HOMES
    "PAD", "UNK", "Vocab", "PieceVocab", "split_words", "Corpus", "reversed_corpus", "Split", "CorpusLike", "SplitLike",
    "statistics", "source_statistics", "PrepareConfig", "prepare", "load_corpus", "Modifier",
    "ToyLanguage", "ToyCorpus", "toy_corpus",
]  # fmt: skip

if TYPE_CHECKING:
    from rnnlens.corpora.corpus import Corpus
    from rnnlens.corpora.counting import source_statistics, statistics
    from rnnlens.corpora.options import PrepareConfig
    from rnnlens.corpora.pieces import PieceVocab
    from rnnlens.corpora.prepared import load_corpus, prepare
    from rnnlens.corpora.protocol import CorpusLike, SplitLike
    from rnnlens.corpora.reversing import reversed_corpus
    from rnnlens.corpora.splits import Split
    from rnnlens.corpora.toy import Modifier, ToyCorpus, ToyLanguage, toy_corpus
    from rnnlens.corpora.vocab import PAD, UNK, Vocab
    from rnnlens.corpora.words import split_words


# The command line makes its flags from PrepareConfig, which must not import NumPy.
__getattr__ = lazily(__name__, _HOMES)
