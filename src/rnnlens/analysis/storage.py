"""The files of an analysis: results.json, analysis.safetensors and states.safetensors, which name one another."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from rnnlens.analysis.locate import analyzed_view
from rnnlens.analysis.perturb import check_as_many, reviews_read
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import exclusive, write_json, write_tensors
from rnnlens.common.provenance import KEY
from rnnlens.common.replacing import TENSORS, check_file, check_json
from rnnlens.runs import Run, zoo
from rnnlens.runs.missing import demo

FILES = ("analysis.safetensors", "states.safetensors")
EXPERIMENTS = ("_shuffled", "_removed")  # how the accuracies of perturbed reviews end
WHAT = "slow points, the curve through them, the modifier subspace, the bilinear components, and measures of words"


def save_files(
    path: Path,
    run: Run | None,
    measured: dict[str, Any],
    results: dict[str, Any],
    arrays: Mapping[str, Tensor],
    states: Tensor,
    overwrite: bool,
    view: tuple[str, str] = ("", ""),
) -> Path:
    """Write the three files of an analysis. In the run's own folder `measured` is merged into results.json; it replaces
    an analysis of more reviews only with `overwrite`. In other folders all `results` are written, and only an earlier
    analysis is replaced. view: the class and the direction that were analyzed; an analysis of another is replaced as a
    whole."""
    check_not_packaged(path)
    own = run is not None and path.resolve() == run.path.resolve()
    if not own:
        _check_no_other(path)
    with exclusive(path, wait=True):  # if two processes save here, the second waits
        provenance = {} if run is None else run.current_provenance() if own else run.provenance
        if run is not None and own and not overwrite:
            stored = kept_results(Run(path, run.about).results, view)  # as they are in the file now
            check_as_many(stored, reviews_read(measured), path)
        mark = write_tensors(path / "analysis.safetensors", dict(arrays), {"what": WHAT, KEY: provenance})
        about = {"what": "visited states, a sample", KEY: provenance}
        write_tensors(path / "states.safetensors", {"states": states.half()}, about)
        if run is not None and own:
            run.add_results(partial(kept_results, view=view), **measured, provenance={"analysis": mark})
        else:
            write_json(path / "results.json", {**results, KEY: {**provenance, "analysis": mark}})
    return path


def kept_results(results: Mapping[str, Any], view: tuple[str, str]) -> dict[str, Any]:
    """What an analysis of a class and a direction keeps of results.json: without the experiments of another."""
    kept = dict(results)
    if "analysis" not in results or analyzed_view(results) == view:
        return kept
    for name in ("beginning", "ending", "examples", "steering", "both_ways"):
        kept.pop(name, None)
    accuracy = results.get("accuracy", {})
    return kept | {"accuracy": {name: accuracy[name] for name in accuracy if not name.endswith(EXPERIMENTS)}}


def check_not_packaged(folder: Path) -> None:
    if folder.resolve().is_relative_to(zoo.HERE.resolve()):
        raise RnnlensError(f"{quoted(folder.name)} is part of the package: {demo(folder)}")


def check_no_folders(folder: Path) -> None:
    """Raise an error if a folder has the name of one of the files to write."""
    for name in FILES:
        if (folder / name).is_dir():
            raise RnnlensError(f"{quoted(str(folder / name), 200)} is a folder: move it away")


def _check_no_other(folder: Path) -> None:
    """Raise an error if the folder holds another run, or files that do not belong to an analysis."""
    if (folder / "run.json").exists() or (folder / "config.json").exists():
        raise RnnlensError(f"{quoted(str(folder))} holds another run than was analyzed: choose another folder")
    check_json(folder / "results.json", "subspace", "a result of `rnnlens analyze`")
    for name in FILES:
        check_file(folder / name, TENSORS, "from an analysis of rnnlens")
