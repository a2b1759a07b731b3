"""The same on a GPU: sequences, training, perturbed passes, slow points, Jacobians and the analysis from end to end.

Needs only torch, numpy, scipy, safetensors, accelerate and scikit-learn; about a minute and a half.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from benchmarks import context, fixed_points, networks, recurrences, training
from benchmarks.size import GPU, SMALL
from benchmarks.table import Row, Skipped


def rows(small: bool = False) -> Iterator[Row | Skipped]:
    if not (small or torch.cuda.is_available()):
        yield Skipped("everything on a GPU", "torch sees no CUDA device here")
        return
    size = SMALL if small else GPU
    for part in (networks, recurrences, training, fixed_points, context):
        try:
            yield from part.rows(size=size)
        except Exception as error:  # one that fails leaves the others their chance on a machine that is soon gone
            reason = str(error).splitlines()[0] if str(error) else ""
            yield Skipped(part.__name__.split(".")[-1], f"failed: {type(error).__name__}: {reason}")
