"""`rnnlens baselines`: fit, evaluate and save the six baselines on one corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.baselines import BASELINES, ModifierConvolution, OneVsRest
from rnnlens.baselines.saving import SAVED
from rnnlens.common.errors import RnnlensError
from rnnlens.common.files import write_json
from rnnlens.common.ranges import in_range
from rnnlens.common.replacing import check_folder, check_json
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.splits import Split
from rnnlens.experiments.trials import baseline, judge
from rnnlens.networks.devices import check_device
from rnnlens.training.settings import PACKAGED, read_choice


@in_range("baselines")
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

    With three or more classes each baseline is one model for each class against the rest.

    refit: fit on training and validation reviews together. Baselines saved in `out` before are replaced; if there are
    other files in their place, an error is raised before the first fit.
    """
    check_device(device)
    name, split = ("test", corpus.test) if test else ("validation", corpus.validation)
    check_refit(refit, test)
    if split is None or not len(split):
        other = "test (--test)" if not test else "no test (--test)"
        raise RnnlensError(f"the corpus has no {name} reviews: prepare it with some, or evaluate with {other}")
    for model in BASELINES:
        check_folder(Path(out) / model, SAVED)
    check_json(Path(out) / "results.json", "baselines", "a result of `rnnlens baselines`")
    fitted_on = corpus.refit() if refit else corpus
    chosen = {model: read_choice(settings or PACKAGED, model, corpus)["parameters"] for model in BASELINES}
    rows = []
    for model, options in chosen.items():
        fitted, parameters, accuracy, loss = _fitted(
            baseline(model, options, seed, modifiers, device), fitted_on, split
        )
        fitted.save(Path(out) / model)
        row = {
            "model": model,
            "parameters": parameters,
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


def check_refit(refit: bool, test: bool) -> None:
    """Refuse to evaluate on the reviews that are fitted."""
    if refit and not test:
        raise RnnlensError("refit (--refit) also fits the validation reviews: evaluate on others, with test (--test)")


def _fitted(
    model: ModifierConvolution, corpus: Corpus, split: Split
) -> tuple[ModifierConvolution | OneVsRest, int, float, float]:
    """A fitted model, of three or more classes one for each against the rest; its number of parameters, and accuracy
    and mean cross-entropy on a split."""
    labels = np.asarray(split.labels)
    if not corpus.classes:
        one = model.fit(corpus)
        return one, one.model_.shape.parameters, *judge(one.decision_function(split), labels)
    many = OneVsRest(model).fit(corpus)
    probabilities = many.predict_proba(split)
    right = probabilities[np.arange(len(labels)), labels.astype(int)]
    accuracy = float((many.predict(split) == many.classes_[labels.astype(int)]).mean())
    return many, many.n_parameters_, accuracy, float(-np.log(np.maximum(right, 1e-300)).mean())
