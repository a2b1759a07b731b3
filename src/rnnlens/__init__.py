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
    "extend": "rnnlens.networks",
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
    "agreement": "rnnlens.analysis.agreement",
    "Agreement": "rnnlens.analysis.agreement",
    "audit": "rnnlens.analysis.audit",
    "Audit": "rnnlens.analysis.audit",
    "KindAudit": "rnnlens.analysis.audit",
    "linear_quality": "rnnlens.context.linear_quality",
    "mode_removal": "rnnlens.context.mode_removal",
    "report": "rnnlens.page",
    "Run": "rnnlens.runs",
    "load": "rnnlens.runs",
    "export": "rnnlens.hub",
    "RnnlensError": "rnnlens.errors",
}

__all__ = [  # once more, and plainly: type checkers read it
    "__version__", "Vocab", "Corpus", "load_corpus", "ToyLanguage", "toy_corpus", "Network", "from_torch", "adapt",
    "extend", "TrainConfig", "train", "evaluate", "jacobians", "find_fixed_points", "FixedPoints",
    "fit_line_attractor", "LineAttractor", "linear_modes", "remove_modes", "visited_states", "Probes", "find_modifiers",
    "Modifiers", "barcode", "fit_subspace", "project_out", "fit_bilinear", "analyze", "Analysis", "agreement",
    "Agreement", "audit", "Audit", "KindAudit", "linear_quality", "mode_removal", "report", "Run", "load", "export",
    "RnnlensError",
]  # fmt: skip

if TYPE_CHECKING:
    from rnnlens.analysis.agreement import Agreement, agreement
    from rnnlens.analysis.audit import Audit, KindAudit, audit
    from rnnlens.context import (
        Modifiers,
        Probes,
        barcode,
        find_modifiers,
        fit_bilinear,
        fit_subspace,
        project_out,
    )
    from rnnlens.context.linear_quality import linear_quality
    from rnnlens.context.mode_removal import mode_removal
    from rnnlens.corpora import Corpus, ToyLanguage, Vocab, load_corpus, toy_corpus
    from rnnlens.dynamics import (
        FixedPoints,
        LineAttractor,
        find_fixed_points,
        fit_line_attractor,
        jacobians,
        linear_modes,
        remove_modes,
        visited_states,
    )
    from rnnlens.errors import RnnlensError
    from rnnlens.experiments.analyze import Analysis, analyze
    from rnnlens.hub import export
    from rnnlens.networks import Network, adapt, extend, from_torch
    from rnnlens.page import report
    from rnnlens.runs import Run, load
    from rnnlens.training import TrainConfig, evaluate, train


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rnnlens' has no attribute {name!r}: it has {', '.join(_HOMES)}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
