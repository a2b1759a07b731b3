"""All settings of a training run, in one record. The command line's flags are made from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import check_fields

Schedule = Literal["cosine", "linear", "exponential", "constant"]
Precision = Literal["fp32", "bf16"]


@dataclass(frozen=True)
class TrainConfig:
    """How to train. The defaults were chosen on IMDB's validation reviews (docs/results/imdb-gru.json)."""

    epochs: int = 8
    """Passes over the training reviews."""
    steps: int = 0
    """Stop after this many steps, even within an epoch: for corpora with very long epochs; 0 for all epochs."""
    batch: int = 64
    """Reviews per step, over all processes together."""
    learning_rate: float = 3e-3
    """The highest learning rate of the schedule."""
    schedule: Schedule = "cosine"
    """How the learning rate falls after the warm-up: along a cosine, a line, an exponential, or not at all."""
    warmup: float = 0.2
    """Share of all steps over which the learning rate rises from zero."""
    final_rate: float = 0.01
    """Learning rate at the last step, as a share of the highest."""
    momentum: float = 0.9
    """Adam's beta_1, from 0 to below 1."""
    second_momentum: float = 0.999
    """Adam's beta_2, from 0 to below 1."""
    word_epsilon: float = 1e-8
    """Adam's epsilon for embeddings. With a large one, such as 1e-3, a word's steps scale with its gradient."""
    sparsity: float = 0.0
    """Length, times the learning rate, that each embedding loses at every step: useless words become zero."""
    weight_decay: float = 0.0
    """Strength of the weight decay."""
    decoupled: bool = True
    """Decoupled weight decay (AdamW); otherwise the penalty is an L2 term in the loss."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 for no limit."""
    word_dropout: float = 0.3
    """Chance, below 1, that a word becomes a blank input (x = 0). It also trains the network on blank inputs, which
    analyses need."""
    dropout_run: float = 1.0
    """Mean length, at least 1, of the runs of words that are dropped or kept together. With 1 each word is dropped
    independently, which separates most modifiers from the words that they modify; with about 10, phrases stay
    together."""
    blanks: int = 0
    """Number of blank inputs inserted, together and at a random place, into the reviews of every fifth step, so that
    the network learns to keep its reading over them; 0 for none. Refused where every word has a target."""
    embedding_dropout: float = 0.5
    """Chance, below 1, that a component of an embedded word is zeroed."""
    average: float = 0.0
    """Decay, below 1, of a running average of the weights, which replaces them at the end; 0 for none."""
    max_words: int | None = 800
    """Read only this many words of a review, the last ones; None for all."""
    balance: bool = False
    """Weigh the classes equally, however many reviews each has. With several sources this is always done, for each."""
    keep: Literal["best", "last"] = "best"
    """Which weights to end with: the best on the validation reviews after any epoch, or the last."""
    patience: int = 0
    """Stop after this many epochs without a better validation accuracy; 0 for never."""
    next_word: float = 0.0
    """Weight of a second loss, beside that of the label: the cross-entropy of the next word, read from the network's
    output by a head that is thrown away after training. It rewards knowing what each word is for; 0 for none."""
    next_word_places: int = 2048
    """Number of random places in each batch at which the next word is predicted."""
    precision: Precision = "fp32"
    """Arithmetic of the forward pass; bf16 is faster for large networks on a GPU, and is refused on a CPU."""
    checkpoint_every: int = 0
    """Steps between checkpoints; 0 for one at the end of each epoch."""
    seed: int = 0
    """Seed of the order of reviews and of dropout."""

    def __post_init__(self) -> None:
        check_fields("training", self)
        if self.schedule == "exponential" and not self.final_rate:
            raise RnnlensError("final_rate is 0: expected above 0 for an exponential fall")

    @property
    def betas(self) -> tuple[float, float]:
        """Adam's two momenta, as floats: torch refuses a whole number beside one."""
        return float(self.momentum), float(self.second_momentum)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of step 0 ≤ step < total: a pure function, so there is no scheduler to save."""
        rise = round(self.warmup * total)
        if step < rise:
            return self.learning_rate * (step + 1) / rise
        along = (step - rise + 1) / max(1, total - rise)  # 0 at the highest rate, 1 at the last step
        low = self.final_rate
        if self.schedule == "cosine":
            share = low + (1 - low) * (1 + math.cos(math.pi * along)) / 2
        elif self.schedule == "linear":
            share = 1 + (low - 1) * along
        elif self.schedule == "exponential":
            share = low**along
        else:
            share = 1.0
        return self.learning_rate * share
