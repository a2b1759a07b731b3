"""Bring your own network: `torch.nn` modules and any step function become a `Network`.

Modules are copied: nothing that rnnlens does (double precision, perturbation, training) changes the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.corpora.vocab import Vocab
from rnnlens.networks.both_ways import BothWays
from rnnlens.networks.cells import Vanilla
from rnnlens.networks.deep import DeepBothWays, Readers
from rnnlens.networks.given import check_step, module_of, own_copy, uncompiled
from rnnlens.networks.heads import Readout, Target, as_tensor, check_real, in_order, read_head
from rnnlens.networks.mlp import Features, split_head
from rnnlens.networks.network import Network
from rnnlens.networks.parts import Embedding, Layer, check_layout, checked_rnn, flat_state, layers_of, matrix_of
from rnnlens.networks.pooling import pooled
from rnnlens.networks.scan import step_by_step
from rnnlens.networks.stack import Stack


@in_range("from_torch")
def from_torch(
    rnn: nn.Module,
    embedding: Embedding,
    readout: Readout,
    vocab: Vocab | Iterable[str] | None,
    initial_state: Any = None,
    *,
    target: Target = None,
    output: int | None = None,
    classes: Iterable[str] | None = None,
    thresholds: Tensor | np.ndarray | Iterable[float] | None = None,
    pooling: str | None = None,
    batch_first: bool | None = None,
) -> Network | Any:  # Any: a BothWays or DeepBothWays, if the module is bidirectional
    """A `Network` from `nn.GRU`, `nn.LSTM`, `nn.RNN` or their Cells, by copy; a `BothWays` from a bidirectional one; a
    `DeepBothWays` from one with several layers, or with a head that is not linear.

    embedding: `nn.Embedding` or a (W, D) matrix; None, with vocab=None, for continuous inputs.
    readout: `nn.Linear(H, 1)`; `nn.Linear(H, 2)`, read as two classes, w₁ − w₀; `nn.Linear(H, C)` with `classes`, the
    names of its C outputs, all of which are kept; one of k classes through `target`, one output of a regression through
    `output` (see `adapt`); or (w, b). A head that is not linear, such as `nn.Sequential(nn.Linear(H, 8), nn.ReLU(),
    nn.Linear(8, 1))`, is evaluated exactly, in eval mode; where an analysis needs a readout direction, it linearizes
    the head at h*.
    thresholds: of ordered classes, such as stars, the C − 1 numbers θ that cut the score of `nn.Linear(H, 1)`: the
    probability of a class above k is σ(score − θ_k).
    initial_state: what you pass as h_0 (for the LSTM a pair), for one sequence; zeros if None.
    pooling: "mean" if the head reads the mean of the outputs over a sequence's own words; None if it reads the last
    state, which in the backward direction is the one at the first word (torch's h_n).
    batch_first: a `Network` reads inputs (B, T, D). For a module without words that reads (T, B, D), pass
    batch_first=True here, and x.transpose(0, 1) to the network.
    Several layers become one flat state, the first layer first. All parts take the RNN's dtype and device. Dropout
    between layers is left out, as in eval mode. Subclasses with another forward and modules with hooks are refused.
    """
    rnn = checked_rnn(rnn)
    check_layout(rnn, batch_first, words=embedding is not None)
    if thresholds is not None:
        if target is not None or output is not None:
            raise RnnlensError("got thresholds= together with target= or output=: expected one of them")
        one = from_torch(rnn, embedding, readout, vocab, initial_state, output=0, pooling=pooling, batch_first=True)
        return in_order(one, classes, thresholds)
    if getattr(rnn, "bidirectional", False):
        return _both_ways(rnn, embedding, readout, vocab, initial_state, (target, output, classes), pooling)
    cell, h0, arch = _reader(layers_of(rnn), initial_state, pooling)
    features, linear = split_head(readout, _units(cell), h0)
    read = read_head(linear, target, output, classes, vocab is not None)
    return assembled(cell, embedding, read, vocab, h0, arch, features)


def _both_ways(
    rnn: nn.Module,
    embedding: Embedding,
    readout: Readout,
    vocab: Vocab | Iterable[str] | None,
    initial_state: Any,
    what: tuple[Target, int | None, Iterable[str] | None],
    pooling: str | None,
) -> BothWays | DeepBothWays:
    """A bidirectional module: two readers, or several layers of two. what: target, output and classes."""
    layers = list(zip(layers_of(rnn), layers_of(rnn, backward=True), strict=True))
    starts, top = _starts(rnn, initial_state), len(layers) - 1
    cells = [
        [_reader([cell], start, pooling if k == top else None) for cell, start in zip(pair, starts[k], strict=True)]
        for k, pair in enumerate(layers)
    ]
    h0, units = cells[0][0][1], sum(_units(cell) for cell, _, _ in cells[-1])
    features, linear = split_head(readout, units, h0)
    w, b, reads, names = read_head(linear, *what, vocab is not None)
    if features is None and w.shape[-1] != units:
        raise RnnlensError(
            f"the readout takes {w.shape[-1]} numbers: expected {units}, the outputs of both directions of a "
            "bidirectional network"
        )
    pairs = []
    for k, pair_of in enumerate(cells):
        parts, zero = [h0.new_zeros(_units(cell)) for cell, _, _ in pair_of], h0.new_zeros(())
        read: tuple[Tensor, str, tuple[str, ...]] = zero, "", ()
        if k == top and features is None:
            parts, read = list(w.chunk(2, -1)), (torch.zeros_like(b), reads, names)
        given = (embedding, vocab) if k == 0 else (None, None)
        left, right = (
            assembled(cell, given[0], (part, *read), given[1], start, arch)
            for (cell, start, arch), part in zip(pair_of, parts, strict=True)
        )
        right.E = left.E
        pairs.append((left, right))
    if top == 0 and features is None:
        return BothWays(*pairs[0], b.to(h0))
    deep = DeepBothWays([Readers(*pair) for pair in pairs], w.to(h0), b.to(h0), names, features).to(h0.device)
    deep.reads = reads
    return deep


def _reader(layers: list[Layer], initial_state: Any, pooling: str | None) -> tuple[Any, Tensor, str]:
    """The cell of one direction, its initial state (N,), and the name of its architecture."""
    cell: Any = layers[0] if len(layers) == 1 else Stack(layers)
    h0 = layers[0].W.detach().new_zeros(cell.size)
    if initial_state is not None:
        h0 = flat_state(initial_state, layers).to(h0)
    arch = type(cell).__name__.lower()
    if isinstance(cell, Vanilla) and cell.nonlinearity == "relu":
        arch = "adapted"
    cell, h0 = pooled(cell, h0, pooling)
    return cell, h0, arch if pooling is None else f"{arch}, {pooling} pooled"


def _starts(rnn: nn.Module, initial_state: Any) -> list[tuple[Any, Any]]:
    """The initial states of both directions of each layer, from a state as torch takes it: h (2L, 1, H), for the LSTM
    (h, c)."""
    assert isinstance(rnn, nn.RNNBase)
    n = 2 * rnn.num_layers
    if initial_state is None:
        return [(None, None)] * rnn.num_layers
    given = initial_state if isinstance(rnn, nn.LSTM) else [initial_state]
    parts = [as_tensor(part, "initial_state") for part in given]
    wrong = next((part for part in parts if part.ndim < 2 or len(part) != n), None)
    if wrong is not None:
        raise RnnlensError(
            f"initial_state has shape {tuple(wrong.shape)}: expected ({n}, 1, units), one state for each direction"
            + (" of each layer" if n > 2 else "")
        )
    each = [tuple(part[i] for part in parts) if len(parts) > 1 else parts[0][i] for i in range(n)]
    return list(zip(each[::2], each[1::2], strict=True))


@in_range("adapt")
def adapt(
    step: Callable[[Tensor, Tensor], Tensor],
    embedding: Embedding,
    readout: Readout,
    vocab: Vocab | Iterable[str] | None,
    initial_state: Tensor | np.ndarray,
    *,
    inputs: int | None = None,
    target: Target = None,
    output: int | None = None,
    classes: Iterable[str] | None = None,
) -> Network:
    """A `Network` from any step(h, e) → h on states (B, N) and embedded inputs (B, D).

    A module, or a method of one, is copied, and the copy is in eval mode; a plain function is used as it is, with
    the tensors that it refers to. A step with dropout, noise or batch statistics is refused.
    The other parts take the dtype and device of initial_state.
    inputs: D, needed only without an embedding. target: of a k-class readout, the class whose evidence is read, w_k
    minus the mean of the others; or a pair (a, b), read as w_a − w_b. output: of a readout with several outputs that
    are not classes, the one that is read as it is. classes: the names of the classes of a readout with C outputs; the
    network then has all C logits, and `network.of_class(name)` reads one.
    """
    h0 = as_tensor(initial_state, "initial_state").clone()
    if h0.ndim != 1 or not len(h0) or not h0.is_floating_point():
        raise RnnlensError(f"initial_state has shape {tuple(h0.shape)} and {h0.dtype}: expected one flat state (N,)")
    check_real(h0, "initial_state")
    E = None if embedding is None else matrix_of(embedding)
    if E is not None and inputs not in (None, E.shape[1]):
        raise RnnlensError(f"inputs is {inputs}, but the embedding has {E.shape[1]} columns: leave inputs out")
    inputs = inputs if E is None else E.shape[1]
    if inputs is None:
        raise RnnlensError("adapt without an embedding needs inputs=D, the length of one input")
    step = own_copy(uncompiled(step))
    check_step(step, h0, inputs, E)
    features, linear = split_head(readout, len(h0), h0)
    read = read_head(linear, target, output, classes, vocab is not None)
    return assembled(Adapted(step, len(h0), inputs), embedding, read, vocab, h0, "adapted", features)


class Adapted(nn.Module):
    """A user's step function as a cell; leading dimensions are folded into one batch before it is called."""

    def __init__(self, step: Callable[[Tensor, Tensor], Tensor], size: int, inputs: int):
        super().__init__()
        self.function = step  # torch registers a module with its parameters; also that of a method
        self.module = None if isinstance(step, nn.Module) else module_of(step)
        self.size, self.inputs, self.output = size, inputs, slice(0, size)

    def train(self, mode: bool = True) -> Self:
        """The user's module stays in eval mode: its dropout and batch statistics are not part of the network."""
        super().train(mode)
        for module in self.children():
            module.eval()
        return self

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        lead = torch.broadcast_shapes(h.shape[:-1], e.shape[:-1])
        h, e = h.expand(*lead, self.size).reshape(-1, self.size), e.expand(*lead, self.inputs).reshape(-1, self.inputs)
        return self.function(h, e).reshape(*lead, self.size)

    def sequence(self, e: Tensor, h0: Tensor) -> Tensor:
        return step_by_step(self.function, e, h0)

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        return self.sequence(e, h0)[:, 1:]


# --- reading the user's parts -----------------------------------------------------------------------------------------


def assembled(
    cell: Any,
    embedding: Embedding,
    readout: tuple[Tensor, Tensor, str, tuple[str, ...]],
    vocab: Vocab | Iterable[str] | None,
    h0: Tensor,
    arch: str,
    features: Features | None = None,
) -> Network:
    if (vocab is None) != (embedding is None):
        raise RnnlensError("pass both vocab and embedding, or neither (continuous inputs)")
    E, words = None, None
    if embedding is not None:
        assert vocab is not None
        E = matrix_of(embedding)
        words = vocab if isinstance(vocab, Vocab) else Vocab(vocab)
        if E.shape != (len(words), cell.inputs):
            raise RnnlensError(
                f"the embedding is {tuple(E.shape)}: expected one row for each of {len(words)} words and "
                f"{cell.inputs} columns, as the network takes"
            )
    w, b, reads, classes = readout
    units = _units(cell)
    if features is None and w.shape[-1] != units:
        raise RnnlensError(
            f"the readout takes {w.shape[-1]} numbers: expected {units}, the size of the network's output"
        )
    E = None if E is None else E.to(h0)
    network = Network.assemble(cell, E, w.to(h0), b.to(h0), h0, words, arch).to(h0.device)
    network.reads, network.classes, network.features = reads, classes, features
    return network


def _units(cell: Any) -> int:
    """The length of a cell's output."""
    return len(range(cell.size)[cell.output])
