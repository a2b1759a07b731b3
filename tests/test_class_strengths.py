"""Strengths of words in networks with several classes, on networks in which they are known."""

from __future__ import annotations

import pytest
import torch
from handmade import handmade
from handmade_classes import NAMES, class_words, handmade_classes, visited

import rnnlens
from rnnlens import ClassProbes, class_geometry, class_strengths, fit_line_attractor
from rnnlens.context.class_strength import centered, gains
from rnnlens.context.effects import effects, word_inputs
from rnnlens.context.strength import strengths

BY_CLASS = [-2.0, -1.0, 0.0, 0.5]  # what *hardly* does to the words of each class
MODIFIERS = {"not": -2.0, "hardly": BY_CLASS, "very": 1.0}


def probes_of(names) -> ClassProbes:
    words = class_words(names)
    return ClassProbes({name: [word for word, (k, _) in words.items() if names[k] == name] for name in names})


@pytest.fixture(scope="module")
def measured():
    network = handmade_classes(NAMES, MODIFIERS)
    geometry = class_geometry(network, states=visited(network, NAMES))
    return network, geometry, class_strengths(network, geometry, probes_of(NAMES))


def test_for_two_classes_it_is_the_strength_of_one_logit_with_its_error():
    network, Q = handmade()
    line = fit_line_attractor(network, torch.linspace(-5, 5, 50, dtype=torch.float64).unsqueeze(1) * Q[:, 0])
    probes = rnnlens.Probes(["good", "great", "w1", "w2"], ["bad", "awful"])
    ids = torch.arange(len(network.vocab))
    known = strengths(network, line, ids, probes)
    e = probes.inputs(network)
    h_mod = network.step(line.h_star.expand(len(ids), -1), network.E.detach())
    # The evidence of two classes is half of the logit, up and down.
    usual, after = (torch.stack([x / 2, -x / 2], -1) for x in (effects(network, h, e) for h in (line.h_star, h_mod)))
    found = gains(usual, after, [4, 2])
    torch.testing.assert_close(found.strength, known.strength, atol=1e-12, rtol=0)
    torch.testing.assert_close(found.error, known.from_probes, atol=1e-12, rtol=0)
    for k in range(2):
        torch.testing.assert_close(found.by_class[:, k], known.strength, atol=1e-12, rtol=0)
        torch.testing.assert_close(found.errors[:, k], known.from_probes, atol=1e-12, rtol=0)
    assert float(found.strength[network.vocab.words.index("not")]) == pytest.approx(-2.0, abs=0.05)


def test_words_that_change_all_classes_alike_have_one_strength(measured):
    _, _, table = measured
    for word, strength in (("not", -2.0), ("very", 1.0)):
        row = table[word]
        assert row["strength"] == pytest.approx(strength, abs=1e-6)
        assert row["by_class"] == pytest.approx([strength] * 4, abs=1e-6)
    assert table["not"]["kind"] == "negator" and table["very"]["kind"] == "intensifier"
    assert table["w3"]["kind"] == "none" and table["joy7"]["strength"] == pytest.approx(0, abs=1e-6)
    assert set(table.strongest(3)) == {"not", "very", "hardly"} and table.strongest(1, "negators") == ["not"]


def test_a_word_that_changes_one_class_more_than_another_has_known_strengths(measured):
    """With factors g_j on the words of class j of a simplex, the least-squares factor of class k is
    (g_k (C − 2) + mean g)/(C − 1), because words of other classes are evidence against k; overall it is the mean."""
    _, _, table = measured
    g = 1 + torch.tensor(BY_CLASS)
    expected = (g * 2 + g.mean()) / 3 - 1
    row = table["hardly"]
    assert row["by_class"] == pytest.approx(expected.tolist(), abs=1e-6)
    assert row["strength"] == pytest.approx(float(g.mean()) - 1, abs=1e-6)


def test_spread_says_where_the_evidence_of_each_class_goes(measured):
    network, _, table = measured
    simplex = torch.eye(4, dtype=torch.float64) * (4 / 3) - 1 / 3  # own evidence 1, the others −1/3
    torch.testing.assert_close(table.spread(), simplex, atol=1e-6, rtol=0)
    torch.testing.assert_close(table.spread("not"), -simplex, atol=1e-6, rtol=0)
    expected = (1 + torch.tensor(BY_CLASS, dtype=torch.float64)).unsqueeze(1) * simplex
    torch.testing.assert_close(table.spread("hardly"), expected, atol=1e-6, rtol=0)
    # The same from the network itself, word by word.
    words, h = table.probes.words["fear"], table.h_star
    after = network.step(h, word_inputs(network, ["hardly"])[0])

    def own(at):
        logits = [
            network.logit(network.step(at, e)) - network.logit(network.step(at)) for e in word_inputs(network, words)
        ]
        return centered(torch.stack(logits)).mean(0)

    torch.testing.assert_close(table.spread("hardly")[1], own(after) / own(h)[1], atol=1e-9, rtol=0)


