"""Fine-tuning: further training of a trained network, with settings for few reviews."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rnnlens.common.allowed import shown
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.runs.config import TrainConfig

if TYPE_CHECKING:
    from rnnlens.runs import Run

CHOSEN = {
    "epochs": 3, "batch": 32, "learning_rate": 1e-3, "word_epsilon": 1e-3, "average": 0.99, "balance": True,
    "keep": "last",
}  # fmt: skip
"""Settings for a few thousand reviews: the best of four, by the rule of `experiments.settings.best`. Each fine-tuned a
GRU of film reviews on 3,000 Yelp reviews and was scored on 1,400 others."""
OTHER_CLASSES = {"epochs": 6, "learning_rate": 3e-3}
"""What differs if the network has a new readout, of other classes: the best of four on the validation texts of 4,320
texts with six emotions, from the packaged GRU."""
KEPT = ("word_dropout", "dropout_run", "blanks", "embedding_dropout", "max_words")
"""Settings kept from the first training: they decide which inputs, such as blank ones, the network is trained for."""


def start_config(run: Run, **changes: Any) -> TrainConfig:
    """Settings to fine-tune a run's network: few epochs at a low rate, word dropout as in the first training."""
    kept = {name: value for name, value in asdict(run.config).items() if name in KEPT}
    return TrainConfig(**{**CHOSEN, **kept, **changes})


def open_start(start: str, arch: str | None, shape: Mapping[str, Any]) -> Run:
    """The run to start from; an error if `arch` or `shape` differs from its own."""
    from rnnlens.runs import load

    run = load(start)
    network = run.network
    usual = {"both_ways": False, "layers": 1, "convolution": None}
    own = {"scale": network.scale, "memory": network.memory, **usual, **network.config}
    for name, value in {**({} if arch is None else {"arch": arch}), **shape}.items():
        if value != own[name]:
            flag = name.replace("_", "-")
            raise RnnlensError(
                f"{name} is {shown(value)}, but it is {shown(own[name])} in {quoted(start)}: leave --{flag} out, or "
                "start from another network"
            )
    return run
