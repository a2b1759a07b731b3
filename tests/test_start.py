"""Training goes on from a trained network: known words stay as they were, new words begin small."""

import csv
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

import rnnlens
from rnnlens import Corpus, RnnlensError, TrainConfig, Vocab, extend
from rnnlens.cli import main
from rnnlens.common.files import read_tensors
from rnnlens.corpora import PAD
from rnnlens.corpora.splits import Split
from rnnlens.runs import zoo
from rnnlens.training.fine_tuning import KEPT, start_config
from rnnlens.training.loop import Trainer

QUICK = TrainConfig(epochs=2, batch=16, learning_rate=0.02, embedding_dropout=0, checkpoint_every=3)


def texts(good, bad, n=120, fill=("the", "film", "was", "it")):
    """Reviews whose label is decided by one word, among neutral ones."""
    generator = np.random.default_rng(0)
    return [" ".join([*generator.choice(fill, size=6), [bad, good][i % 2]]) for i in range(n)], np.arange(n) % 2


def write_csv(path, *words, **options):
    with Path(path).open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        rows.writerows(zip(*texts(*words, **options), strict=True))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trained run and two files of reviews with other words."""
    folder = tmp_path_factory.mktemp("start")
    corpus = Corpus.from_texts(*texts("great", "awful"))
    rnnlens.train(rnnlens.Network(corpus.vocab, hidden=8, embedding=4), corpus, QUICK, folder / "first")
    write_csv(folder / "mine.csv", "yummy", "stale", fill=("the", "soup", "was", "great"))
    write_csv(folder / "other.csv", "cozy", "noisy", fill=("the", "room", "was", "great"))
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def first(folder):
    return rnnlens.load(folder / "first")


@pytest.fixture
def mine(folder):
    return Corpus.from_texts(*texts("yummy", "stale", fill=("the", "soup", "was", "great")))


def command(*words):
    with pytest.raises(SystemExit) as stop:
        main(["train", *(str(word) for word in words)])
    return stop.value.code


def weights(path):
    return {name: tensor.copy() for name, tensor in read_tensors(path / "weights.safetensors")[0].items()}


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


# --- the network


def test_known_words_keep_their_ids_and_vectors_and_new_ones_begin_small(first, mine):
    network = extend(first.network, mine.vocab)
    old = len(first.vocab)
    assert network.vocab.words == (*first.vocab.words, *(w for w in mine.vocab.words if w not in first.vocab))
    assert {"yummy", "stale", "soup"} == set(network.vocab.words[old:])
    assert torch.equal(network.E[:old], first.network.E)
    norms = first.network.E.norm(dim=1)
    assert torch.allclose(network.E[old:].norm(dim=1), 0.1 * norms.median())
    assert network.vocab.unk == first.vocab.unk != PAD


def test_a_started_network_reads_old_sentences_exactly_as_before(first, mine):
    network = extend(first.network, mine.vocab)
    for text in ("the film was great", "awful film", "Great <pad> GREAT it"):
        assert network.read(text) == first.network.read(text)


def test_extending_changes_neither_network_nor_seed_of_others(first, mine):
    before = {name: tensor.clone() for name, tensor in first.network.state_dict().items()}
    network = extend(first.network, mine.vocab, seed=1)
    assert torch.equal(network.E, extend(first.network, mine.vocab, seed=1).E)
    assert not torch.equal(network.E, extend(first.network, mine.vocab, seed=2).E)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(1)
    assert all(torch.equal(before[name], tensor) for name, tensor in first.network.state_dict().items())
    assert extend(first.network.double(), mine.vocab).E.dtype == torch.float64


def test_a_packaged_network_can_be_extended(mine):
    run = rnnlens.load(f"zoo:{zoo.names()[0]}")
    network = extend(run.network, Vocab(["<unk>", "the", "qwertyish"]))
    assert network.vocab.words[len(run.vocab) :] == ("qwertyish",)
    assert network.read("not the best") == run.network.read("not the best")
    assert run.name == f"zoo:{zoo.names()[0]}"


def test_a_network_without_words_is_refused():
    readout = torch.ones(3), torch.tensor(0.0)
    wordless = rnnlens.adapt(lambda h, e: torch.tanh(h + e), None, readout, None, torch.zeros(3), inputs=3)
    with pytest.raises(RnnlensError, match="no words"):
        extend(wordless, Vocab(["a"]))


# --- the words


@pytest.mark.parametrize(
    ("known", "new", "words", "ids"),
    [
        (["<unk>", "good"], ["<unk>", "good", "new"], ["<unk>", "good", "new"], [0, 1, 2]),
        (["good", "[UNK]"], ["new", "<unk>"], ["good", "[UNK]", "new"], [2, 1]),
        (["good"], ["<unk>", "good"], ["good", "<unk>"], [1, 0]),  # without an unknown word it is one more new word
        (["good"], ["Good", "New", "new"], ["good", "new"], [0, 1, 1]),  # not cased: it stays so
        (["Good", "bad"], ["good", "Bad", "New"], ["Good", "bad", "good", "New"], [2, 1, 3]),  # cased
        (["good"], ["<pad>", "new"], ["good", "new"], [PAD, 1]),  # blank input stays blank
    ],
)
def test_vocabularies_are_joined_word_by_word(known, new, words, ids):
    joined = Vocab(known).extended(Vocab(new))
    assert joined.words == tuple(words) and joined.cased == Vocab(known).cased
    assert joined.ids_of(Vocab(new)).tolist() == ids


def test_counts_are_of_both_trainings():
    known, new = Vocab(["a", "b"], [5, 3]), Vocab(["b", "B", "c"], [10, 1, 2])
    assert known.extended(new).counts.tolist() == [5, 14, 2]
    assert known.extended(Vocab(["c"])).counts is None


# --- the corpus


def test_reviews_are_the_same_words_in_other_ids(first, mine):
    vocab = first.vocab.extended(mine.vocab)
    corpus = mine.with_vocab(vocab)
    for name, split in mine.splits.items():
        recoded = corpus.splits[name]
        for i in (0, 3, len(split) - 1):
            assert vocab.decode(recoded.document(i)) == mine.vocab.decode(split.document(i))
        ids, lengths = recoded.batch([0, 1], max_words=3)
        assert [vocab.decode(row[:n]) for row, n in zip(ids, lengths, strict=True)] == [
            mine.vocab.decode(split.document(i)[-3:]) for i in (0, 1)
        ]
        taken, whole = recoded.take([1, 0]), np.asarray(recoded.ids)
        assert np.array_equal(taken.ids, np.concatenate([recoded.document(1), recoded.document(0)]))
        assert np.array_equal(np.arange(len(vocab))[whole], whole) and recoded.ids.shape == whole.shape
    assert mine.with_vocab(mine.vocab) is mine
    back = corpus.with_vocab(mine.vocab)
    assert back.fingerprint == mine.fingerprint != corpus.fingerprint


def test_words_that_a_vocabulary_lacks_become_unknown_or_blank(mine):
    with_unknown, without = Vocab(["great", "<unk>"]), Vocab(["great"])
    assert set(np.asarray(mine.with_vocab(with_unknown).train.ids).tolist()) == {0, 1}
    assert set(np.asarray(mine.with_vocab(without).train.ids).tolist()) == {0, PAD}
    twice = mine.with_vocab(without).with_vocab(with_unknown)
    assert set(np.asarray(twice.train.ids).tolist()) == {0, PAD}


def test_a_mapped_corpus_is_not_copied(tmp_path):
    ids = np.lib.format.open_memmap(tmp_path / "ids.npy", "w+", np.uint16, (20_000_000,))
    split = Split(ids, np.arange(0, 20_000_001, 200), np.zeros(100_000, np.uint8))
    corpus = Corpus(Vocab(["a", "b"]), split)
    tracemalloc.start()
    recoded = corpus.with_vocab(Vocab(["b", "a"]))
    assert recoded.train.document(99_999).tolist() == [1] * 200
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.7 * ids.nbytes


# --- training


def test_a_run_says_what_it_started_from(folder, first, tmp_path, capsys):
    command(folder / "mine.csv", "--start", folder / "first", "--out", tmp_path / "run", "--epochs", 2, "--seed", 3)
    run, corpus = rnnlens.load(tmp_path / "run"), rnnlens.load_corpus(folder / "mine.csv")
    assert run.about["start"] == {"name": "first", "weights": first.provenance["weights"], "words": len(first.vocab)}
    assert run.about["network"] == first.about["network"] and run.about["corpus"]["recoded"] == corpus.fingerprint
    kept = {name: getattr(first.config, name) for name in KEPT}
    assert kept.items() <= run.about["config"].items() and run.config.epochs == 2
    assert run.config == start_config(first, epochs=2, seed=3)
    by_hand = extend(first.network, corpus.vocab, seed=3)
    again = rnnlens.train(
        by_hand, corpus.with_vocab(by_hand.vocab), run.config, tmp_path / "again", start=first, progress=False
    )
    assert same(weights(tmp_path / "run"), weights(tmp_path / "again"))
    assert again.about["start"] == run.about["start"]
    from rnnlens.cli import main

    with pytest.raises(SystemExit):
        main(["info", str(tmp_path / "run")])
    assert f"first ({len(first.vocab)} words" in capsys.readouterr().out
    rnnlens.export(run, tmp_path / "hub")
    assert "| started from | first |" in (tmp_path / "hub" / "README.md").read_text()
    assert rnnlens.load(tmp_path / "hub").network.read("yummy soup") == run.network.read("yummy soup")


def test_reviews_are_analyzed_in_the_runs_words(folder, tmp_path):
    """The corpus as it was prepared is what a user has: it is read in the run's words, also after a refit."""
    many = write_csv(tmp_path / "many.csv", "yummy", "stale", fill=[f"{a}{b}" for a in "abcdef" for b in "uvwxyz"])
    for flags in ([], ["--refit"]):
        out = tmp_path / f"run{len(flags)}"
        command(many, "--start", folder / "first", "--out", out, "--steps", 2, *flags)
        corpus = rnnlens.load_corpus(many)
        found = rnnlens.analyze(out, corpus, accuracy=False)
        assert "yummy" in found.modifiers.words
        found.save()
        assert rnnlens.load(out).is_analyzed()
    other = Corpus.from_texts(*texts("yummy", "stale"))
    with pytest.raises(RnnlensError, match="with_vocab"):
        rnnlens.analyze(tmp_path / "run0", other)
    with pytest.raises(RnnlensError, match="names another corpus"):
        rnnlens.analyze(tmp_path / "run0", other.with_vocab(rnnlens.load(tmp_path / "run0").vocab))


