"""The page: one self-contained HTML file that shows what was measured."""

from rnnlens.page.report import report

__all__ = ["report"]
