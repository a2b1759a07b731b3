"""Values outside their range, flags that were given, and names of the hub: what must be refused, what must win."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

import numpy as np
import polars as pl
import pytest

import rnnlens
from rnnlens.cli import app, main
from rnnlens.cli.flags import RecipeFlags
from rnnlens.common.errors import RnnlensError, RnnlensWarning
from rnnlens.common.options import RANGES
from rnnlens.common.ranges import check_options
from rnnlens.corpora import PrepareConfig, toy_corpus
from rnnlens.corpora.indexing import stratified
from rnnlens.corpora.language import Language, preset
from rnnlens.corpora.prepared import load_corpus, prepare
from rnnlens.corpora.sources import hub_name, open_source
from rnnlens.corpora.synthetic import synthetic_corpus
from rnnlens.experiments import reproduce as reproduction
from rnnlens.experiments import validate as validation
from rnnlens.experiments.choosing import write_settings
from rnnlens.experiments.modifier_words import read_modifiers
from rnnlens.experiments.recipe import RECIPE, Settings
from rnnlens.experiments.sweep import sweep
from rnnlens.experiments.trials import run_trials
from rnnlens.training import TrainConfig, command
from rnnlens.training import __main__ as module_command
from rnnlens.training.settings import PACKAGED, TUNED, read_settings

HUGE = str(10**30)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and the one line on stderr."""
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("error: ") and told.err.count("\n") == 1, told
    return int(ended.value.code or 0), told.err


# --- ranges -----------------------------------------------------------------------------------------------------------

WRONG = [
    ("prepare r.csv --out o --vocab-size " + HUGE, "vocab_size is 1000"),
    ("prepare r.csv --out o --neighbours 0", "neighbours is 0: expected a whole number, at least 1"),
    ("prepare r.csv --out o --neighbours " + HUGE, "neighbours is 1000"),
    ("prepare r.csv --out o --seed -1", "seed is -1: expected a whole number, from 0 to 2^63 - 1"),
    ("analyze run --top -5", "top is -5: expected a whole number, at least 1"),
    ("analyze run --top 0", "top is 0: expected a whole number, at least 1"),
    (f"analyze run --seed {2**70}", f"seed is {2**70}: expected a whole number, from 0 to 2^63 - 1"),
    ("analyze run --reviews -1", "reviews is -1"),
    ("demo --seed -1", "seed is -1"),
    ("report run --words -1", "words is -1: expected a whole number, at least 0"),
    ("baselines c --modifiers run --out o --most -1", "most is -1: expected a whole number, at least 1"),
    ("baselines c --modifiers run --out o --seed -1", "seed is -1"),
    ("sweep c --model bow --out o --trials -1", "trials is -1: expected a whole number, at least 1"),
    ("sweep c --model bow --out o --trials 0", "trials is 0"),
    ("sweep c --model bow --out o --jobs -1", "jobs is -1: expected a whole number, from 0 to 1,024"),
    ("sweep c --model bow --out o --seed -1", "seed is -1"),
    ("sweep c --model bow --out o --most -3", "most is -3: expected a whole number, at least 1"),
    ("reproduce c --out o --seeds 0", "seeds is 0: expected a whole number, from 1 to 10,000"),
    ("reproduce c --out o --seeds -1", "seeds is -1"),
    ("reproduce c --out o --trials -1", "trials is -1: expected a whole number, at least 0"),
    ("reproduce c --out o --most -1", "most is -1: expected a whole number, at least 1"),
    ("validate --out o --language-seed -1", "language_seed is -1"),
    ("validate --out o --documents 0", "documents is 0: expected a whole number, at least 100"),
    ("validate --out o --documents -5", "documents is -5"),
    ("validate --out o --documents 1", "documents is 1:"),
    ("validate --out o --seeds 0", "seeds is 0"),
    ("validate --out o --epochs 0", "epochs is 0"),
    (
        "validate --out o --documents 2000000000",
        "documents is 2000000000: expected a whole number, at least 100, at most",
    ),
    ("validate --out o --hidden 1", "hidden is 1: expected a whole number, from 2 to"),
    ("toy --out o --hidden 1", "hidden is 1: expected a whole number, from 2 to"),
    ("toy --out o --seed -1", "seed is -1"),
    ("sweep c --model bow,bow --out o", "the model 'bow' is given twice: expected each model once"),
    ("reproduce c --model gru,bow,gru --out o", "the model 'gru' is given twice"),
    ("sweep c --model bow --earlier nowhere --out o", "there is no file 'nowhere': expected trials"),
    ("train c --out o --blanks 2147483647", "blanks is 2147483647: expected a whole number, from 0 to 10,000"),
    ("toy --out o --hidden 0", "hidden is 0"),
    ("train c --out o --hidden " + HUGE, "hidden is 1000000000000000000000000000000: expected a whole number, from 1"),
    ("train c --out o --threads 1000000", "threads is 1000000: expected a whole number, from 1 to 1,024"),
    ("train c --out o --threads 1000000000000", "threads is 1000000000000"),
    ("train c --out o --max-words " + HUGE, "max_words is 1000000000000000000000000000000: expected a whole number"),
    ("train c --out o --seed " + str(2**63), "seed is 9223372036854775808"),
    ("train c --out o --scale nan", "scale is nan: expected a number above 0"),
    ("train c --out o --memory 0.5", "memory is 0.5: expected a number of words, at least 1, or 0 for none"),
    ("train c --out o --learning-rate inf", "learning_rate is inf"),
]


