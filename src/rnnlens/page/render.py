"""The page's HTML: the template filled, scripts joined, data as JSON, and a policy that lets nothing else in."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from markupsafe import Markup

from rnnlens.common.provenance import KEY
from rnnlens.common.version import __version__
from rnnlens.page.drawing import template
from rnnlens.page.live import Live
from rnnlens.page.sections import Section, Story, marked, verdict

HERE = Path(__file__).parent
# In this order they are one module: each needs only what stands before it.
SCRIPTS = (
    "words", "arrays", "cell", "network", "context", "elements", "charts", "wordcharts", "facts", "card", "link",
    "wordlist", "reader", "picker", "table", "sections", "theme", "narrow", "figures", "main",
)  # fmt: skip


def render(story: Story, live: Live, warnings: Sequence[str] = (), provenance: Mapping[str, str] | None = None) -> str:
    """Fill the template. Whatever is text is escaped; data are JSON that cannot end its element.

    provenance: fingerprints of the weights, vocabulary, corpus and analysis that the page shows."""
    from jinja2 import Environment, FileSystemLoader
    from plotly.offline import get_plotlyjs

    early, script, plotly = _script("early"), joined(), get_plotlyjs()
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"marked": marked, "verdict": verdict, "json": data_block}
    return environment.get_template("template.html").render(
        story=story,
        sections=story.sections,
        live=live,
        warnings=warnings,
        overview=_overview(story.sections),
        version=__version__,
        provenance=provenance or {},
        policy=_policy([early, script, plotly]),
        style=Markup((HERE / "style.css").read_text("utf-8")),
        early=Markup(early),
        script=Markup(script),
        plotly=Markup(_compressed(plotly)),
        data={
            "live": live.data,
            "template": template(),
            "examples": list(story.examples),
            "unit": story.unit,
            KEY: dict(provenance or {}),
        },
    )


def joined() -> str:
    """The page's script: its files one after another, as one module. (From `file://` modules cannot import others.)"""
    parts = []
    for name in SCRIPTS:
        text = re.sub(r"^import [^\n]*\n", "", _script(name), flags=re.MULTILINE)
        parts.append(re.sub(r"^export ", "", text, flags=re.MULTILINE))
    whole = "\n".join(parts)
    assert not re.search(r"^(import|export)\b", whole, flags=re.MULTILINE), "imports stand on one line"
    return whole


def data_block(content: Any) -> Markup:
    """JSON for a data block: without `<` it cannot end the block; lone surrogates are spelt out."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return Markup(re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text))


def _policy(scripts: Sequence[str]) -> str:
    """Nothing is fetched, and no script runs but these. (Plotly.js makes style sheets of its own.)"""
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
    # checks of our own, which have no number of the paper's beside them, are not counted; the toy's claims have none
    every = [claim for claim in every if claim.get("paper")] or every
    verdicts = [verdict(claim["shown"], claim.get("unspecific", False))[0] for claim in every]
    kinds = {
        name: [claim for claim, found in zip(every, verdicts, strict=True) if found == name]
        for name in ("shown", "missed", "open")
    }
    measured = len(kinds["shown"]) + len(kinds["missed"])
    text = f"The paper makes claims about networks like this one. Of {measured} that were measured here and that "
    text += "networks which learnt nothing do not show, this network "
    text += f"shows {len(kinds['shown'])}; each is marked where it belongs, with the paper's number beside ours."
    return {**kinds, "text": text if every else ""}
