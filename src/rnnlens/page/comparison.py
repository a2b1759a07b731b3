"""The page of several networks: the same sentence through all of them, their verdicts, strengths and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rnnlens.analysis.claims import Claim, counted
from rnnlens.analysis.paper_claims import analysis_claims
from rnnlens.analysis.people import people_say
from rnnlens.analysis.record import Analysis
from rnnlens.analysis.verdict import Sentence, perturbed, verdict
from rnnlens.common.display import percent, signed
from rnnlens.common.provenance import KEY
from rnnlens.context.effects import effects
from rnnlens.context.known import INTENSIFIERS, NEGATORS, NEUTRAL
from rnnlens.context.probes import Probes
from rnnlens.context.shared_strengths import Pair, Strengths, WordStrength, pair, strengths_of
from rnnlens.context.strength import KINDS
from rnnlens.figures import strengths as draw_strengths
from rnnlens.page.analysis import examples
from rnnlens.page.compared import Compared, compared, own_words
from rnnlens.page.drawing import template
from rnnlens.page.live import Live, live, packed_width
from rnnlens.page.render import filled
from rnnlens.page.sections import Example, architecture, badge, drawn
from rnnlens.runs import Run

# Joined in this order into one module: each file needs only those before it.
SCRIPTS = (
    "words", "arrays", "cell", "network", "elements", "charts", "arcs", "wordlist", "sidebyside", "folds", "sections",
    "theme", "narrow", "figures", "comparison",
)  # fmt: skip
LIMIT = 13 * 2**20  # bytes of all weights together: the page of the four packaged networks stays below 20 MB
LISTED = 16  # words in the table of strengths, if few well-known ones are known


@dataclass(frozen=True)
class Column:
    """A network of the page as its template shows it.

    about: architecture and size. claims: of the paper and our own, in the same order for every network. strengths: of
    its measured words.
    """

    name: str
    about: str
    verdict: Sequence[Sentence]
    warnings: Sequence[str]
    claims: Sequence[Claim]
    strengths: Strengths
    live: Live
    provenance: Mapping[str, str]

    @property
    def carries_fewer(self) -> bool:
        """Whether the page carries only some of its words."""
        return self.live.runs and self.live.words < self.live.of

    @property
    def tally(self) -> str:
        """How many of the paper's claims it shows, of those that were measured and that null networks do not show."""
        return "{} of {}".format(*counted(self.claims))


@dataclass(frozen=True)
class Row:
    """A row of a table: a name, and a cell for each network."""

    name: str
    cells: Sequence[str]


def comparison(runs: Sequence[Run | Analysis | Path | str], words: int | None = None, progress: bool = False) -> str:
    """The HTML of a page with several networks. words: how many words of each the page carries; by default as many as
    fit. progress: whether to show a bar while packaged networks are analyzed."""
    networks = compared(runs, progress)
    cells = sum(_bytes(one) for one in networks)
    each = max(0, LIMIT - cells) // len(networks)
    columns = []
    for one in networks:
        with one.parsing():
            columns.append(_column(one, words, each))
    first = columns[0]
    pairs = [pair((first.name, other.name), first.strengths, other.strengths) for other in columns[1:]]
    drawings, missing = drawn({"strengths": lambda: draw_strengths(pairs)}, "strengths")
    with networks[0].parsing():
        sentences = [Example(one.text) for one in examples(networks[0].network, networks[0].results)]
    return filled(
        "comparison.html",
        SCRIPTS,
        ("style", "comparison"),
        drawings,
        title=f"{', '.join(column.name for column in columns)}: side by side",
        contains="the networks",
        networks=columns,
        runs=any(column.live.runs for column in columns),
        facts=_facts(networks, columns),
        shared=_shared(networks, columns),
        words=_word_rows([column.strengths for column in columns], pairs),
        claims=_claim_rows(columns),
        missing=missing,
        data=_data(networks, columns, sentences),
    )


def _column(one: Compared, words: int | None, limit: int) -> Column:
    network, results = one.network, one.results
    assert network.vocab is not None
    return Column(
        one.name,
        ", ".join(architecture(network)),
        verdict(results, one.folder is not None),
        results.get("warnings", []),
        analysis_claims(results),
        strengths_of(network.vocab, one.arrays, results),
        live(network, one.arrays, results, results["probes"], words, limit),
        one.provenance,
    )


def _bytes(one: Compared) -> int:
    """The size of a network's weights without its embedding, before compression."""
    inner = [array for name, array in one.network.state_dict().items() if name != "E"]
    return sum(packed_width(array) * array.numel() for array in inner)


# --- tables -----------------------------------------------------------------------------------------------------------


def _facts(networks: Sequence[Compared], columns: Sequence[Column]) -> list[Row]:
    """Facts about the networks, one row each: size, accuracy of each source, what perturbations cost, agreement."""
    unknown: dict[str, Any] = dict.fromkeys(("shuffled", "removed", "random"))
    costs = [perturbed(one.results) or unknown for one in networks]
    rows = [
        Row("architecture", [column.about for column in columns]),
        Row("words", [f"{column.live.of:,}" for column in columns]),
        *_accuracies(networks),
        Row("words shuffled, points", [_points(cost["shuffled"]) for cost in costs]),
        Row("modifier subspace removed, points", [_points(cost["removed"]) for cost in costs]),
        Row("random directions removed, points", [_change(cost["random"]) for cost in costs]),
        Row("words that are clear modifiers", [_modifiers(one.results) for one in networks]),
        Row("agreement with people, r", [_agreement(one.results.get("people")) for one in networks]),
        Row("claims of the paper shown", [column.tally for column in columns]),
    ]
    return [row for row in rows if any(cell != "–" for cell in row.cells)]


