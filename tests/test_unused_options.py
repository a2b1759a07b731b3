"""An option that changes nothing is refused or warned of, on the command line and in Python."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from handmade import handmade
from test_faults_options import said

import rnnlens
from rnnlens import Corpus, Network, RnnlensError, TrainConfig, train
from rnnlens.baselines import BagOfWords, ModifierConvolution
from rnnlens.common.errors import RnnlensWarning
from rnnlens.common.options import RANGES
from rnnlens.common.unused import UNUSED
from rnnlens.corpora.prepared import prepare
from rnnlens.experiments.recipe import recipe
from rnnlens.page.writer import page
from rnnlens.training.command import resolve, train_command
from rnnlens.training.fine_tuning import start_config

TEXTS, LABELS = ["a good film", "a bad film", "not a good one", "not so bad"] * 5, [1, 0, 0, 1] * 5
ROWS = "text,label\n" + "".join(f"{text},{label}\n" for text, label in zip(TEXTS, LABELS, strict=True))
UNLIKE = "text,label\n" + "".join(f"film {'abcdefghij'[k]} {'xy'[k % 2]} {k},{k % 2}\n" for k in range(10))

FLAGS = [
    (
        "train nowhere --out o --schedule constant --final-rate 0.01",
        "final_rate is 0.01, and with a constant schedule the learning rate does not fall: leave final_rate out, or "
        "choose another schedule",
    ),
    ("train nowhere --out o --warmup 1 --schedule cosine", "schedule is 'cosine', and warmup is 1"),
    ("train nowhere --out o --warmup 1 --final-rate 0.1", "final_rate is 0.1, and warmup is 1"),
    ("train nowhere --out o --word-dropout 0 --dropout-run 5", "dropout_run is 5.0, and no word is dropped"),
    ("train nowhere --out o --no-decoupled", "decoupled is 'False', and there is no weight decay"),
    ("train nowhere --out o --refit --keep best", "keep is 'best', and with refit there are no validation reviews"),
    ("train nowhere --out o --refit --patience 2", "patience is 2, and with refit there are no validation reviews"),
    (
        "sweep nowhere --model gru,lstm --modifiers words.txt --out o",
        "modifiers is 'words.txt', and none of the models",
    ),
    ("sweep nowhere --model gru --most 100 --out o", "most is 100, and no modifiers are given"),
    ("sweep nowhere --model comw --modifiers words.txt --most 100 --out o", "most is 100, and a list of modifiers"),
    ("reproduce nowhere --model bow --modifiers words.txt --out o", "and none of the models has modifiers"),
    ("reproduce nowhere --model bow --most 9 --out o", "most is 9, and none of the models has modifiers"),
    ("reproduce nowhere --modifiers words.txt --most 9 --out o", "most is 9, and a list of modifiers"),
    ("baselines nowhere --modifiers words.txt --most 9 --out o", "most is 9, and a list of modifiers"),
]


@pytest.mark.parametrize(("line", "told"), FLAGS, ids=[line for line, _ in FLAGS])
def test_a_flag_that_changes_nothing_is_refused_before_anything_is_read(
    line: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("not very")
    code, message = said(capsys, *line.split())
    assert code == 1 and told in message, message
    assert [path.name for path in tmp_path.iterdir()] == ["words.txt"]


@pytest.mark.parametrize(
    "line",
    [
        "train nowhere --out o --schedule constant",
        "train nowhere --out o --word-dropout 0",
        "train nowhere --out o --refit --keep last",
        "train nowhere --out o --weight-decay 0.1 --no-decoupled",
        "train nowhere --out o --word-dropout 0.1 --dropout-run 5 --final-rate 0.1",
        "sweep nowhere --model gru,comw --modifiers run --most 100 --out o",
        "reproduce nowhere --most 9 --out o",
    ],
)
def test_flags_that_change_something_are_taken(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _, message = said(capsys, *line.split())
    assert "'nowhere'" in message or "'run'" in message, message


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus.from_texts(TEXTS, LABELS)


def trained(corpus: Any, out: Path, **config: Any) -> Any:
    return train(Network(corpus.vocab, hidden=4, embedding=2), corpus, TrainConfig(epochs=1, **config), out)


def test_settings_that_change_nothing_are_refused_in_python(corpus: Corpus, tmp_path: Path) -> None:
    for config, told in [
        ({"schedule": "constant", "final_rate": 0.1}, "final_rate is 0.1"),
        ({"word_dropout": 0, "dropout_run": 3}, "dropout_run is 3"),
        ({"decoupled": False}, "decoupled is 'False'"),
    ]:
        with pytest.raises(RnnlensError, match=told):
            trained(corpus, tmp_path / "run", **config)
    assert trained(corpus, tmp_path / "run", schedule="constant", word_dropout=0).config.schedule == "constant"


def test_settings_that_were_chosen_elsewhere_give_way_to_those_given(corpus: Corpus, tmp_path: Path) -> None:
    """A given word_dropout of 0 is not refused because a search, or the first training, chose a dropout_run."""
    config = resolve({"word_dropout": 0.0}, {"dropout_run": 12, "word_dropout": 0.3})[1]
    assert (config.word_dropout, config.dropout_run) == (0, 1)
    run = trained(corpus, tmp_path / "run", dropout_run=12)
    config = start_config(run, word_dropout=0)
    assert (config.word_dropout, config.dropout_run) == (0, 1)
    assert start_config(run).dropout_run == 12
    with pytest.raises(RnnlensError, match="dropout_run is 5"):
        recipe({"word_dropout": 0.0, "dropout_run": 5})
    (tmp_path / "corpus.csv").write_text(ROWS)
    with pytest.raises(RnnlensError, match="dropout_run is 5"):
        given = {"word_dropout": 0.0, "dropout_run": 5}
        train_command(str(tmp_path / "corpus.csv"), tmp_path / "more", given, start=str(run.path))


def test_flags_that_change_nothing_with_these_reviews_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(UNLIKE.replace("film", name))
    none = prepare(tmp_path / "a.csv", tmp_path / "none", validation=0.0)
    two = prepare([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "two", min_count=1)
    assert none.validation is None and two.sources == ("a", "b")

    def told(folder: Path, given: dict[str, Any], refit: bool, text: str) -> None:
        with pytest.raises(RnnlensError, match=text):
            train_command(str(folder), tmp_path / "run", given, refit=refit)
        assert not (tmp_path / "run").exists()

    told(tmp_path / "none", {"keep": "best"}, False, "keep is 'best', and the corpus has no validation reviews")
    told(tmp_path / "none", {}, True, "refit trains on the validation reviews too, and the corpus has no validation")
    told(tmp_path / "two", {"balance": False}, False, "balance is False, and the corpus has several sources")


def test_prepare_warns_of_shares_that_a_source_does_not_need(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for split in ("train", "validation", "test"):
        (tmp_path / "films").mkdir(exist_ok=True)
        (tmp_path / "films" / f"{split}.csv").write_text(ROWS)
    with pytest.warns(RnnlensWarning) as warned:
        prepare(tmp_path / "films", tmp_path / "o", validation=0.3, test=0.0, neighbours=3)
    assert [str(one.message).split(":")[0] for one in warned] == [
        "validation is 0.3, and the source has a validation split of its own",
        "test is 0.0, and the source has a test split of its own",
        "neighbours is 3, and no review of the source is held out",
    ]
    for side in ("neg", "pos"):
        (tmp_path / "aclImdb" / "train" / side).mkdir(parents=True)
        for i in range(9):
            (tmp_path / "aclImdb" / "train" / side / f"{i}_1.txt").write_text(f"a {side} film")
    with pytest.warns(RnnlensWarning, match="text is 'body', and the source has no columns"):
        prepare(tmp_path / "aclImdb", tmp_path / "o2", text="body")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RnnlensWarning)
        (tmp_path / "films" / "validation.csv").unlink()
        prepare(tmp_path / "films", tmp_path / "o3", validation=0.3, neighbours=3)


def test_estimators_warn_as_those_of_scikit_learn(corpus: Corpus) -> None:
    quick: dict[str, Any] = {"epochs": 1, "min_count": 1}
    for options, told in [
        ({"own_edges": True}, "own_edges is 'True', and edges is False"),
        ({"modifiers": None, "own_weights": True}, "own_weights is 'True', and there are no modifiers"),
        ({"modifiers": ["not"], "first_lag": 0, "sparsity": 0.1}, "sparsity is 0.1, and the modifiers are not learned"),
        ({"modifiers": ["not"], "factored": False}, "factored is 'False', and modifiers have one scale"),
    ]:
        with pytest.warns(RnnlensWarning) as warned:
            ModifierConvolution(**options, **quick).fit(TEXTS, LABELS)
        assert len(warned) == 1 and told in str(warned[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RnnlensWarning)
        BagOfWords(**quick).fit(TEXTS, LABELS)
        ModifierConvolution(["not"], own_weights=True, factored=False, edges=True, own_edges=True, **quick).fit(corpus)


def test_arguments_of_functions_that_change_nothing_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    network = handmade()[0]
    analysis = rnnlens.analyze(network, starts=100)
    texts = Corpus.from_texts(["not good", "bad", "good", "not bad"] * 5, [0, 0, 1, 1] * 5).with_vocab(network.vocab)
    for call, told in [
        (lambda: rnnlens.analyze(network, texts, accuracy=False, reviews=3), "reviews is 3, and accuracy is False"),
        (lambda: rnnlens.analyze(network, reviews=3), "reviews is 3, and there is no corpus"),
        (lambda: rnnlens.analyze(network, states=analysis.states, starts=3), "starts is 3, and states are given"),
        (lambda: rnnlens.agreement(analysis, top=30), "top is 30, and an analysis has measured its words already"),
        (
            lambda: rnnlens.agreement([analysis], device="cpu"),
            "device is 'cpu', and an analysis has measured its words",
        ),
        (lambda: rnnlens.dynamics.visited_states(network, texts, length=3), "length is 3, and the documents"),
        (lambda: page(None, words=10), "words is 10, and no network runs in this page"),
    ]:
        with pytest.raises(RnnlensError, match=told):
            call()
    assert len(rnnlens.dynamics.visited_states(network, texts, n=5, length=50)) == 5  # the default


def test_starts_are_taken_of_the_states_that_a_run_stores(corpus: Corpus, tmp_path: Path) -> None:
    run = trained(corpus, tmp_path / "run")
    states = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
    assert run.states() is None
    rnnlens.analyze(run, states=states, top=8, rank=1).save()
    run = rnnlens.load(run.path)
    stored = run.states()
    assert stored is not None and len(stored) == 40
    some = rnnlens.analyze(run, starts=30, top=8, rank=1).states
    assert len(some) == 30 and set(map(tuple, some.tolist())) <= set(map(tuple, stored.tolist()))
    assert len(rnnlens.analyze(run, top=8, rank=1).states) == 40
    with pytest.warns(RnnlensWarning, match="starts is 50, and the run stores 40 visited states, which are used"):
        assert len(rnnlens.analyze(run, starts=50, top=8, rank=1).states) == 40


def test_every_rule_is_about_options_that_exist() -> None:
    for of, rules in UNUSED.items():
        known = {**RANGES[of], "modifiers": 0, "device": 0, "top": 0}
        assert all(rule.option in known for rule in rules), of
    TrainConfig().check_used()
