"""Scores of how well strengths agree with people's judgment and with lexicons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rnnlens.analysis.lexicon import Lexicon
from rnnlens.analysis.people import Judged, correlation
from rnnlens.common.errors import RnnlensError, quoted

RESAMPLES = 2_000
FEWEST = 5  # smallest number of words for a correlation


@dataclass(frozen=True)
class Correlation:
    """Pearson's r of n words' strengths with people's; low and high: its 95 % interval, by a bootstrap over words.

    ceiling: the square root of the reliability of people's strengths for these words, by split halves of the
    sentences. No measure can be expected to have a higher r. With too few words the values are None."""

    words: int
    r: float | None
    low: float | None
    high: float | None
    ceiling: float | None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Ranking:
    """How high the modifiers of a lexicon rank when words are ordered by |strength|.

    average_precision: 1 if they are all ranked first; `chance`: its expected value for a random order
    same_sign: the share of modifiers whose strength has the sign of the lexicon; None if the lexicon has no signs
    modifiers, words: the number of the lexicon's modifiers, and of all ranked words
    """

    average_precision: float
    chance: float
    modifiers: int
    words: int
    same_sign: float | None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def correlate(
    strength: Mapping[str, float], people: Judged, split: str = "all", least: int = 20, seed: int = 0
) -> Correlation:
    """The agreement of strengths with people's judgment on `even`, `odd` or `all` sentences, for words with at least
    `least` phrases in them."""
    enough = people.phrases(split) >= least
    rows = np.array([i for i, word in enumerate(people.words) if enough[i] and word in strength], int)
    if len(rows) < FEWEST:
        return Correlation(len(rows), None, None, None, None)
    ours, theirs = np.array([strength[people.words[i]] for i in rows]), people.strength(split)[rows]
    drawn = np.random.default_rng(seed).integers(len(rows), size=(RESAMPLES, len(rows)))
    a, b = (values[drawn] - values[drawn].mean(1, keepdims=True) for values in (ours, theirs))
    size = np.sqrt((a * a).sum(1) * (b * b).sum(1))
    correlations = (a * b).sum(1)[size > 0] / size[size > 0]  # a resample of a single word has no correlation
    low, high = np.quantile(correlations, [0.025, 0.975]).tolist() if len(correlations) else (None, None)
    reliability = people.reliability(rows, split)
    return Correlation(
        len(rows), correlation(ours, theirs), low, high, None if reliability is None else reliability**0.5
    )


def rank(strength: Mapping[str, float], lexicon: Lexicon) -> Ranking:
    """The average precision of |strength| for a lexicon, over all words of the network or, if the lexicon also contains
    words that are not modifiers, over the lexicon's words."""
    from sklearn.metrics import average_precision_score

    words = [word for word in strength if word in lexicon.values] if lexicon.names_others else list(strength)
    known = [word for word in words if word in lexicon.modifiers]
    if not known:
        raise RnnlensError(
            f"the lexicon {quoted(lexicon.name)} shares no modifier with the network's words: it has "
            f"{quoted(', '.join(sorted(lexicon.modifiers)[:3]))} …, the network "
            f"{quoted(', '.join(list(strength)[:3]))} …; expected a lexicon in the network's language"
        )
    values = {word: lexicon.values[word] for word in known}
    signs = [(value > 0) == (strength[word] > 0) for word, value in values.items() if value]
    precision = average_precision_score([word in values for word in words], [abs(strength[word]) for word in words])
    return Ranking(
        float(precision), len(known) / len(words), len(known), len(words), float(np.mean(signs)) if signs else None
    )
