"""Long texts, read a part at a time: each part from the state in which the part before it ended.

The drives, gates and states of all words of a book would take gigabytes. Those of a part are freed before the next part
is read, and only what is asked for is kept. Gradients need all of them, so a text that they are wanted of is one part.

Shapes: B batch, T time, L words of a part, D inputs, N flat state, n outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from rnnlens.networks.checks import check_lengths, lengths_outside
from rnnlens.networks.readouts import at_lengths
from rnnlens.networks.scan import wants_gradient

LONG = 2**17  # padded words: a batch of more is read in parts
PART = 2**14  # padded words of a part
NUMBERS = 2**24  # in the states of a part: of large states, fewer words are read at a time
ON_A_GPU = 2**5  # times as many of each: its batches are larger, and each part waits for its kernels to be launched

Embed = Callable[[Tensor], Tensor]


def read_in_parts(network: Any, inputs: Tensor, embed: Embed) -> Iterator[Tensor]:
    """The outputs (B, L, n) of a network before the first word (L is 1), then of each part of a batch of inputs
    (B, T, …), which `embed` makes embedded inputs (B, L, D) of."""
    cell, state = network.cell, None
    parts = parts_of(network, inputs)
    for part in parts:
        e = embed(part)
        h = network._initial(e, state)
        if state is None:
            yield h[:, cell.output].unsqueeze(1)
        if len(parts) == 1:
            yield cell.outputs(e, h)
        else:
            outputs, state = outputs_and_state(cell, e, h)
            yield outputs


def parts_of(network: Any, inputs: Tensor) -> tuple[Tensor, ...]:
    """A batch of inputs (B, T, …) in the parts (B, L, …) that are read one after the other."""
    B, words = len(inputs), inputs.shape[:2].numel()
    more = ON_A_GPU if inputs.is_cuda else 1
    if words <= more * LONG or wants_gradient(inputs, *network.parameters()):
        return (inputs,)
    return inputs.split(max(1, more * min(PART, NUMBERS // network.cell.size) // B), 1)


def outputs_and_state(cell: Any, e: Tensor, h0: Tensor) -> tuple[Tensor, Tensor]:
    """The outputs (B, L, n) after each step, and the state (B, N) after the last. A cell that finds them in less time
    or memory than all of its states has a method of this name."""
    if hasattr(cell, "outputs_and_state"):
        return cell.outputs_and_state(e, h0)
    states = cell.sequence(e, h0)
    return states[:, 1:, cell.output], states[:, -1]


def last_in_parts(parts: Iterator[Tensor], lengths: Tensor | None, T: int) -> Tensor:
    """The outputs (B, n) after the last word of each row, from those that `read_in_parts` gives for T words."""
    first = next(parts)
    found, read = first[:, 0], 0
    for part in parts:
        if part.shape[1] == T:
            return last_of(torch.cat([first, part], 1), lengths)
        if lengths is None:
            found = part[:, -1].clone()  # a view would keep the part in memory
            continue
        if not read:
            check_lengths(lengths, len(first))
            if bool(((lengths < 0) | (lengths > T)).any()):
                raise lengths_outside(lengths, T)
        index = lengths.long() - 1 - read
        here = (index >= 0) & (index < part.shape[1])
        found = torch.where(here.unsqueeze(1), at_lengths(part, index.clamp(0, part.shape[1] - 1)), found)
        read += part.shape[1]
    return found


def last_of(values: Tensor, lengths: Tensor | None) -> Tensor:
    """The values (B, …) after the last word of each row, of those at the start and after every word (B, T+1, …)."""
    if lengths is None:
        return values[:, -1]
    check_lengths(lengths, len(values))
    try:
        return at_lengths(values, lengths.long())
    except RuntimeError as error:
        if lengths.device != values.device or not len(lengths):
            raise
        raise lengths_outside(lengths, values.shape[1] - 1) from error
