"""A head for a network that has none: logistic regression of the label on the network's output after each document."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.progress import progress_bar
from rnnlens.common.ranges import in_range
from rnnlens.corpora.batches import token_batches
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.pieces import PieceVocab
from rnnlens.corpora.protocol import SplitLike
from rnnlens.corpora.vocab import PAD, Vocab
from rnnlens.networks import Network
from rnnlens.networks.matching import check_order

TOKENS, MOST = 2**13, 64  # padded words and documents that are read at a time
HELD_OUT = 0.1  # of the training documents, if there is no validation split
PENALTIES = tuple(10.0**power for power in range(-5, 3))  # C of scikit-learn: larger is less regularized
ITERATIONS = 500


@dataclass(frozen=True)
class ReadoutFit:
    """How a head was fitted: C, the inverse strength of its L2 penalty, chosen by the loss on validation documents;
    the accuracy on every split, and the number of its documents."""

    C: float
    accuracy: Mapping[str, float]
    documents: Mapping[str, int]
    max_words: int | None


@in_range("fit_readout")
def fit_readout(
    network: Network, corpus: Corpus, *, max_words: int | None = None, seed: int = 0, progress: bool = True
) -> Network:
    """A network with the same cell and words and a new linear head: logistic regression, on the training documents, of
    the label on the output after the last word. Two classes, or several.

    The L2 penalty is chosen by the loss on the validation documents (a tenth of the training documents, if there are
    none). `network.readout_fit` has it, with the accuracy on each split. The given network stays as it is; its weights
    are shared: training one of the two changes the other. A corpus of other words is recoded (`corpus.with_vocab`); for
    a subword tokenizer words become pieces, whose counts the new network's vocabulary has. With a reversed corpus the
    new network reads backward. max_words: of longer documents the last words are read.
    """
    corpus = _checked(network, corpus)
    train: SplitLike = corpus.train.decided
    validation: SplitLike | None = corpus.validation
    if validation is None or not len(validation):
        train, validation = _held_out(corpus, seed)
    given: dict[str, Any] = {"train": train, "validation": validation, "test": corpus.test}
    splits = {name: split for name, split in given.items() if split is not None and len(split)}
    outputs = _read(network, splits, max_words, progress)
    labels = {name: np.asarray(split.labels).astype(np.int64) for name, split in splits.items()}
    _check_labels(labels["train"], len(corpus.classes) or 2)
    w, b, C = _fitted(outputs, labels, len(corpus.classes) or 2, progress)
    made = _with_head(network, w, b, corpus)
    accuracy = {name: _accuracy(outputs[name] @ w.T + b, labels[name]) for name in splits}
    made.readout_fit = ReadoutFit(C, accuracy, {name: len(split) for name, split in splits.items()}, max_words)
    return made


def _checked(network: Any, corpus: Any) -> Corpus:
    """The corpus in the network's words."""
    if not isinstance(network, Network) or network.vocab is None:
        raise RnnlensError(
            f"fit_readout got a network of type {quoted(type(network).__name__)}: expected a Network with words that "
            "reads one way"
        )
    if not isinstance(corpus, Corpus):
        raise RnnlensError(f"fit_readout got {quoted(type(corpus).__name__)}: expected a Corpus of labeled documents")
    if corpus.ordered:
        raise RnnlensError("the classes of the corpus are in order, and fit_readout fits none: expected classes alone")
    check_order(network, corpus)
    return corpus.with_vocab(network.vocab)


def _held_out(corpus: Corpus, seed: int) -> tuple[SplitLike, SplitLike]:
    """The training documents without a tenth of them, and that tenth."""
    train = corpus.train.decided
    n = len(train)
    if n < 2:
        raise RnnlensError(f"the corpus has {n} training documents and none for validation: expected at least 2")
    order = np.random.default_rng(seed).permutation(n)
    few = max(1, round(HELD_OUT * n))
    return train.take(np.sort(order[few:])), train.take(np.sort(order[:few]))


