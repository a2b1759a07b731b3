"""Strengths are what lasts, beyond what valence does and beyond chance: on a network made by hand, and on numbers whose
truth is known."""

import pytest
import torch
from handmade import MODIFIERS, VALENCE, handmade

from rnnlens.context.effects import effects
from rnnlens.context.probes import Probes
from rnnlens.context.strength import PRIOR, beyond_valence, lasting, strengths, sure_scores

PROBES = Probes(("great", "good"), ("awful", "bad"))


def test_what_is_soon_forgotten_is_not_read():
    network, Q = handmade()
    h = torch.zeros(network.size, dtype=torch.float64)
    read = lasting(network, h, later=200)
    torch.testing.assert_close(read, Q[:, 0], atol=1e-6, rtol=0)  # the sum alone, without the transient
    e = PROBES.inputs(network)
    whole = torch.tensor([VALENCE[word] for word in PROBES.words]).double()
    torch.testing.assert_close(effects(network, h, e, read), whole, atol=1e-6, rtol=0)
    assert (effects(network, h, e) - whole).abs().min() > 0.1  # at once they read half as much again


def test_strengths_are_the_shares_that_modifiers_were_given():
    network, _ = handmade()
    h = torch.zeros(network.size, dtype=torch.float64)
    ids = torch.as_tensor(network.vocab.encode(list(MODIFIERS)))
    found, own = strengths(network, h, ids, PROBES)
    expected = torch.tensor([sum(left) for left in MODIFIERS.values()]).double()
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)
    assert own.abs().max() < 1e-6  # modifiers have no valence of their own


@pytest.fixture
def words():
    """4,000 words: the stronger their valence, the less words count after them, and the more by chance; 40 modify."""
    generator = torch.Generator().manual_seed(0)
    valence = torch.randn(4_000, generator=generator, dtype=torch.float64)
    noise = 0.02 * (1 + 5 * valence.abs()) * torch.randn(4_000, generator=generator, dtype=torch.float64)
    modifies = torch.zeros(4_000, dtype=torch.bool)
    modifies[torch.randperm(4_000, generator=generator)[:40]] = True
    valence[modifies] *= 0.1
    strength = -0.3 * valence.square() + noise - 0.5 * modifies
    return valence, strength, modifies


def test_what_valence_does_is_taken_out(words):
    valence, strength, modifies = words
    found = beyond_valence(strength, valence)
    plain, left = (
        torch.corrcoef(torch.stack([x[~modifies], valence[~modifies].square()]))[0, 1] for x in (strength, found)
    )
    assert plain < -0.8 and left.abs() < 0.1
    assert found[modifies].mean() == pytest.approx(-0.5, abs=0.05)
    few = torch.linspace(-1, 1, 50)
    assert beyond_valence(few, few) is few  # too few words to compare


def test_chance_among_like_words_does_not_count_and_rare_words_count_less(words):
    valence, strength, modifies = words
    found = beyond_valence(strength, valence)
    sure = sure_scores(found, valence, None)
    first = sure.abs().argsort(descending=True)[:40]
    before = found.abs().argsort(descending=True)[:40]
    hits, hits_before = (modifies[rows].double().mean().item() for rows in (first, before))
    assert hits >= 0.8 and hits >= hits_before + 0.2
    assert (sure == 0).double().mean() > 0.8
    counts = torch.full((4_000,), int(PRIOR))
    torch.testing.assert_close(sure_scores(found, valence, counts), sure / 2)
