"""A network: words through a linear embedding into a cell, a trained initial state, a scalar readout."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.common.display import plural
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import in_range
from rnnlens.corpora.classes import checked_names
from rnnlens.corpora.vocab import PAD, Vocab
from rnnlens.networks.architectures import ARCHITECTURES, make_cell, shape_of
from rnnlens.networks.cells import Cell
from rnnlens.networks.checks import Checks, check_tensor
from rnnlens.networks.long_texts import Embed, last_in_parts, last_of, read_in_parts
from rnnlens.networks.reading import ReadsTexts, is_text
from rnnlens.networks.readouts import ClassHead, class_readout, first_thresholds, scale_readout
from rnnlens.networks.stack import Stack
from rnnlens.networks.starting import set_time_constants


class Network(Checks, ReadsTexts):
    """h' = F(h, E x), logit = w·h + b, from a trained h0 (the paper's §3).

    `Network(vocab, arch="gru", hidden=256, embedding=128)` makes an untrained one: of the paper's cells, gru, lstm,
    ugrnn, vanilla, or of the recurrences of today, mingru, minlstm, mamba, rglru. `assemble` makes one from parts.
    layers: their number; all of them are one flat state. convolution: how many words each layer of a recurrence of
    today sees at once; 1 for none, None for as many as in its paper (mamba and rglru 4, the others 1).
    scale: standard deviation of the initial embeddings. memory: the units' initial time constants are log-uniform from
    1 to `memory` words; 0 keeps the usual initial weights. A vanilla network needs both, such as 0.05 and 1000.
    classes: names of the classes; with three or more, the network has one logit for each, `logit` and `network(ids)`
    have a last dimension C, and `of_class(name)` is the network with one logit that analyses need. ordered: the classes
    are in order, such as stars: they are read from one direction, with a threshold between each two (the
    proportional-odds model), and `of_class()` is the network that reads this direction.

    The rest of rnnlens uses `step`, `embed`, `h0`, `logit`, and the whole-sequence passes `network(ids, lengths)` and
    `states(ids)` that follow from them. `read`, `predict` and `predict_proba` take texts, and so does
    `network("not bad")`.
    """

    arch: str
    vocab: Vocab | None
    scale: float = 1.0
    memory: float = 0.0
    reads: str = ""  # of a readout with several outputs: which ones the logit is computed from

    @in_range("network")
    def __init__(
        self,
        vocab: Vocab | Iterable[str],
        arch: str = "gru",
        hidden: int = 256,
        embedding: int = 128,
        seed: int = 0,
        scale: float = 1.0,
        memory: float = 0.0,
        classes: Iterable[str] | None = None,
        ordered: bool = False,
        layers: int = 1,
        convolution: int | None = None,
    ):
        super().__init__()
        vocab = vocab if isinstance(vocab, Vocab) else Vocab(vocab)
        generator = torch.Generator().manual_seed(seed)
        cell = make_cell(arch, hidden, embedding, layers, convolution, generator)
        E = scale * torch.randn(len(vocab), embedding, generator=generator)
        none = classes is None or (isinstance(classes, tuple | list) and not classes)
        self.classes = () if none else checked_names(classes)  # type: ignore[arg-type]
        n = len(self.classes)
        if ordered and n < 3:
            raise RnnlensError(f"ordered is given with {n} classes: expected at least 3, as in classes=['1', '2', '3']")
        self.ordered = ordered
        rows = (n,) if n > 2 and not ordered else ()
        w = torch.empty(*rows, hidden).uniform_(-(hidden**-0.5), hidden**-0.5, generator=generator)
        b = first_thresholds(n) if ordered else torch.zeros(rows)
        self._assemble(cell, E, w, b, torch.zeros(cell.size), vocab, arch)
        self.scale, self.memory = scale, memory
        if memory:
            set_time_constants(cell, arch, memory, generator)

    @classmethod
    def assemble(
        cls, cell: Any, E: Tensor | None, w: Tensor, b: Tensor, h0: Tensor, vocab: Vocab | None, arch: str = "adapted"
    ) -> Network:
        """A network from parts: a cell, embedding (W, D) or None (continuous inputs), readout w over the cell's
        output, bias b, initial state h0 (N,), and the words. For a network with C classes w is (C, n) and b (C,)."""
        network = cls.__new__(cls)
        nn.Module.__init__(network)
        network._assemble(cell, E, w, b, h0, vocab, arch)
        return network

    def _assemble(
        self, cell: Any, E: Tensor | None, w: Tensor, b: Tensor, h0: Tensor, vocab: Vocab | None, arch: str
    ) -> None:
        self.arch, self.vocab, self.cell = arch, vocab, cell
        self.E = None if E is None else nn.Parameter(E)
        self.h0 = nn.Parameter(h0)
        self.readout_w, self.readout_b = nn.Parameter(w), nn.Parameter(b)
        self.features: nn.Module | None = None  # set for a head that is not linear: it reads w·features(output) + b

    def with_parts(self, cell: Any, h0: Tensor, arch: str) -> Network:
        """A network with the same words and readout, another cell and initial state; weights that both have are
        copied."""
        E = None if self.E is None else self.E.detach()
        w, b = self.readout_w.detach(), self.readout_b.detach()
        network = Network.assemble(cell, E, w, b, h0, self.vocab, arch)
        network.reads, network.classes, network.target = self.reads, self.classes, self.target
        network.ordered = self.ordered
        network.features, network.direction = copy.deepcopy(self.features), self.direction
        return network

    def of_class(self, name: str | None = None) -> Network:
        """The network with one logit: that of a class minus the mean of the others'. All analyses take it.

        The logit is linear in the state, with the readout w_k − mean of the other w_j. The view shares cell, embedding
        and initial state with this network, and its `target` is the name of the class. Of ordered classes, no class is
        named: the logit is that of their scale, w·h minus the middle threshold."""
        if self.ordered:
            w, b, reads, name = scale_readout(self.readout_w, self.readout_b, self.classes, name)
        else:
            w, b, reads = class_readout(self.readout_w, self.readout_b, self.classes, name)
        view = Network.assemble(self.cell, self.E, w, b, self.h0, self.vocab, self.arch)
        view.E, view.h0, view.features = self.E, self.h0, self.features  # the same parameters, not copies
        view.scale, view.memory, view.target, view.reads = self.scale, self.memory, str(name), reads
        view.direction = self.direction
        if self.several_classes:
            view.all_classes = ClassHead(self.classes, self.ordered, self.readout_w.detach(), self.readout_b.detach())
        return view.train(self.training)

    # --- the parts everything derives from ---

    @property
    def size(self) -> int:
        """N, the length of the flat state (for the LSTM (h, c), for several layers all of them)."""
        return self.cell.size

    @property
    def inputs(self) -> int:
        """D, the length of an embedded input."""
        return self.cell.inputs

    @property
    def w(self) -> Tensor:
        """The readout as a vector over the flat state, (N,): zero for the rest of the state."""
        self.check_one_logit("its readout direction")
        if self.features is not None:
            raise RnnlensError(
                "the head of this network is not linear, and has no single readout w: its gradient at states h is "
                "network.readout_at(h)"
            )
        w = self.readout_w.new_zeros(self.size)
        w[self.cell.output] = self.readout_w
        return w

    @property
    def b(self) -> Tensor:
        """The readout's bias, a scalar."""
        return self.readout_b

    def step(self, h: Tensor, e: Tensor | None = None) -> Tensor:
        """F(h, e): the next state, over leading dimensions; one state with many inputs, or one input for many states,
        is broadcast. e=None is the blank input, x = 0."""
        self._check_sizes(h, e)
        e = h.new_zeros(self.inputs) if e is None else e
        # For our own cells, the product of one state or input is taken once.
        if not (isinstance(self.cell, Cell) or (isinstance(self.cell, Stack) and self.cell.of_cells)):
            lead = torch.broadcast_shapes(h.shape[:-1], e.shape[:-1])
            h, e = h.expand(*lead, -1), e.expand(*lead, -1)
        return self.cell.step(h, e)

    def embed(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """E x for ids (...) → (..., D); PAD (−1) embeds to the zero vector. Continuous inputs pass through.
        mask (..., D): multiplies the result; it must be 0 for PAD."""
        check_tensor(ids, "inputs" if self.E is None else "ids")
        if self.E is None:
            if not ids.is_floating_point() or ids.shape[-1] != self.inputs:
                raise RnnlensError(
                    f"this network has no words: expected inputs (..., {self.inputs}), got {tuple(ids.shape)}"
                )
            return ids if mask is None else ids * mask
        if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
            raise RnnlensError(f"expected word ids, got {ids.dtype} of shape {tuple(ids.shape)}: pass whole numbers")
        ids = ids if ids.dtype == torch.int32 else ids.long()
        pad = ids == PAD
        try:
            e = F.embedding(ids.masked_fill(pad, 0), self.E)
        except IndexError as error:  # (on a GPU torch stops the process; checking first would make every call wait)
            raise RnnlensError(
                f"word ids range from {ids.min()} to {ids.max()}: expected 0 … {len(self.E) - 1}, "
                f"or {PAD} for a blank input"
            ) from error
        return e.masked_fill(pad.unsqueeze(-1), 0) if mask is None else e * mask

    def logit(self, h: Tensor) -> Tensor:
        """w·h + b for states h (..., N) → (...), or (..., C) of C classes."""
        self._check_sizes(h)
        return self._read_out(h[..., self.cell.output])

    # --- whole sequences ---

    def states(self, ids: Tensor, h0: Tensor | None = None) -> Tensor:
        """All states (B, T+1, N), the initial one first, of ids (B, T) (or continuous inputs (B, T, D))."""
        e = self.embed(self._batch(ids))
        return self.cell.sequence(e, self._initial(e, h0))

    def forward(self, ids: Tensor | str | Sequence[str], lengths: Tensor | None = None) -> Tensor:
        """Final logits (B,), or (B, C) of C classes, of ids (B, T). Ids after a row's length are not read; without
        lengths, all are read.

        Texts may be passed in place of ids: the logit () of one text, `network("not bad")`, or (B,) of a list of
        them."""
        if is_text(ids):
            return self._logits_of_texts(ids, lengths)
        ids = self._batch(cast(Tensor, ids))
        if self.several_classes:
            return self._read_out(self._last_outputs(ids, lengths, self.embed))
        return last_of(self._logits(ids, self.embed), lengths)

    def logits(self, ids: Tensor) -> Tensor:
        """Logits after every word, (B, T+1) or (B, T+1, C), that of h0 first."""
        return self._logits(self._batch(ids), self.embed)

    def logits_of(self, e: Tensor) -> Tensor:
        """The same for embedded inputs e (B, T, D)."""
        self._initial(e, None)  # refuses inputs that do not fit
        return self._logits(e, _embedded)

    def last_logits_of(self, e: Tensor, lengths: Tensor | None) -> Tensor:
        """The logits after the last word of embedded inputs e (B, T, D). Only the last outputs are read, since reading
        all of them would need the memory of B × T × C logits."""
        return self._read_out(self.last_outputs_of(e, lengths))

    def last_outputs_of(self, e: Tensor, lengths: Tensor | None) -> Tensor:
        """The cell's outputs (B, n) after the last word of embedded inputs e (B, T, D)."""
        self._initial(e, None)  # refuses inputs that do not fit
        return self._last_outputs(e, lengths, _embedded)

    def _last_outputs(self, inputs: Tensor, lengths: Tensor | None, embed: Embed) -> Tensor:
        """The same of inputs (B, T, …) that `embed` embeds, a part of a long text at a time."""
        return last_in_parts(read_in_parts(self, inputs, embed), lengths, inputs.shape[1])

    def _logits(self, inputs: Tensor, embed: Embed) -> Tensor:
        return torch.cat([self._read_out(outputs) for outputs in read_in_parts(self, inputs, embed)], 1)

    # --- how to make it again ---

    @property
    def units(self) -> str:
        """How many units it has, in words."""
        return f"{self.cell.hidden} units"

    @property
    def config(self) -> dict[str, Any]:
        """The arguments with which `Network(vocab, **config)` makes a network of this shape."""
        if self.E is None:
            raise RnnlensError("a network without words has no config: it cannot be trained or saved here")
        if self.arch not in ARCHITECTURES:
            raise RnnlensError(
                f"a network of kind {quoted(self.arch)} has no config: it cannot be trained or saved here, only "
                f"{', '.join(ARCHITECTURES)} can; rnnlens.fit_readout fits its head"
            )
        if self.features is not None:
            raise RnnlensError("a network whose head is not linear has no config: it cannot be trained or saved here")
        shape = shape_of(self.cell, self.arch)
        initial = {"scale": (self.scale, 1.0), "memory": (self.memory, 0.0)}
        named: dict[str, Any] = {"classes": list(self.classes)} if self.classes else {}
        named |= {"ordered": True} if self.ordered else {}
        return shape | {name: value for name, (value, default) in initial.items() if value != default} | named

    def __repr__(self) -> str:
        words = f"continuous inputs (B, T, {self.inputs})"
        if self.vocab is not None:
            words = f"{len(self.vocab)} {plural(len(self.vocab), 'word')}"
        reads = f", reads {self.reads}" if self.reads else ""
        order = " in order" if self.ordered else ""
        classes = f", {len(self.classes)} classes{order}" if self.several_classes else ""
        classes += "" if self.features is None else ", nonlinear head"
        classes += ", reads backward" if self.backward else ""
        return f"Network({self.arch}, state {self.size}, embedding {self.inputs}, {words}{reads}{classes})"


def _embedded(e: Tensor) -> Tensor:
    return e
