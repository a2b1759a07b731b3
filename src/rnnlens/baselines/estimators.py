"""Bags of words as scikit-learn classifiers: `fit(texts, y)`, `predict`, `predict_proba`, `score`, `explain`.

The paper's six baselines by name are in `BASELINES`. Texts are split as corpora are; a prepared corpus can be given in
their place. Two classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from rnnlens.artifacts import atomic_folder, read_json, read_tensors, write_json, write_tensors
from rnnlens.baselines.convolution import Convolution, Shape
from rnnlens.baselines.explanation import Explanation, explain
from rnnlens.corpora.corpus import Corpus, Split
from rnnlens.corpora.vocab import PAD, Vocab
from rnnlens.errors import RnnlensError, quoted
from rnnlens.training.batches import epoch_batches, token_batches

if TYPE_CHECKING:
    from polars import DataFrame


class ModifierConvolution(ClassifierMixin, BaseEstimator):
    """A bag of words in which modifiers change the words after them, less with every word between (§9, Supp. G).

    modifiers       a list of words; "learn": the `candidates` most frequent words begin as modifiers, and a penalty of
                    `sparsity` leaves those that help; None: none; or what an analysis found (`Modifiers`)
    most            of the modifiers of an analysis, the strongest so many
    own_weights     modifiers scale weights of their own (β_mod), not the words' own
    components      how many β_mod there are (P)
    factored        a scale for every modifier and component; without it, as printed, components make one vector
    edges, own_edges  the beginning and end of a document modify too, with weights of their own
    first_lag       1: modifiers change what follows; 0: themselves too, as printed
    vocab_size, min_count  which words are known
    epochs, batch, learning_rate, l2, word_dropout, max_words, seed, device  how it is trained (Adam)

    Fitted: `classes_`, `vocab_`, `model_`, and `modifiers_`, a table of word, strength and scope.
    """

    def __init__(
        self,
        modifiers: Any = "learn",
        *,
        most: int = 400,
        candidates: int = 1_000,
        sparsity: float = 1e-4,
        own_weights: bool = False,
        components: int = 3,
        factored: bool = True,
        edges: bool = False,
        own_edges: bool = False,
        first_lag: int = 1,
        vocab_size: int = 20_000,
        min_count: int = 2,
        epochs: int = 8,
        batch: int = 64,
        learning_rate: float = 0.01,
        l2: float = 3e-6,
        word_dropout: float = 0.3,
        max_words: int | None = 800,
        seed: int = 0,
        device: str | None = None,
    ):
        self.modifiers = modifiers
        self.most = most
        self.candidates = candidates
        self.sparsity = sparsity
        self.own_weights = own_weights
        self.components = components
        self.factored = factored
        self.edges = edges
        self.own_edges = own_edges
        self.first_lag = first_lag
        self.vocab_size = vocab_size
        self.min_count = min_count
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.l2 = l2
        self.word_dropout = word_dropout
        self.max_words = max_words
        self.seed = seed
        self.device = device

    # --- fitting ---

    def fit(self, X: Sequence[str] | Corpus, y: Any = None) -> ModifierConvolution:
        """Learn from texts (n,) and labels (n,), or from the training split of a corpus."""
        split, self.vocab_, self.classes_ = self._read(X, y)
        self.model_ = Convolution(self._shape(self.vocab_), seed=self.seed).to(self.device or "cpu")
        self._train(split)
        self.model_ = self.model_.cpu().requires_grad_(False)
        return self

    def _read(self, X: Sequence[str] | Corpus, y: Any) -> tuple[Split, Vocab, np.ndarray]:
        if isinstance(X, Corpus):
            return X.train, X.vocab, np.array([0, 1])
        if y is None:
            raise RnnlensError("fit was given texts but no labels: expected fit(texts, labels)")
        classes, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) != 2:
            raise RnnlensError(f"the labels have {len(classes)} classes: expected two")
        corpus = Corpus.from_texts(
            list(X), labels, validation=0, vocab_size=self.vocab_size, min_count=self.min_count, seed=self.seed
        )
        return corpus.train, corpus.vocab, classes

    def _shape(self, vocab: Vocab) -> Shape:
        words = self._modifier_words(vocab)
        return Shape(
            len(vocab), tuple(vocab.index[word] for word in words if word in vocab), self.own_weights,
            self.components, self.factored, self.edges, self.own_edges, self.first_lag,
        )  # fmt: skip

    def _modifier_words(self, vocab: Vocab) -> list[str]:
        given = self.modifiers
        if given is None:
            return []
        if isinstance(given, str):
            if given != "learn":
                raise RnnlensError(f"modifiers is {quoted(given)}: expected a list of words, 'learn', or None")
            counts = np.zeros(len(vocab)) if vocab.counts is None else vocab.counts
            order = [i for i in np.argsort(-counts, kind="stable").tolist() if i != vocab.unk]
            return [vocab.words[i] for i in order[: self.candidates]]
        if hasattr(given, "strongest"):
            return given.strongest(self.most)
        return list(given)

    def _train(self, split: Split) -> None:
        model, device = self.model_, next(self.model_.parameters()).device
        lengths = split.lengths if self.max_words is None else np.minimum(split.lengths, self.max_words)
        optimizer = torch.optim.Adam(model.parameters(), lr=self.learning_rate)
        steps = self.epochs * -(-len(split) // self.batch)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, self.learning_rate, total_steps=max(2, steps + 1))
        generator = torch.Generator().manual_seed(self.seed)
        labels = np.asarray(split.labels)
        for epoch in range(self.epochs):
            for rows in epoch_batches(lengths, self.batch, self.seed, epoch):
                ids, n = (torch.from_numpy(part) for part in split.batch(rows, self.max_words))
                if self.word_dropout:
                    ids = ids.masked_fill(torch.rand(ids.shape, generator=generator) < self.word_dropout, PAD)
                target = torch.from_numpy(labels[rows].astype(np.float32)).to(device)
                logits = model(ids.to(device), n.to(device))
                loss = F.binary_cross_entropy_with_logits(logits, target) + self._penalty()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()

    def _penalty(self) -> torch.Tensor:
        """L2 on weights; where modifiers are learnt, the size of each one's scale as well."""
        model = self.model_
        weights = [model.beta, *(getattr(model, name) for name in ("beta_mod", "beta_edges") if hasattr(model, name))]
        total = self.l2 * sum((weight.square().sum() for weight in weights), model.beta.new_zeros(()))
        if isinstance(self.modifiers, str) and hasattr(model, "alpha"):
            total = total + self.sparsity * model.alpha.square().sum(1).add(1e-12).sqrt().sum()
        return total

    # --- reading ---

    def decision_function(self, X: Sequence[str] | Corpus | Split) -> np.ndarray:
        """Logits (n,): above 0 for the second class."""
        check_is_fitted(self)
        split = X if isinstance(X, Split) else X.train if isinstance(X, Corpus) else self._encode(X)
        lengths = split.lengths if self.max_words is None else np.minimum(split.lengths, self.max_words)
        found = np.zeros(len(split), dtype=np.float32)
        with torch.no_grad():
            for rows in token_batches(lengths, 2**15, 256):
                ids, n = (torch.from_numpy(part) for part in split.batch(rows, self.max_words))
                found[rows] = self.model_(ids, n).numpy()
        return found

    def _encode(self, X: Sequence[str]) -> Split:
        if isinstance(X, str):
            raise RnnlensError(f"got the text {quoted(X)}: expected a list of texts")
        rows = [np.where((ids := self.vocab_.encode(text)) < 0, len(self.vocab_), ids) for text in X]
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        ids = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        return _Texts(ids, offsets, np.zeros(len(rows), dtype=np.uint8), len(self.vocab_))

    def predict_proba(self, X: Sequence[str] | Corpus | Split) -> np.ndarray:
        """Probabilities (n, 2) of the two classes."""
        positive = 1 / (1 + np.exp(-self.decision_function(X).astype(np.float64)))
        return np.stack([1 - positive, positive], 1)

    def predict(self, X: Sequence[str] | Corpus | Split) -> np.ndarray:
        """The class of each text, (n,)."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def explain(self, text: str) -> Explanation:
        """What each word adds, which earlier word changed it, by how much, and at what distance."""
        check_is_fitted(self)
        return explain(self.model_, self.vocab_, text)

    @property
    def modifiers_(self) -> DataFrame:
        """Modifier words, strongest first: word, strength (the change in the weight of the word right after it, as a
        share of that weight: −1 takes it away, −2 flips it), scope τ in words."""
        import polars

        check_is_fitted(self)
        model, ids = self.model_, list(self.model_.shape.modifiers)
        if not ids:
            return polars.DataFrame({"word": [], "strength": [], "tau": []})
        tau = model.log_tau.exp()
        scale = model.alpha.expand(-1, self.components if self.own_weights else 1)
        if self.own_weights:  # how much of β there is in what the modifier adds
            share = (scale @ model.beta_mod) @ model.beta / model.beta.square().sum().clamp(min=1e-12)
        else:
            share = scale[:, 0]
        strength = share * torch.exp(-1 / tau)
        order = strength.abs().argsort(descending=True).tolist()
        words = self.vocab_.decode(ids)
        return polars.DataFrame(
            {
                "word": [words[i] for i in order],
                "strength": [float(strength[i]) for i in order],
                "tau": [float(tau[i]) for i in order],
            }
        )

    # --- files ---

    def save(self, folder: Path | str) -> Path:
        """Write to a folder, without pickle."""
        check_is_fitted(self)
        options = {**self.get_params(deep=False), "modifiers": self.vocab_.decode(self.model_.shape.modifiers)}
        with atomic_folder(folder, replace=True) as temporary:
            write_json(
                temporary / "baseline.json",
                {
                    "options": options, "classes": self.classes_.tolist(),
                    "words": list(self.vocab_.words), "counts": self.vocab_.counts,
                },
            )  # fmt: skip
            write_tensors(temporary / "weights.safetensors", self.model_.state_dict())
        return Path(folder)

    @classmethod
    def load(cls, folder: Path | str) -> ModifierConvolution:
        """Read what `save` wrote."""
        about = read_json(Path(folder) / "baseline.json")
        names = set(cls._get_param_names())
        model = cls(**{name: value for name, value in about["options"].items() if name in names})
        model.vocab_, model.classes_ = Vocab(about["words"], about["counts"]), np.asarray(about["classes"])
        tensors, _ = read_tensors(Path(folder) / "weights.safetensors")
        model.model_ = Convolution(model._shape(model.vocab_))
        model.model_.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in tensors.items()})
        model.model_.requires_grad_(False)
        return model


class BagOfWords(ModifierConvolution):
    """A weight for every word, and their sum: what the augmented models are measured against."""

    def __init__(
        self,
        *,
        vocab_size: int = 20_000,
        min_count: int = 2,
        epochs: int = 8,
        batch: int = 64,
        learning_rate: float = 0.01,
        l2: float = 3e-6,
        word_dropout: float = 0.3,
        max_words: int | None = 800,
        seed: int = 0,
        device: str | None = None,
    ):
        super().__init__(
            None, vocab_size=vocab_size, min_count=min_count, epochs=epochs, batch=batch, learning_rate=learning_rate,
            l2=l2, word_dropout=word_dropout, max_words=max_words, seed=seed, device=device,
        )  # fmt: skip


class _Texts(Split):
    """Encoded texts in which the id behind the vocabulary's last stands for no word."""

    def __init__(self, ids: np.ndarray, offsets: np.ndarray, labels: np.ndarray, words: int):
        super().__init__(ids, offsets, labels)
        object.__setattr__(self, "words", words)

    words: int

    def batch(self, indices: Any, max_words: int | None = None, keep: Any = "last") -> tuple[np.ndarray, np.ndarray]:
        ids, lengths = super().batch(indices, max_words, keep)
        return np.where(ids == self.words, PAD, ids), lengths


BASELINES: dict[str, dict[str, Any]] = {
    "bow": {"modifiers": None},
    "bod+eod": {"modifiers": None, "edges": True},
    "bod+eod+beta_bod+beta_eod": {"modifiers": None, "edges": True, "own_edges": True},
    "comw": {},
    "comw+beta_mod": {"own_weights": True},
    "comw+beta_mod+beta_bod+beta_eod": {"own_weights": True, "edges": True, "own_edges": True},
}
"""The paper's six models: options of `ModifierConvolution`, to which modifiers are added where there are any."""
