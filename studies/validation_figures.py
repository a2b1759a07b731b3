"""Figures of docs/validation.md, from stored results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rnnlens.figures.style import BLUE, FAINT, GREY, ORANGE, look_of_kind, panels, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Results = dict[str, Any]
GREEN, SKY, YELLOW = "#009e73", "#56b4e9", "#e69f00"
SHOWN = {  # as they are named, and drawn
    "norm_fixed": ("‖ΔJ‖, the paper's", GREY), "interaction": ("interaction", ORANGE), "score": ("score", YELLOW),
    "sure": ("networks alone (sure)", SKY), "documents": ("in documents (recommended)", BLUE),
    "frequency": ("data: frequency", "#cc79a7"), "bigram contrast": ("data: bigram contrast", GREEN),
}  # fmt: skip
LINES = ("norm_fixed", "interaction", "sure", "documents", "bigram contrast")


def figures(every: dict[str, Results], main: tuple[str, ...]) -> dict[str, Figure]:
    """By name; each from what is stored and nothing else."""
    found = {name: one for name, one in every.items() if name in main}
    drawn = {"scores": scores(found), "frequency": frequency(found), "strength": strength(found)}
    sized = documents(every)
    return drawn if sized is None else {**drawn, "documents": sized}


def best(one: Results) -> Results:
    return one.get("consensus") or one["networks"][0]


def precision(one: Results) -> float:
    """The better of strengths as they are and shrunk by frequency."""
    return max(score["average_precision"] for score in one["scores"].values())


def scores(found: dict[str, Results]) -> Figure:
    """Average precision of each score in each language."""
    from plotly.graph_objects import Figure

    figure = Figure()
    for key, (told, colour) in SHOWN.items():
        rows = {name: best(one)["scores"].get(key) for name, one in found.items()}
        known = {name: score for name, score in rows.items() if score is not None}
        value = [score["average_precision"] for score in known.values()]
        figure.add_bar(
            x=list(known), y=value, name=told, marker={"color": colour},
            error_y={
                "type": "data", "symmetric": False, "thickness": 1,
                "array": [score["interval"][1] - v for score, v in zip(known.values(), value, strict=True)],
                "arrayminus": [v - score["interval"][0] for score, v in zip(known.values(), value, strict=True)],
            },
        )  # fmt: skip
    top = [precision(one["ceiling"]) for one in found.values()]
    figure.add_scatter(
        x=list(found), y=top, mode="markers", name="valences known",
        marker={"symbol": "line-ew", "size": 60, "line": {"width": 2, "color": "#000"}},
    )  # fmt: skip
    figure = styled(
        figure, "Which words are modifiers", "", "average precision",
        "consensus of the networks; bars: 95 % by bootstrap over words; the stroke is who knows all valences", 520,
    )  # fmt: skip
    return figure.update_layout(barmode="group", legend={"y": -0.12, "yanchor": "top"}, margin={"b": 150})


def frequency(found: dict[str, Results]) -> Figure:
    """The share of modifiers of each frequency that are among the first M words."""
    figure = panels(list(found), shared_yaxes=True, horizontal_spacing=0.02)
    for column, one in enumerate(found.values(), start=1):
        for key in LINES:
            told, colour = SHOWN[key]
            bins = [part for part in best(one)["scores"][key]["by_frequency"] if part["n"]]
            figure.add_scatter(
                x=[f"{part['from']}+" for part in bins], y=[part["recall"] for part in bins], mode="lines+markers",
                name=told, line={"color": colour}, showlegend=column == 1, row=1, col=column,
            )  # fmt: skip
    figure = styled(
        figure, "Rare modifiers are missed", "", "recall among the first M words",
        "by occurrences in training", 420,
    )  # fmt: skip
    return figure.update_layout(margin={"t": 116}).update_xaxes(tickangle=45)


def strength(found: dict[str, Results]) -> Figure:
    """Found against true strengths, by kind; the more often a modifier was seen, the larger the dot."""
    figure = panels(list(found), horizontal_spacing=0.04)
    for column, one in enumerate(found.values(), start=1):
        rows = best(one)["found"]
        low, high = min(rows["share"]), max(rows["share"])
        figure.add_scatter(
            x=[low, high], y=[low, high], mode="lines", line={"color": FAINT}, showlegend=False, row=1, col=column
        )
        for kind in ("negator", "diminisher", "intensifier"):
            at = [i for i, k in enumerate(rows["kind"]) if k == kind]
            look = look_of_kind(kind)
            figure.add_scatter(
                x=[rows["share"][i] for i in at], y=[rows["share_in_documents"][i] for i in at],
                mode="markers", name=kind,
                marker={
                    "color": look.colour, "symbol": look.symbol, "opacity": 0.7,
                    "size": [4 + 2 * min(3, (rows["count"][i] / 300) ** 0.5) for i in at],
                },
                showlegend=column == 1, row=1, col=column,
            )  # fmt: skip
    figure = styled(
        figure, "Strengths found and true", "true change of the next word's valence, as a share", "found",
        "in documents, begun from networks; the larger, the more often seen in training; the line is the truth", 440,
    )  # fmt: skip
    return figure.update_layout(margin={"t": 116})


def documents(found: dict[str, Results]) -> Figure | None:
    """How average precision and strengths rise with the number of training documents."""
    groups: dict[str, list[Results]] = {}
    for name, one in found.items():
        if one["language_seed"] == 0 and one["network"]["arch"] == "gru":
            groups.setdefault(name.split("-")[0], []).append(one)
    groups = {
        name: sorted(runs, key=lambda one: one["language"]["train"]) for name, runs in groups.items() if len(runs) > 1
    }
    if not groups:
        return None
    figure = panels(["average precision", "strength: r, seen at least 500 times"])
    for name, runs in groups.items():
        x = [one["language"]["train"] for one in runs]
        for key, colour, told in (
            ("documents", BLUE, "recommended"), ("sure", SKY, "networks alone"),
            ("norm_fixed", GREY, "the paper's norm"),
        ):  # fmt: skip
            figure.add_scatter(
                x=x, y=[best(one)["scores"][key]["average_precision"] for one in runs], mode="lines+markers",
                name=f"{name}: {told}", line={"color": colour}, row=1, col=1,
            )  # fmt: skip
        for key, colour, told in (("regressions", GREEN, "two regressions"), ("ceiling", "#000", "valences known")):
            kept = [one for one in runs if key in one]
            for column, pick in (
                (1, precision),
                (2, lambda one: one["strength"]["learnable"]["pearson"]),
            ):
                figure.add_scatter(
                    x=[one["language"]["train"] for one in kept], y=[pick(one[key]) for one in kept],
                    mode="lines+markers", name=f"{name}: {told}", line={"color": colour, "dash": "dot"},
                    showlegend=column == 1, row=1, col=column,
                )  # fmt: skip
        for colour, of in ((BLUE, lambda one: one["documents"]), (SKY, lambda one: one)):
            figure.add_scatter(
                x=x, y=[of(best(one))["strength"]["learnable"]["pearson"] for one in runs], mode="lines+markers",
                line={"color": colour}, showlegend=False, row=1, col=2,
            )  # fmt: skip
    figure = styled(figure, "With more documents", "training documents", "", height=440)
    at = sorted({one["language"]["train"] for runs in groups.values() for one in runs})
    figure.update_xaxes(type="log", tickvals=at, ticktext=[f"{n:,}" for n in at])
    return figure.update_layout(margin={"t": 90})
