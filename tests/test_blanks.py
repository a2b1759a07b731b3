"""`blanks`: stretches of blank inputs among the words of training reviews."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlens import Network, TrainConfig, train
from rnnlens.common.files import read_tensors
from rnnlens.corpora import PAD, Corpus
from rnnlens.training.dropping import insert_blanks
from rnnlens.training.loop import BLANKS_EVERY, Trainer

CONFIG = TrainConfig(
    epochs=2, batch=8, learning_rate=0.02, word_dropout=0.2, embedding_dropout=0.2, checkpoint_every=3, blanks=7
)


@pytest.fixture(scope="module")
def corpus():
    """Reviews of 2 to 12 words whose last word decides their label."""
    generator = np.random.default_rng(0)
    labels = np.arange(100) % 2
    sizes = generator.integers(1, 12, len(labels))
    texts = [
        " ".join([*generator.choice(["the", "film", "was"], size).tolist(), ["awful", "great"][label]])
        for size, label in zip(sizes, labels, strict=True)
    ]
    return Corpus.from_texts(texts, labels, validation=0.2)


def small(corpus):
    return Network(corpus.vocab, arch="gru", hidden=6, embedding=4)


def weights(run):
    return {name: tensor.copy() for name, tensor in read_tensors(run.path / "weights.safetensors")[0].items()}


def same(first, second):
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 12), st.data())
@settings(max_examples=50, deadline=None)
def test_a_stretch_of_blanks_stands_before_the_word_asked_for_and_nothing_else_changes(sizes, blanks, data):
    width = max(sizes)
    rows = [[10 * r + t for t in range(size)] for r, size in enumerate(sizes)]
    ids = torch.tensor([row + [PAD] * (width - len(row)) for row in rows])
    places = [data.draw(st.integers(0, size)) for size in sizes]  # `size`: after the last word
    longer, lengths = insert_blanks(ids, torch.tensor(sizes), torch.tensor(places), blanks)
    assert longer.shape == (len(sizes), width + blanks) and lengths.tolist() == [size + blanks for size in sizes]
    for row, place, found, length in zip(rows, places, longer.tolist(), lengths.tolist(), strict=True):
        assert found[:length] == [*row[:place], *[PAD] * blanks, *row[place:]]
        assert set(found[length:]) <= {PAD}


def trainer(corpus, config, tmp_path, process=0, processes=1):
    """A trainer as one of several processes has it, without the other processes; and what its network is given."""
    given = []

    def prepared(model):
        def forward(*batch):
            ids, lengths, _, mask, *_ = batch
            given.append((ids, lengths, mask))
            return model(*batch)

        return forward

    accelerator = SimpleNamespace(
        is_main_process=process == 0,
        device=torch.device("cpu"),
        process_index=process,
        num_processes=processes,
        prepare_model=prepared,
    )
    return Trainer(small(corpus), corpus, config, tmp_path, accelerator, resume=False), given


def test_blanks_come_at_every_fifth_step_at_random_places(corpus, tmp_path):
    config = dataclasses.replace(CONFIG, word_dropout=0.0, embedding_dropout=0.0)
    one, given = trainer(corpus, config, tmp_path)
    rows = np.arange(40)
    plain, sizes = corpus.train.batch(rows)
    for step in range(2 * BLANKS_EVERY):
        one.counters.step = step
        one.step(rows)
    places = []
    for step, (ids, lengths, _) in enumerate(given):
        added = config.blanks if step % BLANKS_EVERY == 0 else 0
        assert lengths.tolist() == (sizes + added).tolist()
        for words, size, row in zip(plain.tolist(), sizes.tolist(), ids.tolist(), strict=True):
            assert [word for word in row if word != PAD] == words[:size]
            if added:
                places.append(row.index(PAD) / size)
    assert min(places) == 0 and max(places) == 1 and 0.4 < np.mean(places) < 0.6


@pytest.mark.parametrize("processes", [2, 3])
def test_processes_that_share_a_batch_insert_the_same_blanks(corpus, tmp_path, processes):
    rows = np.arange(7)
    alone, whole = trainer(corpus, CONFIG, tmp_path)
    alone.step(rows)
    ((ids, lengths, mask),) = whole
    for process in range(processes):
        shared, part = trainer(corpus, CONFIG, tmp_path, process, processes)
        shared.step(rows)
        ((mine, sizes, kept),) = part
        share, width = slice(process, None, processes), mine.shape[1]
        assert torch.equal(sizes, lengths[share])
        assert torch.equal(mine, ids[share, :width]) and torch.equal(kept, mask[share, :width])


def test_a_killed_run_with_blanks_resumes_bit_for_bit(corpus, tmp_path, monkeypatch):
    whole = train(small(corpus), corpus, CONFIG, tmp_path / "whole", progress=False)
    step = Trainer.step
    for kill in (5, 11):  # right before a step with blanks, and right after one
        monkeypatch.setattr(Trainer, "step", lambda t, rows, at=kill: step(t, rows) if t.counters.step != at else 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(small(corpus), corpus, CONFIG, tmp_path / "killed", resume=True, progress=False)
    monkeypatch.setattr(Trainer, "step", step)
    resumed = train(small(corpus), corpus, CONFIG, tmp_path / "killed", resume=True, progress=False)
    assert same(weights(whole), weights(resumed))
    assert [line["train_loss"] for line in resumed.history] == [line["train_loss"] for line in whole.history]
    without = train(small(corpus), corpus, dataclasses.replace(CONFIG, blanks=0), tmp_path / "none", progress=False)
    assert not same(weights(whole), weights(without))
