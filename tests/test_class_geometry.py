"""The geometry of several classes, on networks whose geometry is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from handmade_classes import NAMES, handmade_classes, simplex, visited

import rnnlens
from rnnlens import Network, RnnlensError, class_geometry
from rnnlens.dynamics.class_geometry import _curve, _shape
from rnnlens.dynamics.class_places import class_directions, evidence, slow_point_at
from rnnlens.dynamics.class_words import _correlations, predicted_dimensions
from rnnlens.dynamics.dimension import least_share, needed, participation_ratio, spread_of


@pytest.fixture(scope="module")
def tetrahedron():
    network = handmade_classes(NAMES, {"not": -2.0})
    return network, class_geometry(network, states=visited(network, NAMES))


def test_four_classes_on_a_tetrahedron_have_three_dimensions_and_exact_directions(tetrahedron):
    network, geometry = tetrahedron
    assert geometry.shape == "simplex" and geometry.count == 3 and geometry.count_interval == (3, 3)
    assert 2.7 < geometry.dimension_interval[0] <= geometry.dimension <= geometry.dimension_interval[1] < 3.001
    off = geometry.cosines[~torch.eye(4, dtype=torch.bool)]
    torch.testing.assert_close(off, torch.full_like(off, -1 / 3), atol=1e-9, rtol=0)
    assert abs(geometry.simplex_cosine + 1 / 3) < 1e-9 and abs(geometry.filled - 3) < 1e-9
    read = network.readout_w - network.readout_w.mean(0)
    torch.testing.assert_close(geometry.directions, read, atol=1e-12, rtol=0)
    assert float(geometry.explained[3:].sum()) < 1e-3
    assert float(evidence(network, geometry.neutral).norm()) < 1e-6
    assert (
        repr(geometry).startswith("ClassGeometry(4 classes: simplex, 3 dimensions") and "fear" in geometry._repr_html_()
    )


def test_the_span_holds_all_that_stores_or_reads_evidence(tetrahedron):
    network, geometry = tetrahedron
    span = geometry.span
    torch.testing.assert_close(span @ span.t(), torch.eye(len(span), dtype=span.dtype), atol=1e-9, rtol=0)
    for rows in (geometry.axes[:3], network.readout_w - network.readout_w.mean(0)):
        torch.testing.assert_close(rows @ span.t() @ span, rows.to(span), atol=1e-6, rtol=0)
    assert len(span) < network.size - 4  # the directions of modifiers and decoys are left


def test_rare_classes_count_as_much_as_frequent_ones(tetrahedron):
    network, _ = tetrahedron
    states = visited(network, NAMES, n=300, seed=1)
    with torch.no_grad():
        likely = network.logit(states).argmax(-1)
    rare = (likely == 3).nonzero().squeeze(1)[::20]
    lopsided = class_geometry(network, states=torch.cat([states[likely != 3], states[rare]]))
    assert lopsided.count == 3 and lopsided.dimension > lopsided.by_visits


def test_ordered_classes_on_a_line_have_one_dimension():
    line = torch.linspace(-1, 1, 5).unsqueeze(1)  # the vertices of the classes, all on one line
    network = handmade_classes(list("12345"), {"not": -2.0}, vertices=line)
    geometry = class_geometry(network, states=visited(network, list("12345")))
    assert geometry.shape == "line" and geometry.count == 1 and geometry.dimension < 1.01
    ordered = network.with_parts(network.cell, network.h0.detach(), "adapted")
    ordered.classes, ordered.ordered = ("1", "2", "3", "4", "5"), True
    w, thresholds = network.readout_w[-1], torch.tensor([-1.5, -0.5, 0.5, 1.5], dtype=torch.float64)
    ordered.readout_w, ordered.readout_b = torch.nn.Parameter(w), torch.nn.Parameter(thresholds)
    geometry = class_geometry(ordered, states=visited(ordered, list("12345")))
    assert geometry.shape == "line" and geometry.count == 1 and geometry.ordered
    torch.testing.assert_close(geometry.cosines.abs(), torch.ones(5, 5, dtype=torch.float64), atol=1e-9, rtol=0)
    along = geometry.directions @ w
    assert bool((along.diff() > 0).all())  # from the lowest class to the highest


def test_classes_of_a_square_are_between_a_line_and_a_simplex():
    square = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    network = handmade_classes(NAMES, {}, vertices=square)
    geometry = class_geometry(network, states=visited(network, NAMES))
    assert geometry.shape == "between" and geometry.count == 2
    assert geometry.cosines[0].tolist() == pytest.approx([1, 0, -1, 0], abs=1e-9)


def test_three_separate_states_are_the_corners_of_a_simplex_not_a_line():
    """A memory of one of three classes: a curve runs through any three points, but these have two dimensions."""
    corners = simplex(3)
    which = torch.arange(300) % 3
    along = torch.tensor([-1.0, 0.3, 1.0]).double()[which]  # along any axis that sees them apart
    curve = _curve(along, 4 * torch.eye(3).double()[which], torch.ones(300).double())
    cosines = corners @ corners.T
    assert curve > 0.99 and _shape(2, cosines, curve, along) == "simplex"
    assert _shape(2, cosines, curve, torch.linspace(-1, 1, 300).double()) == "line"


def test_the_slow_point_with_given_evidence_has_it(tetrahedron):
    network, geometry = tetrahedron
    wanted = torch.tensor([0.75, -0.25, -0.25, -0.25], dtype=torch.float64)
    place = slow_point_at(network, geometry.states, wanted)
    torch.testing.assert_close(evidence(network, place), wanted, atol=1e-6, rtol=0)
    torch.testing.assert_close(network.step(place), place, atol=1e-6, rtol=0)


def test_directions_are_the_gradients_of_the_centered_logits():
    network = Network(["a", "b", "c"], hidden=6, embedding=3, classes=list("12345"), ordered=True).double()
    h = torch.randn(6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rows = torch.func.jacrev(lambda at: network.logit(at) - network.logit(at).mean())(h)
    torch.testing.assert_close(class_directions(network, h), rows, atol=1e-12, rtol=0)


# --- dimensions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 3, 5])
def test_the_count_is_that_of_the_axes_that_are_read(n):
    generator = torch.Generator().manual_seed(n)
    x = 0.1 * torch.randn(800, 20, generator=generator)  # many small axes, which nobody reads
    x[:, :n] += torch.randn(800, n, generator=generator)
    readouts = torch.zeros(n + 1, 20)
    readouts[:, :n] = simplex(n + 1) if n > 1 else torch.tensor([[1.0], [-1.0]])
    spread = spread_of(x, torch.ones(len(x)), readouts, least_share(n + 1))
    assert spread.count == n and spread.count_interval == (n, n)
    assert (
        abs(
            spread.dimension / participation_ratio(torch.cat([torch.full((n,), 1.01), torch.full((20 - n,), 0.01)])) - 1
        )
        < 0.05
    )
    assert spread.interval[0] < spread.dimension < spread.interval[1] + 0.05


def test_participation_ratio_and_count_of_known_variances():
    assert participation_ratio(torch.tensor([2.0, 2.0, 2.0, 0.0])) == pytest.approx(3)
    assert needed(torch.tensor([3.0, 1.0, 0.1, 0.0])) == 2 and needed(torch.tensor([1.0, 1.0, 1.0])) == 3
    assert least_share(4) == 0.95 and least_share(101) == pytest.approx(0.995)


# --- predictions ------------------------------------------------------------------------------------------------------


def corpus_of(names, profile, n=1200, seed=0):
    """Texts whose words are of class j with the chances profile[label][j], among rare and neutral words."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for i in range(n):
        label = i % len(names)
        kinds = rng.choice(len(names), 12, p=profile[label])
        words = [f"{names[k]}{rng.integers(5)}" for k in kinds]
        texts.append(" ".join([*words, *(f"rare{rng.integers(3000)}" for _ in range(8))]))
        labels.append(names[label])
    return rnnlens.Corpus.from_texts(texts, labels, min_count=1)


