"""The two figures of `studies.recurrences`: how strongly *not* and *very* act, and in which part of the state."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from rnnlens.figures.style import legend_below, panels, styled

PEOPLE = {"dash": "dash", "color": "#4a5568", "width": 2}
SHOWN = {"not": "#b7410e", "very": "#2b6cb0"}
PARTS = {  # by what a part does, the same color in every kind of network
    "layer 1 convolution": "#2f855a", "layer 1 state": "#2b6cb0", "layer 2 convolution": "#9ae6b4",
    "layer 2 state": "#90cdf4", "output": "#cbd5e0",
}  # fmt: skip


def strengths(record: dict[str, Any], kinds: dict[str, str], people: dict[str, float]) -> Any:
    """Strengths on people's phrases: a mark for each seed, hollow ones for networks on shuffled labels."""
    drawn = panels([f"<i>{word}</i>" for word in SHOWN], shared_yaxes=True, horizontal_spacing=0.04)
    for column, (word, color) in enumerate(SHOWN.items(), start=1):
        for null in (True, False):
            rows = [(kinds[kind], one) for kind in kinds for one in _phrases(record, kind, word, null)]
            marker = {"color": color, "size": 10, "opacity": 0.9}
            if null:
                marker = {"color": "#a0aec0", "size": 8, "symbol": "circle-open", "line": {"width": 1.5}}
            name = "shuffled labels" if null else "three seeds"
            x, y = [value for _, value in rows], [title for title, _ in rows]
            trace = go.Scatter(x=x, y=y, mode="markers", marker=marker, name=name, showlegend=column == 1)
            drawn.add_trace(trace, row=1, col=column)
        drawn.add_vline(x=people[word], line=PEOPLE, row=1, col=column)
        drawn.update_xaxes(title_text="strength", range=[-1.6, 1.1], row=1, col=column)
    drawn.add_trace(go.Scatter(x=[None], y=[None], mode="lines", line=PEOPLE, name="people"))
    styled(drawn, "", "strength", "", height=430)
    drawn.update_layout(title=None, margin={"t": 60, "l": 230}, width=1000)
    drawn.update_yaxes(autorange="reversed")
    return legend_below(drawn, -0.2, 200, 90, top=0)


def parts(record: dict[str, Any], kinds: dict[str, str]) -> Any:
    """The strength of a word at visited states, as a bar made of the shares of the state's parts; means over seeds."""
    drawn = panels([f"<i>{word}</i>" for word in SHOWN], shared_yaxes=True, horizontal_spacing=0.04)
    for column, word in enumerate(SHOWN, start=1):
        for part, color in PARTS.items():
            bars = {kinds[kind]: _share(record, kind, word, part) for kind in kinds}
            there = {title: value for title, value in bars.items() if value is not None}
            trace = go.Bar(
                x=list(there.values()), y=list(there), orientation="h", marker_color=color, name=part, legendgroup=part,
                showlegend=column == 1,
            )  # fmt: skip
            drawn.add_trace(trace, row=1, col=column)
        drawn.update_xaxes(title_text="strength", row=1, col=column)
    styled(drawn, "", "strength", "", height=400)
    drawn.update_layout(title=None, margin={"t": 40, "l": 230}, width=1000, barmode="relative")
    drawn.update_yaxes(autorange="reversed", categoryorder="array", categoryarray=list(kinds.values()))
    return legend_below(drawn, -0.2, 170, 90, top=0)


def _phrases(record: dict[str, Any], kind: str, word: str, null: bool) -> list[float]:
    found = record["nulls"][kind] if null else [record["networks"][f"{kind}-{seed}"] for seed in range(3)]
    return [one["phrases"][word] for one in found]


def _share(record: dict[str, Any], kind: str, word: str, part: str) -> float | None:
    """The mean share over seeds, None if networks of this kind have no such part; a single part is the state."""
    found = [record["networks"][f"{kind}-{seed}"]["attribution"] for seed in range(3)]
    names = found[0]["parts"]
    names = ["layer 1 state"] if len(names) == 1 else names
    if part not in names:
        return None
    return float(np.mean([one["words"][word]["shares"][names.index(part)] for one in found]))
