"""The baselines are scikit-learn estimators: its own checks where they apply, tests of the same contract where texts
are needed."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted, validate_data
from test_baselines import reviews

from rnnlens import Corpus
from rnnlens.baselines import BagOfWords, ModifierConvolution, explanation
from rnnlens.baselines.centring import average_weights

QUICK = {"epochs": 8, "min_count": 1, "learning_rate": 0.1, "batch": 8, "word_dropout": 0.0}


# Checks that need no data.
WITHOUT_DATA = {
    "check_estimator_cloneable", "check_estimator_tags_renamed", "check_valid_tag_types", "check_estimator_repr",
    "check_no_attributes_set_in_init", "check_do_not_raise_errors_in_init_or_set_params", "check_mixin_order",
    "check_parameters_default_constructible", "check_get_params_invariance", "check_set_params",
    "check_estimators_unfitted", "check_requires_y_none", "check_non_transformer_estimators_n_iter",
    "check_estimators_partial_fit_n_features",
}  # fmt: skip


class SaysNumbers:
    """scikit-learn makes next to no checks of estimators that say they read texts: these say otherwise."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, False, True
        return tags


class Bag(SaysNumbers, BagOfWords):
    pass


class Modified(SaysNumbers, ModifierConvolution):
    pass


class OfNumbers(SaysNumbers, ModifierConvolution):
    """Numbers told in words ("the third is in its highest tenth"), so that checks with tables of numbers apply too."""

    def fit(self, X, y=None):
        if y is None:
            return super().fit(X, y)
        X, y = validate_data(self, X, y)
        self.marks_ = np.quantile(X, np.linspace(0, 1, 11)[1:-1], axis=0)
        return super().fit(self._told(X), y)

    def decision_function(self, X):
        check_is_fitted(self)
        return super().decision_function(self._told(validate_data(self, X, reset=False)))

    def _told(self, X):
        places = [(X[:, j : j + 1] > self.marks_[:, j]).sum(1) for j in range(X.shape[1])]
        return [" ".join(f"f{j}is{place}" for j, place in enumerate(row)) for row in zip(*places, strict=True)]


def checks(estimator, names=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(estimator_checks_generator(estimator))
    for one, check in found:
        name = (check.func if isinstance(check, partial) else check).__name__
        if names is None or name in names:
            yield pytest.param(one, check, id=f"{type(estimator).__name__}-{name}")


DIRECT = [*checks(Bag(**QUICK), WITHOUT_DATA), *checks(Modified(["not"], **QUICK), WITHOUT_DATA)]
DIRECT += [*checks(BagOfWords(**QUICK)), *checks(ModifierConvolution(["not"], **QUICK))]
TOLD = list(checks(OfNumbers("learn", **QUICK)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), [*DIRECT, *TOLD])
def test_scikit_learns_own_checks(estimator, check):
    """Of the estimators themselves those that need no numbers, of numbers told in words all."""
    check(estimator)


# --- what needs texts -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def texts():
    return reviews(160)


@pytest.fixture(scope="module")
def model(texts):
    return ModifierConvolution(["not", "so"], **{**QUICK, "epochs": 30}).fit(*texts)


@pytest.mark.parametrize(
    "kinds", [("neg", "pos"), (False, True), (0, 1), (-1, 1), (1, 2), (0.0, 1.0), (np.str_("a"), np.str_("b"))], ids=str
)
def test_labels_of_any_kind_come_back_as_they_were(kinds, tmp_path):
    words = ["good film", "bad film", "so good", "so bad"] * 10
    labels = np.array([kinds["good" in text] for text in words])
    model = ModifierConvolution(["so"], **QUICK).fit(words, labels)
    assert model.classes_.tolist() == list(kinds) and model.classes_.dtype == labels.dtype
    assert set(model.predict(words).tolist()) <= set(kinds) and model.score(words, labels) == 1
    model.save(tmp_path / "model")
    again = ModifierConvolution.load(tmp_path / "model")
    assert again.classes_.dtype.kind == labels.dtype.kind
    np.testing.assert_array_equal(again.predict(words), model.predict(words))


def test_empty_texts_and_unknown_words_are_read(model):
    logits = model.decision_function(["", "   ", "zzz qqq", "good zzz", "good"])
    assert logits[0] == logits[1] == pytest.approx(float(model.model_.bias)) and np.isfinite(logits).all()
    assert model.decision_function([]).shape == (0,) and model.predict([]).shape == (0,)
    assert model.predict_proba([]).shape == (0, 2)
    known = BagOfWords(**{**QUICK, "epochs": 1}).fit(["", "good", "bad", ""], [0, 1, 0, 1])  # a text may be empty
    assert np.isfinite(known.decision_function([""])).all()


def test_a_second_fit_forgets_the_first(texts):
    words, labels = texts
    model = ModifierConvolution(["not"], **QUICK)
    first = model.fit(words, labels).decision_function(words)
    model.fit(["up up", "down", "up", "down down"], ["u", "d", "u", "d"])
    assert (
        model.classes_.tolist() == ["d", "u"] and model.predict(["up"]).tolist() == ["u"] and "good" not in model.vocab_
    )
    np.testing.assert_array_equal(model.fit(words, labels).decision_function(words), first)


def test_the_random_state_decides_everything_and_none_is_zero(texts):
    words, labels = texts
    how = {**QUICK, "word_dropout": 0.3}
    fits = [
        ModifierConvolution(["not"], **how, random_state=state).fit(words, labels).decision_function(words)
        for state in (0, None, 1, np.random.RandomState(5), np.random.RandomState(5))
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    np.testing.assert_array_equal(fits[3], fits[4])
    assert not np.allclose(fits[0], fits[2]) and not np.allclose(fits[0], fits[3])
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - that it stays as it is
    ModifierConvolution(["not"], **how).fit(words, labels)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_pipelines_searches_and_folds(texts):
    words, labels = texts
    lower = FunctionTransformer(lambda some: [text.lower() for text in some])
    pipeline = make_pipeline(lower, ModifierConvolution(["not"], **QUICK)).fit([text.upper() for text in words], labels)
    assert pipeline.score([text.upper() for text in words], labels) > 0.7
    assert pipeline.predict_proba(words).shape == (len(words), 2)
    search = GridSearchCV(
        Pipeline([("model", ModifierConvolution(["not"], **QUICK))]),
        {"model__learning_rate": [1e-6, 0.1], "model__modifiers": [None, ["not"]]},
        cv=2,
        scoring="roc_auc",
    ).fit(words, labels)
    assert search.best_params_ == {"model__learning_rate": 0.1, "model__modifiers": ["not"]}
    assert cross_val_score(ModifierConvolution(["not"], **{**QUICK, "epochs": 40}), words, labels, cv=3).mean() > 0.7
    assert cross_val_predict(BagOfWords(**QUICK), words, labels, cv=2, method="predict_proba").shape == (len(words), 2)


def test_saved_and_loaded_are_alike_in_everything(texts, tmp_path):
    words, labels = texts
    for k, model in enumerate(
        (
            BagOfWords(**QUICK),
            ModifierConvolution("learn", **QUICK),
            ModifierConvolution(
                ["not"], own_weights=True, edges=True, own_edges=True, first_lag=0, max_words=5, **QUICK
            ),
        )
    ):
        model.fit(words, labels).save(tmp_path / str(k))
        again = type(model).load(tmp_path / str(k))
        assert again.get_params() == model.get_params()
        np.testing.assert_array_equal(again.decision_function(words), model.decision_function(words))
        assert again.modifier_rows() == model.modifier_rows() and str(again.explain(words[0])) == str(
            model.explain(words[0])
        )
        other = ModifierConvolution.load(tmp_path / str(k))  # of whatever kind it was
        np.testing.assert_array_equal(other.decision_function(words), model.decision_function(words))


def test_a_corpus_is_fitted_and_scored_like_its_texts(texts):
    words, labels = texts
    numbers = [int(label == "pos") for label in labels]
    corpus = Corpus.from_texts(words, numbers, test=(words[:40], numbers[:40]), validation=0, min_count=1)
    model = ModifierConvolution(["not"], **QUICK).fit(corpus)
    same = ModifierConvolution(["not"], **QUICK, vocab_size=50_000).fit(words, numbers)
    np.testing.assert_allclose(model.decision_function(words), same.decision_function(words), atol=1e-5)
    assert model.score(corpus.test) == model.score(words[:40], numbers[:40]) and model.score(corpus) > 0.7


# --- explanations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [
    {}, {"own_weights": True}, {"own_weights": True, "factored": False, "first_lag": 0},
    {"edges": True}, {"own_weights": True, "edges": True, "own_edges": True},
], ids=str)  # fmt: skip
def test_explanations_of_every_model_sum_to_its_logit(texts, shape):
    model = ModifierConvolution(["not", "so", "the"], **shape, **QUICK, max_words=7).fit(*texts)
    for text in (*texts[0][:5], "", "so not good zzz not bad the the good not so bad"):
        assert model.explain(text).logit == pytest.approx(float(model.decision_function([text])[0]), abs=1e-4)


