"""Versions of a network that read together give the logits of each version alone."""

from itertools import combinations

import numpy as np
import pytest
import torch
from test_steering import ARCHS, WORDS, made

import rnnlens
from rnnlens import project_out, steer
from rnnlens.context import Reviews, final_logits
from rnnlens.context.subspace import project_out_each, random_subspace, steer_each
from rnnlens.networks import CELLS
from rnnlens.networks import versions as module
from rnnlens.networks.cells import MANY
from rnnlens.networks.devices import threads_for
from rnnlens.networks.versions import Versions, equal_parts

KINDS = (*ARCHS, "layers", "function")


def texts(n=9, longest=12):
    """Ids (n, T) with blank inputs among them, and lengths from 0 to T."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(-1, len(WORDS), (n, longest), generator=generator)
    return ids, torch.randint(0, longest + 1, (n,), generator=generator).index_fill_(0, torch.tensor([3]), 0)


def subspaces(network, ranks=(1, 3, 2, 1, 2)):
    """Rows and a state for each version, of several ranks."""
    generator = torch.Generator().manual_seed(1)
    return [
        (random_subspace(network.size, rank, generator), torch.randn(network.size, generator=generator).double())
        for rank in ranks
    ]


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Few versions and few texts at a time, so that there are several groups of each."""
    monkeypatch.setattr(module, "AT_ONCE", 2)
    monkeypatch.setattr(module, "NUMBERS", 1)
    monkeypatch.setattr(module, "FEWEST", 8)


@pytest.mark.parametrize("kind", KINDS)
def test_each_version_is_projected_out_of_its_subspace(kind):
    network, (ids, lengths) = made(kind), texts()
    given = subspaces(network)
    found = project_out_each(network, given)(ids, lengths)
    alone = [project_out(network, V, at)(ids, lengths) for V, at in given]
    torch.testing.assert_close(found, torch.stack(alone), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_each_version_is_steered_by_its_gain(kind):
    network, (ids, lengths) = made(kind), texts()
    given = list(zip((V for V, _ in subspaces(network)), (0.0, 0.5, 1.0, 2.0, 1.5), strict=True))
    found = steer_each(network, given)(ids, lengths)
    alone = [steer(network, V, gain)(ids, lengths) for V, gain in given]
    torch.testing.assert_close(found, torch.stack(alone), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_each_version_starts_from_its_state(kind):
    network, (ids, lengths) = made(kind), texts()
    starts = torch.stack([at for _, at in subspaces(network)])
    found = Versions.starting(network, starts)(ids, lengths)
    alone = [network.logit(network.states(ids, h0)).gather(1, lengths.unsqueeze(1)).squeeze(1) for h0 in starts]
    torch.testing.assert_close(found, torch.stack(alone), rtol=0, atol=1e-12)
    torch.testing.assert_close(Versions.starting(network, starts).one(1)(ids, lengths), alone[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cores", [1, 3])
def test_a_changed_network_alone_reads_reviews_of_any_lengths_together(kind, cores, monkeypatch):
    network, (ids, lengths) = made(kind), texts(40)
    monkeypatch.setattr(module, "STEPS", 5)
    monkeypatch.setattr(module, "FEWEST", 100)  # all reviews in one part, or in one for each core
    [(V, at), *_] = subspaces(network)
    reviews = Reviews(np.zeros(40), [(np.arange(40)[k::4], ids[k::4], lengths[k::4]) for k in range(4)])
    for other in (project_out(network, V, at), steer(network, V, 0.5)):
        with threads_for(network, cores):
            found = final_logits(other, reviews)
        expected = other(ids, lengths)
        torch.testing.assert_close(torch.from_numpy(found), expected.float(), rtol=0, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("kind", ["gru", "lstm", "ugrnn", "vanilla", "relu"])
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-14), (torch.float32, 2e-6)])
def test_a_quick_step_is_a_step(kind, dtype, atol):
    torch.manual_seed(0)
    cell = CELLS["vanilla"](6, 4, nonlinearity="relu") if kind == "relu" else CELLS[kind](6, 4)
    cell = cell.to(dtype)
    quick = cell.quick_step()
    h, e = torch.randn(200, 2 * cell.size, dtype=dtype)[:, : cell.size], torch.randn(4, 200, dtype=dtype).t()
    for rows in (slice(1), slice(7), slice(MANY - 1), slice(MANY), slice(199), slice(None, None, 3)):
        torch.testing.assert_close(quick(h[rows], e[rows]), cell.step(h[rows], e[rows]), rtol=0, atol=atol)
    one = e[:1].expand(MANY, -1)  # the same input for many states
    torch.testing.assert_close(quick(h[:MANY], one), cell.step(h[:MANY], one), rtol=0, atol=atol)


@pytest.mark.parametrize("n", [1, 40])
def test_an_lstm_reads_in_float32_as_in_float64(n, monkeypatch):
    network, (ids, lengths) = made("lstm"), texts(40)
    ids, lengths = ids[:n], lengths[:n].clip(min=1)
    for name, most in (("AT_ONCE", 64), ("FEWEST", 2**14)):  # from one state in a step to 2,560
        monkeypatch.setattr(module, name, most)
    given = subspaces(network, ranks=(1, 3) * 32)
    exact = project_out_each(network, given)(ids, lengths)
    found = project_out_each(network.float(), [(V.float(), at.float()) for V, at in given])(ids, lengths)
    torch.testing.assert_close(found.double(), exact, rtol=0, atol=1e-5)


@pytest.mark.parametrize("cores", [1, 2, 3, 4])
def test_no_other_parts_of_texts_take_less_time(cores):
    def longest(sizes):
        starts = np.cumsum([0, *sizes[:-1]])
        return (np.add.reduceat(lengths, starts) + module.ALONE * lengths[starts]).max()

    rng = np.random.default_rng(0)
    for lengths in (np.sort(rng.geometric(0.005, 12))[::-1], np.full(7, 9), np.array([1000, 1, 1, 1, 1])):
        every = [np.diff([0, *cuts, len(lengths)]) for cuts in combinations(range(1, len(lengths)), cores - 1)]
        sizes = equal_parts(lengths, cores)
        assert sum(sizes) == len(lengths) and len(sizes) <= cores and min(sizes) > 0
        assert longest(sizes) == min(map(longest, every))
    for lengths in ([0], [0, 0, 0], [5]):
        assert sum(equal_parts(np.array(lengths), cores)) == len(lengths)


def test_all_classes_are_read():
    network = rnnlens.Network(WORDS, hidden=6, embedding=4, classes=list("xyz")).double().requires_grad_(False)
    ids, lengths = texts()
    given = subspaces(network)
    found = project_out_each(network, given)(ids, lengths)
    assert found.shape == (5, 9, 3)
    torch.testing.assert_close(found[2], project_out(network, *given[2])(ids, lengths), rtol=0, atol=1e-12)


def test_cores_change_nothing():
    network, (ids, lengths) = made("gru"), texts(40)
    versions = project_out_each(network, subspaces(network))
    with threads_for(network, 3):
        shared = versions(ids, lengths)
    assert torch.equal(shared, versions(ids, lengths))
