"""Experiments that run several stages, from a corpus or a run to stored results."""
