"""How a network uses context: what words do at a state, and how modifiers change it."""

from rnnlens.context.effects import after, effects, linear_effects, word_inputs
from rnnlens.context.linear_quality import LinearQuality, linear_quality
from rnnlens.context.mode_removal import ModeRemoval, mode_removal

__all__ = [
    "LinearQuality",
    "ModeRemoval",
    "after",
    "effects",
    "linear_effects",
    "linear_quality",
    "mode_removal",
    "word_inputs",
]
