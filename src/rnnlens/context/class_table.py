"""`ClassStrengths`: the table of words that modify the evidence of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rnnlens.common.display import Facts, Shown, table_html
from rnnlens.common.errors import UnknownWord, quoted
from rnnlens.common.ranges import in_range
from rnnlens.context.class_probes import ClassProbes
from rnnlens.context.effects import effects, word_inputs
from rnnlens.context.strength import MODIFIERS, certain_first, clear_at, kind_of, kinds_of
from rnnlens.networks import Network

if TYPE_CHECKING:
    from polars import DataFrame

LISTED = 100  # words in results.json


@dataclass(frozen=True, eq=False, repr=False)
class ClassStrengths(Shown):
    """Words (M), most frequent first, and how they change the evidence of C classes.

    h_star    (N,)    the neutral slow point
    probes            the words whose evidence is measured
    strength  (M,)    signed share by which the word changes the evidence of the next word, all classes together
    error     (M,)    its standard error
    by_class, errors  (M, C)  the same for the evidence of one class
    valence   (M, C)  the evidence that the word itself adds at h*, in logits
    own       (M,)    the size of it, in units of a probe word's
    """

    network: Network = field(repr=False)
    h_star: Tensor = field(repr=False)
    probes: ClassProbes = field(repr=False)
    words: list[str]
    ids: Tensor
    strength: Tensor
    error: Tensor
    by_class: Tensor
    errors: Tensor
    valence: Tensor
    own: Tensor

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def kinds(self) -> list[str]:
        """negator, diminisher, intensifier, valence, none or unclear, from the overall strength."""
        clear = clear_at(self.strength, self.error)
        columns = (values.tolist() for values in (self.strength, self.error, self.own))
        return [kind_of(s, error, own, clear) for s, error, own in zip(*columns, strict=True)]

    @cached_property
    def order(self) -> Tensor:
        """All rows: modifiers first, the most certain of them first; words of a class last."""
        return certain_first(self.strength, self.error, self.kinds)

    @in_range("strongest")
    def strongest(self, n: int = 20, kind: str | Sequence[str] | None = None) -> list[str]:
        """The n most certain words; kind: one kind or several, by default all modifiers."""
        kinds = kinds_of(MODIFIERS if kind is None else kind)
        return [self.words[i] for i in self.order.tolist() if self.kinds[i] in kinds][:n]

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def row(self, word: str) -> int:
        if not isinstance(word, str) or word not in self._rows:
            raise UnknownWord(f"{quoted(word)} is not among the {len(self)} words: raise `top`, or check its spelling")
        return self._rows[word]

    def __getitem__(self, word: str) -> dict[str, Any]:
        """A word's strength, error and kind, and its strengths by class."""
        i = self.row(word)
        return {
            "word": self.words[i],
            "kind": self.kinds[i],
            "strength": float(self.strength[i]),
            "error": float(self.error[i]),
            "by_class": self.by_class[i].tolist(),
            "errors": self.errors[i].tolist(),
        }

    @torch.no_grad()
    @in_range()
    def spread(self, word: str | None = None) -> Tensor:
        """Where the evidence of probe words goes after a word, (J, C); None: without a word before them.

        Row j, column k: what probe words of class j add to the evidence of class k, in units of what they add to their
        own class without a word before them. On the diagonal 1 is no change, 0 no evidence of their own class any more,
        and −1 as much against it. Each row sums to 0."""
        e, network, h = self.probes.inputs(self.network), self.network, self.h_star
        after = h if word is None else network.step(h, word_inputs(network, [word])[0])
        before, now = (self._means(effects(network, at, e)) for at in (h, after))
        own = torch.stack([before[j, network.classes.index(name)] for j, name in enumerate(self.probes.words)])
        return now / own.unsqueeze(1)

    def _means(self, logits: Tensor) -> Tensor:
        evidence = logits - logits.mean(-1, keepdim=True)
        return torch.stack([part.mean(0) for part in evidence.split(self.probes.sizes)])

    def table(self) -> DataFrame:
        """A polars DataFrame, the most certain modifiers first, with a column for each class."""
        import polars

        columns = {
            "word": self.words,
            "kind": self.kinds,
            "strength": self.strength.tolist(),
            "error": self.error.tolist(),
        }
        for k, name in enumerate(self.network.classes):
            columns |= {f"strength {name}": self.by_class[:, k].tolist(), f"error {name}": self.errors[:, k].tolist()}
        return polars.DataFrame(columns)[self.order.cpu().numpy()]

    def to_dict(self, most: int = LISTED, also: Sequence[str] = ()) -> list[dict[str, Any]]:
        """For results.json, under `classes.modifiers`: the strongest words, then the words in `also`."""
        first = [self.words[i] for i in self.order[:most].tolist() if self.kinds[i] in MODIFIERS]
        return [self[word] for word in dict.fromkeys([*first, *(word for word in also if word in self._rows)])]

    def _facts(self) -> Facts:
        return [
            ("classes", list(self.network.classes[:12])),
            ("words", len(self)),
            ("modifiers", sum(kind in MODIFIERS for kind in self.kinds)),
            ("negators and diminishers", self.strongest(12, ("negator", "diminisher"))),
            ("intensifiers", self.strongest(12, "intensifier")),
        ]

    def _table(self) -> str:
        rows = [[row["word"], row["kind"], row["strength"], *row["by_class"][:12]] for row in self.to_dict(20)]
        return table_html(rows, ["word", "kind", "strength", *self.network.classes[:12]])
