"""rnnlens opens a trained recurrent network and says how it uses context.

This module is the table of contents; each name is imported from its home when first used, so that `import rnnlens`
and the command line stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Vocab": "rnnlens.corpora",
    "Corpus": "rnnlens.corpora",
    "load_corpus": "rnnlens.corpora",
    "ToyLanguage": "rnnlens.corpora",
    "toy_corpus": "rnnlens.corpora",
    "Network": "rnnlens.networks",
    "from_torch": "rnnlens.networks",
    "adapt": "rnnlens.networks",
    "TrainConfig": "rnnlens.training",
    "train": "rnnlens.training",
    "evaluate": "rnnlens.training",
    "jacobians": "rnnlens.dynamics",
    "find_fixed_points": "rnnlens.dynamics",
    "FixedPoints": "rnnlens.dynamics",
    "fit_line_attractor": "rnnlens.dynamics",
    "LineAttractor": "rnnlens.dynamics",
    "linear_modes": "rnnlens.dynamics",
    "remove_modes": "rnnlens.dynamics",
    "visited_states": "rnnlens.dynamics",
    "Probes": "rnnlens.context",
    "find_modifiers": "rnnlens.context",
    "Modifiers": "rnnlens.context",
    "barcode": "rnnlens.context",
    "fit_subspace": "rnnlens.context",
    "project_out": "rnnlens.context",
    "fit_bilinear": "rnnlens.context",
    "analyze": "rnnlens.experiments.analyze",
    "Analysis": "rnnlens.experiments.analyze",
    "linear_quality": "rnnlens.context",
    "mode_removal": "rnnlens.context",
    "report": "rnnlens.page",
    "Run": "rnnlens.runs",
    "load": "rnnlens.runs",
    "export": "rnnlens.hub",
    "RnnlensError": "rnnlens.errors",
}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:  # `as` tells type checkers that a name is meant to be used from here
    from rnnlens.context import (
        Modifiers as Modifiers,
        Probes as Probes,
        barcode as barcode,
        find_modifiers as find_modifiers,
        fit_bilinear as fit_bilinear,
        fit_subspace as fit_subspace,
        linear_quality as linear_quality,
        mode_removal as mode_removal,
        project_out as project_out,
    )
    from rnnlens.corpora import (
        Corpus as Corpus,
        ToyLanguage as ToyLanguage,
        Vocab as Vocab,
        load_corpus as load_corpus,
        toy_corpus as toy_corpus,
    )
    from rnnlens.dynamics import (
        FixedPoints as FixedPoints,
        LineAttractor as LineAttractor,
        find_fixed_points as find_fixed_points,
        fit_line_attractor as fit_line_attractor,
        jacobians as jacobians,
        linear_modes as linear_modes,
        remove_modes as remove_modes,
        visited_states as visited_states,
    )
    from rnnlens.errors import RnnlensError as RnnlensError
    from rnnlens.experiments.analyze import Analysis as Analysis, analyze as analyze
    from rnnlens.hub import export as export
    from rnnlens.networks import Network as Network, adapt as adapt, from_torch as from_torch
    from rnnlens.page import report as report
    from rnnlens.runs import Run as Run, load as load
    from rnnlens.training import TrainConfig as TrainConfig, evaluate as evaluate, train as train


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rnnlens' has no attribute {name!r}: it has {', '.join(_HOMES)}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
