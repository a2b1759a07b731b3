"""Every context function recovers what is known of a network made by hand; trained and foreign networks go through."""

import dataclasses
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from handmade import FAST, H0, LATE, MODIFIERS, NEUTRAL, SLOW, TRANSIENT, VALENCE, Documents, handmade

import rnnlens
from rnnlens import RnnlensError
from rnnlens.analysis.examples import corpus_examples
from rnnlens.context.barcodes import barcode, component_barcodes
from rnnlens.context.bilinear import fit_bilinear
from rnnlens.context.decay import fit_exponential
from rnnlens.context.edges import beginning, ending
from rnnlens.context.effects import after, effects, word_inputs
from rnnlens.context.finding import find_modifiers
from rnnlens.context.impulse import impulse, timescales
from rnnlens.context.negation import negation_form
from rnnlens.context.perturbation import (
    Reviews,
    compare,
    compare_logits,
    final_logits,
    initial_states_without,
    perturb,
)
from rnnlens.context.probes import Probes, bag_of_words
from rnnlens.context.strength import clear_at, kind_of, strengths, training_error
from rnnlens.context.subspace import fit_subspace, project_out, random_subspace
from rnnlens.networks.versions import Versions

PROBES = Probes(("great", "good"), ("awful", "bad"))


@pytest.fixture(scope="module")
def known():
    """The handmade network, its line from slow points along the sum, its modifiers and their subspace."""
    network, Q = handmade()
    along = torch.linspace(-4, 4, 200, dtype=torch.float64)
    line = rnnlens.fit_line_attractor(network, along.unsqueeze(1) * Q[:, 0])
    modifiers = find_modifiers(network, line, probes=PROBES)
    rows = torch.tensor([modifiers.row(word) for word in MODIFIERS])
    return network, Q, line, modifiers, rows, fit_subspace(network, line, modifiers, rank=2, rows=rows)


def test_strength_is_the_share_by_which_the_next_words_effect_changes(known):
    network, _, line, modifiers, _, _ = known
    assert set(modifiers.strongest(len(MODIFIERS))) == set(MODIFIERS)
    assert {modifiers.words[i] for i in modifiers.selected.tolist()} == set(MODIFIERS)
    size = {word: abs(sum(left)) for word, left in MODIFIERS.items()}
    for word, (fast, slow) in MODIFIERS.items():
        assert modifiers[word]["strength"] == pytest.approx(fast + slow)
        assert modifiers[word]["norm"] / modifiers["not"]["norm"] == pytest.approx(size[word] / 2)
        alone, after_it = (
            network.logit(after(network, line.h_star, words)[-1]) for words in (["good"], [word, "good"])
        )
        blank = network.logit(after(network, line.h_star, [word, "<pad>"])[-1])
        rest = network.logit(network.step(line.h_star))
        assert float((after_it - blank) / (alone - rest) - 1) == pytest.approx(fast + slow)  # by its definition
    for word in (*NEUTRAL, *VALENCE):
        assert abs(modifiers[word]["strength"]) < 1e-9


def test_kinds_follow_from_strength_error_and_own_effect(known):
    modifiers = known[3]
    kinds = {word: modifiers[word]["kind"] for word in MODIFIERS}
    assert kinds == {
        "not": "negator",
        "never": "negator",
        "very": "intensifier",
        "so": "intensifier",
        "hardly": "negator",
        "really": "intensifier",
    }
    assert {modifiers[word]["kind"] for word in (*NEUTRAL, *VALENCE)} == {"none"}
    assert kind_of(-0.3) == "diminisher" and kind_of(-0.3, error=0.2) == "unclear"
    assert kind_of(-0.8, error=0.1, own=-1.0) == "valence" and kind_of(0.05) == "none"


