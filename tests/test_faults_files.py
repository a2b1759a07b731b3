"""Only what rnnlens wrote is replaced, links are not followed out of a folder, and no pipe or device makes it wait."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rnnlens
from rnnlens import Network, RnnlensError, TrainConfig, toy_corpus, train
from rnnlens.baselines import BASELINES, BagOfWords
from rnnlens.cli import main
from rnnlens.common import files
from rnnlens.common.files import HOST, append_line, exclusive, sweep_temporaries, write_json, write_tensors
from rnnlens.common.replacing import FolderKind, atomic_folder, check_output
from rnnlens.corpora import load_corpus, prepare
from rnnlens.experiments.bags import fit_baselines
from rnnlens.experiments.reproduce import reproduce
from rnnlens.experiments.sweep import sweep
from rnnlens.experiments.trials import run_trials
from rnnlens.experiments.validate import validate
from rnnlens.figures.pictures import marked
from rnnlens.runs import unpack

TEXTS = ["a good film", "a bad film", "not good", "not bad"] * 15
LABELS = [1, 0, 0, 1] * 15


@pytest.fixture(autouse=True)
def nothing_waits() -> Iterator[None]:
    """A test that would wait for a pipe fails instead."""

    def stop(*_: Any) -> None:
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    path = tmp_path / "reviews.csv"
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in zip(TEXTS, LABELS, strict=True)))
    return path


@pytest.fixture
def corpus(reviews: Path, tmp_path: Path) -> Path:
    return prepare(reviews, tmp_path / "corpus", min_count=1).path or tmp_path


@pytest.fixture(scope="module")
def estimator() -> BagOfWords:
    return BagOfWords(epochs=1, min_count=1).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Any:
    data = toy_corpus(train=64, validation=16)
    path = tmp_path_factory.mktemp("runs") / "run"
    run = train(Network(data.vocab, hidden=4, embedding=2), data, TrainConfig(epochs=1), path, progress=False)
    found = rnnlens.analyze(run, starts=50, top=20, rank=1)
    found.save()
    return found


@pytest.fixture
def run(analysis: Any, tmp_path: Path) -> Path:
    """A copy of an analyzed run."""
    subprocess.run(["cp", "-r", analysis.run.path, tmp_path / "run"], check=True)
    return tmp_path / "run"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def refused(call: Callable[[], Any], folder: Path, *named: str) -> None:
    """The call is refused in one line that names what is in the way, and nothing in the folder changes."""
    before = contents(folder)
    with pytest.raises(RnnlensError) as told:
        call()
    assert contents(folder) == before
    assert "\n" not in str(told.value) and all(name in str(told.value) for name in named), told.value


# --- folders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("foreign", ["notes.txt", "run/weights.safetensors", "baseline.json/deep"])
def test_an_estimator_is_not_saved_over_anything_else(estimator: BagOfWords, tmp_path: Path, foreign: str) -> None:
    path = tmp_path / "proj" / foreign
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    refused(lambda: estimator.save(tmp_path / "proj"), tmp_path, foreign.split("/")[0], "proj")


def test_an_estimator_saved_into_the_current_folder_does_not_empty_it(
    estimator: BagOfWords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for _ in range(2):  # the second replaces the first, in a folder that stays the same
        estimator.save(".")
        assert sorted(os.listdir(".")) == ["baseline.json", "weights.safetensors"]
        assert os.path.samefile(".", tmp_path / "here")
    BagOfWords.load(".")
    Path("notes.txt").write_text("mine")
    refused(lambda: estimator.save("."), tmp_path, "notes.txt")
    refused(lambda: estimator.save(".."), tmp_path, "here")
    assert os.listdir(tmp_path) == ["here"]


def test_an_estimator_is_replaced_by_another_but_a_file_of_that_name_is_not(
    estimator: BagOfWords, tmp_path: Path
) -> None:
    folder = estimator.save(tmp_path / "saved")
    assert estimator.save(folder) == folder
    (folder / "baseline.json").write_text('{"mine": 1}')
    refused(lambda: estimator.save(folder), tmp_path, "baseline.json")
    refused(lambda: estimator.save(folder / "baseline.json"), tmp_path, "not a folder")


def test_a_folder_behind_a_link_is_replaced_and_the_link_stays(estimator: BagOfWords, tmp_path: Path) -> None:
    folder = estimator.save(tmp_path / "disk" / "saved")
    (tmp_path / "link").symlink_to(folder)
    estimator.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and sorted(os.listdir(tmp_path / "disk")) == ["saved"]


def test_what_is_written_into_a_folder_meanwhile_is_kept(tmp_path: Path) -> None:
    kind = FolderKind("a test", frozenset({"ours"}), {"ours": b"x"})
    with atomic_folder(tmp_path / "out", kind) as folder:
        (folder / "ours").write_text("x")

    def late() -> None:
        with atomic_folder(tmp_path / "out", kind) as folder:
            (folder / "ours").write_text("xx")
            (tmp_path / "out" / "run").mkdir()

    refused(late, tmp_path, "'run'")
    assert (tmp_path / "out" / "run").is_dir() and (tmp_path / "out" / "ours").read_text() == "x"


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("foreign", ["run/weights.safetensors", "notes.txt"])
def test_a_corpus_with_anything_else_inside_is_never_replaced(
    reviews: Path, corpus: Path, damaged: bool, overwrite: bool, foreign: str
) -> None:
    (corpus / foreign).parent.mkdir(exist_ok=True)
    (corpus / foreign).write_text("mine")
    if damaged:
        (corpus / "train.ids.npy").write_bytes(b"cut")
    if not damaged and not overwrite:  # the corpus that is wanted is there: it is opened
        assert prepare(reviews, corpus, min_count=1).path == corpus
        return
    refused(lambda: prepare(reviews, corpus, min_count=1, overwrite=overwrite), corpus, foreign.split("/")[0])


def test_a_run_trained_inside_a_corpus_survives_the_command(reviews: Path, corpus: Path, capsys: Any) -> None:
    data = load_corpus(corpus)
    train(Network(data.vocab, hidden=2, embedding=2), data, TrainConfig(epochs=1), corpus / "run", progress=False)
    before = contents(corpus)
    with pytest.raises(SystemExit) as stop:
        main(["prepare", str(reviews), "--out", str(corpus), "--overwrite", "--min-count", "1"])
    assert stop.value.code == 1 and contents(corpus) == before
    assert "'run', which is not part of a prepared corpus" in capsys.readouterr().err


def test_a_source_inside_the_folder_to_overwrite_is_kept(reviews: Path, corpus: Path) -> None:
    source = reviews.rename(corpus / "reviews.csv")
    refused(lambda: prepare(source, corpus, min_count=1, overwrite=True), corpus, "reviews.csv")


def test_somebody_elses_corpus_json_is_no_corpus(reviews: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "corpus.json").write_text('{"sentences": 12}')
    refused(lambda: prepare(reviews, tmp_path / "out", overwrite=True), tmp_path / "out", "corpus.json")


def test_a_cache_entry_with_anything_else_inside_is_not_replaced(
    reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    entry = load_corpus(reviews, min_count=1).path
    assert entry is not None
    (entry / "run").mkdir()
    (entry / "vocab.json").write_bytes(b"cut")
    refused(lambda: load_corpus(reviews, min_count=1), tmp_path / "cache", "'run'")


def test_baselines_do_not_replace_anything_else(corpus: Path, tmp_path: Path) -> None:
    data = load_corpus(corpus)
    for model in BASELINES:
        (tmp_path / "out" / model).mkdir(parents=True)
        (tmp_path / "out" / model / "notes.txt").write_text("mine")
        refused(lambda: next(fit_baselines(data, ["not"], tmp_path / "out")), tmp_path / "out", "notes.txt", model)
        (tmp_path / "out" / model / "notes.txt").unlink()


@pytest.mark.parametrize("command", ["baselines", "reproduce", "validate"])
def test_results_of_a_run_are_not_replaced_by_those_of_a_study(command: str, corpus: Path, run: Path) -> None:
    data = load_corpus(corpus)
    write_json(run / "validation.json", {"mine": 1})
    calls: dict[str, Callable[[], Any]] = {
        "baselines": lambda: next(fit_baselines(data, ["not"], run)),
        "reproduce": lambda: reproduce(str(corpus), run),
        "validate": lambda: validate("tiny", run),
    }
    refused(calls[command], run, "validation.json" if command == "validate" else "results.json", command)


def test_a_sweep_tells_before_the_first_trial_what_it_would_replace(corpus: Path, tmp_path: Path) -> None:
    def call() -> Any:
        return sweep(str(corpus), ["bow"], 1, tmp_path / "out")

    (tmp_path / "out").mkdir()
    write_json(tmp_path / "out" / "settings.json", {"mine": 1})
    refused(call, tmp_path / "out", "settings.json")
    (tmp_path / "out" / "settings.json").unlink()
    (tmp_path / "out" / "ledger.db").write_text("mine")
    refused(call, tmp_path / "out", "ledger.db")


@pytest.mark.parametrize("foreign", ["notes.txt", "vocab.json"])
def test_training_starts_in_no_folder_with_something_in_it(foreign: str, corpus: Path, tmp_path: Path) -> None:
    data = load_corpus(corpus)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / foreign).write_text('{"mine": 1}')
    network, out = Network(data.vocab, hidden=2, embedding=2), tmp_path / "out"
    refused(lambda: train(network, data, TrainConfig(epochs=1), out, progress=False), out, foreign)


def test_a_packaged_run_is_not_unpacked_over_anything_else(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    refused(lambda: unpack("reviews-gru", tmp_path / "out"), tmp_path / "out", "notes.txt")


def test_an_analysis_is_not_saved_into_another_run(analysis: Any, run: Path, tmp_path: Path) -> None:
    refused(lambda: analysis.save(run), run, "another run")
    for name, content in (("results.json", b'{"mine": 1}'), ("states.safetensors", b"mine")):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_bytes(content)
        refused(lambda folder=tmp_path / name: analysis.save(folder), tmp_path / name, name)  # type: ignore[misc]
    for _ in range(2):
        analysis.save(tmp_path / "own")


def test_a_model_of_another_library_is_not_replaced_by_an_export(analysis: Any, tmp_path: Path) -> None:
    """Its files have the same names."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("model.safetensors", "vocab.json", "README.md"):
        (folder / name).write_text("mine")
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    refused(lambda: rnnlens.export(analysis.run, folder, overwrite=True), folder, "README.md")