def _check_labels(labels: np.ndarray, classes: int) -> None:
    missing = sorted(set(range(classes)) - set(labels.tolist()))
    if missing:
        raise RnnlensError(
            f"no training document has label {missing[0]}: expected documents of all {classes} classes to fit a head"
        )


@torch.no_grad()
def _read(network: Network, splits: Mapping[str, SplitLike], max_words: int | None, shown: bool) -> dict[str, Any]:
    """The outputs (n, H) after the last word of every document, for each split."""
    total, found = sum(int(split.lengths.sum()) for split in splits.values()), {}
    with progress_bar("reading documents", total, shown) as advance:
        for name, split in splits.items():
            lengths = split.lengths if max_words is None else np.minimum(split.lengths, max_words)
            rows = np.zeros((len(split), len(range(network.size)[network.cell.output])))
            for batch in token_batches(lengths, TOKENS, MOST):
                ids, n = (torch.from_numpy(part).to(network.h0.device) for part in split.batch(batch, max_words))
                rows[batch] = network.last_outputs_of(network.embed(ids), n).double().cpu().numpy()
                advance(int(split.lengths[batch].sum()), name)
            if not np.isfinite(rows).all():
                raise RnnlensError(f"some outputs on the {name} documents are NaN or infinite: no head can be fitted")
            found[name] = rows
    return found


def _fitted(
    outputs: Mapping[str, np.ndarray], labels: Mapping[str, np.ndarray], classes: int, shown: bool
) -> tuple[np.ndarray, np.ndarray, float]:
    """w (k, H), b (k,) and C, with the smallest loss on the validation documents; k is 1 for two classes."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    mean, scale = outputs["train"].mean(0), outputs["train"].std(0)
    scale[scale == 0] = 1
    x = {name: (rows - mean) / scale for name, rows in outputs.items()}
    best: tuple[float, Any, float] = np.inf, None, 0.0
    with warnings.catch_warnings(), progress_bar("fitting the head", len(PENALTIES), shown) as advance:
        warnings.simplefilter("ignore", ConvergenceWarning)  # a weak penalty that is not fitted well is not chosen
        for C in PENALTIES:
            model = LogisticRegression(C=C, max_iter=ITERATIONS).fit(x["train"], labels["train"])
            loss = log_loss(labels["validation"], model.predict_proba(x["validation"]), labels=range(classes))
            best = min(best, (float(loss), model, C), key=lambda one: one[0])
            advance(1, f"loss {loss:.3f}")
    _, model, C = best
    w = model.coef_ / scale
    return w, model.intercept_ - w @ mean, C


def _with_head(network: Network, w: np.ndarray, b: np.ndarray, corpus: Corpus) -> Network:
    """The network with another linear head, and a tokenizer's pieces counted on the training documents."""

    def as_head(array: np.ndarray) -> nn.Parameter:
        tensor = torch.from_numpy(array).to(network.h0.detach())
        return nn.Parameter(tensor if len(corpus.classes) else tensor[0], network.readout_w.requires_grad)

    made = network.with_parts(network.cell, network.h0.detach(), network.arch)
    made.readout_w, made.readout_b = as_head(w), as_head(b)
    made.E, made.h0 = network.E, network.h0
    made.features, made.classes, made.reads, made.target = None, corpus.classes, "", ""
    made.vocab = _counted(network.vocab, corpus)
    if "reversed" in corpus.about:
        made.direction = "backwards"  # texts that it is given later are reversed too
    return made.train(network.training)


def _counted(vocab: Vocab | None, corpus: Corpus) -> Vocab | None:
    if not isinstance(vocab, PieceVocab) or vocab.counts is not None:
        return vocab
    ids = np.asarray(corpus.train.ids)
    return vocab.with_counts(np.bincount(ids[ids != PAD], minlength=len(vocab)))


def _accuracy(scores: np.ndarray, labels: np.ndarray) -> float:
    """The share of documents whose class has the highest score."""
    found = scores.argmax(1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)
    return float((found == labels).mean())
