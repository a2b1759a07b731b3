"""Training learns, and survives being killed bit for bit."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from torch import nn

import rnnlens
from rnnlens import Network, RnnlensError, TrainConfig, Vocab, toy_corpus, train
from rnnlens.common.files import read_tensors
from rnnlens.corpora import PAD, Corpus
from rnnlens.corpora.batches import token_batches
from rnnlens.networks import ARCHITECTURES
from rnnlens.training.batches import epoch_batches, packed, unpacked
from rnnlens.training.dropping import drop
from rnnlens.training.objective import Objective
from rnnlens.training.optimiser import clip_gradients

QUICK = TrainConfig(
    epochs=3, batch=16, learning_rate=0.02, word_dropout=0.1, embedding_dropout=0.1, checkpoint_every=4, average=0.9
)


@pytest.fixture(scope="module")
def corpus():
    """Reviews whose label is decided by one word, among neutral ones."""
    generator = np.random.default_rng(0)
    labels = np.arange(240) % 2
    texts = [
        " ".join(
            generator.choice(["the", "film", "was", "it"], size=generator.integers(2, 12)).tolist()
            + [["awful", "great"][label]]
        )
        for label in labels
    ]
    return Corpus.from_texts(texts, labels, test=(texts[:40], labels[:40]))


def small(corpus, arch="gru"):
    return Network(corpus.vocab, arch=arch, hidden=8, embedding=4)


def weights(run):
    return {name: tensor.copy() for name, tensor in read_tensors(run / "weights.safetensors")[0].items()}


def same(first, second):
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_learns_reviews(corpus, arch, tmp_path):
    run = train(small(corpus, arch), corpus, dataclasses.replace(QUICK, epochs=8), tmp_path / "run", test=True)
    assert run.results["accuracy"]["validation"] == 1 and run.results["accuracy"]["test"] == 1
    assert [record["epoch"] for record in run.history] == list(range(1, 9))
    assert rnnlens.load(tmp_path / "run").network.read("great film")[0][1] > 0


def test_toy_targets_are_learnt_at_every_word(tmp_path):
    corpus = toy_corpus(train=8_000, validation=100)
    run = train(
        Network(corpus.vocab, hidden=24, embedding=8),
        corpus,
        TrainConfig(epochs=4, learning_rate=0.01, word_dropout=0, embedding_dropout=0),
        tmp_path / "run",
    )
    losses = [record["validation_loss"] for record in run.history]
    assert losses[-1] < 0.3 * losses[0] and losses[-1] < 5


def test_test_reviews_are_not_touched_unless_asked(corpus, tmp_path):
    run = train(small(corpus), corpus, QUICK, tmp_path / "run")
    assert set(run.results["accuracy"]) == {"validation"}


def test_the_network_that_is_passed_is_trained_in_place(corpus, tmp_path):
    network, again = small(corpus), small(corpus)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    run = train(network, corpus, QUICK, tmp_path / "run")
    assert not any(
        torch.equal(value, before[name]) for name, value in network.named_parameters() if name != "readout_b"
    )
    train(again, corpus, QUICK, tmp_path / "run", resume=True)  # a run that is finished is opened
    for trained in (network, again):
        assert not trained.training and trained is not run.network
        assert all(torch.equal(value, run.network.state_dict()[name]) for name, value in trained.state_dict().items())


@dataclasses.dataclass(frozen=True)
class OwnSplit:
    """The least that a split has: see `rnnlens.corpora.SplitLike`."""

    ids: np.ndarray
    labels: np.ndarray

    def __len__(self):
        return len(self.ids)

    @property
    def lengths(self):
        return np.full(len(self), self.ids.shape[1])

    def batch(self, rows, limit=None):
        return self.ids[rows], self.lengths[rows]


@dataclasses.dataclass(frozen=True)
class OwnCorpus:
    """The least that a corpus has: see `rnnlens.corpora.CorpusLike`."""

    vocab: Vocab
    train: OwnSplit
    validation: OwnSplit | None = None
    test: OwnSplit | None = None
    fingerprint: str = "own"
    about: dict = dataclasses.field(default_factory=lambda: {"source": "own"})


def test_a_corpus_of_ones_own_is_trained_on_sampled_and_probed(tmp_path):
    ids = np.random.default_rng(0).integers(0, 4, (64, 5))
    split = OwnSplit(ids, (ids == 3).any(1).astype(np.uint8))
    own = OwnCorpus(Vocab(["the", "film", "awful", "great"]), split, split, split)
    run = train(small(own), own, dataclasses.replace(QUICK, epochs=1), tmp_path / "run", test=True)
    assert set(run.accuracy) == {"validation", "test"} and rnnlens.evaluate(run.network, split).logits.shape == (64,)
    assert rnnlens.visited_states(run.network, own, n=10).shape == (10, 8)
    assert rnnlens.Probes.from_corpus(own, n=1).positive == ("great",)


def test_killed_runs_resume_bit_for_bit(corpus, tmp_path, monkeypatch):
    train(small(corpus), corpus, QUICK, tmp_path / "whole")
    from rnnlens.training.loop import Trainer

    step, kills = Trainer.step, iter([3, 8, 17, 13, 15, 6])
    countdown = [next(kills)]

    def dies(*arguments):
        countdown[0] -= 1
        if countdown[0] == 0:
            raise KeyboardInterrupt
        return step(*arguments)

    monkeypatch.setattr(Trainer, "step", dies)
    for _ in range(7):
        try:
            train(small(corpus), corpus, QUICK, tmp_path / "killed", resume=True)
        except KeyboardInterrupt:
            countdown[0] = next(kills, 10**9)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "killed"))
    one, other = (rnnlens.load(tmp_path / name).history for name in ("whole", "killed"))
    for record in one + other:
        record.pop("seconds")
    assert one == other


def test_a_run_of_some_steps_ends_within_an_epoch_and_resumes(corpus, tmp_path, monkeypatch):
    """14 steps an epoch: 20 are one and a half, evaluated twice, and the same after being killed in the second."""
    config = dataclasses.replace(QUICK, steps=20)
    whole = train(small(corpus), corpus, config, tmp_path / "whole")
    assert [record["step"] for record in whole.history] == [14, 20]
    from rnnlens.training.loop import Trainer

    step = Trainer.step
    monkeypatch.setattr(Trainer, "step", lambda t, rows: step(t, rows) if t.counters.step != 17 else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(small(corpus), corpus, config, tmp_path / "killed")
    monkeypatch.setattr(Trainer, "step", step)
    about = json.loads((tmp_path / "killed" / "run.json").read_text())
    killed = train(small(corpus), corpus, config, tmp_path / "killed", resume=True)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "killed"))
    assert [record["train_loss"] for record in killed.history] == [record["train_loss"] for record in whole.history]
    assert about["config"]["steps"] == 20


def test_dropped_words_become_no_input_and_embeddings_keep_their_mean():
    ids, generator = torch.ones(200, 100, dtype=torch.long), torch.Generator().manual_seed(0)
    dropped, mask = drop(ids, 3, TrainConfig(word_dropout=0.3, embedding_dropout=0.5), generator)
    assert set(dropped.unique().tolist()) == {PAD, 1} and (dropped == PAD).float().mean() == pytest.approx(
        0.3, abs=0.01
    )
    assert mask.shape == (200, 100, 3) and set(mask.unique().tolist()) == {0.0, 2.0}
    assert mask[dropped != PAD].mean() == pytest.approx(1, abs=0.02) and not mask[dropped == PAD].any()
    same_ids, none = drop(ids, 3, TrainConfig(word_dropout=0, embedding_dropout=0), generator)
    assert torch.equal(same_ids, ids) and none is None


def test_a_masked_batch_is_embedded_as_without_a_mask():
    network = Network(["<unk>", "a", "b"], hidden=4, embedding=3)
    ids, lengths = torch.tensor([[1, 2, PAD], [2, 1, 1]]), torch.tensor([2, 3])
    config, generator = TrainConfig(word_dropout=0.3, embedding_dropout=0.5), torch.Generator().manual_seed(1)
    ids, mask = drop(ids, 3, config, generator)
    plain = network.embed(ids)
    assert mask.any() and (ids == PAD).sum() > 1
    torch.testing.assert_close(network.embed(ids, mask), plain * mask, rtol=0, atol=0)
    given, found = (lengths, torch.tensor([1.0, 0.0])), []
    for embed in (network.embed, lambda ids, mask: Network.embed(network, ids) * mask):
        network.embed = embed
        network.zero_grad()
        loss, *_ = Objective(network)(ids, *given, mask, None)
        loss.backward()
        found.append([loss.detach(), *(p.grad.clone() for p in network.parameters())])
    torch.testing.assert_close(*found, rtol=0, atol=0)
    del network.embed
    with pytest.raises(RnnlensError, match="word ids range from"):
        Objective(network)(ids.clamp(min=0) + 9, *given, mask, None)


def test_arrays_travel_in_one_piece():
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-1, 99, (3, 7)), np.array([7, 5, 2]), np.array([1, 0, 1], np.float32), rng.random(3)]
    for given, found in zip(arrays, unpacked(packed(arrays, pin=False), arrays), strict=True):
        assert np.array_equal(found.numpy(), given) and found.numpy().dtype == given.dtype


def test_gradients_are_clipped_as_by_torch():
    for most in (0.1, 1e6):
        grads = [torch.randn(4, 3), torch.randn(5)]
        parameters = [nn.Parameter(torch.zeros_like(grad)) for grad in grads]
        for parameter, grad in zip(parameters, grads, strict=True):
            parameter.grad = grad.clone()
        nn.utils.clip_grad_norm_(parameters, most)
        clip_gradients(grads, most)
        assert all(torch.equal(p.grad, grad) for p, grad in zip(parameters, grads, strict=True))


def test_words_drop_in_runs_as_often_as_one_by_one():
    ids, mean = torch.ones(400, 300, dtype=torch.long), {}
    for run in (1, 8):
        config = TrainConfig(word_dropout=0.4, dropout_run=run, embedding_dropout=0)
        gone = drop(ids, 3, config, torch.Generator().manual_seed(0))[0] == PAD
        assert gone.float().mean() == pytest.approx(0.4, abs=0.01)
        assert gone[:, 0].float().mean() == pytest.approx(gone[:, -1].float().mean().item(), abs=0.08)
        mean[run] = (gone.sum() / (gone[:, 1:] & ~gone[:, :-1]).sum()).item()  # dropped words a beginning
    # Runs that drop side by side look like one: their lengths grow by 1 / (1 − 0.4).
    assert mean[1] == pytest.approx(1 / 0.6, rel=0.05) and mean[8] == pytest.approx(8 / 0.6, rel=0.1)


@pytest.mark.parametrize("decoupled", [True, False])
def test_updates_are_adams_with_clipping_decay_schedule_and_average(corpus, decoupled, tmp_path):
    """Three steps of the loop against Adam written out."""
    config = TrainConfig(
        epochs=1,
        batch=72,
        learning_rate=0.1,
        schedule="linear",
        warmup=0.4,
        final_rate=0.5,
        momentum=0.8,
        second_momentum=0.9,
        weight_decay=0.3,
        decoupled=decoupled,
        clip=0.05,
        word_dropout=0,
        embedding_dropout=0,
        average=0.5,
        keep="last",
        max_words=3,
    )
    network = small(corpus)
    batches = epoch_batches(corpus.train.lengths, 72, config.seed, 0)
    assert len(batches) == 3
    parameters = {name: p.detach().clone() for name, p in network.named_parameters()}
    average = {name: p.clone() for name, p in parameters.items()}
    first, second = ({name: torch.zeros_like(p) for name, p in parameters.items()} for _ in range(2))
    for t, rows in enumerate(batches):
        ids, lengths = (torch.from_numpy(part) for part in corpus.train.batch(rows, 3))
        labels = torch.from_numpy(corpus.train.labels[rows].astype(np.float32))
        values = {name: p.clone().requires_grad_() for name, p in parameters.items()}
        logits = torch.func.functional_call(network, values, (ids, lengths))
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
        gradients = dict(zip(values, torch.autograd.grad(loss, list(values.values())), strict=True))
        norm = torch.stack([g.norm() for g in gradients.values()]).norm()
        rate = [0.1, 0.075, 0.05][t]  # one step up, then down a line to half
        for name, p in parameters.items():
            g = gradients[name] * min(1.0, 0.05 / (norm.item() + 1e-6))
            if decoupled:
                p.mul_(1 - rate * 0.3)
            else:
                g = g + 0.3 * p
            first[name] = 0.8 * first[name] + 0.2 * g
            second[name] = 0.9 * second[name] + 0.1 * g * g
            p -= rate * (first[name] / (1 - 0.8 ** (t + 1))) / ((second[name] / (1 - 0.9 ** (t + 1))).sqrt() + 1e-8)
            average[name].lerp_(p, 1 - min(0.5, (1 + t) / (10 + t)))
    run = train(network, corpus, config, tmp_path / "run")
    for name, p in run.network.named_parameters():
        torch.testing.assert_close(p.detach(), average[name], rtol=0, atol=2e-5)


def test_best_or_last_epoch_is_kept_as_asked(tmp_path):
    """Validation labels are noise, so the last epoch is not the best."""
    generator = np.random.default_rng(3)
    texts = [" ".join(generator.choice(list("abcdefgh"), 6)) for _ in range(300)]
    corpus = Corpus.from_texts(texts, generator.integers(0, 2, 300), validation=0.3)
    config = TrainConfig(epochs=8, batch=30, learning_rate=0.05)
    runs = {
        keep: train(small(corpus), corpus, dataclasses.replace(config, keep=keep), tmp_path / keep)
        for keep in ("best", "last")
    }
    accuracies = [record["validation_accuracy"] for record in runs["best"].history]
    assert max(accuracies) > accuracies[-1], "the test needs a last epoch that is not the best"
    assert runs["best"].results["accuracy"]["validation"] == max(accuracies)
    assert runs["last"].results["accuracy"]["validation"] == accuracies[-1]


def test_only_the_last_words_are_read(corpus, tmp_path):
    """The deciding word is the last: with all others cut off, training and evaluation see nothing but it."""
    run = train(small(corpus), corpus, dataclasses.replace(QUICK, max_words=1, word_dropout=0), tmp_path / "run")
    cut = rnnlens.evaluate(run.network, corpus.train, max_words=1).logits
    assert len(np.unique(cut.round(4))) == 2, "two words decide: awful and great"
    assert len(np.unique(rnnlens.evaluate(run.network, corpus.train).logits.round(4))) > 2
    untouched = run.network.E[corpus.vocab.index["film"]] - small(corpus).E[corpus.vocab.index["film"]]
    assert untouched.abs().max() == 0, "words that were cut off were not trained"


def test_early_stopping_waits_as_long_as_its_patience(corpus, tmp_path):
    config = dataclasses.replace(QUICK, epochs=30, patience=3, learning_rate=1e-12, average=0.0, warmup=0.0)
    run = train(small(corpus), corpus, config, tmp_path / "run")
    losses = [(record["validation_accuracy"], -record["validation_loss"]) for record in run.history]
    best = max(range(len(losses)), key=lambda i: losses[i])
    assert len(losses) == best + 1 + 3


def test_a_finished_run_can_still_be_tested(corpus, tmp_path):
    train(small(corpus), corpus, QUICK, tmp_path / "run")
    before = weights(tmp_path / "run")
    run = train(small(corpus), corpus, QUICK, tmp_path / "run", resume=True, test=True)
    assert "test" in run.results["accuracy"] and same(before, weights(tmp_path / "run"))


def test_other_folders_and_networks_are_refused(corpus, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(RnnlensError, match="but no run.json: choose another folder"):
        train(small(corpus), corpus, QUICK, tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    with pytest.raises(RnnlensError, match="different words"):
        train(Network(["other", "words"], hidden=4, embedding=2), corpus, QUICK, tmp_path / "run")
    with pytest.raises(RnnlensError, match="device is 'banana'"):
        train(small(corpus), corpus, QUICK, tmp_path / "run", device="banana")
    with pytest.raises(RnnlensError, match="threads is 0"):
        train(small(corpus), corpus, QUICK, tmp_path / "run", threads=0)
    with pytest.raises(RnnlensError, match="precision is 'bf16'"):
        train(small(corpus), corpus, dataclasses.replace(QUICK, precision="bf16"), tmp_path / "run", device="cpu")


def test_what_a_network_cannot_learn_is_refused_before_a_run_is_written(corpus, tmp_path):
    classes = ["a", "b", "c"]
    labels = [classes[i % 3] for i in range(len(corpus.train))]
    texts = [" ".join(corpus.vocab.decode(corpus.train.document(i))) for i in range(len(corpus.train))]
    several = Corpus.from_texts(texts, labels, min_count=1)
    view = Network(several.vocab, hidden=4, embedding=2, classes=classes).of_class("b")
    toy = toy_corpus(train=8, validation=8)
    balanced = dataclasses.replace(QUICK, balance=True)
    for network, texts, config, says in (
        (view, several, QUICK, "the labels are from 0 to 2, and the network has one logit"),
        (small(corpus).requires_grad_(False), corpus, QUICK, "no weight of the network is to be trained"),
        (small(toy), toy, balanced, "balance is True, and this corpus has a target at every word"),
    ):
        with pytest.raises(RnnlensError, match=says):
            train(network, texts, config, tmp_path / "run", progress=False)
    assert not list(tmp_path.iterdir())


def test_a_refused_training_does_not_turn_the_network_around(corpus, tmp_path):
    network = small(corpus)
    train(small(corpus), corpus, QUICK, tmp_path / "run", progress=False)
    with pytest.raises(RnnlensError, match="already holds a run"):
        train(network, rnnlens.reversed_corpus(corpus), QUICK, tmp_path / "run", progress=False)
    assert not network.backward


def test_frozen_embeddings_stay_as_they_are(corpus, tmp_path):
    network = small(corpus)
    network.E.requires_grad_(False)
    before = network.E.clone()
    config = dataclasses.replace(QUICK, sparsity=0.1, weight_decay=0.1)
    train(network, corpus, config, tmp_path / "run", progress=False)
    assert torch.equal(network.E, before)


def test_a_head_that_is_fitted_is_trained_if_its_network_is(corpus):
    network = small(corpus)
    for trainable in (True, False):
        network.requires_grad_(trainable)
        made = rnnlens.fit_readout(network, corpus, progress=False)
        assert made.cell is network.cell and made.E is network.E and made.h0 is network.h0
        assert {parameter.requires_grad for one in (network, made) for parameter in one.parameters()} == {trainable}


def test_a_head_that_is_fitted_to_reversed_texts_reads_backward(corpus):
    network = small(corpus)
    made = rnnlens.fit_readout(network, rnnlens.reversed_corpus(corpus), progress=False)
    assert made.backward and not network.backward


def test_a_double_network_stays_double(corpus, tmp_path):
    run = train(small(corpus).double(), corpus, QUICK, tmp_path / "run")
    assert rnnlens.load(tmp_path / "run").network.h0.dtype == torch.float64 == run.network.h0.dtype


def test_resume_with_another_config_is_refused_and_nothing_lost(corpus, tmp_path):
    train(small(corpus), corpus, QUICK, tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()}
    with pytest.raises(RnnlensError, match="setting learning_rate is '0.02', now '0.01'"):
        train(small(corpus), corpus, dataclasses.replace(QUICK, learning_rate=0.01), tmp_path / "run", resume=True)
    with pytest.raises(RnnlensError, match="network arch is 'gru', now 'lstm'"):
        train(small(corpus, "lstm"), corpus, QUICK, tmp_path / "run", resume=True)
    with pytest.raises(RnnlensError, match="already holds a run"):
        train(small(corpus), corpus, QUICK, tmp_path / "run")
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()}


def test_a_second_process_is_kept_out_of_a_run(corpus, tmp_path):
    from rnnlens.common.files import exclusive

    with exclusive(tmp_path / "run"), pytest.raises(RnnlensError, match="in use by another"):
        train(small(corpus), corpus, QUICK, tmp_path / "run")


def test_a_loss_that_explodes_is_told_and_kept_out_of_checkpoints(corpus, tmp_path, monkeypatch):
    from rnnlens.training.loop import Trainer

    network = small(corpus)
    with torch.no_grad():
        network.readout_b.fill_(float("nan"))
    with pytest.raises(RnnlensError, match=r"the loss is nan .* at step \d+: .* there is no checkpoint"):
        train(network, corpus, QUICK, tmp_path / "run")
    step = Trainer.step

    def explodes(trainer, rows):
        sums = step(trainer, rows)
        if trainer.counters.step == 21:
            with torch.no_grad():
                trainer.network.E.fill_(float("inf"))
        return sums

    monkeypatch.setattr(Trainer, "step", explodes)
    with pytest.raises(RnnlensError, match="at step 24: .* the last checkpoint is intact"):
        train(small(corpus), corpus, QUICK, tmp_path / "late")
    kept = read_tensors(tmp_path / "late" / "checkpoint" / "last.safetensors")
    assert kept[1]["step"] == 20 and all(np.isfinite(array).all() for array in kept[0].values())


def test_a_validation_loss_that_overflows_is_told(corpus, tmp_path):
    """After one huge step the weights are finite, and the logits are not."""
    config = TrainConfig(epochs=1, batch=1000, learning_rate=1e30)
    with pytest.raises(RnnlensError, match="the validation loss is (inf|nan) .* with a learning_rate below 1e.30"):
        train(small(corpus), corpus, config, tmp_path / "run", progress=False)


def test_early_stopping_keeps_the_best_epoch(corpus, tmp_path):
    config = dataclasses.replace(QUICK, epochs=30, patience=2, learning_rate=0.05, average=0.0)
    run = train(small(corpus), corpus, config, tmp_path / "run")
    assert len(run.history) < 30
    best = max(record["validation_accuracy"] for record in run.history)
    assert run.results["accuracy"]["validation"] == best


def test_balance_weighs_the_classes_equally(tmp_path):
    texts = ["the film"] * 90 + ["the film"] * 10
    corpus = Corpus.from_texts(texts, [1] * 90 + [0] * 10, validation=0.0)
    config = TrainConfig(epochs=60, batch=100, learning_rate=0.05, word_dropout=0, embedding_dropout=0)
    plain = train(small(corpus), corpus, config, tmp_path / "plain").network.read("the film")[-1][1]
    balanced = train(small(corpus), corpus, dataclasses.replace(config, balance=True), tmp_path / "b").network.read(
        "the film"
    )[-1][1]
    assert plain == pytest.approx(np.log(9), abs=0.1) and balanced == pytest.approx(0, abs=0.1)


def test_batches_hold_every_review_once_and_depend_on_seed_and_epoch_alone():
    lengths = np.random.default_rng(0).integers(0, 400, 1_003)
    batches = epoch_batches(lengths, 32, seed=1, epoch=2)
    assert sorted(np.concatenate(batches).tolist()) == list(range(1_003))
    assert all(np.array_equal(a, b) for a, b in zip(batches, epoch_batches(lengths, 32, 1, 2), strict=True))
    assert not np.array_equal(batches[0], epoch_batches(lengths, 32, 1, 3)[0])
    padded = sum(len(rows) * lengths[rows].max() for rows in batches)
    assert padded < 1.3 * lengths.sum(), "reviews of like length go together"


def test_evaluation_batches_are_bounded_in_words():
    lengths = np.array([0, 5, 3, 100_000, 7, 7, 50])
    batches = token_batches(lengths, tokens=64, most=4)
    assert sorted(np.concatenate(batches).tolist()) == list(range(7))
    assert all(len(rows) == 1 or len(rows) * lengths[rows].max() <= 64 for rows in batches)


@pytest.mark.parametrize("schedule", ["cosine", "linear", "exponential", "constant"])
def test_the_learning_rate_rises_then_falls(schedule):
    config = TrainConfig(learning_rate=1.0, schedule=schedule, warmup=0.1, final_rate=0.01)
    rates = [config.rate(step, 100) for step in range(100)]
    assert rates[0] == 0.1 and max(rates) == pytest.approx(1.0, rel=0.06)
    assert rates[-1] == pytest.approx(1.0 if schedule == "constant" else 0.01)
    assert all(a >= b for a, b in zip(rates[10:], rates[11:], strict=False))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"epochs": 0}, "epochs is 0"),
        ({"word_dropout": 1.0}, "word_dropout is 1.0"),
        ({"dropout_run": 0.5}, "dropout_run is 0.5"),
        ({"batch": -1}, "batch is -1"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"schedule": "zigzag"}, "schedule is 'zigzag'"),
        ({"max_words": 0}, "max_words is 0"),
        ({"precision": "int8"}, "precision is 'int8'"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_bad_settings_are_told(wrong, told):
    with pytest.raises(RnnlensError) as error:
        TrainConfig(**wrong)
    assert told in str(error.value)


def test_extremes_of_length_train(tmp_path):
    """A review of 100,000 words, an empty one, and one with no known word."""
    texts = ["great " * 100_000, "", "qqq www", *["great"] * 10, *["awful"] * 10]
    corpus = Corpus.from_texts(texts, [1, 0, 1, *[1] * 10, *[0] * 10], validation=0.1, min_count=2)
    run = train(small(corpus), corpus, TrainConfig(epochs=2, batch=4), tmp_path / "run")
    evaluation = rnnlens.evaluate(run.network, corpus.train)
    assert np.isfinite(evaluation.logits).all()


def test_history_is_plain_json(corpus, tmp_path):
    train(small(corpus), corpus, QUICK, tmp_path / "run")
    for line in (tmp_path / "run" / "history.jsonl").read_text().splitlines():
        assert {"epoch", "step", "train_loss", "validation_accuracy", "seconds"} <= json.loads(line).keys()


def test_useless_words_end_at_zero_under_sparsity(corpus, tmp_path):
    """Sparsity alone moves words: those that stand in no review reach exactly zero, and never move away."""
    plain, sparse = (
        train(
            small(corpus),
            corpus,
            dataclasses.replace(QUICK, epochs=4, average=0.0, sparsity=some),
            tmp_path / str(some),
        ).network
        for some in (0.0, 100.0)
    )
    lengths = [network.E.detach().norm(dim=1) for network in (plain, sparse)]
    assert (lengths[0] > 0).all() and (lengths[1] == 0).any() and lengths[1].mean() < lengths[0].mean()


def test_a_large_epsilon_makes_words_follow_their_gradient(corpus, tmp_path):
    """Adam moves seldom seen words as far as others; with an epsilon far above all gradients words hardly move."""
    moved = []
    for epsilon in (1e-8, 1e3):
        before = small(corpus).E.detach().clone()
        config = dataclasses.replace(QUICK, epochs=1, word_epsilon=epsilon, weight_decay=0.0)
        after = train(small(corpus), corpus, config, tmp_path / str(epsilon)).network.E.detach()
        moved.append(float((after - before).norm()))
    assert moved[1] < 1e-3 * moved[0]
