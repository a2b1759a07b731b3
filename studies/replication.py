"""The paper's claims beside what networks show: docs/replication.md and its record.

python -m studies.replication RUNS … --corpus CORPUS --out DIR   # runs named ARCH-NAME-SEED; resumed where it stopped
python -m studies.replication                                    # the page from the record

Each network is analyzed twice, with the reviews of IMDB and with those of Yelp: probe words come from the training
reviews, accuracies from `--reviews` test reviews.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

import rnnlens
from rnnlens.analysis.claims import NULLS
from rnnlens.analysis.paper_claims import analysis_claims
from rnnlens.common.files import write_json
from rnnlens.corpora import Corpus, load_corpus
from studies.pages import write_page
from studies.reasons import reason

RECORD, PAGE = Path("docs/results/replication.json"), Path("docs/replication.md")
TEMPLATE = Path(__file__).with_name("replication.md")
ARCHS, SOURCES = ("gru", "lstm", "ugrnn", "vanilla"), ("imdb", "yelp")
NUMBER = re.compile(r"[+−-]?\d+(?:\.\d+)?")


def of_source(corpus: Corpus, source: str) -> Corpus:
    """The corpus with one source's documents in every split; it counts as the corpus that it is part of."""
    k = corpus.sources.index(source)
    splits = [
        None if split is None else split.take(np.flatnonzero(split.sources == k))
        for split in (corpus.train, corpus.validation, corpus.test)
    ]
    return Corpus(corpus.vocab, *splits, corpus.about, None, corpus.fingerprint)


def results_of(run: Path, corpus: Corpus, reviews: int) -> dict[str, Any]:
    """What the page needs of one run with the reviews of one source."""
    results = rnnlens.analyze(run, corpus, reviews=reviews).to_dict()
    claims = [
        {"claim": c.claim, "shown": c.shown, "measured": c.measured, "paper": c.paper} for c in analysis_claims(results)
    ]
    return {
        "claims": claims,
        "beginning": results["beginning"].get("interventions", {}),
        "reviews": results["ending"]["test"]["padded"]["n"],
        "covers": results["line_attractor"]["covers"],
    }


def summary(texts: list[str]) -> str:
    """What several networks measured, in one text: each number as its mean and range. Texts that differ in more than
    their numbers are cut before the first bracket."""
    texts = [text for text in texts if text]
    if len(texts) > 1:  # the range over networks stands in place of each network's interval
        texts = [text.partition(" (")[0] if "points (" in text else text for text in texts]
    if len({NUMBER.sub("#", text) for text in texts}) > 1:
        texts = [text.partition(" (")[0] for text in texts]
    if not texts or len({NUMBER.sub("#", text) for text in texts}) > 1:
        return "; ".join(texts)
    columns = list(zip(*([_number(x) for x in NUMBER.findall(text)] for text in texts), strict=True))
    first = NUMBER.findall(texts[0])
    cells = iter(_range(column, like) for column, like in zip(columns, first, strict=True))
    return NUMBER.sub(lambda _: next(cells), texts[0])


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


def _range(values: tuple[float, ...], like: str) -> str:
    """The mean and the range of numbers, written as one of them is."""
    digits = max(len(like.partition(".")[2]), 0)
    sign = "+" if like[0] == "+" else ""

    def written(value: float, more: int = 0) -> str:
        return f"{value:{sign}.{digits + more}f}".replace("-", "−")

    if len(set(values)) == 1:
        return written(values[0])
    return f"{written(float(np.mean(values)), 0 if digits else 1)} [{written(min(values))}, {written(max(values))}]"


def rows(record: dict[str, Any], of_paper: bool, nulls: dict[str, list[str]]) -> list[dict[str, Any]]:
    """One row for each claim, of the paper or of our own: by architecture and source, how many networks show it, and
    what was measured as mean and range."""
    first = next(iter(next(iter(record.values())).values()))[0]["claims"]
    table = []
    for k, claim in enumerate(first):
        if bool(claim["paper"]) != of_paper:
            continue
        cells: dict[str, list[dict[str, Any]]] = {}
        for arch, sources in record.items():
            for source, networks in sources.items():
                some = [one["claims"][k] for one in networks]
                shown, measured = [one["shown"] for one in some], summary([one["measured"] for one in some])
                cells.setdefault(arch, []).append({"source": source, "verdict": verdict(shown), "measured": measured})
        why = reason(claim["claim"])
        missed = any(cell["verdict"] != "shown" for arch, of in cells.items() if arch != "vanilla" for cell in of)
        table.append(
            {
                "claim": claim["claim"],
                "paper": claim["paper"],
                "cells": cells,
                "why": why if missed else "",
                "unspecific": nulls.get(claim["claim"], []),
            }
        )
    return table


def shown_by_gated(table: list[dict[str, Any]]) -> tuple[int, int]:
    """Of the claims that null networks do not show: how many every gated network shows on both sources, of how many."""
    specific = [row["cells"] for row in table if not row["unspecific"]]
    gated = [[cell["verdict"] for arch in cells if arch != "vanilla" for cell in cells[arch]] for cells in specific]
    return sum(set(verdicts) == {"shown"} for verdicts in gated), len(specific)


def verdict(shown: list[bool | None]) -> str:
    known = [one for one in shown if one is not None]
    if not known:
        return "not measured"
    return "shown" if all(known) else f"{sum(known)} of {len(known)}" if any(known) else "not shown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="*")
    parser.add_argument("--corpus", help="what the runs were trained on")
    parser.add_argument("--out", type=Path, help="a folder for what each network gave")
    parser.add_argument("--reviews", type=int, default=500, help="test and training reviews that are read")
    asked = parser.parse_args()
    if asked.runs:
        corpus = load_corpus(asked.corpus)
        record: dict[str, Any] = {}
        for source in SOURCES:
            part = of_source(corpus, source)
            for run in sorted(asked.runs, key=lambda run: (ARCHS.index(run.name.split("-")[0]), run.name)):
                file = asked.out / f"{run.name}.{source}.json"
                if not file.exists():
                    asked.out.mkdir(parents=True, exist_ok=True)
                    write_json(file, results_of(run, part, asked.reviews))
                one = json.loads(file.read_text(encoding="utf-8"))
                one.pop("fingerprint", None)
                record.setdefault(run.name.split("-")[0], {}).setdefault(source, []).append(one)
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    stored = json.loads(RECORD.read_text(encoding="utf-8"))
    nulls = json.loads(NULLS.read_text(encoding="utf-8"))["claims"] if NULLS.exists() else {}
    claims, own = rows(stored, True, nulls), rows(stored, False, nulls)
    shown, of = shown_by_gated(claims)
    write_page(TEMPLATE, PAGE, record=stored, claims=claims, own=own, shown=shown, of=of)


if __name__ == "__main__":
    main()
