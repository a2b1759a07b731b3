"""Grades, groups and next words: what labels between yes and no teach, and that no text is in two parts."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from reproduction.nulls import shuffled
from tests.support.forks import SERVER
from tests.support.saving import save_corpus

from rnnlens import Corpus, Network, Probes, RnnlensError, TrainConfig, Vocab, evaluate
from rnnlens.baselines import BagOfWords
from rnnlens.common.errors import RnnlensWarning
from rnnlens.context import Reviews
from rnnlens.corpora import load_corpus, prepare, reversed_corpus
from rnnlens.corpora.grades import labels_of
from rnnlens.training.loop import Trainer, train
from rnnlens.training.next_word import NextWord, draw_places, next_words
from rnnlens.training.weighting import document_weights

STEPS = ["very bad", "bad", "plain", "good", "very good"]
STARS = [0.03, 0.2, 0.5, 0.8, 0.97]


def graded(n: int = 400) -> Corpus:
    """Texts of one or two words, with the grade that their words have."""
    rows = np.arange(n) % 5
    return Corpus.from_texts([f"{STEPS[row]} film{i % 7}" for i, row in enumerate(rows)], grades=np.array(STARS)[rows])


def small(corpus: Corpus, arch: str = "gru") -> Network:
    return Network(corpus.vocab, arch, hidden=12, embedding=6, seed=0, scale=0.3)


def write(path: Path, labels: list, **columns: list) -> Path:
    words = [f"text number {i} says word{i} and word{i + 1}" for i in range(len(labels))]
    pl.DataFrame({"text": words, "label": labels, **columns}, strict=False).write_csv(path)
    return path


@pytest.mark.parametrize(
    ("labels", "column", "graded_", "grades"),
    [
        ([1, 2, 3, 4, 5], "stars", None, {"1": 0.03, "2": 0.2, "3": 0.5, "4": 0.8, "5": 0.97}),
        ([1, 3, 4, 6, 7, 10], "rating", None, {"1": 0.03, "10": 0.97, "6": 0.5}),
        ([0, 0.25, 0.5, 0.9, 1], "grade", True, {"0": 0, "0.25": 0.25, "0.5": 0.5, "0.9": 0.9, "1": 1}),
        ([-1, 0, 1], "label", True, {"-1": 0.03, "0": 0.5, "1": 0.97}),
        (["negative", "neutral", "positive"], "label", True, {"negative": 0.03, "neutral": 0.5, "positive": 0.97}),
        ([1.5, 3, 4.5], "stars", True, {"1.5": 0.115, "3": 0.5, "4.5": 0.885}),
        (["negative", "neutral", "positive"], "label", None, {}),
        ([1, 2, 3, 4, 5], "stars", False, {}),
        ([1, 5], "stars", None, {}),
        ([2, 5], "stars", True, {"2": 0.2, "5": 0.97}),
        ([0, 1], "label", True, {}),
    ],
)
def test_labels_of_a_known_scale_become_targets(tmp_path, labels, column, graded_, grades) -> None:
    rows = [label for label in labels for _ in range(20)] + [None] * 3
    source = write(tmp_path / "a.csv", rows)
    pl.read_csv(source, infer_schema=False).rename({"label": column}).write_csv(source)
    corpus = prepare(source, tmp_path / "out", label=column, graded=graded_, test=0, validation=0, min_count=1)
    assert {name: corpus.about.get("targets", {}).get(name) for name in grades} == grades
    split = load_corpus(tmp_path / "out").train
    assert (split.grades is None) == (not grades)
    if grades:
        assert sorted(set(split.grades.round(4).tolist())) == sorted(
            {np.float32(v).round(4).item() for v in corpus.about["targets"].values()}
        )
        assert (split.labels == np.where(split.grades == 0.5, 2, split.grades > 0.5)).all()
        assert corpus.about["dropped"]["no class"] == 3


def test_targets_of_stars_are_a_setting(tmp_path) -> None:
    source = write(tmp_path / "a.csv", [1, 2, 3, 4, 5] * 10)
    corpus = prepare(source, tmp_path / "out", targets=(0.75, 1.0), test=0, validation=0)
    assert list(corpus.about["targets"].values()) == [0, 0.25, 0.5, 0.75, 1]


def test_a_column_of_many_grades_is_recorded_by_its_ends(tmp_path) -> None:
    grades = np.linspace(0, 1, 12_000)
    corpus = prepare(write(tmp_path / "a.csv", grades.tolist()), tmp_path / "out", graded=True, min_count=1)
    assert corpus.about["targets"] == {"0": 0, "1": 1}
    assert corpus.about["classes"]["negative"].endswith("(6,000 values)")
    assert (tmp_path / "out" / "corpus.json").stat().st_size < 10_000
    assert len(np.unique(corpus.train.grades)) == len(corpus.train) == 8_640


def test_a_network_learns_how_positive_a_text_is(tmp_path) -> None:
    corpus = graded()
    config = TrainConfig(epochs=100, learning_rate=0.02, word_dropout=0.0, embedding_dropout=0.0)
    run = train(small(corpus), corpus, config, tmp_path / "run", progress=False)
    read = [torch.sigmoid(run.network(text)).item() for text in STEPS]
    assert np.allclose(read, STARS, atol=0.2) and read == sorted(read)
    assert run.accuracy["validation"] == 1.0


def test_neutral_texts_are_trained_on_and_left_out_of_everything_that_needs_two_sides(tmp_path) -> None:
    corpus = graded()
    assert (corpus.train.labels == 2).sum() == 80 and set(corpus.validation.labels.tolist()) == {0, 1}
    network = small(corpus)
    on_train = evaluate(network, corpus.train)
    right = (on_train.logits > 0) == (corpus.train.grades > 0.5)
    assert on_train.accuracy == pytest.approx(right[corpus.train.labels != 2].mean())
    assert corpus.train.decided.labels.max() == 1 and len(corpus.train.decided) == len(corpus.train) - 80
    hard = Corpus.from_texts(
        [" ".join(corpus.vocab.decode(corpus.train.decided.document(i))) for i in range(len(corpus.train.decided))],
        corpus.train.decided.labels,
        validation=0,
    )
    soft = {word for side in (Probes.from_corpus(corpus, n=2),) for word in (*side.positive, *side.negative)}
    assert soft == {w for side in (Probes.from_corpus(hard, n=2),) for w in (*side.positive, *side.negative)}
    bag = BagOfWords(epochs=30).fit(corpus)
    assert bag.score(corpus.validation) == bag.score(corpus.train) == 1.0
    assert (Reviews.to_read(corpus.train, network).labels == (corpus.train.decided.labels == 1)).all()
    weights = document_weights(corpus, TrainConfig(balance=True))
    assert np.allclose(weights[corpus.train.labels == 2], 1)
    assert weights[corpus.train.labels == 0].sum() == pytest.approx(weights[corpus.train.labels == 1].sum(), rel=1e-5)


def test_a_group_is_in_one_part_whatever_its_source(tmp_path) -> None:
    """Reviews and their rewritten versions: a pair in two parts would be learned by heart."""
    names, numbers = ("films", "again"), {}
    for name, n in zip(names, (200, 120), strict=True):
        texts = [f"{name} number {' '.join(str(i))}" for i in range(n)]
        of = [None if i > 196 else i for i in range(n)]
        pl.DataFrame({"text": texts, "label": [0, 1] * (n // 2), "original": of}).write_csv(tmp_path / f"{name}.csv")
    paths = [tmp_path / f"{name}.csv" for name in names]
    corpus = prepare(paths, tmp_path / "out", group="original", seed=3, min_count=1)
    for part, split in corpus.splits.items():
        for i in range(len(split)):
            digits = corpus.vocab.decode(split.document(i))[2:]
            numbers.setdefault(part, {}).setdefault(int(split.sources[i]), set()).add(int("".join(digits)))
    for part, by_source in numbers.items():
        for other, others in numbers.items():
            if part != other:
                assert not by_source[1] & {n for n in others[0] if n < 197}
                assert not by_source[0] & others[0]
    assert 40 <= len(numbers["test"][0]) <= 45 and 20 <= len(numbers["test"][1]) <= 30
    assert sum(len(by_source[0]) for by_source in numbers.values()) == 200, "no row is lost"


def test_rows_whose_group_is_in_the_sources_own_test_split_are_left_out_and_counted(tmp_path) -> None:
    folder = tmp_path / "films"
    folder.mkdir()
    write(folder / "train.csv", [0, 1] * 50, film=[i // 10 for i in range(100)])
    write(folder / "test.csv", [0, 1] * 5, film=[3] * 10)
    corpus = prepare(folder, tmp_path / "out", group="film", validation=0.2)
    assert corpus.about["dropped"]["of a group in validation or test"] == 10
    assert len(corpus.train) == 80 and len(corpus.validation) == 10, "whole films, at most the share that was asked for"


@pytest.mark.parametrize("kind", ["files", "folder of texts"])
def test_runs_of_neighbors_of_a_class_stay_together(tmp_path, kind) -> None:
    """In the order of the file, the first row counted too, which has no text; rows of test are no neighbors."""
    source, labels = tmp_path / "films", np.random.default_rng(0).integers(0, 2, 1000)
    texts = ["", *(f"film {' '.join(str(i))}" for i in range(1, 1000))]
    if kind == "files":
        source.mkdir()
        pl.DataFrame({"text": texts, "label": labels}).write_csv(source / "train.csv")
        pl.DataFrame({"text": texts[1:101], "label": labels[1:101]}).write_csv(source / "test.csv")
    else:
        for i, (text, label) in enumerate(zip(texts, labels, strict=True)):
            folder = source / "train" / ("neg", "pos")[label]
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{i:04}.txt").write_text(text)
    corpus = prepare(source, tmp_path / "out", group=50, seed=1, min_count=1)
    run = [(label, np.count_nonzero(labels[:i] == label) // 50) for i, label in enumerate(labels)]
    found = {}
    for part in ("train", "validation") if kind == "files" else corpus.splits:
        split = corpus.splits[part]
        found[part] = [int("".join(corpus.vocab.decode(split.document(i))[1:])) for i in range(len(split))]
    runs = [{run[i] for i in numbers} for numbers in found.values()]
    assert sum(map(len, runs)) == len(set.union(*runs)) == len(set(run)), "no run is in two parts"
    assert sorted(i for numbers in found.values() for i in numbers) == list(range(1, 1000)), "no row is lost"
    assert 50 <= len(found["validation"]) <= 100 and corpus.about["dropped"]["of a group in validation or test"] == 0


def test_rows_without_a_group_are_on_their_own(tmp_path) -> None:
    for name, empty, rest in (("a.jsonl", "", "{}"), ("b.parquet", float("nan"), None)):
        groups = [empty] * 60 + [i // 2 if rest is None else rest.format(i // 2) for i in range(40)]
        frame = pl.DataFrame({"text": [f"text w{i}" for i in range(100)], "label": [0, 1] * 50, "film": groups})
        (frame.write_ndjson if rest else frame.write_parquet)(tmp_path / name)
        corpus = prepare(tmp_path / name, tmp_path / f"{name}.out", group="film", min_count=1)
        assert [len(split) for split in corpus.splits.values()] == [pytest.approx(n, abs=2) for n in (72, 8, 20)]


def test_a_group_that_is_larger_than_a_part_stays_in_training(tmp_path) -> None:
    groups = [0] * 100 + [1 + i // 2 for i in range(100)]
    source = write(tmp_path / "a.csv", [0, 1] * 100, film=groups)
    for seed in range(6):
        corpus = prepare(source, tmp_path / str(seed), group="film", seed=seed)
        assert [len(split) for split in corpus.splits.values()] == [144, 16, 40]
    write(source, [0, 1] * 100, film=[i // 100 for i in range(200)])
    with pytest.warns(RnnlensWarning, match="no reviews are held out for test: every group"):
        assert list(prepare(source, tmp_path / "two", group="film", validation=0).splits) == ["train"]


def test_a_group_of_the_sources_own_test_split_is_not_in_its_own_validation_split(tmp_path) -> None:
    folder = tmp_path / "films"
    folder.mkdir()
    for part, films in (("train", [1, 2] * 5), ("validation", [3] * 4 + [4] * 6), ("test", [4] * 10)):
        write(folder / f"{part}.csv", [0, 1] * 5, film=films)
    corpus = prepare(folder, tmp_path / "out", group="film")
    assert [len(split) for split in corpus.splits.values()] == [10, 4, 10]
    assert corpus.about["dropped"]["of a group in validation or test"] == 6


def test_a_split_of_neutral_texts_alone_is_refused(tmp_path) -> None:
    with pytest.raises(RnnlensError, match="no review of the test split is left"):
        Corpus.from_texts(["bad", "good"] * 9, grades=[0.1, 0.9] * 9, test=(["plain", "usual"], [0.5, 0.5]))
    pl.DataFrame({"text": [" "] * 10, "label": [0, 1] * 5, "film": range(10)}).write_ndjson(tmp_path / "a.jsonl")
    with pytest.raises(RnnlensError, match="no review of the train split has words"):
        prepare(tmp_path / "a.jsonl", tmp_path / "out", group="film")


def test_labels_exchanged_at_random_are_exchanged_with_their_grades() -> None:
    corpus = graded()
    null = shuffled(corpus).train
    assert (null.grades != corpus.train.grades).any() and (labels_of(null.grades) == null.labels).all()


def test_graded_corpora_stay_graded(tmp_path) -> None:
    """Reversed, refitted, recoded, saved and read again."""
    corpus = graded()
    save_corpus(corpus, tmp_path, "key")
    others = [reversed_corpus(corpus), corpus.with_vocab(Vocab(["<unk>", "good", "bad"])), load_corpus(tmp_path)]
    for other in others:
        assert all((other.splits[part].grades == split.grades).all() for part, split in corpus.splits.items())
    assert others[-1].fingerprint == corpus.fingerprint
    whole = corpus.refit().train
    assert (whole.grades == np.concatenate([corpus.train.grades, corpus.validation.grades])).all()


def test_a_head_draws_from_its_own_seed(monkeypatch) -> None:
    before = torch.get_rng_state()
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda seed: pytest.fail("a GPU is seeded"))
    first, second = NextWord(4, 6, 0), NextWord(4, 6, 0)
    assert torch.equal(first.words.weight, second.words.weight) and torch.equal(torch.get_rng_state(), before)


def test_places_are_followed_by_a_word_of_their_text() -> None:
    lengths = torch.tensor([1, 5, 0, 9])
    row, t = draw_places(lengths, 4000, torch.Generator().manual_seed(0))
    assert set(zip(row.tolist(), t.tolist(), strict=True)) == {(1, i) for i in range(4)} | {(3, i) for i in range(8)}
    words = torch.arange(40).view(4, 10)
    places, following = next_words(words, 16, row, t, slice(0, None, 1))
    assert torch.equal(following, words[row, t + 1]) and torch.equal(places, 16 * row + t)
    halves = [next_words(words[k::2], 16, row, t, slice(k, None, 2)) for k in (0, 1)]
    assert torch.equal(torch.stack([part[1] for part in halves]).amax(0), following), "each process has its own rows"
    alone, _ = draw_places(torch.tensor([1, 0]), 5, torch.Generator())
    assert (alone == -1).all()


@pytest.mark.parametrize("arch", ["gru", "ugrnn", "mamba"])
def test_the_loss_of_next_words_falls_where_words_follow_one_another(tmp_path, arch) -> None:
    rng = np.random.default_rng(0)
    starts, lengths = rng.integers(0, 20, 300), rng.integers(2, 12, 300)
    texts = [" ".join(f"w{(a + i) % 20}" for i in range(n)) for a, n in zip(starts, lengths, strict=True)]
    corpus = Corpus.from_texts(texts, rng.integers(0, 2, 300))
    config = TrainConfig(epochs=25, learning_rate=0.01, next_word=1.0, next_word_places=256, word_dropout=0.0)
    run = train(small(corpus, arch), corpus, config, tmp_path / "run", progress=False)
    losses = [line["train_next_word_loss"] for line in run.history]
    assert losses[0] > 2.5 and losses[-1] < 1.5
    assert not any("head" in name for name in run.network.state_dict())


def _train_until(out: str, moment: int | None) -> None:
    """Train, and be killed before the step `moment`."""
    torch.set_num_threads(1)
    usual = Trainer.step

    def step(self, rows):
        if self.counters.step == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return usual(self, rows)

    Trainer.step = step
    corpus = graded(200)
    config = TrainConfig(
        epochs=3, batch=32, next_word=0.3, next_word_places=64, average=0.9, checkpoint_every=2, blanks=5
    )
    train(small(corpus), corpus, config, out, resume=True, progress=False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be killed")
def test_killed_at_ten_moments_and_resumed_the_weights_are_the_same(tmp_path) -> None:
    whole, struck = str(tmp_path / "whole"), str(tmp_path / "struck")
    codes = []
    for out, moment in [
        (whole, None),
        *((struck, moment) for moment in (0, 1, 2, 5, 6, 7, 11, 12, 16, 17)),
        (struck, None),
    ]:
        process = SERVER.Process(target=_train_until, args=(out, moment))
        process.start()
        process.join(120)
        codes.append(process.exitcode)
    assert codes == [0, *[-signal.SIGKILL] * 10, 0]
    first, second = (Path(out) / "weights.safetensors" for out in (whole, struck))
    assert first.read_bytes() == second.read_bytes()
    kept = [json.loads(line) for line in (Path(struck) / "history.jsonl").read_text().splitlines()]
    assert [line["step"] for line in kept] == [6, 12, 18]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Corpus.from_texts(["a b", "b c"], grades=[0.1, 1.2]), "grades hold 1.2"),
        (lambda: Corpus.from_texts(["a b", "b c"], grades=[0.1, float("nan")]), "grades hold nan"),
        (lambda: Corpus.from_texts(["a b", "b c"] * 9, grades=[0.7] * 18), "no negative review"),
        (lambda: Corpus.from_texts(["a b", "b c"] * 9, grades=[0.5] * 18), "no negative review"),
        (lambda: Corpus.from_texts(["a", "b"], [1], grades=[0.9, 0.1]), "got 2 texts and 1 labels"),
        (lambda: Corpus.from_texts(["a", "b"], [1, 1], grades=[0.1, 0.9]), "text 0 has the label 1 and the grade 0.1"),
        (lambda: TrainConfig(next_word=-0.1), "next_word is -0.1"),
        (lambda: TrainConfig(next_word_places=0), "next_word_places is 0"),
    ],
)
def test_grades_and_settings_that_mean_nothing_are_refused(make, message) -> None:
    with pytest.raises(RnnlensError, match=message):
        make()


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([1, 2, 3, 4, 7.5], {"label": "label", "graded": True}, None),
        ([0, 50, 100], {"graded": True}, "out of range, such as 100"),
        ([0.5, 1, 4.5, 5], {"graded": True}, "out of range, such as 0.5"),
        ([5, 5, 5], {"graded": True}, "no negative review"),
        (["neutral"] * 3, {"graded": True}, "only neutral rows"),
        ([0, 1], {"group": "film"}, "no column 'film'"),
        ([0.2, 0.7], {}, "--graded"),
    ],
)
def test_columns_that_cannot_be_graded_are_refused(tmp_path, labels, options, message) -> None:
    source = write(tmp_path / "a.csv", labels * 10)
    if message is None:
        assert prepare(source, tmp_path / "out", test=0, **options).about["grades"]
        return
    with pytest.raises(RnnlensError, match=message):
        prepare(source, tmp_path / "out", test=0, **options)
