"""An explanation of how a network reads a kind of sentence, in one sentence with the measured strengths.

The texts are in mechanism.jinja. Two words are taken to add to the logit the effect of the first plus the effect of the
second, changed by the strength of the first: v₁ + (1 + s₁) v₂.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rnnlens.analysis import sentences
from rnnlens.analysis.sentences import DIMINISHERS, INTENSIFIERS, Sentence
from rnnlens.context.modifiers import Modifiers
from rnnlens.context.strength import LEAST_ERRORS

TEMPLATE = Path(__file__).with_name("mechanism.jinja")
LITTLE = 0.1  # shares of an effect below this are neglected
FAR = 3  # distance in words from the negator to the last word of "i did not find it …"
CLEAR = LEAST_ERRORS  # errors from −1 beyond which something of the next word clearly remains
NEGATED = ("not", "never", "isn't", "wasn't", "didn't")  # the first known one is described in full


@dataclass(frozen=True)
class Measured:
    """A word's strength, its standard error (None if there is none), its timescale τ in words (None if unknown), its
    valence in logits, and how many errors from 0 a strength must be to be clear."""

    word: str
    strength: float
    error: float | None
    tau: float | None
    valence: float
    clear_at: float = CLEAR

    @property
    def clear(self) -> bool:
        return self.clear_at < math.inf and abs(self.strength) >= self.clear_at * (self.error or 0.0)

    @property
    def flips(self) -> bool:
        """Whether the effect of the next word clearly changes its sign."""
        return self.strength + max(CLEAR * (self.error or 0.0), LITTLE) < -1

    @property
    def cancels(self) -> bool:
        """Whether no clear effect of the next word remains."""
        return abs(1 + self.strength) <= max(CLEAR * (self.error or 0.0), LITTLE)

    def before(self, alone: float) -> float:
        """The sum of this word's effect and that of the next word, in logits, if the next word alone adds `alone`."""
        return self.valence + (1 + self.strength) * alone

    def left(self, lag: float) -> float | None:
        """The share that is left `lag` words later of the part of the change that fades; None if τ is unknown."""
        return None if self.tau is None else math.exp(-(lag - 1) / self.tau)


def measured(modifiers: Modifiers, words: Iterable[str]) -> list[Measured]:
    """The measurements of those words that were measured."""
    rows = [modifiers[word] for word in words if word in modifiers.words]
    return [
        Measured(row["word"], row["strength"], row.get("error"), row.get("tau"), row["valence"], modifiers.clear_at)
        for row in rows
    ]


def mechanism(modifiers: Modifiers, words: dict[int, tuple[str, ...]], made: list[Sentence]) -> dict[str, str]:
    """Kind of sentence → its explanation. words: 1 → positive words, −1 → negative words. Kinds of which no word was
    measured are left out."""
    read = {word for one in made for word in one.text.split()}
    means = {sign: _mean(one.valence for one in measured(modifiers, side)) for sign, side in words.items()}

    def used(listed: Iterable[str]) -> list[Measured]:
        return measured(modifiers, [word for word in listed if word in read])

    return describe(
        means[1],
        means[-1],
        used(NEGATED),
        used(INTENSIFIERS),
        used(DIMINISHERS),
        used(["but"]),
        sentences.reach(made) if any(one.kind == "double negation" for one in made) else None,
    )


def describe(
    positive: float,
    negative: float,
    negators: list[Measured],
    intensifiers: list[Measured],
    diminishers: list[Measured],
    but: list[Measured],
    lag: float | None,
) -> dict[str, str]:
    """Kind of sentence → its explanation, from numbers. positive, negative: mean effects of the positive and the
    negative words alone. lag: mean distance in words from the outer negator of a double negation to its last word."""
    template, texts = _template(), {}

    def graded(words: list[Measured], up: bool) -> str:
        wrong = {
            alone: [m.word for m in words if (m.before(alone) / alone - 1) * (1 if up else -1) < -LITTLE]
            for alone in (positive, negative)
        }
        return template.graded(words, up, wrong[positive], wrong[negative])

    if not math.isnan(positive) and not math.isnan(negative) and not positive > 0 > negative:
        texts["plain"] = template.alike(positive, negative)
    elif not math.isnan(positive) and not math.isnan(negative):
        texts["plain"] = template.plain(positive, negative)
        if negators:
            first, others = negators[0], negators[1:]
            for name, alone, sign in (("positive", positive, -1), ("negative", negative, 1)):
                texts[f"negated {name}"] = template.negated(first, others, alone, sign, FAR, first.left(FAR))
        if intensifiers:
            texts["intensified"] = graded(intensifiers, True)
        if diminishers:
            texts["diminished"] = graded(diminishers, False)
        if but:
            texts["contrasted"] = template.contrasted(but[0], positive, negative)
        if negators and lag is not None:
            texts["double negation"] = template.doubled(negators[0], lag, negators[0].left(lag))
    return {kind: _one_line(text) for kind, text in texts.items()}


def _one_line(text: str) -> str:
    line = " ".join(text.split()).replace(" ,", ",").replace(" ;", ";").replace("-", "−")
    return f"{line[:1].upper()}{line[1:]}." if not line.startswith("*") else f"{line}."


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values) if values else math.nan


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    source = TEMPLATE.read_text(encoding="utf-8")
    return Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(source).module
