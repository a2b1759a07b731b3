"""The verdict: what a network does with context, in a few plain sentences made from its results.

Every number comes from results.json, with its error; what is not clear is said to be so. The wording is in
verdict.jinja.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rnnlens.analysis.mechanism import Measured
from rnnlens.common.sides import said, sides_of
from rnnlens.context.known import INTENSIFIERS, NEGATORS
from rnnlens.networks import Network

TEMPLATE = Path(__file__).with_name("verdict.jinja")
VALENCE = (("good", "bad"), ("great", "terrible"), ("awesome", "awful"))  # pairs to read examples with

WEAKENING, INTENSIFYING = ("negator", "diminisher"), ("intensifier",)
ALIKE = 0.5  # logits: readings whose standard deviation is smaller hardly differ

Results = Mapping[str, Any]


@dataclass(frozen=True)
class Sentence:
    """A sentence of the verdict, and the section of the page that has its evidence."""

    text: str
    section: str


def verdict(results: Results, run: bool = True) -> list[Sentence]:
    """What the results say about a network's use of context. Words stand between asterisks, as in *not*.

    run: whether the network comes from a run, which the command line can analyze."""
    say, sides, sentences = _template(), sides_of(results), []

    def add(text: str, section: str) -> None:
        if text := " ".join(text.split()).replace(" ,", ",").replace(" .", ".").replace(" :", ":").replace(" ;", ";"):
            sentences.append(Sentence(text, section))

    add(say.both_ways(results.get("both_ways")), "both-ways")
    classes = results.get("classes")
    if classes is not None:
        add(say.geometry([said(name) for name in classes["names"]], classes["geometry"]), "classes")
    if classes is not None and not classes["ordered"]:
        _say_classes(add, classes, results, run)
        return sentences
    modifiers = results["modifiers"]
    negator = chosen(modifiers["words"], WEAKENING, NEGATORS)
    intensifier = chosen(modifiers["words"], INTENSIFYING, INTENSIFIERS)
    if negator is None and intensifier is None:
        spread = results.get("blank_input", {}).get("spread", [ALIKE])[0]
        add(
            say.untrained(spread) if spread < ALIKE else say.nothing(modifiers["unclear"], perturbed(results)),
            "modifiers",
        )
    if negator is not None:
        add(say.negator(negator, _readings(results, negator.word), sides), "modifiers")
    if intensifier is not None:
        add(say.intensifier(intensifier), "modifiers")
    if negator is not None or intensifier is not None:
        add(say.counts(modifiers["n"], modifiers["of"], modifiers["unclear"]), "modifiers")
    add(say.layers(results.get("layers"), [m.word for m in (negator, intensifier) if m is not None]), "layers")
    add(say.perturbed(perturbed(results), run, "texts" if sides.one_of_many else "reviews"), "perturbation")
    if sides.one_of_many:  # of a network that reads both ways; `_say_classes` is about all others
        add(say.shown(sides.name, run), "modifiers")
    else:  # people judged how positive phrases are
        add(say.people(results.get("people")), "modifiers")
    return sentences


def _say_classes(add: Callable[[str, str], None], classes: Results, results: Results, run: bool) -> None:
    """What modifies the evidence of several classes, and what it costs without it."""
    say, words, names = _template(), classes["modifiers"], [said(name) for name in classes["names"]]
    described = [chosen(words, kinds, known) for kinds, known in ((WEAKENING, NEGATORS), (INTENSIFYING, INTENSIFIERS))]
    for one in described:
        if one is not None:
            row = next(row for row in words if row["word"] == one.word)
            by_class = sorted(zip(names, row["by_class"], strict=True), key=lambda pair: abs(pair[1]))
            add(say.modifies(one, by_class[0], by_class[-1]), "classes")
    if any(described):
        add(say.counts(classes["n"], classes["of"], classes["unclear"]), "classes")
    else:
        add(say.nothing(classes["unclear"], perturbed(results)), "classes")
    add(say.perturbed(perturbed(results), run, "texts"), "perturbation")
    add(say.shown(said(classes["shown"]), run), "modifiers")
    add(say.layers(results.get("layers"), [one.word for one in described if one is not None]), "layers")


def plain(text: str) -> str:
    """A sentence without the asterisks around words."""
    return re.sub(r"(?<!\S)\*(.+?)\*(?=\s)", r"\1", text)


def chosen(rows: Sequence[Mapping[str, Any]], kinds: Sequence[str], known: Sequence[str]) -> Measured | None:
    """The word to describe: the first well-known one of these kinds, or else the most certain; None without any."""
    of_kind = {row["word"]: row for row in rows if row["kind"] in kinds}
    row = next((of_kind[word] for word in known if word in of_kind), next(iter(of_kind.values()), None))
    if row is None:
        return None
    return Measured(row["word"], row["strength"], row["error"], row.get("tau"), row.get("valence", 0.0))


def example_readings(network: Network, rows: Sequence[Mapping[str, Any]], probes: Results) -> dict[str, float]:
    """Logits of a positive and a negative word, alone and after the negator that the verdict describes: "good", "not
    good", "bad", "not bad". Well-known valence words are used where the network knows them, else its probe words; for
    one of several classes always its probe words."""
    negator, vocab = chosen(rows, WEAKENING, NEGATORS), network.vocab
    assert vocab is not None
    strongest = (probes["positive"][0], probes["negative"][0])
    known = () if network.reads_one_of_many else VALENCE
    pair = next((pair for pair in known if all(word in vocab for word in pair)), strongest)
    texts = [words for word in pair for words in ([word], *([[negator.word, word]] if negator else []))]
    return {" ".join(words): network.read_words(words)[-1][1] for words in texts}


def _readings(results: Results, negator: str) -> list[tuple[str, float]]:
    """The example phrases with the negator, each with its logit."""
    stored = results.get("phrases", {})
    return [(text, logit) for text, logit in stored.items() if text.startswith(f"{negator} ")]


def perturbed(results: Results) -> dict[str, Any] | None:
    """Accuracies with words shuffled, without the subspace (rank 3), and without random directions; None if they were
    not measured."""
    accuracy = results.get("accuracy", {})
    latest = results.get("analysis", {}).get("split")
    splits = [name for name in (latest, "test", "validation") if f"{name}_shuffled" in accuracy]
    if not splits:
        return None
    split = splits[0]
    removed = accuracy[f"{split}_subspace_removed"]
    rank = "3" if "3" in removed else max(removed, default=None)
    draws = [] if rank is None else sorted(one["difference"] for one in accuracy[f"{split}_random_removed"][rank])
    return {
        "shuffled": accuracy[f"{split}_shuffled"],
        "removed": None if rank is None else removed[rank],
        "rank": rank,
        "random": draws[len(draws) // 2] if draws else None,
    }


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    source = TEMPLATE.read_text(encoding="utf-8")
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals["zip"] = zip
    return environment.from_string(source).module