def test_the_norm_is_that_of_the_jacobians_change_formed_in_full(known):
    network, _, line, modifiers, _, _ = known
    at = modifiers.row("so")
    J_mod, J_star = (rnnlens.jacobians(network, h)[1] @ network.E.t() for h in (modifiers.h_mod[at], line.h_star))
    assert modifiers.norm[at].item() == pytest.approx((J_mod - J_star).norm().item(), rel=1e-9)
    assert modifiers.scale == pytest.approx(J_star.norm().item(), rel=1e-9)


def test_lists_are_ordered_by_what_is_certain_and_by_the_norm_if_asked(known):
    modifiers = known[3]
    doubt = modifiers.errors.clone()
    doubt[2, modifiers.row("not")] = 0.6
    doubt[2, modifiers.row("really")] = 0.5
    doubtful = dataclasses.replace(modifiers, errors=doubt)
    assert modifiers.strongest(1) == ["not"] and doubtful.strongest(1) != ["not"]
    assert doubtful["really"]["kind"] == "unclear" and "really" not in doubtful.strongest(20)
    assert doubtful.strongest(1, kind="unclear") == ["really"]
    assert set(modifiers.strongest(2, by="norm")) == {"not", "so"}  # both change effects by twice their size
    least = modifiers["very"]["norm"]
    assert all(modifiers[word]["norm"] >= least for word in modifiers.strongest(50, by="norm", threshold=least))


def test_errors_of_probes_are_those_of_other_probe_words():
    """The error by closed form is the spread of the strength over draws of probe words from the same language."""
    network = rnnlens.Network([f"w{i}" for i in range(400)], arch="gru", hidden=12, embedding=8, seed=2).double()
    states = rnnlens.visited_states(network, n=300)
    line = rnnlens.fit_line_attractor(network, states)
    effect = effects(network, line.h_star, network.E.detach())
    order, generator = effect.argsort(descending=True).tolist(), np.random.default_rng(0)
    positive, negative = order[:120], order[-120:]
    drawn = []
    for _ in range(60):
        some = [generator.choice(side, 20, replace=False) for side in (positive, negative)]
        probes = Probes(*(tuple(network.vocab.decode(side.tolist())) for side in some))
        drawn.append(strengths(network, line, torch.arange(30), probes))
    spread = torch.stack([one.strength for one in drawn]).std(0)
    expected = torch.stack([one.from_probes for one in drawn]).mean(0)
    assert 0.7 < float((expected / spread).median()) < 1.4


def test_few_words_are_clear_by_chance_and_true_ones_are():
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(10_000, generator=generator, dtype=torch.float64)
    error = torch.ones_like(noise)
    assert int((noise.abs() >= clear_at(noise, error)).sum()) <= 2  # a bar of 2 errors would name 450 of them
    true = torch.cat([noise[:9_000], noise[9_000:] + 5])
    found = (true >= clear_at(true, error)).nonzero()[:, 0]
    assert clear_at(true, error) > 2 and int((found >= 9_000).sum()) > 900
    assert float((found < 9_000).double().mean()) < 0.1


def test_networks_that_have_read_less_are_less_certain_within_what_was_measured():
    moves = torch.tensor([0.0, 0.5, 1.0, 5.0])
    much, little, hardly = (training_error(moves, read) for read in (None, 1e6, 1.0))
    assert bool((much.diff() > 0).all()) and bool((little[1:] > much[1:]).all())
    assert float(hardly[1]) == pytest.approx(float(training_error(moves, 1e5)[1]))  # no more than was ever measured


def test_measures_do_not_depend_on_how_many_words_are_looked_at(known):
    network, _, line, modifiers, _, _ = known
    some = find_modifiers(network, line, top=12, probes=PROBES)
    rows = [modifiers.row(word) for word in some.words]
    torch.testing.assert_close(some.strength, modifiers.strength[rows])
    torch.testing.assert_close(some.errors, modifiers.errors[:, rows])


