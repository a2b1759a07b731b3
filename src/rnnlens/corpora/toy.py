"""The toy language of the paper's Section 4: valences, an intensifier, a negator, and a target at every word.

`extremely` doubles the valence of the next token, `not` flips the sign of the next four, whatever they are; the target
is the running sum. The blank input (`<pad>`, x = 0) is one of the neutral tokens: later analyses linearize there,
so the network must learn to read it. Without it a trained GRU drifts by tens of logits in ten blank inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.options import SEED, TEXT, VALENCE
from rnnlens.common.ranges import check_fields, in_range
from rnnlens.common.rows import chosen_rows
from rnnlens.corpora.vocab import PAD, PAD_WORD, Vocab


@dataclass(frozen=True)
class Modifier:
    """Multiplies the valence of each of the next `scope` tokens by `factor`; it does not occur again among them."""

    factor: float
    scope: int

    def __post_init__(self) -> None:
        check_fields("Modifier", self)


@dataclass(frozen=True)
class ToyLanguage:
    """Words with their valences, modifiers with their factors and scopes; the paper's are the default.

    Tokens of a review are drawn uniformly from the valence words, the modifiers and `pads` blank inputs, but a modifier
    never falls within its own scope (no `not` within four of a `not`, no `extremely` right after `extremely`).
    """

    valences: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({"awful": -2, "bad": -1, "the": 0, "good": 1, "awesome": 2})
    )
    modifiers: Mapping[str, Modifier] = field(
        default_factory=lambda: MappingProxyType({"extremely": Modifier(2, 1), "not": Modifier(-1, 4)})
    )
    length: int = 50
    pads: int = 1

    def __post_init__(self) -> None:
        check_fields("ToyLanguage", self)
        if not self.valences or set(self.valences) & set(self.modifiers):
            raise RnnlensError("a toy language needs valence words, and modifiers that are not among them")
        for word, valence in self.valences.items():
            VALENCE.check(f"the valence of {quoted(word)}", valence)

    @property
    def vocab(self) -> Vocab:
        """The valence words, then the modifiers. `<pad>` is not a word."""
        return Vocab([*self.valences, *self.modifiers])

    def targets(self, ids: np.ndarray) -> np.ndarray:
        """The running sum (n, T) of valences, each times the factors of the modifiers whose scope it is in."""
        if ids.size and not PAD <= ids.min() <= ids.max() < len(self.vocab):
            raise RnnlensError(
                f"ids range from {ids.min()} to {ids.max()}: expected 0 … {len(self.vocab) - 1}, or {PAD} for a blank "
                "input"
            )
        valence = np.array([*self.valences.values(), *(0.0 for _ in self.modifiers), 0.0], dtype=np.float32)
        value = valence[ids]  # PAD, −1, reads the last entry: neutral
        for m, modifier in enumerate(self.modifiers.values(), start=len(self.valences)):
            in_scope = np.zeros(ids.shape, dtype=bool)
            for lag in range(1, min(modifier.scope, ids.shape[1] - 1) + 1):
                in_scope[:, lag:] |= ids[:, :-lag] == m
            value[in_scope] *= modifier.factor
        return value.cumsum(1)

    @in_range("sample")
    def sample(self, n: int, seed: int | np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """n random reviews: ids (n, T), of the smallest integer type, and targets (n, T) float32."""
        if not isinstance(seed, np.random.Generator):
            SEED.check("seed", seed)
        generator = np.random.default_rng(seed)
        tokens = np.array([*range(len(self.vocab)), *[PAD] * self.pads], dtype=np.min_scalar_type(-len(self.vocab)))
        ids = generator.choice(tokens, size=(self.length, n))  # time first: each step is one block of memory
        scopes = [(m, mod.scope) for m, mod in enumerate(self.modifiers.values(), start=len(self.valences))]
        for t in range(1, self.length):
            # A modifier within its own scope is drawn again, until every review has an allowed token.
            redraw = self._forbidden(ids, t, scopes, np.arange(n))
            while redraw.size:
                ids[t, redraw] = generator.choice(tokens, size=redraw.size)
                redraw = self._forbidden(ids, t, scopes, redraw)
        ids = np.ascontiguousarray(ids.T)
        return ids, self.targets(ids)

    @staticmethod
    def _forbidden(ids: np.ndarray, t: int, scopes: Sequence[tuple[int, int]], rows: np.ndarray) -> np.ndarray:
        """Those of the reviews `rows` whose token at t is a modifier within its own scope."""
        forbidden = [rows[:0]]
        for m, scope in scopes:
            here = rows[ids[t, rows] == m]
            forbidden.append(here[(ids[max(0, t - scope) : t, here] == m).any(0)])
        return np.concatenate(forbidden)

    def encode(self, text: str) -> np.ndarray:
        """Ids (T,) of a phrase of toy words; `<pad>` is a blank input."""
        words = TEXT.check("text", text).split()
        known = [*self.vocab.words, PAD_WORD]
        unknown = next((word for word in words if word not in known), None)
        if unknown is not None:
            raise RnnlensError(
                f"{quoted(unknown)} is not a word of this toy language: expected one of {', '.join(known)}"
            )
        return self.vocab.encode(words)

    def about(self) -> dict[str, Any]:
        """The language as plain data, for run folders."""
        return {
            "valences": dict(self.valences),
            "modifiers": {w: {"factor": m.factor, "scope": m.scope} for w, m in self.modifiers.items()},
            "length": self.length,
            "pads": self.pads,
        }


@dataclass(frozen=True)
class ToySplit:
    """Reviews of one length with a target at every word: ids (n, T) integers, labels (n, T) float32."""

    ids: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> np.ndarray:
        return np.full(len(self.ids), self.ids.shape[1], dtype=np.int64)

    def batch(self, indices: np.ndarray, max_words: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Ids (B, T) and lengths (B,) of the chosen reviews; `max_words` is ignored, since every token has a target."""
        ids = self.ids[chosen_rows("indices", indices, len(self), "reviews", from_end=True)].astype(np.int64)
        return ids, np.full(len(ids), ids.shape[1], dtype=np.int64)


@dataclass(frozen=True)
class ToyCorpus:
    """A sampled toy language in the shape of a corpus: `train` and `validation` splits, and the words."""

    language: ToyLanguage
    train: ToySplit
    validation: ToySplit
    about: dict[str, Any]

    test = None
    path = None

    @property
    def vocab(self) -> Vocab:
        return self.language.vocab

    @property
    def fingerprint(self) -> str:
        from rnnlens.common.files import fingerprint

        return fingerprint(self.about)


@in_range("toy_corpus")
def toy_corpus(
    language: ToyLanguage | None = None, train: int = 200_000, validation: int = 2_000, seed: int = 0
) -> ToyCorpus:
    """Sample a corpus of the toy language; the same seed gives the same reviews."""
    language = ToyLanguage() if language is None else language
    seeds = np.random.SeedSequence(seed).spawn(2)
    parts = [
        ToySplit(*language.sample(n, np.random.default_rng(s))) for n, s in zip((train, validation), seeds, strict=True)
    ]
    about = {"source": "toy", "seed": seed, "train": train, "validation": validation, **language.about()}
    return ToyCorpus(language, parts[0], parts[1], about)
