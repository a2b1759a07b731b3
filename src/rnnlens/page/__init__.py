"""The page: one self-contained HTML file with the results of a run and the network itself."""

from rnnlens.page.writer import report

__all__ = ["report"]
