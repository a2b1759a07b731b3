"""Where a network modifies: strengths by part of the state, timescales by part, and effective attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import percent, signed
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.figures.axes import TimescaleAxis
from rnnlens.figures.stored import part
from rnnlens.figures.style import BLUE, INK, KINDS, legend_below, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NEEDS = "only a network with several layers or a convolution has it"
OF_TODAY = "only mingru, minlstm, mamba and rglru have it"
WHOLE = "all parts"
USUAL = ("not", "very")
PATTERNS = ("", "/", "x", ".")  # of the bars: each word has its own, so that color alone does not distinguish them
BUFFERED = "<br>With a convolution, what is written at a word depends on the few words before it too."


def parts(results: Any, words: Sequence[str] | None = None) -> Figure:
    """How much of the strength of words is in each part of the state, with 95 % intervals; from `layers`.

    words: by default *not* and *very* or, where they are missing, the strongest modifier of their sign."""
    stored = part(results, "layers", needs=NEEDS)
    names, rows = [shown(name) for name in stored["parts"]], described(stored, words)
    figure = panels([""])
    for number, row in enumerate(rows):
        look = KINDS["negator" if row["strength"] < 0 else "intensifier"]
        values = [*row["by_part"], row["strength"]]
        between = [*(row.get("intervals") or [None] * len(names)), row.get("interval")]
        ends = [end or [value, value] for value, end in zip(values, between, strict=True)]
        word = shown(row["word"])
        figure.add_bar(
            x=values,
            y=[*names, WHOLE],
            orientation="h",
            name=f"“{word}”",
            marker={"color": look.colour, "opacity": [0.95] * len(names) + [0.45]}
            | {"pattern": {"shape": PATTERNS[number % len(PATTERNS)], "fgopacity": 0.6, "size": 6}},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [max(0.0, high - value) for value, (_, high) in zip(values, ends, strict=True)],
                "arrayminus": [max(0.0, value - low) for value, (low, _) in zip(values, ends, strict=True)],
                "color": INK,
                "thickness": 1.2,
                "width": 4,
            },
            hoverinfo="text",
            hovertext=[
                f"“{word}” in {name}: {signed(value)}<br>95 % interval {signed(low)} to {signed(high)}"
                for name, value, (low, high) in zip([*names, WHOLE], values, ends, strict=True)
            ],
            textposition="none",
        )
    styled(
        figure,
        "Where modifiers live: their strength by part of the state",
        "strength",
        "",
        "Each part is exchanged between the run with the word and the run without it. The parts of a word sum to its "
        "strength (pale).<br>Lines are 95 % intervals over probe words.",
        height=190 + (34 + 18 * len(rows)) * (len(names) + 1),
    )
    figure.update_yaxes(autorange="reversed", automargin=True, showgrid=False)
    figure.update_xaxes(zeroline=True, zerolinecolor=INK, zerolinewidth=1)
    return legend_below(figure, -56 / ((34 + 18 * len(rows)) * (len(names) + 1)), 90, 90, top=0).update_layout(
        barmode="group", bargap=0.3
    )


def part_timescales(results: Any) -> Figure:
    """The timescales of each part's numbers: median, middle half and middle 90 %; from `layers.timescales`."""
    stored = part(results, "layers", needs=NEEDS)
    times = part(stored, "timescales", needs=OF_TODAY)
    if not times:
        raise RnnlensError(f"these results have no timescales by part: {OF_TODAY}")
    named = [(shown(name), taus) for name, taus in zip(stored["parts"], times, strict=True) if taus[-1] != 0]
    axis = TimescaleAxis.of([tau for _, taus in named for tau in taus])
    figure = panels([""])
    for name, taus in named:
        low, first, middle, third, high = (axis.at(tau) for tau in taus)
        for ends, width, called in (((low, high), 2, "middle 90 %"), ((first, third), 8, "middle half")):
            figure.add_scatter(
                x=list(ends),
                y=[name, name],
                mode="lines",
                line={"color": BLUE, "width": width},
                name=called,
                showlegend=name == named[0][0],
                hoverinfo="skip",
            )
        figure.add_scatter(
            x=[middle],
            y=[name],
            mode="markers",
            marker={"color": "white", "size": 11, "line": {"color": BLUE, "width": 2}},
            name="median",
            showlegend=name == named[0][0],
            hoverinfo="text",
            hovertext=[f"{name}: half of its numbers fall to a third within {_words(taus[2])}<br>{_middle(taus)}"],
        )
    styled(
        figure,
        "How long each part of the state remembers",
        "timescale τ at a blank input, words",
        "",
        "Each number of a recurrent state has its own timescale. A convolution buffer keeps the last few words "
        "exactly,<br>and nothing longer.",
        height=206 + 44 * len(named),
    )
    figure.update_yaxes(autorange="reversed", automargin=True, showgrid=False)
    figure.update_xaxes(**axis.settings())
    return legend_below(figure, -60 / (44 * len(named)), 110, 95, top=0)


