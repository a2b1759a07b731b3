"""Products and tanh by oneDNN, which comes with torch: on a CPU it is as exact as what torch uses otherwise, and takes
less time. (MKL, torch's usual library for products, is Intel's, and slower on the processors of others.)"""

from __future__ import annotations

import platform
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

FEWEST, MOST = 2**15, 2**21  # numbers whose tanh oneDNN computes in less time
MULTIPLICATIONS = 2**22  # of a product that oneDNN computes in less time
ONEDNN = torch.backends.mkldnn.is_available() and platform.machine() in ("x86_64", "AMD64")  # elsewhere not measured


def _product() -> Any:
    """torch's function for products by oneDNN; None where a version of torch has none. (Its compiler uses it; it has no
    public name.)"""
    try:
        product, one = torch.ops.mkldnn._linear_pointwise, torch.ones(1, 1)
        product(one, one, None, "none", [], "")
    except (AttributeError, RuntimeError, TypeError):
        return None
    return product


PRODUCT: Any = _product() if ONEDNN else None


def linear(x: Tensor, W: Tensor, b: Tensor | None = None) -> Tensor:
    """W x + b, (..., D) → (..., G), as torch's F.linear. Without gradients, large products are computed by oneDNN."""
    if not is_quicker(x, W):
        return F.linear(x, W, b)
    if b is None:
        return PRODUCT(x, W, None, "none", [], "")
    if b.shape != W.shape[:1] or not _usable(b):
        return F.linear(x, W, b)
    return PRODUCT(x, W, b.contiguous(), "none", [], "")  # it reads b as one block of memory, whatever its strides


def is_quicker(x: Tensor, W: Tensor) -> bool:
    """Whether oneDNN computes W x for x (..., D). What does not fit is left to torch, which says why."""
    if PRODUCT is None or x.numel() * len(W) < MULTIPLICATIONS or W.shape[1:] != x.shape[-1:]:
        return False
    return _usable(x) and _usable(W)


def tanh(x: Tensor) -> Tensor:
    """torch.tanh(x). Without gradients, many numbers are computed by oneDNN."""
    if not ONEDNN or not FEWEST <= x.numel() <= MOST or not _usable(x):
        return torch.tanh(x)
    return x.flatten().to_mkldnn().tanh_().to_dense().view(x.shape)


def _usable(x: Tensor) -> bool:
    """Whether oneDNN may be given this tensor."""
    if torch.is_grad_enabled() or x.dtype != torch.float32 or not x.is_cpu or torch.compiler.is_compiling():
        return False
    try:
        x.data_ptr()
    except RuntimeError:  # inside of one of torch.func's transforms, which do not know oneDNN's functions
        return False
    # no_grad does not switch off forward-mode derivatives, which oneDNN's functions would drop
    return unpack_dual(x).tangent is None and not torch.is_autocast_enabled("cpu")
