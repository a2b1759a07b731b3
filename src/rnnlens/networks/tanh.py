"""tanh of many numbers on a CPU, where it takes more than half of the time of a step."""

from __future__ import annotations

import platform

import torch
from torch import Tensor

FEWEST, MOST = 2**15, 2**21  # numbers for which oneDNN takes less time than torch
ONEDNN = torch.backends.mkldnn.is_available() and platform.machine() in ("x86_64", "AMD64")  # elsewhere not measured


def tanh(x: Tensor) -> Tensor:
    """torch.tanh(x). Without gradients, many numbers are computed by oneDNN, which is as exact (to 7e-8) and takes a
    third of the time."""
    if not ONEDNN or torch.is_grad_enabled() or x.dtype != torch.float32 or not FEWEST <= x.numel() <= MOST:
        return torch.tanh(x)
    if not x.is_cpu or torch.compiler.is_compiling():
        return torch.tanh(x)
    try:
        return x.flatten().to_mkldnn().tanh_().to_dense().view(x.shape)
    except RuntimeError:  # torch.func's transforms do not know oneDNN's tensors
        return torch.tanh(x)
