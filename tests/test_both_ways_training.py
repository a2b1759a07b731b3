"""Networks that read both ways are trained, stored, resumed and extended as others are."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import rnnlens
from rnnlens import BothWays, TrainConfig, train
from rnnlens.cli import main
from rnnlens.common.files import read_tensors
from rnnlens.networks.both_ways import reverse
from rnnlens.training.loop import Trainer

QUICK = TrainConfig(
    epochs=8, batch=16, learning_rate=0.02, word_dropout=0.1, embedding_dropout=0.1, checkpoint_every=7, average=0.9,
    blanks=3, sparsity=0.01, keep="last",
)  # fmt: skip
FLAGS = ["--hidden", "8", "--embedding", "4", "--epochs", "2", "--batch", "16", "--device", "cpu", "--both-ways"]


def texts_of(labels, words=("awful", "great"), seed=0):
    """Texts whose label is decided by one word at their beginning or end, among neutral ones."""
    generator, texts = np.random.default_rng(seed), []
    for label in labels:
        rest = generator.choice(["the", "film", "was", "it"], size=generator.integers(2, 12)).tolist()
        texts.append(" ".join([words[label], *rest] if generator.random() < 0.5 else [*rest, words[label]]))
    return texts


@pytest.fixture(scope="module")
def corpus():
    labels = np.arange(240) % 2
    texts = texts_of(labels)
    return rnnlens.Corpus.from_texts(texts, labels, test=(texts[:40], labels[:40]))


def small(corpus, **options):
    return BothWays.untrained(corpus.vocab, hidden=8, embedding=4, **options)


def weights(run):
    return {name: tensor.copy() for name, tensor in read_tensors(run / "weights.safetensors")[0].items()}


@pytest.mark.parametrize("arch", ["gru", "lstm", "ugrnn", "vanilla"])
def test_every_architecture_learns_to_read_both_ways(corpus, arch, tmp_path):
    network = small(corpus, arch=arch)
    run = train(network, corpus, QUICK, tmp_path / "run", test=True, progress=False)
    assert run.accuracy["validation"] == run.accuracy["test"] == 1
    again = rnnlens.load(tmp_path / "run").network
    assert isinstance(again, BothWays) and again.E is again.forwards.E is again.backwards.E
    assert again.config == {"arch": arch, "hidden": 8, "embedding": 4, "both_ways": True}
    ids, lengths = (torch.from_numpy(part) for part in corpus.test.batch(range(40)))
    with torch.no_grad():
        torch.testing.assert_close(again(ids, lengths), network(ids, lengths), rtol=0, atol=0)
        logits = rnnlens.evaluate(again, corpus.test).logits
        np.testing.assert_allclose(logits, again(ids, lengths), atol=1e-5)
        # Both halves have learned, and neither has a bias of its own.
        assert float(again.forwards("great")) > 0 < float(again.backwards("great"))
        assert not float(again.forwards.readout_b) and not float(again.backwards.readout_b) and float(again.b)
    sides = run.read("the film was great")
    assert sides.logit == pytest.approx(float(again("the film was great")), abs=1e-5)
    assert "4 + 4 units, forwards and backwards" in repr(run)
    assert "E" not in {name.removeprefix("backwards.") for name in weights(run.path) if name.startswith("backwards.")}


def test_the_halves_begin_with_different_weights_and_the_seed_decides(corpus):
    one, two, other = small(corpus), small(corpus), small(corpus, seed=1)
    assert not torch.equal(one.forwards.cell.U, one.backwards.cell.U)
    for name, parameter in one.named_parameters():
        assert torch.equal(parameter, dict(two.named_parameters())[name])
    assert not torch.equal(one.backwards.cell.U, other.backwards.cell.U)
    assert sum(p.numel() for p in one.forwards.cell.parameters()) == 3 * 4 * (4 + 4 + 2)


def test_killed_runs_resume_bit_for_bit(corpus, tmp_path, monkeypatch):
    config = dataclasses.replace(QUICK, epochs=2)
    train(small(corpus), corpus, config, tmp_path / "whole", progress=False)
    step = Trainer.step

    def dies(trainer, rows):
        if trainer.counters.step == 17:
            raise KeyboardInterrupt
        return step(trainer, rows)

    monkeypatch.setattr(Trainer, "step", dies)
    with pytest.raises(KeyboardInterrupt):
        train(small(corpus), corpus, config, tmp_path / "killed", progress=False)
    monkeypatch.undo()
    train(small(corpus), corpus, config, tmp_path / "killed", resume=True, progress=False)
    first, second = weights(tmp_path / "whole"), weights(tmp_path / "killed")
    assert first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("ordered", [False, True])
def test_several_classes_are_read_both_ways(ordered, tmp_path):
    labels = np.arange(240) % 3
    corpus = rnnlens.Corpus.from_texts(
        texts_of(labels, ("awful", "fine", "great")), [str(label) for label in labels], ordered=ordered,
        classes=["0", "1", "2"],
    )  # fmt: skip
    network = small(corpus, classes=corpus.classes, ordered=ordered)
    run = train(network, corpus, QUICK, tmp_path / "run", progress=False)
    again = run.network
    assert run.accuracy["validation"] > 0.9 and again.ordered == ordered and again.classes == corpus.classes
    assert again.b.shape == ((2,) if ordered else (3,))
    proba = run.predict_proba(["the film was great", "awful"])
    np.testing.assert_allclose(proba.sum(1), 1)
    assert run.predict(["the film was great", "awful"]).tolist() == ["2", "0"]
    view = again.of_class() if ordered else again.of_class("2")
    with torch.no_grad():
        score = view("the film was great")
        logits = again("the film was great")
    if ordered:
        middle = again.b.quantile(0.5)
        np.testing.assert_allclose(logits.softmax(0)[2], (score + middle - again.b.max()).sigmoid().detach(), atol=1e-6)
        assert view.target == view.forwards.target == "0 to 2"
    else:
        assert float(score) == pytest.approx(float(logits[2] - logits[:2].mean()), abs=1e-5)
    assert view.read("not great").logit == pytest.approx(float(view("not great")), abs=1e-5)


def test_a_run_that_reads_both_ways_is_fine_tuned_with_new_words(corpus, tmp_path):
    start = train(small(corpus), corpus, QUICK, tmp_path / "start", progress=False)
    labels = np.arange(80) % 2
    other = rnnlens.Corpus.from_texts(texts_of(labels, ("awful", "delicious")), labels)
    network = rnnlens.extend(start.network, other.vocab)
    assert network.E is network.backwards.E and "delicious" in network.vocab
    assert float(network("the great film")) == float(start.network("the great film"))
    tuned = train(network, other.with_vocab(network.vocab), QUICK, tmp_path / "tuned", start=start, progress=False)
    assert isinstance(tuned.network, BothWays) and tuned.accuracy["validation"] == 1


def command(words):
    with pytest.raises(SystemExit) as stop:
        main(["train", *words])
    return stop.value.code


def test_the_command_trains_both_ways(corpus, tmp_path, capsys):
    source = tmp_path / "reviews.csv"
    rows = [f'"{text}",{label}' for text, label in zip(texts_of(np.arange(80) % 2), np.arange(80) % 2, strict=True)]
    source.write_text("\n".join(["text,label", *rows]))
    assert command([str(source), "--out", str(tmp_path / "run"), *FLAGS, "--arch", "lstm"]) == 0
    assert "4 + 4 units, forwards and backwards" in capsys.readouterr().out
    fine = ["--epochs", "1", "--device", "cpu"]
    again = [str(source), "--out", str(tmp_path / "more"), "--start", str(tmp_path / "run"), *fine]
    assert command(again) == 0


def test_embedded_inputs_are_reversed_as_ids_are():
    ids, lengths = torch.randint(9, (6, 7)), torch.tensor([0, 1, 3, 5, 7, 7])
    turned = reverse(ids, lengths)
    for row, new, n in zip(ids, turned, lengths, strict=True):
        assert torch.equal(new[:n], row[:n].flip(0)) and torch.equal(new[n:], row[n:])
    e = torch.randn(9, 3, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(reverse(e[ids], lengths), e[turned])
    assert torch.autograd.gradcheck(lambda x: reverse(x, lengths), torch.randn(6, 7, 2).double().requires_grad_())
