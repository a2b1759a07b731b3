"""Options that change nothing beside others: command, record or function → its rules. `ranges.check_used` checks them.

This module imports nothing heavy: the command line reads it before anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Unused:
    """An option that changes nothing where `when` is true of all options. Messages read "`option` is …, and `why`:
    leave `option` out, or `instead`"."""

    option: str
    when: Callable[[Options], bool]
    why: str
    instead: str


def _without_modified_models(options: Options) -> bool:
    """Of a command: whether no model that it names has modifiers."""
    return "model" in options and options["model"] != "all" and "comw" not in options["model"]


def _a_list(options: Options) -> bool:
    """Of a command: whether the modifiers are a file with a list of words."""
    return any(Path(path).is_file() for path in options.get("modifiers") or ())


def _measured(options: Options) -> bool:
    """Whether all networks are analyses."""
    networks = options.get("networks", ())
    several = networks if isinstance(networks, list | tuple) else [networks]
    return bool(several) and all(hasattr(one, "modifiers") for one in several)


_MODIFIED = "name one of the models with modifiers, such as comw"
_WHOLE = Unused("most", _a_list, "a list of modifiers is used as a whole", "pass analyzed runs as modifiers")
_TRAINING = (
    Unused(
        "final_rate",
        lambda o: o["schedule"] == "constant",
        "with a constant schedule the learning rate does not fall",
        "choose another schedule",
    ),
    *(
        Unused(name, lambda o: o["warmup"] == 1, "warmup is 1, so that the learning rate never falls", "lower warmup")
        for name in ("schedule", "final_rate")
    ),
    Unused("dropout_run", lambda o: not o["word_dropout"], "no word is dropped, since word_dropout is 0", "raise that"),
    Unused("decoupled", lambda o: not o["weight_decay"], "there is no weight decay", "set weight_decay"),
)

UNUSED: dict[str, tuple[Unused, ...]] = {
    "prepare": (
        *(
            Unused(
                name,
                lambda o, name=name: all(name in own for own in o["splits"]),  # type: ignore[misc]
                f"the source has a {name} split of its own",
                "give its training reviews alone",
            )
            for name in ("validation", "test")
        ),
        Unused(
            "neighbours",
            lambda o: (
                o["limit"] is None
                and all(name in own or not o[name] for own in o["splits"] for name in ("validation", "test"))
            ),
            "no review of the source is held out",
            "hold some out (validation, test)",
        ),
        *(
            Unused(name, lambda o: not any(o["columns"]), "the source has no columns", "give a table of reviews")
            for name in ("text", "label")
        ),
    ),
    "training": _TRAINING,
    "train": (
        *_TRAINING,
        Unused(
            "keep",
            lambda o: o["refit"] and o["keep"] == "best",
            "with refit there are no validation reviews, on which weights are compared",
            "leave refit out",
        ),
        Unused(
            "patience",
            lambda o: o["refit"] and o["patience"] > 0,
            "with refit there are no validation reviews, on which accuracy would stop rising",
            "leave refit out",
        ),
    ),
    "analyze": (
        Unused("reviews", lambda o: o.get("corpus") is None, "there is no corpus to read them in", "pass a corpus"),
        Unused(
            "reviews",
            lambda o: not o.get("accuracy", True),
            "accuracy is False, so that no review is read",
            "leave accuracy out",
        ),
        Unused("starts", lambda o: o.get("states") is not None, "states are given", "pass fewer states"),
    ),
    "agree": tuple(
        Unused(name, _measured, "an analysis has measured its words already", "pass its run or network")
        for name in ("top", "device")
    ),
    "sweep": (
        Unused("modifiers", _without_modified_models, "none of the models has modifiers", _MODIFIED),
        Unused(
            "most", lambda o: o.get("modifiers") is None, "no modifiers are given", "pass analyzed runs as modifiers"
        ),
        _WHOLE,
    ),
    "reproduce": (
        Unused("modifiers", _without_modified_models, "none of the models has modifiers", _MODIFIED),
        Unused("most", _without_modified_models, "none of the models has modifiers", _MODIFIED),
        _WHOLE,
    ),
    "baselines": (_WHOLE,),
    "estimator": (
        *(
            Unused(name, lambda o: o["modifiers"] is None, "there are no modifiers", "pass modifiers")
            for name in ("own_weights", "first_lag")
        ),
        Unused(
            "sparsity",
            lambda o: not isinstance(o["modifiers"], str) and o["sparsity"] > 0,
            "the modifiers are not learned",
            "pass modifiers='learn'",
        ),
        Unused(
            "factored",
            lambda o: not (o["own_weights"] and o["modifiers"] is not None),
            "modifiers have one scale without own weights",
            "pass own_weights=True",
        ),
        Unused("own_edges", lambda o: not o["edges"], "edges is False", "pass edges=True"),
    ),
    "visited_states": (
        Unused("length", lambda o: o["corpus"] is not None, "the documents of the corpus are read", "leave corpus out"),
    ),
}
"""Command, record or function → options that may change nothing."""
