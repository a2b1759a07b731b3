"""Fig. 6: modifiers in their subspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.figures.names import write_names
from rnnlens.figures.stored import part, two_coordinates
from rnnlens.figures.style import FAINT, INK, MODIFIERS, legend_below, look_of_kind, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

EXAMPLES = ("not", "never", "no", "hardly", "very", "extremely", "definitely", "absolutely")
NAMED = 25
PANEL = (810.0, 420.0)  # approximate size in pixels, for placing the names


def subspace(results: Any) -> Figure:
    """Fig. 6, from `subspace`: where each modifier moves the state, in the first two components of the modifier
    subspace. Color and mark show the kind; the strongest modifiers are named."""
    import plotly.graph_objects as go

    stored = part(results, "subspace")
    at = two_coordinates(stored["coordinates"])
    figure = go.Figure()
    kinds = [kind if kind in MODIFIERS else "none" for kind in stored["kinds"]]
    for kind in (*MODIFIERS, "none"):
        rows = [i for i, k in enumerate(kinds) if k == kind]
        look = look_of_kind(kind)
        if rows:
            figure.add_scatter(
                x=[at[i][0] for i in rows],
                y=[at[i][1] for i in rows],
                mode="markers",
                name=f"{'others' if kind == 'none' else kind + 's'} ({len(rows)})",
                marker={"symbol": look.symbol, "color": look.colour, "size": 6, "opacity": 0.55},
                hovertext=[
                    f"“{shown(stored['words'][i])}” ({kind})<br>component 1: {signed(at[i][0])}<br>component 2: "
                    f"{signed(at[i][1])}"
                    for i in rows
                ],
                hoverinfo="text",
                customdata=[stored["words"][i] for i in rows],
            )
    figure.add_scatter(
        x=[0],
        y=[0],
        mode="markers",
        name="h*, before the word",
        hovertext=["h*"],
        hoverinfo="text",
        marker={"symbol": "cross-thin", "size": 16, "line": {"width": 2.5, "color": "black"}},
    )
    view = _view(at)
    _name(figure, stored["words"], kinds, at, view)
    shares = [100 * share for share in stored["explained_variance"][:2]]
    axes = [f"modifier component {i} ({share:.1f} % of variance)" for i, share in enumerate(shares, start=1)]
    by_norm = ""
    if stored.get("by_norm"):  # the paper's choice of words
        by_norm = f", of words of largest ‖ΔJ<sub>inp</sub>‖ {100 * sum(stored['by_norm'][:2]):.1f} %"
    figure = styled(
        figure,
        "Where modifiers move the state: the modifier subspace",
        axes[0],
        axes[1],
        f"{stored['n']:,} words, read at h*: where they deflect the state off the line. The two components explain "
        f"{sum(shares):.1f} % of the variance{by_norm}<br>(96.2 % in the paper's network). Well-known modifiers "
        "and the strongest of each kind are named where they fit.",
        height=640,
    )
    figure.update_xaxes(range=view[0], zerolinecolor=FAINT, gridcolor="#edf2f7")
    figure.update_yaxes(range=view[1], zerolinecolor=FAINT, gridcolor="#edf2f7", scaleanchor="x")
    return legend_below(figure, -0.14, 125, 105, top=4, sizes="constant")


def _name(
    figure: Figure,
    words: Sequence[str],
    kinds: Sequence[str],
    at: Sequence[tuple[float, float]],
    view: Sequence[Sequence[float]],
) -> None:
    look_of_names: dict[str, Any] = {
        "arrowwidth": 0.8,
        "arrowcolor": INK,
        "standoff": 6,
        "font": {"size": 12, "color": INK},
    }
    look_of_names |= {"bgcolor": "rgba(255,255,255,0.65)", "borderpad": 0, "captureevents": True}
    for i in write_names(figure, words, at, _order(words, kinds), view, PANEL, NAMED, **look_of_names):
        look = look_of_kind(kinds[i])
        figure.add_scatter(
            x=[at[i][0]],
            y=[at[i][1]],
            mode="markers",
            showlegend=False,
            hoverinfo="skip",
            name=shown(words[i]),
            marker={"symbol": look.symbol, "color": look.colour, "size": 10, "line": {"width": 1.2, "color": "black"}},
        )


def _order(words: Sequence[str], kinds: Sequence[str]) -> list[int]:
    """The order in which words are named: well-known modifiers, then the strongest of each kind in turn. (`words` are
    in order of strength.)"""
    known = [words.index(word) for word in EXAMPLES if word in words]
    by_kind = [[i for i, one in enumerate(kinds) if one == kind][:NAMED] for kind in MODIFIERS]
    turns = [rows[k] for k in range(NAMED) for rows in by_kind if k < len(rows)]
    return list(dict.fromkeys([*known, *turns]))


def _view(at: Sequence[tuple[float, float]]) -> list[list[float]]:
    """Ranges of both components that include all points and h*, with the same scale for both."""
    middles, spans = [], []
    for i in (0, 1):
        values = [0.0, *(point[i] for point in at)]
        middles.append((min(values) + max(values)) / 2)
        spans.append(1.12 * ((max(values) - min(values)) or 1.0))
    unit = max(span / pixels for span, pixels in zip(spans, PANEL, strict=True))
    return [
        [middle - unit * pixels / 2, middle + unit * pixels / 2] for middle, pixels in zip(middles, PANEL, strict=True)
    ]
