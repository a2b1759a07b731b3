"""What the measured strengths say of a kind of sentence, in one sentence made from the numbers.

The words are in mechanism.jinja. What two words add to the logit is taken to be the first one's own effect plus the
second one's, changed by the first one's strength: v₁ + (1 + s₁) v₂.
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

TEMPLATE = Path(__file__).with_name("mechanism.jinja")
LITTLE = 0.1  # a share of an effect that is not worth telling
FAR = 3  # how many words after its negator the last word of "i did not find it …" stands
CLEAR = 2.0  # standard errors from 0 from which on a strength is clear
NEGATED = ("not", "never", "isn't", "wasn't", "didn't")  # in this order: the first is described in full


@dataclass(frozen=True)
class Measured:
    """A word's strength with its standard error (None where there is none), its timescale τ in words (None where
    it is not known), and its own effect in logits."""

    word: str
    strength: float
    error: float | None
    tau: float | None
    valence: float

    @property
    def clear(self) -> bool:
        return abs(self.strength) > CLEAR * (self.error or 0.0)

    @property
    def flips(self) -> bool:
        """Whether what is left of the next word's effect clearly has the other sign."""
        return self.strength + max(CLEAR * (self.error or 0.0), LITTLE) < -1

    @property
    def cancels(self) -> bool:
        """Whether nothing clear is left of the next word's effect."""
        return abs(1 + self.strength) <= max(CLEAR * (self.error or 0.0), LITTLE)

    def before(self, alone: float) -> float:
        """What this word and one right after it add together, in logits, if that one alone adds `alone`."""
        return self.valence + (1 + self.strength) * alone

    def left(self, lag: float) -> float | None:
        """The share of the change that is left `lag` words later; None where τ is not known."""
        return None if self.tau is None else math.exp(-(lag - 1) / self.tau)


def measured(modifiers: Modifiers, words: Iterable[str]) -> list[Measured]:
    """Those of the words that were measured."""
    rows = [modifiers[word] for word in words if word in modifiers.words]
    return [Measured(row["word"], row["strength"], row.get("error"), row.get("tau"), row["valence"]) for row in rows]


def mechanism(modifiers: Modifiers, words: dict[int, tuple[str, ...]], made: list[Sentence]) -> dict[str, str]:
    """Kind of sentence → what the numbers say of it. words: 1 → positive, −1 → negative ones. Kinds of which no word
    was measured are left out."""
    there = {word for one in made for word in one.text.split()}
    means = {sign: _mean(one.valence for one in measured(modifiers, side)) for sign, side in words.items()}

    def used(listed: Iterable[str]) -> list[Measured]:
        return measured(modifiers, [word for word in listed if word in there])

    return told(
        means[1],
        means[-1],
        used(NEGATED),
        used(INTENSIFIERS),
        used(DIMINISHERS),
        used(["but"]),
        sentences.reach(made) if any(one.kind == "double negation" for one in made) else None,
    )


def told(
    positive: float,
    negative: float,
    negators: list[Measured],
    intensifiers: list[Measured],
    diminishers: list[Measured],
    but: list[Measured],
    lag: float | None,
) -> dict[str, str]:
    """The same from numbers. positive, negative: what words of either sign add alone, on average; lag: how many words
    after the outer negation the last word of a double negation stands."""
    say, found = _template(), {}

    def graded(words: list[Measured], up: bool) -> str:
        wrong = {
            alone: [m.word for m in words if (m.before(alone) / alone - 1) * (1 if up else -1) < -LITTLE]
            for alone in (positive, negative)
        }
        return say.graded(words, up, wrong[positive], wrong[negative])

    if not math.isnan(positive) and not math.isnan(negative):
        found["plain"] = say.plain(positive, negative)
        if negators:
            found["negated positive"] = say.negated(negators[0], negators[1:], positive, -1, FAR, negators[0].left(FAR))
            found["negated negative"] = say.negated(negators[0], negators[1:], negative, 1, FAR, negators[0].left(FAR))
        if intensifiers:
            found["intensified"] = graded(intensifiers, True)
        if diminishers:
            found["diminished"] = graded(diminishers, False)
        if but:
            found["contrasted"] = say.contrasted(but[0], positive, negative)
        if negators and lag is not None:
            found["double negation"] = say.doubled(negators[0], lag, negators[0].left(lag))
    return {kind: _one_line(text) for kind, text in found.items()}


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
