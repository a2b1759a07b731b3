"""Baselines for several classes: scikit-learn fits one model for each class against the rest."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from test_classes import documents

import rnnlens
from rnnlens import RnnlensError
from rnnlens.baselines import BagOfWords, ModifierConvolution

FEW = {"epochs": 12, "batch": 32, "learning_rate": 0.05, "word_dropout": 0.0, "random_state": 0}


@pytest.fixture(scope="module")
def texts():
    return documents(600, 0), documents(200, 1)


@pytest.fixture(scope="module")
def fitted(texts):
    return OneVsRestClassifier(ModifierConvolution(["not"], own_weights=True, **FEW)).fit(*texts[0])


def test_modifiers_are_learned_for_each_class(fitted, texts):
    """After *not* a word is evidence of the next class, which no plain bag of words can know."""
    plain = OneVsRestClassifier(BagOfWords(**FEW)).fit(*texts[0])
    assert fitted.score(*texts[1]) > 0.9 > plain.score(*texts[1]) + 0.05
    assert all(one.modifier_rows(1)[0]["strength"] < -0.5 for one in fitted.estimators_)


def test_each_model_is_that_of_its_class_against_the_rest_and_is_saved(fitted, texts, tmp_path):
    (train, labels), (test, _) = texts
    alone = ModifierConvolution(["not"], own_weights=True, **FEW).fit(train, [label == "joy" for label in labels])
    scores = fitted.decision_function(test)[:, 2]
    np.testing.assert_allclose(alone.decision_function(test), scores, atol=1e-5)
    again = ModifierConvolution.load(fitted.estimators_[2].save(tmp_path / "joy"))
    np.testing.assert_array_equal(again.decision_function(test), scores)


def test_a_split_with_labels_gives_the_same_as_its_texts(texts):
    (train, labels), (test, _) = texts
    corpus = rnnlens.Corpus.from_texts(train, labels, test=texts[1], validation=0, min_count=2)
    of_split = OneVsRestClassifier(BagOfWords(**FEW)).fit(corpus.train, corpus.train.labels)
    of_texts = OneVsRestClassifier(BagOfWords(**FEW)).fit(train, labels)
    np.testing.assert_allclose(of_split.predict_proba(corpus.test), of_texts.predict_proba(test), atol=1e-5)
    assert cross_val_score(OneVsRestClassifier(BagOfWords(**{**FEW, "epochs": 3})), train, labels, cv=2).mean() > 0.5


def test_labels_that_would_be_ignored_are_refused():
    words, names = ["gold", "mud", "fog"] * 9, ["a", "b", "c"] * 9
    three = rnnlens.Corpus.from_texts(words, names, validation=0, min_count=1)
    two = rnnlens.Corpus.from_texts(words, [0, 1, 1] * 9, validation=0, min_count=1)
    model = BagOfWords(min_count=1, epochs=1)
    with pytest.raises(RnnlensError, match="y is given beside a corpus"):
        model.fit(two, [0, 1] * 9)
    for X, y in ((words, names), (three, None)):
        with pytest.raises(RnnlensError, match="two"):
            model.fit(X, y)
    with pytest.raises(RnnlensError, match="the labels are from 0 to 2"):
        model.fit(two).score(three)
