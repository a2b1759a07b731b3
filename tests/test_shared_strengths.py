"""Strengths of the same words in two networks: which words, their correlation with its interval, and the figure."""

import json

import numpy as np
import pytest
from test_comparison import COMMON, analyzed

import rnnlens
from rnnlens.context.shared_strengths import StrengthRow, correlation_interval, pair, strengths_of


def test_pairs_are_of_the_words_measured_in_both():
    both = [analyzed("gru", COMMON[k:], k) for k in (0, 1)]
    tables = [strengths_of(one.network.vocab, one.arrays()) for one in both]
    for one, table in zip(both, tables, strict=True):
        assert list(table) == list(one.modifiers.words)
        assert [row.kind for row in table.values()] == one.modifiers.kinds
    found = pair(("a", "b"), tables[0], tables[1])
    shared = [word for word in tables[0] if word in tables[1]]
    assert found.n == len(shared) and {word for word, _, _ in found.words} <= set(shared)
    x, y = ([table[word].strength for word in shared] for table in tables)
    assert found.r == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert all(first.is_clear or second.is_clear for _, first, second in found.words)


def test_the_interval_of_a_correlation_is_that_of_a_bootstrap():
    generator = np.random.default_rng(0)
    x = generator.standard_t(5, 800)  # heavier tails than normal
    y = 0.6 * x + generator.standard_t(5, 800)
    r, low, high = correlation_interval(x, y)
    drawn = generator.integers(800, size=(2_000, 800))
    again = [np.corrcoef(x[rows], y[rows])[0, 1] for rows in drawn]
    assert r == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert (low, high) == pytest.approx(np.quantile(again, [0.025, 0.975]), abs=0.015)
    assert correlation_interval(x[:4], y[:4]) == (None, None, None)
    assert correlation_interval(np.ones(9), y[:9]) == (None, None, None)


def test_the_figure_has_a_panel_for_each_pair_and_errors_on_hover():
    rows = {"not": (-1.0, 0.1, "negator"), "<b>": (0.5, 0.2, "intensifier"), "the": (0.0, 0.1, "none")}
    first = {word: StrengthRow(*row) for word, row in rows.items()}
    second = {word: StrengthRow(row[0] / 2, *row[1:]) for word, row in rows.items()}
    figure = rnnlens.figures.strengths([pair(("a", f"<i>{k}"), first, second) for k in range(4)])
    dots = [trace for trace in figure.data if trace.customdata is not None]
    assert len(dots) == 4 and all(set(trace.customdata) == {"not", "<b>"} for trace in dots)
    assert "“not”<br>a: −1.00 ± 0.10<br>&lt;i&gt;2: −0.50 ± 0.10" in dots[2].hovertext
    assert "3 shared words" in json.dumps(figure.to_dict()["layout"]["annotations"][0]["text"])
    nothing = {"the": StrengthRow(0.0, 0.1, "none")}
    with pytest.raises(rnnlens.RnnlensError, match="no word is clearly a modifier"):
        rnnlens.figures.strengths([pair(("a", "b"), nothing, nothing)])
