"""Which claims networks show that have learned nothing: an untrained one, and one trained with shuffled labels.

    python -m studies.nulls --corpus CORPUS --shuffled RUN    # → nulls.json in docs/results and src/rnnlens/analysis
    python -m studies.nulls --corpus CORPUS --train OUT       # trains such a network first: on a GPU, four minutes
    python -m studies.nulls                                   # docs/nulls.md from the record

A claim that one of them shows is unspecific: it says nothing about what a network has learned, and is not counted.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

import rnnlens
from rnnlens.analysis.claims import NULLS
from rnnlens.analysis.paper_claims import analysis_claims
from rnnlens.common.files import read_json, write_json
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.reading import read_corpus
from rnnlens.training.command import resolve
from rnnlens.training.settings import TUNED, read_choice
from studies.pages import write_page

RECORD, PAGE = Path("docs/results/nulls.json"), Path("docs/nulls.md")
TEMPLATE = Path(__file__).with_name("nulls.md")
NETWORKS = ("untrained", "shuffled labels")
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


def measure(corpus: Corpus, run: rnnlens.Run) -> dict[str, Any]:
    """Every claim in both networks: whether it is shown (None: not measured), and the numbers."""
    untrained = rnnlens.Network(run.network.vocab, seed=1, **run.about["network"])
    found = {}
    for name, network in zip(NETWORKS, (untrained, run.network), strict=True):
        try:
            results = rnnlens.analyze(network, corpus, reviews=REVIEWS, progress=True).results
        except rnnlens.RnnlensError as error:
            print(f"{name}: {error}")
            results = {}
        found[name] = analysis_claims(results)
    claims = [
        {"claim": some[0].claim}
        | {name: {"shown": one.shown, "measured": one.measured} for name, one in zip(found, some, strict=True)}
        for some in zip(*found.values(), strict=True)
    ]
    return {"what": "claims in two networks that learned nothing", "reviews": REVIEWS, "claims": claims}


def page_values(record: dict[str, Any]) -> dict[str, Any]:
    """What the template shows of the record."""
    unspecific = [one for one in record["claims"] if any(one[name]["shown"] for name in NETWORKS)]
    unmeasured = [one for one in record["claims"] if all(one[name]["shown"] is None for name in NETWORKS)]
    others = len(record["claims"]) - len(unspecific)
    return {
        "record": record,
        "networks": NETWORKS,
        "unspecific": unspecific,
        "unmeasured": unmeasured,
        "others": others,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, help="without it, only the page is written, from the record")
    parser.add_argument("--shuffled", type=Path, help="the run that was trained with shuffled labels")
    parser.add_argument("--train", type=Path, help="train it here first")
    asked = parser.parse_args()
    if asked.corpus is not None:
        corpus = read_corpus(asked.corpus)
        record = measure(corpus, train_null(corpus, asked.train) if asked.train else rnnlens.load(asked.shuffled))
        write_json(RECORD, record)
        shown = {one["claim"]: [name for name in NETWORKS if one[name]["shown"]] for one in record["claims"]}
        about = {"networks": list(NETWORKS), "reviews": REVIEWS, "by": "python -m studies.nulls"}
        write_json(NULLS, {"claims": {claim: names for claim, names in shown.items() if names}, **about})
    write_page(TEMPLATE, PAGE, **page_values(read_json(RECORD)))


if __name__ == "__main__":
    main()
