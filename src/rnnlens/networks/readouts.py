"""Readouts: one logit, one for each of C classes, or one scale of ordered classes; and views with one logit.

Ordered classes, such as stars, have one direction w and C − 1 thresholds θ: P(class > k) = σ(w·h − θ_k), the
proportional-odds model. Their logits are the logarithms of the classes' probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.sides import sides_options
from rnnlens.corpora.classes import find_class


class NoHead(nn.Module):
    """In place of the features of a head, for a network that has none yet."""

    def refuse(self) -> NoReturn:
        raise RnnlensError(
            "this network has no head, and so no logit: call rnnlens.fit_readout(network, corpus), or pass one as head="
        )

    def forward(self, outputs: Tensor) -> Tensor:
        self.refuse()


@dataclass(frozen=True)
class ClassHead:
    """The readout of all classes, which a view of one class keeps: w (C, n) and b (C,) or, of ordered classes, the
    direction w (n,) and the thresholds b (C − 1,)."""

    names: tuple[str, ...]
    ordered: bool
    w: Tensor
    b: Tensor


class HasClasses:
    """The part of a `Network` that concerns its classes. It needs the readout and the other parts of a network."""

    classes: tuple[str, ...] = ()
    """The names of the classes, in the order of the logits; empty if they have no names."""
    target: str = ""
    """Of a view of one class (`of_class`): its name."""
    all_classes: ClassHead | None = None
    """Of such a view, if there are three classes or more: the readout of all of them."""
    ordered: bool = False
    """Whether the classes are ordered, such as stars: they are read from one direction of the state."""
    readout_fit: Any = None
    """Of a head that `fit_readout` fitted: its penalty and accuracies."""
    reads: str
    readout_w: Any
    readout_b: Any
    features: Any
    """Of a head that is not linear: what comes before its last linear layer; else None."""
    cell: Any

    @property
    def several_classes(self) -> bool:
        """Whether the network has a logit for each of three or more classes."""
        return self.readout_w.ndim == 2 or self.ordered

    @property
    def reads_one_of_many(self) -> bool:
        """Whether the logit is that of one of several classes without an order: its sides are not good and bad."""
        return self.all_classes is not None and not self.all_classes.ordered

    @property
    def sides(self) -> dict[str, Any]:
        """What results of this network say of the two sides of its logit; `sides_of` reads it."""
        head = self.all_classes
        if head is None and self.reads.startswith("the scale"):  # one of two readers of ordered classes
            return sides_options(self.target, (), self.target.split(" to "))
        return sides_options(self.target, self.classes, head.names if head is not None and head.ordered else ())

    def _read_out(self, outputs: Tensor) -> Tensor:
        """Logits (...) or (..., C) of the cell's outputs (..., n)."""
        if self.ordered:
            return ordered_logits(outputs @ self.readout_w, self.readout_b)
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
        """Refuse a network with several classes, or without a head. what: what needs one logit, for the message."""
        features = getattr(self, "features", None)  # a network that reads both ways has none
        if isinstance(features, NoHead):
            features.refuse()
        if self.several_classes:
            names = ", ".join(quoted(name, 40) for name in self.classes[:6]) + (", …" if len(self.classes) > 6 else "")
            fix = f"choose a class, network.of_class({quoted(self.classes[0], 40)})"
            fix = "take their scale, network.of_class()" if self.ordered else fix
            raise RnnlensError(
                f"this network has {len(self.classes)} classes ({names}), and {what} needs one logit: {fix}"
            )


CLOSEST = 1e-6  # of two thresholds: the class between them would have no probability


def ordered_logits(score: Tensor, thresholds: Tensor) -> Tensor:
    """The logarithms (..., C) of the classes' probabilities, from scores (...) and C − 1 thresholds in any order."""
    theta = thresholds.sort().values
    x = score.unsqueeze(-1) - theta  # σ(x_k) is the probability of a class above k
    above, below = F.logsigmoid(x), F.logsigmoid(-x)
    # σ(a) − σ(b) = σ(a) σ(−b) (1 − exp(b − a)), which keeps its digits where both are near 0 or 1.
    between = above[..., :-1] + below[..., 1:] + torch.log(-torch.expm1(-theta.diff().clamp(min=CLOSEST)))
    return torch.cat([below[..., :1], between, above[..., -1:]], -1)


def first_thresholds(n: int) -> Tensor:
    """The thresholds (n − 1,) at which n classes are equally probable if scores are 0 on average."""
    k = torch.arange(1, n)
    return torch.log(k / (n - k))


def scale_readout(w: Tensor, b: Tensor, classes: tuple[str, ...], name: str | None) -> tuple[Tensor, Tensor, str, str]:
    """The readout (n,) and bias () of ordered classes, from the middle threshold on; what they read, and its name."""
    scale = f"{classes[0]} to {classes[-1]}"
    if name not in (None, scale):
        raise RnnlensError(
            f"class is {quoted(name)}, but the {len(classes)} classes are ordered and read on one scale: leave it out"
        )
    return w.detach().clone(), -b.detach().quantile(0.5), f"the scale {quoted(scale, 40)}", scale


def class_readout(w: Tensor, b: Tensor, classes: tuple[str, ...], name: str | None) -> tuple[Tensor, Tensor, str]:
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
