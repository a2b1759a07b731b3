"""The parts of a page: sections in the order of the argument, each with a short text, claims and figures."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from rnnlens.analysis.verdict import Sentence
from rnnlens.common.errors import RnnlensError
from rnnlens.common.sides import TWO_SIDES, Sides
from rnnlens.context.blank import BlankInput
from rnnlens.networks import Network
from rnnlens.networks.cells import CELLS
from rnnlens.page.drawing import Drawing, drawing

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

OF_TODAY = {"mingru": "minGRU", "minlstm": "minLSTM", "mamba": "Mamba network", "rglru": "RG-LRU"}


@dataclass(frozen=True)
class Section:
    """A section of the page. All text is plain, with `code` in backticks.

    id: its anchor. where: the section of the paper. text: what to look for. claims: {claim, shown, measured, paper}.
    table: rows of cells, the first is the head. shaded: whether its numbers have a background
    by sign and size. widget: a live part that the page's script fills (words, picker).
    missing: for each figure that could not be drawn the reason. finding: what was found, in one line. folded: whether
    the page shows only title and finding until the reader opens it.
    """

    id: str
    title: str
    where: str
    text: str
    claims: Sequence[Mapping[str, Any]] = ()
    drawings: Sequence[Drawing] = ()
    table: Sequence[Sequence[str]] = ()
    shaded: bool = False
    widget: str = ""
    missing: Sequence[str] = field(default_factory=tuple)
    finding: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Example:
    """A sentence to try. note: how it should be read, and whether it is; right: the same, None if there is no label."""

    text: str
    note: str = ""
    right: bool | None = None


@dataclass(frozen=True)
class Story:
    """The content of a page.

    reads: how to use the live network. unit: the name of its output. examples: sentences to try. probes: positive and
    negative words, for barcodes. facts: (name, value here, value in the paper). adds: the command that measures missing
    claims. verdict: what the network does with context, in plain sentences.
    sides: the names of the two sides of the output.
    """

    title: str
    byline: Sequence[str]
    reads: str
    unit: str
    examples: Sequence[Example]
    probes: Mapping[str, Sequence[str]]
    facts: Sequence[tuple[str, str, str]]
    sections: Sequence[Section]
    adds: str = ""
    verdict: Sequence[Sentence] = ()
    sides: Sides = TWO_SIDES


def written(page: str, only: str | None = None, **numbers: Any) -> list[dict[str, Any]]:
    """The sections of a page from its toml file, with numbers filled in. only: the id of the one that is wanted."""
    content = tomllib.loads(Path(__file__).with_name(f"{page}.toml").read_text(encoding="utf-8"))
    wanted = [section for section in content["section"] if only in (None, section["id"])]
    return [
        {**section, "title": section["title"].format(**numbers), "text": section["text"].format(**numbers)}
        for section in wanted
    ]


def modifier_counts(stored: Mapping[str, Any]) -> dict[str, Any]:
    """How many words are clear modifiers and how many unclear, for the texts of sections."""
    counts = {name: stored.get(name, 0) for name in ("n", "of", "unclear")}
    are_clear = "is a clear modifier" if counts["n"] == 1 else "are clear modifiers"
    return {**counts, "are_clear": are_clear, "are": "is" if counts["unclear"] == 1 else "are"}


def drawn(catalogue: Mapping[str, Callable[[], Figure]], *names: str) -> tuple[list[Drawing], list[str]]:
    """The figures with these names, and the reasons why others could not be drawn."""
    drawings, missing = [], []
    for name in names:
        try:
            drawings.append(drawing(name, catalogue[name]()))
        except RnnlensError as error:  # for example, it needs a corpus and the run was analyzed without one
            missing.append(str(error))
    return drawings, missing


def marked(text: str) -> Markup:
    """Escaped text, with text in backticks as code, and words between asterisks as emphasis. No line ends within the
    hyphens of an option such as `--start`."""

    def tag(match: re.Match[str]) -> str:
        code, word = match.groups()
        return f"<code>{code}</code>" if word is None else f"<em>{word}</em>"

    whole = re.sub(r"(?<![\w-])--[a-z][\w-]*", r'<span class="option">\g<0></span>', unbroken(str(escape(text))))
    return Markup(re.sub(r"`([^`]*)`|(?<!\S)\*(.+?)\*(?=\s)", tag, whole))


def unbroken(text: str) -> str:
    """Text in which no line begins with the sign of a percentage."""
    return re.sub(r"(?<=\d) (?=%)", "\u00a0", text)


@cache
def glossary(sides: Sides = TWO_SIDES) -> tuple[dict[str, str], ...]:
    """The explained words of the page: id, name, match, text."""
    content = tomllib.loads(Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8"))
    some = "those that move the logit most by themselves" if sides.one_of_many else "good, bad, awful …"
    filled = {"means": sides.means, "above_words": sides.words[0], "below_words": sides.words[1], "valence_words": some}
    return tuple({**term, "text": term["text"].format(**filled)} for term in content["term"])


@cache
def _terms() -> re.Pattern[str]:
    return re.compile("|".join(rf"(?P<{term['id']}>(?<![\w-])(?:{term['match']})(?![\w-]))" for term in glossary()))


def explained(text: str, sides: Sides = TWO_SIDES) -> Markup:
    """`marked` text in which the first use of each word of the glossary links to it and shows its explanation."""
    texts, seen = {term["id"]: term["text"] for term in glossary(sides)}, set()

    def link(match: re.Match[str]) -> str:
        name = match.lastgroup
        if name is None or name in seen:
            return match[0]
        seen.add(name)
        return f'<a class="term" href="#term-{name}" title="{escape(texts[name])}">{match[0]}</a>'

    parts = re.split(r"(<code>.*?</code>|<em>.*?</em>|<[^>]+>)", str(marked(text)))
    return Markup("".join(part if k % 2 else _terms().sub(link, part) for k, part in enumerate(parts)))


def shade(cell: str) -> str:
    """The background of a cell with a strength or a share: blue above 0, orange below, full at 2."""
    found = re.match(r"([+−]?)([\d.]+)( %)?", cell)
    if not found:
        return ""
    size = min(2.0, float(found[2]) / (100 if found[3] else 1))
    color = "negator" if found[1] == "−" else "intensifier"
    return f"background: color-mix(in srgb, var(--{color}) {25 * size:.0f}%, transparent)"


def badge(shown: bool | None, unspecific: bool = False) -> tuple[str, str]:
    """The CSS class and the text of a verdict. unspecific: null networks show the claim too."""
    if shown is None:
        return "open", "– not measured"
    if unspecific:
        return "open", "~ unspecific"
    return ("shown", "✓ shown") if shown else ("missed", "✗ not shown")


def blank_input_fact(results: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """How far blank inputs move the reading, as a fact."""
    return [("blank inputs", BlankInput.from_dict(results["blank_input"]).summary(), "")]


def architecture(network: Network) -> tuple[str, str]:
    """The name of an architecture with its article, and its size: ("a GRU", "2 layers of 128 units")."""
    layers: Sequence[Any] = getattr(network.cell, "layers", ())
    arch = network.arch
    if arch == "stack":  # from torch, without a name of its own
        arch = type(layers[-1]).__name__.lower()
    usual = arch.upper() if arch in CELLS and arch != "vanilla" else f"{arch} RNN"
    name = OF_TODAY.get(arch, usual)
    hidden = getattr(network.cell, "hidden", None)
    size = f"{network.size} dimensions" if hidden is None else f"{hidden} units"
    kernel = getattr(network.cell, "kernel", 1)
    size += f" with a convolution over {kernel} words" if kernel > 1 else ""
    depth = f"{len(layers)} layers of " if len(layers) > 1 else ""
    return f"{'an' if name[0] in 'LaAR' else 'a'} {name}", depth + size
