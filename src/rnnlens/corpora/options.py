"""The options of `prepare`, in one place for Python and the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import check_fields

TARGETS = (0.8, 0.97)  # of 4 and 5 stars
Progress = Callable[[int, int], None]  # called with the rows read so far and the total


@dataclass(frozen=True)
class PrepareConfig:
    """How texts become a corpus."""

    vocab_size: int = 50_000
    """Largest size of the vocabulary, `<unk>` included, at least 2; the rarest words are left out and read as
    `<unk>`."""
    min_count: int = 2
    """How often a word must occur in the training reviews to be in the vocabulary."""
    max_words: int | None = None
    """Keep only this many words of longer reviews, the last ones; None for all."""
    validation: float = 0.1
    """Share, below 1, of the training reviews held out for validation, if the source has no validation split."""
    test: float = 0.2
    """Share, below 1, of all reviews held out for testing, if the source has no test split."""
    seed: int = 0
    """Seed of the random choice of held-out reviews."""
    text: str | None = None
    """Column with the reviews, if it is not recognized."""
    label: str | None = None
    """Column with the labels, if it is not recognized."""
    group: int | str | None = None
    """Column whose equal values belong together, in all sources: such rows stay in one of training, validation and
    test. Use it if texts are parts or versions of one another. Rows without a value are on their own. A number N: each
    N neighboring rows of a class belong together. Use it if neighbors resemble each other, as IMDB's reviews of one
    film do: single held-out reviews would be easier than the test reviews."""
    graded: bool | None = None
    """Train on how positive a text is, not only on its side: stars, ratings, numbers from 0 to 1, or negative /
    neutral / positive become targets from 0 to 1. Neutral texts teach 0.5 and are left out of accuracy. By default
    stars and ratings of more than two values are graded."""
    targets: tuple[float, float] = TARGETS
    """Targets of 4 and of 5 stars, and of other scales at the middle and the end of their upper half; the lower half
    mirrors them. Numbers from 0 to 1 are taken as they are."""
    limit: int | None = None
    """Use only about this many reviews of each split, at least 2, with the same share of each class."""

    classes: bool = False
    """Take every label as a class of its own, ratings and stars too. Three or more names, such as anger, fear and joy,
    are classes in any case."""

    ordered: bool = False
    """The classes are numbers in order, such as stars: every label is a class, and networks read them on one scale."""

    reverse: bool = False
    """Write the words of each review in reverse order: networks trained on it read from the last word to the first, so
    that a word can modify those before it. Texts that they are given later are reversed too."""

    def check(self) -> None:
        """Refuse values that are out of range."""
        check_fields("prepare", self)
        if self.text is not None and self.text == self.label:
            raise RnnlensError(f"text and label are both the column {quoted(self.text)}: expected two columns")
        if len(self.targets) != 2 or not 0.5 < self.targets[0] <= self.targets[1] <= 1:
            given = " and ".join(f"{target:g}" for target in self.targets)
            raise RnnlensError(f"targets are {given}: expected 0.5 < first <= second <= 1, such as 0.8 0.97")
        if self.graded and (self.classes or self.ordered):
            raise RnnlensError("got graded with classes of their own (--classes, --ordered): expected one of the two")


def prepare_config(options: Mapping[str, Any]) -> PrepareConfig:
    """A `PrepareConfig` from options by name, checked."""
    config = PrepareConfig(**options)
    config.check()
    return config
