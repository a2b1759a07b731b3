"""The analysis of a network, its comparison with human judgments, and the audit of its readings."""