@pytest.mark.parametrize(("line", "told"), WRONG, ids=[line[:60] for line, _ in WRONG])
def test_a_value_outside_its_range_is_one_line_before_anything_is_read(
    line: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, message = said(capsys, *line.split())
    assert code == 1 and told in message, message
    assert not list(tmp_path.iterdir())  # `run`, `c` and `r.csv` are not there: nobody looked for them


@pytest.mark.parametrize("flag", ["train c --out o --epochs", "train c --out o --max-words", "analyze run --top"])
def test_a_broken_number_is_not_rounded_to_a_whole_one(
    flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, message = said(capsys, *flag.split(), "1.5")
    assert code == 2 and "expected a whole number, not 1.5" in message


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: TrainConfig(epochs=1.5), "epochs is 1.5: expected a whole number, at least 1"),  # type: ignore[arg-type]
        (lambda: TrainConfig(epochs=True), "epochs is 'True'"),
        (lambda: TrainConfig(batch="64"), "batch is '64'"),  # type: ignore[arg-type]
        (lambda: TrainConfig(max_words=10**30), "max_words is 1"),
        (lambda: rnnlens.Network(["a", "b"], hidden=10**30), "hidden is 1"),
        (lambda: rnnlens.Network(["a", "b"], seed=2**70), "seed is 1"),
        (lambda: rnnlens.analyze("nowhere", top=-5), "top is -5"),
        (lambda: rnnlens.analyze("nowhere", top=100.0), "top is 100.0: expected a whole number"),  # type: ignore[arg-type]
        (lambda: rnnlens.analyze("nowhere", starts=-1), "starts is -1"),
        (lambda: rnnlens.analyze("nowhere", rank=0), "rank is 0"),
        (lambda: rnnlens.analyze("nowhere", seed=2**70), "seed is 1"),
        (lambda: prepare("nowhere", "o", vocab_size=10**30), "vocab_size is 1"),
        (lambda: toy_corpus(seed=-1), "seed is -1"),
        (lambda: toy_corpus(train=0), "train is 0"),
        (lambda: Language(train=0), "train is 0"),
        (lambda: synthetic_corpus("tiny", seed=-1), "seed is -1"),
        (lambda: read_modifiers(["nowhere"], most=-1), "most is -1"),
        (lambda: sweep("nowhere", ["bow"], -1, "o"), "trials is -1"),
        (lambda: sweep("nowhere", ["bow"], 1, "o", jobs=-1), "jobs is -1"),
        (lambda: run_trials("nowhere", ["bow"], range(1), jobs=-1), "jobs is -1"),
        (lambda: reproduction.reproduce("nowhere", "o", seeds=0), "seeds is 0"),
        (lambda: reproduction.reproduce("nowhere", "o", most=-1), "most is -1"),
        (lambda: validation.validate("tiny", "o", seeds=0), "seeds is 0"),
        (lambda: validation.validate("tiny", "o", language_seed=-1), "language_seed is -1"),
        (lambda: validation.validate("tiny", "o", Settings(hidden=1)), "hidden is 1"),
        (lambda: validation.validate("tiny", "o", {"hidden": 8}), "settings is \"{'hidden': 8}\": expected"),  # type: ignore[arg-type]
        (
            lambda: rnnlens.visited_states(rnnlens.Network(["a", "b"], hidden=2, embedding=2), length=2**31 - 1),
            "length",
        ),
        (lambda: sweep("nowhere", ["bow", "bow"], 1, "o"), "the model 'bow' is given twice"),
    ],
)
def test_python_refuses_the_same_values(call: Any, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RnnlensError) as error:
        call()
    assert str(error.value).startswith(told), error.value
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("entry", "line", "told"),
    [
        (module_command.main, "c --out o --hidden 0", "hidden is 0"),
        (module_command.main, "c --out o --threads 1000000", "threads is 1000000"),
    ],
)
def test_so_do_the_modules_that_run_without_the_command_line(
    entry: Any, line: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        assert entry(line.split()) == 1
    except SystemExit as ended:
        assert ended.code == 1
    assert capsys.readouterr().err.startswith(f"error: {told}")


@pytest.mark.parametrize(
    ("entry", "line", "told"),
    [
        (module_command.main, ["toy", "--out", "o", "--epochs", "1.5"], "argument --epochs: invalid int value: '1.5'"),
        (module_command.main, ["toy", "--out", ""], "argument --out: '' is no path"),
        (module_command.main, ["toy", "--out", "o", "--max-words", "x"], "expected a whole number or None, not 'x'"),
        (module_command.main, ["toy"], "the following arguments are required: --out"),
        (module_command.main, ["toy", "--out", "o", "--arch", "cnn"], "argument --arch: invalid choice: 'cnn'"),
    ],
)
def test_their_usage_errors_are_one_line_too(
    entry: Any, line: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        entry(line)
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.startswith("error: ") and told in said and said.count("\n") == 1
    assert "--help`)" in said and not list(tmp_path.iterdir())


def _numeric(hint: Any) -> bool:
    kinds = {kind for part in (hint, *get_args(hint)) for kind in (part, *get_args(part))}
    return bool(kinds & {int, float})


STATED = [
    ("validate", "at least 100"), ("train", "from 2 to 1000"), ("train", "Adam's beta_1, from 0 to below 1"),
    ("train", "at most 1024"), ("train", "Decay, below 1,"), ("prepare", "`<unk>` included, at least 2"),
    ("prepare", "Share, below 1, of all reviews"), ("sweep", "0 runs them in this process"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "limits"), STATED)
def test_help_says_limits_that_are_not_obvious(
    name: str, limits: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit):
        main([name, "--help"])
    shown = " ".join(re.sub("[│╭╮╰╯─]", " ", capsys.readouterr().out).split())
    assert limits.replace("`", "") in shown


COMMANDS = [name for name in app if not name.startswith("-")]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_number_of_the_command_line_has_a_range(name: str) -> None:
    function = inspect.unwrap(app[name].default_command)  # type: ignore[arg-type]
    hints = get_type_hints(function, include_extras=True)
    numbers = [option for option, hint in hints.items() if option != "return" and _numeric(hint)]
    assert set(numbers) <= set(RANGES.get(name, {})), f"options of {name} without a range"
    written = {"out", "to", "table", "figure"} & set(hints)
    assert written <= set(RANGES.get(name, {})), f"paths of {name} that are not in the table"


def test_there_are_commands_to_check() -> None:
    assert {"demo", "train", "analyze", "audit", "agree", "validate"} <= set(COMMANDS) and len(COMMANDS) >= 16


ENTRIES = {"extend": "network", "agreement": "agree"}  # by another name in the table
OWN = {
    "from_torch": {"output"},
    "from_transformers": {"output"},
    "adapt": {"inputs", "output"},
    "effective_attention": {"layer"},
}  # checked elsewhere


@pytest.mark.parametrize("name", [name for name in rnnlens.__all__ if inspect.isfunction(getattr(rnnlens, name))])
def test_every_number_of_a_python_function_has_a_range_that_its_default_is_in(name: str) -> None:
    function = inspect.unwrap(getattr(rnnlens, name))
    parameters = inspect.signature(function).parameters
    numbers = [
        option
        for option, parameter in parameters.items()
        if re.fullmatch(r"(int|float)( \| None)?", str(parameter.annotation)) and option not in OWN.get(name, ())
    ]
    entry = ENTRIES.get(name, name)
    assert set(numbers) <= set(RANGES.get(entry, {})), f"options of {name} without a range"
    given = {option: parameters[option].default for option in numbers}
    if given := {option: value for option, value in given.items() if value is not inspect.Parameter.empty}:
        check_options(entry, given)


@pytest.mark.parametrize(("record", "name"), [(TrainConfig, "training"), (PrepareConfig, "prepare")])
def test_every_field_of_a_record_has_a_range_that_its_default_is_in(record: type, name: str) -> None:
    hints = get_type_hints(record)
    assert set(hints) <= set(RANGES[name])
    check_options(name, {field.name: field.default for field in dataclasses.fields(record)})


def test_numbers_of_numpy_are_numbers() -> None:
    TrainConfig(epochs=np.int64(2), learning_rate=np.float32(0.01))  # type: ignore[arg-type]


def test_every_seed_in_its_range_chooses_probe_words() -> None:
    corpus = rnnlens.Corpus.from_texts(["a good film", "a bad film"] * 10, [1, 0] * 10)
    least, largest = (rnnlens.Probes.from_corpus(corpus, n=1, seed=seed) for seed in (0, 2**63 - 1))
    assert least == largest and (least.positive, least.negative) == (("good",), ("bad",))


def test_a_vocabulary_without_a_word_is_told(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("text,label\n" + "a good film,1\na bad film,0\n" * 10)
    with pytest.warns(RnnlensWarning, match="min_count is 1000000, and no word occurs as often"):
        prepare(tmp_path / "r.csv", tmp_path / "o", min_count=10**6)


def test_patience_needs_validation_reviews(tmp_path: Path) -> None:
    corpus = rnnlens.Corpus.from_texts(["a good film", "a bad film"] * 10, [1, 0] * 10, validation=0.2)
    network = rnnlens.Network(corpus.vocab, hidden=2, embedding=2)
    with pytest.raises(RnnlensError, match="patience is 1, and there are no validation reviews"):
        rnnlens.train(network, corpus.refit(), TrainConfig(epochs=1, patience=1), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_of_neighbours_longer_than_a_class_is_the_whole_class() -> None:
    labels = np.array([0, 1] * 50)
    chosen = stratified(labels, 0.2, np.random.default_rng(0), 10**15)  # of so many there is no array
    assert (chosen == stratified(labels, 0.2, np.random.default_rng(0), 50)).all() and chosen.sum() == 20


def test_a_small_class_does_not_shorten_the_runs_of_the_others() -> None:
    labels = np.array([0, 0, *[1] * 1_000])
    chosen = stratified(labels, 0.2, np.random.default_rng(0), 100)[2:].reshape(10, 100)
    assert sorted(chosen.sum(1)) == [0] * 8 + [100] * 2  # whole runs of neighbors


def test_few_documents_still_make_both_classes() -> None:
    corpus, _ = synthetic_corpus(dataclasses.replace(preset("tiny"), train=100))
    assert set(np.asarray(corpus.train.labels).tolist()) == {0, 1}


@pytest.mark.parametrize("line", ["analyze nowhere --table words.txt", "probe nowhere text --figure reading.txt"])
def test_a_wrong_ending_is_refused_before_the_work(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "expected a name ending in" in said(capsys, *line.split())[1]


# --- flags that were given --------------------------------------------------------------------------------------------


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What a training would be: the network's shape and its config, instead of the training."""
    seen = SimpleNamespace()

    def network(vocab: Any, arch: str, seed: int, **shape: Any) -> Any:
        seen.shape = shape
        return SimpleNamespace()

    def train(network: Any, data: Any, config: TrainConfig, *_: Any, **__: Any) -> Any:
        seen.config = config
        raise RnnlensError("no training here")

    monkeypatch.setattr("rnnlens.corpora.toy_corpus", lambda seed: SimpleNamespace(vocab=None))
    monkeypatch.setattr("rnnlens.networks.new_network", network)
    monkeypatch.setattr("rnnlens.training.loop.train", train)
    return seen


def call_train(which: str, *flags: str) -> None:
    arguments = ["toy", "--out", "o", *flags]
    if which == "rnnlens":
        with pytest.raises(SystemExit):
            main(["train", *arguments])
    else:
        assert module_command.main(arguments) == 1


DEFAULTS = {**dataclasses.asdict(TrainConfig()), "hidden": 256, "embedding": 128, "scale": 1.0, "memory": 0.0}


@pytest.mark.parametrize("which", ["rnnlens", "module"])
@pytest.mark.parametrize("source", ["tuned", "settings"])
def test_a_flag_that_equals_a_default_wins_over_settings(
    which: str, source: str, tmp_path: Path, trained: SimpleNamespace
) -> None:
    chosen = read_settings(TUNED if source == "tuned" else PACKAGED, "gru")
    differing = [name for name in chosen if chosen[name] != DEFAULTS[name]]
    assert {"scale", "memory", "epochs", "learning_rate", "average"} <= set(differing)
    settings = ["--tuned"]
    if source == "settings":
        row = {"model": "gru", "accuracy": 0.9, "loss": 0.3, "reviews": 10, "trial": 0, "seed": 0, "parameters": chosen}
        write_settings(tmp_path / "settings.json", [row], "a corpus", 10)
        settings = ["--settings", str(tmp_path / "settings.json")]
    call_train(which, *settings)
    found = {**dataclasses.asdict(trained.config), **trained.shape}
    assert {name: found[name] for name in chosen} == chosen and found["keep"] == "last"
    for name in differing:
        call_train(which, *settings, f"--{name.replace('_', '-')}", str(DEFAULTS[name]))
        found = {**dataclasses.asdict(trained.config), **trained.shape}
        assert found[name] == DEFAULTS[name], name
        assert all(found[other] == chosen[other] for other in chosen if other != name), name
    call_train(which, *settings, "--keep", "best")
    assert trained.config.keep == "best"


@pytest.mark.parametrize("which", ["rnnlens", "module"])
def test_without_settings_what_is_not_given_is_the_default(which: str, trained: SimpleNamespace) -> None:
    call_train(which, "--epochs", "3")
    assert trained.config == TrainConfig(epochs=3) and trained.shape == {}


@pytest.mark.parametrize("which", ["rnnlens", "module"])
def test_none_can_be_given(which: str, trained: SimpleNamespace) -> None:
    call_train(which, "--tuned", "--max-words", "None")
    assert trained.config.max_words is None


def test_validate_keeps_its_recipe_where_only_some_of_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def validate_command(name: str, out: Path, settings: Any, *_: Any) -> list[list[str]]:
        seen.append(settings.config)
        return []

    monkeypatch.setattr(validation, "validate_command", validate_command)
    for flags in ([], ["--epochs", "8"]):
        with pytest.raises(SystemExit) as ended:
            main(["validate", "--out", "o", *flags])
        assert not ended.value.code
    assert seen == [RECIPE, dataclasses.replace(RECIPE, epochs=8)]
    with pytest.raises(SystemExit) as ended:
        main(["validate", "--out", "o", "--seed", "7"])
    assert ended.value.code == 2 and len(seen) == 2


def test_validates_help_shows_its_own_defaults() -> None:
    shown = {field.name: field.default for field in dataclasses.fields(RecipeFlags)}
    assert shown == dataclasses.asdict(RECIPE)


def test_a_setting_that_nobody_takes_is_told() -> None:
    with pytest.raises(RnnlensError, match="no setting 'epoch'"):
        command.resolve({}, {"epoch": 3})


def test_reproduce_takes_settings_or_trials_and_what_is_asked_of_balance_wins() -> None:
    with pytest.raises(RnnlensError, match="give one of the two"):
        reproduction.reproduce("nowhere", "o", trials=2, settings="settings.json")
    weighted = reproduction._weighted
    network, bag = {"parameters": {"balance": True}}, {"parameters": {"class_weight": "balanced"}}
    assert weighted(network, "gru", None) == network and weighted(bag, "bow", None) == bag
    assert weighted(network, "gru", False) == {"parameters": {"balance": False}}
    assert weighted(bag, "bow", False) == {"parameters": {"class_weight": None}}
    assert weighted({"parameters": {}}, "bow", True) == bag


# --- names of the hub -------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every path that polars is asked to scan, in an empty folder; the hub has reviews of whatever name."""
    paths: list[str] = []

    def scan(path: Any, **_: object) -> object:
        paths.append(str(path))
        return pl.LazyFrame({"text": ["good", "bad"] * 20, "label": [1, 0] * 20})

    for name in ("scan_parquet", "scan_csv", "scan_ndjson"):
        monkeypatch.setattr(pl, name, scan)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    return paths


NAMES = [
    "corpora/mine", "owner/name", "stanfordnlp/imdb", "mine", "mine.parquet", "corpora/mine.csv", "imbd",
    "https://example.org/reviews.csv", "s3://bucket/reviews.parquet", "./imdb",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_path_is_a_missing_path_and_no_request(name: str, asked: list[str], tmp_path: Path) -> None:
    for read in (open_source, load_corpus, lambda source: prepare(source, "out")):
        with pytest.raises(RnnlensError) as told:
            read(name)
        assert f"there is no file or folder {name!r}; a data set of the hub is written hf:owner/name" in str(told.value)
    assert asked == [] and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "line",
    [
        "train {} --out o",
        "prepare {} --out o",
        "analyze zoo:reviews-gru --corpus {}",
        "baselines {} --modifiers words.txt --out o",
        "sweep {} --model bow --out o",
        "reproduce {} --out o",
    ],
)
def test_no_command_asks_the_hub_for_a_mistyped_path(
    line: str, asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "words.txt").write_text("not very")
    code, message = said(capsys, *line.format("corpora/mine").split())
    assert code == 1 and "there is no file or folder 'corpora/mine'; a data set" in message and asked == []


def test_a_corpus_that_an_earlier_version_took_from_the_hub_is_no_answer_for_a_mistyped_path(asked: list[str]) -> None:
    load_corpus("hf:corpora/mine")
    assert len(asked) > 0
    with pytest.raises(RnnlensError, match="there is no file or folder 'corpora/mine'; a data set"):
        load_corpus("corpora/mine")


def test_hub_names_are_written_as_such(asked: list[str], tmp_path: Path) -> None:
    assert hub_name("hf:owner/name") == "owner/name" and hub_name("owner/name") is None
    assert hub_name("imdb") == "stanfordnlp/imdb" and hub_name("Yelp") == "fancyzhx/yelp_polarity"
    open_source("hf:owner/name")
    assert asked[0] == "hf://datasets/owner/name/**/train*.parquet"
    (tmp_path / "hf:owner" / "name").mkdir(parents=True)  # even where such a folder lies here
    assert hub_name("hf:owner/name") == "owner/name"
    (tmp_path / "imdb").mkdir()
    assert hub_name("imdb") is None
    for wrong in ("hf:", "hf:name", "hf:a/b/c", "hf:/datasets/owner/name"):
        with pytest.raises(RnnlensError, match="expected hf:owner/name"):
            open_source(wrong)


def test_no_permission_is_not_told_as_absence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.stat

    def stat(path: Any, *arguments: Any, **options: Any) -> os.stat_result:
        if "closed" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", stat)
    for read in (open_source, load_corpus, lambda source: prepare(source, tmp_path / "out")):
        with pytest.raises(RnnlensError) as told:
            read(tmp_path / "closed" / "r.csv")
        assert str(told.value).startswith("cannot read") and str(told.value).endswith("Permission denied")
