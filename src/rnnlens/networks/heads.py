"""Heads of a user's network: the readout of one logit or of several classes, from `nn.Linear` or weights."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError, RnnlensWarning, quoted
from rnnlens.corpora.classes import checked_names
from rnnlens.networks.given import evaluated, plain

Readout = nn.Module | tuple[Any, Any]
Target = int | tuple[int, int] | None


def read_head(
    readout: Readout, target: Target, output: int | None, classes: Iterable[str] | None, words: bool
) -> tuple[Tensor, Tensor, str, tuple[str, ...]]:
    """w, b, a description of what they read, and the names of classes: all outputs if the classes have names, else as
    `_one_logit`."""
    w, b = _head(readout)
    if classes is None:
        return (*_one_logit(w, b, target, output, words), ())
    names = checked_names(classes)
    if target is not None or output is not None:
        raise RnnlensError("got classes= together with target= or output=: expected one of them")
    if len(names) != len(w) and (len(names), len(w)) != (2, 1):
        outputs = f"{len(w)} output{'s' if len(w) != 1 else ''}"
        raise RnnlensError(
            f"the readout has {outputs}, but there are {len(names)} classes: expected a name for each output"
        )
    if len(names) == 2:
        return (w[0].clone(), b[0].clone(), "", names) if len(w) == 1 else (*_one_logit(w, b, 1, None, words), names)
    return w.clone(), b.clone(), "", names


def in_order(network: Any, classes: Iterable[str] | None, thresholds: Any) -> Any:
    """Give a network with one score ordered classes, in place, with thresholds (C − 1,) on the score between them."""
    if classes is None:
        raise RnnlensError(
            "thresholds are between ordered classes: pass their names too, as in classes=['1', '2', '3']"
        )
    names, theta = checked_names(classes), as_tensor(thresholds, "thresholds").reshape(-1)
    if len(names) < 3 or len(theta) != len(names) - 1:
        raise RnnlensError(
            f"there are {len(theta)} thresholds and {len(names)} classes: expected at least 3 ordered classes, and a "
            "threshold between each two"
        )
    theta = theta.to(network.h0)
    if not bool((theta.diff() > 0).all() and theta.isfinite().all()):
        raise RnnlensError(f"thresholds are {quoted(theta.tolist())}: expected rising numbers, all finite")
    if network.reads:
        raise RnnlensError("the readout has several outputs, and thresholds cut one score: expected nn.Linear(H, 1)")
    if getattr(network, "features", None) is not None or not hasattr(network, "cell"):
        raise RnnlensError(
            "ordered classes are read by a linear head of a network that reads one way: leave thresholds out"
        )
    network.readout_b = nn.Parameter(theta - network.readout_b.detach())
    network.classes, network.ordered, network.reads = names, True, ""
    return network


def _one_logit(w: Tensor, b: Tensor, target: Target, output: int | None, words: bool) -> tuple[Tensor, Tensor, str]:
    """w (n,), b (), and a description of what they read: the only output, the one chosen by `output`, or a difference
    of classes (`target`). Two outputs of a network with words are read as two classes, with a warning."""
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
            stacklevel=5,
        )
        target = 1
    if target is None:
        raise RnnlensError(
            f"the readout has {k} classes or outputs: say what to read, classes=[names] for all classes, target=class "
            "or target=(a, b) for one logit, output=number for one output as it is"
        )
    try:
        given = target if isinstance(target, tuple | list) else (target,)
        classes = tuple(-1 if isinstance(c, bool) else operator.index(c) for c in given)
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
    w, b = (as_tensor(part, "readout") for part in readout)
    w = torch.atleast_2d(w if w.is_floating_point() else w.float())
    b = b.reshape(-1).to(w)
    if w.ndim != 2 or len(b) != len(w):
        raise RnnlensError(
            f"readout has shapes {tuple(w.shape)} and {tuple(b.shape)}: expected w (N,) and a number b, or (k, N) "
            "and (k,)"
        )
    return w, b


def check_real(value: Tensor, name: str) -> None:
    """Refuse complex numbers, and tensors without numbers (torch's meta device)."""
    if value.is_complex():
        raise RnnlensError(f"{name} is {value.dtype}: expected real numbers")
    if value.is_meta:
        raise RnnlensError(f"{name} is on torch's meta device, which holds no numbers: load its weights first")


def as_tensor(value: Any, name: str) -> Tensor:
    try:
        return torch.as_tensor(value).detach()
    except (TypeError, ValueError, RuntimeError) as error:
        raise RnnlensError(f"{name} is {quoted(value)}: expected a tensor or an array of numbers") from error
