"""The geometry of several classes, on networks whose geometry is known."""

from __future__ import annotations

import pytest
import torch
from handmade_classes import NAMES, handmade_classes, simplex, visited

from rnnlens import Network, class_geometry
from rnnlens.dynamics.class_geometry import _curve, _shape
from rnnlens.dynamics.class_places import class_directions, evidence, slow_point_at
from rnnlens.dynamics.dimension import least_share, participation_ratio, spread_of


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
    assert least_share(4) == 0.95 and least_share(101) == pytest.approx(0.995)
