"""A user's readout, read and checked: which numbers of it the logit is computed from."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError, RnnlensWarning, quoted
from rnnlens.networks.given import evaluated, plain
from rnnlens.networks.parts import tensor_of

Readout = nn.Linear | tuple[Any, Any]
Target = int | tuple[int, int] | None


def readout_of(readout: Readout, target: Target, output: int | None, words: bool) -> tuple[Tensor, Tensor, str]:
    """w, b, and a description of what they read: the only output, the one chosen by `output`, or a difference of
    classes (`target`). Two outputs of a network with words are read as two classes, with a warning."""
    w, b = _head(readout)
    k = len(w)
    if output is not None:
        if target is not None:
            raise RnnlensError("got both target= and output=: expected one of them")
        if isinstance(output, bool) or not isinstance(output, int | np.integer) or not 0 <= output < k:
            raise RnnlensError(f"output is {quoted(output)}: expected a number below {k}, one of the readout's outputs")
        return w[output].clone(), b[output].clone(), f"output {output} of {k}" if k > 1 else ""
    if k == 1 and target is None:
        return w[0].clone(), b[0].clone(), ""
    if k == 2 and target is None and words:
        warnings.warn(
            "the readout has 2 outputs, read as two classes: output 1 minus output 0. Pass target=1 to confirm this, "
            "or output=0 or output=1 to read one output as it is",
            RnnlensWarning,
            stacklevel=3,
        )
        target = 1
    if target is None:
        raise RnnlensError(
            f"the readout has {k} classes or outputs: say what to read, target=class or target=(a, b) for classes, "
            "output=number for one output as it is"
        )
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
    other = classes[1] if len(classes) == 2 else 1 - classes[0] if k == 2 else "the mean of the others"
    return weight @ w, weight @ b, f"output {classes[0]} − {other}"


def _head(readout: Readout) -> tuple[Tensor, Tensor]:
    """w (k, N) and b (k,) of a linear head."""
    if plain(readout, (nn.Linear,), "pass its weights as a pair (w, b)"):
        linear: Any = evaluated(readout)  # type: ignore[arg-type]
        w = linear.weight.detach()
        return w, w.new_zeros(len(w)) if linear.bias is None else linear.bias.detach()
    if not isinstance(readout, tuple | list) or len(readout) != 2:
        raise RnnlensError(f"readout is {quoted(type(readout).__name__)}: expected nn.Linear or a pair (w, b)")
    w, b = (tensor_of(part, "readout") for part in readout)
    w = torch.atleast_2d(w if w.is_floating_point() else w.float())
    b = b.reshape(-1).to(w)
    if w.ndim != 2 or len(b) != len(w):
        raise RnnlensError(
            f"readout has shapes {tuple(w.shape)} and {tuple(b.shape)}: expected w (N,) and a number b, or (k, N) "
            "and (k,)"
        )
    return w, b