def test_only_temporaries_of_rnnlens_are_swept(tmp_path: Path) -> None:
    mine = tmp_path / f".draft.{HOST}-final.tmp"
    mine.write_text("mine")
    (tmp_path / f".x.{HOST}-999999999-0a.tmp").write_text("left by a killed process")
    sweep_temporaries(tmp_path)
    assert os.listdir(tmp_path) == [mine.name]


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["weights.safetensors", "run.json", "history.jsonl", "page"])
def test_a_report_is_not_written_over_a_file_of_a_run(name: str, run: Path) -> None:
    refused(lambda: rnnlens.report(run, run / name), run, name, "html")


def test_a_page_replaces_a_page_and_nobody_elses(run: Path) -> None:
    for _ in range(2):
        rnnlens.report(run)
    (run / "index.html").write_text("<html>my own page about rnnlens and plotly</html>")
    refused(lambda: rnnlens.report(run, run / "index.html"), run, "index.html")
    figure = rnnlens.figures.barcodes(rnnlens.load(run))
    figure.write_html(run / "mine.html")  # as anybody saves a figure of Plotly's
    refused(lambda: rnnlens.report(run, run / "mine.html"), run, "mine.html", "a page that rnnlens wrote")
    refused(lambda: rnnlens.figures.write_figure(figure, run / "report.html"), run, "report.html", "a figure")


