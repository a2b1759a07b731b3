"""Files that belong together name each other by fingerprint, and readers refuse a file that does not fit.

    run.json              names the vocabulary, the corpus, the run and, once it is finished, the weights
    checkpoint            names the run: its network, settings, seed, corpus, vocabulary and initial weights
    results.json          names the weights, vocabulary and corpus it was measured with, and the analysis
    analysis.safetensors, states.safetensors   name the weights, vocabulary and corpus

The names are under the key `provenance`. A report shows them, and no command reads a report. Run folders of schema 1
do not have these names (except that of the analysis) and are not checked. From schema 2 on, a missing name is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rnnlens.common.errors import RnnlensError, quoted

RUN_SCHEMA = 2  # of run folders and baselines; readers refuse a newer one
KEY = "provenance"


def is_checked(about: Mapping[str, Any]) -> bool:
    """Whether a run.json or baseline.json is of a schema whose files name each other."""
    return bool(about.get("schema", 1) != 1)


def names_in(about: object) -> object:
    """The provenance that a file states."""
    return about.get(KEY) if isinstance(about, Mapping) else None


def check_named(holder: Path | str, names: object, what: str, file: Path | str, mark: str, advice: str) -> None:
    """Refuse unless the file `holder` names the fingerprint `mark` of `file`.

    names: the provenance that `holder` states, {what: fingerprint}. what: weights, vocabulary, corpus, run, analysis.
    """
    named = names.get(what) if isinstance(names, Mapping) else None
    if named == mark:
        return
    stated = f"names no {what}" if named is None else f"names the {what} {_short(named)}"
    raise RnnlensError(
        f"{quoted(str(holder))} does not fit {quoted(Path(file).name)}: it {stated}, but found {_short(mark)}; {advice}"
    )


def _short(mark: object) -> str:
    """The first characters of a fingerprint, for messages."""
    return str(mark)[:12] if isinstance(mark, str) else quoted(mark, 40)
