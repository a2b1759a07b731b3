"""Training: one loop, and the bundled settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rnnlens.common.lazy import lazily
from rnnlens.runs.config import TrainConfig

if TYPE_CHECKING:
    from rnnlens.training.evaluation import Evaluation, evaluate
    from rnnlens.training.fine_tuning import start_config
    from rnnlens.training.loop import train
    from rnnlens.training.readout import fit_readout

__all__ = ["TrainConfig", "train", "evaluate", "Evaluation", "start_config", "fit_readout"]

# The command line reads TrainConfig for its flags: that must not import torch.
__getattr__ = lazily(
    __name__,
    {
        "train": "loop",
        "start_config": "fine_tuning",
        "evaluate": "evaluation",
        "Evaluation": "evaluation",
        "fit_readout": "readout",
    },
)
