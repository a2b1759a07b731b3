"""Table 1 as a figure, and Fig. 10: architectures side by side."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import signed
from rnnlens.figures.stored import part
from rnnlens.figures.style import COLOURS, GREY, INK, SYMBOLS, legend_below, panels, shown, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NEEDS = "`rnnlens reproduce` stores it"
NAMES = {"bow": "Bag of words", "vanilla": "Vanilla RNN", "ugrnn": "UGRNN", "gru": "GRU", "lstm": "LSTM"}


def table(results: Any) -> Figure:
    """Table 1, from `table`: test accuracy of each model, mean over seeds with its interval, beside the paper's."""
    import plotly.graph_objects as go

    stored = part(results, "table", needs=NEEDS)
    rows = stored["rows"]
    figure, y = go.Figure(), list(range(len(rows)))
    ours = [100 * row["accuracy"] for row in rows]
    half = [0 if row["interval"] is None else 100 * (row["interval"][1] - row["accuracy"]) for row in rows]
    each = [(k, 100 * value) for k, row in enumerate(rows) for value in row["seeds"]]
    figure.add_scatter(
        x=[value for _, value in each],
        y=[k + 0.18 for k, _ in each],
        mode="markers",
        name="each seed",
        marker={"symbol": "line-ns-open", "size": 9, "color": GREY, "line": {"width": 2}},
        hovertext=[f"{value:.2f} %" for _, value in each],
        hoverinfo="text",
    )
    figure.add_scatter(
        x=ours,
        y=y,
        mode="markers",
        name="ours, mean over seeds with its 95 % interval",
        marker={"symbol": "diamond", "size": 12, "color": COLOURS[1]},
        error_x={"type": "data", "array": half, "thickness": 1.5, "width": 5, "color": COLOURS[1]},
        hovertext=[f"{shown(row['title'])}<br>{_row_text(row)}" for row in rows],
        hoverinfo="text",
    )
    if stored["column"]:
        figure.add_scatter(
            x=[100 * row["paper"] for row in rows],
            y=y,
            mode="markers",
            name="the paper's",
            marker={"symbol": "circle-open", "size": 12, "color": INK, "line": {"width": 2}},
            hovertext=[f"paper: {100 * row['paper']:.2f} %" for row in rows],
            hoverinfo="text",
        )
    figure = styled(
        figure,
        "Test accuracy of the ten models",
        f"accuracy on {stored['reviews']:,} test reviews (%)",
        "",
        "Settings were chosen on validation reviews; every model was then trained on all but the test reviews.",
        height=220 + 34 * len(rows),
    )
    figure.update_yaxes(
        tickvals=y,
        ticktext=[shown(row["title"]) for row in rows],
        range=[len(rows) - 0.4, -0.6],
        automargin=True,
        showgrid=False,
        zeroline=False,
    )
    return legend_below(figure, -0.18, 330, 90, top=0)


def _row_text(row: dict[str, Any]) -> str:
    seeds = (
        ""
        if row["interval"] is None
        else " (95 % over seeds {:.2f} … {:.2f})".format(*(100 * x for x in row["interval"]))
    )
    paper = "" if row["paper"] is None else f"<br>paper {100 * row['paper']:.2f} %"
    return f"{100 * row['accuracy']:.2f} %{seeds}<br>standard error of a cell {100 * row['standard_error']:.2f}{paper}"


def architectures(results: Any) -> Figure:
    """Fig. 10, from `architectures`: (a) accuracy with the words of each review in order and shuffled, (b) what phrases
    add to the logit. In (a) one mark for each seed, in (b) means over seeds."""
    stored = part(results, "architectures", needs=NEEDS)
    models = [model for model in NAMES if model in stored]
    figure = panels(["accuracy, words in order and shuffled", "what a phrase adds to the logit"])
    for name, key, symbol, colour, place in (
        ("words in order", "before", "circle", COLOURS[1], -0.12),
        ("words shuffled", "accuracy", "square-open", COLOURS[2], 0.12),
    ):
        marks = [(k, one) for k, model in enumerate(models) for one in stored[model]["shuffled"]]
        figure.add_scatter(
            x=[k + place for k, _ in marks],
            y=[100 * one[key] for _, one in marks],
            mode="markers",
            name=name,
            marker={"symbol": symbol, "size": 10, "color": colour, "line": {"width": 2, "color": colour}},
            hovertext=[
                f"{NAMES[models[k]]}, {name}<br>{100 * one[key]:.2f} %<br>shuffling: "
                f"{signed(100 * one['difference'])} (95 %: {signed(100 * one['interval'][0])} … "
                f"{signed(100 * one['interval'][1])})"
                for k, one in marks
            ],
            hoverinfo="text",
            row=1,
            col=1,
        )
    _phrase_effects(figure, stored, models)
    figure = styled(
        figure,
        "Architectures side by side",
        "",
        "test accuracy (%)",
        "If shuffling costs accuracy, the model uses word order; if “not” and “extremely” move a phrase away from the "
        "plain word, it uses modifiers.",
        height=555,
    )
    figure.update_xaxes(
        tickvals=list(range(len(models))),
        ticktext=[NAMES[model] for model in models],
        showgrid=False,
        zeroline=False,
        row=1,
        col=1,
    )
    figure.update_yaxes(zeroline=False, row=1, col=1)
    figure.update_yaxes(title_text="logit minus that of the empty review", row=1, col=2)
    return legend_below(figure, -0.34, 150, 165)


def _phrase_effects(figure: Figure, stored: Any, models: list[str]) -> None:
    phrases = list(stored[models[0]]["phrases"][0]) if models else []
    for k, model in enumerate(models):
        values = [mean(one[phrase] for one in stored[model]["phrases"]) for phrase in phrases]
        figure.add_scatter(
            x=phrases,
            y=values,
            mode="lines+markers",
            name=NAMES[model],
            line={"color": COLOURS[k], "width": 1.5, "dash": "dot"},
            marker={"symbol": SYMBOLS[k], "size": 10, "color": COLOURS[k]},
            hovertext=[
                f"{NAMES[model]}<br>“{shown(phrase)}”<br>{signed(value)}"
                for phrase, value in zip(phrases, values, strict=True)
            ],
            hoverinfo="text",
            row=1,
            col=2,
        )
