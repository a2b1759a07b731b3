"""Baselines: bags of words that read like a sentence."""

from rnnlens.baselines.estimators import BagOfWords, ModifierConvolution
from rnnlens.baselines.explanation import Explanation
from rnnlens.baselines.six import BASELINES

__all__ = ["BASELINES", "BagOfWords", "Explanation", "ModifierConvolution"]
