"""Experiments: the stages in order, from a corpus or a run to stored results."""
