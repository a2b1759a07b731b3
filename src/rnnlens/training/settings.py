"""Settings chosen on validation reviews: `sweep` writes them; `train`, `baselines` and `reproduce` read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import parsing, read_json

if TYPE_CHECKING:
    from rnnlens.corpora.protocol import CorpusLike

PACKAGED = Path(__file__).with_suffix(".json")
"""Bundled settings of all ten models, chosen on IMDB's validation reviews, used for Table 1."""

TUNED = Path(__file__).with_name("tuned.json")
"""Bundled settings of the four networks, chosen on the validation texts of five sources, used by `train --tuned`."""

EXPECTED = "expected the settings.json of a `rnnlens sweep` with this model"


def read_settings(path: Path | str, model: str) -> dict[str, Any]:
    """The parameters that a sweep chose for a model."""
    chosen = read_choice(path, model)
    with parsing(path, "settings of a sweep"):
        return dict(chosen["parameters"])


def read_choice(path: Path | str, model: str, corpus: CorpusLike | None = None) -> dict[str, Any]:
    """The record of a chosen model: its parameters, validation accuracy, trial number and number of trials.

    If `corpus` is not the one they were chosen on, the epochs are changed to give about as many steps: at least 2
    epochs, at most 3 times as many. If an epoch then has fewer than 40 steps, batches shrink, down to 32 reviews."""
    if not Path(path).exists():
        raise RnnlensError(f"there is no file {quoted(str(path))}: {EXPECTED}")
    try:
        content = read_json(path)
    except RnnlensError as error:
        raise RnnlensError(f"{error}; {EXPECTED}") from error
    if content.get("kind") != "settings":
        raise RnnlensError(f"{quoted(str(path))} is not a settings file: {EXPECTED}")
    with parsing(path, "settings of a sweep"):
        models = dict(content["models"])
        if model not in models:
            own = Path(path) not in (PACKAGED, TUNED)
            where, fix = (quoted(str(path)), EXPECTED) if own else ("the bundled settings", "leave --tuned out")
            raise RnnlensError(
                f"there are no settings for {quoted(model)} in {where}, only for {', '.join(models)}: {fix}"
            )
        choice = dict(models[model])
        documents = content.get("documents")
        if corpus is None or documents is None or corpus.fingerprint == content["corpus"]:
            return choice
        epochs = choice["parameters"]["epochs"]
        rescaled = min(3 * epochs, max(2, round(epochs * documents / max(1, len(corpus.train)))))
        parameters = {**choice["parameters"], "epochs": rescaled}
        if "batch" in parameters:
            parameters["batch"] = min(parameters["batch"], max(32, len(corpus.train) // 40))
        return {**choice, "parameters": parameters}
