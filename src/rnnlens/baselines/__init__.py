"""Baselines: bags of words that read like a sentence."""

from rnnlens.baselines.estimators import BASELINES, BagOfWords, ModifierConvolution
from rnnlens.baselines.explanation import Explanation

__all__ = ["BASELINES", "BagOfWords", "Explanation", "ModifierConvolution"]
