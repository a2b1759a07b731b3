"""How `validate` initializes and trains its networks. It imports little, since the command line's flags come from
here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rnnlens.common.errors import UsageError
from rnnlens.common.ranges import check_fields
from rnnlens.runs.config import TrainConfig

RECIPE = TrainConfig(
    epochs=16, batch=64, learning_rate=7e-3, word_epsilon=1e-3, sparsity=0.2, weight_decay=0.01, word_dropout=0.05,
    embedding_dropout=0.1,
)  # fmt: skip
"""Chosen by a random search on the language `hard` with another seed."""


@dataclass(frozen=True)
class Settings:
    """The shape, initialization and training of a network.

    scale: standard deviation of the initial embedding. memory: initial time constants of the units, log-uniform from 1
    to this many words; 0 keeps torch's default.
    """

    arch: str = "gru"
    hidden: int = 128
    embedding: int = 32
    scale: float = 0.03
    memory: float = 100.0
    config: TrainConfig = RECIPE

    def __post_init__(self) -> None:
        check_fields("network", self)


def recipe(given: Mapping[str, Any]) -> TrainConfig:
    """The recipe with the given fields replaced."""
    if "seed" in given:
        raise UsageError(
            "seed is given: `validate` trains networks with the seeds 0, 1, …; set their number with --seeds"
        )
    return replace(RECIPE, **given)
