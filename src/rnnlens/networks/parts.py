"""A user's parts, read and checked: the layers of a torch RNN as cells, its initial state, an embedding matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.networks.cells import GRU, LSTM, Cell, Vanilla
from rnnlens.networks.given import evaluated, plain, uncompiled
from rnnlens.networks.heads import as_tensor, check_real
from rnnlens.networks.lstmp import LSTMP

Embedding = nn.Embedding | Tensor | np.ndarray | None
Layer = Cell | LSTMP
RNNS = (nn.GRU, nn.LSTM, nn.RNN, nn.GRUCell, nn.LSTMCell, nn.RNNCell)


def layers_of(rnn: nn.Module, *, backward: bool = False) -> list[Layer]:
    """Our cells with copies of a torch RNN's weights, first layer first. backward: of its backward direction."""
    if not isinstance(rnn, nn.RNNBase):
        return [_layer(rnn, "")]
    return [_layer(rnn, f"_l{layer}{'_reverse' if backward else ''}") for layer in range(rnn.num_layers)]


def checked_rnn(rnn: Any) -> nn.Module:
    """One of torch's recurrent modules, to read weights from; anything else is refused."""
    rnn = uncompiled(rnn)
    if plain(rnn, RNNS, "write it as a step function and use adapt(step, …)") is None:
        raise RnnlensError(
            f"from_torch got {quoted(type(rnn).__name__)}: expected nn.GRU, nn.LSTM, nn.RNN or their Cells; "
            "for anything else use adapt(step, …)"
        )
    return evaluated(rnn)


def _layer(rnn: Any, suffix: str) -> Layer:
    W, U = getattr(rnn, f"weight_ih{suffix}"), getattr(rnn, f"weight_hh{suffix}")
    check_real(W, "the RNN")
    zero = W.new_zeros(W.shape[0])
    b, c = (getattr(rnn, f"bias_{name}{suffix}") if rnn.bias else zero for name in ("ih", "hh"))
    if getattr(rnn, "proj_size", 0):
        return LSTMP(W, b, U, c, getattr(rnn, f"weight_hr{suffix}"))
    generator = torch.Generator()  # for weights that are replaced: torch's random state stays as it is
    if isinstance(rnn, nn.GRU | nn.GRUCell):
        cell: Cell = GRU(U.shape[1], W.shape[1], generator)
    elif isinstance(rnn, nn.LSTM | nn.LSTMCell):
        cell = LSTM(U.shape[1], W.shape[1], generator)
    else:
        cell = Vanilla(U.shape[1], W.shape[1], generator, nonlinearity=rnn.nonlinearity)
    cell.W, cell.U, cell.b, cell.c = (own_parameter(part) for part in (W, U, b, c))
    return cell


def check_layout(rnn: nn.Module, batch_first: bool | None, words: bool) -> None:
    """Refuse inputs (T, B, D): by their shape they cannot be told from (B, T, D)."""
    reads_batch_first = rnn.batch_first if isinstance(rnn, nn.RNNBase) else True
    if batch_first is False or (batch_first is None and not words and not reads_batch_first):
        raise RnnlensError(
            f"this {type(rnn).__name__} has batch_first=False and reads inputs (T, B, D), but rnnlens reads (B, T, D): "
            "pass batch_first=True to from_torch, and x.transpose(0, 1) to the network"
        )


def flat_state(state: Any, layers: Sequence[Layer]) -> Tensor:
    """(N,) from a state as torch takes it: h (L, 1, H), leading ones optional, for the LSTM (h, c); or already flat."""
    size = sum(layer.size for layer in layers)
    several = isinstance(state, tuple | list) and len(state) and all(np.ndim(part) for part in state)
    parts = [as_tensor(part, "initial_state") for part in (state if several else (state,))]
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


def matrix_of(embedding: Embedding) -> Tensor:
    """(W, D), as an `nn.Embedding` returns it: the row of padding_idx as it is, rows longer than max_norm shortened."""
    E: Any = uncompiled(embedding)
    embedding = E
    if plain(embedding, (nn.Embedding,), "pass the matrix (W, D) that it returns"):
        E = evaluated(embedding).weight  # type: ignore[arg-type]
    if not isinstance(E, Tensor | np.ndarray) or E.ndim != 2:
        raise RnnlensError(f"embedding is {quoted(type(embedding).__name__)}: expected nn.Embedding or a (W, D) tensor")
    E = as_tensor(E, "embedding").clone()
    check_real(E, "embedding")
    if isinstance(embedding, nn.Embedding) and embedding.max_norm is not None:
        rows = torch.arange(len(E), device=E.device)
        torch.embedding_renorm_(E, rows, embedding.max_norm, embedding.norm_type)  # as the module does when called
    return E


def own_parameter(parameter: Tensor) -> nn.Parameter:
    return nn.Parameter(parameter.detach().clone())