@pytest.mark.parametrize("name", ["x.html", "x.svg", "x.pdf", "x.png"])
def test_a_figure_replaces_only_a_figure(name: str, run: Path, tmp_path: Path) -> None:
    figure = rnnlens.figures.barcodes(rnnlens.load(run))
    (tmp_path / name).write_text("mine")
    refused(lambda: rnnlens.figures.write_figure(figure, tmp_path / name), tmp_path, name)
    results = rnnlens.load(run).results
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / f"subspace{Path(name).suffix}").write_text("mine")
    write = rnnlens.figures.write_figures
    refused(lambda: write(results, tmp_path / "out", name[2:]), tmp_path, "subspace")  # type: ignore[arg-type]
    (tmp_path / "x.html").unlink(missing_ok=True)
    written = [rnnlens.figures.write_figure(figure, tmp_path / "x.html").read_bytes() for _ in range(2)]
    assert written[0] == written[1]


OTHERS = {  # files that other programs write
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "pdf": b"%PDF-1.4\n%\xe2\xe3\n1 0 obj<<>>endobj\ntrailer<<>>\nstartxref\n9\n%%EOF\n",
    "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(17) + b"\0\0\0\0IEND\xaeB`\x82",
}


@pytest.mark.parametrize("kind", ["html", *OTHERS])
def test_a_figure_does_not_replace_one_that_another_program_wrote(kind: str, run: Path, tmp_path: Path) -> None:
    figure, path = rnnlens.figures.barcodes(rnnlens.load(run)), tmp_path / f"mine.{kind}"
    if kind == "html":
        figure.write_html(path)  # as anybody saves a figure of Plotly's
    else:
        path.write_bytes(OTHERS[kind])
    refused(
        lambda: rnnlens.figures.write_figure(figure, path), tmp_path, path.name, "a figure that rnnlens wrote: choose"
    )
    path.write_bytes(marked(path.read_bytes(), kind))
    assert check_output(path, "a figure", kind) == path


def test_reproduce_says_before_training_that_a_figure_is_not_its_own(corpus: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "table"
    out.mkdir()
    (out / "table.html").write_text("<html>mine</html>")
    with pytest.raises(SystemExit):
        main(["reproduce", str(corpus), "--out", str(out), "--model", "bow", "--seeds", "1"])
    assert "is not a figure that rnnlens wrote" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["table.html"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_replaces_a_table_and_not_the_reviews(kind: str, analysis: Any, reviews: Path, capsys: Any) -> None:
    for _ in range(2):
        analysis.modifiers.write(reviews.parent / f"table.{kind}")
    given = reviews if kind == "csv" else reviews.rename(reviews.with_suffix(".parquet"))
    refused(lambda: analysis.modifiers.write(given), reviews.parent, given.name)
    with pytest.raises(SystemExit):
        main(["analyze", "no-such-run", "--table", str(given)])  # told before anything is computed
    assert "is not a table that rnnlens wrote" in capsys.readouterr().err


def test_trials_are_not_written_into_the_files_of_a_run(run: Path, corpus: Path) -> None:
    before = contents(run)
    refused(lambda: run_trials(str(corpus), ["bow"], range(1), out=run / "history.jsonl"), run, "history.jsonl")
    assert contents(run) == before


def test_output_through_a_link_or_to_a_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target.html").write_text("<html>mine</html>")
    (tmp_path / "link.html").symlink_to(tmp_path / "target.html")
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "folder.html").mkdir()
    for name in ("link.html", "pipe.html", "folder.html"):
        refused(lambda path=tmp_path / name: check_output(path, "a page", "html"), tmp_path, name)  # type: ignore[misc]


# --- links, pipes and devices -----------------------------------------------------------------------------------------


def put(kind: str, path: Path) -> Path:
    """A link to a file of somebody's, a pipe, or a link to a device; returns the file."""
    victim = path.parent / "victim.txt"
    victim.write_text("precious")
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(victim if kind == "link" else "/dev/zero")
    return victim


def test_a_lock_that_is_a_link_is_refused(run: Path, reviews: Path, tmp_path: Path) -> None:
    victim = put("link", run / ".lock")
    for wait in (False, True):
        with pytest.raises(RnnlensError, match="symbolic link"), exclusive(run, wait=wait):
            pass
    put("link", tmp_path / ".corpus.lock")
    with pytest.raises(RnnlensError, match="symbolic link"):
        prepare(reviews, tmp_path / "corpus", min_count=1)
    assert victim.read_text() == (tmp_path / "victim.txt").read_text() == "precious"


def test_a_lock_keeps_its_content(run: Path) -> None:
    """So that even a hard link to somebody's file is harmless."""
    (run / "victim.txt").write_text("precious")
    (run / ".lock").unlink(missing_ok=True)
    os.link(run / "victim.txt", run / ".lock")
    with exclusive(run):
        pass
    assert (run / "victim.txt").read_text() == "precious"


@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
def test_lines_are_not_appended_through_a_link(kind: str, tmp_path: Path) -> None:
    victim = put(kind, tmp_path / "history.jsonl")
    with pytest.raises(RnnlensError, match=r"history\.jsonl' is a"):
        append_line(tmp_path / "history.jsonl", {"epoch": 1})
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
@pytest.mark.parametrize("name", ["history.jsonl", "states.safetensors"])
def test_an_export_copies_no_link(kind: str, name: str, run: Path, tmp_path: Path) -> None:
    put(kind, run / name)
    refused(lambda: rnnlens.export(run, tmp_path / "out"), tmp_path, name)
    assert not (tmp_path / "out").exists()


def test_an_export_copies_not_even_a_link_to_the_right_file(run: Path, tmp_path: Path) -> None:
    (run / "vocab.json").rename(tmp_path / "elsewhere.json")
    (run / "vocab.json").symlink_to(tmp_path / "elsewhere.json")
    assert len(rnnlens.load(run).vocab)  # which may be read
    refused(lambda: rnnlens.export(run, tmp_path / "out"), tmp_path, "vocab.json", "a link")


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_review_that_is_no_ordinary_file_is_told(kind: str, tmp_path: Path) -> None:
    for side in ("neg", "pos"):
        (tmp_path / "acl" / "train" / side).mkdir(parents=True)
        for i in range(3):
            (tmp_path / "acl" / "train" / side / f"{i}_7.txt").write_text(f"{side} film")
    put(kind, tmp_path / "acl" / "train" / "pos" / "1_7.txt")
    with pytest.raises(RnnlensError, match=r"1_7\.txt' is a (pipe|device)"):
        prepare(tmp_path / "acl", tmp_path / "out", min_count=1)


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", ["train.csv", "train-2.csv", "test.csv"])
def test_a_table_that_is_no_ordinary_file_is_told(kind: str, name: str, reviews: Path, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    reviews.rename(tmp_path / "source" / "train.csv")
    put(kind, tmp_path / "source" / name)
    with pytest.raises(RnnlensError, match=rf"{name}' is not an ordinary file"):
        prepare(tmp_path / "source", tmp_path / "out", min_count=1)


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_fingerprints_and_files_of_a_run_do_not_wait(kind: str, tmp_path: Path) -> None:
    write_tensors(tmp_path / "x.safetensors", {"x": [1.0]})
    put(kind, tmp_path / "x.safetensors")
    for read in (files.file_fingerprint, files.read_tensors, files.read_json, files.read_lines):
        with pytest.raises(RnnlensError, match="is a (pipe|device)"):
            read(tmp_path / "x.safetensors")  # type: ignore[operator]


def test_files_are_read_and_written_where_the_system_has_no_flags_against_links(tmp_path: Path) -> None:
    """As on Windows."""
    code = (
        "import os, sys; del os.O_NOFOLLOW, os.O_NONBLOCK, os.O_CLOEXEC; import rnnlens\n"
        "from rnnlens.common.files import read_json, write_json\n"
        "write_json(sys.argv[1] + '/a.json', {'a': 1})\n"
        "assert read_json(sys.argv[1] + '/a.json') == {'a': 1} and len(rnnlens.load('zoo:reviews-gru').vocab) > 1000"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
