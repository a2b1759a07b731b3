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

from rnnlens.analysis.intervals import accuracy_interval
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


def verdict(results: Results, run: bool = True, toy: bool = False) -> list[Sentence]:
    """What the results say about a network's use of context. Words stand between asterisks, as in *not*.

    run: whether the network comes from a run, which the command line can analyze. toy: whether it was trained on the
    toy language, which has no reviews to measure accuracy on."""
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
    _say_learned(add, results, negator or intensifier, modifiers, "modifiers")
    if negator is not None:
        aside = _aside(negator, modifiers["words"], NEGATORS, "negator")
        add(say.negator(negator, _readings(results, negator.word), sides, aside), "modifiers")
    if intensifier is not None:
        aside = _aside(intensifier, modifiers["words"], INTENSIFIERS, "intensifier")
        add(say.intensifier(intensifier, aside), "modifiers")
    if negator is not None or intensifier is not None:
        add(say.counts(modifiers["n"], modifiers["of"], modifiers["unclear"]), "modifiers")
    if not toy:
        add(say.perturbed(perturbed(results), run, sides.texts), "perturbation")
    if sides.one_of_many:  # of a network that reads both ways; `_say_classes` is about all others
        add(say.shown(sides.name, run, "Accuracies"), "modifiers")
    else:  # people judged how positive phrases are
        add(say.people(results.get("people")), "modifiers")
    return sentences


def _say_classes(add: Callable[[str, str], None], classes: Results, results: Results, run: bool) -> None:
    """What modifies the evidence of several classes, and what it costs without it."""
    say, words, names = _template(), classes["modifiers"], [said(name) for name in classes["names"]]
    lists = {"negator": (WEAKENING, NEGATORS), "intensifier": (INTENSIFYING, INTENSIFIERS)}
    described = {name: chosen(words, *of) for name, of in lists.items()}
    any_described = next((one for one in described.values() if one is not None), None)
    _say_learned(add, results, any_described, {**classes, "words": words}, "classes")
    for name, one in described.items():
        if one is not None:
            row = next(row for row in words if row["word"] == one.word)
            by_class = sorted(zip(names, row["by_class"], strict=True), key=lambda pair: abs(pair[1]))
            aside = _aside(one, words, lists[name][1], name)
            add(say.modifies(one, by_class[0], by_class[-1], aside), "classes")
    if any_described is not None:
        add(say.counts(classes["n"], classes["of"], classes["unclear"]), "classes")
    add(say.perturbed(perturbed(results), run, "texts"), "perturbation")
    all_classes = "Accuracies" if any_described is None else "Accuracies, and the strengths above,"
    add(say.shown(said(classes["shown"]), run, all_classes), "modifiers")


def _say_learned(
    add: Callable[[str, str], None], results: Results, described: Measured | None, modifiers: Results, section: str
) -> None:
    """Whether the network has learned anything, as far as the numbers tell, and any modifier. described: a word that
    clearly modifies, if there is one."""
    say, costs = _template(), perturbed(results)
    spread = results.get("blank_input", {}).get("spread", [ALIKE])[0]
    if costs is not None and costs["guesses"]:
        add(say.guesses(costs, sides_of(results).texts), "perturbation")
    valence = any(row["kind"] == "valence" for row in modifiers["words"])
    if spread < ALIKE:
        add(say.untrained(spread, described, valence), section)
    elif described is None:
        add(say.nothing(modifiers["unclear"], costs, valence), section)


def _aside(one: Measured, rows: Sequence[Mapping[str, Any]], known: Sequence[str], kind: str) -> str:
    """What to add about a word: that its own effect is larger, or that it stands in for well-known words of its kind,
    which were measured and do not clearly change the next word."""
    say, kinds = _template(), {row["word"]: row["kind"] for row in rows}
    if kinds[one.word] == "valence":
        return say.valence(one)
    return say.instead_of(kind) if one.word not in known and any(word in kinds for word in known) else ""


def plain(text: str) -> str:
    """A sentence without the asterisks around words."""
    return re.sub(r"(?<!\S)\*(.+?)\*(?=\s)", r"\1", text)


def chosen(rows: Sequence[Mapping[str, Any]], kinds: Sequence[str], known: Sequence[str]) -> Measured | None:
    """The word to describe: the first well-known one of these kinds, then the first that clearly changes the next word
    in this direction though its own effect is larger (a valence word), or else the most certain one of these kinds;
    None without any."""
    of_kind = {row["word"]: row for row in rows if row["kind"] in kinds}
    sign = 1 if kinds == INTENSIFYING else -1
    valence = {row["word"]: row for row in rows if row["kind"] == "valence" and sign * row["strength"] > 0}
    familiar = [found[word] for found in (of_kind, valence) for word in known if word in found]
    row = next(iter([*familiar, *of_kind.values()]), None)
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
    """Accuracies with words shuffled, without the subspace (rank 3), and without random directions, and whether the
    network may only guess; None if they were not measured."""
    accuracy = results.get("accuracy", {})
    latest = results.get("analysis", {}).get("split")
    splits = [name for name in (latest, "test", "validation") if f"{name}_shuffled" in accuracy]
    if not splits:
        return None
    split = splits[0]
    removed = accuracy[f"{split}_subspace_removed"]
    rank = "3" if "3" in removed else max(removed, default=None)
    draws = [] if rank is None else sorted(one["difference"] for one in accuracy[f"{split}_random_removed"][rank])
    shuffled, classes = accuracy[f"{split}_shuffled"], len((results.get("classes") or {}).get("names", ())) or 2
    low, high = accuracy_interval(shuffled["before"], shuffled["n"]) if "before" in shuffled else (1.0, 1.0)
    return {
        "shuffled": shuffled,
        "guesses": low <= 1 / classes,  # which guessing reaches, whatever the shares of the classes are
        "worse": high < 1 / classes,
        "removed": None if rank is None else removed[rank],
        "rank": rank,
        "random": draws[len(draws) // 2] if draws else None,
    }


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined
    from jinja2.utils import missing

    source = TEMPLATE.read_text(encoding="utf-8")

    class Missing(StrictUndefined):
        """What results lack: a LookupError as in Python, which readers of files report, and no error of jinja2."""

        def __init__(self, hint: str | None = None, obj: Any = missing, name: str | None = None, exc: Any = None):
            super().__init__(hint, obj, name, LookupError)  # type: ignore[arg-type]

    environment = Environment(undefined=Missing, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(source).module
