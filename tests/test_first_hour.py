"""What somebody new does, and does wrong, in the first hour is told in one line that names the way on."""

import subprocess
import sys

import pytest
import torch
from pages import write_reviews
from torch import nn

import rnnlens
from rnnlens import RnnlensError

WORDS = ["<unk>", *(f"w{i}" for i in range(9))]


@pytest.fixture
def network():
    torch.manual_seed(0)
    return rnnlens.from_torch(nn.GRU(4, 6), nn.Embedding(10, 4), nn.Linear(6, 1), WORDS)


def test_states_come_as_a_network_gives_them(network):
    states = network.states(torch.randint(10, (4, 6)))  # (B, T+1, N)
    assert rnnlens.analyze(network, states=states).states.shape == (28, 6)


def test_folders_and_names_are_opened(tmp_path, monkeypatch):
    write_reviews(tmp_path / "reviews.csv", 60)
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    corpus = rnnlens.load_corpus(tmp_path / "reviews.csv")
    shape = rnnlens.Network(corpus.vocab, hidden=4, embedding=4)
    rnnlens.train(shape, corpus, rnnlens.TrainConfig(epochs=1), tmp_path / "run")
    found = rnnlens.analyze(tmp_path / "run", tmp_path / "reviews.csv", reviews=5)
    assert found.run.path == tmp_path / "run" and "test_shuffled" in found.results["accuracy"]
    alone = rnnlens.Corpus(corpus.vocab, corpus.train)
    with pytest.raises(RnnlensError, match=r"run\.json' names another corpus"):
        rnnlens.analyze(tmp_path / "run", alone)
    with pytest.raises(RnnlensError, match="neither test nor validation reviews"):
        rnnlens.analyze(found.network, alone)


@pytest.mark.parametrize("arguments", [["--help"], ["probe", "zoo:reviews-gru", "not bad"]])
def test_a_reader_that_has_seen_enough_is_no_error(arguments):
    """As in `rnnlens probe … | head`: nobody is left to read what is written."""
    code = f"from rnnlens.cli import main; main({arguments!r})"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.stderr.read() == "" and process.wait() in (0, 1)
