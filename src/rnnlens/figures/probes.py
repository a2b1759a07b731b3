"""Fig. 1b, Supp. F a-b and Fig. 10b: the output of a network on the probe reviews and phrases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.corpora.vocab import PAD_WORD
from rnnlens.figures.stored import part, side_names
from rnnlens.figures.style import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    PLAIN,
    Look,
    guide,
    legend_below,
    look_of,
    panels,
    shown,
    styled,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_REVIEWS = {
    "plain": (PLAIN, "solid"),
    "intensified": (Look(BLUE, "square"), "dash"),
    "negated": (Look(ORANGE, "diamond"), "dot"),
}
_NETWORKS = {  # by the key of its results in `probes`
    "": "the unchanged network",
    "without_subspace": "without the modifier subspace",
    "without_random": "without a random subspace",
}


def look_of_review(name: str) -> tuple[Look, str]:
    """The look and dash of a probe review in all figures."""
    return _REVIEWS.get(name, (Look(INK, "star"), "dashdot"))


def sentence(words: Sequence[str]) -> str:
    """Words as Plotly markup, without blank inputs."""
    return " ".join(shown(word) for word in words if word != PAD_WORD)


# --- reviews, word by word --------------------------------------------------------------------------------------------


def probe_reviews(results: Any) -> Figure:
    """Fig. 1b and Supp. F a-b, from `probes`: the logit after every word of one review, plain, intensified and
    negated, for the unchanged network, without its modifier subspace and without a random subspace."""
    probes = part(results, "probes")
    read = {network: _in(probes, where)["reviews"] for where, network in _NETWORKS.items() if _in(probes, where)}
    if not read:
        part(results, "probes", "reviews")
    figure = panels(list(read), shared_yaxes=True, horizontal_spacing=0.03)
    for column, reviews in enumerate(read.values(), start=1):
        steps = max(len(words) for words in reviews.values())
        guide(figure, (0.5, steps + 0.5), (0, 0), column, {"color": GREY, "width": 1, "dash": "dot"})
        for name, words in reviews.items():
            _read(figure, name, words, column)
        figure.update_xaxes(
            title_text="words, in the order read",
            tickvals=list(range(1, steps + 1)),
            ticktext=_ticks(reviews),
            tickangle=-90,
            tickfont={"size": 12},
            range=[0.4, steps + 0.6],
            showgrid=False,
            zeroline=False,
            row=1,
            col=column,
        )
    figure.update_yaxes(zeroline=False)
    figure = styled(
        figure,
        "One review, plain, intensified and negated: does the network distinguish them?",
        "words, in the order read",
        f"logit after the word ({shown(side_names(results).above)} above 0)",
        "A network that uses context ends higher after “extremely” and “definitely”, lower after “not” and “don't”. "
        "Without its modifier<br>subspace the three lines should meet; without a random subspace of the same "
        "size they should not. Words that differ are stacked.",
        height=560,
    )
    return legend_below(figure, -0.43, 420, 165)


def _in(probes: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The stored results of one of the networks, or an empty mapping."""
    record = probes.get(where, {}) if where else probes
    return record if record.get("reviews") else {}


def _read(figure: Figure, name: str, words: Sequence[Sequence[Any]], column: int) -> None:
    look, dash = look_of_review(name)
    figure.add_scatter(
        x=list(range(1, len(words) + 1)),
        y=[logit for _, logit in words],
        mode="lines+markers",
        name=f"{shown(name)}: “{sentence([word for word, _ in words])}”",
        legendgroup=name,
        showlegend=column == 1,
        line={"color": look.colour, "width": 2.5, "dash": dash},
        marker={"symbol": look.symbol, "size": 8, "color": look.colour},
        hovertext=[
            f"{shown(name)}, word {i}<br>“{shown(word)}”<br>logit {signed(logit)}"
            for i, (word, logit) in enumerate(words, start=1)
        ],
        hoverinfo="text",
        customdata=[word for word, _ in words],
        row=1,
        col=column,
    )


def _ticks(reviews: Mapping[str, Sequence[Sequence[Any]]]) -> list[str]:
    """The word at every position; where reviews differ, the words of all reviews, stacked, each in its color."""
    ticks = []
    for i in range(max(len(words) for words in reviews.values())):
        at = {name: words[i][0] for name, words in reviews.items() if i < len(words)}
        different = {word for word in at.values() if word != PAD_WORD}
        if len(different) <= 1:
            ticks.append(shown(next(iter(different), "")))
        else:
            ticks.append(
                "<br>".join(
                    f'<span style="color:{look_of_review(name)[0].colour}">{shown(word)}</span>'
                    for name, word in at.items()
                    if word != PAD_WORD
                )
            )
    return ticks


