"""Baselines: bags of words, with modifiers and edges of documents, as scikit-learn estimators."""

from rnnlens.baselines.estimators import BagOfWords, ModifierConvolution
from rnnlens.baselines.explanation import Explanation
from rnnlens.baselines.one_vs_rest import OneVsRest
from rnnlens.baselines.six import BASELINES

__all__ = ["BASELINES", "BagOfWords", "Explanation", "ModifierConvolution", "OneVsRest"]
