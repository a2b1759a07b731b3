"""Bags of words for three or more classes: one model for each class against the rest.

Where the paper's model has one weight for a word, this has C of them, and so it does for modifiers and edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from rnnlens.baselines.encoding import check_order, check_own_labels, encoded, labels_of
from rnnlens.baselines.estimators import ModifierConvolution
from rnnlens.baselines.explanation import Explanation
from rnnlens.baselines.parameters import check_parameters, seed_of
from rnnlens.baselines.saving import load_estimators, save_estimators
from rnnlens.common.errors import BadInput, quoted
from rnnlens.common.ranges import in_range
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.splits import Split
from rnnlens.corpora.texts import list_of_texts

if TYPE_CHECKING:
    from polars import DataFrame


class OneVsRest(ClassifierMixin, BaseEstimator):
    """A `ModifierConvolution` or `BagOfWords` for each of three or more classes, against the rest.

    estimator: the model, not fitted; by default a `ModifierConvolution` that learns its modifiers. Its class_weight is
    None, or "balanced", between each class and the rest. A text is of the class whose model gives the largest logit;
    probabilities are the models' own, scaled to add up to 1.

    Fitted: `classes_`, `estimators_` (one for each class, in the same order) and `vocab_`.
    """

    def __init__(self, estimator: ModifierConvolution | None = None):
        self.estimator = estimator

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, True, False
        return tags

    # --- fitting ---

    def fit(self, X: Sequence[str] | Corpus, y: Any = None) -> OneVsRest:
        """Learn from texts (n,) and labels (n,) of three or more classes, or from the training split of a corpus."""
        model = ModifierConvolution() if self.estimator is None else self.estimator
        if not isinstance(model, ModifierConvolution):
            raise BadInput(
                f"estimator is {quoted(type(model).__name__)}: expected a ModifierConvolution or BagOfWords; for "
                "others use sklearn.multiclass.OneVsRestClassifier"
            )
        check_parameters(model)
        if isinstance(model.class_weight, Mapping):
            raise BadInput(
                f"class_weight is {quoted(model.class_weight)}: each model is of one class against the rest; expected "
                "'balanced' or None"
            )
        if isinstance(X, Corpus):
            check_own_labels(y)
            check_order(X)
        corpus, classes = (X, np.array(X.classes)) if isinstance(X, Corpus) else _counted(model, X, y)
        _check_several(len(classes), model)
        fitted = [clone(model).fit(_against_rest(corpus, k)) for k in range(len(classes))]
        self.estimators_, self.classes_, self.vocab_ = fitted, classes, corpus.vocab
        return self

    # --- reading ---

    def decision_function(self, X: Sequence[str] | Corpus | Split) -> np.ndarray:
        """Logits (n, C), of each class against the rest."""
        check_is_fitted(self)
        split = encoded(X, self.vocab_)
        return np.stack([model.decision_function(split) for model in self.estimators_], 1)

    def predict_proba(self, X: Sequence[str] | Corpus | Split) -> np.ndarray:
        """Probabilities (n, C)."""
        each = 1 / (1 + np.exp(-self.decision_function(X).astype(np.float64)))
        return each / np.maximum(each.sum(1, keepdims=True), np.finfo(float).tiny)

    def predict(self, X: Sequence[str] | Corpus | Split) -> np.ndarray:
        """The class of each text, (n,)."""
        return self.classes_[self.decision_function(X).argmax(1)]

    def score(self, X: Sequence[str] | Corpus | Split, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy. For a corpus or split, y may be left out: it has labels."""
        check_is_fitted(self)
        if y is None and isinstance(X, Corpus | Split):
            y = labels_of(X, self.classes_)
        return super().score(X, y, sample_weight)

    def explain(self, text: str, class_: Any = None) -> Explanation:
        """What each word of a text adds to the logit of a class, by default the most probable one."""
        check_is_fitted(self)
        known = self.classes_.tolist()
        if class_ is not None and class_ not in known:
            raise BadInput(f"there is no class {quoted(class_)}: expected one of {quoted(known)}")
        k = int(self.decision_function([text])[0].argmax()) if class_ is None else known.index(class_)
        return self.estimators_[k].explain(text)

    @property
    def modifiers_(self) -> DataFrame:
        """Modifier words with their mean strength over classes, the largest first, and a column for each class."""
        import polars

        rows = self.modifier_rows()
        columns = {name: [row[name] for row in rows] for name in ("word", "strength", "tau")}
        for k, name in enumerate(self.classes_.tolist()):
            columns[f"strength {name}"] = [row["by_class"][k] for row in rows]
        return polars.DataFrame(columns)

    @in_range("modifier_rows")
    def modifier_rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The first `most` modifiers: word, strength and timescale (means over classes), and the strengths by class."""
        check_is_fitted(self)
        tables = [{row["word"]: row for row in model.modifier_rows()} for model in self.estimators_]
        words = [word for word in tables[0] if all(word in table for table in tables)]
        rows = []
        for word in words:
            by_class = [table[word]["strength"] for table in tables]
            tau = float(np.mean([table[word]["tau"] for table in tables]))
            rows.append({"word": word, "strength": float(np.mean(by_class)), "tau": tau, "by_class": by_class})
        return sorted(rows, key=lambda row: -abs(row["strength"]))[:most]

    @property
    def n_parameters_(self) -> int:
        """The number of learned parameters of all models."""
        check_is_fitted(self)
        return sum(model.model_.shape.parameters for model in self.estimators_)

    # --- files ---

    @in_range("folder")
    def save(self, folder: Path | str) -> Path:
        """Write to a folder, without pickle, as a single model is written."""
        check_is_fitted(self)
        return save_estimators(self.estimators_, self.classes_, ModifierConvolution._get_param_names(), Path(folder))

    @classmethod
    @in_range("folder")
    def load(cls, folder: Path | str) -> Self:
        """Read a folder that `save` wrote; the models are on the CPU."""
        fitted, classes = load_estimators(ModifierConvolution, Path(folder))
        model = cls(clone(fitted[0]))
        model.estimators_, model.classes_, model.vocab_ = fitted, classes, fitted[0].vocab_
        return model


def _counted(model: ModifierConvolution, X: Any, y: Any) -> tuple[Corpus, np.ndarray]:
    """A corpus of texts with their labels, and the classes."""
    if y is None:
        raise BadInput("OneVsRest requires y to be passed, but the target y is None: expected fit(texts, labels)")
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    texts = list_of_texts(X)
    if len(texts) != len(labels):
        raise BadInput(f"got {len(texts)} texts and {len(labels)} labels: expected one label for each text")
    _check_several(len(classes), model)
    names = [f"class {k}" for k in range(len(classes))]
    size, least, seed = model.vocab_size, model.min_count, seed_of(model.random_state)
    corpus = Corpus.from_texts(texts, labels, validation=0, vocab_size=size, min_count=least, seed=seed, classes=names)
    return corpus, classes


def _check_several(classes: int, model: ModifierConvolution) -> None:
    if classes < 3:
        has = "one class" if classes == 1 else "two classes"  # a corpus of two has no names of classes
        raise BadInput(f"there are texts of {has}: expected three or more; for two fit {type(model).__name__} itself")


def _against_rest(corpus: Corpus, k: int) -> Corpus:
    """The training texts of a corpus with the label 1 for class k, and 0 for the others."""
    labels = (np.asarray(corpus.train.labels) == k).astype(np.uint8)
    return Corpus(corpus.vocab, replace(corpus.train, labels=labels))
