"""The options of `prepare`, in one place for Python and the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import check_options, shown

Progress = Callable[[int, int], None]  # called with the rows read so far and the rows in all


@dataclass(frozen=True)
class PrepareConfig:
    """How texts become a corpus."""

    vocab_size: int = 50_000
    """The most words to know, `<unk>` among them; the rarest are left out and read as `<unk>`."""
    min_count: int = 2
    """Times a word must occur in the training reviews to be known."""
    max_words: int | None = None
    """Longer reviews keep their last so many words; None for all."""
    validation: float = 0.1
    """Share of the training reviews held out to choose settings on, where the source has no validation split."""
    test: float = 0.2
    """Share of all reviews held out for testing, where the source has no test split."""
    seed: int = 0
    """Seed of what is held out."""
    neighbours: int = 1
    """Hold out runs of so many neighbouring reviews of a class, not single ones: where neighbours tell of each other,
    as IMDB's reviews of one film do, single ones look easier than the test reviews are."""
    text: str | None = None
    """Column with the reviews, where it is not found by itself."""
    label: str | None = None
    """Column with the labels, where it is not found by itself."""
    limit: int | None = None
    """Use only about so many reviews of each split, class by class."""

    def check(self) -> None:
        """Refuse values that make no corpus."""
        check_options("prepare", vars(self))
        for name in ("text", "label"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise RnnlensError(f"{name} is {shown(value)}: expected the name of a column")


def prepare_config(options: Mapping[str, Any]) -> PrepareConfig:
    """The options given by name, checked."""
    known = [field.name for field in fields(PrepareConfig)]
    for name in options:
        if name not in known:
            raise RnnlensError(f"there is no option {quoted(name)}: expected {', '.join(known)}")
    config = PrepareConfig(**options)
    config.check()
    return config
