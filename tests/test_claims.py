"""The paper's claims about real networks: each verdict follows from its number, and what was not measured says so."""

import copy

import pytest

import rnnlens
from rnnlens.analysis import claims
from rnnlens.analysis.claims import counted
from rnnlens.analysis.paper_claims import analysis_claims, phrases_right, sign_pattern
from rnnlens.page.sections import badge


@pytest.fixture(scope="module")
def measured():
    return rnnlens.analyze("zoo:reviews-gru", top=500, starts=200).results


@pytest.fixture
def results(measured):
    return copy.deepcopy(measured)


def shown(results, start):
    (claim,) = [claim for claim in analysis_claims(results) if claim.claim.startswith(start)]
    return claim.shown


def blank(drift):
    return {"first": 0.8, "then": drift, "spread": [4.0, 3.0, 2.9]}


def difference(value):
    return {"difference": value, "interval": [value - 0.003, value + 0.003]}


def forms(shift, reversal):
    return {"shift_explained": shift, "factor_explained": 0.1, "reversal_explained": reversal}


@pytest.mark.parametrize(
    ("start", "path", "holds", "fails"),
    [
        ("one curve", ("line_attractor", "is_line"), True, False),
        ("one mode integrates", ("line_attractor", "integration_eigenvalue"), [0.99, 0.0], [0.99, 0.2]),
        ("the reading holds", ("blank_input",), blank(0.2), blank(0.5)),
        ("it hardly matters", ("modifiers", "error_from_probes"), 0.01, 0.2),
        ("two components", ("subspace", "by_norm"), [0.7, 0.25], [0.6, 0.2]),
        ("the second component", ("timescales", "mean"), [2.6, 4.3], [4.3, 2.6]),
        ("shuffling words", ("accuracy", "test_shuffled"), difference(-0.04), difference(-0.02)),
        ("the initial state", ("beginning", "barcode", "kind"), "intensifier", "negator"),
        ("words count more at once", ("ending", "ratio_over_growth"), 0.8, 1.1),
        ("50 blank inputs cost accuracy (test", ("ending", "test", "padded"), difference(-0.01), difference(-0.001)),
        ("three bilinear", ("bilinear", "explained_variance"), [0.8, 0.9, 0.96], [0.8, 0.9, 0.94]),
        ("negation is a shift", ("modifiers", "negation_form"), forms(0.8, 0.5), forms(0.4, 0.5)),
    ],
)
def test_a_verdict_follows_its_number(results, start, path, holds, fails):
    for value, expected in ((holds, True), (fails, False)):
        *inside, last = path
        at = results
        for key in inside:
            at = at.setdefault(key, {})
        at[last] = value
        assert shown(results, start) is expected


def test_removing_the_subspace_is_judged_against_shuffling_and_its_controls(results):
    accuracy = results.setdefault("accuracy", {})
    accuracy["test_shuffled"] = difference(-0.04)
    for removed, random, words, expected in (
        (-0.03, -0.001, -0.01, (True, True, True)),
        (-0.01, -0.02, -0.03, (False, False, False)),
    ):
        accuracy["test_subspace_removed"] = {"3": difference(removed)}
        accuracy["test_random_removed"] = {"3": [difference(random)] * 3}
        accuracy["test_words_removed"] = {"3": [difference(words)] * 3}
        found = [
            shown(results, start)
            for start in ("removing the modifier", "removing random", "removing directions of other")
        ]
        assert tuple(found) == expected


def test_known_modifiers_are_counted(results):
    right, total, wrong = sign_pattern(results)
    assert total == 13 and right + len(wrong) == total
    flipped = copy.deepcopy(results)
    for sign in ("mean_positive", "mean_negative"):
        flipped["barcodes"]["not"][sign] *= -1
    assert ("not" in sign_pattern(flipped)[2]) != ("not" in wrong)
    phrases = {"good": 1.0, "not good": 0.2, "extremely good": 0.5, "bad": -1.0, "not bad": 0.3, "extremely bad": -2.0}
    assert phrases_right({"probes": {"phrases": phrases}}) == (3, 4)  # `extremely good` went down


def test_what_is_missing_was_not_measured():
    found = analysis_claims({})
    assert len(found) > 20 and {claim.shown for claim in found} == {None} and not any(c.measured for c in found)
    assert [badge(x)[1] for x in (True, False, None)] == ["✓ shown", "✗ not shown", "– not measured"]


def test_what_networks_show_that_learnt_nothing_is_not_counted(monkeypatch, results):
    monkeypatch.setattr(claims, "shown_by_nulls", dict)
    shown, of = counted(analysis_claims(results))
    found = [claim for claim in analysis_claims(results) if claim.paper and claim.shown]
    assert shown == len(found) < of  # some are missed; checks of our own are not counted
    monkeypatch.setattr(claims, "shown_by_nulls", lambda: {found[0].claim: ["untrained"]})
    assert [claim.claim for claim in analysis_claims(results) if claim.unspecific] == [found[0].claim]
    assert counted(analysis_claims(results)) == (shown - 1, of - 1)
    assert badge(True, unspecific=True)[1] == "~ unspecific"
