"""The paper's claims beside what networks show: docs/replication.md and its record, beside null networks'.

python -m reproduction.replication RUNS … --corpus CORPUS --out DIR   # runs named ARCH-NAME-SEED
python -m reproduction.replication                                    # the page from the record

Each network is analyzed twice, with the reviews of IMDB and with those of Yelp: probe words come from the training
reviews, accuracies from `--reviews` test reviews.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import numpy as np

import rnnlens
from reproduction.study import store, stored, write_page
from rnnlens.analysis.paper_claims import analysis_claims
from rnnlens.common.files import read_json, write_json
from rnnlens.corpora import Corpus, load_corpus

ARCHS, SOURCES = ("gru", "lstm", "ugrnn", "vanilla"), ("imdb", "yelp")
NULL_NETWORKS = ("untrained", "shuffled labels")
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
    """What several networks measured, in one text: each number as its mean and range."""
    texts = [text for text in texts if text]
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


def rows(record: dict[str, Any], nulls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each claim: in how many readings each architecture's networks show it (a network reads one source),
    in how many null networks, and what GRUs measure on Yelp, as the paper's did."""
    table = []
    for k, claim in enumerate(record["gru"]["yelp"][0]["claims"]):
        shown = {
            arch: [one["claims"][k]["shown"] for some in sources.values() for one in some]
            for arch, sources in record.items()
        }
        null = next(one for one in nulls if one["claim"] == claim["claim"])
        table.append(
            {
                "claim": claim["claim"],
                "paper": claim["paper"],
                "measured": summary([first_part(one["claims"][k]["measured"]) for one in record["gru"]["yelp"]]),
                "shown": {arch: count(some) for arch, some in shown.items()},
                "null": count([one for kind in NULL_NETWORKS for one in null[kind]["shown"]]),
                "specific": not any(any(null[kind]["shown"]) for kind in NULL_NETWORKS),
                "by_gated": all(all(some) for arch, some in shown.items() if arch != "vanilla"),
            }
        )
    return table


def first_part(text: str) -> str:
    return text.partition(";")[0].partition(" (")[0].partition(", one of")[0]


def count(shown: list[bool | None]) -> str:
    known = [one for one in shown if one is not None]
    return f"{sum(known)}/{len(known)}" if known else "–"


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
                    write_json(file, results_of(run, part, asked.reviews))
                record.setdefault(run.name.split("-")[0], {}).setdefault(source, []).append(read_json(file))
        store("replication", record)
    record, nulls = stored("replication"), stored("nulls")
    table = rows(record, nulls["claims"])
    write_page("replication", record=record, claims=table, nulls=nulls)


if __name__ == "__main__":
    main()
