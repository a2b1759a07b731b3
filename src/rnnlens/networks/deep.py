"""Several bidirectional layers, or one with a head that is not linear: evaluated exactly, and read by occlusion.

The second layer reads, at each word, what the first one made of the words before *and after* it. So the network as a
whole has no state that a word changes, and no step. Each reader of a layer has one, and is an ordinary network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from rnnlens.common.display import plural
from rnnlens.common.ranges import in_range
from rnnlens.corpora.vocab import PAD, Vocab
from rnnlens.networks.both_ways import NoSuchPart, reverse, taken
from rnnlens.networks.long_texts import last_of, parts_of, read_in_parts
from rnnlens.networks.network import Network
from rnnlens.networks.reading import ReadsTexts, is_text
from rnnlens.networks.readouts import class_readout


@dataclass(frozen=True)
class Occlusion:
    """What the logit of a text loses when one of its words becomes a blank input, word by word.

    effects  the logit of the text minus its logit with this word blank. They need not sum to the logit.
    logit    of the text

    Iterate over it for pairs (word, effect).
    """

    words: list[str]
    effects: list[float]
    logit: float

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self.words, self.effects, strict=True)

    def __len__(self) -> int:
        return len(self.words)


class Readers(nn.Module):
    """The two readers of one bidirectional layer, ordinary networks. Those of the first layer read words, those of
    others the outputs of the layer below. Only the last layer's have a readout, if the head is linear."""

    def __init__(self, forwards: Network, backwards: Network):
        super().__init__()
        self.forwards, self.backwards = forwards, backwards
        forwards.direction, backwards.direction = "forwards", "backwards"

    def outputs(self, e: Tensor, lengths: Tensor | None) -> Tensor:
        """The outputs of both at each word, (B, T, 2n), of inputs e (B, T, D)."""
        if self._long(e):
            return self._outputs_in_parts(e, lengths)
        left, right = self.forwards, self.backwards
        turned = right.cell.outputs(reverse(e, lengths), right.h0.expand(len(e), -1))
        return torch.cat([left.cell.outputs(e, left.h0.expand(len(e), -1)), reverse(turned, lengths)], -1)

    def last_outputs(self, e: Tensor, lengths: Tensor | None) -> Tensor:
        """The output of each after the last word that it reads, (B, 2n)."""
        left = self.forwards.last_outputs_of(e, lengths)
        if not self._long(e):
            return torch.cat([left, self.backwards.last_outputs_of(reverse(e, lengths), lengths)], -1)
        right = self.backwards._last_outputs(reverse(_places(e), lengths), lengths, partial(taken, e))
        return torch.cat([left, right], -1)

    def _long(self, e: Tensor) -> bool:
        """Whether inputs e (B, T, D) are read in parts."""
        return all(len(parts_of(reader, e)) > 1 for reader in (self.forwards, self.backwards))

    def _outputs_in_parts(self, e: Tensor, lengths: Tensor | None) -> Tensor:
        """`outputs` of a long text: those of a part are written to their places before the next part is read."""
        forward = _places(e)
        sides = [(self.forwards, forward), (self.backwards, reverse(forward, lengths))]
        units = [len(range(reader.size)[reader.cell.output]) for reader, _ in sides]
        found = e.new_empty(*e.shape[:2], sum(units))
        rows = torch.arange(len(e), device=e.device).unsqueeze(1)
        for (reader, order), side in zip(sides, found.split(units, -1), strict=True):
            parts = read_in_parts(reader, order, partial(taken, e))
            next(parts)  # the output before the first word
            for places, outputs in zip(parts_of(reader, order), parts, strict=True):
                side[rows, places] = outputs.to(side)
        return found


def _places(e: Tensor) -> Tensor:
    """The places (B, T) of the words of inputs e (B, T, D)."""
    return torch.arange(e.shape[1], device=e.device).expand(e.shape[:2])


