"""Table 1: test accuracies of our models beside the paper's, and the differences between them with intervals.

Our data are the answers, right or wrong, of each model and seed on the same test reviews. Intervals of differences come
from a bootstrap over both reviews and seeds, since both are samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rnnlens.baselines.six import BASELINES

TITLES = {
    "bow": "Bag of words",
    "bod+eod": "Convolution of BOD & EOD tokens",
    "bod+eod+beta_bod+beta_eod": "Convolution of BOD & EOD + β_BOD + β_EOD",
    "comw": "Convolution of modifier words (CoMW)",
    "comw+beta_mod": "CoMW + β_mod",
    "comw+beta_mod+beta_bod+beta_eod": "CoMW + β_mod + β_BOD + β_EOD",
    "gru": "GRU",
    "lstm": "LSTM",
    "ugrnn": "UGRNN",
    "vanilla": "Vanilla RNN",
}
FULL = "comw+beta_mod+beta_bod+beta_eod"

PAPER: dict[str, dict[str, float]] = {
    column: {model: round(value / 100, 4) for model, value in zip(TITLES, values, strict=True)}
    for column, values in {
        "yelp": (93.57, 93.99, 94.37, 94.76, 95.40, 95.63, 95.84, 95.05, 95.67, 92.96),
        "imdb": (89.47, 89.57, 89.60, 89.90, 90.68, 90.75, 89.63, 91.59, 89.43, 89.55),
    }.items()
}
"""Test accuracies of the paper's Table 1."""

STEPS = [
    ("bod+eod", "bow"), ("bod+eod+beta_bod+beta_eod", "bow"), ("comw", "bow"), ("comw+beta_mod", "comw"),
    (FULL, "comw+beta_mod"), (FULL, "bow"),
]  # fmt: skip
"""The comparisons: each model with the simpler model that it extends."""

Answers = Mapping[str, np.ndarray]  # model → (seeds, n) bool


def paper_column(about: Mapping[str, Any]) -> str | None:
    """The column of the paper's table for a corpus, by the name of its source; None for other corpora, including other
    reviews from Yelp than the paper's."""
    source = str(about.get("source", "")).lower().replace("-", "_")
    if source == "yelp" or "yelp_polarity" in source or "yelp_review_polarity" in source:  # names that `prepare` writes
        return "yelp"
    return "imdb" if "imdb" in source else None


def table_results(answers: Answers, column: str | None = None, draws: int = 10_000, seed: int = 0) -> dict[str, Any]:
    """The content of `table` in results.json."""
    means = {model: float(right.mean()) for model, right in answers.items()}
    rows = [
        {
            "model": model,
            "title": TITLES[model],
            "accuracy": means[model],
            "interval": seed_interval(answers[model].mean(1)),
            "seeds": answers[model].mean(1).tolist(),
            "standard_error": float(np.sqrt(means[model] * (1 - means[model]) / answers[model].shape[1])),
            "paper": PAPER[column][model] if column else None,
        }
        for model in TITLES
        if model in answers
    ]
    differences = [
        {"model": model, "less": other, **difference(answers[model], answers[other], draws, seed)}
        for model, other in STEPS
        if model in answers and other in answers
    ]
    gain = gain_recovered(answers, draws, seed)
    return {
        "column": column,
        "reviews": next(iter(answers.values())).shape[1] if answers else 0,
        "rows": rows,
        "differences": differences,
        "full_minus_bow": next((d for d in differences if (d["model"], d["less"]) == (FULL, "bow")), None),
        "gain_recovered": gain["share"] if gain else None,
        "gain": gain,
    }


def seed_interval(values: np.ndarray) -> list[float] | None:
    """The 95 % interval of the mean over seeds, by Student's t; None for one seed."""
    from scipy.stats import t

    if len(values) < 2:
        return None
    half = float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return [float(values.mean()) - half, float(values.mean()) + half]


