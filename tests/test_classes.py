"""Networks and corpora with three or more classes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import torch
from torch import nn

import rnnlens
from rnnlens import Corpus, Network, figures, from_torch
from rnnlens.common.files import write_json
from rnnlens.context.perturbation import Reviews, final_logits
from rnnlens.corpora import prepare, statistics
from rnnlens.networks import with_classes
from rnnlens.training.command import train_command
from rnnlens.training.fine_tuning import OTHER_CLASSES

WORDS = ["<unk>", "red", "green", "blue", "not", "very"]
NAMES = ["anger", "joy", "fear"]


def torch_parts(classes: int, kind=nn.GRU, hidden: int = 7):
    torch.manual_seed(0)
    return kind(4, hidden, batch_first=True), nn.Embedding(len(WORDS), 4), nn.Linear(hidden, classes)


def batch(n: int = 20, longest: int = 9) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(1, longest + 1, (n,), generator=generator)
    return torch.randint(0, len(WORDS), (n, longest), generator=generator), lengths


# --- networks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
def test_logits_of_five_classes_equal_those_of_torchs_own_head(kind):
    rnn, embedding, head = torch_parts(5, kind)
    network = from_torch(rnn, embedding, head, WORDS, classes=["a", "b", "c", "d", "e"])
    ids, lengths = batch(200)
    with torch.no_grad():
        every = head(rnn(embedding(ids))[0])
        final = every[torch.arange(len(ids)), lengths - 1]
        torch.testing.assert_close(network(ids, lengths), final, atol=1e-5, rtol=0)
        torch.testing.assert_close(network.logits(ids)[:, 1:], every, atol=1e-5, rtol=0)
        torch.testing.assert_close(network(ids), every[:, -1], atol=1e-5, rtol=0)
    assert network.classes == ("a", "b", "c", "d", "e")


def test_the_view_of_a_class_is_its_logit_minus_the_mean_of_the_others():
    network = Network(WORDS, hidden=6, embedding=3, classes=NAMES).double()
    ids, lengths = batch()
    logits = network(ids, lengths)
    view = network.of_class("joy")
    torch.testing.assert_close(view(ids, lengths), logits[:, 1] - (logits[:, 0] + logits[:, 2]) / 2, atol=1e-12, rtol=0)
    assert view.target == "joy" and "'joy'" in view.reads and view.cell is network.cell and view.E is network.E
    assert "joy" in repr(view) and "3 classes" in repr(network)


@pytest.mark.parametrize("arch", ["gru", "lstm", "ugrnn", "vanilla"])
def test_derivatives_of_a_view_equal_autograds(arch):
    network = Network(WORDS, arch=arch, hidden=6, embedding=3, classes=NAMES).double()
    view = network.of_class("fear")
    h, e = torch.randn(view.size).double(), torch.randn(3).double()

    def contrast(h, e):
        logits = network.logit(network.step(h, e))
        return logits[2] - (logits[0] + logits[1]) / 2

    J_rec, J_inp = rnnlens.jacobians(view, h, e)
    by_state, by_input = torch.func.grad(contrast, (0, 1))(h, e)
    torch.testing.assert_close(view.w @ J_rec, by_state, atol=1e-10, rtol=0)
    torch.testing.assert_close(view.w @ J_inp, by_input, atol=1e-10, rtol=0)


def test_texts_are_read_as_probabilities_and_predicted_as_names():
    network = Network(WORDS, hidden=6, embedding=3, classes=NAMES)
    texts = ["red not green", "blue", "very blue", ""]
    shares = network.predict_proba(texts)
    assert shares.shape == (4, 3) and np.allclose(shares.sum(1), 1)
    assert network.predict(texts).tolist() == [NAMES[k] for k in shares.argmax(1)]
    reading = network.read("red not green")
    assert [word for word, _ in reading] == ["red", "not", "green"]
    assert list(reading[-1][1]) == NAMES and np.allclose(list(reading[-1][1].values()), shares[0])
    assert network("red not green").shape == (3,) and network(texts).shape == (4, 3)


def test_two_classes_keep_one_logit():
    rnn, embedding, head = torch_parts(2)
    ids, lengths = batch()
    named = from_torch(rnn, embedding, head, WORDS, classes=["ham", "spam"])
    plain = from_torch(rnn, embedding, head, WORDS, target=1)
    assert torch.equal(named(ids, lengths), plain(ids, lengths)) and named(ids).shape == (20,)
    assert set(named.predict(["red", "very blue"])) <= {"ham", "spam"}
    assert torch.equal(named.of_class("ham")(ids), -named(ids))
    first, second = Network(WORDS, hidden=5, embedding=3), Network(WORDS, hidden=5, embedding=3, classes=["a", "b"])
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert first.predict(["red"]).dtype == np.int64 and "classes" not in first.config


# --- corpora ----------------------------------------------------------------------------------------------------------

COLORS = {"anger": ["red", "crimson", "scarlet"], "joy": ["yellow", "gold", "amber"], "fear": ["black", "dark", "grim"]}
FILLERS = ["the", "a", "house", "tree", "road", "stone", "cup", "lamp"]


def documents(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Texts in which words are evidence of a class; after *not*, a word is evidence of the next class."""
    rng = np.random.default_rng(seed)
    names, texts, labels = list(COLORS), [], []
    for _ in range(n):
        evidence, words = np.zeros(3), []
        while len(words) < 4 or np.sum(evidence == evidence.max()) > 1:
            words.append(str(rng.choice(FILLERS)))
            k, negated = int(rng.integers(3)), rng.random() < 0.25
            words += [*(["not"] if negated else []), str(rng.choice(COLORS[names[k]]))]
            evidence[(k + negated) % 3] += 1
        texts.append(" ".join(words))
        labels.append(names[int(evidence.argmax())])
    return texts, labels


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    folder = tmp_path_factory.mktemp("colors")
    for split, n in (("train", 1500), ("test", 300)):
        pl.DataFrame(dict(zip(("text", "label"), documents(n, n), strict=True))).write_csv(folder / f"{split}.csv")
    return folder


