"""Settings that a search chose on validation reviews: `sweep` writes them; `train`, `baselines`, `reproduce` read."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.artifacts import read_json, understood, write_json
from rnnlens.errors import RnnlensError, quoted
from rnnlens.experiments.space import SPACES

if TYPE_CHECKING:
    from rnnlens.corpora.corpus import Corpus

PACKAGED = Path(__file__).with_suffix(".json")
"""Bundled settings of all ten models, chosen on IMDB's validation reviews: those of Table 1."""

TUNED = Path(__file__).with_name("tuned.json")
"""Bundled settings of the four networks, chosen on the validation texts of five sources: those of `train --tuned`."""


def best(rows: list[dict[str, Any]], model: str) -> dict[str, Any] | None:
    """Of the trials whose validation accuracy is within a standard error of the highest, the one with the lowest loss.

    The highest accuracy of many trials is mostly luck (a standard error of 0.6 points with 2,500 reviews), and the
    loss, which every review has a part in, varies less by chance. It is the loss at the scale that suits a model's
    logits, where all trials have it: how sure a model is does not change what it answers."""
    of_model = [row for row in rows if row["model"] == model and row["accuracy"] is not None]
    highest = max((row["accuracy"] for row in of_model), default=0.0)
    near = [row for row in of_model if row["accuracy"] >= highest - _standard_error(highest, row["reviews"])]
    loss = "scaled_loss" if all("scaled_loss" in row for row in of_model) else "loss"
    return min(near, key=lambda row: row[loss], default=None)


def _standard_error(accuracy: float, reviews: int) -> float:
    return math.sqrt(accuracy * (1 - accuracy) / reviews)


def write_settings(path: Path, rows: list[dict[str, Any]], corpus: str, documents: int) -> dict[str, Any]:
    """The best parameters of each model among finished trials, for `train`, `baselines` and `reproduce`, and on
    which corpus, of how many training documents; models that the file held and `rows` do not stay."""
    models = earlier_models(path, corpus)
    for model in SPACES:
        top = best(rows, model)
        if top is not None:
            count = sum(row["model"] == model for row in rows)
            chosen = {key: top[key] for key in ("parameters", "accuracy", "loss", "trial", "seed")}
            models[model] = {**chosen, "trials": count}
    content = {"kind": "settings", "corpus": corpus, "documents": documents, "models": models}
    write_json(path, content)
    return content


def earlier_models(path: Path, corpus: str) -> dict[str, Any]:
    """The models that the file holds, none if there is no file; anything but settings for this corpus is refused."""
    if not path.exists():
        return {}
    before = read_json(path)
    if before.get("kind") != "settings" or before.get("corpus") != corpus:
        raise RnnlensError(f"{quoted(str(path))} holds something else than settings for this corpus: move it away")
    with understood(path, "settings of a sweep"):
        return dict(before["models"])


def read_settings(path: Path | str, model: str) -> dict[str, Any]:
    """The parameters that a sweep chose for a model."""
    chosen = read_choice(path, model)
    with understood(path, "settings of a sweep"):
        return dict(chosen["parameters"])


def read_choice(path: Path | str, model: str, corpus: Corpus | None = None) -> dict[str, Any]:
    """The same with how it was chosen: validation accuracy, trial, of how many. For another corpus than it was chosen
    on, the epochs are those that make about as many steps: at least two, at most three times as many. Where an epoch
    has fewer than 40 steps, batches are smaller, down to 32 reviews."""
    content = read_json(path)
    if content.get("kind") != "settings":
        raise RnnlensError(f"{quoted(str(path))} holds no settings: expected the settings.json of `rnnlens sweep`")
    with understood(path, "settings of a sweep"):
        models = dict(content["models"])
        if model not in models:
            raise RnnlensError(
                f"{quoted(str(path))} has no settings for {quoted(model)}, only for {quoted(', '.join(models))}: "
                f"run `rnnlens sweep CORPUS --model {model}` first"
            )
        choice = dict(models[model])
        documents = content.get("documents")
        if corpus is None or documents is None or corpus.fingerprint == content["corpus"]:
            return choice
        there = choice["parameters"]["epochs"]
        epochs = min(3 * there, max(2, round(there * documents / max(1, len(corpus.train)))))
        parameters = {**choice["parameters"], "epochs": epochs}
        if "batch" in parameters:
            parameters["batch"] = min(parameters["batch"], max(32, len(corpus.train) // 40))
        return {**choice, "parameters": parameters}
