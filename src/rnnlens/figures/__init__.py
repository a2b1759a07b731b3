"""Figures: each function takes a result and returns a Plotly figure. No function computes a result or opens a window.

They take a run, an `Analysis` or the content of results.json, and raise an error if a part is missing. `catalogue`
lists all figures of a run's results by name.
"""

from rnnlens.figures.agreement import agreement
from rnnlens.figures.barcodes import barcodes, component_barcodes
from rnnlens.figures.bilinear import bilinear
from rnnlens.figures.catalogue import catalogue, write_figures
from rnnlens.figures.classes import classes
from rnnlens.figures.deflections import deflections
from rnnlens.figures.dose_response import dose_response
from rnnlens.figures.edges import beginning, ending, ending_modes
from rnnlens.figures.impulse import impulse, timescales
from rnnlens.figures.learning import learning
from rnnlens.figures.line_attractor import line_attractor
from rnnlens.figures.linear_quality import linear_quality
from rnnlens.figures.mode_removal import mode_removal
from rnnlens.figures.modes import mode_angles, spectra
from rnnlens.figures.modifiers import modifiers
from rnnlens.figures.perturbation import perturbation
from rnnlens.figures.probes import probe_phrases, probe_reviews
from rnnlens.figures.reading import reading
from rnnlens.figures.state_space import state_space
from rnnlens.figures.strengths import strengths
from rnnlens.figures.style import write_figure
from rnnlens.figures.subspace import subspace
from rnnlens.figures.table import architectures, table

__all__ = [
    "reading", "state_space", "deflections", "spectra", "mode_angles", "linear_quality", "mode_removal",
    "line_attractor", "probe_reviews", "probe_phrases", "modifiers", "impulse", "timescales", "barcodes",
    "component_barcodes", "subspace", "bilinear", "perturbation", "dose_response", "beginning", "ending",
    "ending_modes", "table", "architectures", "agreement", "strengths", "learning", "classes",
    "write_figure", "catalogue", "write_figures",
]  # fmt: skip