@pytest.fixture(scope="module")
def corpus(csv, tmp_path_factory):
    return prepare(csv, tmp_path_factory.mktemp("prepared") / "colors")


def test_names_of_labels_become_classes_and_come_back_from_disk(csv, corpus):
    again = rnnlens.load_corpus(corpus.path)
    assert again.classes == corpus.classes == ("anger", "fear", "joy") and again.fingerprint == corpus.fingerprint
    texts, labels = documents(300, 300)
    assert [again.classes[k] for k in again.test.labels] == labels
    assert again.vocab.decode(again.test.document(0).tolist()) == texts[0].split()
    shares = statistics(again)["test"]["classes"]
    assert list(shares) == ["anger", "fear", "joy"] and abs(sum(shares.values()) - 1) < 1e-9
    assert again.refit().classes == again.with_vocab(rnnlens.Vocab(["<unk>", "red"])).classes == corpus.classes


def test_texts_and_ids_in_memory_take_names_or_numbers():
    texts, labels = documents(60, 0)
    named = rnnlens.Corpus.from_texts(texts, labels, test=(texts[:9], labels[:9]), validation=0.2)
    numbers = [("anger", "fear", "joy").index(label) for label in labels]
    numbered = rnnlens.Corpus.from_texts(
        texts, numbers, test=(texts[:9], labels[:9]), validation=0.2, classes=["anger", "fear", "joy"]
    )
    assert named.classes == ("anger", "fear", "joy") and numbered.fingerprint == named.fingerprint
    renamed = rnnlens.Corpus.from_texts(texts, numbers, classes=["a", "b", "c"])
    assert renamed.fingerprint != rnnlens.Corpus.from_texts(texts, numbers, classes=["a", "b", "d"]).fingerprint
    of_ids = rnnlens.Corpus.from_ids(WORDS, ([[1], [2], [3]], ["joy", "fear", "anger"]), classes=NAMES)
    assert of_ids.train.labels.tolist() == [1, 2, 0]


def test_ratings_stay_negative_and_positive_unless_classes_are_asked_for(tmp_path):
    rows = {"text": [f"{word} thing" for word in "abcdefghij" * 3], "stars": [1, 2, 3, 4, 5] * 6}
    pl.DataFrame(rows).write_csv(tmp_path / "a.csv")
    binary = prepare(tmp_path / "a.csv", tmp_path / "two", test=0, validation=0)
    assert binary.classes == () and set(binary.train.decided.labels) == {0, 1}
    five = prepare(tmp_path / "a.csv", tmp_path / "five", test=0, validation=0, classes=True)
    assert five.classes == ("1", "2", "3", "4", "5") and five.train.labels.tolist() == [0, 1, 2, 3, 4] * 6
    pl.DataFrame({"text": ["a", "b", "c", "d"], "label": ["spam", "ham"] * 2}).write_csv(tmp_path / "b.csv")
    spam = prepare(tmp_path / "b.csv", tmp_path / "spam", test=0, validation=0, classes=True)
    assert spam.classes == () and spam.about["classes"] == {"negative": "ham", "positive": "spam"}


