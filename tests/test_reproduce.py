"""Table 1: the statistics are right, every model is trained and tested once, and a killed reproduction goes on."""

import itertools
import shutil

import numpy as np
import pytest

import rnnlens
from rnnlens import RnnlensError
from rnnlens.analysis.table import (
    FULL,
    PAPER,
    TITLES,
    bootstrap,
    difference,
    gain_recovered,
    paper_column,
    seed_interval,
    table_results,
    table_text,
)
from rnnlens.baselines import BASELINES
from rnnlens.cli import main
from rnnlens.common.files import read_json, read_tensors, write_json
from rnnlens.corpora import prepare
from rnnlens.experiments import reproduce as module
from rnnlens.experiments.modifier_words import read_modifiers
from rnnlens.experiments.reproduce import collect, in_disorder, reproduce
from rnnlens.experiments.space import SPACES
from rnnlens.training.settings import PACKAGED, TUNED, read_settings


def answers(*accuracies, n=4_000, seed=0):
    """Right and wrong answers (seeds, n) that share which reviews are hard."""
    hard = np.random.default_rng(seed).random(n)
    noise = np.random.default_rng(seed + 1).normal(0, 0.02, (len(accuracies), n))
    return (hard + noise) < np.array(accuracies)[:, None]


# --- the statistics ---------------------------------------------------------------------------------------------------


def test_the_papers_numbers_are_the_papers():
    assert list(TITLES) == list(SPACES)
    assert PAPER["yelp"]["gru"] == 0.9584 and PAPER["imdb"]["lstm"] == 0.9159 and PAPER["imdb"][FULL] == 0.9075
    bow, best, rnn = (PAPER["yelp"][model] for model in ("bow", FULL, "gru"))
    assert 0.9 <= (best - bow) / (rnn - bow) < 0.91  # "90 % of the difference"
    assert paper_column({"source": "../data/IMDB"}) == "imdb" and paper_column({"source": "mine.csv"}) is None
    for source in ("yelp", "fancyzhx/yelp_polarity", "data/yelp_review_polarity_csv"):
        assert paper_column({"source": source}) == "yelp"
    assert paper_column({"source": "data/yelp"}) is None  # some other reviews


def test_the_bootstrap_is_that_of_reviews_and_seeds():
    some, other = answers(0.90, 0.905, 0.91), answers(0.88, 0.885, 0.882, seed=5)
    generator = np.random.default_rng(1)
    slow = []
    for _ in range(2_000):
        rows = generator.integers(0, some.shape[1], some.shape[1])
        slow.append([part[generator.integers(0, 3, 3)][:, rows].mean() for part in (some, other)])
    fast = bootstrap([some, other], 4_000, 0)
    np.testing.assert_allclose(fast.mean(0), np.mean(slow, 0), atol=4e-4)
    np.testing.assert_allclose(fast.std(0), np.std(slow, 0), rtol=0.1)
    assert np.corrcoef(np.array(slow).T)[0, 1] == pytest.approx(np.corrcoef(fast.T)[0, 1], abs=0.08)


def test_differences_are_paired():
    some = answers(0.90)
    better = some.copy()
    better[0, np.flatnonzero(~some[0])[:20]] = True
    found = difference(better, some)
    assert found["difference"] == pytest.approx(20 / 4_000) and 0 < found["interval"][0] < 20 / 4_000
    again = difference(some, answers(0.90, seed=9))  # other hard reviews: the same accuracy, and no pairing
    assert again["interval"][0] < 0 < again["interval"][1]
    assert again["interval"][1] - again["interval"][0] > 3 * (found["interval"][1] - found["interval"][0])


def test_intervals_over_seeds_are_students():
    low, high = seed_interval(np.array([0.90, 0.91, 0.92]))
    assert (low + high) / 2 == pytest.approx(0.91) and high - low == pytest.approx(2 * 4.303 * 0.01 / 3**0.5, rel=1e-3)
    assert seed_interval(np.array([0.9])) is None


def test_the_share_of_the_gain():
    found = gain_recovered({"bow": answers(0.88), "comw": answers(0.89), FULL: answers(0.90), "gru": answers(0.905)})
    assert (found["baseline"], found["network"]) == (FULL, "gru")
    assert found["share"] == pytest.approx(0.02 / 0.025, abs=0.1) and found["interval"][0] < found["share"]
    none = gain_recovered({"bow": answers(0.900), FULL: answers(0.91), "gru": answers(0.9001)})
    assert none["share"] is None and none["network_interval"][0] <= 0
    assert gain_recovered({"bow": answers(0.9)}) is None
    results = table_results({"bow": answers(0.900), FULL: answers(0.91), "gru": answers(0.9001)}, "imdb")
    assert results["gain_recovered"] is None and "may be 0" in table_text(results)
    expected = answers(0.91).mean() - answers(0.900).mean()
    assert results["full_minus_bow"]["difference"] == pytest.approx(expected)
    assert [row["paper"] for row in results["rows"]] == [0.8947, 0.9075, 0.8963]


