"""Supp. A.2 and A.4: the linear modes near each modifier's state, and which of them the modifier excites."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.figures.axes import TimescaleAxis
from rnnlens.figures.labels import Pixel, along, box, clearest
from rnnlens.figures.stored import toy_part
from rnnlens.figures.style import FAINT, GREY, INK, look_of, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PALE = "#a0aec0"  # for modes without a name and for lines
TAUS = (1, 4, 10)  # timescales drawn as circles, in steps
PANEL = (370.0, 290.0)  # approximate size in pixels, for placing the names
NAMED = 3  # number of smallest angles that are named
TOP = 92  # of the axis of angles, in degrees
_UNITS = {"a real mode": "circle", "a conjugate pair (oscillates)": "diamond"}


# --- the spectrum -----------------------------------------------------------------------------------------------------


def spectra(result: Any) -> Figure:
    """The eigenvalues of J_rec at the slow point nearest to each h_mod (Supp. A.2), from a run's `toy.modes`.

    Colored: the mode, or conjugate pair, whose left eigenvector is most aligned with the deflection.
    """
    result = toy_part(result, "modes")
    figure = panels([f"at the slow point nearest to h<sup>{shown(word)}</sup>" for word in result])
    corner, scale = _view([value for modes in result.values() for value in modes["eigenvalues"]])
    for column, (word, modes) in enumerate(result.items(), start=1):
        _circles(figure, 0.88 * corner[1], column)
        _eigenvalues(figure, word, modes, column)
        _name_modes(figure, word, modes, corner, scale, column)
        figure.update_xaxes(title_text="Re λ", range=[corner[0], corner[0] + PANEL[0] / scale], row=1, col=column)
        figure.update_yaxes(
            title_text="Im λ",
            range=[corner[1], -corner[1]],
            scaleanchor=f"x{column if column > 1 else ''}",
            row=1,
            col=column,
        )
    figure.update_xaxes(zerolinecolor=FAINT, zerolinewidth=1).update_yaxes(zerolinecolor=FAINT, zerolinewidth=1)
    figure = styled(
        figure,
        "The modes of the network at blank input, near each modifier's state",
        "Re λ",
        "Im λ",
        "Each mark is an eigenvalue λ of the recurrent Jacobian. On the solid circle (|λ| = 1) a mode lasts forever; "
        "inside, it decays with<br>timescale τ (dotted circles, in steps). Pairs above and below the axis oscillate.",
        height=540,
    )
    return room(figure).update_layout(legend={"entrywidth": 335})


def _view(values: Sequence[Sequence[float]]) -> tuple[Pixel, float]:
    """The lower left corner of a view that includes all eigenvalues and 1, and its scale in pixels per unit, the same
    in both directions."""
    left, right = min(-0.1, *(re - 0.1 for re, _ in values)), max(1.3, *(re + 0.1 for re, _ in values))
    tall = max(0.3, *(1.25 * abs(im) for _, im in values))
    scale = min(PANEL[0] / (right - left), PANEL[1] / (2 * tall))
    return ((left + right - PANEL[0] / scale) / 2, -PANEL[1] / scale / 2), scale


def _eigenvalues(figure: Figure, word: str, modes: Mapping[str, Any], column: int) -> None:
    values, aligned, integration = modes["eigenvalues"], modes["aligned"], modes["integration"]
    others = [a for a in range(len(values)) if a not in aligned and a != integration]
    look = look_of(word, column - 1)
    for name, chosen, symbol, size, colour in (
        ("other modes", others, "circle", 6, PALE),
        ("integration mode (λ nearest to 1)", [integration], "star", 15, INK),
        (f"most aligned with the deflection by “{shown(word)}”", aligned, look.symbol, 11, look.colour),
    ):
        figure.add_scatter(
            x=[values[a][0] for a in chosen],
            y=[values[a][1] for a in chosen],
            mode="markers",
            name=name,
            marker={"symbol": symbol, "size": size, "color": colour, "opacity": 0.8},
            legendgroup=name,
            showlegend=column == 1 or chosen is aligned,
            hoverinfo="text",
            hovertext=[_mode_text(f"mode {a}", values[a], modes["timescales"][a], pair=False) for a in chosen],
            row=1,
            col=column,
        )


def _name_modes(figure: Figure, word: str, modes: Mapping[str, Any], corner: Pixel, scale: float, column: int) -> None:
    """Write λ of the integration mode and of the most aligned mode where they cover least."""
    values, aligned, integration = modes["eigenvalues"], modes["aligned"], modes["integration"]
    first = aligned[0]
    tau = _tau(modes["timescales"][first])
    taken: list[Pixel] = [((re - corner[0]) * scale, (im - corner[1]) * scale) for re, im in values]
    taken += [point for a in (integration, *aligned) for point in box(taken[a], (16.0, 16.0))]
    for a, text, colour in (
        (integration, f"integrates: λ = {value_text(values[integration], True, 4)}", INK),
        (first, f"λ = {value_text(values[first], len(aligned) > 1)}, τ = {tau}", look_of(word, column - 1).colour),
    ):
        at, size = taken[a], (6.2 * len(text), 16.0)
        shift = clearest(at, size, taken, PANEL, gap=34)
        centre = (at[0] + shift[0], at[1] + shift[1])
        taken += box(centre, size) + along([at, centre])
        figure.add_annotation(
            x=values[a][0],
            y=values[a][1],
            text=text,
            ax=shift[0],
            ay=-shift[1],
            arrowcolor=colour,
            arrowwidth=1,
            arrowhead=0,
            standoff=8,
            font={"size": 12, "color": colour},
            bgcolor="rgba(255,255,255,0.8)",
            row=1,
            col=column,
        )


def _circles(figure: Figure, height: float, column: int) -> None:
    """Draw the circle |λ| = 1 and the circles of the timescales `TAUS`, with labels at the given height if possible."""
    for tau in (math.inf, *TAUS):
        radius, endless = math.exp(-1 / tau), tau == math.inf
        y = max(height, -0.8 * radius)
        figure.add_shape(
            type="circle",
            x0=-radius,
            x1=radius,
            y0=-radius,
            y1=radius,
            layer="below",
            fillcolor="rgba(0,0,0,0)",
            line={"color": PALE, "width": 1.5 if endless else 1, "dash": "solid" if endless else "dot"},
            row=1,
            col=column,
        )
        figure.add_annotation(
            x=math.sqrt(radius**2 - y**2),
            y=y,
            text="|λ| = 1" if endless else f"τ = {tau}",
            showarrow=False,
            xanchor="left" if endless else "right",
            xshift=2 if endless else -2,
            font={"size": 11, "color": GREY},
            row=1,
            col=column,
        )


# --- angles -----------------------------------------------------------------------------------------------------------


def mode_angles(result: Any) -> Figure:
    """The angle between h_mod − h* and every left eigenvector, against the mode's timescale (Supp. A.4), from a run's
    `toy.mode_angles`. Conjugate pairs are diamonds, real modes circles; the smallest angles are named."""
    result = toy_part(result, "mode_angles")
    figure = panels([f"the deflection by “{shown(word)}”" for word in result])
    times = TimescaleAxis.of([tau for modes in result.values() for tau in modes["timescales"]])
    smallest = min(angle for modes in result.values() for angle in modes["angles"])
    floor = 15 * max(0, math.floor((smallest - 8) / 15))
    for column, (word, modes) in enumerate(result.items(), start=1):
        named = sorted(range(len(modes["angles"])), key=modes["angles"].__getitem__)[:NAMED]
        _angles(figure, modes, times, named, look_of(word, column - 1).colour, column)
        _name_angles(figure, modes, times, named, look_of(word, column - 1).colour, floor, column)
        if times.border is not None:
            figure.add_vline(x=times.border, line={"color": PALE, "width": 1, "dash": "dot"}, row=1, col=column)
    for name, symbol in _UNITS.items():
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=name,
            legendgroup=name,
            marker={"symbol": symbol, "size": 10, "color": GREY},
            row=1,
            col=1,
        )
    figure.update_xaxes(title_text="timescale τ of the mode (steps)", **times.settings())
    figure.update_yaxes(range=[floor, TOP], dtick=15, zeroline=False)
    figure = styled(
        figure,
        "Which modes a modifier excites",
        "timescale τ of the mode (steps)",
        "angle to the left eigenvector (°)",
        "The smaller the angle between the deflection and a mode's left eigenvector, the better they align; at 90° "
        f"the mode is not excited.<br>The {NAMED} smallest are colored and named. In so many dimensions most "
        "directions are nearly orthogonal.",
        height=500,
    )
    return room(figure)


def _angles(
    figure: Figure, modes: Mapping[str, Any], times: TimescaleAxis, named: Sequence[int], colour: str, column: int
) -> None:
    for (name, symbol), pair in zip(_UNITS.items(), (False, True), strict=True):
        chosen = [i for i, unit in enumerate(modes["units"]) if (len(unit) > 1) == pair]
        figure.add_scatter(
            x=[times.at(modes["timescales"][i]) for i in chosen],
            y=[modes["angles"][i] for i in chosen],
            mode="markers",
            name=name,
            legendgroup=name,
            showlegend=False,
            hoverinfo="text",
            marker={
                "symbol": symbol,
                "size": 10 if pair else 8,
                "color": [colour if i in named else PALE for i in chosen],
                "opacity": 0.85,
                "line": {"width": 1, "color": "white"},
            },
            hovertext=[f"{modes['angles'][i]:.1f}°<br>{_unit_text(modes, i)}" for i in chosen],
            row=1,
            col=column,
        )


def _name_angles(
    figure: Figure,
    modes: Mapping[str, Any],
    times: TimescaleAxis,
    named: Sequence[int],
    colour: str,
    floor: int,
    column: int,
) -> None:
    """Write λ beside the smallest angles, where it covers least."""
    x = [times.at(tau) for tau in modes["timescales"]]
    taken: list[Pixel] = [
        (PANEL[0] * times.share(place), PANEL[1] * (angle - floor) / (TOP - floor))
        for place, angle in zip(x, modes["angles"], strict=True)
    ]
    for i in named:
        text = f"λ = {value_text(modes['eigenvalues'][i], True)}"
        at, size = taken[i], (6.2 * len(text), 16.0)
        shift = clearest(at, size, taken, PANEL, gap=6)
        taken += box((at[0] + shift[0], at[1] + shift[1]), size)
        figure.add_annotation(
            x=math.log10(x[i]),
            y=modes["angles"][i],
            text=text,
            showarrow=False,
            xshift=shift[0],
            yshift=shift[1],
            font={"size": 12, "color": colour},
            row=1,
            col=column,
        )


# --- names of modes ---------------------------------------------------------------------------------------------------


def unit_name(unit: Sequence[int]) -> str:
    return f"mode{'s' if len(unit) > 1 else ''} {' and '.join(map(str, unit))}"


def value_text(value: Sequence[float], pair: bool, digits: int = 2) -> str:
    """λ as text; for a pair, both values (±)."""
    re, im = value
    text = f"{'−' if re < 0 else ''}{abs(re):.{digits}f}"
    return text if im == 0 else f"{text} {'±' if pair else '−' if im < 0 else '+'} {abs(im):.{digits}f}i"


def _tau(tau: float | None) -> str:
    return "∞" if tau is None else f"{tau:.2g}" if tau < 10 else f"{tau:.0f}"


def _mode_text(name: str, value: Sequence[float], tau: float | None, pair: bool) -> str:
    """The hover text of a mode: name, λ, timescale, period."""
    angle = abs(math.atan2(value[1], value[0]))
    period = f"period {2 * math.pi / angle:.3g} steps" if angle else "does not oscillate"
    return f"{name}<br>λ = {value_text(value, pair, 3)}<br>τ = {_tau(tau)} steps<br>{period}"


def _unit_text(modes: Mapping[str, Any], i: int) -> str:
    unit = modes["units"][i]
    return _mode_text(unit_name(unit), modes["eigenvalues"][i], modes["timescales"][i], len(unit) > 1)


def room(figure: Figure) -> Figure:
    """Make room for panel titles above and a legend below."""
    top = figure.layout.margin.t
    return figure.update_layout(margin={"t": top + 22, "b": 100}, legend={"y": -0.19, "yanchor": "top"})
