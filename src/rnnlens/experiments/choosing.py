"""The choice of the best trial of a search, and the settings file (read by `rnnlens.training.settings`)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import parsing, read_json, write_json
from rnnlens.experiments.space import SPACES


def best(rows: list[dict[str, Any]], model: str) -> dict[str, Any] | None:
    """Of the trials whose validation accuracy is within a standard error of the highest, the one with the lowest loss.

    The highest accuracy of many trials is mostly luck (a standard error of 0.6 points with 2,500 reviews); the loss, to
    which every review contributes, varies less by chance. If all trials have it, `scaled_loss` is used, which does not
    depend on the scale of the logits, since the scale does not change the predictions.
    """
    of_model = [row for row in rows if row["model"] == model and row["accuracy"] is not None]
    highest = max((row["accuracy"] for row in of_model), default=0.0)
    near = [row for row in of_model if row["accuracy"] >= highest - _standard_error(highest, row["reviews"])]
    loss = "scaled_loss" if all("scaled_loss" in row for row in of_model) else "loss"
    return min(near, key=lambda row: row[loss], default=None)


def _standard_error(accuracy: float, reviews: int) -> float:
    return math.sqrt(accuracy * (1 - accuracy) / reviews)


def write_settings(path: Path, rows: list[dict[str, Any]], corpus: str, documents: int) -> dict[str, Any]:
    """Write the best parameters of each model among finished trials, for `train`, `baselines` and `reproduce`, with the
    corpus and its number of training documents. Models in the file that `rows` lack are kept."""
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
    """The models in a settings file; empty if there is no file. A file that is not settings for this corpus is an
    error."""
    if not path.exists():
        return {}
    before = read_json(path)
    if before.get("kind") != "settings" or before.get("corpus") != corpus:
        raise RnnlensError(f"{quoted(str(path))} is not a settings file for this corpus: move it away")
    with parsing(path, "settings of a sweep"):
        return dict(before["models"])
