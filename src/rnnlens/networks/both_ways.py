"""Bidirectional networks: two readers of the same text, one from each end, and a head that adds up what they read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import check_options, in_range
from rnnlens.corpora.vocab import Vocab
from rnnlens.networks.heads import as_tensor
from rnnlens.networks.network import Network
from rnnlens.networks.reading import ReadsTexts, is_text
from rnnlens.networks.readouts import class_readout, ordered_logits, scale_readout


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


AnyNetwork: TypeAlias = "Network | BothWays"


class NoSuchPart(RnnlensError, AttributeError):
    """A part of an ordinary network was asked of one that reads both ways."""


class BothWays(ReadsTexts, nn.Module):
    """A bidirectional network: logit = forwards(text) + backwards(text reversed) + b.

    `forwards` and `backwards` are ordinary networks, without bias, and every analysis takes either of them. The
    backward one reads a text from its last word to its first: its modifiers change the words *before* them.
    `BothWays.untrained(vocab, hidden=256)` makes one to train; `from_torch` makes one of a bidirectional module. b: a
    scalar, (C,) for C classes, or the C − 1 thresholds of `ordered` classes, whose names are `classes`.
    """

    reads = ""

    def __init__(
        self, forwards: Network, backwards: Network, b: Tensor, classes: Sequence[str] = (), ordered: bool = False
    ):
        super().__init__()
        _check_readers(forwards, backwards)
        self.classes, self.ordered = tuple(classes) or forwards.classes, ordered
        b = _bias(as_tensor(b, "b").to(forwards.h0), forwards, self.classes, ordered)
        self.forwards, self.backwards, self.b = forwards, backwards, nn.Parameter(b)
        forwards.direction, backwards.direction = "forwards", "backwards"

    @classmethod
    @in_range("network")
    def untrained(
        cls,
        vocab: Vocab | Iterable[str],
        arch: str = "gru",
        hidden: int = 256,
        embedding: int = 128,
        seed: int = 0,
        scale: float = 1.0,
        memory: float = 0.0,
        classes: Iterable[str] | None = None,
        ordered: bool = False,
    ) -> BothWays:
        """A network to train, with one embedding for both readers. hidden: units of both together, half of them each,
        so that it has as many as a `Network` of the same `hidden`. The other options are those of `Network`."""
        if hidden % 2:
            raise RnnlensError(f"hidden is {hidden}: expected an even number of units, half of them for each direction")
        vocab = vocab if isinstance(vocab, Vocab) else Vocab(vocab)
        names = tuple(classes) if isinstance(classes, Iterator) else classes  # each reader takes them
        left, right = (
            Network(vocab, arch, hidden // 2, embedding, first, scale, memory, names, ordered)
            for first in (seed, int(np.random.SeedSequence([seed, 1]).generate_state(1)[0]))  # different weights
        )
        right.E, b = left.E, left.readout_b.detach().clone()
        for half in (left, right):
            if ordered:  # each half adds to one score, which the thresholds cut
                _, _, half.reads, half.target = scale_readout(half.readout_w, b, half.classes, None)
            half.ordered, zero = False, b.new_zeros(() if ordered else b.shape)
            half.readout_b = nn.Parameter(zero, requires_grad=False)  # b has their bias
        both = cls(left, right, b, left.classes, ordered)
        if ordered:
            left.classes = right.classes = ()
        return both

    @property
    def vocab(self) -> Vocab | None:  # type: ignore[override]
        return self.forwards.vocab

    @property
    def arch(self) -> str:
        return self.forwards.arch

    @property
    def scale(self) -> float:
        return self.forwards.scale

    @property
    def memory(self) -> float:
        return self.forwards.memory

    @property
    def inputs(self) -> int:
        """D, the length of an embedded input."""
        return self.forwards.inputs

    @property
    def E(self) -> nn.Parameter | None:
        """The embedding (W, D) that both readers share."""
        if self.forwards.E is not self.backwards.E:
            raise NoSuchPart("the two readers have an embedding each: use network.forwards.E or network.backwards.E")
        return self.forwards.E

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

    @property
    def several_classes(self) -> bool:
        """Whether the network has a logit for each of three or more classes."""
        return self.forwards.several_classes or self.ordered

    @property
    def units(self) -> str:
        """How many units it has, in words."""
        return f"{self.forwards.cell.hidden} + {self.backwards.cell.hidden} units, forwards and backwards"

    @property
    def config(self) -> dict[str, Any]:
        """The arguments with which `new_network(vocab, **config)` makes a network of this shape."""
        named = {"classes": list(self.classes)} if self.classes else {}
        order = {"ordered": True} if self.ordered else {}
        own = self.forwards.config
        return {**own, "hidden": 2 * own["hidden"], **named, **order, "both_ways": True}

    def embed(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """E x for ids (...) → (..., D); PAD (−1) embeds to the zero vector. mask: as of `Network.embed`."""
        self.E  # noqa: B018 - refuse readers that embed words differently
        return self.forwards.embed(ids, mask)

    def forward(self, ids: Tensor | str | Sequence[str], lengths: Tensor | None = None) -> Tensor:
        """Logits (B,), or (B, C) of C classes, of ids (B, T). Ids after a row's length are not read; without lengths,
        all are read. Texts may be passed in place of ids."""
        if is_text(ids):
            return self._logits_of_texts(ids, lengths)
        ids = cast(Tensor, ids)
        left = self.forwards(ids, lengths)
        return self._joined(left, self.backwards(reverse(ids, lengths), lengths))

    def last_logits_of(self, e: Tensor, lengths: Tensor | None) -> Tensor:
        """The same for embedded inputs e (B, T, D)."""
        left = self.forwards.last_logits_of(e, lengths)
        return self._joined(left, self.backwards.last_logits_of(reverse(e, lengths), lengths))

    def _joined(self, left: Tensor, right: Tensor) -> Tensor:
        return ordered_logits(left + right, self.b) if self.ordered else left + right + self.b

    def of_class(self, name: str | None = None) -> BothWays:
        """The network with one logit: that of a class minus the mean of the others', or of ordered classes, without a
        name, that of their scale."""
        if self.ordered:
            _, b, reads, name = scale_readout(self.readout_w, self.b, self.classes, name)
            view = BothWays(self.forwards, self.backwards, b)
        else:
            _, b, reads = class_readout(self.readout_w, self.b, self.classes, name)
            view = BothWays(self.forwards.of_class(name), self.backwards.of_class(name), b)
        view.target, view.reads = str(name), reads
        return view.train(self.training)

    def logits(self, ids: Tensor) -> Tensor:
        """Refused: the backward reader has read the words to come."""
        raise RnnlensError(
            "a network that reads both ways has no logit after each word: use network(ids, lengths), "
            "network.forwards.logits(ids) or network.read(text)"
        )

    @torch.no_grad()
    @in_range("words")
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
    return taken(ids, index)


def taken(inputs: Tensor, places: Tensor) -> Tensor:
    """The ids (B, L), or inputs (B, L, D), at the places (B, L) of each row of ids (B, T) or inputs (B, T, D)."""
    if inputs.ndim == 2:
        return inputs.gather(1, places)
    # Whole rows of one flat matrix: an index for every number, as gather needs, would take more memory than the inputs.
    rows = places + inputs.shape[1] * torch.arange(len(inputs), device=inputs.device).unsqueeze(1)
    return inputs.flatten(0, 1).index_select(0, rows.flatten()).view(*places.shape, -1)


def _check_readers(forwards: Any, backwards: Any) -> None:
    """Refuse what cannot read one text from its two ends."""
    for name, reader in (("forwards", forwards), ("backwards", backwards)):
        if not isinstance(reader, Network):
            raise RnnlensError(f"{name} is {quoted(type(reader).__name__)}: expected a Network")
    if forwards is backwards:
        raise RnnlensError("both readers are one network, which cannot read in two orders: pass a copy as one of them")
    if forwards.backward:
        raise RnnlensError("the forward reader reads texts from their last word to their first: pass it as backwards")
    if forwards.vocab != backwards.vocab:
        raise RnnlensError("the two readers have different words: expected one vocabulary")
    if forwards.readout_b.shape != backwards.readout_b.shape or forwards.h0.dtype != backwards.h0.dtype:
        left, right = (f"{tuple(one.readout_b.shape)} logits in {one.h0.dtype}" for one in (forwards, backwards))
        raise RnnlensError(f"the forward reader has {left}, the backward one {right}: expected the same, to be added")


def _bias(b: Tensor, reader: Network, classes: tuple[str, ...], ordered: bool) -> Tensor:
    """The bias () of one logit, (C,) of C classes, or the thresholds (C − 1,) of ordered ones, checked."""
    expected = (len(classes) - 1,) if ordered else tuple(reader.readout_b.shape)
    b = b.reshape(()) if b.shape == (1,) and not expected else b  # as nn.Linear(n, 1) has it
    if b.shape != expected:
        raise RnnlensError(f"b has shape {tuple(b.shape)}: expected {expected}, as the readers' logits")
    if classes and not ordered and len(classes) != (expected[0] if expected else 2):
        has = f"{expected[0]} logits" if expected else "one logit"
        raise RnnlensError(f"there are {len(classes)} classes, and the readers have {has}: expected a logit for each")
    return b


def new_network(vocab: Vocab | Iterable[str], *, both_ways: bool = False, **shape: Any) -> AnyNetwork:
    """An untrained network that reads one way or both ways; the other options are those of `Network`."""
    check_options("network", shape, both_ways=both_ways)
    if both_ways and (shape.pop("layers", 1), shape.pop("convolution", None)) != (1, None):
        raise RnnlensError("a network that reads both ways has one layer here: leave --layers and --convolution out")
    return BothWays.untrained(vocab, **shape) if both_ways else Network(vocab, **shape)