# --- phrases ----------------------------------------------------------------------------------------------------------


def probe_phrases(results: Any) -> Figure:
    """Fig. 10b for this network, from `probes`: what each phrase adds to the logit of the unchanged network (filled)
    and, if stored, of the network without its modifier subspace (hollow)."""
    import plotly.graph_objects as go

    phrases, probes = part(results, "probes", "phrases"), part(results, "probes")
    without = probes.get("without_subspace", {}).get("phrases", {})
    figure, rows = go.Figure(), _rows(list(phrases))
    for effects, offset, hollow in ((phrases, -0.13, False), (without, 0.17, True)):
        for phrase, value in effects.items():
            _stem(figure, phrase, value, rows[phrase] + offset, hollow, list(phrases))
    for modifier in dict.fromkeys(" ".join(phrase.split()[:-1]) for phrase in phrases):
        look = _look(f"{modifier} word".strip(), list(phrases))
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=f"“{shown(modifier)} …”" if modifier else "no modifier",
            marker={"symbol": look.symbol, "color": look.colour, "size": 11},
        )
    for name, hollow in ((_NETWORKS[""], False), (_NETWORKS["without_subspace"], True))[: 2 if without else 1]:
        figure.add_scatter(x=[None], y=[None], mode="lines+markers", name=name, **_drawn(Look(INK, "circle"), hollow))
    figure.add_vline(x=0, line={"color": "#4a5568", "width": 1})
    figure = styled(
        figure,
        "How a modifier changes the word after it",
        "logit after the phrase minus that of the empty text",
        "",
        "The further a modifier moves a phrase from the plain word, the more the network uses it: away from 0 it "
        "strengthens the word, toward 0<br>it weakens it, across 0 it reverses it.",
        height=230 + round(32 * (max(rows.values()) + 1)),
    )
    figure.update_yaxes(
        tickvals=list(rows.values()),
        ticktext=[shown(phrase) for phrase in rows],
        showgrid=False,
        zeroline=False,
        range=[max(rows.values()) + 0.7, -0.7],
        automargin=True,
    )
    figure.update_xaxes(zeroline=False, gridcolor="#edf2f7")
    return figure.update_layout(
        margin={"t": figure.layout.margin.t + 30, "b": 60},
        showlegend=True,
        legend={"x": 0, "y": 1, "yanchor": "bottom"},
    )


def _rows(phrases: Sequence[str]) -> dict[str, float]:
    """The row of each phrase, with a gap where the last word changes."""
    rows: dict[str, float] = {}
    at, last = -1.0, None
    for phrase in phrases:
        word = phrase.split()[-1:]
        at += 1 if last in (None, word) else 1.5
        rows[phrase], last = at, word
    return rows


def _stem(figure: Figure, phrase: str, value: float, row: float, hollow: bool, phrases: Sequence[str]) -> None:
    network = _NETWORKS["without_subspace" if hollow else ""]
    figure.add_scatter(
        x=[0, value],
        y=[row, row],
        mode="lines+markers",
        showlegend=False,
        name=shown(phrase),
        hovertext=["", f"“{shown(phrase)}”<br>{signed(value)}<br>{network}"],
        hoverinfo="text",
        **_drawn(_look(phrase, phrases), hollow, first=False),
    )


def _look(phrase: str, phrases: Sequence[str]) -> Look:
    """The look of the modifier that a phrase starts with; the plain look if there is none."""
    first = list(dict.fromkeys(other.split()[0] for other in phrases if len(other.split()) > 1))
    words = phrase.split()
    return look_of(words[0], first.index(words[0])) if len(words) > 1 else PLAIN


def _drawn(look: Look, hollow: bool, first: bool = True) -> dict[str, Any]:
    """Line and marker settings. first: a mark at the beginning of the line too."""
    return {
        "line": {"color": look.colour, "width": 2 if hollow else 3.5, "dash": "dot" if hollow else "solid"},
        "marker": {
            "symbol": look.symbol,
            "color": "white" if hollow else look.colour,
            "opacity": 1,
            "size": 10 if first else [0, 11],
            "line": {"color": look.colour, "width": 2},
        },
    }
