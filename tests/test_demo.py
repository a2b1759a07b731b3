"""The packaged network works at once: loaded by name, analyzed by `rnnlens demo`, read without its subspace too."""

import pytest

import rnnlens
from rnnlens import RnnlensError
from rnnlens.cli import main
from rnnlens.runs import unpack
from rnnlens.runs.zoo import packaged


def run_cli(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return stop.value.code, *capsys.readouterr()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What `rnnlens demo` leaves."""
    return tmp_path_factory.mktemp("demo") / "run"


@pytest.mark.parametrize("arch", ["gru", "lstm", "ugrnn"])
def test_gated_packaged_networks_read_the_papers_sentences(arch):
    network = rnnlens.load(f"zoo:reviews-{arch}").network

    def reading(text):
        return network.read(text)[-1][1]

    plain = reading("This movie is awesome. I like it.")
    assert plain > 2 and reading("This movie is extremely awesome. I definitely like it.") > plain + 0.5
    assert reading("This movie is not awesome. I don't like it.") < -2
    assert max(map(reading, ("not good", "wasn't good", "never good", "hardly good"))) < -1


def test_a_packaged_network_opens_by_its_name_alone_and_a_folder_of_that_name_wins(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert rnnlens.load("reviews-vanilla").path == packaged("reviews-vanilla")
    assert run_cli(capsys, "info", "reviews-vanilla")[0] == 0
    with pytest.raises(RnnlensError, match="rnnlens demo --network reviews-vanilla --out RUN"):
        rnnlens.report("reviews-vanilla")
    unpack("reviews-gru", tmp_path / "reviews-vanilla")
    assert rnnlens.load("reviews-vanilla").network.arch == "gru"
    assert rnnlens.load("zoo:reviews-vanilla").network.arch == "vanilla"
    with pytest.raises(RnnlensError, match="no run folder 'reviews-elmo'.*reviews-gru, reviews-lstm"):
        rnnlens.load("reviews-elmo")


def test_a_run_reads_and_predicts_as_its_network_does():
    run, texts = rnnlens.load("reviews-vanilla"), ["not bad", "very good"]
    assert run.read("not bad") == run.network.read("not bad") == run.read(words=["not", "bad"])
    assert run.read(texts) == run.network.read(texts)
    assert (run.predict_proba(texts) == run.network.predict_proba(texts)).all()
    assert (run.predict(texts) == run.network.predict(texts)).all()


def test_the_demo_says_what_is_most_worth_knowing(capsys, demo):
    code, out, err = run_cli(capsys, "demo", "--out", demo)
    assert code == 0, err
    for told in ("extremely", "not", "±", "subspace", "timescales", "bilinear model", "report:", "line attractor"):
        assert told in out
    text = (demo / "report.html").read_text(encoding="utf-8")
    assert text.count('data-figure="') >= 14 and 'src="http' not in text and len(text.encode()) < 12e6
    results = rnnlens.load(demo).results
    shuffled = results["accuracy"]["test_shuffled"]
    assert shuffled["difference"] < 0 and shuffled["interval"][1] < 0  # measured once, kept since
    assert {"not", "never", "very"} <= set(results["barcodes"])


def test_probing_with_and_without_the_subspace(capsys, demo):
    code, out, err = run_cli(capsys, "probe", demo, "not great")
    assert code == 0, err
    assert "without modifiers" in out
    run = rnnlens.load(demo)
    quiet = run.without_subspace()

    def change(network):
        return network.read("not great")[-1][1] - network.read("great")[-1][1]

    assert abs(change(quiet)) < 0.6 * abs(change(run.network))
    assert rnnlens.load("zoo:reviews-gru").without_subspace() is None


def test_the_package_is_never_written_to():
    run = rnnlens.load("zoo:reviews-gru")
    before = sorted(path.name for path in run.path.iterdir())
    with pytest.raises(RnnlensError, match="part of the package"):
        rnnlens.analyze(run, top=300, starts=200).save()
    assert sorted(path.name for path in run.path.iterdir()) == before


def test_an_analysis_that_cannot_be_saved_is_refused_before_it_begins(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("rnnlens.analysis.analyze.analyze", lambda *given, **options: pytest.fail("it began"))
    code, _, err = run_cli(capsys, "analyze", "zoo:reviews-gru")
    assert code == 1 and "part of the package" in err
    unpack("reviews-gru", tmp_path / "run")
    (tmp_path / "run" / ".lock").mkdir()  # as good as a folder that cannot be written, whoever runs this
    code, _, err = run_cli(capsys, "analyze", tmp_path / "run")
    assert code == 1 and "cannot write" in err and "Is a directory" in err


def test_the_demo_does_not_take_over_another_run(tmp_path):
    unpack("reviews-vanilla", tmp_path / "mine")
    before = sorted((path.name, path.read_bytes()) for path in (tmp_path / "mine").iterdir() if path.is_file())
    with pytest.raises(RnnlensError, match="another run"):
        unpack("reviews-gru", tmp_path / "mine")
    assert before == sorted((path.name, path.read_bytes()) for path in (tmp_path / "mine").iterdir() if path.is_file())
