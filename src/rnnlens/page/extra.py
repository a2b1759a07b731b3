"""Sections about all classes of a network, and about its two readers; the texts are in extra.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import percent, signed
from rnnlens.common.sides import said
from rnnlens.page.sections import Section, drawn, modifier_counts, written

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

ROWS = 20  # words of a table
COLUMNS = 8  # classes of a table
FIGURE = "classes"
SHAPES = {
    "simplex": "The classes form a simplex: each is about as far from every other.",
    "line": "The classes lie along a curve, in order.",
    "between": "The classes lie between a line, which puts them in order, and a simplex, in which each is as far from "
    "every other.",
}
KEPT = {
    "slow points": "The network keeps the evidence of its {} classes as a place among its slow points.",
    "visited states": "The network does not keep the evidence of its {} classes without input: its slow points lie "
    "together. What follows was measured on visited states instead.",
}
MORE = (
    "The evidence has at most {most} dimensions. Here it is spread over {count} axes, because the states vary mostly "
    "in directions that are not read. "
)
Catalogue = Mapping[str, "Callable[[], Figure]"]


def class_sections(results: Mapping[str, Any], figures: Catalogue) -> list[Section]:
    """Where all classes lie, and modifiers by class; empty unless the network has several classes."""
    stored = results.get("classes")
    if not stored:
        return []
    names, geometry = stored["names"], stored["geometry"]
    drawings, missing = drawn(figures, FIGURE) if FIGURE in figures else ([], [])
    shape, kept = SHAPES[geometry["shape"]], KEPT[geometry.get("through", "slow points")].format(len(names))
    more = MORE.format(count=geometry["count"], most=len(names) - 1) if geometry["count"] >= len(names) else ""
    part = _part("classes", kept=kept, shape=shape, more=more, shown=_shown(stored))
    sections = [Section(**part, drawings=drawings, missing=missing, table=_dimensions(geometry, len(names)))]
    if stored["ordered"] or not stored["modifiers"]:  # the strength on the scale is in the table of all words
        return sections
    few = names[:COLUMNS]
    more = "" if len(few) == len(names) else f" The first {len(few)} classes are listed."
    part = _part("class-modifiers", **modifier_counts(stored), more=more)
    sections.append(Section(**part, table=_by_class(stored["modifiers"], few), shaded=True))
    spread, probed = stored.get("spread") or {}, (stored.get("probes") or {}).get("words") or names
    word = next((row["word"] for row in stored["modifiers"] if row["word"] in spread), None)
    if word is not None and "" in spread and len(names) <= COLUMNS:
        table = _spread(spread[word], spread[""], list(probed), names)
        sections.append(Section(**_part("class-spread", word=word), table=table, shaded=True))
    return sections


def both_ways_sections(results: Mapping[str, Any]) -> list[Section]:
    """The strengths of words in both readers; empty unless the network reads both ways."""
    stored = results.get("both_ways")
    if not stored:
        return []
    shown = stored["shown"]
    other = "backwards" if shown == "forwards" else "forwards"
    counts, share, removal = stored.get("found"), stored.get("share"), stored.get("removal")
    found = ""
    if counts:
        found = f"Clear modifiers: {counts['forwards']:,} of the forward reader, {counts['backwards']:,} of the other. "
    part = _part("both-ways", shown=shown, other=other, found=found, share=_share(share), removal=_removal(removal))
    phrases = {row["word"]: row for row in stored.get("phrases") or ()}
    head = ["word", "forwards", "τ, words", "backwards", "τ, words", "on the word after it", "on the word before it"]
    rows = [
        [
            row["word"],
            *(cell for name in ("forwards", "backwards") for cell in _strength_and_tau(row, name)),
            *(_in_text(phrases.get(row["word"]), place) for place in ("before", "after")),
        ]
        for row in stored["words"][:ROWS]
    ]
    return [Section(**part, table=[head, *rows])]


def _part(id_: str, **numbers: Any) -> dict[str, Any]:
    """One section of extra.toml, its title and text filled in. Only the numbers of this section are given."""
    return written("extra", only=id_, **numbers)[0]


def _shown(stored: Mapping[str, Any]) -> str:
    if stored["ordered"]:
        return "What follows is about their scale."
    return f"What follows is about {said(stored['shown'])}: `rnnlens analyze RUN --class NAME` shows another class."


def _dimensions(geometry: Mapping[str, Any], n: int) -> list[list[str]]:
    """The dimension of the slow points beside what a simplex and a line would have."""
    count = _between(geometry["count"], geometry["count_interval"], 0)
    ratio = _between(geometry["dimension"], geometry["dimension_interval"], 2)
    rows = [["", "dimensions", "participation ratio"], ["this network", count, ratio]]
    return [*rows, [f"a simplex of {n} classes", str(n - 1), str(n - 1)], ["a line", "1", "1"]]


def _by_class(words: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[list[str]]:
    rows = [["word", "all classes", *names]]
    for row in words[:ROWS]:
        each = [signed(value) for value in row["by_class"][: len(names)]]
        rows.append([row["word"], _with_error(row["strength"], row["error"]), *each])
    return rows


def _spread(
    after: Sequence[Sequence[float]], alone: Sequence[Sequence[float]], of: Sequence[str], names: Sequence[str]
) -> list[list[str]]:
    """Shares of evidence after a word, and without it, of probe words of the classes `of`."""
    rows = [
        [f"words of {name}", *(f"{_share_of(x)} ({_share_of(y)})" for x, y in zip(now, then, strict=True))]
        for name, now, then in zip(of, after, alone, strict=True)
    ]
    return [["", *names], *rows]


def _share_of(value: float) -> str:
    return f"{signed(100 * value, 0)} %"


def _strength_and_tau(row: Mapping[str, Any], name: str) -> tuple[str, str]:
    tau = row.get(f"{name}_tau")
    return _with_error(row[name], row[f"{name}_error"]), "–" if tau is None else f"{tau:.1f}"


def _in_text(row: Mapping[str, Any] | None, place: str) -> str:
    """By how much a word changes its neighbor in both readers together. place: of the word, before or after it."""
    if row is None:
        return "–"
    return _with_error(row[place]["forwards"] + row[place]["backwards"], row[place]["error"])


def _with_error(strength: float, error: float) -> str:
    return f"{signed(strength)} ± {error:.2f}"


def _between(value: float, interval: Sequence[float] | None, digits: int) -> str:
    if interval is None:
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} ({interval[0]:.{digits}f} to {interval[1]:.{digits}f})"


def _share(share: Mapping[str, Any] | None) -> str:
    """How much of the logit's variance is the forward reader's."""
    if share is None:
        return ""
    interval = ""
    if share.get("interval"):
        low, high = (percent(edge, 0) for edge in share["interval"])
        interval = f" (95 %: {low} to {high})"
    return f"The forward reader has {percent(share['forwards'], 0)} of the logit's variance over texts{interval}."


def _removal(removal: Mapping[str, Any] | None) -> str:
    """What removing the subspace of each reader costs."""
    if removal is None:
        return ""
    costs = []
    for name in ("forwards", "backwards", "both"):
        cut = removal.get(name, {}).get("removed")
        if cut:
            low, high = (signed(100 * edge, 1) for edge in cut["interval"])
            costs.append(f"{name} {signed(100 * cut['difference'], 1)} points (95 %: {low} to {high})")
    return f" Accuracy without the modifier subspace: {', '.join(costs)}." if costs else ""