def test_the_change_fades_with_the_words_own_timescale(known):
    _, _, _, modifiers, _, _ = known
    taus = {word: modifiers[word]["tau"] for word in ("not", "really")}
    assert taus["not"] == pytest.approx(FAST, rel=0.05)
    assert taus["really"] == pytest.approx(SLOW, rel=0.05)


def test_one_table_for_several_networks(known):
    network, _, line, modifiers, _, _ = known
    other, Q = handmade(seed=5)
    other_line = rnnlens.fit_line_attractor(other, torch.linspace(-4, 4, 50).double().unsqueeze(1) * Q[:, 0])
    both = find_modifiers([network, other], [line, other_line], probes=PROBES)
    assert both.networks == 2 and set(both.strongest(6)) == set(MODIFIERS)
    torch.testing.assert_close(both.strength, modifiers.strength, atol=1e-9, rtol=0)  # the same, rotated otherwise
    one = torch.stack([m.errors[2] for m in both.members]).mean(0)
    assert bool((both.errors[2] < one).all())  # two networks that agree are surer than one


def test_barcodes_are_the_change_of_each_probe(known):
    network, _, line, _, _, _ = known
    found = barcode(network, line, "not", PROBES)
    expected = -2 * (1 + TRANSIENT) * torch.tensor([2.0, 1.0, -2.0, -1.0]).double()
    torch.testing.assert_close(torch.cat([found.positive, found.negative]), expected)
    assert found.kind == "negator" and found.share == pytest.approx(-2)
    assert barcode(network, line, "w3", PROBES).positive.abs().max() < 1e-9


def test_the_subspace_is_spanned_by_what_modifiers_leave(known):
    _, Q, line, _, _, subspace = known
    inside = (subspace.components @ Q).square()
    torch.testing.assert_close(inside[0, 1].item(), 1.0, atol=1e-9, rtol=0)  # most variance: the fast coordinate
    torch.testing.assert_close(inside[1, 2].item(), 1.0, atol=1e-9, rtol=0)
    assert subspace.explained[:2].sum().item() == pytest.approx(1)
    assert (subspace.components @ line.tangent(line.h_star)).abs().max() < 1e-9
    rest = fit_subspace(known[0], line, known[3], rank=1, rows=torch.arange(len(known[3])), without=subspace.components)
    assert (rest.components @ subspace.components.t()).abs().max() < 1e-9
    alone = [set(words) for words in subspace.one_component()]
    assert alone == [{"not", "so", "never", "very"}, {"hardly", "really"}]
    where = dict(zip(subspace.words, subspace.coordinates.tolist(), strict=True))
    assert where["not"] == pytest.approx([-2, 0], abs=1e-9) and where["really"] == pytest.approx([0, 0.7], abs=1e-9)


def test_projecting_out_makes_not_good_read_like_good_and_leaves_the_network_alone(known):
    network, Q, _, _, _, subspace = known
    quiet = project_out(network, subspace)
    pads = ["<pad>"] * 60  # the beginning's own stress is gone by then
    plain, negated = (dict(n.read(words=[*pads, "not", "good"]))["good"] for n in (quiet, network))
    assert negated == pytest.approx(-1.5, abs=1e-3) and plain == pytest.approx(1.5, abs=1e-9)
    assert quiet.read(words=[*pads, "good"])[-1][1] == pytest.approx(1.5)
    random = random_subspace(network.size, 2, torch.Generator().manual_seed(0), Q[:, [0, 3]].t())
    assert project_out(network, random.double()).read(words=[*pads, "not", "good"])[-1][1] < 0
    assert quiet.read(words=["good"])[-1][1] == pytest.approx(1.5)  # and h0's stress is out as well


