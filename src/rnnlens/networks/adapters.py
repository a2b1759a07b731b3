"""Bring your own network: `torch.nn` modules and any step function become a `Network`.

Modules are copied, never shared: nothing rnnlens does (double precision, perturbation, training) reaches the original.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable
from types import MethodType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rnnlens.corpora.vocab import Vocab
from rnnlens.errors import RnnlensError, quoted
from rnnlens.networks.cells import GRU, LSTM, Cell, Vanilla
from rnnlens.networks.network import Network
from rnnlens.networks.scan import step_by_step

Embedding = nn.Embedding | Tensor | np.ndarray | None
Readout = nn.Linear | tuple[Any, Any]
Target = int | tuple[int, int] | None


def from_torch(
    rnn: nn.Module,
    embedding: Embedding,
    readout: Readout,
    vocab: Vocab | Iterable[str] | None,
    initial_state: Any = None,
    *,
    target: Target = None,
) -> Network:
    """A `Network` from `nn.GRU`, `nn.LSTM`, `nn.RNN` or their Cells, by copy.

    embedding: `nn.Embedding` or a (W, D) matrix; None, with vocab=None, for continuous inputs.
    readout: `nn.Linear(H, 1)`; `nn.Linear(H, 2)`, read as w₁ − w₀; k classes through `target` (see `adapt`); or (w, b).
    initial_state: what you pass as h_0 (for the LSTM a pair), for one sequence; zeros if None.
    Several layers become one flat state, the first layer first. All parts take the RNN's dtype and device.
    """
    layers = _layers(rnn)
    cell: Any = layers[0] if len(layers) == 1 else Stack(layers)
    h0 = layers[0].W.detach().new_zeros(cell.size)
    if initial_state is not None:
        h0 = _flat_state(initial_state, layers).to(h0)
    arch = type(cell).__name__.lower()
    if isinstance(cell, Vanilla) and cell.nonlinearity == "relu":
        arch = "adapted"
    return _network(cell, embedding, readout, vocab, h0, target, arch)


def adapt(
    step: Callable[[Tensor, Tensor], Tensor],
    embedding: Embedding,
    readout: Readout,
    vocab: Vocab | Iterable[str] | None,
    initial_state: Tensor | np.ndarray,
    *,
    inputs: int | None = None,
    target: Target = None,
) -> Network:
    """A `Network` from any step(h, e) → h on states (B, N) and embedded inputs (B, D).

    A module, or a method of one, is copied; a plain function is used as it is, with whatever tensors it holds on to.
    The other parts take the dtype and device of initial_state.
    inputs: D, needed only without an embedding. target: of a k-class readout, the class whose evidence is read, w_k
    minus the mean of the others; or a pair (a, b), read as w_a − w_b.
    """
    h0 = _tensor(initial_state, "initial_state").clone()
    if h0.ndim != 1 or not h0.is_floating_point():
        raise RnnlensError(f"initial_state has shape {tuple(h0.shape)} and {h0.dtype}: expected one flat state (N,)")
    if embedding is not None:
        inputs = _matrix(embedding).shape[1]
    if inputs is None:
        raise RnnlensError("adapt without an embedding needs inputs=D, the length of one input")
    return _network(Adapted(_own(step), len(h0), inputs, h0), embedding, readout, vocab, h0, target, "adapted")


class Stack(nn.Module):
    """Several layers as one cell; the flat state is theirs one after another, the readout sees the last."""

    def __init__(self, layers: list[Cell]):
        super().__init__()
        self.layers: list[Cell] = nn.ModuleList(layers)  # type: ignore[assignment]
        self.sizes = [layer.size for layer in layers]
        self.size, self.inputs = sum(self.sizes), layers[0].inputs
        start = self.size - self.sizes[-1]
        self.output = slice(start, start + layers[-1].hidden)

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        new = []
        for layer, part in zip(self.layers, h.split(self.sizes, -1), strict=True):
            new.append(layer.step(part, e))
            e = new[-1][..., layer.output]
        return torch.cat(new, -1)

    def sequence(self, e: Tensor, h0: Tensor) -> Tensor:
        states = []
        for layer, part in zip(self.layers, h0.split(self.sizes, -1), strict=True):
            states.append(layer.sequence(e, part))
            e = states[-1][:, 1:, layer.output]
        return torch.cat(states, -1)

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        for layer, part in zip(self.layers, h0.split(self.sizes, -1), strict=True):
            e = layer.outputs(e, part)
        return e


class Adapted(nn.Module):
    """A user's step function as a cell; leading dimensions are folded into one batch before it is called."""

    def __init__(self, step: Callable[[Tensor, Tensor], Tensor], size: int, inputs: int, h0: Tensor):
        super().__init__()
        self.function = step  # a module is registered, its parameters with it; so is the module of a method
        self.module = None if isinstance(step, nn.Module) else _module_of(step)
        self.size, self.inputs, self.output = size, inputs, slice(0, size)
        e = h0.new_zeros(2, inputs)
        try:
            with torch.no_grad():
                new = step(h0.expand(2, size), e)
        except Exception as error:
            raise RnnlensError(
                f"step(h, e) failed on h (2, {size}) and e (2, {inputs}): {_said(error)}; "
                "for a step that takes one state at a time pass torch.vmap(step)"
            ) from error
        if not isinstance(new, Tensor) or new.shape != (2, size):
            got = tuple(new.shape) if isinstance(new, Tensor) else type(new).__name__
            raise RnnlensError(f"step(h, e) gave {got} for h (2, {size}): expected the next states, (2, {size})")

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        lead = torch.broadcast_shapes(h.shape[:-1], e.shape[:-1])
        h, e = h.expand(*lead, self.size).reshape(-1, self.size), e.expand(*lead, self.inputs).reshape(-1, self.inputs)
        return self.function(h, e).reshape(*lead, self.size)

    def sequence(self, e: Tensor, h0: Tensor) -> Tensor:
        return step_by_step(self.function, e, h0)

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        return self.sequence(e, h0)[:, 1:]


