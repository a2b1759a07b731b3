"""How the measured strengths of words agree with people's: docs/people.md, its figure and its record.

    python -m studies.agreement RUNS … --trees sst/train.txt [--lexicon FILE …]   # runs named ARCH-NAME-SEED
    python -m studies.agreement                                                   # the page from the record

Of each architecture's networks every one is measured, and their consensus.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.analysis.agreement import CONSENSUS, LEAST, Scores, agreement
from rnnlens.figures import write_figure
from studies.pages import write_page

RECORD, PAGE = Path("docs/results/people.json"), Path("docs/people.md")
RIVAL, VARIANTS = Path("docs/results/decomposition.json"), Path("docs/results/variants.json")
EARLIER = Path("docs/results/earlier-measures.json")  # printed once, by the last version that had them
FIGURE, TEMPLATE = Path("docs/images/people.svg"), Path(__file__).with_name("people_page.md")
CHOSEN, BLANK = "as it is: at h*, 40 of the 100 strongest probes", "after one blank input"  # in VARIANTS
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
    """What the template shows of the record, of other ways to measure, and of another method."""
    files = (RIVAL, VARIANTS, EARLIER)
    rival, variants, earlier = (json.loads(path.read_text(encoding="utf-8")) for path in files)
    by_variant = {variant: [found[variant] for found in variants.values()] for variant in next(iter(variants.values()))}
    near = [r for variant, some in by_variant.items() if variant not in (CHOSEN, BLANK) for r in some]
    single = {name: one for name, one in record["networks"].items() if CONSENSUS not in name}
    each: dict[str, list[float]] = defaultdict(list)
    for name, one in single.items():
        each[name.split("-")[0]].append(one["strength"][str(LEAST[0])]["all"]["r"])
    return {
        "each": dict(each),
        "phrases": [one["in_phrases"] for one in single.values() if one["in_phrases"]],
        "record": record,
        "shown": WORDS,
        "rival": rival,
        "chosen": by_variant[CHOSEN],
        "later": by_variant[BLANK],
        "near": near,
        "earlier": earlier,
        "rival_r": [row["20 phrases, all"]["r"] for name, row in rival["measures"].items() if name != "strength"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="*")
    parser.add_argument("--trees", type=Path)
    parser.add_argument("--lexicon", action="append", default=[])
    asked = parser.parse_args()
    if asked.runs:
        record = measure(asked.runs, asked.trees, ["vader", *asked.lexicon])
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_page(TEMPLATE, PAGE, **page_values(json.loads(RECORD.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