@pytest.mark.parametrize("arch", ["gru", "lstm", "ugrnn", "vanilla"])
def test_a_projected_networks_sequence_is_its_steps(arch):
    network = rnnlens.Network(["a", "b", "c"], arch=arch, hidden=6, embedding=3).double().requires_grad_(False)
    V = random_subspace(network.size, 2, torch.Generator().manual_seed(1))
    quiet = project_out(network, V, torch.ones(network.size).double())
    ids = torch.tensor([[0, 1, 2, -1, 1]])
    states = quiet.states(ids)[0]
    h = quiet.h0
    for t in range(5):
        torch.testing.assert_close(states[t], h)
        torch.testing.assert_close(V @ h, V.sum(1))
        h = quiet.step(h, network.embed(ids[0, t]))
    before = network.states(ids)
    torch.testing.assert_close(quiet(ids)[0], network.logit(h))
    torch.testing.assert_close(network.states(ids), before)


def test_timescales_are_the_coordinates_decay(known):
    network, _, _, modifiers, _, subspace = known
    scales = timescales(network, subspace, modifiers)
    tau = dict(zip(scales.words, scales.tau.tolist(), strict=True))
    assert tau["not"][0] == pytest.approx(FAST, rel=0.03) and tau["really"][1] == pytest.approx(SLOW, rel=0.03)
    assert np.isnan(tau["not"][1])  # nothing there that could decay
    assert scales.mean() == [pytest.approx(FAST, rel=0.03), pytest.approx(SLOW, rel=0.03)]


def test_exponential_fits_find_what_made_the_series():
    t = torch.arange(30).double()
    series = torch.stack([3 * torch.exp(-t / 4) + 1, -2 * torch.exp(-t / 0.8), torch.ones(30).double(), t])
    fit = fit_exponential(series)
    assert fit.tau[0].item() == pytest.approx(4, rel=0.02) and fit.c[0].item() == pytest.approx(1, abs=0.02)
    assert fit.tau[1].item() == pytest.approx(0.8, rel=0.03) and fit.a[1].item() == pytest.approx(-2, rel=0.01)
    assert fit.tau[2:].isnan().all()  # neither what stays nor what grows decays
    torch.testing.assert_close(fit.at(t)[:2], series[:2], atol=0.05, rtol=0)


def test_impulse_responses_return_to_the_line(known):
    network, _, line, _, _, subspace = known
    found = impulse(network, line, subspace, "not")
    torch.testing.assert_close(found.distance, 2 * torch.exp(-torch.arange(31).double() / FAST))
    assert found.to_dict()["tau"] == pytest.approx(FAST, rel=0.02)


def test_one_bilinear_term_explains_everything(known):
    network, _, line, modifiers, rows, _ = known
    model = fit_bilinear(network, line, modifiers, rank=1, most=3, rows=rows)
    assert model.explained[0].item() == pytest.approx(1) and model.held_out[0].item() == pytest.approx(1)
    assert (model.explained <= model.bound + 1e-9).all()
    move = (modifiers.h_mod[rows] - line.h_star) @ model.m[0]
    size = (modifiers.strength[rows] / move).std() / (modifiers.strength[rows] / move).abs().mean()
    assert size < 1e-6  # the component weighs both coordinates alike, as the network does


def test_component_barcodes_show_that_both_coordinates_do_the_same(known):
    network, _, line, _, _, subspace = known
    first, second = component_barcodes(network, line, subspace.components, torch.ones(2).double(), PROBES)
    torch.testing.assert_close(first.positive, second.positive)
    assert first.kind == "intensifier"  # components point to where valence is stressed


def test_the_beginning_stresses_and_fades(known):
    network, _, line, _, _, subspace = known
    found = beginning(network, line, subspace, PROBES)
    assert found.barcode.kind == "intensifier" and found.barcode.share == pytest.approx(H0)
    torch.testing.assert_close(found.path[:, 1], H0 * torch.exp(-torch.arange(51).double() / SLOW), atol=1e-9, rtol=0)
    assert found.interventions["on_line"]["takes_away"] == pytest.approx(1)
    assert found.interventions["projected"] == pytest.approx({"moved": H0, "takes_away": 1})
    starts = [line.nearest(network.h0), *initial_states_without(network, [subspace.components], line.h_star)]
    on_line, calm = (Versions.starting(network, torch.stack(starts)).one(k) for k in range(2))
    assert on_line.read("good")[-1][1] - float(on_line.logit(on_line.h0)) == pytest.approx(1.5)
    assert calm.read("good")[-1][1] == pytest.approx(1.5) and network.read("good")[-1][1] == pytest.approx(2.25)