class DeepBothWays(ReadsTexts, nn.Module):
    """Several bidirectional layers, or one whose head is not linear.

    `network(ids, lengths)` gives the module's own logits. `network.layers[k].forwards` and `.backwards` are the readers
    of layer k, which Jacobians, slow points and modes take: the first layer's over words, the others' over
    `network.outputs(ids, lengths)[k − 1]`.
    """

    reads = ""

    def __init__(
        self,
        layers: Sequence[Readers],
        w: Tensor,
        b: Tensor,
        classes: Sequence[str] = (),
        features: nn.Module | None = None,
    ):
        super().__init__()
        self.layers: Sequence[Readers] = nn.ModuleList(layers)  # type: ignore[assignment]
        self.readout_w, self.readout_b = nn.Parameter(w), nn.Parameter(b)
        self.classes, self.features = tuple(classes), features

    @property
    def vocab(self) -> Vocab | None:  # type: ignore[override]
        return self.layers[0].forwards.vocab

    @property
    def h0(self) -> Tensor:  # type: ignore[override]
        """The initial state of the first layer's forward reader; every reader has its own."""
        return self.layers[0].forwards.h0

    @property
    def inputs(self) -> int:
        """D, the length of an embedded input."""
        return self.layers[0].forwards.inputs

    def forward(self, ids: Tensor | str | Sequence[str], lengths: Tensor | None = None) -> Tensor:
        """Logits (B,), or (B, C) of C classes, of ids (B, T). Ids after a row's length are not read; without lengths,
        all are read. Texts may be passed in place of ids."""
        if is_text(ids):
            return self._logits_of_texts(ids, lengths)
        e = self._embedded(cast(Tensor, ids), lengths)
        for layer in self.layers[:-1]:
            e = layer.outputs(e, lengths)
        return self._read_out(self.layers[-1].last_outputs(e, lengths))

    def outputs(self, ids: Tensor, lengths: Tensor | None = None) -> list[Tensor]:
        """The outputs of each layer at each word, (B, T, 2n): forward units, then backward ones."""
        e, found = self._embedded(ids, lengths), []
        for layer in self.layers:
            e = layer.outputs(e, lengths)
            found.append(e)
        return found

    def _embedded(self, ids: Tensor, lengths: Tensor | None) -> Tensor:
        first = self.layers[0].forwards
        e = first.embed(first._batch(ids))
        last_of(e.new_zeros(len(e), e.shape[1] + 1), lengths)  # refuses lengths that do not fit
        return e

    def of_class(self, name: str | None = None) -> DeepBothWays:
        """The network with one logit: that of a class minus the mean of the others'."""
        w, b, reads = class_readout(self.readout_w, self.readout_b, self.classes, name)
        view = DeepBothWays(list(self.layers), w, b, (), self.features)
        view.target, view.reads = str(name), reads
        return view.train(self.training)

    def logits(self, ids: Tensor) -> Tensor:
        """Refused: every layer but the first has read the words to come."""
        raise NoSuchPart(
            "a network that reads both ways has no logit after each word: use network(ids, lengths) or "
            "network.read(text)"
        )

    @torch.no_grad()
    @in_range("words")
    def read_words(self, words: Sequence[str]) -> Occlusion:  # type: ignore[override]
        """What the logit loses with each word blank; words as the vocabulary spells them."""
        self.check_one_logit("reading word by word")
        ids = torch.as_tensor(self._words_known("read_words").encode(words), device=self.h0.device)
        self._check_numbers()
        rows = ids.repeat(len(words) + 1, 1)
        rows[1:].fill_diagonal_(PAD)
        logits = self(rows).double()
        if not bool(logits.isfinite().all()):
            raise self._overflow(" ".join(words))
        return Occlusion(list(words), (logits[0] - logits[1:]).tolist(), float(logits[0]))

    def check_finite(self, where: str = "the network") -> None:
        """Refuse weights that are NaN or infinite."""
        for layer in self.layers:
            layer.forwards.check_finite(where)
            layer.backwards.check_finite(where)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)  # torch keeps parameters and modules there
        except AttributeError as error:
            if not hasattr(Network, name) and name not in ("E", "cell"):
                raise
            raise NoSuchPart(
                f"a network of bidirectional layers has no {name!r}, since its upper layers read words to come: pass a "
                "reader of one layer, such as network.layers[0].forwards"
            ) from error

    def __repr__(self) -> str:
        first, last = self.layers[0].forwards, self.layers[-1].forwards
        words = "continuous inputs" if self.vocab is None else f"{len(self.vocab)} {plural(len(self.vocab), 'word')}"
        head = "" if self.features is None else ", nonlinear head"
        classes = f", {len(self.classes)} classes" if self.several_classes else ""
        states = f"states {first.size} + {first.size}" if len(self.layers) == 1 else f"states {last.size} + {last.size}"
        return f"DeepBothWays({len(self.layers)} layers of {first.arch}, {states}, {words}{head}{classes})"
