"""Networks that read from the last word to the first: the corpus, the run and every text that they are given."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.negated_texts import texts_of

import rnnlens
from rnnlens import BothWays, Network, RnnlensError, TrainConfig
from rnnlens.analysis.behaviour import final_logits
from rnnlens.baselines import ModifierConvolution
from rnnlens.cli import app
from rnnlens.corpora import load_corpus, prepare
from rnnlens.corpora.reversing import backwards
from rnnlens.experiments.reproduce import reproduce
from rnnlens.experiments.sweep import sweep


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("reviews") / "reviews.csv"
    rows = [f'"{text}",{label}' for text, label in zip(*texts_of(1_500), strict=True)]
    path.write_text("\n".join(["text,label", *rows]))
    return path


@pytest.fixture(scope="module")
def corpora(source):
    folder = source.parent
    return prepare(source, folder / "usual"), prepare(source, folder / "turned", reverse=True)


@pytest.fixture(scope="module")
def run(corpora, source):
    network = Network(corpora[1].vocab, hidden=24, embedding=8, scale=0.3, memory=30)
    config = TrainConfig(epochs=6, batch=32, learning_rate=0.02, word_dropout=0.1, embedding_dropout=0.0)
    return rnnlens.train(network, corpora[1], config, source.parent / "run", progress=False)


def test_baselines_read_texts_in_their_usual_order(corpora, tmp_path):
    usual, turned = corpora
    with pytest.raises(RnnlensError, match="words of the corpus are in reverse order"):
        ModifierConvolution(["not"], epochs=1).fit(turned)
    with pytest.raises(RnnlensError, match="words of the corpus are in reverse order"):
        ModifierConvolution(["not"], epochs=1).fit(usual).predict(turned)
    with pytest.raises(RnnlensError, match="words of the corpus are in reverse order"):
        ModifierConvolution(["not"], epochs=1).fit(turned.train, turned.train.labels)
    for call in (
        lambda: sweep(str(turned.path), ["gru", "bow"], 1, tmp_path / "sweep"),
        lambda: reproduce(str(turned.path), tmp_path / "reproduction"),
    ):
        with pytest.raises(RnnlensError, match="words of the corpus are in reverse order"):
            call()
    assert not list(tmp_path.iterdir())


def test_prepare_turns_each_document_around(corpora):
    usual, turned = corpora
    assert turned.about["reversed"] is True and "reversed" not in usual.about and turned.vocab == usual.vocab
    for part, split in usual.splits.items():
        other = turned.splits[part]
        assert np.array_equal(split.labels, other.labels) and np.array_equal(split.offsets, other.offsets)
        for i in range(len(split)):
            assert other.document(i).tolist() == split.document(i).tolist()[::-1]
    # The same content has the same fingerprint, however it was made.
    assert rnnlens.reversed_corpus(usual).fingerprint == turned.fingerprint == load_corpus(turned.path).fingerprint
    assert usual.fingerprint != turned.fingerprint
    assert (usual.about["options"]["reverse"], turned.about["options"]["reverse"]) == (False, True)
    assert backwards(np.array([1, 2, 3, 4, 5]), np.array([2, 0, 3])).tolist() == [2, 1, 5, 4, 3]


def test_texts_are_reversed_for_a_run_that_reads_backward(run):
    network = run.network
    assert network.backward and run.accuracy["validation"] > 0.95 and rnnlens.load(run.path).network.backward
    ids = torch.from_numpy(network.vocab.encode("the film good not")[::-1].copy()).long()
    with torch.no_grad():
        logit = float(network(ids[None])[0])
        assert float(network("the film good not")) == logit < 0 < float(network("the film good"))
    reading = run.read("the film good not")
    assert [word for word, _ in reading] == ["not", "good", "film", "the"]
    assert reading[-1][1] == pytest.approx(logit, abs=1e-6)
    # Words that are split already are in the order in which the network reads.
    assert run.read(words=["not", "good", "film", "the"]) == reading
    assert run.predict(["the film good not", "the film good"]).tolist() == [0, 1]
    assert run.predict_proba(["the film good not"])[0, 1] == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-5)


def test_sentences_of_an_audit_are_reversed_too(run):
    texts = ["the film good not", "the film good"]
    logits = final_logits(run.network, texts)
    assert logits == pytest.approx([float(run.network(text).detach()) for text in texts], abs=1e-5)


def test_its_analysis_says_the_order(run, corpora):
    usual, turned = corpora
    probes = rnnlens.Probes(positive=["good", "great"], negative=["bad", "awful"])
    analysis = rnnlens.analyze(run, turned, probes=probes)
    assert analysis.modifiers["not"]["strength"] < -1  # it changes the word before it in the text
    assert analysis.results["analysis"]["direction"] == "backwards"
    assert any("from its last word to its first" in warning for warning in analysis.warnings)
    examples = analysis.results["examples"]  # as they are written, since whatever is typed in the page is reversed
    splits = usual.splits.values()
    written = {" ".join(usual.vocab.decode(split.document(i))) for split in splits for i in range(len(split))}
    assert examples and all(one["text"] in written for one in examples)
    assert [run.read(one["text"])[-1][1] for one in examples] == pytest.approx([e["logit"] for e in examples], abs=1e-3)
    analysis.save()
    assert rnnlens.Analysis.load(run.path).network.backward
    assert rnnlens.analyze(run, rnnlens.reversed_corpus(usual), probes=probes, accuracy=False).network.backward
    with pytest.raises(RnnlensError, match="prepare it with --reverse"):
        rnnlens.analyze(run, usual)


def test_the_command_line_reads_backward(run, corpora, source, tmp_path, capsys):
    app(["prepare", str(source), "--out", str(tmp_path / "turned"), "--reverse"], result_action="return_value")
    app(["info", str(tmp_path / "turned")], result_action="return_value")
    assert "from the last word to the first" in capsys.readouterr().out
    app(["probe", str(run.path), "the film good not"], result_action="return_value")
    told = capsys.readouterr().out
    assert "words are shown in this order" in told and told.index("not") < told.rindex("film")
    app(["info", str(run.path)], result_action="return_value")
    assert "from the last word to the first" in capsys.readouterr().out
    for corpus, start, message in (
        (corpora[0], run, "reads words in their reverse order, and the corpus has them in their usual order"),
        (corpora[1], "zoo:reviews-gru", "reads words in their usual order"),
    ):
        name = start if isinstance(start, str) else str(start.path)
        arguments = ["train", str(corpus.path), "--start", name, "--out", str(tmp_path / "more")]
        with pytest.raises(RnnlensError, match=message):
            app(arguments, result_action="return_value", exit_on_error=False)
        assert not (tmp_path / "more").exists()
    both = BothWays.untrained(corpora[1].vocab, hidden=4, embedding=2)
    with pytest.raises(RnnlensError, match="pass the corpus in its usual order"):
        rnnlens.train(both, corpora[1], out=tmp_path / "both")
