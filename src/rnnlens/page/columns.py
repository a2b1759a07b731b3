"""The tables of a page with several networks: networks in columns; facts, words and claims in rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rnnlens.analysis.claims import Claim, counted
from rnnlens.analysis.paper_claims import analysis_claims
from rnnlens.analysis.people import people_say
from rnnlens.analysis.verdict import Sentence, perturbed, verdict
from rnnlens.common.display import percent, signed
from rnnlens.context.known import INTENSIFIERS, NEGATORS, NEUTRAL
from rnnlens.context.shared_strengths import Pair, StrengthRow, StrengthTable, strengths_of
from rnnlens.page.compared import Compared
from rnnlens.page.live import Live, live
from rnnlens.page.sections import architecture, badge

LISTED = 16  # words in the table of strengths
UNKNOWN = "–"
Place = tuple[int, str]
"""Where a fact stands: the number of its group, and the name of its row."""


@dataclass(frozen=True)
class Column:
    """A network of the page as its template shows it.

    about: architecture and size. facts: cells of the table of facts. claims: of the paper and our own, in the same
    order for every network. strengths: of its measured words.
    """

    name: str
    about: str
    facts: Mapping[Place, str]
    verdict: Sequence[Sentence]
    warnings: Sequence[str]
    claims: Sequence[Claim]
    strengths: StrengthTable
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
    cells: Sequence[Any]
    more: str = ""


def column_of(one: Compared, words: int | None, limit: int) -> Column:
    """A network's column. words, limit: as in `live`."""
    network, results = one.network, one.results
    assert network.vocab is not None
    alone = {"forwards": ", its forward reader alone", "backwards": ", read from the last word to the first"}
    about = ", ".join(architecture(network)) + alone.get(network.direction, "")
    return Column(
        one.name,
        about,
        {(0, "architecture"): about, (0, "words"): f"{len(network.vocab):,}"}
        | _accuracies(results)
        | _measures(results),
        verdict(results, one.folder is not None, one.is_toy),
        results.get("warnings", []),
        analysis_claims(results),
        strengths_of(network.vocab, one.arrays),
        live(network, one.arrays, results, results["probes"], words, limit),
        one.provenance,
    )


def fact_rows(columns: Sequence[Column]) -> list[Row]:
    """Facts about the networks: size, accuracy on each source, what perturbations cost, agreement with people."""
    places = sorted(dict.fromkeys(place for one in columns for place in one.facts), key=lambda place: place[0])
    rows = [Row(place[1], [one.facts.get(place, UNKNOWN) for one in columns]) for place in places]
    tested = all((1, "test accuracy") in one.facts for one in columns)
    rows = [row for row in rows if not (tested and row.name == "validation accuracy")]
    return [*rows, Row("claims of the paper shown", [one.tally for one in columns])]


def word_rows(columns: Sequence[Column], pairs: Sequence[Pair]) -> list[Row]:
    """The strengths of well-known modifiers, in every network and in people's judgment; if few are known, also of the
    clearest ones that networks share."""
    tables = [one.strengths for one in columns]
    words = [word for word in (*NEGATORS, *INTENSIFIERS, NEUTRAL[0]) if any(word in table for table in tables)]
    if len(words) < LISTED // 2:
        words += [word for one in pairs for word, _, _ in one.words]
    rows = []
    for word in list(dict.fromkeys(words))[:LISTED]:
        said = people_say(word)
        rows.append(
            Row(word, [_strength(table.get(word)) for table in tables], UNKNOWN if said is None else signed(said[0]))
        )
    return rows


def claim_rows(columns: Sequence[Column]) -> list[Row]:
    """The claims, each with its verdict and measured numbers in every network, and the paper's number."""
    rows = []
    for of_each in zip(*(one.claims for one in columns), strict=True):
        cells = [(*badge(claim.shown, claim.unspecific), claim.measured) for claim in of_each]
        rows.append(Row(of_each[0].claim, cells, of_each[0].paper))
    return rows


def _accuracies(results: Mapping[str, Any]) -> dict[Place, str]:
    """Accuracy on the test and validation texts, and on each source of the test texts."""
    accuracy = results.get("accuracy", {})
    splits = [name for name in ("test", "validation") if isinstance(accuracy.get(name), int | float)]
    cells = {(1, f"{name} accuracy"): percent(accuracy[name], 2) for name in splits}
    for source, measured in accuracy.get("test_sources", {}).items():
        cells[2, f"on {source}, {measured['n']:,} texts"] = percent(measured["accuracy"], 2)
    return cells


def _measures(results: Mapping[str, Any]) -> dict[Place, str]:
    """What perturbations cost, how many modifiers there are, and how far people agree, where it was measured."""
    costs, people, modifiers = perturbed(results) or {}, results.get("people") or {}, results["modifiers"]
    cells = {
        (3, f"{what}, points"): _points(costs[name])
        for name, what in (("shuffled", "words shuffled"), ("removed", "modifier subspace removed"))
        if costs.get(name) is not None
    }
    if costs.get("random") is not None:
        cells[3, "random directions removed, points"] = signed(100 * costs["random"], 1)
    cells[4, "words that are clear modifiers"] = f"{modifiers['n']:,} of {modifiers['of']:,}"
    if people.get("r") is not None:
        r, low, high = (f"{people[name]:.2f}".replace("-", "−") for name in ("r", "low", "high"))
        cells[4, "agreement with people, r"] = f"{r} ({low} to {high})"
    return cells


def _points(difference: Mapping[str, Any]) -> str:
    """A difference of accuracy in points, with its 95 % interval."""
    change, low, high = (signed(100 * share, 1) for share in (difference["difference"], *difference["interval"]))
    return f"{change} ({low} to {high})"


def _strength(row: StrengthRow | None) -> tuple[str, str]:
    """A cell of the table of strengths: its kind and its text."""
    return ("missing", UNKNOWN) if row is None else (row.kind, f"{signed(row.strength)} ± {row.error:.2f}")