def test_several_sources_share_the_names_of_all_their_classes(tmp_path):
    for name, labels in (("first", ["x", "y", "z"]), ("second", ["w", "y", "z"])):
        rows = {"text": [f"{name} {i} word" for i in range(30)], "label": labels * 10}
        pl.DataFrame(rows).write_csv(tmp_path / f"{name}.csv")
    corpus = prepare([tmp_path / "first.csv", tmp_path / "second.csv"], tmp_path / "both", test=0, validation=0)
    assert corpus.classes == ("w", "x", "y", "z") and corpus.train.labels.tolist() == [1, 2, 3] * 10 + [0, 2, 3] * 10


# --- training ---------------------------------------------------------------------------------------------------------

CONFIG = rnnlens.TrainConfig(
    epochs=6, batch=32, learning_rate=0.02, word_dropout=0.02, embedding_dropout=0.0, checkpoint_every=20
)


def small(corpus, **options) -> Network:
    return Network(corpus.vocab, hidden=24, embedding=8, scale=0.3, classes=corpus.classes, **options)


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "colors"
    return rnnlens.train(small(corpus), corpus, CONFIG, folder, test=True, progress=False)


def test_a_network_learns_three_classes_and_comes_back_from_disk(run, corpus):
    assert run.accuracy["test"] > 0.95
    again = rnnlens.load(run.path).network
    assert again.classes == corpus.classes and again.config["classes"] == ["anger", "fear", "joy"]
    texts, labels = documents(300, 300)
    accuracy = float((run.predict(texts) == np.array(labels)).mean())
    assert abs(accuracy - run.accuracy["test"]) < 1e-9 and "classes" in run.results["network"]
    evaluation = rnnlens.evaluate(again, corpus.test)
    loss = nn.functional.cross_entropy(torch.from_numpy(evaluation.logits), torch.from_numpy(corpus.test.labels).long())
    assert evaluation.logits.shape == (300, 3) and abs(evaluation.loss - float(loss)) < 1e-6


