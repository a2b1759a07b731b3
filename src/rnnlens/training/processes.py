"""The processes and the device that a training runs on."""

from __future__ import annotations

import os

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

from rnnlens.common.errors import RnnlensError
from rnnlens.runs.config import TrainConfig


def accelerator_for(config: TrainConfig, device: str | None) -> Accelerator:
    """The processes that `accelerate launch` started, or this one, with the device and precision asked for."""
    cpu = device == "cpu" or not torch.cuda.is_available()
    if config.precision == "bf16" and cpu:
        raise RnnlensError("precision is 'bf16', which needs a GPU: use fp32 on the CPU")
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        # accelerate keeps the settings of a process's first run; a second run may need others.
        AcceleratorState._reset_state(reset_partial_state=True)
    return Accelerator(cpu=cpu, mixed_precision="bf16" if config.precision == "bf16" else "no")
