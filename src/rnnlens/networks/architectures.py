"""Every architecture by name: the paper's four cells and the recurrences of today, in one layer or several."""

from __future__ import annotations

from typing import Any

import torch

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.networks.blocks import BlockStack
from rnnlens.networks.cells import CELLS
from rnnlens.networks.recurrences import RECURRENCES
from rnnlens.networks.residual import ResidualStack
from rnnlens.networks.stack import Stack

ARCHITECTURES = (*CELLS, *RECURRENCES)


def make_cell(
    arch: str, hidden: int, inputs: int, layers: int, convolution: int | None, generator: torch.Generator
) -> Any:
    """An untrained cell. convolution: number of words that the layers of a recurrence of today see at once; 1 for none,
    None for the number in its paper."""
    if arch in RECURRENCES:
        kind = RECURRENCES[arch]
        kernel = kind.default_kernel if convolution is None else convolution
        return ResidualStack([kind(hidden, inputs, kernel, generator) for _ in range(layers)], generator)
    if convolution not in (None, 1):
        raise RnnlensError(
            f"convolution is {convolution} with {quoted(arch)}, which has none: expected one of "
            f"{', '.join(RECURRENCES)}"
        )
    made: list[Any] = [CELLS[arch](hidden, inputs if i == 0 else hidden, generator) for i in range(layers)]
    return made[0] if layers == 1 else Stack(made)


def shape_of(cell: Any, arch: str) -> dict[str, Any]:
    """The arguments with which `Network` makes a cell of this shape; those that are as by default are left out."""
    layers = len(cell.layers) if isinstance(cell, Stack | ResidualStack) else 1
    shape = {"arch": arch, "hidden": cell.hidden, "embedding": cell.inputs}
    shape |= {"layers": layers} if layers > 1 else {}
    if isinstance(cell, ResidualStack) and cell.kernel != RECURRENCES[arch].default_kernel:
        shape["convolution"] = cell.kernel
    return shape


def least_weights(shape: dict[str, Any]) -> int:
    """A number of weights that every cell of a shape has at least; computed before memory is allocated."""
    H, D, layers = shape["hidden"], shape["embedding"], shape.get("layers", 1)
    if shape["arch"] in RECURRENCES:
        return layers * 2 * H * D
    units = H // 2 if shape.get("both_ways") else H  # of each direction
    return layers * H * (units + D if layers == 1 else 2 * min(H, D))


def parts_of(cell: Any) -> dict[str, slice]:
    """The parts of a cell's flat state by name: layers, and of each what it keeps (convolution buffer and recurrent
    state; of an LSTM h and c)."""
    if isinstance(cell, ResidualStack | BlockStack):
        return cell.parts
    layers = list(cell.layers) if isinstance(cell, Stack) else [cell]
    found, start = {}, 0
    for number, layer in enumerate(layers, 1):
        blocks = getattr(layer, "blocks", 1)
        names = [""] if blocks == 1 else [" h", " c"]
        sizes = [layer.size] if blocks == 1 else [len(range(layer.size)[layer.output])]
        sizes += [layer.size - sizes[0]] * (blocks > 1)
        for name, size in zip(names, sizes, strict=True):
            found[f"layer {number}{name}" if len(layers) > 1 else name.strip() or "state"] = slice(start, start + size)
            start += size
    return found