def test_the_end_stresses_by_a_mode_that_can_be_removed(known):
    network, _, line, _, _, _ = known
    found = ending(network, line, PROBES, steps=80, examples=("good", "awful"))
    assert found.ratio.tolist() == pytest.approx([1 / 1.5] * 4, rel=1e-3)
    strongest = found.modes.strongest[0]
    assert found.modes.timescales[strongest].item() == pytest.approx(LATE)
    assert found.modes.change[strongest].item() == pytest.approx(0.5 * 1.5)
    torch.testing.assert_close(found.modes.course[0], 0.75 * torch.exp(-torch.arange(81).double() / LATE))
    brief = ending(network, line, PROBES, steps=8, examples=("good",)).modes  # over 8 words this mode integrates
    assert not brief.eligible[strongest] and bool(found.modes.eligible[strongest])
    flat = torch.tensor([1.0, -2.0]).double().unsqueeze(1).expand(2, 81)
    torch.testing.assert_close(found.modes.without, flat, atol=1e-6, rtol=0)


def test_negation_here_is_a_factor(known):
    network, _, line, modifiers, _, _ = known
    found = negation_form(network, line, modifiers)
    assert set(found["words"]) >= {"not", "never"}
    assert found["factor_explained"] == pytest.approx(1) and found["shift_explained"] < 0.95
    doubt = torch.full_like(modifiers.errors, 9.0)
    doubt[:, modifiers.row("not")] = 0.01
    alone = negation_form(network, line, dataclasses.replace(modifiers, errors=doubt))
    assert alone["words"] == ["not"] and alone["reversal_explained"] == pytest.approx(1)
    assert dict(zip(found["words"], found["factor"], strict=True))["not"] == pytest.approx(-1)


# --- accuracy ---------------------------------------------------------------------------------------------------------


def reviews_of(network, n=60):
    """Reviews `pads word`, or `pads not word`: their label needs the modifier."""
    generator = np.random.default_rng(0)
    rows, labels = [], []
    for _ in range(n):
        word = str(generator.choice(list(VALENCE)))
        negated = bool(generator.integers(2))
        fill = ["<pad>"] * int(generator.integers(40, 60))
        rows.append(network.vocab.encode([*fill, *(["not"] if negated else ["w1"]), word]))
        labels.append((VALENCE[word] > 0) != negated)
    return Documents(rows, labels)


def test_what_accuracy_hangs_on(known):
    network, _, _, _, _, subspace = known
    split = reviews_of(network)
    reviews = Reviews.of(split, "cpu")
    found = perturb(network, subspace, reviews, ranks=(1, 2, 3), draws=lambda rank: 4)
    assert found.accuracy == 1 and set(found.removed) == {1, 2}
    kept = np.mean([network.vocab.index["not"] not in row for row in split.rows])
    assert found.removed[1].accuracy == pytest.approx(kept) and found.removed[1].p < 1e-3
    assert found.removed[1].interval[0] < found.removed[1].difference < found.removed[1].interval[1] < 0
    assert np.median([d.accuracy for d in found.random[1]]) == 1
    assert json.loads(json.dumps(found.to_dict()))["removed"]["1"]["n"] == 60


