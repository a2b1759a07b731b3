"""Which claims networks show that have learnt nothing: an untrained one, and one trained with shuffled labels.

    python -m studies.nulls --corpus CORPUS --shuffled RUN    # → src/rnnlens/analysis/nulls.json, docs/nulls.md
    python -m studies.nulls --corpus CORPUS --train OUT       # trains such a network first: on a GPU, four minutes

A claim that one of them shows is unspecific: it says nothing of what a network has learnt, and is not counted.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import rnnlens
from rnnlens.analysis.claims import NULLS
from rnnlens.analysis.paper_claims import analysis_claims
from rnnlens.common.files import atomic_file, write_json
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.reading import read_corpus
from rnnlens.training.command import resolve
from rnnlens.training.settings import TUNED, read_choice

PAGE = Path("docs/nulls.md")
REVIEWS = 1_000


def shuffled(corpus: Corpus, seed: int = 0) -> Corpus:
    """The corpus with the labels of its training texts exchanged at random, within each source."""
    generator, labels = np.random.default_rng(seed), np.array(corpus.train.labels)
    sources = np.zeros(len(labels)) if corpus.train.sources is None else np.asarray(corpus.train.sources)
    for source in np.unique(sources):
        at = np.flatnonzero(sources == source)
        labels[at] = labels[generator.permutation(at)]
    return dataclasses.replace(corpus, train=dataclasses.replace(corpus.train, labels=labels))


def train_null(corpus: Corpus, out: Path) -> rnnlens.Run:
    """The recipe's GRU on shuffled labels."""
    shape, config = resolve({"seed": 0}, read_choice(TUNED, "gru", corpus)["parameters"])
    network = rnnlens.Network(corpus.vocab, arch="gru", seed=0, **shape)
    return rnnlens.train(network, shuffled(corpus), config, out, resume=True)


def page(found: dict[str, dict[str, Any]]) -> str:
    rows = ["| claim | " + " | ".join(found) + " |", "|---|" + "---|" * len(found)]
    claims = {name: analysis_claims(results) for name, results in found.items()}
    for k, claim in enumerate(next(iter(claims.values()))):
        cells = []
        for some in claims.values():
            shown = "not measured" if some[k].shown is None else "shown" if some[k].shown else "not shown"
            cells.append(f"{shown}{': ' if some[k].measured else ''}{some[k].measured}")
        rows.append(f"| {claim.claim} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--shuffled", type=Path, help="the run that was trained with shuffled labels")
    parser.add_argument("--train", type=Path, help="train it here first")
    asked = parser.parse_args()
    corpus = read_corpus(asked.corpus)
    run = train_null(corpus, asked.train) if asked.train else rnnlens.load(asked.shuffled)
    untrained = rnnlens.Network(run.network.vocab, seed=1, **run.about["network"])
    found = {}
    for name, network in (("untrained", untrained), ("shuffled labels", run.network)):
        try:
            found[name] = rnnlens.analyze(network, corpus, reviews=REVIEWS, progress=True).results
        except rnnlens.RnnlensError as error:
            print(f"{name}: {error}")
            found[name] = {}
    shown: dict[str, list[str]] = defaultdict(list)
    for name, results in found.items():
        for claim in analysis_claims(results):
            if claim.shown:
                shown[claim.claim].append(name)
    write_json(
        NULLS, {"claims": dict(shown), "networks": list(found), "reviews": REVIEWS, "by": "python -m studies.nulls"}
    )
    text = (
        "# Which claims a network shows that has learnt nothing\n\n"
        "An untrained GRU, and one trained by the same recipe with shuffled labels. A claim that one of them shows is\n"
        "called unspecific: it does not count for a network. Made by `python -m studies.nulls` from "
        f"{REVIEWS:,} test texts.\n\n{page(found)}\n"
    )
    with atomic_file(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
