"""The sources that a corpus is prepared from, each with a short name and a weight. No source may be given twice."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rnnlens.common.allowed import shown
from rnnlens.common.errors import RnnlensError, UsageError, quoted
from rnnlens.common.options import SOURCE, SOURCE_WEIGHT

Sources = str | Path | Sequence[str | Path]

_MOST_SOURCES = 255  # the number of a document's source is stored in one byte


@dataclass(frozen=True)
class Request:
    """The sources to prepare, with a name and a weight for each.

    states: the local files of each source with fingerprints of their content, at the time of the request
    """

    sources: tuple[str | Path, ...]
    states: tuple[list[tuple[str, str]], ...]
    names: tuple[str, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, source: Sources, weights: Mapping[str, float] | None) -> Request:
        """Check the given sources and weights; a file that two sources share is an error."""
        sources = tuple(source) if isinstance(source, list | tuple) else (source,)
        for name in sources:
            SOURCE.check("source", name)
        if not 1 <= len(sources) <= _MOST_SOURCES:
            raise RnnlensError(f"got {len(sources)} sources: expected 1 to {_MOST_SOURCES}")
        if weights and len(sources) == 1:
            raise RnnlensError("a weight was given for a single source: weights need several sources; leave it out")
        states = file_states(sources)
        _check_once(sources, states)
        names, given = source_names(sources), dict(weights or {})
        for name, weight in given.items():
            if name not in names:
                known = ", ".join(map(quoted, names))
                raise RnnlensError(f"weight of {quoted(name)}: there is no such source, expected one of {known}")
            if weight not in SOURCE_WEIGHT:
                raise RnnlensError(f"weight of {quoted(name)} is {shown(weight)}: expected {SOURCE_WEIGHT.what}")
        return cls(sources, states, tuple(names), tuple(float(given.get(name, 1.0)) for name in names))

    @property
    def about(self) -> dict[str, Any]:
        """What corpus.json records about the sources before they are read."""
        if len(self.sources) == 1:
            return {"source": str(self.sources[0])}
        rows = zip(self.names, self.sources, self.weights, strict=True)
        parts = [{"name": name, "source": str(source), "weight": weight} for name, source, weight in rows]
        return {"source": " + ".join(self.names), "sources": parts}

    @property
    def content(self) -> dict[str, Any]:
        """The part of a corpus's key: the files with their content, and names and weights of several sources."""
        states = [state or str(source) for source, state in zip(self.sources, self.states, strict=True)]
        return {"source": states, **({} if len(states) == 1 else {"names": self.names, "weights": self.weights})}

    def check_unchanged(self) -> None:
        """Refuse files that changed since the request: the cache must not keep new content under an old key."""
        for source, before, now in zip(self.sources, self.states, file_states(self.sources), strict=True):
            if before != now:
                raise RnnlensError(f"{quoted(str(source), 200)} changed while it was read: prepare it again")


def file_states(sources: Sequence[str | Path]) -> tuple[list[tuple[str, str]], ...]:
    """The local files of each source, with fingerprints of their content; a source on the hub has none."""
    from rnnlens.corpora.sources import file_state, local_files

    return tuple([file_state(file) for file in local_files(source)] for source in sources)


def parse_weights(texts: Sequence[str]) -> dict[str, float]:
    """Weights as the command line takes them, NAME=NUMBER."""
    weights: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = None
        if not name or value is None:
            raise UsageError(f"--weight is {quoted(text)}: expected NAME=NUMBER, such as imdb=2")
        if name in weights:
            raise UsageError(f"--weight gives {quoted(name)} twice: expected each source once")
        weights[name] = value
    return weights


def source_names(sources: Sequence[str | Path]) -> list[str]:
    """A short, unique name for each source: the last part of its path without a suffix; where two are equal, all with
    the suffix, or with as many folders before it as make them unique. Commas, = and spaces become -."""
    parts = [_parts(source) for source in sources]
    for depth in range(1, max(map(len, parts)) + 1):
        for ending in (_stem, str):
            names = ["/".join((*part[-depth:-1], ending(part[-1]))) for part in parts]
            if len(set(names)) == len(names):
                return names
    raise RnnlensError("two sources have the same name: rename one of them")


def _parts(source: str | Path) -> tuple[str, ...]:
    from rnnlens.corpora.sources import hub_name

    local = hub_name(source) is None
    path = Path(os.path.abspath(Path(source).expanduser())) if local else Path(str(source))
    return tuple(re.sub(r"[\s,=]+", "-", part) for part in path.parts if part != path.anchor) or ("corpus",)


def _stem(name: str) -> str:
    return name.strip(".").split(".")[0] or "corpus"


def _check_once(sources: Sequence[str | Path], states: Sequence[list[tuple[str, str]]]) -> None:
    """Refuse a source that is given twice: by another path or name, as a part of another, or as a copy."""
    from rnnlens.corpora.sources import hub_name

    seen: dict[str, int] = {}
    for number, (source, files) in enumerate(zip(sources, states, strict=True)):
        marks = [f"hub {hub_name(source)}"] if hub_name(source) is not None else []
        for place, content in files:
            marks.append(place)
            if os.path.isfile(place) and os.path.getsize(place):
                marks.append(f"content {content}")
        for mark in marks:
            if seen.setdefault(mark, number) != number:
                first, second = quoted(str(sources[seen[mark]]), 200), quoted(str(source), 200)
                problem = "is given twice" if first == second else f"holds the same file as {first}"
                raise RnnlensError(f"{second} {problem}: expected each source once")