def bootstrap(answers: list[np.ndarray], draws: int, seed: int) -> np.ndarray:
    """Mean accuracies (draws, models) of resampled reviews and seeds, from answers (seeds, n) to the same reviews.

    Reviews with the same answers are interchangeable, so only the number of reviews of each pattern of answers is
    drawn."""
    sizes = [len(right) for right in answers]
    together = np.concatenate(answers).astype(np.uint8)  # (all seeds, n)
    kinds, counts = np.unique(together, axis=1, return_counts=True)
    generator = np.random.default_rng(seed)
    n = counts.sum()
    drawn = generator.multinomial(n, counts / n, size=draws) @ kinds.T / n  # (draws, all seeds)
    means, first = [], 0
    for size in sizes:
        picked = generator.integers(first, first + size, (draws, size))
        means.append(np.take_along_axis(drawn, picked, 1).mean(1))
        first += size
    return np.stack(means, 1)


def difference(model: np.ndarray, other: np.ndarray, draws: int = 10_000, seed: int = 0) -> dict[str, Any]:
    """The accuracy of one model minus that of another, paired by review, with its 95 % interval."""
    drawn = bootstrap([model, other], draws, seed)
    low, high = np.quantile(drawn[:, 0] - drawn[:, 1], [0.025, 0.975])
    return {"difference": float(model.mean() - other.mean()), "interval": [float(low), float(high)]}


def gain_recovered(answers: Answers, draws: int = 10_000, seed: int = 0) -> dict[str, Any] | None:
    """(best baseline − bag of words) / (best network − bag of words), and its parts; `share` is None if the interval of
    the network's gain includes 0."""
    if "bow" not in answers:
        return None

    def best(models: list[str]) -> str | None:
        known = [model for model in models if model in answers]
        return max(known, key=lambda model: answers[model].mean(), default=None)

    baseline = best([model for model in BASELINES if model != "bow"])
    network = best([model for model in TITLES if model not in BASELINES])
    if baseline is None or network is None:
        return None
    bow, ours, theirs = (answers[model] for model in ("bow", baseline, network))
    drawn = bootstrap([bow, ours, theirs], draws, seed)
    above, below = drawn[:, 1] - drawn[:, 0], drawn[:, 2] - drawn[:, 0]
    gain = float(theirs.mean() - bow.mean())
    interval = [float(x) for x in np.quantile(below, [0.025, 0.975])]
    clear = interval[0] > 0
    return {
        "baseline": baseline,
        "network": network,
        "baseline_gain": float(ours.mean() - bow.mean()),
        "network_gain": gain,
        "network_interval": interval,
        "share": float((ours.mean() - bow.mean()) / gain) if clear else None,
        "interval": [float(x) for x in np.quantile(above / np.where(below == 0, 1e-9, below), [0.025, 0.975])]
        if clear
        else None,
    }


def table_text(table: Mapping[str, Any]) -> str:
    """The table for a terminal."""
    paper = {"imdb": "paper (IMDB)", "yelp": "paper (Yelp 2015)", None: ""}[table["column"]]
    width = max(len(row["title"]) for row in table["rows"])
    lines = [f"{'':{width}}  test accuracy  95 % over seeds  {paper}"]
    for row in table["rows"]:
        seeds = "" if row["interval"] is None else "{:.2f} … {:.2f}".format(*(100 * x for x in row["interval"]))
        theirs = (
            "" if row["paper"] is None else f"{100 * row['paper']:.2f} %  {100 * (row['accuracy'] - row['paper']):+.2f}"
        )
        lines.append(f"{row['title']:{width}}  {100 * row['accuracy']:11.2f} %  {seeds:>15}  {theirs}".rstrip())
    for step in table["differences"]:
        low, high = (100 * x for x in step["interval"])
        lines.append(
            f"{TITLES[step['model']]} − {TITLES[step['less']]}: {100 * step['difference']:+.2f} "
            f"(95 % {low:+.2f} … {high:+.2f})"
        )
    gain = table["gain"]
    if gain:
        share = "undefined: the network's gain may be 0"
        if gain["share"] is not None:
            share = "{:.0f} % (95 % {:.0f} … {:.0f})".format(*(100 * x for x in (gain["share"], *gain["interval"])))
        lines.append(f"share of the gain of {TITLES[gain['network']]} recovered by {TITLES[gain['baseline']]}: {share}")
    return "\n".join(lines)