def test_a_killed_run_resumes_bit_for_bit(folder, tmp_path, monkeypatch):
    given = (folder / "mine.csv", "--start", folder / "first", "--checkpoint-every", 3, "--epochs", 3, "--batch", 16)
    command(*given, "--out", tmp_path / "whole")
    step, kills = Trainer.step, iter([2, 5, 4])
    countdown = [next(kills)]

    def dies(*arguments):
        countdown[0] -= 1
        if countdown[0] == 0:
            raise KeyboardInterrupt
        return step(*arguments)

    monkeypatch.setattr(Trainer, "step", dies)
    codes = []
    for _ in range(4):
        try:
            codes.append(command(*given, "--out", tmp_path / "killed", "--resume"))
        except KeyboardInterrupt:
            codes.append(None)
        countdown[0] = next(kills, 10**9)
    assert (tmp_path / "killed" / "weights.safetensors").exists() and codes[-1] == 0 and codes.count(0) == 1
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "killed"))


def test_resuming_from_another_start_is_refused(folder, first, tmp_path, capsys):
    second = rnnlens.train(first.network, Corpus.from_texts(*texts("great", "awful")), QUICK, tmp_path / "second")
    out = tmp_path / "run"
    command(folder / "mine.csv", "--start", folder / "first", "--out", out, "--steps", 2)
    about = json.loads((out / "run.json").read_text())
    for start in (["--start", second.path], ["--hidden", 8, "--embedding", 4]):
        assert command(folder / "mine.csv", *start, "--out", out, "--steps", 2, "--resume")
        error = capsys.readouterr().err
        assert f"it started from '{about['start']['name']}'; start from it again (--start)" in error
    second.path.rename(tmp_path / "first")
    assert command(folder / "mine.csv", "--start", tmp_path / "first", "--out", out, "--steps", 2, "--resume")
    assert "it started from other weights of 'first', which was trained again since" in capsys.readouterr().err
    assert json.loads((out / "run.json").read_text()) == about


