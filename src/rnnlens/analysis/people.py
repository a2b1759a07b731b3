"""Strengths of words in people's judgment.

The strength of a word w is computed from the phrases x that are not neutral for which people have also judged "w x".
With centered labels (−2 … 2) and sums over these phrases it is

    Σ label(w x) · label(x) / Σ label(x)² − 1.

−1 makes phrases neutral, −2 reverses them, 0 leaves them unchanged. On a scale of five labels, words that change
nothing have about −0.3, because people judge longer phrases as milder, and intensifiers hardly exceed 0.

`people.json` has the sums for words of the Stanford Sentiment Treebank, so that its text is not needed; `python -m
reproduction.judgments TREES` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from pathlib import Path

import numpy as np

from rnnlens.analysis.trees import Pair, Trees
from rnnlens.common.errors import RnnlensError, quoted

PARTS = 8  # sentence n is in part n mod 8
SPLITS: dict[str, tuple[int, ...]] = {"even": (0, 2, 4, 6), "odd": (1, 3, 5, 7), "all": tuple(range(PARTS))}
PACKAGED = Path(__file__).with_name("people.json")


@dataclass(frozen=True, eq=False)
class Judged:
    """Sums over the phrases of M words, separately for each of P = 8 parts of the sentences.

    sums  (M, P, 3): the number of phrases, Σ y(w x) · y(x), and Σ y(x)², where y is people's label or a network's logit
    """

    source: str
    words: tuple[str, ...]
    sums: np.ndarray

    @cached_property
    def rows(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def phrases(self, split: str | Sequence[int] = "all") -> np.ndarray:
        """The number of phrases of each word (M,), in `even`, `odd` or `all` sentences."""
        return self._of(split)[:, 0].astype(int)

    def strength(self, split: str | Sequence[int] = "all") -> np.ndarray:
        """The strength of each word (M,); NaN if it has no phrase."""
        _, xy, xx = self._of(split).T
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(xx > 0, xy / xx - 1, np.nan)

    def reliability(self, rows: np.ndarray, split: str = "all") -> float | None:
        """The split-half reliability of the strengths of the words `rows`: the mean correlation of two halves of the
        sentences over all ways to split them, with the Spearman–Brown correction. None if there are too few words.

        Its square root is the highest correlation that any measure can be expected to have with the strengths.
        """
        parts = SPLITS[split]
        correlations = []
        for half in combinations(parts[1:], len(parts) // 2):  # the first part is always in the other half
            other = [part for part in parts if part not in half]
            correlations.append(correlation(self.strength(half)[rows], self.strength(other)[rows]))
        known = [r for r in correlations if r is not None]
        if not known:
            return None
        r = float(np.mean(known))
        return max(0.0, 2 * r / (1 + r)) if r > -1 else 0.0

    def _of(self, split: str | Sequence[int]) -> np.ndarray:
        return self.sums[:, list(SPLITS[split] if isinstance(split, str) else split)].sum(1)


def correlation(a: np.ndarray, b: np.ndarray, least: int = 3) -> float | None:
    """Pearson's r over the pairs without NaN; None for fewer than `least` pairs, or if one variable is constant."""
    known = np.isfinite(a) & np.isfinite(b)
    if known.sum() < least:
        return None
    a, b = a[known] - a[known].mean(), b[known] - b[known].mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else None


def sums_of(pairs: Sequence[Pair], rest: np.ndarray, whole: np.ndarray, source: str) -> Judged:
    """The sums over pairs, given y of x and of "w x", each (pairs,)."""
    words = sorted({pair.word for pair in pairs})
    index = {word: i for i, word in enumerate(words)}
    at = [index[pair.word] for pair in pairs], [pair.whole.sentence % PARTS for pair in pairs]
    sums = np.zeros((len(words), PARTS, 3), rest.dtype)
    np.add.at(sums, at, np.stack([np.ones_like(rest), whole * rest, rest * rest], -1))
    return Judged(source, tuple(words), sums)


def judged_pairs(trees: Trees) -> list[Pair]:
    """The pairs in which x is not neutral, each phrase "w x" once. People judged each phrase once, wherever it occurs;
    counting it twice would inflate the agreement of two halves of the sentences."""
    pairs: dict[str, Pair] = {}
    for pair in trees.pairs:
        if pair.rest.label != 0:
            pairs.setdefault(trees.text(pair.whole).lower(), pair)
    if not pairs:
        raise RnnlensError(
            f'{quoted(trees.source)} has no phrase "w x" in which w is one word and x is not neutral: expected trees '
            "of whole sentences"
        )
    return list(pairs.values())


def judged_in(trees: Trees, least: int = 1) -> Judged:
    """People's judgments of every word with at least `least` phrases x that are not neutral."""
    pairs = judged_pairs(trees)
    labels = np.array([(pair.rest.label, pair.whole.label) for pair in pairs])
    sums = sums_of(pairs, labels[:, 0], labels[:, 1], trees.source)
    enough = sums.phrases() >= least
    return Judged(
        sums.source, tuple(word for word, kept in zip(sums.words, enough, strict=True) if kept), sums.sums[enough]
    )


@cache
def packaged() -> Judged:
    """People's judgments of words with at least five phrases in the Stanford Sentiment Treebank."""
    content = json.loads(PACKAGED.read_text(encoding="utf-8"))
    words = content["words"]
    return Judged(content["source"], tuple(words), np.array(list(words.values())).reshape(len(words), PARTS, 3))


def people_say(word: str) -> tuple[float, int] | None:
    """The strength of a word in people's judgment, and the number of phrases; None for words with fewer than five.

    >>> people_say("not")[0] < -1
    True
    """
    people = packaged()
    row = people.rows.get(word.lower())
    return None if row is None else (float(people.strength()[row]), int(people.phrases()[row]))
