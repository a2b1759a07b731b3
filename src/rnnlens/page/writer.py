"""`report`: a run as one HTML file with its results, the paper's numbers beside them, and the live network; or several
networks side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.analysis.locate import view_of
from rnnlens.analysis.storage import kept_results
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import atomic_file, parsing
from rnnlens.common.options import RUN
from rnnlens.common.provenance import KEY
from rnnlens.common.ranges import in_range
from rnnlens.common.replacing import check_output
from rnnlens.networks import BothWays
from rnnlens.page.analysis import analysis_sections, analysis_story
from rnnlens.page.comparison import comparison
from rnnlens.page.live import live, no_network
from rnnlens.page.render import render
from rnnlens.page.table import network_of, reproduction, table_story
from rnnlens.page.toy import toy_story
from rnnlens.runs import Run, load, merge_results, zoo
from rnnlens.runs.missing import not_analyzed

if TYPE_CHECKING:
    from rnnlens.analysis.record import Analysis


COMPARISON = "comparison.html"  # the default file of several networks, in the current folder


@in_range("report")
def report(
    run: Run | Analysis | Path | str | Sequence[Run | Analysis | Path | str],
    out: Path | str | None = None,
    words: int | None = None,
    *,
    progress: bool = False,
) -> Path:
    """Write the page of a run, an analysis or a reproduction, by default to `report.html` in its folder; or of several
    networks side by side, by default to `comparison.html` in the current folder. Returns its path.

    run: one, or a list of two to six runs and analyses. In a list, packaged networks (`zoo:NAME`) are analyzed first.
    out: a path ending in html. An existing file is replaced only if rnnlens wrote it.
    words: how many of the most frequent words the live network in the page knows; by default as many as fit in 12 MB,
    and for several networks in 13 MB together.
    progress: show a bar while packaged networks are analyzed.
    """
    if isinstance(run, list | tuple) and len(run) != 1:
        path = check_output(COMPARISON if out is None else out, "a page", "html", "htm")
        return _written(path, comparison(run, words, progress))
    return _report_one(run[0] if isinstance(run, list | tuple) else run, out, words)  # type: ignore[arg-type]


def _report_one(run: Run | Analysis | Path | str, out: Path | str | None, words: int | None) -> Path:
    folder, more = None, {}
    if isinstance(run, Path | str):
        run = Path(RUN.check("run", run))
        folder = None if zoo.find(run) else run
        more = {} if folder is None else reproduction(folder)
        shown = network_of(run) if more else run
        opened = None if shown is None else load(shown)
    elif not isinstance(run, Run) and not hasattr(run, "results"):
        raise RnnlensError(
            f"report got {quoted(type(run).__name__)}: expected a run or an analysis, as in "
            "report(rnnlens.analyze(network), 'report.html')"
        )
    else:
        opened = run  # type: ignore[assignment]
        folder = run.path if isinstance(run, Run) else None if run.run is None else run.run.path
    if isinstance(opened, Run) and opened.is_packaged and "subspace" not in opened.results:
        raise not_analyzed(opened.path)
    if out is None and folder is None:
        raise RnnlensError("this network has no run folder: pass a path, as in report(analysis, 'report.html')")
    path = check_output(out if out is not None else folder / "report.html", "a page", "html", "htm")  # type: ignore[operator]
    with nullcontext() if folder is None else parsing(folder / "results.json", "result of rnnlens"):
        text = page(opened, words, more)
    return _written(path, text)


def _written(path: Path, text: str) -> Path:
    with atomic_file(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", "replace"))  # lone surrogates cannot be encoded
    return path


def page(run: Run | Analysis | None, words: int | None = None, more: Mapping[str, Any] | None = None) -> str:
    """The page's HTML. run: None for a reproduction without networks. more: results of the reproduction that the run is
    part of."""
    if run is None:
        return render(table_story(None, more or {}, None), no_network())
    opened = run if isinstance(run, Run) else run.run
    both = both_ways(run)
    network = run.analyzed_network if isinstance(run, Run) else run.network
    stored = {} if opened is None else kept_results(opened.results, view_of(network))
    own = run.results if isinstance(run, Run) else run.to_dict()
    results = {**merge_results(stored, own), **(more or {})}
    if opened is not None and "claims" in results.get("toy", {}):
        story = toy_story(network, results, opened)
        if "subspace" in results:  # it was analyzed as well
            story = replace(story, sections=[*story.sections, *analysis_sections(results)])
    elif "subspace" in results:
        story = analysis_story(network, results, opened, both)
    elif more:
        story = table_story(network, results, opened)
    else:
        assert opened is not None  # an analysis has all results
        raise not_analyzed(opened.path)
    arrays = run.analysis_arrays() if isinstance(run, Run) else run.arrays()
    provenance = {} if opened is None else {**opened.provenance, **_analysis_mark(run)}
    packed = live(network, arrays, results, story.probes, words, both=both)
    return render(story, packed, results.get("warnings", []), provenance)


def both_ways(run: Run | Analysis) -> BothWays | None:
    """The network that reads both ways, if the analysis is of one of its two readers."""
    if isinstance(run, Run):
        return run.network if isinstance(run.network, BothWays) else None
    return None if run.both_ways is None else run.both_ways.network


def _analysis_mark(run: Run | Analysis) -> dict[str, str]:
    """The fingerprint of the stored analysis that a run's page shows."""
    mark = run.results.get(KEY, {}).get("analysis") if isinstance(run, Run) else None
    return {} if mark is None else {"analysis": str(mark)}
