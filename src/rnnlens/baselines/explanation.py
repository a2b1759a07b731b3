"""What a baseline makes of a text, word by word: base weights, and who changed what, by how much, at what distance."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

import torch

from rnnlens.baselines.convolution import Convolution
from rnnlens.corpora.vocab import Vocab
from rnnlens.corpora.words import split_words


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
        lines = [f"logit {self.logit:+.2f} (bias {self.bias:+.2f})"]
        for word in self.words:
            changes = ", ".join(
                f"{change.amount:+.2f} by {change.by} at distance {change.distance}"
                for change in sorted(word.changes, key=lambda change: -abs(change.amount))[:3]
                if abs(change.amount) >= 0.005
            )
            lines.append(
                f"  {word.word:16} {word.total:+.2f}" + (f"  = {word.base:+.2f}, {changes}" if changes else "")
            )
        return "\n".join(lines)

    def __rich__(self) -> object:
        from rich.text import Text

        text = Text()
        for word in self.words:
            text.append(word.word, style="green" if word.total > 0.05 else "red" if word.total < -0.05 else "")
            text.append(" ")
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


@torch.no_grad()
def explain(model: Convolution, vocab: Vocab, text: str) -> Explanation:
    """Take a model's logit of one text apart."""
    words = split_words(text)
    ids = vocab.encode(words).tolist()
    shape, T = model.shape, len(ids)
    place = {word: m for m, word in enumerate(shape.modifiers)}
    found = []
    for t, (word, i) in enumerate(zip(words, ids, strict=True)):
        if i < 0:
            found.append(Contribution(word, False, 0.0))
            continue
        changes = []
        for s in range(max(0, t - shape.first_lag + 1)):
            m = place.get(ids[s])
            if m is None:
                continue
            fade = float(torch.exp(-(t - s) / model.log_tau[m].exp()))
            if shape.own_weights:
                amount = float(model.alpha[m].expand(shape.components) @ model.beta_mod[i]) * fade
            else:
                amount = float(model.alpha[m, 0] * model.beta[i]) * fade
            changes.append(Change(words[s], t - s, amount))
        if shape.edges:
            for k, (name, steps) in enumerate((("<beginning>", t), ("<end>", T - 1 - t))):
                gain = model.edge_alpha[k] * torch.exp(-steps / model.edge_log_tau[k].exp())
                weight = model.beta_edges[i, k] if shape.own_edges else model.beta[i]
                changes.append(Change(name, steps, float(gain * weight)))
        known = vocab.unk < 0 or i != vocab.unk
        found.append(Contribution(word, known, float(model.beta[i]), changes))
    return Explanation(found, float(model.bias))
