"""Figures: each function takes a result and returns a Plotly figure. Nothing here computes or shows."""

from rnnlens.figures.reading import reading
from rnnlens.figures.style import write_figure

__all__ = ["reading", "write_figure"]
