"""Commands that write files to share: report, figures, export."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rnnlens.cli.printing import show_report
from rnnlens.common.errors import UsageError
from rnnlens.common.terminal import say


def report(*runs: Path, out: Path | None = None, words: int | None = None) -> None:
    """Write the page of an analyzed run: one HTML file with the figures and the network, to run in the browser.

    Several runs become one page that shows them side by side: all networks read the sentence that you type, and their
    strengths, claims and accuracies stand in columns. Packaged networks are analyzed first, about ten seconds each.

    Examples: `rnnlens report runs/mine --out mine.html`; `rnnlens report runs/gru runs/lstm --out both.html`;
    `rnnlens report zoo:reviews-gru zoo:reviews-lstm zoo:reviews-ugrnn zoo:reviews-vanilla`

    Parameters
    ----------
    runs
        A run folder, after `rnnlens analyze` or `rnnlens toy`, or the folder of `rnnlens reproduce`; or two to six run
        folders or packaged networks such as `zoo:reviews-gru`. The networks may have different vocabularies.
    out
        The HTML file to write; by default `report.html` in the run folder, and for several runs `comparison.html` in
        the current folder. Only a file that rnnlens wrote is replaced.
    words
        How many of the most frequent words each network in the page knows; by default as many as fit in 12 MB.
    """
    if not runs:
        raise UsageError("no run is given: expected at least one, as in `rnnlens report runs/mine`")
    from rnnlens.page import report as write_report

    show_report(write_report(list(runs), out, words, progress=True))


def figures(run: Path, /, *, out: Path | None = None, format: Literal["svg", "pdf", "png", "html"] = "svg") -> None:
    """Save every figure of an analyzed run to its own file.

    Example: `rnnlens figures runs/mine --format pdf --out figures`. To change one, draw it in Python:
    `rnnlens.figures.barcodes(rnnlens.load("runs/mine"), ["not", "very"])` is a Plotly figure.

    Parameters
    ----------
    run
        A run folder, after `rnnlens analyze` or `rnnlens toy`.
    out
        The folder to write to; by default `figures` in the run folder.
    format
        Format of the files. All but html need `pip install 'rnnlens[images]'` and Chrome or Chromium.
    """
    from rnnlens.common.files import parsing
    from rnnlens.common.progress import progress_bar
    from rnnlens.figures import catalogue, write_figures
    from rnnlens.runs import load
    from rnnlens.runs.missing import not_analyzed

    loaded = load(run)
    results = loaded.results
    reading = parsing(run / "results.json", "result of rnnlens")
    if not catalogue(results):
        raise not_analyzed(loaded.path)
    with reading, progress_bar("drawing", max(1, len(catalogue(results)))) as advance:
        written, missing = write_figures(results, out or run / "figures", format, lambda name: advance(1, name))
    for path in written:
        say(path)
    for name, reason in missing.items():
        say(f"{name}: not drawn: {reason}")


def export(
    run: Path,
    /,
    *,
    to: Path,
    name: str | None = None,
    license: str = "unknown",
    dataset: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write a run as a model folder for the Hugging Face hub, with a model card; `rnnlens.load` can open it.

    The folder has model.safetensors, config.json, vocab.json, README.md and the results of the analysis. Nothing is
    uploaded; to do that, use `hf upload OWNER/NAME FOLDER`.

    Example: `rnnlens export runs/mine --to hub/mine --license apache-2.0`

    Parameters
    ----------
    run
        A finished run folder.
    to
        The folder to write.
    name
        The model's name in its card; by default that of the run folder.
    license
        The model's license, as the hub names it: `apache-2.0`, `mit`, `cc-by-4.0` …
    dataset
        The name `owner/name` of the reviews on the hub, if they are there.
    overwrite
        Replace an earlier export; a folder that holds anything else is never replaced.
    """
    from rnnlens.runs.exporting import export as write_folder

    folder = write_folder(run, to, name=name, license=license, dataset=dataset, overwrite=overwrite)
    size = sum(path.stat().st_size for path in folder.iterdir())
    say(f"model: {folder} ({size / 1e6:.1f} MB); open it with rnnlens.load({str(folder)!r})")
