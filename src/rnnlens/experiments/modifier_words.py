"""Modifier words for the baselines: from a list, from an analyzed run, or from the consensus of several runs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

from rnnlens.common.errors import RnnlensError, RnnlensWarning, quoted
from rnnlens.common.options import PATH
from rnnlens.common.ranges import in_range

LISTS = (".json", ".txt")


@in_range("baselines")
def read_modifiers(sources: Sequence[Path | str] | Path | str, most: int = 400) -> list[str]:
    """The words of a file (.json: a list; .txt: separated by spaces or lines), or the `most` strongest modifiers of
    analyzed runs, for several runs by their mean strengths."""
    sources = [sources] if isinstance(sources, str | Path) or not isinstance(sources, Iterable) else list(sources)
    sources = [PATH.check("modifiers", source) for source in sources]
    if not sources:
        raise RnnlensError("no modifiers given: name a list of words (.json, .txt) or analyzed runs")
    if len(sources) == 1 and (path := Path(sources[0])).is_file():
        if path.suffix not in (*LISTS, ""):  # numbers and headings of a table would be taken for words
            raise RnnlensError(f"{quoted(str(path))} is no list of words: expected .json, .txt, or analyzed runs")
        return _listed(path)
    from rnnlens.analysis.locate import stored_line, stored_probes
    from rnnlens.context.finding import find_modifiers
    from rnnlens.runs import load

    runs = [load(source) for source in sources]
    lines = [stored_line(run) for run in runs]
    networks = [run.analyzed_network.requires_grad_(False) for run in runs]
    probes = stored_probes(runs[0], networks[0], lines[0])
    several = len(runs) > 1
    modifiers = find_modifiers(networks if several else networks[0], lines if several else lines[0], probes=probes)
    chosen = modifiers.order[:most].tolist()
    if not len(modifiers.selected):
        named = ", ".join(quoted(run.name) for run in runs)
        text = f"no word is clearly a modifier in {named}, and the {len(chosen):,} most certain words are used instead"
        warnings.warn(RnnlensWarning(f"{text}: name a list of words, or a network that has learned more"), stacklevel=3)
    return [modifiers.words[i] for i in chosen]


def _listed(path: Path) -> list[str]:
    expected = RnnlensError(f'{quoted(str(path))} is no list of words: expected JSON ["not", …] or a word a line')
    try:
        text = path.read_text(encoding="utf-8-sig")
        words = json.loads(text) if path.suffix == ".json" else text.split()
    except (ValueError, RecursionError) as error:
        raise expected from error
    if isinstance(words, dict):
        words = words.get("words")
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise expected
    return list(dict.fromkeys(words))
