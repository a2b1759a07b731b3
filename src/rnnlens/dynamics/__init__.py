"""Dynamics: from the step function to Jacobians, fixed and slow points, line attractors and linear modes."""

from rnnlens.dynamics.class_geometry import ClassGeometry, class_geometry
from rnnlens.dynamics.features import input_change
from rnnlens.dynamics.fixed_points import FixedPoints, find_fixed_points
from rnnlens.dynamics.jacobians import jacobians, linearise, word_effects
from rnnlens.dynamics.line_attractor import LineAttractor, fit_line_attractor
from rnnlens.dynamics.modes import Modes, TriangularModes, linear_modes, remove_modes
from rnnlens.dynamics.sampling import visited_states

__all__ = [
    "jacobians", "linearise", "word_effects", "input_change", "find_fixed_points", "FixedPoints",
    "fit_line_attractor", "LineAttractor", "linear_modes", "Modes", "TriangularModes", "remove_modes", "visited_states",
    "class_geometry", "ClassGeometry",
]  # fmt: skip
