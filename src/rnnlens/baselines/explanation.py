"""How a baseline reads a text: the weight of each word, and which words changed it, by how much, at what distance."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

import numpy as np
import torch

from rnnlens.baselines.convolution import Convolution
from rnnlens.common.terminal import printable
from rnnlens.corpora.vocab import Vocab


@dataclass(frozen=True)
class Change:
    """The change of a word's contribution by another word, or by `<beginning>` or `<end>`."""

    by: str
    distance: int
    amount: float


@dataclass(frozen=True)
class Contribution:
    """A word of the text: its base weight, the changes by other words, and their sum."""

    word: str
    known: bool
    base: float
    changes: list[Change] = field(default_factory=list)

    @property
    def total(self) -> float:
        return self.base + sum(change.amount for change in self.changes)


@dataclass(frozen=True)
class Explanation:
    """Contributions in the order of the text; they and the bias sum to the logit."""

    words: list[Contribution]
    bias: float

    @property
    def logit(self) -> float:
        return self.bias + sum(word.total for word in self.words)

    @property
    def _largest(self) -> float:
        """The largest |contribution| of a word; 1 if all are 0."""
        return max((abs(word.total) for word in self.words), default=1.0) or 1.0

    def __str__(self) -> str:
        return "\n".join([f"logit {self.logit:+.2f} (bias {self.bias:+.2f})", *map(_line, self.words)])

    def __rich__(self) -> object:
        """For a terminal: the text in color, then the words with large changes."""
        from rich.text import Text

        text = Text()
        for word in self.words:
            share = abs(word.total) / self._largest
            color = "green" if word.total > 0 else "red"
            text.append(printable(word.word), style="" if share < 0.05 else f"bold {color}" if share > 0.5 else color)
            text.append(" ")
        text.append(f"\nlogit {self.logit:+.2f} (bias {self.bias:+.2f})")
        for word in self.words:
            if any(abs(change.amount) > 0.1 * self._largest for change in word.changes):
                text.append("\n" + _line(word), style="dim")
        return text

    def _repr_html_(self) -> str:
        parts = []
        for word in self.words:
            share = abs(word.total) / self._largest
            color = f"rgba({'43,108,176' if word.total > 0 else '192,86,33'},{0.15 + 0.6 * share:.2f})"
            about = f"{word.base:+.2f}" + "".join(
                f"; {change.amount:+.2f} by {change.by} at distance {change.distance}" for change in word.changes
            )
            parts.append(
                f'<span style="background:{color if share > 0.05 else "none"};padding:0 .2em" '
                f'title="{escape(about)}">{escape(word.word)} <sub>{word.total:+.2f}</sub></span>'
            )
        return f"<p>{' '.join(parts)}<br>logit {self.logit:+.2f}</p>"


def _line(word: Contribution) -> str:
    """A word, its contribution, and the three largest changes by other words."""
    changes = ", ".join(
        f"{change.amount:+.2f} by {change.by} at distance {change.distance}"
        for change in sorted(word.changes, key=lambda change: -abs(change.amount))[:3]
        if abs(change.amount) >= 0.005
    )
    return printable(f"  {word.word:16} {word.total:+.2f}" + (f"  = {word.base:+.2f}, {changes}" if changes else ""))


@torch.no_grad()
def explain(model: Convolution, vocab: Vocab, text: str, max_words: int | None = None) -> Explanation:
    """Decompose a model's logit of one text, or of its last `max_words` words, into contributions of its words."""
    words = vocab.split(text)
    words = words if max_words is None else words[-max_words:]
    ids = vocab.encode(words).tolist()
    shape, T = model.shape, len(ids)
    numbers = {name: value.cpu().double().numpy() for name, value in model.named_parameters()}
    beta, place = numbers["beta"], {word: m for m, word in enumerate(shape.modifiers)}
    modifiers = [(s, place[i]) for s, i in enumerate(ids) if i in place]
    rate = np.exp(-numbers["log_tau"]) if shape.modifiers else np.zeros(0)
    contributions = []
    for t, (word, i) in enumerate(zip(words, ids, strict=True)):
        if i < 0:
            contributions.append(Contribution(word, False, 0.0))
            continue
        changes = []
        for s, m in modifiers:
            if t - s < shape.first_lag:
                break
            scale = numbers["alpha"][m] * np.exp(-(t - s) * rate[m])
            weights = numbers["beta_mod"][i] if shape.own_weights else beta[i]
            changes.append(Change(words[s], t - s, float((scale * weights).sum())))
        if shape.edges:
            fade = numbers["edge_alpha"] * np.exp(-np.array([t, T - 1 - t]) * np.exp(-numbers["edge_log_tau"]))
            amounts = fade * (numbers["beta_edges"][i] if shape.own_edges else beta[i])
            for name, steps, amount in zip(("<beginning>", "<end>"), (t, T - 1 - t), amounts.tolist(), strict=True):
                changes.append(Change(name, steps, amount))
        known = vocab.unk < 0 or i != vocab.unk
        contributions.append(Contribution(word, known, float(beta[i]), changes))
    return Explanation(contributions, float(numbers["bias"]))
