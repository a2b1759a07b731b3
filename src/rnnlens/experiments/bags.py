"""`rnnlens baselines`: fit, evaluate and save the six baselines on one corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier

from rnnlens.baselines import BASELINES, ModifierConvolution
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

    With three or more classes each baseline is one model for each class against the rest (scikit-learn's
    `OneVsRestClassifier`); that of class k, in order, is saved as `<name>.<k>`.

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
        for place in _places(Path(out), model, len(corpus.classes)):
            check_folder(place, SAVED)
    check_json(Path(out) / "results.json", "baselines", "a result of `rnnlens baselines`")
    fitted_on = corpus.refit() if refit else corpus
    chosen = {model: read_choice(settings or PACKAGED, model, corpus)["parameters"] for model in BASELINES}
    rows = []
    for model, options in chosen.items():
        fitted, accuracy, loss = _fitted(baseline(model, options, seed, modifiers, device), fitted_on, split)
        for one, place in zip(fitted, _places(Path(out), model, len(corpus.classes)), strict=True):
            one.save(place)
        row = {
            "model": model,
            "parameters": sum(one.model_.shape.parameters for one in fitted),
            "split": name,
            "accuracy": accuracy,
            "loss": loss,
            "settings": options,
            "modifiers": fitted[0].modifier_rows(20) if len(fitted) == 1 else _by_class(fitted)[:20],
        }
        rows.append(row)
        yield row
    about = {"corpus": fitted_on.fingerprint, "seed": seed, "modifiers": modifiers}
    write_json(Path(out) / "results.json", {"baselines": rows, "provenance": about})


def check_refit(refit: bool, test: bool) -> None:
    """Refuse to evaluate on the reviews that are fitted."""
    if refit and not test:
        raise RnnlensError("refit (--refit) also fits the validation reviews: evaluate on others, with test (--test)")


def _places(out: Path, model: str, classes: int) -> list[Path]:
    """Where a baseline is saved: one folder, or one for each of three or more classes."""
    return [out / f"{model}.{k}" for k in range(classes)] or [out / model]


def _fitted(
    model: ModifierConvolution, corpus: Corpus, split: Split
) -> tuple[Sequence[ModifierConvolution], float, float]:
    """A fitted model, or one for each of three or more classes against the rest; accuracy and mean cross-entropy on a
    split."""
    labels = np.asarray(split.labels)
    if not corpus.classes:
        one = model.fit(corpus)
        return [one], *judge(one.decision_function(split), labels)
    many = OneVsRestClassifier(model).fit(corpus.train, np.asarray(corpus.train.labels))
    right = many.predict_proba(split)[np.arange(len(labels)), labels.astype(int)]
    return many.estimators_, *(
        float((many.predict(split) == labels).mean()),
        float(-np.log(np.maximum(right, 1e-300)).mean()),
    )


def _by_class(models: Sequence[ModifierConvolution]) -> list[dict[str, Any]]:
    """Modifiers, the strongest first: strength and timescale (means over classes), and the strengths by class."""
    tables = [{row["word"]: row for row in model.modifier_rows()} for model in models]
    rows = []
    for word in tables[0]:
        by_class = [table[word]["strength"] for table in tables]
        tau = float(np.mean([table[word]["tau"] for table in tables]))
        rows.append({"word": word, "strength": float(np.mean(by_class)), "tau": tau, "by_class": by_class})
    return sorted(rows, key=lambda row: -abs(row["strength"]))