def test_word_counts_predict_a_simplex_for_classes_with_words_of_their_own():
    names, own = ["a", "b", "c", "d"], 0.6 * np.eye(4) + 0.1
    predicted = predicted_dimensions(corpus_of(names, own), 4)
    assert predicted["words"]["count"] == predicted["classes"]["count"] == 3
    low, high = predicted["words"]["interval"]
    assert 2.8 < low <= high <= 3.0
    correlations = np.array(predicted["classes"]["correlations"])
    assert np.allclose(correlations[~np.eye(4, dtype=bool)], -1 / 3, atol=0.15)


def test_the_interval_of_a_prediction_contains_it_for_few_texts_too():
    predicted = predicted_dimensions(corpus_of(list("abcdef"), 0.4 * np.eye(6) + 0.1, n=240), 6)
    for one in predicted["words"], predicted["classes"]:
        low, high = one["interval"]
        assert 1 <= low < one["dimension"] < high <= 5


def test_word_counts_predict_a_line_for_ordered_classes():
    bad_good = np.linspace(0.1, 0.9, 6)
    profile = np.zeros((6, 6))
    profile[:, 0], profile[:, 5] = 1 - bad_good, bad_good
    predicted = predicted_dimensions(corpus_of(list("abcdef"), profile), 6)
    assert predicted["words"]["dimension"] < 1.2 and predicted["classes"]["dimension"] < 1.4
    assert predicted["words"]["count"] <= 2


# --- bad input --------------------------------------------------------------------------------------------------------

WORDS = ["<unk>", "red", "green", "blue", "not", "very"]


def six(**options) -> Network:
    return Network(WORDS, hidden=6, embedding=3, classes=list("abcdef"), **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: class_geometry(Network(WORDS, hidden=5, embedding=3)),
            "does not have several classes, it has one logit",
        ),
        (lambda: class_geometry(six().of_class("a")), "it reads class 'a'"),
        (lambda: class_geometry("runs/mine"), "network is 'runs/mine': expected a network"),
        (lambda: class_geometry(six(), states=torch.zeros(9, 7)), r"states has shape \(9, 7\): expected .* \(..., 6\)"),
        (lambda: class_geometry(six(), states=[1, 2]), "states is 'list': expected states"),
        (
            lambda: class_geometry(six(), states=torch.zeros(5, 6)),
            "there are 5 visited states to start from, and 6 classes need at least 18: raise starts, or pass",
        ),
        (lambda: class_geometry(six(), states=torch.zeros(50, 6)), "all visited states have the same logits"),
        (
            lambda: class_geometry(
                six(), rnnlens.Corpus.from_texts(["red", "blue"] * 9, [0, 1] * 9).with_vocab(six().vocab)
            ),
            "the corpus has two classes and the network 6 classes",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(make, message):
    with pytest.raises(RnnlensError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


@pytest.mark.filterwarnings("error")
def test_classes_without_common_evidence_give_no_warning():
    S = np.array([[-1.0, 0.5], [0.5, -1.0]])  # covariances between halves may be negative
    np.testing.assert_array_equal(_correlations(S), [[-1, 1], [1, -1]])
