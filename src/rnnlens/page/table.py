"""Table 1 and the architectures side by side (Fig. 10), where `rnnlens reproduce` left them in the results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rnnlens.page.sections import Section

ACCURACY = ("test", "accuracy", "mean")
_HEAD = ("model", "test accuracy", "95 % interval", "in the paper")


def table_section(results: Mapping[str, Any]) -> list[Section]:
    """Table 1: every model that was measured, beside the paper's number."""
    table = results.get("table")
    rows = [row for row in (_row(name, found) for name, found in _models(table)) if row is not None]
    if not rows:
        return []
    gained = table.get("gain_recovered") if isinstance(table, Mapping) else None
    text = "Bags of words with modifiers against recurrent networks: how much of what context gives needs no network?"
    if isinstance(gained, int | float):
        text += f" Of the best network's gain over a bag of words, the best baseline recovers {100 * gained:.0f} %."
    return [Section("table", "Table 1", "§9, Table 1", text, table=[_HEAD, *rows])]


def architectures(results: Mapping[str, Any]) -> list[Section]:
    """Fig. 10: shuffling and the six phrases in every architecture."""
    found = results.get("architectures")
    if not isinstance(found, Mapping) or not found:
        return []
    phrases = list(dict.fromkeys(p for one in found.values() for p in _mapping(one).get("phrases", {})))
    rows = [("architecture", "words shuffled, points", *(f"“{phrase}”" for phrase in phrases))]
    for arch, one in found.items():
        shuffled = _mapping(_mapping(one).get("shuffled")).get("difference")
        read = _mapping(one).get("phrases", {})
        rows.append((str(arch), _signed(shuffled, 100), *(_signed(read.get(phrase)) for phrase in phrases)))
    text = "Gated networks lose accuracy without word order and modulate words by context; a vanilla network does not."
    return [Section("architectures", "All architectures", "§7, Fig. 10", text, table=rows)]


def _models(table: Any) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Models by name, from a list of records or a mapping; what is no model is passed over."""
    if isinstance(table, Mapping):
        inner = table.get("models", table.get("rows"))
        if inner is not None:
            return _models(inner)
        return [(str(name), row) for name, row in table.items() if isinstance(row, Mapping)]
    if isinstance(table, list | tuple):
        return [(str(r.get("model", r.get("name", ""))), r) for r in table if isinstance(r, Mapping)]
    return []


def _row(name: str, found: Mapping[str, Any]) -> tuple[str, ...] | None:
    value = next((found[key] for key in ACCURACY if key in found), None)
    if isinstance(value, Mapping):
        found, value = {**found, **value}, next((value[key] for key in ACCURACY if key in value), None)
    if not name or not isinstance(value, int | float):
        return None
    interval = found.get("interval")
    edges = [_percent(x) for x in interval] if isinstance(interval, list | tuple) and len(interval) == 2 else []
    paper = found.get("paper")
    return name, _percent(value), " … ".join(edges) or "–", _percent(paper) if isinstance(paper, int | float) else "–"


def _percent(value: float) -> str:
    """Shares and percents alike."""
    return f"{100 * value if abs(value) <= 1 else value:.2f} %"


def _signed(value: Any, scale: float = 1.0) -> str:
    return f"{scale * value:+.2f}".replace("-", "−") if isinstance(value, int | float) else "–"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
