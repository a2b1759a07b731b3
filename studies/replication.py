"""The paper's claims beside what networks show: docs/replication.md and its record.

python -m studies.replication RUNS … --corpus CORPUS --out DIR   # runs named ARCH-NAME-SEED; resumed where it stopped
python -m studies.replication                                    # the page from the record

Each network is analyzed twice: with the reviews of IMDB and with those of Yelp (probe words from the training reviews,
accuracies on `--reviews` test reviews).
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import rnnlens
from rnnlens.analysis.claims import NULLS
from rnnlens.analysis.paper_claims import analysis_claims
from rnnlens.corpora import Corpus
from studies.pages import write_page

RECORD, PAGE = Path("docs/results/replication.json"), Path("docs/replication.md")
TEMPLATE = Path(__file__).with_name("replication.md")
ARCHS = ("gru", "lstm", "ugrnn", "vanilla")
WHY = {  # of claims that most of our networks do not show: why that is, as far as it was measured
    "one curve": "Networks that read several kinds of text keep more than one slow direction.",
    "nine tenths": "The distance from the line includes slow parts that do not modify; along the first component of "
    "the subspace τ is one or two words.",
    "two components": "Our modifiers are 400 words of five kinds of text; they move the state in more directions.",
    "projecting it out": "The projection hardly moves h0: see what each intervention takes away, below.",
    "three bilinear": "The same: more directions.",
}


def of_source(corpus: Corpus, source: str) -> Corpus:
    """The corpus with one source's documents in every split; it counts as the corpus that it is part of."""
    k = corpus.sources.index(source)
    splits = [None if split is None else split.take(np.flatnonzero(split.sources == k))
              for split in (corpus.train, corpus.validation, corpus.test)]  # fmt: skip
    return Corpus(corpus.vocab, *splits, corpus.about, None, corpus.fingerprint)


def results_of(run: Path, corpus: Corpus, reviews: int) -> dict[str, Any]:
    """What the page needs of one run with the reviews of one source."""
    found = rnnlens.analyze(run, corpus, reviews=reviews).measured
    claims = [
        {"claim": c.claim, "shown": c.shown, "measured": c.measured, "paper": c.paper} for c in analysis_claims(found)
    ]
    return {
        "claims": claims, "beginning": found["beginning"].get("interventions", {}),
        "reviews": found["ending"].get("test", {}).get("padded", {}).get("n"),
        "covers": found["line_attractor"].get("covers"),
    }  # fmt: skip


def rows(record: dict[str, list[dict[str, Any]]], of_paper: bool, nulls: dict[str, list[str]]) -> list[dict[str, Any]]:
    """One row for each claim, of the paper or of our own: by architecture, what was measured and how many show it."""
    first = next(iter(record.values()))[0]["claims"]
    found = []
    for k, claim in enumerate(first):
        if bool(claim["paper"]) != of_paper:
            continue
        cells = {}
        for arch, networks in record.items():
            some = [one["claims"][k] for one in networks]
            known = [one["shown"] for one in some if one["shown"] is not None]
            verdict = "not measured" if not known else "shown" if all(known) else "not shown" if not any(known) else (
                f"shown by {sum(known)} of {len(known)}")  # fmt: skip
            measured = "; ".join(one["measured"] for one in some if one["measured"])
            cells[arch] = {"verdict": verdict, "measured": measured}
        why = next((text for start, text in WHY.items() if claim["claim"].startswith(start)), "")
        missed = any(cell["verdict"] != "shown" for arch, cell in cells.items() if arch != "vanilla")
        found.append({"claim": claim["claim"], "paper": claim["paper"], "cells": cells, "why": why if missed else "",
                      "unspecific": nulls.get(claim["claim"], [])})  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="*")
    asked = parser.parse_args()
    if asked.runs:
        record: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for run in sorted(asked.runs, key=lambda run: (ARCHS.index(run.name.split("-")[0]), run.name)):
            record[run.name.split("-")[0]].append(results_of(run))
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    stored = json.loads(RECORD.read_text(encoding="utf-8"))
    nulls = json.loads(NULLS.read_text(encoding="utf-8"))["claims"] if NULLS.exists() else {}
    write_page(TEMPLATE, PAGE, record=stored, claims=rows(stored, True, nulls), own=rows(stored, False, nulls))


if __name__ == "__main__":
    main()
