"""What a network refuses: inputs, initial states and lengths that do not fit, and weights with which nothing can be
measured."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.common.errors import Diverged, RnnlensError, quoted
from rnnlens.common.ranges import check_numbers
from rnnlens.networks.finite import check_precision, not_finite, too_large
from rnnlens.networks.readouts import HasClasses


class Checks(HasClasses, nn.Module):
    """The methods of a `Network` that check it and what it is given."""

    E: Any
    h0: Any
    size: Any
    inputs: Any
    step: Any

    # --- what it is given ---

    def _batch(self, ids: Tensor) -> Tensor:
        """Ids (B, T), or inputs (B, T, D) of a network without words; other shapes are refused."""
        check_tensor(ids, "inputs" if self.E is None else "ids")
        rank, expected = (2, "ids (B, T)") if self.E is not None else (3, f"inputs (B, T, {self.inputs})")
        if ids.ndim != rank:
            raise RnnlensError(
                f"expected {expected}, got shape {tuple(ids.shape)}: for one sequence pass x.unsqueeze(0)"
            )
        return ids

    def _initial(self, e: Tensor, h0: Tensor | None) -> Tensor:
        """The initial states (B, N) of embedded inputs e (B, T, D), both checked. h0: None for the network's own."""
        check_tensor(e, "inputs")
        if e.ndim != 3 or e.shape[2] != self.inputs:
            raise RnnlensError(f"expected inputs (B, T, {self.inputs}), got shape {tuple(e.shape)}")
        self._check_dtype(e, "inputs")
        if h0 is None:
            return self.h0.expand(e.shape[0], self.size)
        check_tensor(h0, "h0")
        if h0.shape not in ((self.size,), (1, self.size), (e.shape[0], self.size)):
            raise RnnlensError(
                f"h0 has shape {tuple(h0.shape)}: expected ({self.size},), or one for each sequence, "
                f"({e.shape[0]}, {self.size})"
            )
        self._check_dtype(h0, "h0")
        return h0.expand(e.shape[0], self.size)

    def _check_sizes(self, h: Tensor, e: Tensor | None = None) -> None:
        """Refuse what are not states (..., N) and embedded inputs (..., D), such as states of another network, which a
        readout would read in part."""
        check_tensor(h, "h")
        if h.shape[-1:] != (self.size,):
            raise RnnlensError(f"h has shape {tuple(h.shape)}: expected states (..., {self.size})")
        if e is not None:
            check_tensor(e, "e")
            if e.shape[-1:] != (self.inputs,):
                raise RnnlensError(f"e has shape {tuple(e.shape)}: expected embedded inputs (..., {self.inputs})")

    def _check_dtype(self, value: Tensor, name: str) -> None:
        own = self.h0.dtype
        if value.dtype != own and not torch.is_autocast_enabled(value.device.type):
            raise RnnlensError(f"{name} is {value.dtype}, and the network {own}: pass {name}.to({own})")

    # --- the network itself ---

    def check_finite(self, where: str = "the network") -> None:
        """Refuse weights that are NaN or infinite: results computed with them would be NaN too."""
        check_numbers(self.h0)
        names = not_finite(self)
        if names:
            raise Diverged(
                f"{where} has weights that are NaN or infinite in {quoted(', '.join(names))}: nothing can be computed "
                "with them; train it again, with a lower learning_rate"
            )

    def check_rests(self) -> None:
        """Refuse a network without fixed points, whose state counts words (mean pooling)."""
        if getattr(self.cell, "never_rests", ""):
            raise RnnlensError(self.cell.never_rests)

    @torch.no_grad()
    def check_measurable(self) -> None:
        """Refuse a network that cannot be analyzed: it has several classes, its weights are NaN, infinite or
        overflow, or its state counts the words."""
        self.check_one_logit("this measurement")
        self.check_rests()
        self.check_finite()
        check_precision(self.h0)
        if self.features is None and not bool(self.readout_w.any()):
            raise RnnlensError(
                "the readout of this network is zero, so that no word has an effect to measure; Jacobians, slow points "
                "and modes need no readout"
            )
        large = too_large(self)
        if large:
            raise Diverged(
                f"the network has weights so large that they overflow in {quoted(', '.join(large))}: nothing can be "
                "measured with them; train it again, with a lower learning_rate"
            )


def check_tensor(value: Any, name: str) -> None:
    """Refuse what is not a tensor."""
    if not isinstance(value, Tensor):
        raise RnnlensError(f"{name} is {quoted(type(value).__name__)}: expected a tensor; pass torch.as_tensor({name})")


def check_lengths(lengths: Any, B: int) -> None:
    """Refuse what is not a whole number for each row."""
    check_tensor(lengths, "lengths")
    if lengths.shape != (B,) or lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise RnnlensError(
            f"lengths are {lengths.dtype} of shape {tuple(lengths.shape)}: expected whole numbers, ({B},)"
        )


def lengths_outside(lengths: Tensor, T: int) -> RnnlensError:
    """The error for lengths that are not from 0 to T."""
    return RnnlensError(f"lengths range from {lengths.min()} to {lengths.max()}: expected 0 … {T}, the number of words")
