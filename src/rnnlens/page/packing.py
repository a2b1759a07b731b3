"""A network as data that the page's script runs (script/network.js): its layers, head and classes, without loss."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rnnlens.corpora.pieces import PieceVocab
from rnnlens.networks import Network
from rnnlens.networks.cells import GRU, LSTM, UGRNN, Vanilla
from rnnlens.networks.layers import Layer
from rnnlens.networks.lstmp import LSTMP
from rnnlens.networks.recurrences import RECURRENCES
from rnnlens.networks.residual import ResidualStack
from rnnlens.networks.stack import Stack

CELLS = {GRU: "gru", LSTM: "lstm", UGRNN: "ugrnn", Vanilla: "vanilla", LSTMP: "lstmp"}  # those of script/cell.js
MODERN = {kind: name for name, kind in RECURRENCES.items()}  # those of script/recurrences.js
HEADS = {nn.ReLU: "relu", nn.Tanh: "tanh", nn.Sigmoid: "sigmoid"}  # layers of heads in script/network.js, and Linear
CANNOT = (
    "The network {}: this page cannot run it, and shows only the results. Networks of GRU, LSTM, UGRNN, vanilla, "
    "minGRU, minLSTM, Mamba or RG-LRU layers run in their page, with a linear head or an MLP of ReLU, tanh or sigmoid "
    "layers, if they read whole words."
)
UNKNOWN_CELL = "is a Python function, or has a kind of layer that the page does not know"
UNKNOWN_HEAD = "has a head that is not linear, of a kind that the page does not know"
READS_PIECES = "reads the pieces of a subword tokenizer, which the page does not have"


def why_not(network: Network) -> str:
    """Why a network cannot run in the page; empty if it can."""
    if isinstance(network.vocab, PieceVocab):
        return CANNOT.format(READS_PIECES)
    head = [] if network.features is None else _head_layers(network.features)
    if not all(type(layer) in HEADS or type(layer) is nn.Linear for layer in head):
        return CANNOT.format(UNKNOWN_HEAD)
    kinds: Mapping[Any, str] = MODERN if isinstance(network.cell, ResidualStack) else CELLS
    known = all(type(layer) in kinds for layer in _layers(network.cell))
    return "" if known and network.E is not None else CANNOT.format(UNKNOWN_CELL)


def packed_network(network: Network) -> dict[str, Any]:
    """The layers, initial state, readout and classes of a network; its embedding is packed apart."""
    head, classes = network.features, network.all_classes
    return {
        **_cell(network.cell),
        "head": [] if head is None else [_head_layer(layer) for layer in _head_layers(head)],
        "h0": packed(network.h0),
        "w": packed(network.readout_w),
        "bias": packed(network.readout_b.reshape(1)),
        "classes": None
        if classes is None
        else {
            "names": list(classes.names),
            "ordered": classes.ordered,
            "w": packed(classes.w),
            "b": packed(classes.b),
        },
    }


def packed(array: Tensor) -> dict[str, str]:
    """A tensor, compressed, in the lowest of half, single and double precision that changes no number."""
    array = array.detach().cpu()
    name = {torch.int32: "i32", torch.uint8: "u8"}.get(array.dtype)
    if name is None:
        wide = array.double()
        name, array = next(
            (short, array.to(dtype))
            for short, dtype in (("f16", torch.float16), ("f32", torch.float32), ("f64", torch.float64))
            if dtype == torch.float64 or bool((array.to(dtype).double() == wide).all())
        )
    planes = np.frombuffer(array.contiguous().numpy().tobytes(), np.uint8).reshape(-1, array.element_size()).T
    # Byte planes compress better than numbers: the exponents of similar numbers stand side by side.
    return {"type": name, "data": b64encode(zlib.compress(planes.tobytes())).decode()}


def packed_width(array: Tensor) -> int:
    """Bytes per number of a packed tensor, before compression."""
    return 2 if bool((array.half().to(array) == array).all()) else array.element_size()


def _layers(cell: Any) -> list[Any]:
    return list(cell.layers) if isinstance(cell, Stack | ResidualStack) else [cell]


def _cell(cell: Any) -> dict[str, Any]:
    if not isinstance(cell, ResidualStack):
        return {"layers": [_layer(layer) for layer in _layers(cell)]}
    between = {"norms": [packed(norm) for norm in cell.norms], "O": [packed(weight) for weight in cell.O]}
    return {"layers": [_recurrence(layer) for layer in cell.layers], **between}


def _recurrence(layer: Layer) -> dict[str, Any]:
    """A layer of a recurrence of today: its weights have the names of networks/recurrences.py."""
    shape = {"arch": MODERN[type(layer)], "hidden": layer.hidden, "inputs": layer.inputs, "kernel": layer.kernel}
    return shape | {name: packed(weight) for name, weight in layer.named_parameters(recurse=False)}


def _layer(cell: Any) -> dict[str, Any]:
    relu = isinstance(cell, Vanilla) and cell.nonlinearity == "relu"
    return {
        "arch": "relu" if relu else CELLS[type(cell)],
        "hidden": cell.hidden,
        "inputs": cell.inputs,
        **{name: packed(getattr(cell, name)) for name in ("W", "b", "U", "c", "R") if hasattr(cell, name)},
    }


def _head_layers(features: Any) -> list[nn.Module]:
    return list(features.module)


def _head_layer(layer: Any) -> dict[str, Any]:
    if type(layer) is not nn.Linear:
        return {"kind": HEADS[type(layer)]}
    b = layer.weight.new_zeros(len(layer.weight)) if layer.bias is None else layer.bias
    return {"kind": "linear", "W": packed(layer.weight), "b": packed(b)}
