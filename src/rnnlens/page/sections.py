"""What a page is made of: sections in the order of the argument, each a sentence on what to see, claims and figures."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from rnnlens.common.errors import RnnlensError
from rnnlens.context.blank import BlankInput
from rnnlens.networks import Network
from rnnlens.networks.cells import CELLS
from rnnlens.page.drawing import Drawing, drawing

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True)
class Section:
    """id: its anchor. where: of the paper. text: what to see. All text is plain, with `code` in backticks.

    claims: {claim, shown, measured, paper}. table: rows of cells, the first is the head. widget: a live part that the
    page's script fills (words, picker). missing: what is not there, and which command adds it.
    """

    id: str
    title: str
    where: str
    text: str
    claims: Sequence[Mapping[str, Any]] = ()
    drawings: Sequence[Drawing] = ()
    table: Sequence[Sequence[str]] = ()
    widget: str = ""
    missing: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Story:
    """A page's text. reads: how to use the live network. unit: what it reads out. examples: sentences to try.
    probes: positive and negative words, for barcodes. facts: (what, here, in the paper). adds: which command measures
    what is missing."""

    title: str
    byline: Sequence[str]
    reads: str
    unit: str
    examples: Sequence[str]
    probes: Mapping[str, Sequence[str]]
    facts: Sequence[tuple[str, str, str]]
    sections: Sequence[Section]
    adds: str = ""


def written(page: str, **numbers: Any) -> list[dict[str, Any]]:
    """The sections that a page has, from its toml file, with numbers filled in."""
    content = tomllib.loads(Path(__file__).with_name(f"{page}.toml").read_text(encoding="utf-8"))
    return [{**section, "text": section["text"].format(**numbers)} for section in content["section"]]


def drawn(catalogue: Mapping[str, Callable[[], Figure]], *names: str) -> tuple[list[Drawing], list[str]]:
    """Figures by name, and why others could not be drawn."""
    found, missing = [], []
    for name in names:
        try:
            found.append(drawing(name, catalogue[name]()))
        except RnnlensError as error:  # what needs a corpus, in a run analyzed without one
            missing.append(str(error))
    return found, missing


def marked(text: str) -> Markup:
    """Escaped text, with what stands in backticks as code."""
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text)))


def verdict(shown: bool | None, unspecific: bool = False) -> tuple[str, str]:
    """A class and words for whether a claim holds. unspecific: networks that learnt nothing show it too."""
    if shown is None:
        return "open", "– not measured"
    if unspecific:
        return "open", "~ unspecific"
    return ("shown", "✓ shown") if shown else ("missed", "✗ not shown")


def blank_input_fact(results: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """How far blank inputs move the reading, as a fact; none in the results of earlier versions."""
    return [("blank inputs", BlankInput(**results["blank_input"]).summary(), "")] if "blank_input" in results else []


def architecture(network: Network) -> tuple[str, str]:
    """An architecture with its article, and how large it is: ("a GRU", "128 units")."""
    name = network.arch.upper() if network.arch in CELLS and network.arch != "vanilla" else f"{network.arch} RNN"
    hidden = getattr(network.cell, "hidden", None)
    size = f"{network.size} dimensions" if hidden is None else f"{hidden} units"
    return f"{'an' if name[0] in 'LaA' else 'a'} {name}", size
