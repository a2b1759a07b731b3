"""Which claims networks show that have learned nothing: three untrained ones, and three trained with shuffled labels.

    python -m reproduction.nulls --corpus CORPUS --train OUT    # trains OUT-0, OUT-1, OUT-2, and measures them
    python -m reproduction.nulls --corpus CORPUS --shuffled OUT-0 OUT-1 OUT-2

A claim that one of them shows, be it by chance, is unspecific: a network can show it that has learned nothing, and it
is not counted. The record is in docs/results, the list of unspecific claims in src/rnnlens/analysis; the page is made
by `python -m reproduction.replication`. On a GPU a training takes four minutes.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

import rnnlens
from reproduction.replication import NULL_NETWORKS
from reproduction.study import store
from rnnlens.analysis.claims import NULLS, Claim
from rnnlens.analysis.paper_claims import analysis_claims
from rnnlens.common.files import write_json
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.reading import read_corpus
from rnnlens.training.command import resolve
from rnnlens.training.settings import TUNED, read_choice

SEEDS = range(3)
REVIEWS = 1_000


def shuffled(corpus: Corpus, seed: int = 0) -> Corpus:
    """The corpus with the labels of its training texts exchanged at random, within each source."""
    generator, train = np.random.default_rng(seed), corpus.train
    sources, rows = np.zeros(len(train)) if train.sources is None else np.asarray(train.sources), np.arange(len(train))
    for source in np.unique(sources):
        at = np.flatnonzero(sources == source)
        rows[at] = generator.permutation(at)
    labels, grades = np.asarray(train.labels)[rows], None if train.grades is None else train.grades[rows]
    return dataclasses.replace(corpus, train=dataclasses.replace(train, labels=labels, grades=grades))


def train_null(corpus: Corpus, out: Path, seed: int) -> rnnlens.Run:
    """The recipe's GRU on shuffled labels."""
    shape, config = resolve({"seed": seed}, read_choice(TUNED, "gru", corpus)["parameters"])
    network = rnnlens.Network(corpus.vocab, arch="gru", seed=seed, **shape)
    return rnnlens.train(network, shuffled(corpus, seed), config, out, resume=True)


def measure(corpus: Corpus, runs: list[rnnlens.Run]) -> dict[str, Any]:
    """Every claim in all networks: whether each shows it (None: not measured), and the numbers."""
    untrained = [rnnlens.Network(run.network.vocab, seed=i + 1, **run.about["network"]) for i, run in enumerate(runs)]
    kinds = zip(NULL_NETWORKS, (untrained, [run.network for run in runs]), strict=True)
    found = {name: [_claims_of(network, corpus, name) for network in networks] for name, networks in kinds}
    claims = [
        {"claim": claim.claim}
        | {
            name: {"shown": [one[k].shown for one in of_kind], "measured": [one[k].measured for one in of_kind]}
            for name, of_kind in found.items()
        }
        for k, claim in enumerate(found[NULL_NETWORKS[0]][0])
    ]
    return {"what": "claims in networks that learned nothing", "reviews": REVIEWS, "claims": claims}


def _claims_of(network: rnnlens.Network, corpus: Corpus, name: str) -> list[Claim]:
    try:
        return analysis_claims(rnnlens.analyze(network, corpus, reviews=REVIEWS, progress=True).results)
    except rnnlens.RnnlensError as error:
        print(f"{name}: {error}")
        return analysis_claims({})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--shuffled", type=Path, nargs=len(SEEDS), help="runs that were trained with shuffled labels")
    parser.add_argument("--train", type=Path, help="train them here first: OUT-0, OUT-1, OUT-2")
    asked = parser.parse_args()
    corpus = read_corpus(asked.corpus)
    if asked.train:
        runs = [train_null(corpus, Path(f"{asked.train}-{seed}"), seed) for seed in SEEDS]
    else:
        runs = [rnnlens.load(run) for run in asked.shuffled]
    record = measure(corpus, runs)
    store("nulls", record)
    shown = {one["claim"]: [name for name in NULL_NETWORKS if any(one[name]["shown"])] for one in record["claims"]}
    about = {"networks": list(NULL_NETWORKS), "reviews": REVIEWS, "by": "python -m reproduction.nulls"}
    write_json(NULLS, {"claims": {claim: names for claim, names in shown.items() if names}, **about})


if __name__ == "__main__":
    main()