# --- reading the user's parts -----------------------------------------------------------------------------------------


def _layers(rnn: nn.Module) -> list[Cell]:
    """Our cells with copies of a torch RNN's weights, first layer first."""
    if isinstance(rnn, nn.RNNBase):
        if rnn.bidirectional:
            raise RnnlensError(
                "bidirectional networks are not supported: their states have no single past; pass one direction "
                "as its own nn.GRU/LSTM/RNN"
            )
        if rnn.proj_size:
            raise RnnlensError(
                f"proj_size={rnn.proj_size} is not supported: fold the projection into a step function and use adapt"
            )
        names = [(f"_l{layer}", rnn.bias) for layer in range(rnn.num_layers)]
    elif isinstance(rnn, nn.RNNCellBase):
        names = [("", rnn.bias)]
    else:
        raise RnnlensError(
            f"from_torch got {quoted(type(rnn).__name__)}: expected nn.GRU, nn.LSTM, nn.RNN or their Cells; "
            "for anything else use adapt(step, …)"
        )
    layers, generator = [], torch.Generator()  # the cells' own weights are thrown away: no draw from the user's chance
    for suffix, bias in names:
        W, U = getattr(rnn, f"weight_ih{suffix}"), getattr(rnn, f"weight_hh{suffix}")
        if isinstance(rnn, nn.GRU | nn.GRUCell):
            cell: Cell = GRU(U.shape[1], W.shape[1], generator)
        elif isinstance(rnn, nn.LSTM | nn.LSTMCell):
            cell = LSTM(U.shape[1], W.shape[1], generator)
        else:
            cell = Vanilla(U.shape[1], W.shape[1], generator, nonlinearity=rnn.nonlinearity)  # type: ignore[arg-type]
        zero = W.new_zeros(W.shape[0])
        cell.W, cell.U = _copy(W), _copy(U)
        cell.b = _copy(getattr(rnn, f"bias_ih{suffix}") if bias else zero)
        cell.c = _copy(getattr(rnn, f"bias_hh{suffix}") if bias else zero)
        layers.append(cell)
    return layers


def _module_of(step: Any) -> nn.Module | None:
    """The module that a step is, or is a method of."""
    step = step.__self__ if isinstance(step, MethodType) else step
    return step if isinstance(step, nn.Module) else None


def _own(step: Any) -> Any:
    """A copy of a module, or of a method with its module; anything else as it is."""
    module = _module_of(step)
    try:
        return step if module is None else copy.deepcopy(step)
    except Exception as error:
        raise RnnlensError(
            f"{quoted(type(module).__name__)} cannot be copied: {_said(error)}; to use it as it is, shared, "
            "pass lambda h, e: step(h, e)"
        ) from error


def _flat_state(state: Any, layers: list[Cell]) -> Tensor:
    """(N,) from what torch takes: h (L, 1, H) or with fewer leading ones, for the LSTM (h, c); or already flat."""
    size = sum(layer.size for layer in layers)
    several = isinstance(state, tuple | list) and len(state) and all(np.ndim(part) for part in state)
    parts = [_tensor(part, "initial_state") for part in (state if several else (state,))]
    total = sum(part.numel() for part in parts)
    if total != size or len(parts) not in (1, layers[0].blocks):
        shapes = ", ".join(str(tuple(part.shape)) for part in parts)
        raise RnnlensError(
            f"initial_state has shape {shapes}: expected {size} numbers for one sequence"
            + (", as (h, c)" if layers[0].blocks == 2 else "")
        )
    if len(parts) == 1:
        return parts[0].reshape(-1).clone()
    per_layer = [part.reshape(len(layers), -1) for part in parts]
    return torch.cat(per_layer, 1).reshape(-1).clone()