# --- the whole --------------------------------------------------------------------------------------------------------

BAG = {"learning_rate": 0.05, "epochs": 4, "word_dropout": 0.0, "batch": 8}
NETWORK = {"hidden": 8, "embedding": 4, "epochs": 2, "learning_rate": 0.02, "word_dropout": 0.1, "batch": 16}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """A small corpus with all splits, and settings for all ten models."""
    folder = tmp_path_factory.mktemp("reproduce")
    generator = np.random.default_rng(0)
    for part, n in (("train", 240), ("test", 80)):
        rows = ["text,label"]
        for _ in range(n):
            words, total = [], 0
            for _ in range(int(generator.integers(2, 5))):
                valence, negated = int(generator.choice([-1, 1])), bool(generator.integers(2))
                words += [*["the"] * int(generator.integers(1, 4)), *(["not"] if negated else ["very"])]
                words.append(str(generator.choice(["good", "awesome"] if valence > 0 else ["bad", "awful"])))
                total += -valence if negated else valence
            rows.append(f"{' '.join(words)},{int(total > 0)}")
        (folder / f"{part}.csv").write_text("\n".join(rows))
    (folder / "in").mkdir()
    for part in ("train", "test"):
        shutil.move(folder / f"{part}.csv", folder / "in")
    prepare(folder / "in", folder / "corpus")
    models = {
        model: {"parameters": BAG if "learning_rate" in space and "l2" in space else NETWORK}
        for model, space in SPACES.items()
    }
    write_json(folder / "settings.json", {"kind": "settings", "corpus": None, "models": models})
    return folder


@pytest.fixture(scope="module")
def whole(reviews):
    """All ten models, two seeds, with modifiers found by networks trained on the way."""
    notes = []
    results = reproduce(
        str(reviews / "corpus"),
        reviews / "out",
        seeds=2,
        settings=reviews / "settings.json",
        most=2,
        jobs=0,
        report=notes.append,
    )
    return results, notes


def test_all_ten_models_are_in_the_table(reviews, whole):
    results, notes = whole
    assert [row["model"] for row in results["table"]["rows"]] == list(SPACES)
    assert all(len(row["seeds"]) == 2 and row["paper"] is None for row in results["table"]["rows"])
    assert set(results["architectures"]) == {"bow", "vanilla", "ugrnn", "gru", "lstm"}
    assert len(results["architectures"]["gru"]["phrases"][0]) == 6
    assert read_json(reviews / "out/results.json") == results
    assert "95 % over seeds" in table_text(results["table"])
    assert len(notes) == 2 + 20 and (reviews / "out/modifiers/words.json").exists()
    # A bag of words does not care about order.
    assert all(one["difference"] == 0 for one in results["architectures"]["bow"]["shuffled"])


def test_models_are_refitted_on_validation_reviews_and_judged_on_test_reviews(reviews, whole):
    data = rnnlens.load_corpus(reviews / "corpus")
    tensors, about = read_tensors(reviews / "out/bow/1/outcome.safetensors")
    assert about["corpus"] == data.refit().fingerprint != data.fingerprint
    again = rnnlens.baselines.BagOfWords(**BAG, random_state=1).fit(data.refit())
    np.testing.assert_array_equal(tensors["logits"], again.decision_function(data.test))
    assert about["accuracy"] == pytest.approx(((tensors["logits"] > 0) == (np.asarray(data.test.labels) > 0)).mean())
    run = rnnlens.load(reviews / "out/gru/0")
    assert (
        run.about["corpus"]["fingerprint"] == data.refit().fingerprint and "validation" not in run.results["accuracy"]
    )
    tensors, _ = read_tensors(reviews / "out/gru/0/outcome.safetensors")
    np.testing.assert_allclose(
        tensors["logits"], rnnlens.evaluate(run.network, data.test, run.config.max_words).logits, atol=1e-4
    )
    # … while the networks that name the modifiers saw the training reviews alone.
    assert rnnlens.load(reviews / "out/modifiers/gru-0").about["corpus"]["fingerprint"] == data.fingerprint


def test_a_second_time_nothing_is_trained(reviews, whole, monkeypatch):
    monkeypatch.setattr(module, "train", lambda *given, **how: pytest.fail("trained again"))
    again = reproduce(
        str(reviews / "corpus"), reviews / "out", seeds=2, settings=reviews / "settings.json", most=2, jobs=0
    )
    assert again == whole[0]
    few = collect(reviews / "out", rnnlens.load_corpus(reviews / "corpus"), ["bow", "gru"], 2)
    assert few["table"]["rows"][1] == next(row for row in again["table"]["rows"] if row["model"] == "gru")


