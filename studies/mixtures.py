"""Train the recipe on a given number of documents of each source: mixtures of equal size.

    python -m studies.mixtures CORPUS --out RUN --counts imdb=9000,yelp=9000 --arch gru --seed 0

Half of the documents of each source are positive, if it has enough of both classes; the seed draws them. Validation and
test documents and the vocabulary stay those of the corpus. An interrupted run continues, a finished one stays.
`studies.recipe --mixtures` runs this for every mixture.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import rnnlens
from rnnlens.common.errors import RnnlensError, exit_code_of, quoted
from rnnlens.corpora.splits import content_fingerprint
from rnnlens.training.command import resolve
from rnnlens.training.settings import TUNED, read_choice


def counts_of(written: str) -> dict[str, int]:
    """The number of documents of each source, from `imdb=9000,yelp=9000`."""
    return {name: int(count) for name, count in (part.split("=") for part in written.split(","))}


def drawn(corpus: rnnlens.Corpus, counts: dict[str, int], seed: int) -> rnnlens.Corpus:
    """The corpus with `counts` training documents of each named source, drawn at random, half of them positive."""
    generator, rows = np.random.default_rng(seed), []
    for name, count in counts.items():
        if name not in corpus.sources:
            raise RnnlensError(f"the corpus has no source {quoted(name)}: expected some of {', '.join(corpus.sources)}")
        assert corpus.train.sources is not None
        of_source = np.asarray(corpus.train.sources) == corpus.sources.index(name)
        classes = [np.flatnonzero(of_source & (np.asarray(corpus.train.labels) == label)) for label in (0, 1)]
        positive = min(len(classes[1]), max(count // 2, count - len(classes[0])))
        for documents, wanted in zip(classes, (count - positive, positive), strict=True):
            if wanted > len(documents):
                total = sum(map(len, classes))
                raise RnnlensError(f"{name} has {total:,} training documents: expected at least {count:,}")
            rows.append(generator.choice(documents, wanted, replace=False))
    train = corpus.train.take(np.sort(np.concatenate(rows)))
    about = {**corpus.about, "source": " + ".join(counts), "only": list(counts), "whole": corpus.fingerprint}
    mark = content_fingerprint(corpus.vocab, {**corpus.splits, "train": train})
    return rnnlens.Corpus(corpus.vocab, train, corpus.validation, corpus.test, about, None, mark)


def train_drawn(asked: argparse.Namespace) -> None:
    corpus = drawn(rnnlens.load_corpus(asked.corpus), asked.counts, asked.seed)
    given = {"seed": asked.seed} | ({} if asked.epochs is None else {"epochs": asked.epochs})
    shape, config = resolve(given, read_choice(TUNED, asked.arch, corpus)["parameters"])
    network = rnnlens.Network(corpus.vocab, arch=asked.arch, seed=asked.seed, **shape)
    rnnlens.train(network, corpus, config, asked.out, resume=True, device=asked.device, test=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--counts", type=counts_of, required=True, help="documents of each source: imdb=9000,yelp=9000")
    parser.add_argument("--arch", default="gru")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, help="instead of the number that the recipe gives this many documents")
    parser.add_argument("--device")
    asked = parser.parse_args()
    sys.exit(exit_code_of(lambda: train_drawn(asked)))


if __name__ == "__main__":
    main()
