"""What somebody new does, and does wrong, in the first hour is told in one line that names the way on."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from pages import write_reviews
from torch import nn

import rnnlens
from rnnlens import RnnlensError
from rnnlens.cli import main

WORDS = ["<unk>", *(f"w{i}" for i in range(9))]


@pytest.fixture
def network():
    torch.manual_seed(0)
    return rnnlens.from_torch(nn.GRU(4, 6), nn.Embedding(10, 4), nn.Linear(6, 1), WORDS)


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        (lambda network: rnnlens.analyze(nn.GRU(4, 6)), "analyze got 'GRU'.*from_torch"),
        (lambda network: rnnlens.analyze("runs/none"), "no run folder 'runs/none'"),
        (
            lambda network: rnnlens.analyze(network, states=torch.zeros(5, 3)),
            r"\(5, 3\): expected states of the network, a tensor \(\.\.\., 6\)",
        ),
        (
            lambda network: rnnlens.analyze(network, probes=rnnlens.Probes(["good"], ["w1"])),
            "none of the probes 'good'",
        ),
        (lambda network: rnnlens.analyze(network, top=3), "3 words to measure: expected at least 5"),
        (lambda network: rnnlens.report(network, "x.html"), "report got 'Network'.*analyze"),
        (lambda network: rnnlens.train(network, "reviews.csv"), "'reviews.csv': open it first"),
        (lambda network: rnnlens.from_torch(nn.Sequential(), None, None, None), "'Sequential'.*adapt"),
    ],
)
def test_mistakes_with_ones_own_network_are_told(network, mistake, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RnnlensError, match=told) as error:
        mistake(network)
    assert "\n" not in str(error.value) and list(tmp_path.iterdir()) == []


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


def test_every_step_names_the_next_and_what_to_try(tmp_path, monkeypatch, capsys):
    write_reviews(tmp_path / "reviews.csv", 200)
    monkeypatch.chdir(tmp_path)

    def call(line):
        with pytest.raises(SystemExit) as stop:
            main(line.split())
        out, err = capsys.readouterr()
        assert stop.value.code == 0, err
        return out

    told = call("prepare reviews.csv --out corpora/mine")
    assert "hint: " in told and "next: rnnlens train corpora/mine --start zoo:reviews-gru --out runs/mine" in told
    told = call("train corpora/mine --hidden 4 --embedding 2 --epochs 1 --out runs/mine")
    assert "hint: " in told and "--scale 0.1 --memory 100" in told
    assert "next: rnnlens analyze runs/mine --corpus corpora/mine" in told
    monkeypatch.setattr(rnnlens.Modifiers, "strongest", lambda *given, **how: [])  # a network that uses no context
    told = call("analyze runs/mine")
    assert "no word is clearly a modifier" in told and "report: runs/mine/report.html" in told
    assert "negators and diminishers" not in told


@pytest.mark.parametrize("arguments", [["--help"], ["probe", "zoo:reviews-gru", "not bad"]])
def test_a_reader_that_has_seen_enough_is_no_error(arguments):
    """As in `rnnlens probe … | head`: nobody is left to read what is written."""
    code = f"from rnnlens.cli import main; main({arguments!r})"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.stderr.read() == "" and process.wait() in (0, 1)


def test_a_network_that_always_reads_the_same_is_analyzed(network):
    """Without a range of readings there is nothing to divide by, and that is said."""
    from rnnlens.analysis.locate import warnings_of
    from rnnlens.context import BlankInput

    line = rnnlens.analyze(network).line
    flat = replace(line, logits=torch.zeros_like(line.logits))
    with torch.no_grad():
        assert any("drifts 1 logits" in told for told in warnings_of(BlankInput(1.0, 1.0, [0.0] * 3), flat, network))
        assert not any("drifts" in told for told in warnings_of(BlankInput(0.0, 0.0, [0.0] * 3), flat, network))
