"""How a baseline reads a text: the weight of each word, and which words changed it, by how much, at what distance."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

import numpy as np
import torch

from rnnlens.baselines.convolution import Convolution
from rnnlens.common.terminal import printable
from rnnlens.corpora.vocab import Vocab

EARLIER = "<earlier>"  # all modifiers further away than those that are listed
LEAST_CHANGES = 2  # of a word that are listed one by one
MOST_CHANGES = 100_000  # of a text


class Change(NamedTuple):  # a text can have hundreds of thousands, and tuples are made faster than records
    """The change of a word's contribution by another word, or by `<beginning>`, `<end>` or, in a long text, by all
    modifiers further away (`<earlier>`, at the distance of the nearest of them)."""

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

        text, largest = Text(), self._largest
        for word in self.words:
            share = abs(word.total) / largest
            color = "green" if word.total > 0 else "red"
            text.append(printable(word.word), style="" if share < 0.05 else f"bold {color}" if share > 0.5 else color)
            text.append(" ")
        text.append(f"\nlogit {self.logit:+.2f} (bias {self.bias:+.2f})")
        for word in self.words:
            if any(abs(change.amount) > 0.1 * largest for change in word.changes):
                text.append("\n" + _line(word), style="dim")
        return text

    def _repr_html_(self) -> str:
        parts, largest = [], self._largest
        for word in self.words:
            share = abs(word.total) / largest
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
    """Decompose a model's logit of one text, or of its last `max_words` words, into contributions of its words.

    The changes of a word by the modifiers nearest before it are listed one by one, at least two and all of them in a
    text of a few hundred words; those by modifiers further away are one change, by `EARLIER`. So the time grows with
    the length of the text, not with its square."""
    words = vocab.split(text)
    words = words if max_words is None else words[-max_words:]
    ids = vocab.encode(words)
    shape, T = model.shape, len(ids)
    numbers = {name: value.cpu().double().numpy() for name, value in model.named_parameters()}
    beta = numbers["beta"][ids]
    changes: list[list[Change]] = [[] for _ in words]
    if shape.modifiers:
        weights = numbers["beta_mod"][ids] if shape.own_weights else beta[:, None]
        _add_modifiers(changes, model, words, ids, numbers, weights)
    if shape.edges:
        steps = np.stack([np.arange(T), T - 1 - np.arange(T)], 1)
        fade = numbers["edge_alpha"] * np.exp(-steps * np.exp(-numbers["edge_log_tau"]))
        amounts = fade * (numbers["beta_edges"][ids] if shape.own_edges else beta[:, None])
        for of_word, distances, parts in zip(changes, steps.tolist(), amounts.tolist(), strict=True):
            of_word += map(Change, ("<beginning>", "<end>"), distances, parts)
    contributions = [
        Contribution(word, vocab.unk < 0 or i != vocab.unk, base, of_word) if i >= 0 else Contribution(word, False, 0.0)
        for word, i, base, of_word in zip(words, ids.tolist(), beta.tolist(), changes, strict=True)
    ]
    return Explanation(contributions, float(numbers["bias"]))


def _add_modifiers(
    changes: list[list[Change]],
    model: Convolution,
    words: list[str],
    ids: np.ndarray,
    numbers: dict[str, np.ndarray],
    weights: np.ndarray,
) -> None:
    """Add the changes by modifiers to those of each word. weights (T, P): what the scales of each word multiply."""
    which = model.which.cpu().numpy()[ids]
    at = np.flatnonzero(which < len(model.shape.modifiers))  # the places of the modifiers
    if not len(at):
        return
    before = np.searchsorted(at, np.arange(len(ids)) - model.shape.first_lag, side="right")  # how many precede a word
    rate, alpha = np.exp(-numbers["log_tau"]), numbers["alpha"]
    listed = np.zeros(len(ids))
    nearest = max(LEAST_CHANGES, MOST_CHANGES // len(ids))
    for k in range(min(nearest, int(before.max())), 0, -1):  # the k-th modifier before a word; the furthest first
        of = np.flatnonzero((before >= k) & (ids >= 0))
        by = at[before[of] - k]
        m = which[by]
        scale = alpha[m] * np.exp(-(of - by) * rate[m])[:, None]
        amounts = (scale * weights[of]).sum(1)
        listed[of] += amounts
        names, distances = [words[s] for s in by.tolist()], (of - by).tolist()
        for t, change in zip(of.tolist(), map(Change, names, distances, amounts.tolist()), strict=True):
            changes[t].append(change)
    further = np.flatnonzero((before > nearest) & (ids >= 0))
    if len(further):
        tables = model.tables().modifiers
        assert tables is not None
        scales = model.gains(torch.from_numpy(ids).unsqueeze(0).to(model.beta.device), tables)[0]
        total = (scales.cpu().double().numpy() * weights).sum(1)
        for t, amount in zip(further.tolist(), (total - listed)[further].tolist(), strict=True):
            changes[t].insert(0, Change(EARLIER, t - int(at[before[t] - nearest - 1]), amount))
