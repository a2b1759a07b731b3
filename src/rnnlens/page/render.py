"""The page's HTML: the filled template, joined scripts, data as JSON, and a content security policy."""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from markupsafe import Markup

from rnnlens.common.files import json_text
from rnnlens.common.provenance import KEY
from rnnlens.common.sides import TWO_SIDES, Sides
from rnnlens.common.version import __version__
from rnnlens.page.drawing import Drawing, template
from rnnlens.page.findings import tally
from rnnlens.page.live import Live
from rnnlens.page.sections import Section, Story, badge, explained, glossary, marked, shade, unbroken

HERE = Path(__file__).parent
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
# Joined in this order into one module: each file needs only those before it.
SCRIPTS = (
    "words", "arrays", "vectors", "cell", "stack", "recurrences", "residual", "network", "reading", "context",
    "elements", "charts", "classchart", "bothchart", "views", "wordcharts", "facts", "card", "dial", "link", "arcs",
    "wordlist", "focus", "reader", "picker", "table", "folds", "sections", "theme", "titles", "figures", "main",
)  # fmt: skip


def render(story: Story, live: Live, warnings: Sequence[str] = (), provenance: Mapping[str, str] | None = None) -> str:
    """The page of one network. provenance: fingerprints of the weights, vocabulary, corpus and analysis shown."""
    return filled(
        "template.html",
        SCRIPTS,
        ("style", "classes"),
        [drawing for section in story.sections for drawing in section.drawings],
        story.sides,
        title=story.title,
        story=story,
        sections=story.sections,
        live=live,
        warnings=warnings,
        overview=_overview(story.sections),
        short=any(section.folded for section in story.sections),
        contains="the network" if live.runs else "the results",
        provenance=provenance or {},
        data={
            "live": live.data,
            "template": template(),
            "examples": [vars(example) for example in story.examples],
            "unit": story.unit,
            "sides": story.sides.to_dict(),
            KEY: dict(provenance or {}),
        },
    )


def filled(
    name: str,
    scripts: Sequence[str],
    styles: Sequence[str],
    drawings: Sequence[Drawing],
    sides: Sides = TWO_SIDES,
    **content: Any,
) -> str:
    """Fill a template. Text is escaped; data are JSON that cannot close their script element.

    scripts, styles: names of the page's files. sides: of the logit, by name. content: what the template shows; its
    `data` are for the scripts."""
    from jinja2 import Environment, FileSystemLoader
    from plotly.offline import get_plotlyjs

    early, script, plotly = _script("early"), joined(scripts), get_plotlyjs()
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_unturned
    )
    environment.filters |= {
        "marked": marked,
        "explained": partial(explained, sides=sides),
        "badge": badge,
        "tally": tally,
        "shade": shade,
        "unbroken": unbroken,
        "json": data_block,
    }
    return environment.get_template(name).render(
        **content,
        drawings=drawings,
        glossary=glossary(sides),
        version=__version__,
        policy=_policy([early, script, plotly]),
        style=Markup("".join((HERE / f"{style}.css").read_text("utf-8") for style in styles)),
        early=Markup(early),
        script=Markup(script),
        plotly=Markup(_compressed(plotly)),
        figures=Markup(_compressed(data_block({part.name: part.data for part in drawings}))),
    )


def joined(scripts: Sequence[str] = SCRIPTS) -> str:
    """A page's script: its files one after another, as one module. (From `file://` modules cannot import others.)"""
    parts = []
    for name in scripts:
        text = re.sub(r"^import [^\n]*\n", "", _script(name), flags=re.MULTILINE)
        parts.append(re.sub(r"^export ", "", text, flags=re.MULTILINE))
    whole = "\n".join(parts)
    assert not re.search(r"^(import|export)\b", whole, flags=re.MULTILINE), "each import must be on one line"
    return whole


def _unturned(value: Any) -> Any:
    """Text with the marks spelled out that would turn the direction of all text after them, as in names of runs. (In
    JSON and in JavaScript they stay the same characters.)"""
    if not isinstance(value, str):
        return value
    return type(value)(_TURNING.sub(lambda mark: f"\\u{ord(mark[0]):04x}", value))


def data_block(content: Any) -> Markup:
    """JSON for a script element: `<` is escaped, so that it cannot close the element."""
    return Markup(json_text(content, separators=(",", ":")).replace("<", "\\u003c"))


def _policy(scripts: Sequence[str]) -> str:
    """A policy that allows no requests and no scripts except these. (Plotly.js creates inline styles.)"""
    hashes = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )


def _script(name: str) -> str:
    return (HERE / "script" / f"{name}.js").read_text("utf-8")


@cache
def _compressed(text: str) -> str:
    return b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _overview(sections: Sequence[Section]) -> dict[str, Any]:
    every = [{**claim, "anchor": section.id} for section in sections for claim in section.claims]
    # Our own checks, which have no number of the paper, are not counted. No claim of the toy study has one.
    numbered = [claim for claim in every if claim.get("paper")]
    every = numbered or every
    verdicts = [badge(claim["shown"], claim.get("unspecific", False))[0] for claim in every]
    kinds = {
        name: [claim for claim, kind in zip(every, verdicts, strict=True) if kind == name]
        for name in ("shown", "missed", "open")
    }
    measured = len(kinds["shown"]) + len(kinds["missed"])
    text = (
        f"Of the paper's claims, {measured} were measured here and are specific: null networks, which learned nothing, "
        f"do not show them. This network shows {len(kinds['shown'])} of them. Each claim is listed in its section, "
        "with the paper's number beside ours."
    )
    if not numbered:
        text = (
            f"{measured} claims of the paper were checked here, and this network shows {len(kinds['shown'])} of them."
        )
    found = (
        f"It shows {len(kinds['shown'])} of the {measured} claims that were measured and that null networks do not show"
    )
    return {**kinds, "text": text if every else "", "finding": found if every else ""}
