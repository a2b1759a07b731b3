"""Figures of docs/validation.md, from stored results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rnnlens.figures.style import BLUE, FAINT, GREY, ORANGE, look_of_kind, panels, styled
from studies.validation_tables import Results, best, precision_of, sizes_of_hard

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

GREEN, SKY, YELLOW = "#009e73", "#56b4e9", "#e69f00"
SHOWN = {  # as they are named, and drawn
    "norm_fixed": ("‖ΔJ‖, the paper's", GREY), "interaction": ("interaction", ORANGE), "score": ("score", YELLOW),
    "sure": ("networks alone (sure)", SKY), "documents": ("in documents (recommended)", BLUE),
    "frequency": ("data: frequency", "#cc79a7"), "bigram contrast": ("data: bigram contrast", "#8c564b"),
}  # fmt: skip
KNOWING = (("regressions", GREEN, "documents alone"), ("ceiling", "#000", "valences known"))  # … the form
LINES = ("norm_fixed", "interaction", "sure", "documents", "bigram contrast")


def figures(every: dict[str, Results], main: tuple[str, ...]) -> dict[str, Figure]:
    """By name; each from what is stored and nothing else."""
    found = {name: one for name, one in every.items() if name in main}
    drawn = {"scores": scores(found), "frequency": frequency(found), "strength": strength(found)}
    more = {"documents": documents(every), "fresh": fresh(every)}
    return {**drawn, **{name: figure for name, figure in more.items() if figure is not None}}


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
    for key, colour, told in KNOWING:
        figure.add_scatter(
            x=list(found), y=[precision_of(one[key]) for one in found.values()], mode="markers", name=told,
            marker={"symbol": "line-ew", "size": 60, "line": {"width": 2, "color": colour}},
        )  # fmt: skip
    figure = styled(
        figure, "Which words are modifiers", "", "average precision",
        "consensus of the networks; bars: 95 % by bootstrap over words; strokes: who knows the form of the language",
        520,
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
        figure, "Strengths found and true", "true share", "found share",
        "change of the next word's valence as a share of it, in documents; the larger, the more often seen; "
        "the line is the truth", 440,
    )  # fmt: skip
    return figure.update_layout(margin={"t": 116}).update_yaxes(matches="y")


def documents(found: dict[str, Results]) -> Figure | None:
    """How average precision and strengths rise with the number of training documents."""
    runs = sizes_of_hard(found)
    if len(runs) < 2:
        return None
    x = [one["language"]["train"] for one in runs]
    figure = panels(["average precision", "strength: r, seen at least 500 times"])

    def line(y: list[float], column: int, name: str, colour: str, dash: str = "solid", shown: bool = True) -> None:
        figure.add_scatter(
            x=x, y=y, mode="lines+markers", name=name, line={"color": colour, "dash": dash}, showlegend=shown, row=1,
            col=column,
        )  # fmt: skip

    for key, colour, told in KNOWING:
        line([precision_of(one[key]) for one in runs], 1, told, colour, "dot")
        line([one[key]["strength"]["learnable"]["pearson"] for one in runs], 2, told, colour, "dot", False)
    for key in ("documents", "sure", "norm_fixed"):
        told, colour = SHOWN[key]
        line([best(one)["scores"][key]["average_precision"] for one in runs], 1, told, colour)
    line([best(one)["documents"]["strength"]["learnable"]["pearson"] for one in runs], 2, "", BLUE, shown=False)
    line([best(one)["strength"]["learnable"]["pearson"] for one in runs], 2, "", SKY, shown=False)
    figure = styled(figure, "With more documents", "training documents", "", height=440)
    figure.update_xaxes(type="log", tickvals=x, ticktext=[f"{n:,}" for n in x])
    return figure.update_layout(margin={"t": 90})


def fresh(found: dict[str, Results]) -> Figure | None:
    """Average precision on every hard language, each with its own words and networks."""
    from plotly.graph_objects import Figure

    runs = {name: one for name, one in found.items() if name == "hard" or name.startswith(("again", "chosen"))}
    if len(runs) < 2:
        return None
    runs = dict(sorted(runs.items(), key=lambda item: item[1]["language_seed"]))
    names = [f"{one['language_seed']}{' *' if name.startswith('chosen') else ''}" for name, one in runs.items()]
    figure = Figure()
    for key in ("norm_fixed", "bigram contrast", "sure", "documents"):
        told, colour = SHOWN[key]
        y = [best(one)["scores"][key] for one in runs.values()]
        figure.add_scatter(
            x=names, y=[score["average_precision"] for score in y], name=told, mode="markers",
            marker={"color": colour, "size": 10},
            error_y={
                "type": "data", "symmetric": False, "thickness": 1,
                "array": [score["interval"][1] - score["average_precision"] for score in y],
                "arrayminus": [score["average_precision"] - score["interval"][0] for score in y],
            },
        )  # fmt: skip
        single = [
            (name, network["scores"][key]["average_precision"])
            for name, one in zip(names, runs.values(), strict=True) for network in one["networks"]
        ]  # fmt: skip
        if key != "bigram contrast":
            figure.add_scatter(
                x=[name for name, _ in single], y=[value for _, value in single], mode="markers", showlegend=False,
                marker={"color": colour, "size": 5, "opacity": 0.5, "symbol": "line-ew-open"}, name=f"{told}, single",
            )  # fmt: skip
    for key, colour, told in KNOWING:
        figure.add_scatter(
            x=names, y=[precision_of(one[key]) for one in runs.values()], name=told, mode="markers",
            marker={"symbol": "line-ew", "size": 26, "line": {"width": 2, "color": colour}},
        )  # fmt: skip
    figure = styled(
        figure, "Every hard language", "seed of the language; * the method was chosen on it", "average precision",
        "dots: consensus of five networks, with 95 % by bootstrap over words; small strokes: each network", 480,
    )  # fmt: skip
    return figure.update_xaxes(type="category").update_yaxes(rangemode="tozero")