def test_several_sources_keep_theirs(folder, tmp_path):
    corpus = rnnlens.load_corpus([folder / "mine.csv", folder / "other.csv"])
    first = rnnlens.load(folder / "first")
    network = extend(first.network, corpus.vocab)
    recoded = corpus.with_vocab(network.vocab)
    assert recoded.sources == ("mine", "other") and np.array_equal(recoded.test.sources, corpus.test.sources)
    run = rnnlens.train(network, recoded, start_config(first, epochs=1), tmp_path / "run", start=first, test=True)
    assert set(run.accuracy["validation_sources"]) == set(run.accuracy["test_sources"]) == {"mine", "other"}
    one = recoded.only(["other"])
    assert "cozy" in {network.vocab.words[i] for i in np.asarray(one.train.ids)}
    run.check_corpus(run.in_own_words(corpus))


def test_ids_of_other_words_are_never_read(first, mine):
    with pytest.raises(RnnlensError, match="different words"):
        rnnlens.visited_states(first.network, mine)
    network = extend(first.network, mine.vocab)
    assert rnnlens.visited_states(network, mine.with_vocab(network.vocab), n=50).shape == (50, 8)


# --- refusals


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--arch", "lstm"], "arch is 'lstm', but"),
        (["--hidden", 16], "hidden is 16, but"),
        (["--embedding", 8], "embedding is 8, but"),
        (["--memory", 100], "memory is 100.0, but"),
        (["--tuned"], "new networks"),
    ],
)
def test_another_shape_is_refused_in_one_line_and_nothing_is_written(folder, tmp_path, capsys, flags, said):
    out = tmp_path / "run"
    assert command(folder / "mine.csv", "--start", folder / "first", "--out", out, *flags)
    told = capsys.readouterr().err.strip()
    assert said in told and "\n" not in told and not out.exists()


