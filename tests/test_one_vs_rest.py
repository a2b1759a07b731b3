"""Baselines for several classes: one model for each class against the rest."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from test_classes import documents

import rnnlens
from rnnlens import RnnlensError
from rnnlens.baselines import BagOfWords, ModifierConvolution, OneVsRest

FEW = {"epochs": 12, "batch": 32, "learning_rate": 0.05, "word_dropout": 0.0, "random_state": 0}


@pytest.fixture(scope="module")
def texts():
    return documents(600, 0), documents(200, 1)


@pytest.fixture(scope="module")
def fitted(texts):
    return OneVsRest(ModifierConvolution(["not"], own_weights=True, **FEW)).fit(*texts[0])


def test_modifiers_are_learned_for_each_class(fitted, texts):
    """After *not* a word is evidence of the next class, which no plain bag of words can know."""
    plain = OneVsRest(BagOfWords(**FEW)).fit(*texts[0])
    assert fitted.score(*texts[1]) > 0.9 > plain.score(*texts[1]) + 0.05
    assert fitted.classes_.tolist() == ["anger", "fear", "joy"] and len(fitted.estimators_) == 3
    row = fitted.modifier_rows(1)[0]
    assert row["word"] == "not" and max(row["by_class"]) < -0.5 and len(row["by_class"]) == 3
    assert fitted.modifiers_.columns == ["word", "strength", "tau", "strength anger", "strength fear", "strength joy"]
    assert fitted.n_parameters_ == 3 * fitted.estimators_[0].model_.shape.parameters


def test_each_model_is_that_of_its_class_against_the_rest(fitted, texts):
    (train, labels), (test, _) = texts
    alone = ModifierConvolution(["not"], own_weights=True, **FEW).fit(train, [label == "joy" for label in labels])
    assert np.allclose(alone.decision_function(test), fitted.decision_function(test)[:, 2], atol=1e-5)
    shares = fitted.predict_proba(test)
    assert np.allclose(shares.sum(1), 1) and (fitted.classes_[shares.argmax(1)] == fitted.predict(test)).all()
    assert fitted.explain("not gold", "joy").logit == pytest.approx(
        float(fitted.decision_function(["not gold"])[0, 2]), abs=1e-4
    )
    assert fitted.explain("gold").logit == pytest.approx(float(fitted.decision_function(["gold"])[0].max()), abs=1e-4)


def test_a_corpus_gives_the_same_and_a_saved_model_comes_back(texts, tmp_path):
    (train, labels), test = texts
    corpus = rnnlens.Corpus.from_texts(train, labels, test=test, validation=0, min_count=2)
    model = OneVsRest(BagOfWords(**FEW)).fit(corpus)
    assert (
        model.score(corpus.test) == model.score(*test) == OneVsRest(BagOfWords(**FEW)).fit(train, labels).score(*test)
    )
    again = OneVsRest.load(model.save(tmp_path / "model"))
    assert (again.decision_function(test[0]) == model.decision_function(test[0])).all()
    assert again.classes_.tolist() == model.classes_.tolist()
    model.save(tmp_path / "model")
    with pytest.raises(RnnlensError, match=r"OneVsRest.load"):
        ModifierConvolution.load(tmp_path / "model")
    about = json.loads((tmp_path / "model" / "baseline.json").read_text())
    del about["fingerprint"], about["provenance"]
    (tmp_path / "model" / "baseline.json").write_text(json.dumps({**about, "classes": ["a", "b", "c", "d"]}))
    with pytest.raises(RnnlensError):
        OneVsRest.load(tmp_path / "model")


QUICK = {"min_count": 1, "epochs": 1}
WORDS = ["gold", "mud", "fog"] * 9


def test_weights_of_classes_are_not_taken_for_those_of_a_class_and_the_rest():
    for weights, labels in (({0: 1, 1: 5, 2: 1}, [0, 1, 2]), ({"a": 1, "b": 5, "c": 1}, ["a", "b", "c"])):
        with pytest.raises(RnnlensError, match="each model is of one class against the rest"):
            OneVsRest(BagOfWords(class_weight=weights, **QUICK)).fit(WORDS, labels * 9)
    OneVsRest(BagOfWords(class_weight="balanced", **QUICK)).fit(WORDS, [0, 1, 2] * 9)


def test_labels_beside_a_corpus_are_not_ignored():
    three = rnnlens.Corpus.from_texts(WORDS, ["a", "b", "c"] * 9, validation=0, min_count=1)
    two = rnnlens.Corpus.from_texts(WORDS, [0, 1, 1] * 9, validation=0, min_count=1)
    for model, corpus in ((OneVsRest(BagOfWords(**QUICK)), three), (BagOfWords(**QUICK), two)):
        with pytest.raises(RnnlensError, match="y is given beside a corpus"):
            model.fit(corpus, [0, 1] * 9)


def test_a_corpus_of_other_classes_is_not_scored():
    three, other = (
        rnnlens.Corpus.from_texts(WORDS, names * 9, validation=0, min_count=1)
        for names in (["a", "b", "c"], ["c", "b", "d"])
    )
    two = rnnlens.Corpus.from_texts(WORDS, [0, 1, 1] * 9, validation=0, min_count=1)
    several, plain = OneVsRest(BagOfWords(**QUICK)).fit(three), BagOfWords(**QUICK).fit(two)
    numbered = OneVsRest(BagOfWords(**QUICK)).fit(WORDS, [0, 1, 2] * 9)
    assert numbered.score(three) == several.score(three) == several.score(three.train)
    for model, wrong in ((several, two), (several, other), (numbered, two), (plain, three)):
        with pytest.raises(RnnlensError, match="expected the same classes"):
            model.score(wrong)
    with pytest.raises(RnnlensError, match="the labels are from 0 to 2, and the model has 2 classes: expected 0 to 1"):
        plain.score(three.train)
    with pytest.raises(NotFittedError):
        BagOfWords().score(two)


def test_scikit_learns_tools_take_it(texts):
    model = clone(OneVsRest(BagOfWords(**{**FEW, "epochs": 3})))
    assert model.get_params()["estimator__epochs"] == 3
    assert cross_val_score(model, texts[0][0], texts[0][1], cv=2).mean() > 0.5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OneVsRest().fit(["a b", "c d"] * 5, [0, 1] * 5), "texts of two classes: expected three or more"),
        (lambda: OneVsRest().fit(rnnlens.Corpus.from_texts(["a", "b"] * 9, [0, 1] * 9)), "for two fit ModifierConv"),
        (lambda: OneVsRest().fit(["a", "b"], [1, 1]), "texts of one class"),
        (lambda: OneVsRest().fit(["a", "b", "c"]), "the target y is None"),
        (lambda: OneVsRest().fit(["a", "b"], [1, 2, 3]), "got 2 texts and 3 labels"),
        (lambda: OneVsRest("bow").fit(["a", "b", "c"], [1, 2, 3]), "estimator is 'str': expected a ModifierConv"),
        (lambda: ModifierConvolution().fit(["a", "b", "c"], [1, 2, 3]), "Only binary classification .* OneVsRest"),
    ],
)
def test_bad_input_is_refused_in_one_line(make, message):
    with pytest.raises(ValueError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


def test_a_class_that_is_not_there_is_refused(fitted):
    with pytest.raises(ValueError, match="no class 'hope': expected one of"):
        fitted.explain("gold", "hope")