def test_batches_do_not_change_logits_and_shuffling_keeps_words(known):
    network = known[0]
    split = reviews_of(network, n=20)
    reviews = Reviews.of(split, "cpu")
    one_by_one = [network(torch.as_tensor(row).unsqueeze(0)).item() for row in split.rows]
    np.testing.assert_allclose(final_logits(network, reviews), one_by_one, atol=1e-5)
    again = Reviews.of(split, "cpu", held=0)  # too many to hold: read for each pass
    assert not isinstance(again.batches, list)
    for how in ({}, {"shuffle": 1}, {"pads": 3}):
        np.testing.assert_array_equal(final_logits(network, again, **how), final_logits(network, reviews, **how))
    shuffled = final_logits(network, reviews, shuffle=1)
    assert not np.allclose(shuffled, one_by_one) and np.array_equal(shuffled, final_logits(network, reviews, shuffle=1))
    padded = final_logits(network, reviews, pads=200)
    truth = [network(torch.as_tensor([*row, *[-1] * 200]).unsqueeze(0)).item() for row in split.rows]
    np.testing.assert_allclose(padded, truth, atol=1e-5)


def test_differences_are_paired():
    before = np.array([True] * 90 + [False] * 10)
    after_ = before.copy()
    after_[:8], after_[90] = False, True
    found = compare(before, after_)
    assert (found.lost, found.won, found.n) == (8, 1, 100) and found.difference == pytest.approx(-0.07)
    from scipy.stats import binomtest

    assert found.p == pytest.approx(binomtest(1, 9).pvalue)
    assert compare(before, before).p == 1 and compare(before, before).interval == (0, 0)
    low, high = found.interval
    assert low < -0.07 < high and low > -0.15 and high < 0


def test_a_mere_shift_of_all_logits_is_told_apart():
    generator = np.random.default_rng(0)
    logits = generator.normal(size=1000)
    labels = logits + 0.3 * generator.normal(size=1000) > 0
    found = compare_logits(logits, logits + 5, labels)
    assert found.difference < -0.3 and abs(found.recentred.difference) == 0


# --- probes, and the whole analysis -----------------------------------------------------------------------------------


def test_words_that_no_review_has_are_no_probes():
    """A network often knows more words than the reviews have: the rest filled up both sides, in the order of ids."""
    texts = ["good film", "great film", "bad film", "awful film"] * 10
    own = rnnlens.Corpus.from_texts(texts, [1, 1, 0, 0] * 10, validation=0)
    vocab = rnnlens.Vocab(["<unk>", *(f"w{i}" for i in range(300)), "good", "great", "film", "bad", "awful"])
    probes = Probes.from_corpus(own.with_vocab(vocab))
    assert set(probes.words) <= set(own.vocab) and {"good", "great"} <= set(probes.positive)


def test_examples_have_no_unknown_words():
    """Unknown words are blank inputs in a vocabulary without `<unk>`."""
    network = rnnlens.Network(["the", "films", "good"], hidden=2, embedding=2)
    corpus = rnnlens.Corpus.from_texts(["the films good .", "the films the good"] * 4, [1, 0] * 4).with_vocab(
        network.vocab
    )
    unclear = SimpleNamespace(words=["films"], strength=torch.zeros(1), kinds=["unclear"])
    assert {one.text for one in corpus_examples(network, unclear, corpus.train)} == {"the films the good"}


def test_probes_are_what_separates_the_reviews(known):
    network = known[0]

    class Corpus:
        vocab, train = network.vocab, reviews_of(network, 400)

    Corpus.train.labels = [VALENCE[network.vocab.words[row[-1]]] > 0 for row in Corpus.train.rows]
    probes = Probes.from_corpus(Corpus, n=2)
    assert set(probes.positive) == {"good", "great"} and set(probes.negative) == {"bad", "awful"}
    some = bag_of_words(Corpus, most=100)  # of a corpus too large to hold, a sample
    assert {network.vocab.words[i] for i in some.argsort()[[0, 1, -2, -1]]} == {"good", "great", "bad", "awful"}
    assert not np.array_equal(some, bag_of_words(Corpus)) and np.array_equal(some, bag_of_words(Corpus, most=100))
    own = Probes.from_network(network, known[2], n=2)
    assert own.positive == ("great", "good") and "own" in own.source


