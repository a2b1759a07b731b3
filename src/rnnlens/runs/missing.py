"""Errors for folders that are no run, or a run that lacks something, each with the command that helps."""

from __future__ import annotations

import os
from pathlib import Path

from rnnlens.common.errors import RnnlensError, pasted, quoted
from rnnlens.runs import zoo

NAMED = 3  # runs that a message names


def no_run(path: Path) -> RnnlensError:
    """The error for a path that is no run folder; it says what the path is instead."""
    where = quoted(str(path))
    if not os.path.lexists(path):
        return RnnlensError(
            f"no run folder {where}: make one with `rnnlens train CORPUS --out {pasted(path)}`, or open a packaged "
            f"network, one of {', '.join(zoo.names())}"
        )
    if not path.is_dir():
        return RnnlensError(f"{where} is not a run folder but a file: expected the folder that `rnnlens train` wrote")
    if (path / "corpus.json").exists():
        train = f"rnnlens train {pasted(path)} --out RUN"
        return RnnlensError(f"{where} is not a run folder but a prepared corpus: train a network on it with `{train}`")
    inside = sorted(file.parent for pattern in ("*/run.json", "*/*/run.json") for file in path.glob(pattern))
    if inside:
        named = ", ".join(quoted(str(run)) for run in inside[:NAMED]) + (" …" if len(inside) > NAMED else "")
        return RnnlensError(f"{where} is not a run folder: it has no run.json, but there are runs inside, {named}")
    return RnnlensError(f"{where} is not a run folder: it has no run.json; expected what `rnnlens train` wrote")


def not_finished(path: Path) -> RnnlensError:
    """The error for a run that is still being trained, or was interrupted."""
    return RnnlensError(
        f"the run {quoted(str(path))} is not finished: repeat the command that trains it, `rnnlens train` and "
        "`rnnlens toy` with --resume"
    )


def not_analyzed(path: Path) -> RnnlensError:
    """The error for the folder of a run without an analysis."""
    if zoo.holds(path):
        return RnnlensError(f"{quoted(path.name)} is part of the package, without an analysis: {demo(path)}")
    return RnnlensError(f"the run {quoted(str(path))} is not analyzed yet: run `{analyze(path)}` first")


def analyze(path: Path) -> str:
    """The command that analyzes a run."""
    return f"rnnlens analyze {pasted(path)}"


def demo(path: Path) -> str:
    """What to do to analyze a packaged run, whose folder must not be changed."""
    return f"analyze a copy of it, with `rnnlens demo --network {path.name} --out RUN`"
