"""The processes and the device that a training runs on."""

from __future__ import annotations

import os

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedType

from rnnlens.common.errors import RnnlensError
from rnnlens.runs.config import TrainConfig

KINDS = (DistributedType.NO, DistributedType.MULTI_GPU, DistributedType.MULTI_CPU)  # where each process has all weights


def accelerator_for(config: TrainConfig, device: str | None) -> Accelerator:
    """The processes that `accelerate launch` started, or this one, with the device and precision asked for."""
    cpu = device == "cpu" or not torch.cuda.is_available()
    if config.precision == "bf16" and cpu:
        raise RnnlensError("precision is 'bf16', which needs a GPU: use fp32 on the CPU")
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        # accelerate keeps the settings of a process's first run; a second run may need others.
        AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = Accelerator(cpu=cpu, mixed_precision="bf16" if config.precision == "bf16" else "no")
    kind = accelerator.distributed_type
    if kind not in KINDS:
        raise RnnlensError(
            f"accelerate is set up for {kind.value}: expected one process, MULTI_GPU or MULTI_CPU; change it by "
            "`accelerate config`, or by the options of `accelerate launch`"
        )
    return accelerator
