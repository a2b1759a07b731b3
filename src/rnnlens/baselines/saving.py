"""Fitted baselines as folders: JSON and safetensors, no pickle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rnnlens.baselines.convolution import Convolution
from rnnlens.baselines.parameters import seed_of
from rnnlens.common.errors import BadInput, quoted
from rnnlens.common.files import parsing, read_json, read_marked_tensors, write_json, write_tensors
from rnnlens.common.provenance import KEY, RUN_SCHEMA, check_named, is_checked, names_in
from rnnlens.common.ranges import check_options
from rnnlens.common.replacing import FINGERPRINTED, FolderKind, atomic_folder
from rnnlens.corpora.vocab import Vocab

SAVED = FolderKind(
    "a saved estimator", frozenset({"baseline.json", "weights.safetensors"}), {"baseline.json": FINGERPRINTED}
)


def save_estimator(model: Any, names: Iterable[str], folder: Path) -> Path:
    """Write a fitted estimator with the parameters `names` to a folder."""
    classes = model.classes_
    if classes.dtype.kind not in "biufUO":
        raise BadInput(f"the classes are of type {classes.dtype}, which no file holds: fit the model to y.astype(str)")
    words = model.vocab_.decode(model.model_.shape.modifiers)
    options = {name: getattr(model, name) for name in names}
    options |= check_options("estimator", {k: v for k, v in options.items() if k != "random_state"})
    if not isinstance(model.modifiers, str | None):
        options["modifiers"] = words
    if isinstance(model.random_state, Integral):
        options["random_state"] = int(model.random_state)
    elif model.random_state is not None:
        options["random_state"] = None  # the state of a generator is not saved
    if isinstance(model.class_weight, dict):
        options["class_weight"] = list(model.class_weight.items())  # keys in JSON must be strings
    with atomic_folder(folder, SAVED) as temporary:
        mark = write_tensors(temporary / "weights.safetensors", model.model_.state_dict())
        write_json(
            temporary / "baseline.json",
            {
                "schema": RUN_SCHEMA,
                KEY: {"weights": mark},
                "options": options,
                "classes": classes.tolist(),
                "modifiers": words,
                "words": list(model.vocab_.words),
                "counts": model.vocab_.counts,
            },
        )
    return folder


def load_estimator(kind: Any, folder: Path) -> Any:
    """The estimator of class `kind` in a folder, with its parameters, words and weights, checked."""
    about, tensors = _read(folder)
    with parsing(folder, "baseline of rnnlens"):
        return _restored(kind, about, tensors)


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    file, weights = folder / "baseline.json", folder / "weights.safetensors"
    about = read_json(file)
    tensors, _, mark = read_marked_tensors(weights)
    if is_checked(about):
        advice = "restore the file that was changed, or fit the model again"
        check_named(file, names_in(about), "weights", weights, mark, advice)
    return about, tensors


def _restored(kind: Any, about: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> Any:
    names, options = set(kind._get_param_names()), dict(about["options"])
    model = kind(**{name: value for name, value in options.items() if name in names})
    if about["modifiers"] and "modifiers" not in names:
        raise BadInput("the model has modifiers, which this class has not: load it with ModifierConvolution.load")
    if isinstance(model.class_weight, list):
        model.class_weight = dict(model.class_weight)
    model.vocab_, model.classes_ = Vocab(about["words"], about["counts"]), np.asarray(about["classes"])
    check_options("estimator", vars(model) | {"random_state": seed_of(model.random_state)})
    if model.classes_.shape != (2,):
        raise ValueError(f"its classes are {quoted(about['classes'])}, expected two")
    shape = model._shape(model.vocab_, about["modifiers"])
    if shape.parameters > sum(x.size for x in tensors.values()):  # checked before memory is allocated
        raise ValueError(f"its options need {shape.parameters} weights, more than it has")
    model.model_ = Convolution(shape)
    expected, stored = (
        {name: tuple(x.shape) for name, x in arrays.items()} for arrays in (model.model_.state_dict(), tensors)
    )
    if expected != stored:
        raise ValueError(f"its weights are {quoted(stored)}, expected {quoted(expected)}")
    if not np.array_equal(tensors["which"], model.model_.which.numpy()):
        raise ValueError("its weights belong to other modifiers")
    model.model_.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in tensors.items()})
    model.model_.requires_grad_(False)
    return model
