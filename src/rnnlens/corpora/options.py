"""The options of `prepare`, in one place for Python and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from rnnlens.errors import RnnlensError, quoted


@dataclass(frozen=True)
class PrepareConfig:
    """How texts become a corpus.

    vocab_size  words at most, `<unk>` among them; the rarest are left out
    min_count   times a word must occur in training to be one
    max_words   longer reviews keep their last `max_words` words (None: all)
    validation  share of the training reviews held out, class by class, if the source has no validation split
    test        share of all reviews held out, class by class, if the source has no test split
    seed        of these choices
    text, label names of columns (None: detected)
    limit       reviews used of each split of the source, about, class by class (None: all)
    """

    vocab_size: int = 50_000
    min_count: int = 2
    max_words: int | None = None
    validation: float = 0.1
    test: float = 0.2
    seed: int = 0
    text: str | None = None
    label: str | None = None
    limit: int | None = None

    def check(self) -> None:
        """Refuse values that make no corpus."""
        for name, least in (("vocab_size", 2), ("min_count", 1), ("max_words", 1), ("limit", 2), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise RnnlensError(f"{name} is {value}: expected at least {least}")
        for name in ("validation", "test"):
            if not 0 <= getattr(self, name) < 1:
                raise RnnlensError(f"{name} is {getattr(self, name)}: expected a share from 0 to below 1")


def prepare_config(options: Mapping[str, Any]) -> PrepareConfig:
    """The options given by name, checked."""
    known = [field.name for field in fields(PrepareConfig)]
    for name in options:
        if name not in known:
            raise RnnlensError(f"there is no option {quoted(name)}: expected {', '.join(known)}")
    config = PrepareConfig(**options)
    config.check()
    return config