def _accuracies(networks: Sequence[Compared]) -> list[Row]:
    """Accuracy on the test texts, of all and of each source; of the validation texts if no network was tested."""
    every = [one.results.get("accuracy", {}) for one in networks]
    split = next((name for name in ("test", "validation") if any(_number(of, name) for of in every)), None)
    if split is None:
        return []
    sources = [of.get(f"{split}_sources", {}) for of in every]
    rows = [Row(f"{split} accuracy", [percent(of[split], 2) if _number(of, split) else "–" for of in every])]
    for name in dict.fromkeys(name for source in sources for name in source):
        sizes = {source[name]["n"] for source in sources if name in source}
        texts = f", {sizes.pop():,} texts" if len(sizes) == 1 else ""
        cells = [percent(source[name]["accuracy"], 2) if name in source else "–" for source in sources]
        rows.append(Row(f"on {name}{texts}", cells))
    return rows


def _number(accuracy: Mapping[str, Any], split: str) -> bool:
    return isinstance(accuracy.get(split), int | float)


def _points(difference: Mapping[str, Any] | None) -> str:
    """A difference of accuracy in points, with its 95 % interval."""
    if difference is None:
        return "–"
    low, high = (signed(100 * edge, 1) for edge in difference["interval"])
    return f"{_change(difference['difference'])} ({low} to {high})"


def _change(share: float | None) -> str:
    return "–" if share is None else signed(100 * share, 1)


def _modifiers(results: Mapping[str, Any]) -> str:
    modifiers = results["modifiers"]
    return f"{modifiers['n']:,} of {modifiers['of']:,}"


def _agreement(people: Mapping[str, Any] | None) -> str:
    if not people or people["r"] is None:
        return "–"
    r, low, high = (f"{people[name]:.2f}".replace("-", "−") for name in ("r", "low", "high"))
    return f"{r} ({low} to {high})"


def _shared(networks: Sequence[Compared], columns: Sequence[Column]) -> dict[str, int]:
    """How many words all networks know, and how many of these were measured in all."""
    known = set.intersection(*(own_words(one.network) for one in networks))
    measured = known.intersection(*(column.strengths for column in columns))
    return {"known": len(known), "measured": len(measured)}


def _word_rows(tables: Sequence[Strengths], pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """The strengths of well-known modifiers in every network; if few are known, also of the clearest shared ones."""
    words = [word for word in (*NEGATORS, *INTENSIFIERS, NEUTRAL[0]) if any(word in table for table in tables)]
    if len(words) < LISTED // 2:
        words += [word for one in pairs for word, _, _ in one.words]
    rows = []
    for word in list(dict.fromkeys(words))[:LISTED]:
        said = people_say(word)
        people = "–" if said is None else signed(said[0])
        rows.append({"word": word, "people": people, "cells": [_strength(table.get(word)) for table in tables]})
    return rows


def _strength(word: WordStrength | None) -> tuple[str, str]:
    """A cell of the table of strengths: its kind and its text."""
    return ("missing", "–") if word is None else (word.kind, f"{signed(word.strength)} ± {word.error:.2f}")


def _claim_rows(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """The claims, each with its verdict and measured numbers in every network."""
    rows = []
    for of_each in zip(*(column.claims for column in columns), strict=True):
        cells = [(*badge(claim.shown, claim.unspecific), claim.measured) for claim in of_each]
        rows.append({"claim": of_each[0].claim, "paper": of_each[0].paper, "cells": cells})
    return rows


# --- data of the script -----------------------------------------------------------------------------------------------


def _data(networks: Sequence[Compared], columns: Sequence[Column], sentences: Sequence[Example]) -> dict[str, Any]:
    """The live networks, with the strengths of their words."""
    people: dict[str, Any] = {}
    parts = []
    for one, column in zip(networks, columns, strict=True):
        own = column.live.data
        people |= own["people"]
        measured = own["measured"] or {}
        parts.append(
            {name: own[name] for name in ("word", "rules", "lowered", "words", "unk")}
            | {"name": one.name, "network": own.get("network"), "effect": _usual_effect(one)}
            | {"measured": {name: measured[name] for name in ("ids", "kinds", "strength", "error") if name in measured}}
        )
    return {
        "networks": parts,
        "people": people,
        "kinds": KINDS,
        "template": template(),
        "examples": [example.text for example in sentences],
        "unit": "reading" if networks[0].is_toy else "logit",
        KEY: [{"name": one.name, **one.provenance} for one in networks],
    }


@torch.no_grad()
def _usual_effect(one: Compared) -> float | None:
    """The mean size of a probe word's effect at h*: smaller effects get no arcs. None if h* is not stored."""
    stored = one.results["probes"]
    probes = Probes(tuple(stored["positive"]), tuple(stored["negative"]))
    known = own_words(one.network)
    if "h_star" not in one.arrays or not known.issuperset(probes.words):
        return None
    found = effects(one.network, one.arrays["h_star"].to(one.network.h0), probes.inputs(one.network))
    return float(found.abs().mean())
