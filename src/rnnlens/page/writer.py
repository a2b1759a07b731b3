"""`report`: a run's stored results as one HTML file, figures inside, no request to anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.artifacts import atomic_file
from rnnlens.errors import RnnlensError, quoted
from rnnlens.runs import Run, load

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from rnnlens.experiments.analyze import Analysis

STYLE = """
body { font: 16px/1.5 Helvetica, Arial, sans-serif; color: #1a202c; max-width: 1080px; margin: 2rem auto;
  padding: 0 1rem }
h1 { font-size: 1.7rem } h2 { font-size: 1.25rem; margin-top: 2.5rem }
ul.claims { list-style: none; padding: 0 } ul.claims li { margin: .4rem 0; padding-left: 7.2rem; position: relative }
ul.claims b { position: absolute; left: 0 } .shown b { color: #22543d } .missed b { color: #9c4221 }
.measured { color: #4a5568 } table { border-collapse: collapse } td, th { padding: .2rem .8rem; text-align: left }
td { vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums } .figure { overflow-x: auto }
.figure > div { min-width: 760px } code { font-size: .95em; background: #f1f5f9; padding: 0 .2em }
"""


# Plotly's bar offers to send a chart to its makers: this page talks to nobody.
CONFIG = {
    "responsive": True, "displaylogo": False, "modeBarButtonsToRemove": ["sendChartToCloud"], "plotlyServerURL": "",
    "showSendToCloud": False,
}  # fmt: skip


@dataclass(frozen=True)
class Section:
    """A heading, a sentence that says what to see, the claims it bears on, and a figure. Text is escaped here."""

    title: str
    text: str
    figure: Figure | None = None
    claims: list[dict[str, Any]] = field(default_factory=list)
    table: Sequence[Sequence[str]] = field(default_factory=list)

    def html(self) -> str:
        parts = [f"<section><h2>{escape(self.title)}</h2><p>{marked(self.text)}</p>"]
        if self.table:
            rows = "".join(f"<tr>{''.join(map(cell_html, row))}</tr>" for row in self.table[1:])
            head = "".join(f"<th>{escape(cell)}</th>" for cell in self.table[0])
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
        if self.claims:
            parts.append(f'<ul class="claims">{"".join(map(claim_html, self.claims))}</ul>')
        if self.figure is not None:
            drawn = self.figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG)
            parts.append(f'<div class="figure">{drawn}</div>')
        return "".join(parts) + "</section>"


def marked(text: str) -> str:
    """Escaped text, with what stands in backticks as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def cell_html(cell: str) -> str:
    return f"<td{' class=number' if re.match(r'[+−-]?[0-9]', cell) else ''}>{escape(cell)}</td>"


def claim_html(claim: dict[str, Any]) -> str:
    shown, mark = ("shown", "✓ shown") if claim["shown"] else ("missed", "✗ not shown")
    text = f'{marked(claim["claim"])}: <span class="measured">{marked(claim["measured"])}</span>'
    return f'<li class="{shown}"><b>{mark}</b>{text}</li>'


def report(run: Run | Analysis | Path | str, out: Path | str | None = None) -> Path:
    """Write the report of a run or an analysis, by default to `report.html` in the run's folder; return where it is."""
    if isinstance(run, Path | str):
        run = load(run)
    title, sections = _sections(run)
    folder = run.path if isinstance(run, Run) else None if run.run is None else run.run.path
    if out is None and folder is None:
        raise RnnlensError("this network has no run folder: say where to write, as in report(analysis, 'report.html')")
    path = Path(out) if out is not None else folder / "report.html"  # type: ignore[operator]
    with atomic_file(path) as temporary:
        temporary.write_text(page_html(title, sections), encoding="utf-8")
    return path


def _sections(run: Run | Analysis) -> tuple[str, list[Section]]:
    from rnnlens.page.analysis import analysis_sections
    from rnnlens.page.toy import toy_sections

    if not isinstance(run, Run):
        return analysis_sections(run.results, f"a {run.network.arch} of {run.network.size} dimensions")
    if "claims" in run.results.get("toy", {}):
        return toy_sections(run)
    if "subspace" in run.results:
        network = run.about["network"]
        return analysis_sections(run.results, f"{run.path.name}, a {network['arch']} of {network['hidden']} units,")
    raise RnnlensError(f"the run {quoted(str(run.path))} is not analysed yet: run `rnnlens analyze {run.path}` first")


def page_html(title: str, sections: list[Section]) -> str:
    from plotly.offline import get_plotlyjs

    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style><script>{get_plotlyjs()}</script></head>"
        f"<body><h1>{escape(title)}</h1>{''.join(section.html() for section in sections)}</body></html>"
    )