def _network(
    cell: Any,
    embedding: Embedding,
    readout: Readout,
    vocab: Vocab | Iterable[str] | None,
    h0: Tensor,
    target: Target,
    arch: str,
) -> Network:
    if (vocab is None) != (embedding is None):
        raise RnnlensError("pass both vocab and embedding, or neither (continuous inputs)")
    E, words = None, None
    if embedding is not None:
        assert vocab is not None
        E = _matrix(embedding)
        words = vocab if isinstance(vocab, Vocab) else Vocab(vocab)
        if E.shape != (len(words), cell.inputs):
            raise RnnlensError(
                f"the embedding is {tuple(E.shape)}: expected one row for each of {len(words)} words and "
                f"{cell.inputs} columns, as the network takes"
            )
    w, b = _readout(readout, target)
    seen = len(range(cell.size)[cell.output])
    if w.shape != (seen,):
        raise RnnlensError(f"the readout takes {w.numel()} numbers: expected {seen}, the size of the network's output")
    E = None if E is None else E.to(h0)
    return Network.assemble(cell, E, w.to(h0), b.to(h0), h0, words, arch).to(h0.device)


def _matrix(embedding: Embedding) -> Tensor:
    """(W, D), as an `nn.Embedding` gives it out: the row of padding_idx as it is, rows longer than max_norm cut."""
    E: Any = embedding.weight if isinstance(embedding, nn.Embedding) else embedding
    if not isinstance(E, Tensor | np.ndarray) or E.ndim != 2:
        raise RnnlensError(f"embedding is {quoted(type(embedding).__name__)}: expected nn.Embedding or a (W, D) tensor")
    E = _tensor(E, "embedding").clone()
    if isinstance(embedding, nn.Embedding) and embedding.max_norm is not None:
        every = torch.arange(len(E), device=E.device)
        torch.embedding_renorm_(E, every, embedding.max_norm, embedding.norm_type)  # what the module does when called
    return E


def _readout(readout: Readout, target: Target) -> tuple[Tensor, Tensor]:
    """(w, b) of a linear head: one output as it is, two as w₁ − w₀, k through `target`."""
    if isinstance(readout, nn.Linear):
        w = readout.weight.detach()
        b = w.new_zeros(len(w)) if readout.bias is None else readout.bias.detach()
    elif isinstance(readout, tuple | list) and len(readout) == 2:
        w, b = (_tensor(part, "readout") for part in readout)
        w = torch.atleast_2d(w if w.is_floating_point() else w.float())
        b = b.reshape(-1).to(w)
        if w.ndim != 2 or len(b) != len(w):
            raise RnnlensError(
                f"readout has shapes {tuple(w.shape)} and {tuple(b.shape)}: expected w (N,) and a number b, or (k, N) "
                "and (k,)"
            )
    else:
        raise RnnlensError(f"readout is {quoted(type(readout).__name__)}: expected nn.Linear or a pair (w, b)")
    k = len(w)
    if k == 1 and target is None:
        return w[0].clone(), b[0].clone()
    if k == 2 and target is None:
        target = 1
    if target is None:
        raise RnnlensError(f"the readout has {k} classes: say which one to read with target=class or target=(a, b)")
    try:
        classes = tuple(operator.index(c) for c in (target if isinstance(target, tuple | list) else (target,)))
    except TypeError:
        classes = ()
    if k == 1 or not all(0 <= c < k for c in classes) or len(classes) not in (1, 2) or len(set(classes)) < len(classes):
        raise RnnlensError(f"target is {quoted(target)}: expected a class below {k}, or a pair of different ones")
    weight = torch.full((k,), -1 / (k - 1), dtype=w.dtype, device=w.device) if len(classes) == 1 else w.new_zeros(k)
    weight[classes[0]] = 1
    if len(classes) == 2:
        weight[classes[1]] = -1
    return weight @ w, weight @ b


def _tensor(value: Any, name: str) -> Tensor:
    try:
        return torch.as_tensor(value).detach()
    except (TypeError, ValueError, RuntimeError) as error:
        raise RnnlensError(f"{name} is {quoted(value)}: expected a tensor or an array of numbers") from error


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _copy(parameter: Tensor) -> nn.Parameter:
    return nn.Parameter(parameter.detach().clone())