@pytest.mark.parametrize(
    ("corpus", "start", "said"),
    [
        ("toy", "first", "toy language"),
        ("mine.csv", "zoo:nothing", "no packaged network"),
        ("mine.csv", "mine.csv", "not a run folder but a file"),
    ],
)
def test_what_cannot_be_started_from_is_refused(folder, tmp_path, capsys, monkeypatch, corpus, start, said):
    monkeypatch.chdir(folder)
    assert command(corpus, "--start", start, "--out", tmp_path / "run")
    assert said in capsys.readouterr().err and not (tmp_path / "run").exists()


def test_its_own_shape_may_be_given(folder, tmp_path):
    flags = ("--arch", "gru", "--hidden", 8, "--embedding", 4, "--steps", 1)
    assert not command(folder / "mine.csv", "--start", folder / "first", "--out", tmp_path / "run", *flags)


def test_a_network_of_another_run_is_refused(first, mine, tmp_path):
    with pytest.raises(RnnlensError, match="with_vocab"):
        rnnlens.train(extend(first.network, mine.vocab), mine, QUICK, tmp_path / "run")
    with pytest.raises(RnnlensError, match="not made from the run 'first'"):
        rnnlens.train(rnnlens.Network(mine.vocab, hidden=8, embedding=4), mine, QUICK, tmp_path / "run", start=first)
    assert not (tmp_path / "run").exists()
