"""The files of an analysis: results.json, analysis.safetensors and states.safetensors, which name one another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from rnnlens.analysis.perturb import check_as_many, reviews_read
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import exclusive, write_json, write_tensors
from rnnlens.common.provenance import KEY
from rnnlens.common.replacing import TENSORS, check_file, check_json
from rnnlens.runs import Run, zoo

WHAT = "slow points, the curve through them, the modifier subspace, the bilinear components, and measures of words"


def save_files(
    path: Path,
    run: Run | None,
    measured: dict[str, Any],
    results: dict[str, Any],
    arrays: Mapping[str, Tensor],
    states: Tensor,
    overwrite: bool,
) -> Path:
    """Write the three files of an analysis. In the run's own folder `measured` is merged into results.json; it replaces
    an analysis of more reviews only with `overwrite`. In other folders all `results` are written, and only an earlier
    analysis is replaced."""
    check_not_packaged(path)
    own = run is not None and path.resolve() == run.path.resolve()
    if not own:
        _check_no_other(path)
    with exclusive(path, wait=True):  # if two processes save here, the second waits
        provenance = {} if run is None else run.current_provenance() if own else run.provenance
        if run is not None and own and not overwrite:
            stored = Run(path, run.about).results  # as they are in the file now
            check_as_many(stored, reviews_read(measured), path)
        mark = write_tensors(path / "analysis.safetensors", dict(arrays), {"what": WHAT, KEY: provenance})
        about = {"what": "visited states, a sample", KEY: provenance}
        write_tensors(path / "states.safetensors", {"states": states.half()}, about)
        if run is not None and own:
            run.add_results(**measured, provenance={"analysis": mark})
        else:
            write_json(path / "results.json", {**results, KEY: {**provenance, "analysis": mark}})
    return path


def check_not_packaged(folder: Path) -> None:
    if folder.resolve().is_relative_to(zoo.HERE.resolve()):
        raise RnnlensError("this run is part of the package: analyze a copy of it, with `rnnlens demo --out RUN`")


def _check_no_other(folder: Path) -> None:
    """Raise an error if the folder holds another run, or files that do not belong to an analysis."""
    if (folder / "run.json").exists() or (folder / "config.json").exists():
        raise RnnlensError(f"{quoted(str(folder))} holds another run than was analyzed: choose another folder")
    check_json(folder / "results.json", "subspace", "a result of `rnnlens analyze`")
    for name in ("analysis.safetensors", "states.safetensors"):
        check_file(folder / name, TENSORS, "from an analysis of rnnlens")