def test_a_killed_run_resumes_to_the_same_weights(run, corpus, tmp_path, monkeypatch):
    from rnnlens.training.loop import Trainer

    step = Trainer.step
    monkeypatch.setattr(Trainer, "step", lambda self, rows: step(self, rows) if self.counters.step < 70 else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        rnnlens.train(small(corpus), corpus, CONFIG, tmp_path / "run", progress=False)
    monkeypatch.undo()
    resumed = rnnlens.train(small(corpus), corpus, CONFIG, tmp_path / "run", resume=True, progress=False)
    assert resumed.provenance["weights"] == run.provenance["weights"]


def test_balance_weighs_all_classes_equally(corpus):
    from rnnlens.training.weighting import document_weights

    weights = document_weights(corpus, rnnlens.TrainConfig(balance=True))
    totals = np.bincount(corpus.train.labels, weights)
    assert np.allclose(totals, totals[0], rtol=1e-4) and abs(weights.mean() - 1) < 1e-5


# --- analysis ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def analysis(run, corpus):
    return rnnlens.analyze(run, corpus, class_="joy", starts=200, reviews=100)


def test_an_analysis_is_of_one_class(run, corpus, analysis):
    network = run.network
    assert analysis.network.target == "joy" and analysis.results["analysis"]["class"] == "joy"
    assert set(analysis.probes.positive[:3]) == set(COLORS["joy"])
    assert analysis.probes.source.endswith("class 'joy' against the rest")
    mods = rnnlens.find_modifiers(network.of_class("joy"), analysis.line, probes=analysis.probes)
    assert mods["not"]["strength"] == pytest.approx(analysis.modifiers["not"]["strength"])


def test_without_a_class_the_one_with_most_texts_is_shown_and_all_are_studied(run, corpus):
    most = corpus.classes[int(np.bincount(corpus.train.labels).argmax())]
    assert rnnlens.analyze(run, corpus, starts=200, accuracy=False).classes.shown == most
    first = rnnlens.analyze(run.network, starts=200)
    assert first.network.target == "anger"


def test_all_classes_are_in_the_results(run, corpus, analysis):
    classes = analysis.results["classes"]
    assert (classes["names"], classes["ordered"], classes["shown"]) == (["anger", "fear", "joy"], False, "joy")
    geometry = classes["geometry"]
    assert geometry["count"] >= 2 and abs(geometry["simplex_cosine"] + 0.5) < 0.05
    assert len(geometry["directions"]) == 3
    assert {point["class"] for point in geometry["points"]} == {0, 1, 2} and len(geometry["points"][0]["at"]) == 3
    strength = next(row for row in classes["modifiers"] if row["word"] == "not")
    assert strength["strength"] < -0.4 and len(strength["by_class"]) == len(strength["errors"]) == 3
    # After *not* a word is evidence of the next class.
    usual, after = np.array(classes["usual"]), np.array(classes["spread"]["not"])
    follows = {"anger": "joy", "joy": "fear", "fear": "anger"}
    for j, name in enumerate(classes["names"]):
        assert usual[j].argmax() == j and usual[j, j] == pytest.approx(1, abs=1e-5)
        assert classes["names"][int(after[j].argmax())] == follows[name] and after[j, j] < 0


def test_the_modifier_subspace_is_orthogonal_to_the_whole_attractor(run, analysis):
    V, geometry = analysis.subspace.components, rnnlens.class_geometry(run.network, states=analysis.states)
    for directions in (geometry.directions, geometry.axes[:2], analysis.classes.span):
        assert float((directions.float() @ V.t()).abs().max()) < 1e-4
    assert float((analysis.subspace.line @ V.t()).abs().max()) < 1e-5
    assert len(analysis.subspace.line) > len(analysis.line.valence)


def test_accuracies_under_perturbation_are_of_the_whole_network(run, corpus, analysis):
    shuffled = analysis.perturbations.shuffled
    assert shuffled.n == 100 and shuffled.before > 0.9 > shuffled.accuracy and shuffled.recentred is None
    reviews = Reviews.to_read(corpus.test, run.network)
    logits = final_logits(run.network, reviews)
    assert logits.shape == (300, 3) and (logits.argmax(1) == corpus.test.labels).mean() == run.accuracy["test"]


def test_an_analysis_comes_back_and_one_of_another_class_replaces_it(run, corpus, analysis):
    analysis.save()
    again = rnnlens.Analysis.load(run.path)
    assert again.network.target == "joy" and again.to_dict() == analysis.to_dict()
    rnnlens.analyze(rnnlens.load(run.path), starts=200).save()  # of "joy" again, although it is not the first class
    assert any(name.endswith("_shuffled") for name in rnnlens.load(run.path).accuracy)
    other = rnnlens.analyze(rnnlens.load(run.path), class_="fear", starts=200)
    assert other.classes.probes == again.classes.probes  # which only a corpus can choose
    other.save()
    stored = rnnlens.load(run.path)
    assert stored.results["analysis"]["class"] == "fear" and stored.analyzed_network.target == "fear"
    assert "test" in stored.accuracy and not any(name.endswith("_shuffled") for name in stored.accuracy)
    page = rnnlens.report(stored).read_text()
    assert "the class &#39;fear&#39;" in page


def test_the_figure_of_all_classes_shows_the_stored_points(analysis):
    stored = analysis.to_dict()
    stored["classes"]["names"][1:] = ["<b>fear</b>", "R&B\n100 %{x}"]
    figure = figures.classes(stored)
    points, ways = [t for t in figure.data if t.mode == "markers"], [t for t in figure.data if t.mode != "markers"]
    assert [t.name for t in points] == ["anger", "&lt;b&gt;fear&lt;/b&gt;", "R&amp;B\n100 %&#123;x}"] and len(ways) == 3
    # What WebGL draws has no entities; an invisible character keeps tags from being tags.
    assert [t.text[1] for t in ways] == [" anger", " <\u200bb>fear<\u200b/b>", " R&B 100 %{x}"]
    assert sum(len(t.x) for t in points) == len(stored["classes"]["geometry"]["points"])
    lengths = [float(np.linalg.norm([t.x[1], t.y[1], t.z[1]])) for t in ways]
    directions = np.array(stored["classes"]["geometry"]["directions"])
    assert np.allclose(
        np.array(lengths) / max(lengths), np.linalg.norm(directions, axis=1) / max(np.linalg.norm(directions, axis=1))
    )
    assert "<b>fear" not in str(figure.to_json()) and "classes" in set(analysis.figures)


def test_the_command_line_takes_named_classes_from_prepare_to_report(csv, tmp_path, capsys):
    from rnnlens.cli import main

    def run_command(*words):
        with pytest.raises(SystemExit) as stopped:
            main([str(word) for word in words])
        return stopped.value.code, " ".join(capsys.readouterr().out.split())

    corpus, run = tmp_path / "corpus", tmp_path / "run"
    code, printed = run_command("prepare", csv, "--out", corpus)
    assert code == 0 and "3 classes: anger, fear, joy" in printed
    shape = ("--hidden", 16, "--embedding", 8, "--scale", 0.3, "--learning-rate", 0.02, "--batch", 32)
    code, printed = run_command(
        "train", corpus, "--out", run, *shape, "--epochs", 3, "--embedding-dropout", 0, "--test"
    )
    assert code == 0 and "rnnlens analyze" in printed
    code, printed = run_command("analyze", run)
    assert code == 0 and "3 classes" in printed and "--class" in printed
    assert run_command("train", corpus, "--out", tmp_path / "zoo", "--start", "zoo:reviews-gru", "--steps", 2)[0] == 0
    assert run_command("train", corpus, "--out", tmp_path / "on", "--start", run, "--steps", 2)[0] == 0
    code, printed = run_command("analyze", run, "--corpus", corpus, "--class", "joy", "--reviews", 50)
    assert code == 0 and "words shuffled" in printed
    assert run_command("report", run)[0] == 0 and (run / "report.html").exists()
    assert "joy" in run_command("probe", run, "not gold")[1]
    assert "logit" in run_command("probe", run, "not gold", "--class", "joy")[1]
    assert "classes" in run_command("info", run)[1]
    assert run_command("export", run, "--to", tmp_path / "model")[0] == 0
    assert rnnlens.load(tmp_path / "model").network.classes == ("anger", "fear", "joy")
    quick = {"parameters": {"epochs": 1, "batch": 64, "learning_rate": 0.02}}
    settings = {"kind": "settings", "corpus": "", "models": dict.fromkeys(rnnlens.baselines.BASELINES, quick)}
    write_json(tmp_path / "settings.json", settings)
    (tmp_path / "words.txt").write_text("not the")
    options = ("--modifiers", tmp_path / "words.txt", "--settings", tmp_path / "settings.json")
    code, printed = run_command("baselines", corpus, *options, "--out", tmp_path / "six")
    assert code == 0 and "strongest modifiers" in printed
    joy = rnnlens.baselines.ModifierConvolution.load(tmp_path / "six" / "comw.2")
    assert joy.predict_proba(["gold"])[0, 1] > joy.predict_proba(["red"])[0, 1]


def test_a_network_of_two_classes_is_started_from_with_a_new_readout(corpus, tmp_path):
    words = corpus.vocab.words
    two = Corpus.from_texts([" ".join(words[1:4]), " ".join(words[4:7])] * 20, [0, 1] * 20, validation=0.2)
    first = rnnlens.train(
        Network(two.vocab, hidden=8, embedding=4), two, rnnlens.TrainConfig(epochs=1), tmp_path / "two", progress=False
    )
    made = with_classes(first.network, corpus.classes)
    assert made.classes == corpus.classes and made.readout_w.shape == (len(corpus.classes), 8)
    assert torch.equal(made.cell.U, first.network.cell.U) and first.network.readout_w.shape == (8,)
    assert with_classes(made, ()).readout_w.shape == (8,) and not with_classes(made, ()).several_classes
    stars = with_classes(first.network, ("1", "2", "3"), ordered=True)
    assert stars.ordered and stars(torch.zeros(2, 3, dtype=torch.long)).shape == (2, 3)
    run = train_command(str(corpus.path), out=tmp_path / "run", start=str(tmp_path / "two"), given={"epochs": 1})
    assert run.network.classes == corpus.classes and run.config.learning_rate == OTHER_CLASSES["learning_rate"]
