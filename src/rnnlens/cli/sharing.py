"""What is shown to others: report, figures."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rnnlens.cli.printing import show_report


def report(run: Path, *, out: Path | None = None, words: int | None = None) -> None:
    """Write the page of an analysed run: one HTML file with the figures, and the network itself, live.

    Parameters
    ----------
    run
        A run folder, after `rnnlens analyze` or `rnnlens toy`, or the folder of `rnnlens reproduce`.
    out
        Where to write; by default `report.html` in that folder.
    words
        How many of the most frequent words the live network knows; by default as many as 12 MB hold.
    """
    from rnnlens.page import report as write_report

    show_report(write_report(run, out, words))


def figures(run: Path, *, out: Path | None = None, format: Literal["svg", "pdf", "png", "html"] = "svg") -> None:
    """Save every figure of an analysed run, each to a file.

    Parameters
    ----------
    run
        A run folder, after `rnnlens analyze` or `rnnlens toy`.
    out
        The folder to write to; by default `figures` in the run folder.
    format
        What kind of file. All but html need `pip install rnnlens[images]` and a Chrome or Chromium.
    """
    from rnnlens.figures import catalogue, write_figures
    from rnnlens.progress import progress_bar
    from rnnlens.runs import load

    results = load(run).results
    with progress_bar("drawing", max(1, len(catalogue(results)))) as advance:
        written, missing = write_figures(results, out or run / "figures", format, lambda name: advance(1, name))
    for path in written:
        print(path)
    for name, why in missing.items():
        print(f"{name}: not drawn: {why}")
