"""Training: one config, one loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rnnlens.training.config import TrainConfig

if TYPE_CHECKING:
    from rnnlens.training.evaluation import Evaluation, evaluate
    from rnnlens.training.fine_tuning import start_config
    from rnnlens.training.loop import train

__all__ = ["TrainConfig", "train", "evaluate", "Evaluation", "start_config"]


def __getattr__(name: str) -> Any:  # the command line reads TrainConfig for its flags: that must not import torch
    if name == "train":
        from rnnlens.training.loop import train

        return train
    if name == "start_config":
        from rnnlens.training.fine_tuning import start_config

        return start_config
    if name in ("evaluate", "Evaluation"):
        from rnnlens.training import evaluation

        return getattr(evaluation, name)
    raise AttributeError(f"module 'rnnlens.training' has no attribute {name!r}")
