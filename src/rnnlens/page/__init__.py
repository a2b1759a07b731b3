"""The page: one self-contained HTML file that shows what was measured."""

from rnnlens.page.writer import report

__all__ = ["report"]
