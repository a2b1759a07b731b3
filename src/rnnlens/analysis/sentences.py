"""Sentences of known sign: templates filled with words that the network itself reads as positive or negative.

The words are the strongest of the network's probe words among the adjectives listed here. These are gradable and fit
any subject: *very good*, *slightly good* and *not good* are all English, and *not good* is negative, while *not
perfect* may still be positive. The network reads each of them correctly without context, so each kind of sentence tests
the use of context. A sentence is used only if the vocabulary has all of its words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from rnnlens.common.errors import RnnlensError
from rnnlens.context.probes import Probes
from rnnlens.corpora.vocab import Vocab

WORDS = 12  # largest number of adjectives of each sign
PARTNERS = 3  # number of random first parts for each second part of a contrast

ADJECTIVES = {
    1: (
        "good", "great", "nice", "fun", "enjoyable", "pleasant", "lovely", "beautiful", "impressive",
        "delightful", "interesting", "charming", "refreshing", "satisfying", "entertaining", "exciting",
        "decent", "solid", "cool", "sweet", "memorable", "funny", "clever", "smart", "creative",
        "attractive", "appealing", "fascinating", "engaging", "touching", "thrilling", "amusing",
    ),
    -1: (
        "bad", "poor", "boring", "disappointing", "dull", "mediocre", "bland", "weak", "lame", "sad",
        "annoying", "slow", "ridiculous", "unpleasant", "depressing", "predictable", "painful", "nasty",
        "gross", "cheap", "stupid", "silly", "ugly", "pathetic", "useless", "tedious", "forgettable",
        "frustrating", "overrated", "crappy", "dumb", "uncomfortable", "cheesy", "confusing", "unimpressive",
    ),
}  # fmt: skip
INTENSIFIERS = ("very", "extremely", "really", "so", "absolutely", "incredibly", "truly", "totally", "highly")
DIMINISHERS = ("slightly", "somewhat", "fairly", "mildly", "moderately", "marginally", "partly")
NEGATORS = ("not", "never", "isn't", "wasn't", "didn't", "don't", "can't", "nobody")
FRAMES = {  # the beginning of a plain sentence → its negations
    "it is": ("it is not", "it isn't", "it is never"),
    "this was": ("this was not", "this wasn't", "this was never"),
    "the food was": ("the food was not", "the food wasn't", "the food was never"),
    "the movie is": ("the movie is not", "the movie isn't", "the movie is never"),
    "i found it": ("i did not find it", "i didn't find it", "i never found it"),
    "i thought it was": ("i did not think it was", "i didn't think it was", "i never thought it was"),
}
SINGLE = 2  # number of negations of a frame that are negated again: the negation of *never* is not *always*
DENIALS = ("it is not true that", "i don't think", "nobody can say that", "i can't say")
CONTRASTS = (  # beginnings of the first and the second part
    ("it looked", "it was"), ("it seemed", "it is"), ("the food was", "the service was"),
    ("the start was", "the rest was"),
)  # fmt: skip
KINDS = {  # kind of sentence → words or beginnings that it needs, for the report of missing ones
    "plain": FRAMES,
    "negated positive": NEGATORS,
    "negated negative": NEGATORS,
    "intensified": INTENSIFIERS,
    "diminished": DIMINISHERS,
    "contrasted": ("but", *(f"{first} … but {second} …" for first, second in CONTRASTS)),
    "double negation": DENIALS,
}


@dataclass(frozen=True)
class Sentence:
    """A sentence and the expected sign of its logit.

    toward     1: its logit should be above that of the plain sentence, or above 0 if there is none; −1: below
    plain      the sentence of which it is a stronger or weaker form
    """

    kind: str
    text: str
    toward: int
    plain: str | None = None

    @property
    def expected(self) -> str:
        sign = "positive" if self.toward > 0 else "negative"
        return sign if self.plain is None else f"more {sign}"


def adjectives(vocab: Vocab, probes: Probes) -> dict[int, tuple[str, ...]]:
    """The words that fill the templates, strongest first: 1 → positive words, −1 → negative words."""
    chosen = {}
    for sign, name, strong in ((1, "positive", probes.positive), (-1, "negative", probes.negative)):
        listed = ADJECTIVES[sign]
        known = [word for word in listed if word in vocab]
        if not known:
            raise RnnlensError(
                f"the vocabulary has none of the {name} words that the audit's English sentences need: expected some "
                f"of {_listed(listed)}"
            )
        chosen[sign] = tuple(word for word in strong if word in known)[:WORDS]
        if not chosen[sign]:
            raise RnnlensError(
                f"none of the network's {len(strong)} strongest {name} words is used in the audit's sentences: "
                f"expected some of {_listed(known)}; it has learned little, or does not read sentiment in English"
            )
    return chosen


def sentences(vocab: Vocab, words: dict[int, tuple[str, ...]], seed: int = 0) -> list[Sentence]:
    """Every sentence whose words are in the vocabulary, plain sentences first. seed: draws the parts of contrasts."""
    made = [one for one in _made(words, np.random.default_rng(seed)) if not vocab.unknown(vocab.split(one.text))]
    if not any(one.kind == "plain" for one in made):
        raise RnnlensError(
            "the vocabulary lacks words that the audit's English sentences begin with: expected all words of at least "
            f"one of {_listed(list(FRAMES))}"
        )
    return list(dict.fromkeys(made))


def _made(words: dict[int, tuple[str, ...]], generator: np.random.Generator) -> Iterator[Sentence]:
    signed = [(sign, word) for sign in (1, -1) for word in words[sign]]
    for frame, (sign, word) in product(FRAMES, signed):
        yield Sentence("plain", f"{frame} {word}", sign)
    for frame, (sign, word) in product(FRAMES, signed):
        plain, kind = f"{frame} {word}", f"negated {'positive' if sign > 0 else 'negative'}"
        for negated in FRAMES[frame]:
            yield Sentence(kind, f"{negated} {word}", -sign)
        for more in INTENSIFIERS:
            yield Sentence("intensified", f"{frame} {more} {word}", sign, plain)
        for less in DIMINISHERS:
            yield Sentence("diminished", f"{frame} {less} {word}", -sign, plain)
        for denial, negated in product(DENIALS, FRAMES[frame][:SINGLE]):
            yield Sentence("double negation", f"{denial} {negated} {word}", sign)
    for (first, second), (sign, word) in product(CONTRASTS, signed):
        for other in generator.permutation(np.array(words[-sign]))[:PARTNERS]:
            yield Sentence("contrasted", f"{first} {other} but {second} {word}", sign)


def missing(made: Sequence[Sentence]) -> dict[str, str]:
    """Kinds without a sentence → the words that they need."""
    kinds = {one.kind for one in made}
    return {kind: _listed(list(needed)) for kind, needed in KINDS.items() if kind not in kinds}


def reach(made: Sequence[Sentence]) -> float:
    """The mean distance in words from the first negator of a double negation to its last word."""
    texts = [one.text.split() for one in made if one.kind == "double negation"]
    return float(
        np.mean([len(text) - 1 - next(i for i, word in enumerate(text) if word in NEGATORS) for text in texts])
    )


def _listed(words: Sequence[str], most: int = 8) -> str:
    return ", ".join(words[:most]) + (", …" if len(words) > most else "")