def attention(results: Any) -> Figure:
    """What each word of a sentence still adds after every later word: effective attention; from `layers.attention`."""
    stored = part(results, "layers", needs=NEEDS)
    layers = part(stored, "attention", needs=OF_TODAY)
    if not layers:
        raise RnnlensError(f"these results have no effective attention: {OF_TODAY}")
    several = len(layers) > 1
    figure = panels([f"layer {one['layer']}" if several else "" for one in layers], shared_yaxes=True)
    for column, one in enumerate(layers, 1):
        _attended(figure, one, column)
    words = [shown(word) for word in layers[0]["words"]]
    buffered = any("convolution" in name for name in stored["parts"])
    styled(
        figure,
        "Effective attention: how much of each earlier word is still there",
        "from this word",
        "after this word",
        "Each row is the output after a word: how many percent of it each word so far still adds, by length. This is "
        "exact, because<br>the recurrence is linear once the words are known. “(start)” is the initial state."
        + (BUFFERED if buffered else ""),
        height=230 + 34 * len(words),
    )
    figure.update_yaxes(
        tickvals=list(range(len(words))), ticktext=words, autorange="reversed", showgrid=False, zeroline=False
    )
    return figure.update_layout(margin={"l": 90, "b": 90, "t": figure.layout.margin.t + (22 if several else 0)})


def _attended(figure: Figure, one: Mapping[str, Any], column: int) -> None:
    """Draw the effective attention of one layer."""
    words = [shown(word) for word in one["words"]]
    sources = ["(start)", *words]
    weights = [[w if t <= s + 1 else None for t, w in enumerate(row)] for s, row in enumerate(one["weights"])]
    figure.add_heatmap(
        x=list(range(len(sources))),
        y=list(range(len(words))),
        z=weights,
        zmin=0,
        zmax=1,
        colorscale=[[0, "rgba(43,108,176,0.04)"], [1, "rgba(43,108,176,0.7)"]],
        showscale=False,
        hoverongaps=False,
        text=[["" if w is None else f"{100 * w:.0f}" for w in row] for row in weights],
        texttemplate="%{text}",
        textfont={"color": INK},
        hoverinfo="text",
        hovertext=[
            [
                "" if w is None else f"after “{words[s]}”, {percent(w, 0)} of the output is from {_from(sources[t])}"
                for t, w in enumerate(row)
            ]
            for s, row in enumerate(weights)
        ],
        xgap=2,
        ygap=2,
        row=1,
        col=column,
    )
    figure.update_xaxes(
        tickvals=list(range(len(sources))),
        ticktext=sources,
        tickangle=-45,
        showgrid=False,
        zeroline=False,
        title_text="from this word",
        col=column,
    )


def described(stored: Mapping[str, Any], words: Sequence[str] | None = None) -> list[Mapping[str, Any]]:
    """The rows of `layers.words` of these words, or of *not* and *very* or the strongest modifier of their sign."""
    rows = {row["word"]: row for row in stored["words"]}
    if words is not None:
        missing = [word for word in words if word not in rows]
        if missing or not words:
            raise RnnlensError(
                f"no strength by part of {quoted(missing[0] if missing else '')} is stored: expected words among "
                f"{quoted(', '.join(rows), 300)}"
            )
        return [rows[word] for word in words]
    if not rows:
        raise RnnlensError("no strengths by part are stored: there is nothing to draw")
    strongest = [min, max]
    found = [rows.get(word) or of(rows.values(), key=_strength) for word, of in zip(USUAL, strongest, strict=True)]
    return found if found[0] is not found[1] else found[:1]


def _strength(row: Mapping[str, Any]) -> float:
    return float(row["strength"])


def _words(tau: float | None) -> str:
    return "no number of words" if tau is None else f"{tau:.2g} words" if tau < 100 else f"{tau:,.0f} words"


def _middle(taus: Sequence[float | None]) -> str:
    ends = ["∞" if tau is None else f"{tau:.2g}" if tau < 100 else f"{tau:,.0f}" for tau in (taus[0], taus[-1])]
    return f"90 % of them lie between {ends[0]} and {ends[1]}"


def _from(source: str) -> str:
    return "the initial state" if source == "(start)" else f"“{source}”"