def test_the_overall_strength_is_the_mean_of_the_classes_weighted_by_their_evidence():
    generator = torch.Generator().manual_seed(0)
    usual = centered(torch.randn(12, 3, generator=generator, dtype=torch.float64))
    after = centered(torch.randn(5, 12, 3, generator=generator, dtype=torch.float64))
    found = gains(usual, after, [3, 4, 5])
    means = torch.stack([part.mean(0) for part in usual.split([3, 4, 5])])
    weights = (means - means.mean(0)).square().sum(0)
    torch.testing.assert_close(found.strength, found.by_class @ weights / weights.sum(), atol=1e-12, rtol=0)
    # The error is what resampling the probes gives, while the strength changes by little.
    factor = 0.5 * usual + 0.05 * centered(torch.randn(12, 3, generator=generator, dtype=torch.float64))
    many, later = usual.repeat(40, 1), factor.repeat(40, 1)
    order = torch.cat(
        [torch.arange(480).view(40, 12)[:, part].flatten() for part in ([0, 1, 2], [3, 4, 5, 6], range(7, 12))]
    )
    many, later, sizes = many[order], later[order], [120, 160, 200]
    error = gains(many, later.unsqueeze(0), sizes).error
    drawn = []
    for _ in range(300):
        rows = torch.cat(
            [o + torch.randint(n, (n,), generator=generator) for o, n in zip((0, 120, 280), sizes, strict=True)]
        )
        drawn.append(float(gains(many[rows], later[rows].unsqueeze(0), sizes).strength))
    assert float(torch.tensor(drawn).std()) == pytest.approx(float(error), rel=0.2)


def test_probes_come_from_the_network_or_the_corpus(measured):
    network, geometry, table = measured
    own = ClassProbes.from_network(network, geometry.neutral, n=5)
    assert own.words["joy"] == ("joy7", "joy6", "joy5", "joy4", "joy3") and own.sizes == [5] * 4
    assert class_strengths(network, geometry)["not"]["strength"] == pytest.approx(-2.0, abs=1e-6)
    texts = [f"{name}{i % 8} w{i % 7}" for i in range(80) for name in NAMES]
    corpus = rnnlens.Corpus.from_texts(texts, NAMES * 80)
    words = ClassProbes.from_corpus(corpus, n=4).words
    assert all(word.startswith(name) for name in NAMES for word in words[name])
    assert ClassProbes.from_dict(own.to_dict()) == own
    assert table.table()["word"].to_list()[0] in ("not", "very", "hardly") and "not" in repr(table)
    assert "strength love" in table.table().columns and "<td>not</td>" in table._repr_html_()


def test_a_network_with_many_classes_is_measured_on_some_of_them():
    names = [f"class {i}" for i in range(40)]
    network = handmade_classes(names, {"not": -2.0}, size=90)
    geometry = class_geometry(network, states=visited(network, names, n=200))
    table = class_strengths(network, geometry)
    assert table["not"]["strength"] == pytest.approx(-2, abs=1e-6) and table.by_class.shape[1] == 40
    assert table.spread("not").shape == (30, 40)


def test_without_the_modifier_subspace_no_class_is_modified_and_all_evidence_stays():
    """On six classes: barcodes, bilinear model and edges measure one class; the subspace serves all of them."""
    names = ["anger", "fear", "joy", "love", "sadness", "surprise"]
    network = handmade_classes(names, {"not": -2.0, "never": -1.5, "very": 1.0, "so": 0.5}, size=24)
    analysis = rnnlens.analyze(network, states=visited(network, names), class_="joy", rank=1)
    assert analysis.classes.geometry["count"] == 5 and analysis.classes.geometry["shape"] == "simplex"
    assert analysis.barcodes["not"].share == pytest.approx(-2, abs=0.05)
    assert float(analysis.bilinear.explained[0]) > 0.99 and "ending" in analysis.results
    without = rnnlens.project_out(network, analysis.subspace)
    plain, negated = (torch.stack([without(f"{word} {name}5") for name in names]) for word in ("w1", "not"))
    torch.testing.assert_close(negated, plain, atol=0.05, rtol=0)
    torch.testing.assert_close(plain, torch.stack([network(f"w1 {name}5") for name in names]), atol=0.02, rtol=0)
    assert float((torch.stack([network(f"not {name}5") for name in names]) + plain).abs().max()) < 0.05
