"""The search spaces of `sweep` for each model (§9: learning rate, its decay, momentum, L2, dropout).

The parameters of a trial are a pure function of (model, seed, trial): any machine can run any trial.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnlens.common.allowed import shown
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.options import NAMES

if TYPE_CHECKING:
    from optuna.trial import Trial


@dataclass(frozen=True)
class Uniform:
    low: float
    high: float

    def draw(self, generator: np.random.Generator) -> float:
        return float(f"{generator.uniform(self.low, self.high):.3g}")

    def suggest(self, trial: Trial, name: str) -> float:
        return trial.suggest_float(name, self.low, self.high)


@dataclass(frozen=True)
class Log:
    """Uniform in the logarithm."""

    low: float
    high: float

    def draw(self, generator: np.random.Generator) -> float:
        return float(f"{np.exp(generator.uniform(np.log(self.low), np.log(self.high))):.3g}")

    def suggest(self, trial: Trial, name: str) -> float:
        return trial.suggest_float(name, self.low, self.high, log=True)


class Choice:
    def __init__(self, *options: Any):
        self.options = options

    def draw(self, generator: np.random.Generator) -> Any:
        return self.options[int(generator.integers(len(self.options)))]

    def suggest(self, trial: Trial, name: str) -> Any:
        return trial.suggest_categorical(name, self.options)


Space = dict[str, Uniform | Log | Choice]

WORDS: Space = {
    "learning_rate": Log(1e-3, 1e-2),
    "decay": Log(1e-3, 0.5),
    "momentum": Uniform(0.8, 0.95),
    "l1": Choice(0.0, 0.01, 0.03, 0.1),
    "l2": Log(1e-7, 1e-5),
    "word_dropout": Uniform(0.0, 0.6),
    "epochs": Choice(4, 6, 8, 12, 16),
    "batch": Choice(32, 64, 128),
    "max_words": Choice(800, None),
}
MODIFIED: Space = {**WORDS, "first_lag": Choice(0, 1)}
OWN_WEIGHTS: Space = {**MODIFIED, "factored": Choice(False, True)}

# Embeddings start small, their steps follow the size of their gradients (`word_epsilon`), and they shrink (`sparsity`),
# so that rare words add no noise. Words can be dropped in runs, which keeps phrases whole.
GATED: Space = {
    "hidden": Choice(64, 128),
    "embedding": Choice(64, 128),
    "scale": Log(0.1, 0.4),
    "memory": Choice(100, 300, 1000),
    "learning_rate": Log(2e-3, 7e-3),
    "final_rate": Log(1e-3, 0.1),
    "momentum": Uniform(0.85, 0.95),
    "word_epsilon": Choice(1e-4, 1e-3),
    "sparsity": Choice(0.03, 0.1, 0.3),
    "weight_decay": Log(0.01, 0.1),
    "word_dropout": Uniform(0.2, 0.6),
    "dropout_run": Choice(1, 4, 12),
    "embedding_dropout": Uniform(0.2, 0.6),
    "clip": Log(0.3, 3.0),
    "average": Choice(0.999),
    "epochs": Choice(8, 12),
    "batch": Choice(32, 64),
    "max_words": Choice(800),
}
# A vanilla network with large initial embeddings saturates within a few words and never learns to remember; with small
# ones it starts as a linear memory of leaky sums.
VANILLA: Space = {
    **GATED,
    "hidden": Choice(64, 128),
    "scale": Log(0.03, 0.15),
    "memory": Choice(1000, 3000),
    "learning_rate": Log(2e-4, 1.5e-3),
    "word_epsilon": Choice(1e-8, 1e-4, 1e-3),
    "sparsity": Choice(0.0, 0.03, 0.1),
    "word_dropout": Uniform(0.2, 0.5),
    "clip": Log(0.05, 1.0),
    "epochs": Choice(12, 16),
    "batch": Choice(32),
    "max_words": Choice(400),
}

SPACES: dict[str, Space] = {
    "bow": WORDS,
    "bod+eod": WORDS,
    "bod+eod+beta_bod+beta_eod": WORDS,
    "comw": MODIFIED,
    "comw+beta_mod": OWN_WEIGHTS,
    "comw+beta_mod+beta_bod+beta_eod": OWN_WEIGHTS,
    "gru": GATED,
    "lstm": GATED,
    "ugrnn": GATED,
    "vanilla": VANILLA,
}
"""The ten models of Table 1, in its order."""


def check_model(model: str) -> str:
    if model not in SPACES:
        raise RnnlensError(f"unknown model {quoted(model)}: expected one of {', '.join(SPACES)}")
    return model


def check_models(models: Sequence[str]) -> list[str]:
    """Names of models as a list, each of them known."""
    if models not in NAMES or not list(models):
        raise RnnlensError(f"models is {shown(models)}: expected a list of some of {', '.join(SPACES)}")
    known = [check_model(model) for model in models]
    if twice := [model for model in SPACES if known.count(model) > 1]:
        raise RnnlensError(f"the model {quoted(twice[0])} is given twice: expected each model once")
    return known


def models_of(names: str) -> list[str]:
    """Models from names separated by commas; `all` means all ten."""
    return list(SPACES) if names == "all" else check_models([name.strip() for name in names.split(",")])


def parameters(model: str, seed: int, trial: int) -> dict[str, Any]:
    """The parameters of one trial."""
    space = SPACES[check_model(model)]
    generator = np.random.default_rng([zlib.crc32(model.encode()), seed, trial])
    return {name: kind.draw(generator) for name, kind in space.items()}
