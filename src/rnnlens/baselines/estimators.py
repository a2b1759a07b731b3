"""Bags of words as scikit-learn classifiers: `fit(texts, y)`, `predict`, `predict_proba`, `score`, `explain`.

The paper's six baselines by name are in `baselines.six`. Texts are split into words as corpora are; a prepared corpus
can be given in their place. There are two classes; for more, scikit-learn's `OneVsRestClassifier(model)`
fits one model for each class against the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from rnnlens.baselines.centring import Average, average_weights, offsets, settle
from rnnlens.baselines.convolution import Convolution, Shape
from rnnlens.baselines.encoding import check_order, check_own_labels, encoded, labels_of
from rnnlens.baselines.explanation import Explanation, explain
from rnnlens.baselines.fitting import read_logits, train_model
from rnnlens.baselines.parameters import check_parameters, class_weights, listed, seed_of
from rnnlens.baselines.saving import load_estimator, save_estimator
from rnnlens.common.errors import BadInput, Diverged, quoted
from rnnlens.common.ranges import in_range
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.splits import Split
from rnnlens.corpora.texts import list_of_texts
from rnnlens.corpora.vocab import Vocab
from rnnlens.networks.finite import check_diverged
from rnnlens.runs.config import TrainConfig

if TYPE_CHECKING:
    from polars import DataFrame


STEPS = 1_000  # of training, if `epochs` is None
MOST = 400  # number of an analysis's modifiers that are used, as in the paper
CANDIDATES = 1_000  # words that start as modifiers, if modifiers are learned
COMPONENTS = 3  # P, the number of vectors β_mod, as in the paper


class ModifierConvolution(ClassifierMixin, BaseEstimator):
    """A bag of words in which modifiers change the words after them, with exponential decay (§9, Supp. G).

    Which model:

    modifiers       a list of words; "learn": the 1,000 most frequent words start as modifiers, and a penalty `sparsity`
                    keeps those that help; a `Modifiers` table of an analysis: its 400 strongest; None: no modifiers
    own_weights     modifiers scale three own weights (β_mod) of each word instead of the word's weight
    factored        each modifier has a scale for each of the three; without it, as in the paper, one for their sum
    edges, own_edges  the beginning and end of a document are modifiers too; they have own weights
    first_lag       1: modifiers change only the words after them; 0: also themselves, as in the paper

    How it is fitted, by Adam:

    vocab_size, min_count  the vocabulary: the most frequent words, with at least `min_count` occurrences
    epochs          passes over the texts; None: enough for 1,000 steps, from 6 to 200
    batch           texts per step
    learning_rate, decay, momentum  the learning rate, which falls to `decay` times itself; Adam's β₁
    l1, l2          penalties on the words' weights; l1 sets those of uninformative words to exactly zero
    word_dropout    share of words left out at each step
    max_words       only the last `max_words` words of a text are read
    class_weight    "balanced": both classes weigh the same, however many texts each has; or a dict of class weights
    random_state    an int, or NumPy's RandomState. None is the same as 0: every fit is repeatable, and NumPy's global
                    generator is not used
    device          "cpu" or "cuda"; None: the CPU

    Fitted: `classes_`, `vocab_`, `model_`, and `modifiers_`, a table of word, strength and timescale.
    """

    def __init__(
        self,
        modifiers: Any = "learn",
        *,
        sparsity: float = 1e-4,
        own_weights: bool = False,
        factored: bool = True,
        edges: bool = False,
        own_edges: bool = False,
        first_lag: int = 1,
        vocab_size: int = 20_000,
        min_count: int = 2,
        epochs: int | None = None,
        batch: int = 64,
        learning_rate: float = 0.01,
        decay: float = 0.01,
        momentum: float = 0.9,
        l1: float = 0.0,
        l2: float = 3e-6,
        word_dropout: float = 0.3,
        max_words: int | None = 800,
        class_weight: Any = None,
        random_state: Any = None,
        device: str | None = None,
    ):
        self.modifiers = modifiers
        self.sparsity = sparsity
        self.own_weights = own_weights
        self.factored = factored
        self.edges = edges
        self.own_edges = own_edges
        self.first_lag = first_lag
        self.vocab_size = vocab_size
        self.min_count = min_count
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.decay = decay
        self.momentum = momentum
        self.l1 = l1
        self.l2 = l2
        self.word_dropout = word_dropout
        self.max_words = max_words
        self.class_weight = class_weight
        self.random_state = random_state
        self.device = device

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, True, False
        tags.classifier_tags.multi_class = False
        return tags

    # --- fitting ---

    def fit(self, X: Sequence[str] | Corpus | Split, y: Any = None) -> ModifierConvolution:
        """Learn from texts (n,) and labels (n,), or from the training split of a corpus. With labels, X may also be a
        split of a corpus, whose own labels are then not used."""
        check_parameters(self)
        seed = seed_of(self.random_state)
        split, vocab, classes = self._read(X, y, seed)
        model = Convolution(self._shape(vocab, self._modifier_words(vocab)), seed=seed).to(self.device or "cpu")
        average = Average.of(split, model, self.max_words, 1 - self.word_dropout)
        model.offsets = partial(offsets, model, average, average.kept)
        learned = isinstance(self.modifiers, str) and len(model.shape.modifiers) > 0
        weights = None
        if self.class_weight is not None:
            y = classes[np.asarray(split.labels).astype(int)]
            weights = class_weights(self.class_weight, classes, y)
        penalty = partial(self._sparsity, model) if learned else None
        train_model(model, split, self._config(len(split), seed), self.l2, penalty, weights, self.l1)
        settle(model, average)
        check_diverged(model, "the fit diverged", f"try a learning_rate below {self.learning_rate:g}")
        self.vocab_, self.classes_, self.model_ = vocab, classes, model.requires_grad_(False)
        return self

    def _read(self, X: Sequence[str] | Corpus | Split, y: Any, seed: int) -> tuple[Split, Vocab, np.ndarray]:
        if isinstance(X, Corpus):
            check_own_labels(y)
            check_order(X)
            X.check_two_classes("this model")
            return X.train.decided, X.vocab, np.array([0, 1])
        if y is None:
            raise BadInput(
                f"{type(self).__name__} requires y to be passed, but the target y is None: expected fit(texts, labels)"
            )
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise BadInput(f"the labels are all of one class, {quoted(classes.tolist())}: expected two classes")
        if len(classes) > 2:
            raise BadInput(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}: it has "
                f"{len(classes)} classes, expected two; for more use scikit-learn's OneVsRestClassifier(model)"
            )
        texts = X if isinstance(X, Split) else list_of_texts(X)
        if len(texts) != len(labels):
            raise BadInput(f"got {len(texts)} texts and {len(labels)} labels: expected one label for each text")
        if isinstance(texts, Split):
            check_order(texts)
            if texts.vocab is None:
                raise BadInput("the split is of no corpus, so that its words are not known: pass the corpus, or texts")
            return replace(texts, labels=labels.astype(np.uint8)), texts.vocab, classes
        corpus = Corpus.from_texts(
            texts, labels, validation=0, vocab_size=self.vocab_size, min_count=self.min_count, seed=seed
        )
        return corpus.train, corpus.vocab, classes

    def _shape(self, vocab: Vocab, words: list[str]) -> Shape:
        return Shape(
            len(vocab),
            tuple(vocab.index[word] for word in words if word in vocab),
            self.own_weights,
            COMPONENTS,
            self.factored,
            bool(self.edges),  # a grid of parameters may hold NumPy's flags
            self.own_edges,
            self.first_lag,
        )

    def _modifier_words(self, vocab: Vocab) -> list[str]:
        given = self.modifiers
        if given is None:
            return []
        if isinstance(given, str):
            counts = np.zeros(len(vocab)) if vocab.counts is None else vocab.counts
            order = [i for i in np.argsort(-counts, kind="stable").tolist() if i != vocab.unk]
            return [vocab.words[i] for i in order[:CANDIDATES]]
        if hasattr(given, "strongest"):
            return given.strongest(MOST)
        return listed(given, vocab)

    def _config(self, documents: int, seed: int) -> TrainConfig:
        epochs = self.epochs if self.epochs is not None else min(200, max(6, -(-STEPS // -(-documents // self.batch))))
        return TrainConfig(
            epochs=epochs,
            batch=self.batch,
            learning_rate=self.learning_rate,
            schedule="exponential",
            warmup=0,
            final_rate=self.decay,
            momentum=self.momentum,
            word_dropout=self.word_dropout,
            max_words=self.max_words,
            seed=seed,
        )

    def _sparsity(self, model: Convolution) -> torch.Tensor:
        """The penalty on learned modifiers: `sparsity` times the norm of each one's scales."""
        return float(self.sparsity) * model.alpha.square().sum(1).add(1e-12).sqrt().sum()

    # --- reading ---

    def decision_function(self, X: Sequence[str] | Corpus | Split) -> np.ndarray:
        """Logits (n,): above 0 for the second class."""
        self._check_usable()
        logits = read_logits(self.model_, encoded(X, self.vocab_), self.max_words)
        if not np.isfinite(logits).all():
            raise Diverged("the model's logits are not finite: its weights are too large; fit it again")
        return logits

    def _check_usable(self) -> None:
        """Raise an error if the model is not fitted, or if its weights are not finite: it would always predict the
        first class."""
        check_is_fitted(self)
        check_diverged(self.model_, "the model diverged", "fit it again, with a smaller learning_rate")

    def predict_proba(self, X: Sequence[str] | Corpus | Split) -> np.ndarray:
        """Probabilities (n, 2) of the two classes."""
        positive = 1 / (1 + np.exp(-self.decision_function(X).astype(np.float64)))
        return np.stack([1 - positive, positive], 1)

    def predict(self, X: Sequence[str] | Corpus | Split) -> np.ndarray:
        """The class of each text, (n,)."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def score(self, X: Sequence[str] | Corpus | Split, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy. For a corpus or split, y may be left out: it has labels, and neutral texts are not counted."""
        self._check_usable()
        if y is None and isinstance(X, Corpus | Split):
            X = X if isinstance(X, Corpus) else X.decided
            y = labels_of(X, self.classes_)
        return super().score(X, y, sample_weight)

    def explain(self, text: str) -> Explanation:
        """The contribution of each word, and which words changed it, by how much, at what distance."""
        self._check_usable()
        if not isinstance(text, str):
            raise BadInput(f"the text is {quoted(text)} of type {type(text).__name__}: expected one text")
        return explain(self.model_, self.vocab_, text, self.max_words)

    @property
    def modifiers_(self) -> DataFrame:
        """Modifier words, strongest first, with strength (the change in the contribution of the next word, as a share
        of its mean: −1 removes it, −2 reverses it) and timescale τ in words."""
        import polars

        types = {"word": polars.String, "strength": polars.Float64, "tau": polars.Float64}
        return polars.DataFrame(self.modifier_rows(), schema=types)

    def modifier_rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The first `most` rows of `modifiers_`, without polars."""
        self._check_usable()
        model, ids = self.model_, list(self.model_.shape.modifiers)
        if not ids:
            return []
        tau = model.log_tau.exp()
        scale = model.alpha.expand(-1, COMPONENTS if self.own_weights else 1)
        mean = average_weights(model)  # the strength is the regression of the added weights on these
        added = model.beta_mod if self.own_weights else model.beta.unsqueeze(1)
        share = scale @ (mean @ added) / mean.square().sum().clamp(min=1e-12)
        strength = share * torch.exp(-1 / tau)
        order = strength.abs().argsort(descending=True).tolist()[:most]
        words = self.vocab_.decode(ids)
        return [{"word": words[i], "strength": float(strength[i]), "tau": float(tau[i])} for i in order]

    # --- files ---

    @in_range("folder")
    def save(self, folder: Path | str) -> Path:
        """Write to a folder, without pickle. An estimator that was saved there is replaced; a folder that holds
        anything else is an error."""
        self._check_usable()
        return save_estimator(self, ModifierConvolution._get_param_names(), Path(folder))

    @classmethod
    @in_range("folder")
    def load(cls, folder: Path | str) -> Self:
        """Read a folder that `save` wrote; the model is on the CPU."""
        model = load_estimator(cls, Path(folder))
        model._check_usable()
        return model


class BagOfWords(ModifierConvolution):
    """A bag of words: the logit is the sum of a weight for every word. The augmented models are compared with it. Its
    parameters are those of `ModifierConvolution` that do not concern modifiers."""

    def __init__(
        self,
        *,
        vocab_size: int = 20_000,
        min_count: int = 2,
        epochs: int | None = None,
        batch: int = 64,
        learning_rate: float = 0.01,
        l1: float = 0.0,
        l2: float = 3e-6,
        word_dropout: float = 0.3,
        max_words: int | None = 800,
        class_weight: Any = None,
        random_state: Any = None,
        device: str | None = None,
    ):
        super().__init__(
            None,
            vocab_size=vocab_size,
            min_count=min_count,
            epochs=epochs,
            batch=batch,
            learning_rate=learning_rate,
            l1=l1,
            l2=l2,
            word_dropout=word_dropout,
            max_words=max_words,
            class_weight=class_weight,
            random_state=random_state,
            device=device,
        )
