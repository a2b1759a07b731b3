"""Corpora: text → words → ids. Reading a prepared corpus needs numpy alone; preparing one, polars."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "PAD": "vocab", "UNK": "vocab", "Vocab": "vocab", "split_words": "words",
    "Corpus": "corpus", "Split": "corpus", "statistics": "corpus",
    "PrepareConfig": "options", "prepare": "prepared", "load_corpus": "prepared",
    "Language": "synthetic", "synthetic_corpus": "synthetic", "Truth": "truth",
    "Modifier": "toy", "ToyLanguage": "toy", "ToyCorpus": "toy", "toy_corpus": "toy",
}  # fmt: skip

__all__ = list(_HOMES)

if TYPE_CHECKING:  # `as` tells type checkers that a name is meant to be used from here
    from rnnlens.corpora.corpus import Corpus as Corpus, Split as Split, statistics as statistics
    from rnnlens.corpora.options import PrepareConfig as PrepareConfig
    from rnnlens.corpora.prepared import load_corpus as load_corpus, prepare as prepare
    from rnnlens.corpora.synthetic import Language as Language, synthetic_corpus as synthetic_corpus
    from rnnlens.corpora.toy import (
        Modifier as Modifier,
        ToyCorpus as ToyCorpus,
        ToyLanguage as ToyLanguage,
        toy_corpus as toy_corpus,
    )
    from rnnlens.corpora.truth import Truth as Truth
    from rnnlens.corpora.vocab import PAD as PAD, UNK as UNK, Vocab as Vocab
    from rnnlens.corpora.words import split_words as split_words


def __getattr__(name: str) -> Any:  # the command line reads PrepareConfig for its flags: that must not import numpy
    if name not in _HOMES:
        raise AttributeError(f"module 'rnnlens.corpora' has no attribute {name!r}")
    return getattr(import_module(f"rnnlens.corpora.{_HOMES[name]}"), name)
