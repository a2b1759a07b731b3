"""Trials of the random search: each trains one model and evaluates it on the validation reviews."""

from __future__ import annotations

import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.baselines import BASELINES, ModifierConvolution
from rnnlens.common.errors import OUT_OF_MEMORY, Diverged, RnnlensError, lacks_memory, quoted
from rnnlens.common.files import fingerprint
from rnnlens.corpora import load_corpus
from rnnlens.corpora.corpus import Corpus
from rnnlens.networks import Network
from rnnlens.training import TrainConfig, evaluate, train
from rnnlens.training.command import resolve


def baseline(
    model: str, options: dict[str, Any], seed: int, modifiers: list[str] | None, device: str | None
) -> ModifierConvolution:
    """One of the six baselines, not yet fitted."""
    fixed = dict(BASELINES[model])
    if "modifiers" not in fixed:
        need_modifiers([model], modifiers)
        fixed["modifiers"] = modifiers
    return ModifierConvolution(**fixed, **options, random_state=seed, device=device)


def network(model: str, corpus: Corpus, options: dict[str, Any], seed: int) -> tuple[Network, TrainConfig]:
    """One of the four networks, untrained, and its training settings. It trains to the last epoch, since a refit has no
    validation reviews to stop by."""
    shape, config = resolve({"seed": seed}, options)
    return Network(corpus.vocab, arch=model, seed=seed, **shape), config


def need_modifiers(models: list[str], modifiers: list[str] | None) -> None:
    """Raise an error if a model needs modifier words and there are none."""
    for model in models:
        if "modifiers" not in BASELINES.get(model, {"modifiers": None}) and not modifiers:
            raise RnnlensError(
                f"the model {quoted(model)} needs modifier words: pass modifiers (--modifiers), a list "
                "of words or an analyzed run"
            )


def judge(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Accuracy and mean cross-entropy."""
    signed = np.where(np.asarray(labels) > 0, 1, -1) * logits.astype(np.float64)
    return float((np.where(signed == 0, np.asarray(labels) == 0, signed > 0)).mean()), float(
        np.logaddexp(0, -signed).mean()
    )


def scaled_loss(logits: np.ndarray, labels: np.ndarray) -> float:
    """The mean cross-entropy of the logits times the positive factor that minimizes it. Like accuracy, it does not
    depend on the scale of the logits."""
    from scipy.optimize import minimize_scalar

    signed = np.where(np.asarray(labels) > 0, 1, -1) * logits.astype(np.float64)
    spread = float(np.abs(signed).mean()) or 1.0

    def loss(log_scale: float) -> float:
        return float(np.logaddexp(0, -np.exp(log_scale) / spread * signed).mean())

    return float(minimize_scalar(loss, bounds=(-6, 6), method="bounded").fun)


def run_trial(
    model: str,
    corpus: Corpus,
    parameters: dict[str, Any],
    seed: int = 0,
    modifiers: list[str] | None = None,
    device: str | None = None,
) -> dict[str, Any]:
    """Train one model and evaluate it on the validation reviews: accuracy, loss, seconds. If training diverges or needs
    too much memory, accuracy and loss are None and `error` has the message."""
    if corpus.validation is None or not len(corpus.validation):
        raise RnnlensError("the corpus has no validation reviews to evaluate on: prepare it with some")
    since = time.monotonic()
    outcome: dict[str, Any] = {"accuracy": None, "loss": None, "reviews": len(corpus.validation)}
    try:
        if model in BASELINES:
            fitted = baseline(model, parameters, seed, modifiers, device).fit(corpus)
            logits = fitted.decision_function(corpus.validation)
        else:
            untrained, config = network(model, corpus, parameters, seed)
            with tempfile.TemporaryDirectory() as folder:
                run = train(untrained, corpus, config, Path(folder) / "run", device=device, threads=1, progress=False)
                outcome["history"] = [epoch["validation_accuracy"] for epoch in run.history]
            logits = evaluate(run.network.to(device or "cpu"), corpus.validation, config.max_words).logits
        outcome["accuracy"], outcome["loss"] = judge(logits, corpus.validation.labels)
        outcome["scaled_loss"] = scaled_loss(logits, corpus.validation.labels)
    except Diverged as error:
        outcome["error"] = str(error)
    except (MemoryError, RuntimeError) as error:
        if not lacks_memory(error):
            raise
        outcome["error"] = OUT_OF_MEMORY
    return {**outcome, "seconds": round(time.monotonic() - since, 2)}


@lru_cache(maxsize=1)
def opened(corpus: str) -> Corpus:
    return load_corpus(corpus)


def mark(corpus: Corpus, modifiers: list[str] | None) -> str:
    """A fingerprint of the corpus and the modifiers. A finished trial is not run again while it stays the same."""
    return fingerprint({"corpus": corpus.fingerprint, "modifiers": modifiers or []})[:12]
