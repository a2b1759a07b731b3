"""A list of 151 faults that were found, with the test that each of them is now: here, or where `ELSEWHERE` says."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from packaging.requirements import Requirement
from tests.support.world import write_reviews
from torch import Tensor, nn

import rnnlens
from rnnlens import Corpus, Network, RnnlensError, TrainConfig, adapt, from_torch
from rnnlens.baselines import BagOfWords, ModifierConvolution
from rnnlens.cli import main
from rnnlens.common.files import atomic_file, read_tensors, write_tensors
from rnnlens.corpora.indexing import LONGEST

HERE = Path(__file__).parent
LIST = HERE.parents[1] / "shared" / "FAULTS.md"
ROWS: dict[str, list[Callable[..., None]]] = {}  # the cases of this file, by the name of the fault


def row(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Name the faults that a test is of."""

    def named(test: Callable[..., None]) -> Callable[..., None]:
        for name in names:
            ROWS.setdefault(name, []).append(test)
        return test

    return named


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews, a corpus of them, and a run of a tiny network."""
    folder = tmp_path_factory.mktemp("made")
    write_reviews(folder / "reviews.csv")
    corpus = rnnlens.corpora.prepare(folder / "reviews.csv", folder / "corpus", min_count=1)
    network = Network(corpus.vocab, hidden=4, embedding=3)
    rnnlens.train(network, corpus, TrainConfig(epochs=1), folder / "run", progress=False)
    return folder


@pytest.fixture
def at(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, which is also the home folder; reviews, corpus and run are links in it."""
    for name in ("reviews.csv", "corpus", "run"):
        (tmp_path / name).symlink_to(made / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    return tmp_path


def call(capsys: Any, *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return int(stop.value.code or 0), said.out, said.err


def refused(capsys: Any, *arguments: object) -> str:
    """The one line by which a command fails."""
    code, out, err = call(capsys, *arguments)
    assert code == 1 and out == "" and err.startswith("error: ") and err.count("\n") == 1, (code, out, err)
    return err


def told(call: Callable[[], object], *parts: str) -> None:
    with pytest.raises(RnnlensError) as error:
        call()
    assert "\n" not in str(error.value) and all(part in str(error.value) for part in parts), error.value


# --- names, links, places ---------------------------------------------------------------------------------------------


@row("nonutf8-source", "nonutf8-train-source")
@pytest.mark.parametrize("command", ["prepare", "train"])
def test_a_name_that_is_not_utf8_is_told(command: str, at: Path, capsys: Any) -> None:
    name = os.fsdecode(b"rev\xffiews.csv")
    try:
        write_reviews(at / name)
    except OSError:
        pytest.skip("this file system has names of UTF-8 alone")
    assert "'rev\\udcffiews.csv' is not UTF-8: rename" in refused(capsys, command, name, "--out", "out")
    (at / "folder").mkdir()
    write_reviews(at / "folder" / os.fsdecode(b"train\xff.csv"))
    assert "is not UTF-8: rename" in refused(capsys, command, "folder", "--out", "out")
    assert not (at / "out").exists()


@row("tilde")
def test_a_tilde_is_the_home_folder_wherever_a_path_is_given(at: Path, capsys: Any) -> None:
    code, out, _ = call(capsys, "prepare", "reviews.csv", "--out=~/corpus", "--min-count", 1)
    assert code == 0 and (at / "home" / "corpus" / "corpus.json").is_file() and not (at / "~").exists()
    assert f"rnnlens train {at / 'home' / 'corpus'} --start zoo:reviews-gru --out runs/corpus" in out
    assert call(capsys, "info", "~/corpus")[0] == 0 and len(rnnlens.load_corpus("~/corpus").train)


@row("acl-dangling")
def test_a_link_to_nothing_is_told_as_a_link(at: Path, capsys: Any) -> None:
    for side in ("neg", "pos"):
        (at / "acl" / "train" / side).mkdir(parents=True)
        (at / "acl" / "train" / side / "0_1.txt").write_text(f"{side} film")
    (at / "acl" / "train" / "pos" / "1_1.txt").symlink_to(at / "gone.txt")
    (at / "linked" / "train").mkdir(parents=True)
    (at / "linked" / "train" / "neg").symlink_to(at / "acl" / "train" / "neg")
    (at / "linked" / "train" / "pos").symlink_to(at / "gone")
    (at / "link.csv").symlink_to(at / "gone.csv")
    for source, link in (("acl", "pos/1_1.txt"), ("linked", "pos"), ("link.csv", "link.csv")):
        line = refused(capsys, "prepare", source, "--out", "out")
        assert link in line and "is a link to" in line and "gone" in line and "does not exist" in line


@row("full-table-parquet")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_full_disk_under_a_table_is_one_line(kind: str, made: Path, at: Path, monkeypatch: Any) -> None:
    words = rnnlens.analyze(rnnlens.load(made / "run")).modifiers

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    told(lambda: words.write(at / f"words.{kind}"), "No space left on device", f"words.{kind}", "make room")
    assert not [path for path in at.iterdir() if "words" in path.name]


def test_where_no_table_can_be_written_is_told_before_the_analysis(at: Path, capsys: Any) -> None:
    line = refused(capsys, "analyze", "nowhere", "--table", "reviews.csv/x.csv")
    assert "cannot write 'reviews.csv/x.csv': " in line and "reviews.csv' is not a folder" in line


def test_a_list_that_is_not_there_is_not_told_as_a_missing_run(at: Path, capsys: Any) -> None:
    line = refused(capsys, "baselines", "corpus", "--modifiers", "words.txt", "--out", "out")
    assert "there is no file 'words.txt': expected a list of words" in line
    line = refused(capsys, "sweep", "corpus", "--model", "bow", "--out", "out", "--earlier", "trials.jsonl")
    assert "there is no file 'trials.jsonl'" in line


# --- values -----------------------------------------------------------------------------------------------------------


@row("vocab-size 1e30")
@pytest.mark.parametrize("value", ["1e30", "1.5", "nan", "0x10", "", "five", " 5"])
def test_only_whole_numbers_are_whole_numbers(value: str, at: Path, capsys: Any) -> None:
    for line in ("prepare reviews.csv --out o --vocab-size", "analyze run --top", "train corpus --out o --epochs"):
        code, out, err = call(capsys, *line.split(), value)
        assert code == 2 and not out and "expected a whole number, not" in err and err.count("\n") == 1, err
    assert not (at / "o").exists()


def network(**options: Any) -> Network:
    words = ["<unk>", "not", "very", "good", "bad", "movie", *(f"w{i}" for i in range(20))]
    return Network(words, **{"hidden": 6, "embedding": 3, **options})


STATES = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
ANALYZED: dict[str, tuple[Callable[[], object], str]] = {
    "analyze states numpy": (lambda: rnnlens.analyze(network(), states=STATES.numpy()), "states is 'ndarray'"),  # type: ignore[arg-type]
    "states list": (lambda: rnnlens.analyze(network(), states=STATES.tolist()), "states is 'list'"),  # type: ignore[arg-type]
    "states complex": (lambda: rnnlens.analyze(network(), states=STATES + 0j), "states are torch.complex64"),
    "states bool": (lambda: rnnlens.analyze(network(), states=STATES > 0), "states are torch.bool"),
    "analyze device mps": (lambda: rnnlens.analyze(network(), device="mps"), "device is 'mps': expected cpu or cuda"),
    "analyze device cuda": (lambda: rnnlens.analyze(network(), device="cuda"), "torch sees no GPU here"),
    "device number": (lambda: rnnlens.analyze(network(), device=5), "device is 5"),  # type: ignore[arg-type]
    "analyze corpus list": (lambda: rnnlens.analyze(network(), [("good", 1)]), "corpus is of type list: expected"),  # type: ignore[arg-type, list-item]
    "probes list": (lambda: rnnlens.analyze(network(), probes=["good"]), "probes is \"['good']\""),  # type: ignore[arg-type]
    "1 unit": (lambda: rnnlens.analyze(network(hidden=1)), "the network's state is one number: expected at least 2"),
    "agreement device": (lambda: rnnlens.agreement(network(), device="mps"), "device is 'mps'"),
    "audit device": (lambda: rnnlens.audit(network(), device="mps"), "device is 'mps'"),
}


@row("analyze states numpy", "analyze device mps", "analyze device cuda", "analyze corpus list", "1 unit")
@pytest.mark.parametrize("name", ANALYZED)
def test_what_analyze_cannot_use_is_told(name: str) -> None:
    if "cuda" in name and torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    told(*ANALYZED[name])


@row("relu RNN with large states (half overflow in analyze)")
def test_states_that_grow_without_bound_are_told_as_such() -> None:
    rnn = nn.RNN(3, 6, nonlinearity="relu", batch_first=True)
    with torch.no_grad():
        rnn.weight_hh_l0.copy_(1.6 * torch.eye(6))
    grows = from_torch(rnn, nn.Embedding(26, 3), nn.Linear(6, 1), network().vocab)
    told(lambda: rnnlens.analyze(grows, starts=50), "the network's states reach", "at most 65,504", "without bound")


def _adapted(step: Callable[[Tensor, Tensor], Tensor], dtype: torch.dtype = torch.float32) -> Network:
    vocab = network().vocab
    return adapt(step, torch.randn(len(vocab), 6), (torch.ones(6), 0.0), vocab, torch.zeros(6, dtype=dtype))


@row("adapt step raises sometimes")
def test_an_error_in_a_users_step_names_the_step() -> None:
    calls: list[int] = []

    def step(h: Tensor, e: Tensor) -> Tensor:
        calls.append(1)
        if len(calls) > 8:
            raise ZeroDivisionError("x")
        return torch.tanh(h + e)

    with pytest.raises(RnnlensError, match=r"step\(h, e\) failed on h \(.*\): ZeroDivisionError: x$") as error:
        rnnlens.analyze(_adapted(step), starts=40)
    assert isinstance(error.value.__cause__, ZeroDivisionError)


@row("adapt float64 state float32 step")
def test_a_step_of_another_precision_is_told() -> None:
    W = torch.eye(6)
    told(lambda: _adapted(lambda h, e: torch.tanh(h @ W + e), torch.float64), "step(h, e) failed", "dtype")


SOME = (["good film", "bad film"] * 4, [1, 0] * 4)
WRONG: list[tuple[str, Callable[[], object], str]] = [
    ("visited_states", lambda: rnnlens.visited_states(network(), n=-1), "n is -1"),
    ("visited_states seed", lambda: rnnlens.visited_states(network(), seed=2**70), "seed is 1"),
    ("visited_states length", lambda: rnnlens.visited_states(network(), length=0), "length is 0"),
    ("find_fixed_points", lambda: rnnlens.find_fixed_points(network(), STATES, tolerance=float("nan")), "tolerance"),
    ("find_fixed_points chunk", lambda: rnnlens.find_fixed_points(network(), STATES, chunk=2.5), "chunk is 2.5"),  # type: ignore[arg-type]
    ("fit_line_attractor", lambda: rnnlens.fit_line_attractor(network(), STATES, knots=1), "knots is 1"),
    ("fit_line_attractor trim", lambda: rnnlens.fit_line_attractor(network(), STATES, trim=0.7), "trim is 0.7"),
    ("find_modifiers", lambda: rnnlens.find_modifiers(network(), None, top=-5), "top is -5"),  # type: ignore[arg-type]
    ("fit_subspace", lambda: rnnlens.fit_subspace(network(), None, None, rank=0), "rank is 0"),  # type: ignore[arg-type]
    ("mode_removal", lambda: rnnlens.mode_removal(network(), STATES, STATES, STATES, draws=-1), "draws is -1"),
    ("attribute", lambda: rnnlens.attribute(network(), STATES, ["not"], None, seed=-1), "seed is -1"),  # type: ignore[arg-type]
    ("evaluate", lambda: rnnlens.evaluate(network(), None, max_words=0), "max_words is 0"),  # type: ignore[arg-type]
    ("Probes", lambda: rnnlens.Probes.from_network(network(), None, n=0), "n is 0"),  # type: ignore[arg-type]
    ("from_texts", lambda: Corpus.from_texts(["a", "b"], [0, 1], min_count=0), "min_count is 0"),
    ("ToyLanguage", lambda: rnnlens.ToyLanguage(length=0), "length is 0"),
    ("ToyLanguage pads", lambda: rnnlens.ToyLanguage(pads=1.5), "pads is 1.5"),  # type: ignore[arg-type]
    ("TrainConfig", lambda: TrainConfig(balance="no"), "balance is 'no': expected True or False"),  # type: ignore[arg-type]
    ("train corpus", lambda: rnnlens.train(network(), ["good"]), "corpus is 'list'"),  # type: ignore[arg-type]
    ("train config", lambda: rnnlens.train(network(), Corpus.from_texts(*SOME), {"epochs": 1}), "config is 'dict'"),  # type: ignore[arg-type]
    ("load", lambda: rnnlens.load(5), "path is 5: expected a run folder"),  # type: ignore[arg-type]
    ("load_corpus", lambda: rnnlens.load_corpus(None), "source is 'None'"),  # type: ignore[arg-type]
    ("Probes words", lambda: rnnlens.Probes(5, 6), "positive probes are 5"),  # type: ignore[arg-type]
    ("Vocab counts", lambda: rnnlens.Vocab(["a", "b"], [-1, 2]), "the counts hold -1"),
    ("Vocab decode", lambda: rnnlens.Vocab(["a"]).decode([0, 99]), "no word has the id 99"),
    ("Vocab encode", lambda: rnnlens.Vocab(["a"]).encode(b"a"), "of type bytes"),  # type: ignore[arg-type]
    ("figure", lambda: rnnlens.figures.class_modifiers({}, words=-1), "words is -1"),
]


@pytest.mark.parametrize(("call", "part"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_functions_check_their_numbers_before_they_compute(call: Callable[[], object], part: str) -> None:
    told(call, part, "expected")


TEXTS, LABELS = ["good film", "not good film", "bad film", "not bad film"] * 6, [1, 0, 0, 1] * 6


@row("param candidates=-1", "components=0 own_weights")
def test_parameters_that_are_no_more_are_refused_by_python() -> None:
    assert not {"candidates", "components"} & set(ModifierConvolution().get_params())


@pytest.mark.parametrize(
    "options",
    [{"own_weights": "no"}, {"edges": 5}, {"factored": 3}, {"class_weight": "bal"}, {"class_weight": {5: 1}}],
    ids=str,
)
def test_flags_and_weights_of_an_estimator_are_checked(options: dict[str, Any]) -> None:
    model = ModifierConvolution(["not"], min_count=1, epochs=1, **options)
    told(lambda: model.fit(TEXTS, LABELS), f"{next(iter(options))} is ", "expected")


@row("train --sparsity 500; analyze", "forged: train --sparsity 500")
def test_a_training_that_leaves_no_words_is_told_and_not_analyzed(at: Path, capsys: Any) -> None:
    line = "train corpus --out thin --hidden 4 --embedding 3 --epochs 2 --learning-rate 0.05 --device cpu --sparsity"
    code, _, err = call(capsys, *line.split(), 500)
    assert code == 1 and "all word embeddings became zero" in err and "sparsity below 500" in err
    assert err.count("\n") == 1 and "not finished" in refused(capsys, "analyze", "thin")


@row("train --sparsity 500; analyze", "forged: train --sparsity 500")
@pytest.mark.parametrize("kept", [1, 2, 5])
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e-9, 1e-20])
def test_a_network_of_next_to_no_words_has_results_that_are_numbers(kept: int, scale: float) -> None:
    """A few words that are left, large or small: an analysis that a file can hold, or one line. Words of a millionth
    of their size change the input Jacobian by less than its rounding errors."""
    thin = network()
    with torch.no_grad():
        thin.E[kept + 1 :] = thin.E[0] = 0
        thin.E *= scale
    if scale < 1:
        lost = (
            "same after every word, up to rounding"
            if scale > 1e-7
            else "in the same state after every word|of some words is not finite"
        )
        with pytest.raises(RnnlensError, match=lost):
            rnnlens.analyze(thin, starts=40)
    else:
        assert "NaN" not in (text := json.dumps(rnnlens.analyze(thin, starts=40).results)) and "Infinity" not in text


# --- texts and files --------------------------------------------------------------------------------------------------


@row("analyze-bigword")
def test_a_word_as_long_as_a_file_is_unknown(tmp_path: Path) -> None:
    long, kept = "x" * 10_000_000, "y" * LONGEST
    corpus = Corpus.from_texts([f"good {kept}", "bad film", f"good {long}", f"bad {kept}"], [1, 0, 1, 0], validation=0)
    assert kept in corpus.vocab and max(map(len, corpus.vocab.words)) == LONGEST
    assert corpus.vocab.unk in corpus.train.ids.tolist()


@row("weights.safetensors bytes of equal weights")
def test_equal_tensors_give_equal_files(tmp_path: Path) -> None:
    tensors = {"b": np.arange(3.0), "a": np.zeros((2, 2), np.float16), "é": np.ones(1, np.int64)}
    files = set()
    for i in range(8):
        mark = write_tensors(tmp_path / "w.safetensors", dict(sorted(tensors.items(), reverse=i % 2 == 1)), {"x": "é"})
        files.add((tmp_path / "w.safetensors").read_bytes())
    assert len(files) == 1 and len(mark) == 32
    arrays, about = read_tensors(tmp_path / "w.safetensors")
    assert about == {"x": "é"} and all(np.array_equal(arrays[name], value) for name, value in tensors.items())
    for k in range(2):
        BagOfWords(min_count=1, epochs=1).fit(TEXTS, LABELS).save(tmp_path / str(k))
    assert len({(tmp_path / str(k) / "weights.safetensors").read_bytes() for k in range(2)}) == 1


@row("constraints for each extra")
def test_everything_that_an_extra_needs_is_pinned() -> None:
    """And what that needs, as far as it is installed."""
    root = HERE.parent
    pinned = {_plain(line.partition("==")[0]) for line in (root / "constraints.txt").read_text().splitlines()[1:]}
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"setuptools", "torch", "sympy", "networkx", "filelock", "fsspec", "jinja2"} <= pinned
    for extra in ("", *project["optional-dependencies"]):
        given = [*project["dependencies"], *project["optional-dependencies"].get(extra, [])]
        needed, left = set[str](), [Requirement(line) for line in given]
        while left:
            one = left.pop()
            if one.name == project["name"]:
                given = [line for name in one.extras for line in project["optional-dependencies"][name]]
                left += [Requirement(line) for line in given]
            elif f"{one.name}{sorted(one.extras)}" not in needed and _is_here(one.name):
                needed.add(f"{one.name}{sorted(one.extras)}")
                further = [Requirement(line) for line in metadata.requires(one.name) or ()]
                chosen = [{"extra": name} for name in one.extras or [""]]
                left += [other for other in further if _applies(other, chosen)]
        lacking = {_plain(name.partition("[")[0]) for name in needed} - pinned
        assert not lacking, f"not pinned, but needed by [{extra}]: {sorted(lacking)}"


def _plain(name: str) -> str:
    """The name of a distribution, however it is written."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_here(name: str) -> bool:
    try:
        return bool(metadata.version(name))
    except metadata.PackageNotFoundError:
        return False


def _applies(requirement: Requirement, environments: list[dict[str, str]]) -> bool:
    return requirement.marker is None or any(requirement.marker.evaluate(one) for one in environments)


def test_redirected_training_prints_every_epoch_when_it_ends(at: Path, monkeypatch: Any) -> None:
    """What the history has and what was written, whenever the stream is flushed."""
    seen: list[tuple[int, int]] = []

    class Stream(list[str]):
        encoding = "utf-8"

        def write(self, text: str) -> int:
            self.append(text)
            return len(text)

        def flush(self) -> None:
            history = at / "new" / "history.jsonl"
            lines = history.read_text().count("\n") if history.exists() else 0
            seen.append((lines, "".join(self).count("epoch ")))

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdout", Stream())
    with pytest.raises(SystemExit) as stop:
        main(
            ["train", "corpus", "--out", "new", "--hidden", "4", "--embedding", "3", "--epochs", "3", "--device", "cpu"]
        )
    assert not stop.value.code and {(1, 1), (2, 2), (3, 3)} <= set(seen) and max(seen) == (3, 3)


def test_a_file_that_could_not_be_written_leaves_none(tmp_path: Path) -> None:
    with pytest.raises(RnnlensError, match="No space left"), atomic_file(tmp_path / "x"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert not list(tmp_path.iterdir())


# --- the list ---------------------------------------------------------------------------------------------------------

ELSEWHERE = {
    "test_faults_files.test_a_corpus_with_anything_else_inside_is_never_replaced": [
        "prepare-overwrite-foreign", "prepare-damaged-foreign-no-overwrite",
    ],
    "test_faults_files.test_a_source_inside_the_folder_to_overwrite_is_kept": ["prepare-source-inside-out-overwrite"],
    "test_faults_files.test_baselines_do_not_replace_anything_else": ["baselines-out-foreign"],
    "test_faults_text.test_a_column_named_positive_is_a_header_above_numbers_and_data_above_words": [
        "prepare head_positive.csv", "head_positive --label positive --text text",
    ],
    "test_faults_text.test_zero_between_minus_one_and_one_is_neutral_and_dropped": ["prepare m101.csv"],
    "test_faults_text.test_reviews_without_words_are_dropped_and_counted": ["prepare spacetexts.csv"],
    "test_faults_text.test_labels_that_only_python_takes_for_numbers_are_refused": ["prepare underscore.csv"],
    "test_faults_text.test_reviews_without_words_are_not_trained_on": ["train-on-zero-word-reviews"],
    "test_faults_options.test_a_run_of_neighbours_longer_than_a_class_is_the_whole_class": ["neighbours 10^9"],
    "test_faults_options.test_a_value_outside_its_range_is_one_line_before_anything_is_read": [
        "analyze top -5", "analyze seed 2^70", "baselines most -1", "sweep trials -1", "sweep jobs -1",
        "sweep seed -1", "sweep most -3", "reproduce seeds 0", "reproduce seeds -1", "reproduce trials -1",
        "reproduce most -1", "validate language-seed -1", "validate documents 0", "validate documents -5",
        "validate documents 1", "toy seed -1", "train hidden 10^30", "train threads 10^6", "train threads 10^12",
        "train max-words 10^30",
    ],
    "test_faults_options.test_a_broken_number_is_not_rounded_to_a_whole_one": ["train epochs float"],
    "test_faults_options.test_no_command_asks_the_hub_for_a_mistyped_path": [
        "train-missing-relative", "train/analyze/baselines/sweep with a mistyped corpora/mine",
    ],
    "test_faults_options.test_no_permission_is_not_told_as_absence": ["noperm-source"],
    "test_faults_files.test_a_review_that_is_no_ordinary_file_is_told": ["acl-fifo", "acl-devzero"],
    "test_faults_text.test_a_terminal_without_unicode_gets_substitutes_and_keeps_signs": [
        "stdout-ascii-probe", "stdout-ascii-analyze", "LC_ALL=C-probe", "cp1252-probe",
    ],
    "test_faults_files.test_a_report_is_not_written_over_a_file_of_a_run": ["report --out over weights"],
    "test_faults_files.test_a_run_trained_inside_a_corpus_survives_the_command": [
        "train inside corpus, then prepare --overwrite",
    ],
    "test_faults_options.test_a_wrong_ending_is_refused_before_the_work": [
        "analyze --table to run/vocab.csv no ext",
    ],
    "test_faults_provenance.test_flipped_labels_of_the_same_size_and_time_are_noticed": [
        "cache: labels flipped, same size and mtime",
    ],
    # Interruptions.
    "test_faults.test_no_worker_outlives_its_command": [
        "sweep TERM@12s", "reproduce again after TERM", "validate again after TERM",
    ],
    "test_faults_locks.test_analyze_says_that_it_waits_for_a_run_in_use": ["analyze while lock held (waits silently?)"],
    "test_faults_locks.test_missing_results_are_one_line": [
        "no results.json: train --resume --test", "no results.json: train --resume",
    ],
    "test_faults_provenance.test_a_checkpoint_of_another_run_is_not_resumed": ["resume-with-foreign-checkpoint"],
    "test_faults_provenance.test_every_command_refuses_swapped_weights_and_a_permuted_vocabulary": [
        "swapped-weights-info", "swapped-weights-probe", "swapped-weights-report", "swapped-weights-resume-test",
        "swapped-weights-export", "permuted-vocab-probe", "permuted-vocab-analyze", "permuted-vocab-resume",
    ],
    "test_faults_locks.test_an_analysis_keeps_an_accuracy_that_was_measured_meanwhile": [
        "analyze begun, train --resume --test meanwhile, analyze saves",
    ],
    "test_faults_provenance.test_an_analysis_interrupted_between_its_files_is_done_again": [
        "reproduce's analysis killed between its two files, run again",
    ],
    # Hostile models, the page.
    "test_faults_files.test_a_lock_that_is_no_ordinary_file_is_refused": ["lock-symlink-analyze", "lock-fifo-analyze"],
    "test_faults_files.test_a_lock_beside_a_corpus_that_is_no_ordinary_file_is_refused": [
        "parent-lock-symlink-prepare",
    ],
    "test_faults_text.test_words_that_analyze_prints_are_escaped": ["esc-analyze"],
    "test_faults_text.test_escape_codes_never_reach_the_terminal": ["rnnlens info: ESC in run.json"],
    "test_faults_files.test_an_export_copies_no_link": ["export-symlink-history"],
    "test_faults_networks.test_a_run_whose_words_all_end_at_zero_is_not_finished": ["train --sparsity 5000; analyze"],
    "test_faults_text.test_the_page_knows_every_word_counts_beyond_32_bits_and_saves_no_formulas": [
        "page of an adapted network: card of the word constructor / __proto__",
        "page: Save as CSV, words = + - @ tab", "forged: counts 3e9: page shows −1,294,967,296",
    ],
    "test_faults_text.test_words_that_look_like_formulas_are_text_in_csv_files_and_as_they_are_in_parquet": [
        "--table csv, words = + - @",
    ],
    "test_faults_networks.test_a_network_that_cannot_be_measured_is_refused_in_one_line": [
        "forged: 1e38 E", "forged: zero E / train --sparsity 5000", "forged: denormal E",
    ],
    "test_faults_text.test_complex_weights_are_refused": ["forged: complex64 E silently real"],
    "test_faults_text.test_an_odd_run_is_exported_in_one_line_or_not_at_all": [
        "forged: version list: export", "forged: no corpus fingerprint: export",
    ],
    "test_faults_text.test_odd_results_are_one_line_that_names_the_file": [
        "forged: warnings int: report", "forged: no probes: report", "forged: barcodes None: report",
        "forged: threshold str: report", "forged: timescales: report", "forged: toy claims: report",
        "forged: explained None: report",
    ],
    "test_faults_text.test_an_odd_table_of_a_reproduction_is_one_line": ["forged: table rows: report"],
    # Python calls.
    "test_faults_networks.test_analyze_names_a_precision_that_it_cannot_use": [
        "analyze torch.float16", "analyze torch.bfloat16", "analyze torch.complex64",
    ],
    "test_faults_networks.test_a_network_of_no_numbers_does_not_read": ["meta read"],
    "test_faults_networks.test_only_modules_that_compute_what_their_class_does_are_read": [
        "subclass with other forward",
    ],
    "test_faults_networks.test_modules_with_hooks_are_refused_until_the_hooks_are_removed": ["forward hook"],
    "test_faults_networks.test_words_without_an_order_are_refused": ["words set"],
    "test_faults_networks.test_what_is_read_is_checked": [
        "states int8", "states uint8 255 (pad?)", "states bool", "states numpy", "states list",
        "forward lengths beyond", "forward lengths negative", "h0 arg wrong", "read None", "read bytes", "read int",
        "read list of ints",
    ],
    "test_faults_options.test_python_refuses_the_same_values": ["analyze starts -1", "analyze top float"],
    "test_faults_networks.test_an_adapted_module_is_in_eval_mode_and_the_users_own_is_left_alone": [
        "adapt module in train() with dropout: read twice",
        "adapt BatchNorm train(): state depends on the batch; running stats drift",
    ],
    "test_faults_networks.test_an_adapted_module_with_dropout_is_analyzed_alike_twice": [
        "adapt dropout analyze (train mode) deterministic?",
    ],
    "test_faults_networks.test_a_step_without_derivatives_is_told": [
        "adapt step no grad (detach)", "adapt step numpy inside",
    ],
    "test_faults_networks.test_another_input_than_the_points_is_refused": ["linear_modes list"],
    "test_faults_locks.test_three_threads_add_ninety_results_and_all_are_kept": ["3 threads add_results"],
    "test_faults_text.test_a_cased_vocabulary_is_read_as_it_is_written": ["cased vocabulary, read(text)"],
    # Estimators.
    "test_faults_files.test_an_estimator_is_not_saved_over_anything_else": ["save-over-folder"],
    "test_faults_networks.test_parameters_that_no_model_can_be_fitted_with_are_refused": [
        "class_weight nan", "param epochs=0", "param sparsity=nan", "param l1=inf", "param l2=inf",
        "param device='nope'", "param modifiers=['not', 'not']", "param modifiers=[5]",
    ],
    "test_faults_networks.test_a_missing_gpu_is_told": ["param device='cuda'"],
    "test_faults_networks.test_only_texts_are_explained": ["explain None"],
    "test_faults_networks.test_a_fit_that_diverged_says_so_and_leaves_nothing_to_predict_with": [
        "learning_rate=1e4",
    ],
    "test_sklearn_contract.test_the_time_of_an_explanation_grows_with_the_text_and_not_with_its_square": [
        "explain 600/1200/2400/4800 words, max_words=None",
    ],
    # Supply chain.
    "test_faults_text.test_pictures_are_drawn_with_local_scripts_alone": ["probe --figure x.svg"],
}  # fmt: skip


@pytest.mark.parametrize("test", ELSEWHERE)
def test_the_test_of_a_fault_exists(test: str) -> None:
    file, name = test.split(".")
    assert re.search(rf"^def {name}\(", (HERE / f"{file}.py").read_text(encoding="utf-8"), re.MULTILINE)


NAMED = [*ROWS, *(fault for faults in ELSEWHERE.values() for fault in faults)]


def test_every_fault_is_named_once_and_none_is_left_out() -> None:
    assert len(NAMED) == len(set(NAMED)) == 151


@pytest.mark.skipif(not LIST.is_file(), reason="needs ../shared/FAULTS.md")
def test_the_faults_are_those_of_the_list() -> None:
    listed = []
    for group in LIST.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, *lines = group.splitlines()
        rows = [line[2:].split(" | ")[0] for line in lines if line.startswith("| ")][1:]  # without the head
        assert title.endswith(f"({len(rows)})")
        listed.append(rows)
    assert [len(rows) for rows in listed] == [51, 17, 27, 38, 15, 3]
    assert sorted(NAMED) == sorted(name for rows in listed for name in rows)
