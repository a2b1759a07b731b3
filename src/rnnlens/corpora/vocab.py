"""Words and their ids. `<pad>` is not among them: it is the blank input, the zero vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence, Set
from difflib import get_close_matches
from functools import cached_property
from operator import index
from typing import Any, Self, overload

import numpy as np

from rnnlens.common.allowed import shown
from rnnlens.common.display import plural
from rnnlens.common.errors import RnnlensError, UnknownId, UnknownWord, quoted
from rnnlens.common.options import WORDS
from rnnlens.common.ranges import in_range
from rnnlens.common.terminal import printable
from rnnlens.corpora.words import REWRITTEN, split_words, well_formed

PAD = -1  # the id of a blank input (x = 0): padding, dropped words, and a token of the toy language
UNK = "<unk>"
PAD_WORD = "<pad>"  # how a blank input is written in a sentence


class Vocab:
    """The words a network knows: `words[i]` has id i and was seen `counts[i]` times in training.

    `words` may also be a dict {word: id}, with ids 0 … W−1 in any order.
    `counts` is None if they are not known (a user's own word list). If one of the words is `<unk>` (in any case,
    `[UNK]` too), unknown words get its id; otherwise they become PAD, a blank input.
    Texts are lower-cased unless a word has a capital letter (`cased`): then each word is looked up as it is written
    first, and in lower case if that is unknown.

    `vocab["not"]` is a word's id, `vocab[5]` the word with id 5; `"not" in vocab`, `len(vocab)` and iteration refer to
    the words. `<pad>`, which is not a word, has the id PAD (−1).
    """

    def __init__(self, words: Iterable[str] | Mapping[str, int], counts: Sequence[int] | np.ndarray | None = None):
        if isinstance(words, str):
            raise RnnlensError(f"the vocabulary is the text {quoted(words)}: expected a list of words")
        if isinstance(words, Set) and not isinstance(words, KeysView):
            raise RnnlensError(
                f"the vocabulary is a {type(words).__name__}, which has no order: expected a list of words"
            )
        self.words: tuple[str, ...] = tuple(_by_id(words) if isinstance(words, Mapping) else words)
        self.counts: np.ndarray | None = None if counts is None else np.asarray(counts, dtype=np.int64)
        if not self.words:
            raise RnnlensError("the vocabulary is empty: expected at least one word")
        for word in self.words:
            if not isinstance(word, str):
                raise RnnlensError(f"the vocabulary holds {quoted(word)} of type {type(word).__name__}: expected words")
        if well_formed(joined := "".join(self.words)) != joined:
            broken = next(word for word in self.words if well_formed(word) != word)
            raise RnnlensError(
                f"the vocabulary holds {quoted(broken)}, which has half of a character (a lone surrogate): no file can "
                "hold it; write another word in its place"
            )
        if len(self.index) < len(self.words):
            seen: set[str] = set()
            twice = next(word for word in self.words if word in seen or seen.add(word))  # type: ignore[func-returns-value]
            raise RnnlensError(f"the vocabulary holds {quoted(twice)} twice: each word needs one id")
        given, counted = np.asarray(counts), self.counts
        if counted is not None and not (
            counted.shape == (len(self.words),) and np.array_equal(counted, given) and counted.min() >= 0
        ):
            raise RnnlensError(f"the counts are {quoted(counts)}: expected a whole number, at least 0, for each word")

    @cached_property
    def index(self) -> dict[str, int]:
        """word → id."""
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def unk(self) -> int:
        """The id of unknown words: that of `<unk>`, or PAD if the vocabulary has none."""
        return next((i for i, word in enumerate(self.words) if word.lower() in ("<unk>", "[unk]")), PAD)

    @cached_property
    def cased(self) -> bool:
        """Whether a word other than a marker such as `<UNK>` or `[PAD]` has a capital letter."""
        return any(word != word.lower() and not (word[0] in "<[" and word[-1] in ">]") for word in self.words)

    def split(self, text: str) -> list[str]:
        """The words of a text as this vocabulary spells them."""
        if not self.cased and not self.respelled:
            return split_words(text)
        return [self.spelled(word) for word in split_words(text, self.cased)]

    def spelled(self, word: str) -> str:
        """A word as this vocabulary spells it: as written if it is known so, or if the vocabulary is `cased` and does
        not know it in lower case either; else in lower case."""
        if word in self:
            return word
        lowered = word.lower()
        known = next((one for one in (word, lowered) if one in self or one in self.respelled), None)
        if known is None:
            return word if self.cased else lowered
        return self.respelled.get(known, known)

    @cached_property
    def respelled(self) -> dict[str, str]:
        """Words of a user's own list that splitting a text writes in another way, by that way: Greek words that end in
        ς, words with a joiner inside, don’t with a curly apostrophe."""
        found: dict[str, str] = {}
        for word in self.words:
            split = split_words(word, self.cased) if REWRITTEN.search(word) else []
            if len(split) == 1 and split[0] not in self:
                found.setdefault(split[0], word)
        return found

    @in_range("words")
    def unknown(self, words: Iterable[str]) -> list[str]:
        """Those of the words that the vocabulary does not have; `<pad>` is known."""
        return [word for word in words if word not in self and word != PAD_WORD]

    def encode(self, text: str | Sequence[str]) -> np.ndarray:
        """Ids (T,) of a text, split as corpora are, or of a list of words, taken as they are. `<pad>` is a blank input,
        unless the vocabulary has it as a word."""
        if not isinstance(text, str) and text not in WORDS:
            raise RnnlensError(
                f"the text is {shown(text)} of type {type(text).__name__}: expected a text, or a list of words"
            )
        words = self.split(text) if isinstance(text, str) else text
        return np.array([self.index.get(word, PAD if word == PAD_WORD else self.unk) for word in words], dtype=np.int64)

    @in_range("with_vocab")
    def ids_of(self, other: Vocab) -> np.ndarray:
        """The id here of each word of another vocabulary, (W_other,) int64. Words that are unknown here have the id of
        `<unk>`, or PAD if there is none."""
        return self.encode([self.spelled(word) for word in other.words])

    @in_range("with_vocab")
    def extended(self, other: Vocab) -> Vocab:
        """These words, with their ids, followed by the new words of another vocabulary in its order.

        `<pad>` is not a word, and `<unk>` is the same word in both, whatever its spelling. Counts are added, None if
        either vocabulary has none."""
        spelled = dict.fromkeys(
            self.spelled(word)
            for i, word in enumerate(other.words)
            if word != PAD_WORD and not (i == other.unk and self.unk != PAD)
        )
        words = Vocab([*self.words, *(word for word in spelled if word not in self)])
        if self.counts is None or other.counts is None:
            return words
        counts, ids = np.concatenate([self.counts, np.zeros(len(words) - len(self), np.int64)]), words.ids_of(other)
        np.add.at(counts, ids[ids != PAD], other.counts[ids != PAD])
        return Vocab(words.words, counts)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Words of ids; PAD reads as `<pad>`."""
        return [self[index(i)] for i in ids]

    @in_range("near")
    def near(self, word: str, most: int = 3) -> list[str]:
        """Words of the vocabulary with a spelling similar to `word`, nearest first: same first letter, at most two
        letters longer or shorter."""
        word = word.lower()
        candidates = [
            known for known in self.words if known[:1].lower() == word[:1] and abs(len(known) - len(word)) <= 2
        ]
        return get_close_matches(word, candidates, most)

    @overload
    def __getitem__(self, key: str) -> int: ...
    @overload
    def __getitem__(self, key: int) -> str: ...
    def __getitem__(self, key: str | int) -> int | str:
        """The id of a word, or the word of an id."""
        if isinstance(key, str):
            if key in self.index:
                return self.index[key]
            if key == PAD_WORD:
                return PAD
            near = self.near(key)
            hint = f"did you mean {' or '.join(map(quoted, near))}?" if near else "check its spelling"
            raise UnknownWord(f"{quoted(key)} is not among the {len(self)} words of the vocabulary: {hint}")
        i = index(key)
        if not PAD <= i < len(self):
            raise UnknownId(f"no word has the id {i}: expected 0 … {len(self) - 1}, or {PAD} for a blank input")
        return PAD_WORD if i == PAD else self.words[i]

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocab) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # nothing here changes; copies of a network share its words, and some tokenizers cannot be copied

    def __repr__(self) -> str:
        first = f"{', '.join(self.words[:5])}{', …' if len(self) > 5 else ''}"
        return printable(f"Vocab({len(self)} {plural(len(self), 'word')}: {first})")


def _by_id(ids: Mapping[str, int]) -> list[str]:
    """The words of {word: id} in the order of their ids."""
    words = {i: word for word, i in ids.items()}
    for i in range(len(ids)):
        if i not in words:
            raise RnnlensError(
                f"no word of the vocabulary has id {i}: expected {len(ids)} words with the ids 0 … {len(ids) - 1}, "
                "each once"
            )
    return [words[i] for i in range(len(ids))]
