"""All figures of a run's results by name; the page and `rnnlens figures` use this list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rnnlens.common.allowed import shown
from rnnlens.common.errors import RnnlensError, one_of
from rnnlens.common.ranges import in_range
from rnnlens.common.replacing import check_output
from rnnlens.figures.barcodes import barcodes, component_barcodes
from rnnlens.figures.bilinear import bilinear
from rnnlens.figures.classes import classes
from rnnlens.figures.deflections import deflections
from rnnlens.figures.dose_response import dose_response
from rnnlens.figures.edges import beginning, ending, ending_modes
from rnnlens.figures.impulse import impulse, timescales
from rnnlens.figures.line_attractor import line_attractor
from rnnlens.figures.linear_quality import linear_quality
from rnnlens.figures.mode_removal import mode_removal
from rnnlens.figures.modes import mode_angles, spectra
from rnnlens.figures.modifiers import modifiers
from rnnlens.figures.perturbation import perturbation
from rnnlens.figures.pictures import shared_browser
from rnnlens.figures.probes import probe_phrases, probe_reviews
from rnnlens.figures.state_space import state_space
from rnnlens.figures.style import write_figure
from rnnlens.figures.subspace import subspace
from rnnlens.figures.table import architectures, table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Draw = Callable[[Any], "Figure"]

ANALYSIS: Mapping[str, Draw] = {
    "line_attractor": line_attractor,
    "probe_reviews": probe_reviews,
    "probe_phrases": probe_phrases,
    "modifiers": lambda results: modifiers(results, "strength"),
    "modifiers_norm": modifiers,
    "impulse": impulse,
    "barcodes": barcodes,
    "subspace": subspace,
    "timescales": timescales,
    "component_barcodes": component_barcodes,
    "perturbation": perturbation,
    "dose_response": dose_response,
    "beginning": beginning,
    "ending": ending,
    "ending_modes": ending_modes,
    "bilinear": bilinear,
}

REPRODUCTION: Mapping[str, Draw] = {"table": table, "architectures": architectures}

TOY: Mapping[str, Draw] = {  # of a run's `toy` results
    "toy_state_space": lambda toy: state_space(toy["state_space"]),
    "toy_deflections": lambda toy: deflections(toy["deflection"]),
    "toy_spectra": lambda toy: spectra(toy["modes"]),
    "toy_mode_angles": lambda toy: mode_angles(toy["mode_angles"]),
    "toy_linear_quality": lambda toy: linear_quality(toy["linear_quality"]),
    "toy_mode_removal": lambda toy: mode_removal(toy["mode_removal"]),
    "toy_mode_removal_biorthogonal": lambda toy: mode_removal(toy["mode_removal"], kind="biorthogonal"),
    "toy_mode_removal_input": lambda toy: mode_removal(toy["mode_removal"], what="input"),
}


class Figures:
    """The figures of a run's results by name; each is drawn when it is called: `figures.barcodes()`."""

    def __init__(self, results: Mapping[str, Any]):
        self._drawn = catalogue(results)

    def __getattr__(self, name: str) -> Callable[..., Figure]:
        if name not in self._drawn:
            raise AttributeError(f"there is no figure {name!r}: {one_of(self._drawn)}")
        return self._drawn[name]

    def __dir__(self) -> list[str]:
        return list(self._drawn)

    def __iter__(self) -> Iterator[str]:
        return iter(self._drawn)


def catalogue(results: Any) -> dict[str, Callable[[], Figure]]:
    """Functions by name that draw the figures of a run, an analysis or its results. A function raises an error if its
    part of the results is missing."""
    results = getattr(results, "results", results)
    if not isinstance(results, Mapping):
        raise RnnlensError(f"results is {shown(results)}: expected a run, an analysis, or the content of results.json")
    figures: dict[str, Callable[[], Figure]] = {}
    if "subspace" in results:
        figures |= {name: partial(draw, results) for name, draw in ANALYSIS.items()}
    if "classes" in results:
        figures["classes"] = partial(classes, results)
    for name, draw in REPRODUCTION.items():
        if isinstance(results.get(name), Mapping) and results[name]:
            figures[name] = partial(draw, results)
    if "claims" in results.get("toy", {}):
        figures |= {name: partial(draw, results["toy"]) for name, draw in TOY.items()}
    return figures


@in_range("write_figures")
def write_figures(
    results: Any,
    out: Path | str,
    format: Literal["svg", "pdf", "png", "html"] = "svg",
    report: Callable[[str], None] = lambda name: None,
) -> tuple[list[Path], dict[str, str]]:
    """Save every figure to `out/NAME.FORMAT`. Returns the files, and the reason for each figure not drawn.

    report: called with each figure's name before it is drawn.
    """
    figures = catalogue(results)
    if not figures:
        raise RnnlensError("these results have no figures yet: run `rnnlens analyze RUN` or `rnnlens toy` first")
    for name in figures:
        check_output(Path(out) / f"{name}.{format}", "a figure", format)
    written, missing = [], {}
    with nullcontext() if format == "html" else shared_browser():
        for name, draw in figures.items():
            report(name)
            try:
                figure = draw()
            except RnnlensError as error:  # for example, it needs a corpus and the run was analyzed without one
                missing[name] = str(error)
                continue
            written.append(write_figure(figure, Path(out) / f"{name}.{format}"))
    return written, missing
