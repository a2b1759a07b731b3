"""Readouts: one logit, or one for each of C classes; and the view of a class as a network with one logit."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.corpora.classes import find_class


class HasClasses:
    """The part of a `Network` that concerns its classes. It needs the readout and the other parts of a network."""

    classes: tuple[str, ...] = ()
    """The names of the classes, in the order of the logits; empty if they have no names."""
    target: str = ""
    """Of a view of one class (`of_class`): its name."""
    readout_w: Any
    readout_b: Any
    features: Any
    """Of a head that is not linear: what comes before its last linear layer; else None."""
    cell: Any

    @property
    def several_classes(self) -> bool:
        """Whether the network has a logit for each of three or more classes."""
        return self.readout_w.ndim == 2

    def _read_out(self, outputs: Tensor) -> Tensor:
        """Logits (...) or (..., C) of the cell's outputs (..., n)."""
        w = self.readout_w.t() if self.readout_w.ndim == 2 else self.readout_w
        read = outputs if self.features is None else self.features(outputs)
        return read @ w + self.readout_b

    def readout_at(self, h: Tensor) -> Tensor:
        """∂logit/∂h at states h (..., N) → (..., N), by which analyses linearize the head: w, if the head is linear."""
        self.check_one_logit("its readout direction")
        outputs = h[..., self.cell.output].detach()
        if self.features is None:
            slope = self.readout_w.detach().expand(outputs.shape)
        else:
            with torch.enable_grad():
                outputs = outputs.clone().requires_grad_()
                slope = torch.autograd.grad(self._read_out(outputs).sum(), outputs)[0]
        full = slope.new_zeros(h.shape)
        full[..., self.cell.output] = slope
        return full

    def check_one_logit(self, what: str) -> None:
        """Refuse a network with several classes. what: what needs one logit, for the message."""
        if self.several_classes:
            names = ", ".join(quoted(name, 40) for name in self.classes[:6]) + (", …" if len(self.classes) > 6 else "")
            raise RnnlensError(
                f"this network has {len(self.classes)} classes ({names}), and {what} needs one logit: choose a class, "
                f"network.of_class({quoted(self.classes[0], 40)})"
            )


def class_readout(w: Tensor, b: Tensor, classes: tuple[str, ...], name: str) -> tuple[Tensor, Tensor, str]:
    """The readout (n,) and bias () of one class minus the mean of the others, and what they read, in words."""
    if not classes:
        raise RnnlensError(f"class is {quoted(name)}, but this network has one logit without classes: leave it out")
    k, n = find_class(classes, name), len(classes)
    other = quoted(classes[1 - k], 40) if n == 2 else "the mean of the others"
    reads = f"class {quoted(name, 40)} − {other}"
    w, b = w.detach(), b.detach()
    if n == 2:  # one logit, of the second class against the first
        return (w.clone(), b.clone(), reads) if k == 1 else (-w, -b, reads)
    weights = w.new_full((n,), -1 / (n - 1))
    weights[k] = 1
    return weights @ w, weights @ b, reads


def at_lengths(logits: Tensor, lengths: Tensor) -> Tensor:
    """The logits (B,) or (B, C) at each row's length (B,), of logits (B, T+1) or (B, T+1, C)."""
    index = lengths.unsqueeze(1)
    if logits.ndim == 3:
        index = index.unsqueeze(2).expand(-1, -1, logits.shape[2])
    return logits.gather(1, index).squeeze(1)
