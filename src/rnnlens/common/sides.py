"""The two sides of a logit by name: positive and negative, or toward and away from the class that was analyzed.

Pages, figures and sentences take these names from here, so that none of them calls a class positive or negative."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rnnlens.common.errors import quoted

LONGEST = 40  # letters of a class name in a sentence


@dataclass(frozen=True)
class Sides:
    """What a logit means above 0 and below 0.

    above, below: after "read as" or an arrow: positive, or toward joy. name: the class or scale that was analyzed,
    empty if there are two classes. words: what its probe words are called, those above 0 first. sure: whether σ(logit)
    is the probability of the side above. scale: whether it is a scale of ordered classes.
    """

    above: str = "positive"
    below: str = "negative"
    name: str = ""
    words: tuple[str, str] = ("positive words", "negative words")
    sure: bool = True
    scale: bool = False

    def read(self, logit: float) -> str:
        """How a text is read, after "is read": as positive, or toward joy."""
        side = self.above if logit > 0 else self.below
        return side if self.name else f"as {side}"

    @property
    def means(self) -> str:
        """What the logit means, in a sentence."""
        if self.one_of_many:
            logit = f"It is the logit of {self.name} minus the mean of the other logits"
            return f"{logit}: {self.above} above 0, {self.below} below 0."
        if self.name:
            return f"Above 0 is {self.above}, below 0 {self.below}."
        return f"Above 0 it reads the text as {self.above}, below 0 as {self.below}."

    @property
    def texts(self) -> str:
        """What is read: reviews if they are positive or negative; with other classes it can be anything."""
        return "reviews" if (self.above, self.below) == ("positive", "negative") else "texts"

    @property
    def one_of_many(self) -> bool:
        """Whether the logit is that of one of several classes without an order."""
        return bool(self.name) and not self.scale

    def to_dict(self) -> dict[str, Any]:
        """For the page's script; a scale has no name, since nothing else is shown."""
        name = self.name if self.one_of_many else ""
        return {"above": self.above, "below": self.below, "name": name, "words": self.words, "sure": self.sure}


TWO_SIDES = Sides()


def sides_of(results: Mapping[str, Any]) -> Sides:
    """The sides of the logit that results are of; `results["analysis"]` names them, as `sides_options` does."""
    options = results.get("analysis")
    options = options if isinstance(options, Mapping) else {}
    pairs = [options.get(name) for name in ("two_classes", "scale")]
    classes, scale = ([str(name) for name in pair] if isinstance(pair, list | tuple) else [] for pair in pairs)
    return named_sides(str(options.get("class", "")), classes, scale)


def sides_options(target: str, classes: Sequence[str], ordered: Sequence[str] = ()) -> dict[str, Any]:
    """What `results["analysis"]` says of the sides. target: the class or scale that was analyzed, if any. classes: the
    names of two classes, if they have any. ordered: the names of ordered classes."""
    if target:
        return {"class": target, **({"scale": [ordered[0], ordered[-1]]} if ordered else {})}
    return {"two_classes": list(classes)} if len(classes) == 2 else {}


def named_sides(target: str, classes: Sequence[str] = (), scale: Sequence[str] = ()) -> Sides:
    """The sides of the logit of a class, of a scale from its lowest to its highest class, or of two classes."""
    if not target:
        if len(classes) != 2 or tuple(classes) == ("negative", "positive"):
            return TWO_SIDES
        below, above = (said(name) for name in classes)
        return Sides(above, below, words=(f"words for {above}", f"words for {below}"))
    name = said(target)
    above, below = f"toward {name}", f"away from {name}"
    if len(scale) == 2:
        above, below = (f"toward {said(end)}" for end in reversed(scale))
    return Sides(above, below, name, (f"words {above}", f"words {below}"), sure=False, scale=len(scale) == 2)


def said(name: str) -> str:
    """A class name for a sentence: as it is if it is plain and short, else in quotes and shortened."""
    plain = re.fullmatch(r"[^\W_](?:[\w .,&/+-]*[\w.+])?", name) and len(name) <= LONGEST
    return name if plain else quoted(name, LONGEST)
