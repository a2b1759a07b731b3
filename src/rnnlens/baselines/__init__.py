"""Baselines: bags of words, with modifiers and edges of documents, as scikit-learn estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rnnlens.baselines.six import BASELINES
from rnnlens.common.lazy import lazily

if TYPE_CHECKING:
    from rnnlens.baselines.estimators import BagOfWords, ModifierConvolution
    from rnnlens.baselines.explanation import Explanation

__all__ = ["BASELINES", "BagOfWords", "Explanation", "ModifierConvolution"]

# A page reads BASELINES for its table: that must not import scikit-learn.
__getattr__ = lazily(
    __name__,
    {
        "BagOfWords": "estimators",
        "ModifierConvolution": "estimators",
        "Explanation": "explanation",
    },
)
