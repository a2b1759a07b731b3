"""Strengths of the same words in several networks, from their stored analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from rnnlens.context.modifiers import MEASURES
from rnnlens.context.strength import MODIFIERS, clear_at, kind_of
from rnnlens.corpora.vocab import Vocab

FEWEST = 5  # smallest number of words for a correlation
MOST = 400  # words of a pair that are listed


@dataclass(frozen=True)
class StrengthRow:
    """The strength of a word in a network, its standard error, and its kind."""

    strength: float
    error: float
    kind: str

    @property
    def is_clear(self) -> bool:
        """Whether the word is clearly a modifier."""
        return self.kind in MODIFIERS


StrengthTable = Mapping[str, StrengthRow]
"""The measured words of a network."""


@dataclass(frozen=True)
class Pair:
    """The strengths of two networks on the words that were measured in both.

    n: number of these words. r: their correlation, None for fewer than five words; low, high: its 95 % interval over
    words. words: those that are clear modifiers in at least one of the two, the most certain first, at most `MOST`.
    """

    first: str
    second: str
    n: int
    r: float | None
    low: float | None
    high: float | None
    words: Sequence[tuple[str, StrengthRow, StrengthRow]]


def strengths_of(vocab: Vocab, arrays: Mapping[str, Tensor]) -> dict[str, StrengthRow]:
    """All words that an analysis measured."""
    columns = dict(zip(MEASURES, arrays["measures"].float(), strict=True))
    clear = clear_at(columns["strength"], columns["error"])
    of_each = zip(
        arrays["words"].tolist(), *(columns[name].tolist() for name in ("strength", "error", "own")), strict=True
    )
    return {vocab.words[i]: StrengthRow(s, error, kind_of(s, error, own, clear)) for i, s, error, own in of_each}


def pair(names: tuple[str, str], first: StrengthTable, second: StrengthTable) -> Pair:
    """Compare the strengths of two networks."""
    shared = [word for word in first if word in second]
    x, y = (np.array([of[word].strength for word in shared]) for of in (first, second))
    clear = [word for word in shared if first[word].is_clear or second[word].is_clear]
    clear.sort(key=lambda word: -max(_certain(first[word]), _certain(second[word])))
    rows = [(word, first[word], second[word]) for word in clear[:MOST]]
    return Pair(*names, len(shared), *correlation_interval(x, y), rows)


def correlation_interval(x: np.ndarray, y: np.ndarray) -> tuple[float | None, float | None, float | None]:
    """Pearson's r and its 95 % interval over pairs, which need not be normal: the standard error comes from the
    influence of each pair on r, and the interval is symmetric in atanh r. None for fewer than `FEWEST` pairs, or if one
    variable is constant."""
    if len(x) < FEWEST or not x.std() > 0 or not y.std() > 0:
        return None, None, None
    a, b = ((values - values.mean()) / values.std() for values in (x, y))
    r = float((a * b).mean())
    if abs(r) > 1 - 1e-9:
        return r, r, r
    error = float((a * b - r / 2 * (a * a + b * b)).std()) / len(x) ** 0.5
    low, high = (float(np.tanh(np.arctanh(r) + side * 1.96 * error / (1 - r * r))) for side in (-1, 1))
    return r, low, high


def _certain(word: StrengthRow) -> float:
    """How far from 0 the strength of a clear modifier certainly is; negative for other words."""
    return abs(word.strength) - 2 * word.error if word.is_clear else -1.0
