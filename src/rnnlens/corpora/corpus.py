"""A corpus of labeled reviews as ids: in memory, or mapped from a folder that `prepare` wrote. Needs only NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.common.allowed import shown
from rnnlens.common.errors import BadInput, RnnlensError, quoted
from rnnlens.common.ranges import in_range
from rnnlens.common.terminal import printable
from rnnlens.corpora.classes import check_ordered, checked_names, named_labels
from rnnlens.corpora.recoded import recoded
from rnnlens.corpora.splits import PARTS, Split, content_fingerprint, split_of
from rnnlens.corpora.vocab import Vocab


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Labeled reviews as ids of one vocabulary, whose words were counted on `train` only.

    `about` records their origin: source, options, label scheme, columns, how many rows were dropped and why.
    `fingerprint` identifies the content: equal ids, labels, words and sources have an equal fingerprint.
    """

    vocab: Vocab
    train: Split
    validation: Split | None = None
    test: Split | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None
    fingerprint: str = ""

    def __post_init__(self) -> None:
        backward = "reversed" in self.about
        for name, split in self.splits.items():  # which thus know whose ids they have, and in which order
            if split.vocab is not self.vocab or split.backward is not backward:
                object.__setattr__(self, name, replace(split, vocab=self.vocab, backward=backward))

    @classmethod
    @in_range("from_texts")
    def from_texts(
        cls,
        texts: Sequence[str],
        labels: Sequence[int] | Sequence[str] | np.ndarray | None = None,
        test: tuple[Sequence[str], Sequence[Any] | np.ndarray] | None = None,
        validation: float = 0.1,
        vocab_size: int = 50_000,
        min_count: int = 1,
        seed: int = 0,
        classes: Sequence[str] | None = None,
        ordered: bool = False,
        grades: Sequence[float] | np.ndarray | None = None,
    ) -> Corpus:
        """A corpus in memory, from texts and labels (0 negative, 1 positive). Texts without a word are left out;
        `about["dropped"]` is their number.

        Labels may be names of three or more classes. classes: the names in their order; labels are then their numbers
        or the names themselves. ordered: the classes are in this order, such as bad, fair and good.

        grades: how positive each text is, from 0 to 1, in place of labels; the network is trained toward them. Texts of
        grade 0.5 are neutral: they are trained on, and never held out. The labels of `test` are then grades too."""
        from rnnlens.corpora.in_memory import parts_from_texts

        if grades is not None and (classes is not None or ordered):
            raise RnnlensError("got grades and classes: expected one of the two")
        parts = parts_from_texts(texts, labels, test, validation, vocab_size, min_count, seed, classes, grades)
        if ordered:
            parts["about"] |= {"ordered": True}
            if classes is None:
                check_ordered(classes_of(parts["about"]))
        return cls(**parts)

    @classmethod
    def from_ids(
        cls,
        vocab: Vocab | Iterable[str],
        train: tuple[Sequence[Any], Any],
        test: tuple[Sequence[Any], Any] | None = None,
        validation: tuple[Sequence[Any], Any] | None = None,
        classes: Sequence[str] | None = None,
    ) -> Corpus:
        """A corpus from the ids of your own tokenizer: pairs (documents, labels). A document is a list of ids below
        len(vocab), a label is 0 (negative) or 1 (positive), or the number or name of one of three or more `classes`."""
        vocab = vocab if isinstance(vocab, Vocab) else Vocab(vocab)
        given = {"train": train, "validation": validation, "test": test}
        for part, pair in given.items():
            given_pair = isinstance(pair, tuple | list) and len(pair) == 2
            if not given_pair and (pair is not None or part == "train"):
                raise RnnlensError(f"{part} is {shown(pair)}: expected a pair (documents, labels)")
        names = () if classes is None else checked_names(classes)
        splits = {
            part: split_of(pair[0], named_labels(pair[1], names)[0] if names else pair[1], len(vocab), len(names) or 2)
            for part, pair in given.items()
            if pair is not None
        }
        names = names if len(names) > 2 else ()
        mark = content_fingerprint(vocab, splits, names)
        about = {"source": "ids", **({"classes": list(names)} if names else {})}
        return cls(vocab, **splits, about=about, fingerprint=mark)  # type: ignore[arg-type]

    def refit(self) -> Corpus:
        """The corpus with its validation reviews moved to the training reviews: for a final fit, once all settings are
        chosen. Its words are the same. After `only`, validation reviews of other sources are left out."""
        validation = self.validation
        if validation is not None and "only" in self.about:
            validation = validation.take(self._of_sources(validation, self.about["only"]))
        if validation is None or not len(validation):
            return self
        train = self.train.join(validation)
        splits = {"train": train} if self.test is None else {"train": train, "test": self.test}
        about = {**self.about, "refit": self.fingerprint}
        return Corpus(
            self.vocab, train, None, self.test, about, None, content_fingerprint(self.vocab, splits, self.classes)
        )

    @in_range("with_vocab")
    def with_vocab(self, vocab: Vocab) -> Corpus:
        """The same reviews in the ids of another vocabulary, for a network that has other words (`rnnlens.extend`).
        Words that `vocab` lacks become its `<unk>`. Ids are looked up when they are read, so a mapped corpus stays on
        disk; for the vocabulary of a subword tokenizer (`PieceVocab`) each word becomes its pieces, in memory.
        `about["recoded"]` is the fingerprint of this corpus."""
        if vocab == self.vocab:
            return self
        splits = recoded(self.splits, self.vocab, vocab)
        about = {**self.about, "recoded": self.fingerprint}
        mark = content_fingerprint(vocab, splits, self.classes)
        return Corpus(vocab, splits["train"], splits.get("validation"), splits.get("test"), about, self.path, mark)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of three or more classes, which `Split.labels` are numbers of; empty for negative and positive."""
        return classes_of(self.about)

    @property
    def ordered(self) -> bool:
        """Whether the classes are in order, such as stars."""
        return bool(self.classes) and self.about.get("ordered") is True

    def check_two_classes(self, what: str) -> None:
        """Refuse a corpus of three or more classes. what: what needs two classes, for the message."""
        if self.classes:
            raise BadInput(f"the corpus has {len(self.classes)} classes: {what} needs two; prepare one with two labels")

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of its sources, if it has several; `Split.sources` are indices into them."""
        return tuple(part["name"] for part in self.about.get("sources", ()))

    @in_range("only")
    def only(self, names: str | Sequence[str]) -> Corpus:
        """The corpus with the training documents of some of its sources; words, validation and test stay."""
        names = [names] if isinstance(names, str) else list(names)
        available = self.about.get("only", self.sources)
        if not self.sources:
            raise RnnlensError(
                f"sources are {quoted(', '.join(names))}: the corpus has one source, so leave them out (--sources)"
            )
        if unknown := [name for name in names if name not in available] or ([] if names else [""]):
            known = ", ".join(map(quoted, available))
            raise RnnlensError(f"the corpus has no source {quoted(unknown[0])}: expected some of {known}")
        names = [name for name in self.sources if name in names]
        train = self.train.take(self._of_sources(self.train, names))
        mark = content_fingerprint(self.vocab, {**self.splits, "train": train}, self.classes)
        about = {**self.about, "source": " + ".join(names), "only": names, "whole": self.fingerprint}
        return Corpus(self.vocab, train, self.validation, self.test, about, None, mark)

    def _of_sources(self, split: Split, names: Sequence[str]) -> np.ndarray:
        """The indices of a split's documents that are from the named sources."""
        assert split.sources is not None
        return np.flatnonzero(np.isin(split.sources, [self.sources.index(name) for name in names]))

    @property
    def splits(self) -> dict[str, Split]:
        """The existing splits, by name."""
        named = zip(PARTS, (self.train, self.validation, self.test), strict=True)
        return {name: split for name, split in named if split is not None}

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(split):,}" for name, split in self.splits.items())
        where = f" at {str(self.path)!r}" if self.path else ""
        words = f"{len(self.vocab):,} word{'s' if len(self.vocab) != 1 else ''}"
        return printable(f"Corpus({self.about.get('source', 'texts')}: {sizes}; {words}{where})")


def classes_of(about: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of three or more classes in a corpus's `about`. (Of two classes, `about` has their raw labels.)"""
    names = about.get("classes")
    return checked_names(names) if isinstance(names, list) else ()
