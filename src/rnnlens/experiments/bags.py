"""`rnnlens baselines`: fit, evaluate and save the six baselines on one corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.baselines import BASELINES
from rnnlens.baselines.saving import SAVED
from rnnlens.common.errors import RnnlensError
from rnnlens.common.files import write_json
from rnnlens.common.ranges import check_options
from rnnlens.common.replacing import check_folder, check_json
from rnnlens.corpora.corpus import Corpus
from rnnlens.experiments.trials import baseline, judge
from rnnlens.training.settings import PACKAGED, read_choice


def fit_baselines(
    corpus: Corpus,
    modifiers: list[str],
    out: Path | str,
    *,
    settings: Path | str | None = None,
    refit: bool = False,
    test: bool = False,
    seed: int = 0,
    device: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Fit the baselines one after the other and save each in a folder with its name. Yields a record of each: model,
    number of parameters, accuracy and loss on the validation reviews (with `test` on the test reviews), and its
    strongest modifiers. `results.json` has all records.

    refit: fit on training and validation reviews together. Baselines saved in `out` before are replaced; if there are
    other files in their place, an error is raised before the first fit.
    """
    check_options("baselines", seed=seed)
    name, split = ("test", corpus.test) if test else ("validation", corpus.validation)
    if split is None or not len(split) or (refit and not test):
        raise RnnlensError(f"there are no {name} reviews to evaluate on: prepare the corpus with some, or see --test")
    for model in BASELINES:
        check_folder(Path(out) / model, SAVED)
    check_json(Path(out) / "results.json", "baselines", "a result of `rnnlens baselines`")
    fitted_on = corpus.refit() if refit else corpus
    rows = []
    for model in BASELINES:
        options = read_choice(settings or PACKAGED, model, corpus)["parameters"]
        fitted = baseline(model, options, seed, modifiers, device).fit(fitted_on)
        fitted.save(Path(out) / model)
        accuracy, loss = judge(fitted.decision_function(split), np.asarray(split.labels))
        row = {
            "model": model,
            "parameters": fitted.model_.shape.parameters,
            "split": name,
            "accuracy": accuracy,
            "loss": loss,
            "settings": options,
            "modifiers": fitted.modifier_rows(20),
        }
        rows.append(row)
        yield row
    about = {"corpus": fitted_on.fingerprint, "seed": seed, "modifiers": modifiers}
    write_json(Path(out) / "results.json", {"baselines": rows, "provenance": about})
