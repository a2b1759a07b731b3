"""Checks of the estimators' parameters at `fit`; as scikit-learn requires, `__init__` only stores them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Set
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from rnnlens.common.allowed import shown
from rnnlens.common.errors import BadInput, RnnlensError, RnnlensWarning, quoted
from rnnlens.common.ranges import check_options
from rnnlens.corpora.vocab import Vocab
from rnnlens.corpora.words import spelled


def check_parameters(model: Any) -> None:
    """Raise an error if a parameter is out of range or of the wrong type."""
    try:
        check_options("estimator", {name: value for name, value in vars(model).items() if name != "random_state"})
    except RnnlensError as error:
        raise BadInput(str(error)) from error
    if model.device is not None:
        from rnnlens.networks.devices import check_device

        check_device(model.device)
    check_words(model.modifiers)


def seed_of(random_state: Any) -> int:
    """The seed of a fit: 0 for None, a draw for a RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    try:
        check_options("estimator", random_state=random_state)
    except RnnlensError as error:
        raise BadInput(f"{error}, or NumPy's RandomState") from error
    return 0 if random_state is None else int(random_state)


def listed(words: Iterable[str], vocab: Vocab) -> list[str]:
    """Given modifiers as they are spelled in the texts: “Don’t” is read as don't. Warns if the texts have none of
    them."""
    found = list(dict.fromkeys(word if word in vocab else spelled(word) for word in words))
    if found and not any(word in vocab for word in found):
        few = f"none of the {len(found):,} modifiers, such as {quoted(found[0], 40)}, is a word of these texts"
        few = few if len(found) > 1 else f"the one modifier, {quoted(found[0], 40)}, is not a word of these texts"
        warnings.warn(RnnlensWarning(f"{few}: the model is fitted without modifiers"), stacklevel=4)
    return found


def check_words(given: Any) -> None:
    """Raise an error unless modifiers are None, "learn", a `Modifiers` table, or words without repetition."""
    if given is None or hasattr(given, "strongest") or (isinstance(given, str) and given == "learn"):
        return
    if isinstance(given, str | bytes | Set | Iterator) or not isinstance(given, Iterable):
        raise BadInput(f"modifiers is {shown(given)}: expected a list of words, 'learn', or None")
    words = list(given)
    if wrong := [word for word in words if not isinstance(word, str)]:
        raise BadInput(f"modifiers holds {quoted(wrong[0])} of type {type(wrong[0]).__name__}: expected words")
    twice = next((word for i, word in enumerate(words) if word in words[:i]), None)
    if twice is not None:
        raise BadInput(f"modifiers holds {quoted(twice)} twice: expected each word once")


def class_weights(given: Any, classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The class weights (2,); an error unless they are finite, at least 0, and not all 0."""
    try:
        weights = compute_class_weight(given, classes=classes, y=y)
    except (ValueError, TypeError):
        weights = np.array([np.nan])
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise BadInput(
            f"class_weight is {quoted(given)}: expected 'balanced', or a number of at least 0 for each class, "
            "not 0 for all"
        )
    return weights
