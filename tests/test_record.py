"""`Analysis` is one record: what is stored comes back, and public calls with their defaults give what it holds."""

import json
import shutil

import numpy as np
import pytest
import torch

import rnnlens
from rnnlens.common.errors import RnnlensError, RnnlensWarning
from rnnlens.common.files import read_json, read_tensors, write_json, write_tensors
from rnnlens.context import Probes
from rnnlens.context.edges import beginning, ending
from rnnlens.context.effects import effects
from rnnlens.context.impulse import impulse, timescales
from rnnlens.corpora import Corpus


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small trained network, analyzed with its reviews and stored."""
    words = ["good", "bad", "not", "very", "the", "a", "fine", "poor", *(f"w{i}" for i in range(30))]
    generator = np.random.default_rng(0)
    drawn = [generator.choice(words, 12).tolist() for _ in range(300)]
    labels = np.array(
        [text.count("good") + text.count("fine") >= text.count("bad") + text.count("poor") for text in drawn]
    )
    texts = [" ".join(text) for text in drawn]
    corpus = Corpus.from_texts(texts[:200], labels[:200].astype(int), test=(texts[200:], labels[200:].astype(int)))
    network = rnnlens.Network(corpus.vocab, "gru", hidden=16, embedding=8, seed=0)
    config = rnnlens.TrainConfig(epochs=2, batch=20, learning_rate=0.01)
    run = rnnlens.train(network, corpus, config, tmp_path_factory.mktemp("record") / "run")
    rnnlens.analyze(run, corpus, starts=200).save()
    return rnnlens.load(run.path)


@pytest.fixture(scope="module")
def analysis(run):
    return rnnlens.Analysis.load(run)


def test_probe_words_that_the_network_reads_otherwise_are_warned_of(analysis):
    """Strengths are shares of the difference between positive and negative probes, so nothing else shows it."""
    network, vocab = analysis.network, analysis.network.vocab
    with torch.no_grad():
        own = effects(network, analysis.line.h_star, network.E[2:])
    order = [vocab.words[2 + i] for i in own.argsort(descending=True).tolist()]
    best, worst, middle = order[:4], order[-4:], order[len(order) // 2 - 2 : len(order) // 2 + 2]
    for positive, negative, said in (
        (best, worst, []),
        (worst, best, ["the other way round: at h* the positive words add -"]),
        (middle[::3], middle[1:3], ["does not clearly tell the probe words apart"]),
    ):
        other = rnnlens.analyze(network, states=analysis.states, probes=Probes(positive, negative))
        warned = [warning for warning in other.results["warnings"] if "the probe words" in warning]
        assert len(warned) == len(said) and all(part in warned[0] for part in said)
        assert other.warnings == other.results["warnings"]


def same(one, other, where=""):
    """Equal key by key, numbers to rounding."""
    assert type(one) is type(other) or {type(one), type(other)} <= {int, float}, where
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            same(a, b, f"{where}[{k}]")
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-6), where
    else:
        assert one == other, where


def test_a_stored_analysis_comes_back_as_it_was(run, analysis):
    stored = json.loads((run.path / "results.json").read_text(encoding="utf-8"))
    plain = json.loads(json.dumps(analysis.to_dict()))
    shared = {name: stored[name] for name in plain}
    shared["accuracy"] = {name: stored["accuracy"][name] for name in plain["accuracy"]}
    same(plain, shared)
    for name, array in analysis.arrays().items():
        torch.testing.assert_close(
            array.float(), run.analysis_arrays()[name].float(), rtol=1e-4, atol=1e-6, equal_nan=True
        )


def test_public_calls_with_their_defaults_give_what_an_analysis_holds(analysis):
    network, line, mods, probes = analysis.network, analysis.line, analysis.modifiers, analysis.probes
    again = rnnlens.find_modifiers(network, line, probes=probes)
    for name in ("strength", "error", "norm", "tau", "own"):
        torch.testing.assert_close(getattr(again, name), getattr(mods, name), rtol=1e-4, atol=1e-5, equal_nan=True)
    subspace = rnnlens.fit_subspace(network, line, mods)
    calls = {
        "subspace": (subspace, analysis.subspace),
        "bilinear": (rnnlens.fit_bilinear(network, line, mods), analysis.bilinear),
        "timescales": (timescales(network, subspace, mods), analysis.timescales),
        "beginning": (beginning(network, line, subspace, probes), analysis.beginning),
        "ending": (ending(network, line, probes), analysis.ending),
        "barcode": (rnnlens.barcode(network, line, analysis.named[0], probes), analysis.barcodes[analysis.named[0]]),
        "impulse": (impulse(network, line, subspace, analysis.named[0]), analysis.impulses[analysis.named[0]]),
    }
    for name, (called, held) in calls.items():
        same(called.to_dict(), held.to_dict(), name)


def damaged(run, folder, results=None, **arrays):
    """A copy of an analyzed run whose files were changed and name one another again."""
    shutil.copytree(run.path, folder)
    tensors, about = read_tensors(folder / "analysis.safetensors")
    mark = write_tensors(folder / "analysis.safetensors", {**tensors, **arrays}, about)
    content = read_json(folder / "results.json")
    content["provenance"]["analysis"] = mark
    write_json(folder / "results.json", {**content, **(results or {})})
    return folder


def test_stored_arrays_and_options_that_do_not_fit_are_one_line(tmp_path, run, analysis):
    arrays = {name: array.numpy() for name, array in analysis.arrays().items()}
    cases = [
        ({"slow_points": arrays["slow_points"][:, :3]}, None, "analysis.safetensors.*slow_points have shape"),
        ({"words": arrays["words"][:5]}, None, "analysis.safetensors.*measures have shape"),
        ({"slow_points": arrays["slow_points"] * np.nan}, None, "analysis.safetensors.*not finite"),
        ({}, {"analysis": {"rank": "3", "seed": 0}}, "results.json.*its rank is '3'"),
        ({}, {"analysis": {}}, "results.json.*lacks 'rank'"),
    ]
    for k, (changed, results, line) in enumerate(cases):
        with pytest.raises(RnnlensError, match=line):
            rnnlens.Analysis.load(damaged(run, tmp_path / str(k), results, **changed))


def test_a_new_analysis_forgets_what_it_does_not_measure(tmp_path, run):
    shutil.copytree(run.path, tmp_path / "run")
    stored = rnnlens.load(tmp_path / "run")
    stored.add_results(people={"words": 173, "r": 0.7, "low": 0.6, "high": 0.8, "ceiling": 0.9})
    rnnlens.analyze(stored, starts=100).save()
    assert rnnlens.load(tmp_path / "run").results["people"] is None


def test_starts_are_taken_of_the_states_that_a_run_stores(tmp_path, run, analysis):
    shutil.copytree(run.path, tmp_path / "run")
    stored = rnnlens.load(tmp_path / "run")
    states = stored.states()
    assert states is not None and len(states) == 200
    some = rnnlens.analyze(stored, starts=30, top=8, rank=1).states
    assert len(some) == 30 and set(map(tuple, some.tolist())) <= set(map(tuple, states.tolist()))
    with pytest.warns(RnnlensWarning, match="starts is 250, and the run stores 200 visited states, which are used"):
        assert len(rnnlens.analyze(stored, starts=250, top=8, rank=1).states) == 200
