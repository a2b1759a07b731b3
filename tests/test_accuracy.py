"""What accuracy hangs on, end to end: `analyze` with a corpus."""

import numpy as np
import pytest

from rnnlens import Network, analyze
from rnnlens.analysis.perturb import sample
from rnnlens.corpora.corpus import Corpus

WORDS = [f"w{i}" for i in range(40)]


def texts(n, seed):
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, 12)) for _ in range(n)], generator.integers(0, 2, n)


@pytest.fixture(scope="module")
def corpus():
    return Corpus.from_texts(*texts(120, 0), test=texts(90, 1), validation=0.1, min_count=1)


def test_every_experiment_is_there_paired_and_repeatable(corpus):
    network = Network(corpus.vocab, "ugrnn", hidden=12, embedding=6, seed=3).requires_grad_(False)
    found = analyze(network, corpus, top=30, starts=100, reviews=50)
    accuracy = found.results["accuracy"]
    assert set(accuracy["test_subspace_removed"]) == set(accuracy["test_random_removed"]) == {"1", "2", "3", "4", "5"}
    assert [len(accuracy["test_random_removed"][rank]) for rank in "12345"] == [5, 5, 20, 5, 5]
    for edge, what in (("beginning", "h0_projected"), ("ending", "padded")):
        for part in ("train", "test"):
            one = found.results[edge][part][what]
            assert one["n"] == 50 and one["interval"][0] <= one["difference"] <= one["interval"][1]
    assert accuracy["test_shuffled"]["n"] == 50 and 0 <= accuracy["test_shuffled"]["p"] <= 1
    assert accuracy == analyze(network, corpus, top=30, starts=100, reviews=50).results["accuracy"]


def test_a_sample_is_drawn_once_and_no_larger_than_what_there_is(corpus):
    some = sample(corpus.test, 20, seed=1)
    assert len(some) == 20 and np.array_equal(some.ids, sample(corpus.test, 20, seed=1).ids)
    assert not np.array_equal(some.ids, sample(corpus.test, 20, seed=2).ids)
    assert sample(corpus.test, None, 0) is sample(corpus.test, 1_000, 0) is corpus.test
