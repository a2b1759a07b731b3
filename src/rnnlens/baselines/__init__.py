"""Baselines: bags of words that read like a sentence."""