@pytest.mark.parametrize(
    "shape", [{}, {"own_weights": True, "edges": True, "own_edges": True}, {"first_lag": 0}], ids=str
)
def test_a_long_text_is_explained_by_the_nearest_modifiers_and_the_sum_of_the_others(texts, shape, monkeypatch):
    model = ModifierConvolution(["not", "so", "the"], **shape, **QUICK, max_words=None).fit(*texts)
    text = "so not good zzz not bad the the good not so bad " * 10
    whole = model.explain(text)
    monkeypatch.setattr(explanation, "MOST_CHANGES", 0)
    short = model.explain(text)
    edges = 2 * ("edges" in shape)
    assert max(len(word.changes) for word in short.words) == explanation.LEAST_CHANGES + 1 + edges
    for one, other in zip(whole.words, short.words, strict=True):
        assert one.total == pytest.approx(other.total, rel=1e-6, abs=1e-6) and one.base == other.base  # float32 sums
        listed = [change for change in other.changes if change.by != explanation.EARLIER]
        assert listed == (one.changes[-len(listed) :] if listed else [])
    assert short.words[-1].changes[0].by == explanation.EARLIER
    assert short.logit == pytest.approx(float(model.decision_function([text])[0]), abs=1e-4)


def test_the_time_of_an_explanation_grows_with_the_text_and_not_with_its_square(model):
    long = clone(model).set_params(max_words=None, epochs=1).fit(["not good so", "bad"] * 4, [1, 0] * 4)
    found = long.explain("not so good " * 4_000)  # all changes would be 10⁸
    assert len(found.words) == 12_000 and sum(len(word.changes) for word in found.words) < 3 * explanation.MOST_CHANGES


def test_an_explanation_names_who_changed_what(model):
    found = model.explain("the not the good")
    good = found.words[-1]
    (change,) = [change for change in good.changes if change.by == "not"]
    row = next(row for row in model.modifier_rows() if row["word"] == "not")
    assert change.distance == 2
    usual = float(average_weights(model.model_)[model.vocab_.index["good"]])
    assert change.amount == pytest.approx(usual * row["strength"] * np.exp(-1 / row["tau"]), rel=1e-3)
    assert good.total < 0 < good.base
