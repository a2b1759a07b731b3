"""Checks of results and stored arrays, and the rounding of results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.context.modifiers import MEASURES
from rnnlens.context.probes import Probes


def probe_warnings(effects: Tensor, probes: Probes, names: tuple[str, str]) -> list[str]:
    """A warning if the probe words, with these effects at h* (V,), do not add to the logit what their lists say: every
    strength is a share of the difference between the two. names: what the two lists are called."""
    sides = [part.double() for part in probes.split(effects)]
    above, below = (float(part.mean()) for part in sides)
    error = sum(float(part.var()) / len(part) for part in sides if len(part) > 1) ** 0.5
    at = f"at h* the {names[0]} add {above:+.2g} logits and the {names[1]} {below:+.2g}"
    if above - below < -2 * error:
        return [
            f"the network reads the probe words the other way round: {at}. Check which label, `target` or list of "
            "probes is positive"
        ]
    if above - below <= 2 * error:
        return [
            f"the network does not clearly tell the probe words apart: {at}, and strengths, which are shares of this "
            "difference, are unreliable. Pass other probes, or train the network for longer"
        ]
    return []


def check_arrays(arrays: Mapping[str, Tensor], size: int) -> None:
    """Refuse stored arrays that do not fit together."""
    points, measures, words = arrays["slow_points"], arrays["measures"], arrays["words"]
    if points.ndim != 2 or points.shape[1] != size or len(points) != len(arrays["slow_points_converged"]):
        raise ValueError(f"slow_points have shape {tuple(points.shape)}, the states {size} numbers")
    if measures.shape != (len(MEASURES), len(words)):
        raise ValueError(f"measures have shape {tuple(measures.shape)} for {len(words)} words")
    if not all(bool(part.isfinite().all()) for part in (points, measures[MEASURES.index("strength")])):
        raise ValueError("some numbers are not finite")


def check_two_sides(network: Any, what: str) -> None:
    """Refuse a network of several classes for what is about positive and negative texts."""
    if network.several_classes:
        name = "" if network.ordered else quoted(network.classes[0], 40)
        raise RnnlensError(
            f"{what} is about positive and negative texts, and this network has {len(network.classes)} classes: pass a "
            f"network of two or, in Python, one logit, as in run.network.of_class({name})"
        )


def check_stored_options(options: Mapping[str, Any]) -> None:
    for name in ("rank", "seed"):
        if not isinstance(options[name], int):
            raise ValueError(f"its {name} is {quoted(options[name])}")


def check_results(content: Any, name: str = "") -> None:
    """Raise an error if results contain NaN or infinite numbers."""
    if isinstance(content, float) and not math.isfinite(content):
        raise RnnlensError(
            f"the analysis gives {content} for {quoted(name)}: the network's weights are too small or too large to be "
            "measured; train it again, with a lower learning_rate or less sparsity"
        )
    if isinstance(content, dict | list | tuple):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            check_results(value, f"{name}.{key}" if name else str(key))


def rounded(content: Any) -> Any:
    """The content with numbers rounded to six digits, which takes a third of the bytes."""
    if isinstance(content, float):
        return float(f"{content:.6g}")
    if isinstance(content, dict):
        return {name: rounded(value) for name, value in content.items()}
    return [rounded(value) for value in content] if isinstance(content, list | tuple) else content