def test_what_was_left_in_the_middle_is_done_again_and_other_settings_are_refused(reviews, whole, tmp_path):
    shutil.copytree(reviews / "out", tmp_path / "out")
    (tmp_path / "out/bow/0/outcome.safetensors").unlink()
    (tmp_path / "out/gru/1/outcome.safetensors").unlink()  # trained, not yet tested
    how = {"models": ["bow", "gru"], "seeds": 2, "jobs": 0}
    again = reproduce(str(reviews / "corpus"), tmp_path / "out", settings=reviews / "settings.json", **how)
    assert again["table"]["rows"][0] == whole[0]["table"]["rows"][0]
    other = read_json(reviews / "settings.json")
    other["models"]["bow"]["parameters"] = {**BAG, "epochs": 5}
    write_json(tmp_path / "settings.json", other)
    with pytest.raises(RnnlensError, match="other settings"):
        reproduce(str(reviews / "corpus"), tmp_path / "out", settings=tmp_path / "settings.json", **how)


def test_shuffling_keeps_the_words_that_are_read(reviews):
    test = rnnlens.load_corpus(reviews / "corpus").test
    mixed = in_disorder(test, 0, max_words=6)
    for i in range(len(test)):
        before, after = test.document(i), mixed.document(i)
        assert sorted(before[-6:]) == sorted(after[-6:]) and (before[:-6] == after[:-6]).all()
    assert any((test.document(i) != mixed.document(i)).any() for i in range(len(test)))


def test_a_refit_is_the_training_and_validation_reviews(reviews):
    data = rnnlens.load_corpus(reviews / "corpus")
    whole = data.refit()
    assert whole.validation is None and len(whole.train) == len(data.train) + len(data.validation)
    parts = itertools.chain(
        *([split.document(i) for i in range(len(split))] for split in (data.train, data.validation))
    )
    for i, document in enumerate(parts):
        np.testing.assert_array_equal(whole.train.document(i), document)
    assert whole.vocab == data.vocab and whole.refit() is whole


def test_settings_come_along_for_all_models():
    for model, space in SPACES.items():
        assert set(read_settings(PACKAGED, model)) <= set(space), model  # what is not there is as it is by default


# --- commands ---------------------------------------------------------------------------------------------------------


def test_the_commands(reviews, whole, tmp_path, capsys):
    corpus, words = reviews / "corpus", reviews / "out/modifiers/words.json"
    common = ("--settings", reviews / "settings.json")
    shutil.copytree(reviews / "out", tmp_path / "out")
    how = ("--model", "bow,gru", "--seeds", 2, "--jobs", 0)
    code, out, _ = call(capsys, "reproduce", corpus, "--out", tmp_path / "out", *how, *common)
    assert code == 0 and "Bag of words" in out and (tmp_path / "out/architectures.html").exists()
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert 'id="table"' in page and 'data-figure="architectures"' in page and 'data-figure="subspace"' in page
    common = (*common, "--modifiers", words)
    code, out, _ = call(capsys, "baselines", corpus, "--out", tmp_path / "bags", *common)
    assert code == 0 and "CoMW + β_mod" in out and "strongest modifiers: " in out and "validation accuracy" in out
    again = rnnlens.baselines.ModifierConvolution.load(tmp_path / "bags/comw")
    assert {row["word"] for row in again.modifier_rows()} == set(read_modifiers(words))
    records = read_json(tmp_path / "bags/results.json")["baselines"]
    assert [record["model"] for record in records] == list(BASELINES)
    code, out, _ = call(capsys, "baselines", corpus, "--out", tmp_path / "more", *common, "--refit", "--test")
    fitted = {record["model"]: record for record in read_json(tmp_path / "more/results.json")["baselines"]}
    assert code == 0 and "test accuracy" in out
    assert fitted["bow"]["accuracy"] == whole[0]["table"]["rows"][0]["seeds"][0]
    code, _, err = call(capsys, "baselines", corpus, "--out", tmp_path / "none", *common, "--refit")
    assert code == 1 and "--test" in err


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


def test_train_takes_a_sweeps_settings(reviews, tmp_path, capsys):
    given = ("train", reviews / "corpus", "--arch", "vanilla")
    chosen = ("--settings", reviews / "settings.json", "--epochs", 1, "--refit")
    assert call(capsys, *given, "--out", tmp_path / "run", *chosen)[0] == 0
    run = rnnlens.load(tmp_path / "run")
    assert run.about["network"]["hidden"] == NETWORK["hidden"] and run.config.learning_rate == NETWORK["learning_rate"]
    assert run.config.epochs == 1 and run.config.keep == "last" and not run.results["accuracy"]
    assert len(run.history) == 1 and "validation_accuracy" not in run.history[0]
    assert call(capsys, *given, "--out", tmp_path / "tuned", "--tuned", "--hidden", 8)[0] == 0
    packaged, run = read_settings(TUNED, "vanilla"), rnnlens.load(tmp_path / "tuned")
    assert run.about["network"]["hidden"] == 8
    assert run.about["network"]["scale"] == packaged["scale"] and run.config.clip == packaged["clip"]
    assert run.config.epochs == 3 * packaged["epochs"]  # as many steps would take more epochs than that
