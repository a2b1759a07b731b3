"""Corpora: text → words → ids. Reading a prepared corpus needs numpy alone; preparing one, polars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rnnlens.corpora.vocab import PAD, UNK, Vocab
from rnnlens.corpora.words import split_words

if TYPE_CHECKING:
    from rnnlens.corpora.prepared import Corpus, Split, load_corpus, prepare
    from rnnlens.corpora.toy import Modifier, ToyCorpus, ToyLanguage, toy_corpus

__all__ = [
    "PAD", "UNK", "Vocab", "split_words", "Corpus", "Split", "load_corpus", "prepare",
    "Modifier", "ToyCorpus", "ToyLanguage", "toy_corpus",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'rnnlens.corpora' has no attribute {name!r}")
    home = "toy" if name in ("Modifier", "ToyCorpus", "ToyLanguage", "toy_corpus") else "prepared"
    return getattr(import_module(f"rnnlens.corpora.{home}"), name)
