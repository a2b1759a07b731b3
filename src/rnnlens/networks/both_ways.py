"""Bidirectional networks: two readers of the same text, one from each end, and a head that adds up what they read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
import torch
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError
from rnnlens.corpora.vocab import PAD, Vocab
from rnnlens.networks.network import Network
from rnnlens.networks.reading import ReadsTexts, is_text
from rnnlens.networks.readouts import class_readout


@dataclass(frozen=True)
class Sides:
    """What each word of a text adds from either side. logit = forward_part + backward_part + bias.

    forwards, backwards  what each word adds to the logit of the reader that comes from the left, or from the right
    forward_part         the final logit of the forward reader: that of its initial state plus the sum of `forwards`
    backward_part        the same of the backward reader
    bias                 the head's bias

    Iterate over it for triples (word, forwards, backwards).
    """

    words: list[str]
    forwards: list[float]
    backwards: list[float]
    forward_part: float
    backward_part: float
    bias: float

    @property
    def logit(self) -> float:
        """The network's logit of the text."""
        return self.forward_part + self.backward_part + self.bias

    def __iter__(self) -> Iterator[tuple[str, float, float]]:
        return zip(self.words, self.forwards, self.backwards, strict=True)

    def __len__(self) -> int:
        return len(self.words)


class NoSuchPart(RnnlensError, AttributeError):
    """A part of an ordinary network was asked of one that reads both ways."""


class BothWays(ReadsTexts, nn.Module):
    """A bidirectional network: logit = forwards(text) + backwards(text reversed) + b.

    `forwards` and `backwards` are ordinary networks, without bias, and every analysis takes either of them. The
    backward one reads a text from its last word to its first: its modifiers change the words *before* them.
    """

    def __init__(self, forwards: Network, backwards: Network, b: Tensor):
        super().__init__()
        self.forwards, self.backwards, self.b = forwards, backwards, nn.Parameter(b)
        self.classes = forwards.classes
        backwards.backward = True  # so that it is not given texts in their usual order

    @property
    def vocab(self) -> Vocab | None:  # type: ignore[override]
        return self.forwards.vocab

    @property
    def h0(self) -> Tensor:  # type: ignore[override]
        """The initial state of the forward reader; the backward one has its own."""
        return self.forwards.h0

    @property
    def readout_w(self) -> Tensor:
        """The head's weights, (2n,) or (C, 2n): the forward reader's units, then the backward one's."""
        return torch.cat([self.forwards.readout_w, self.backwards.readout_w], -1)

    @property
    def readout_b(self) -> Tensor:
        return self.b

    def forward(self, ids: Tensor | str | Sequence[str], lengths: Tensor | None = None) -> Tensor:
        """Logits (B,), or (B, C) of C classes, of ids (B, T). Ids after a row's length are not read; without lengths,
        all are read. Texts may be passed in place of ids."""
        if is_text(ids):
            return self._logits_of_texts(ids, lengths)
        ids = cast(Tensor, ids)
        left = self.forwards(ids, lengths)
        return left + self.backwards(reverse(ids, lengths), lengths) + self.b

    def of_class(self, name: str) -> BothWays:
        """The network with one logit: that of a class minus the mean of the others'."""
        _, b, _ = class_readout(self.readout_w, self.b, self.classes, name)
        return BothWays(self.forwards.of_class(name), self.backwards.of_class(name), b)

    def logits(self, ids: Tensor) -> Tensor:
        """Refused: the backward reader has read the words to come."""
        raise RnnlensError(
            "a network that reads both ways has no logit after each word: use network(ids, lengths), "
            "network.forwards.logits(ids) or network.read(text)"
        )

    if TYPE_CHECKING:

        @overload  # type: ignore[override]
        def read(self, text: str) -> Sides: ...
        @overload
        def read(self, text: list[str] | tuple[str, ...]) -> list[Sides]: ...
        @overload
        def read(self, text: None = None, *, words: Sequence[str]) -> Sides: ...
        def read(self, text: Any = None, *, words: Sequence[str] | None = None) -> Any: ...

    @torch.no_grad()
    def read_words(self, words: Sequence[str]) -> Sides:  # type: ignore[override]
        """What each word adds from either side; words as the vocabulary spells them."""
        self.check_one_logit("reading from both sides")
        ids = torch.as_tensor(self._words_known("read_words").encode(words), device=self.h0.device).unsqueeze(0)
        self._check_numbers()
        left, right = self.forwards.logits(ids)[0].double(), self.backwards.logits(ids.flip(1))[0].double()
        if not bool(left.isfinite().all() & right.isfinite().all()):
            raise self._overflow(" ".join(words))
        return Sides(
            list(words),
            left.diff().tolist(),
            right.diff().flip(0).tolist(),
            float(left[-1]),
            float(right[-1]),
            float(self.b),
        )

    def _last_logits(self, rows: Sequence[np.ndarray]) -> Tensor:
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        ids = np.full((len(rows), max(1, lengths.max(initial=0))), PAD, dtype=np.int64)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = row
        return self(*(torch.as_tensor(part, device=self.h0.device) for part in (ids, lengths)))

    def check_finite(self, where: str = "the network") -> None:
        """Refuse weights that are NaN or infinite."""
        self.forwards.check_finite(where)
        self.backwards.check_finite(where)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)  # torch keeps parameters and modules there
        except AttributeError as error:
            if not hasattr(Network, name) and name not in ("E", "cell"):
                raise
            raise NoSuchPart(
                f"a network that reads both ways has no {name!r} of its own: pass one of its two readers, "
                "network.forwards or network.backwards"
            ) from error

    def __repr__(self) -> str:
        return f"BothWays(forwards={self.forwards!r}, backwards={self.backwards!r})"


def reverse(ids: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Ids (B, T), or inputs (B, T, D), with the words of each row in reverse order; what is after a row's length stays
    after it."""
    if lengths is None:
        return ids.flip(1)
    t = torch.arange(ids.shape[1], device=ids.device)
    last = lengths.to(ids.device).long().unsqueeze(1) - 1
    index = torch.where(t <= last, last - t, t)
    return ids.gather(1, index if ids.ndim == 2 else index.unsqueeze(2).expand_as(ids))
