"""rnnlens analyzes how a trained recurrent network uses context.

This module lists the public names. Each is imported from its own module when first used, so that `import rnnlens` and
the command line start quickly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rnnlens.common.lazy import lazily
from rnnlens.common.version import __version__

_HOMES = {
    "Vocab": "corpora",
    "Corpus": "corpora",
    "load_corpus": "corpora",
    "reversed_corpus": "corpora",
    "ToyLanguage": "corpora",
    "toy_corpus": "corpora",
    "Network": "networks",
    "from_torch": "networks",
    "from_module": "networks",
    "from_transformers": "networks",
    "fit_readout": "training",
    "adapt": "networks",
    "extend": "networks",
    "unpooled": "networks",
    "BothWays": "networks",
    "Sides": "networks",
    "DeepBothWays": "networks",
    "Occlusion": "networks",
    "TrainConfig": "training",
    "train": "training",
    "evaluate": "training",
    "jacobians": "dynamics",
    "find_fixed_points": "dynamics",
    "FixedPoints": "dynamics",
    "fit_line_attractor": "dynamics",
    "LineAttractor": "dynamics",
    "linear_modes": "dynamics",
    "remove_modes": "dynamics",
    "visited_states": "dynamics",
    "class_geometry": "dynamics",
    "ClassGeometry": "dynamics",
    "Probes": "context",
    "find_modifiers": "context",
    "Modifiers": "context",
    "ClassProbes": "context",
    "class_strengths": "context",
    "ClassStrengths": "context",
    "barcode": "context",
    "fit_subspace": "context",
    "project_out": "context",
    "steer": "context",
    "fit_bilinear": "context",
    "attribute": "context",
    "Attribution": "context",
    "effective_attention": "context",
    "EffectiveAttention": "context",
    "analyze": "analysis.analyze",
    "Analysis": "analysis.record",
    "agreement": "analysis.agreement",
    "Agreement": "analysis.agreement",
    "audit": "analysis.audit",
    "Audit": "analysis.audit",
    "KindAudit": "analysis.audit",
    "linear_quality": "context.linear_quality",
    "mode_removal": "context.mode_removal",
    "report": "page",
    "Run": "runs",
    "load": "runs",
    "export": "runs",
    "RnnlensError": "common.errors",
    "baselines": "",
    "figures": "",
}

__all__ = [  # a literal list, since type checkers do not evaluate _HOMES
    "__version__", "Vocab", "Corpus", "load_corpus", "reversed_corpus", "ToyLanguage", "toy_corpus", "Network",
    "from_torch", "from_module", "from_transformers", "fit_readout", "adapt", "extend", "unpooled", "BothWays", "Sides",
    "DeepBothWays", "Occlusion", "TrainConfig", "train", "evaluate",
    "jacobians", "find_fixed_points", "FixedPoints", "fit_line_attractor", "LineAttractor", "linear_modes",
    "remove_modes", "visited_states", "class_geometry", "ClassGeometry", "Probes", "find_modifiers", "Modifiers",
    "ClassProbes", "class_strengths", "ClassStrengths", "barcode", "fit_subspace", "project_out", "steer",
    "fit_bilinear", "attribute", "Attribution", "effective_attention", "EffectiveAttention", "analyze", "Analysis",
    "agreement", "Agreement", "audit", "Audit", "KindAudit", "linear_quality", "mode_removal",
    "report", "Run", "load", "export", "RnnlensError", "baselines",
    "figures",
]  # fmt: skip

if TYPE_CHECKING:
    from rnnlens import baselines, figures
    from rnnlens.analysis.agreement import Agreement, agreement
    from rnnlens.analysis.analyze import analyze
    from rnnlens.analysis.audit import Audit, KindAudit, audit
    from rnnlens.analysis.record import Analysis
    from rnnlens.common.errors import RnnlensError
    from rnnlens.context import (
        Attribution,
        ClassProbes,
        ClassStrengths,
        EffectiveAttention,
        Modifiers,
        Probes,
        attribute,
        barcode,
        class_strengths,
        effective_attention,
        find_modifiers,
        fit_bilinear,
        fit_subspace,
        project_out,
        steer,
    )
    from rnnlens.context.linear_quality import linear_quality
    from rnnlens.context.mode_removal import mode_removal
    from rnnlens.corpora import Corpus, ToyLanguage, Vocab, load_corpus, reversed_corpus, toy_corpus
    from rnnlens.dynamics import (
        ClassGeometry,
        FixedPoints,
        LineAttractor,
        class_geometry,
        find_fixed_points,
        fit_line_attractor,
        jacobians,
        linear_modes,
        remove_modes,
        visited_states,
    )
    from rnnlens.networks import (
        BothWays,
        DeepBothWays,
        Network,
        Occlusion,
        Sides,
        adapt,
        extend,
        from_module,
        from_torch,
        from_transformers,
        unpooled,
    )
    from rnnlens.page import report
    from rnnlens.runs import Run, export, load
    from rnnlens.training import TrainConfig, evaluate, fit_readout, train


__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
