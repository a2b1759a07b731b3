"""Figures: each function takes a result and returns a Plotly figure. Nothing here computes or shows."""

from rnnlens.figures.deflections import deflections
from rnnlens.figures.linear_quality import linear_quality
from rnnlens.figures.modes import mode_angles, mode_removal, spectra
from rnnlens.figures.reading import reading
from rnnlens.figures.state_space import state_space
from rnnlens.figures.style import write_figure

__all__ = [
    "reading", "state_space", "deflections", "spectra", "mode_angles", "linear_quality", "mode_removal", "write_figure",
]  # fmt: skip
