"""What a baseline makes of a text, word by word: base weights, and who changed what, by how much, at what distance."""

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
    """One word's change of another's contribution; `by` is a word, `<beginning>` or `<end>`."""

    by: str
    distance: int
    amount: float


@dataclass(frozen=True)
class Contribution:
    """A word of the text: its base weight, the changes, and the sum of both."""

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

    def __str__(self) -> str:
        return "\n".join([f"logit {self.logit:+.2f} (bias {self.bias:+.2f})", *map(_line, self.words)])

    def __rich__(self) -> object:
        """For a terminal: the text in colour, then each word that was changed by much."""
        from rich.text import Text

        most = max([abs(word.total) for word in self.words] or [1.0]) or 1.0
        text = Text()
        for word in self.words:
            share = abs(word.total) / most
            colour = "green" if word.total > 0 else "red"
            text.append(printable(word.word), style="" if share < 0.05 else f"bold {colour}" if share > 0.5 else colour)
            text.append(" ")
        text.append(f"\nlogit {self.logit:+.2f} (bias {self.bias:+.2f})")
        for word in self.words:
            if any(abs(change.amount) > 0.1 * most for change in word.changes):
                text.append("\n" + _line(word), style="dim")
        return text

    def _repr_html_(self) -> str:
        most = max([abs(word.total) for word in self.words] or [1.0]) or 1.0
        parts = []
        for word in self.words:
            share = abs(word.total) / most
            colour = f"rgba({'43,108,176' if word.total > 0 else '192,86,33'},{0.15 + 0.6 * share:.2f})"
            about = f"{word.base:+.2f}" + "".join(
                f"; {change.amount:+.2f} by {change.by} at distance {change.distance}" for change in word.changes
            )
            parts.append(
                f'<span style="background:{colour if share > 0.05 else "none"};padding:0 .2em" '
                f'title="{escape(about)}">{escape(word.word)} <sub>{word.total:+.2f}</sub></span>'
            )
        return f"<p>{' '.join(parts)}<br>logit {self.logit:+.2f}</p>"


def _line(word: Contribution) -> str:
    """A word, what it adds, and the three largest changes by others."""
    changes = ", ".join(
        f"{change.amount:+.2f} by {change.by} at distance {change.distance}"
        for change in sorted(word.changes, key=lambda change: -abs(change.amount))[:3]
        if abs(change.amount) >= 0.005
    )
    return printable(f"  {word.word:16} {word.total:+.2f}" + (f"  = {word.base:+.2f}, {changes}" if changes else ""))


@torch.no_grad()
def explain(model: Convolution, vocab: Vocab, text: str, max_words: int | None = None) -> Explanation:
    """Take a model's logit of one text, or its last `max_words` words, apart."""
    words = vocab.split(text)
    words = words if max_words is None else words[-max_words:]
    ids = vocab.encode(words).tolist()
    shape, T = model.shape, len(ids)
    numbers = {name: value.cpu().double().numpy() for name, value in model.named_parameters()}
    beta, place = numbers["beta"], {word: m for m, word in enumerate(shape.modifiers)}
    modifiers = [(s, place[i]) for s, i in enumerate(ids) if i in place]
    rate = np.exp(-numbers["log_tau"]) if shape.modifiers else np.zeros(0)
    found = []
    for t, (word, i) in enumerate(zip(words, ids, strict=True)):
        if i < 0:
            found.append(Contribution(word, False, 0.0))
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
        found.append(Contribution(word, known, float(beta[i]), changes))
    return Explanation(found, float(numbers["bias"]))