def test_analyze_the_handmade_network(known):
    network = known[0]
    analysis = rnnlens.analyze(network, probes=PROBES, rank=2, starts=200)
    assert set(analysis.modifiers.strongest(6)) == set(MODIFIERS)
    assert analysis.line.integration_eigenvalue.real == pytest.approx(1)


def test_the_toy_networks_modifiers_are_its_modifiers(tmp_path):
    shutil.copytree(Path(__file__).parent / "data" / "toy-gru", tmp_path / "run")
    network = rnnlens.load(tmp_path / "run").network.requires_grad_(False)
    states = rnnlens.visited_states(network, rnnlens.toy_corpus(train=1, validation=100).validation, n=500)
    line = rnnlens.fit_line_attractor(network, rnnlens.find_fixed_points(network, states, mode="slow"))
    probes = Probes(("awesome", "good"), ("awful", "bad"))
    modifiers = find_modifiers(network, line, probes=probes)
    assert set(modifiers.strongest(2)) == {"not", "extremely"}
    assert modifiers["not"]["strength"] == pytest.approx(-2, abs=0.25) and modifiers["not"]["kind"] == "negator"
    assert modifiers["extremely"]["strength"] == pytest.approx(1, abs=0.15)
    e = word_inputs(network, ["good"])
    h = after(network, line.h_star, ["not"])[-1]
    rows = torch.tensor([modifiers.row(word) for word in ("not", "extremely", "the", "good", "bad")])
    quiet = project_out(network, fit_subspace(network, line, modifiers, rank=2, rows=rows))
    h_quiet = after(quiet, line.h_star, ["not"])[-1]
    assert effects(network, h, e).item() < -0.9 and effects(quiet, h_quiet, e).item() > 0.5


def test_projecting_out_leaves_a_network_that_is_being_trained_alone():
    network = rnnlens.Network(["a", "b"], hidden=4, embedding=2)
    V = random_subspace(network.size, 1, torch.Generator().manual_seed(0)).float()
    quiet = project_out(network, V)
    assert all(parameter.requires_grad for parameter in network.parameters())
    assert not any(parameter.requires_grad for parameter in quiet.parameters())
    with torch.no_grad():
        network.cell.W.add_(1)
    assert not torch.equal(quiet.cell.cell.W, network.cell.W)


def test_rising_series_have_no_timescale():
    t = torch.arange(30).double()
    assert fit_exponential(1.1 - torch.exp(-t / 5)).tau.isnan()


@pytest.mark.parametrize(
    "call",
    [
        lambda n, line, mods, subspace: project_out(n, 2 * subspace.components),  # not orthonormal
        lambda n, line, mods, subspace: rnnlens.steer(n, subspace, torch.nan),
        lambda n, line, mods, subspace: Probes(("good",), ("good",)),
        lambda n, line, mods, subspace: Probes("good", ("bad",)),  # letters would be words
        lambda n, line, mods, subspace: find_modifiers([n, n], [line, line], probes=PROBES),  # one network is no two
        lambda n, line, mods, subspace: compare(np.ones(3, bool), np.ones((3, 3), bool)),
        lambda n, line, mods, subspace: compare_logits(np.ones(2), np.ones(2), np.array([-1, 1])),
        lambda n, line, mods, subspace: rnnlens.attribute(n, n.h0, ["not"], PROBES, parts={"a": [0], "b": [0, 1]}),
        lambda n, line, mods, subspace: barcode(n, dataclasses.replace(line, inputs=n.E[0]), "not", PROBES),
        lambda n, line, mods, subspace: mods.strongest(kind="booster"),
        lambda n, line, mods, subspace: rnnlens.ClassProbes({"joy": ["a"], "fear": ["a"]}),
    ],
)
def test_what_would_be_wrong_without_a_word_is_refused(call, known):
    network, _, line, modifiers, _, subspace = known
    with pytest.raises(RnnlensError):
        call(network, line, modifiers, subspace)
