"""How the measured strengths of words agree with people's: docs/people.md, its figure and its record.

    python -m reproduction.people RUNS … --trees sst/train.txt [--lexicon FILE …]   # runs named ARCH-NAME-SEED
    python -m reproduction.people                                                   # the page from the record

Of each architecture's networks every one is measured, and their consensus.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.study import DOCS, store, stored, write_page
from rnnlens.analysis.agreement import CONSENSUS, LEAST, Scores, agreement
from rnnlens.figures import write_figure

FIGURE = DOCS / "images" / "people.svg"
WORDS = ("not", "never", "no", "without", "hardly", "less", "very", "extremely", "truly", "the")


def in_phrases(one: Scores) -> dict[str, float] | None:
    """How well the strength, measured at h* for the very next word, foretells what the word does where the network
    reads people's phrases: the correlation over words, and the slope of the regression through 0."""
    if one.behaviour is None:
        return None
    read = one.behaviour["all"]
    words = [word for word in read if word in one.strengths and np.isfinite(read[word])]
    x, y = np.array([one.strengths[word] for word in words]), np.array([read[word] for word in words])
    return {"words": len(words), "r": float(np.corrcoef(x, y)[0, 1]), "slope": float(x @ y / (x @ x))}


def measure(runs: list[Path], trees: Path | None, lexicons: list[str]) -> dict[str, Any]:
    groups: dict[str, list[Path]] = defaultdict(list)
    for run in runs:
        groups[run.name.split("-")[0]].append(run)
    record: dict[str, Any] = {}
    for arch, some in groups.items():
        found = agreement([str(run) for run in some], trees, lexicons)
        for one in found.scores:
            name = f"{arch}, consensus of {len(some)}" if one.name == CONSENSUS else Path(one.name).name
            words = {word: round(one.strengths[word], 2) for word in WORDS if word in one.strengths}
            record[name] = {**one.to_dict(), "in_phrases": in_phrases(one), "words": words}
            print(name, {least: score.r for least, score in one.by_strength.items()}, flush=True)
        if arch == "gru":
            write_figure(found.figure(), FIGURE)
        source = found.people.source
        people = dict(zip(found.people.words, found.people.strength().round(2).tolist(), strict=True))
    return {"source": source, "people": {word: people[word] for word in WORDS if word in people}, "networks": record}


def page_values(record: dict[str, Any]) -> dict[str, Any]:
    single = {name: one for name, one in record["networks"].items() if CONSENSUS not in name}
    each: dict[str, list[float]] = defaultdict(list)
    for name, one in single.items():
        each[name.split("-")[0]].append(one["strength"][str(LEAST[0])]["all"]["r"])
    phrases = [one["in_phrases"] for one in single.values() if one["in_phrases"]]
    return {"record": record, "each": dict(each), "phrases": phrases, "shown": WORDS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="*")
    parser.add_argument("--trees", type=Path)
    parser.add_argument("--lexicon", action="append", default=[])
    asked = parser.parse_args()
    if asked.runs:
        store("people", measure(asked.runs, asked.trees, ["vader", *asked.lexicon]))
    write_page("people", **page_values(stored("people")))


if __name__ == "__main__":
    main()
