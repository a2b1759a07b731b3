"""The audit finds what networks made by hand get right and wrong, and says no more than its numbers do."""

from functools import partial

import pytest
import torch

import rnnlens
from rnnlens.analysis import audit as module
from rnnlens.analysis.mechanism import Measured, describe
from rnnlens.analysis.sentences import CONTRASTS, DENIALS, DIMINISHERS, FRAMES, INTENSIFIERS, KINDS
from rnnlens.cli import main

VALENCE = {"good": 1.0, "nice": 2.0, "bad": -1.0, "poor": -2.0}
CHANGES = {
    **dict.fromkeys(("not", "isn't", "wasn't", "never", "didn't"), -2.0), **dict.fromkeys(INTENSIFIERS, 1.0),
    **dict.fromkeys(DIMINISHERS, -0.5),
}  # fmt: skip
TEXTS = [
    *FRAMES,
    *(text for negated in FRAMES.values() for text in negated),
    *DENIALS,
    *(c for p in CONTRASTS for c in p),
]
WORDS = list(dict.fromkeys([*VALENCE, *CHANGES, "but", *(word for text in TEXTS for word in text.split())]))


def reader(words=WORDS, changes=CHANGES, forgets=1.0):
    """The logit sums valences; a modifier changes the word right after it alone; *but* forgets all before it.

    h: the sum, and what the last word does to the next one."""
    E = torch.tensor([[VALENCE.get(word, 0.0), changes.get(word, 0.0), forgets * (word == "but")] for word in words])

    def step(h, e):
        total = (1 - e[..., 2:]) * h[..., :1] + e[..., :1] * (1 + h[..., 1:])
        return torch.cat([total, e[..., 1:2] + 0 * h[..., :1]], -1)

    readout = (torch.tensor([1.0, 0.0], dtype=torch.float64), torch.zeros((), dtype=torch.float64))
    return rnnlens.adapt(step, E.double(), readout, words, torch.zeros(2, dtype=torch.float64)).requires_grad_(False)


@pytest.fixture(scope="module")
def found():
    return rnnlens.audit(reader())


def test_a_network_that_negates_the_next_word_alone_is_right_where_the_negator_stands_right_before_it(found):
    assert (set(found.positive), set(found.negative)) == ({"good", "nice"}, {"bad", "poor"})
    assert tuple(one.kind for one in found.kinds) == tuple(KINDS) and not found.left_out
    adjacent = 4 / 6  # frames in which the negator stands right before the adjective
    expected = {
        "plain": 1,
        "negated positive": adjacent,
        "negated negative": adjacent,
        "intensified": 1,
        "diminished": 1,
        "contrasted": 1,
        "double negation": 1 - adjacent,
    }
    assert {one.kind: one.accuracy for one in found.kinds} == pytest.approx(expected)
    assert [found[kind].n for kind in ("plain", "negated positive", "double negation")] == [24, 36, 4 * 24 * 2]
    assert found["plain"].mean_logit == pytest.approx(1.5) == found["intensified"].mean_logit
    assert found["negated positive"].mean_logit == pytest.approx(1.5 * (adjacent - (1 - adjacent)))
    assert found["negated positive"].sides == (None, pytest.approx(adjacent))
    assert found["diminished"].sides == (1, 1)


def test_the_worst_sentences_are_wrong_and_the_most_confident_first(found):
    worst = found["negated positive"].worst
    assert len(worst) == 10 and all(one.text.startswith("i ") and one.text.endswith("nice") for one in worst[:6])
    assert all(one.margin < 0 and one.expected == "negative" and one.logit == -one.margin for one in worst)
    kinds = {kind for kind, _ in found.worst(50)}
    assert kinds == {"negated positive", "negated negative", "double negation"}
    margins = [one.margin for _, one in found.worst(50)]
    assert margins == sorted(margins)
    assert not found["plain"].worst


def test_a_bag_of_words_reads_no_negation_and_no_degree():
    bag = rnnlens.audit(reader(changes={}, forgets=0.0), worst=3)
    right = {one.kind: one.accuracy for one in bag.kinds}
    assert [right[kind] for kind in ("plain", "negated positive", "negated negative")] == [1, 0, 0]
    assert [right[kind] for kind in ("intensified", "diminished", "double negation")] == [0, 0, 1]
    assert 0 < right["contrasted"] < 1 and len(bag["intensified"].worst) == 3


def test_the_interval_is_wilsons(found):
    p, n, z = 24 / 36, 36, 1.959964
    middle, half = (
        (p + z * z / 2 / n) / (1 + z * z / n),
        z * (p * (1 - p) / n + z * z / 4 / n**2) ** 0.5 / (1 + z * z / n),
    )
    assert found["negated positive"].interval == pytest.approx((middle - half, middle + half), abs=1e-6)
    assert found["plain"].interval[1] == 1


def test_peoples_phrases_are_grouped_by_their_words(found):
    phrases = [
        ("not good at all", -1),
        ("good but bad", -2),
        ("very nice", 1),
        ("n't", 1),
        ("it is poor", 1),
        ("the food", 0),
        ("not very good", -1),
    ]
    people = {one.kind: (one.right, one.n) for one in rnnlens.audit(reader(), trees=phrases).people}
    assert people == {
        "with a negator": (1, 2),
        "with but": (1, 1),
        "with an intensifier": (1, 2),
        "with none of these": (0, 1),
    }
    assert found.people == ()


def test_a_network_that_reads_backward_gets_no_explanation_by_the_next_word():
    backward = reader()
    backward.direction = "backwards"
    found = rnnlens.audit(backward)
    assert "from the last word to the first" in found.unmeasured
    assert not any(one.mechanism for one in found.kinds) and found["negated positive"].accuracy < 1


def test_kinds_that_the_vocabulary_has_no_words_for_are_named():
    few = rnnlens.audit(reader(words=["good", "bad", "it", "is", "not", "but", "was", "the", "poor"]))
    assert [one.kind for one in few.kinds] == ["plain", "negated positive", "negated negative"]
    assert dict(few.left_out)["intensified"].startswith("very, extremely") and len(few.left_out) == 4
    with pytest.raises(rnnlens.RnnlensError, match="intensified"):
        few["intensified"]


NOT = Measured("not", -1.08, 0.05, 2.0, -1.2)


def says(kind, **changes):
    numbers = {
        "positive": 2.0,
        "negative": -3.0,
        "negators": [NOT],
        "lag": 7.0,
        "intensifiers": [Measured("very", 0.5, 0.1, None, 0.0)],
        "diminishers": [Measured("slightly", -0.4, 0.1, None, -1.0)],
        "but": [Measured("but", 0.1, 0.2, None, 0.0)],
    }
    return describe(**{**numbers, **changes})[kind]


def test_the_mechanism_of_negation_follows_from_its_numbers():
    text = says("negated negative")  # −1.2 + (1 − 1.08)·(−3) = −0.96
    assert "*not* (strength −1.08 ± 0.05) takes the next word's effect away" in text
    assert "fades with a timescale of 2.0 words and is itself negative (−1.2 logits)" in text
    assert "(−3.0 alone) the two add −1.0, still negative; 3 words on" in text
    assert "37 % of the part that fades is left" in text
    assert "the two add −1.4, negative, which is right" in says("negated positive")
    flips = [Measured("not", -1.9, 0.05, None, 0.0), Measured("never", -1.0, 0.05, None, 0.0)]
    text = says("negated negative", negators=flips)
    assert "flips the next word's effect (to −90 % of it) and has hardly any effect" in text
    assert "the two add +2.7, positive, which is right (with *never* +0.0)." in text and "fades" not in text


def test_a_packaged_network_is_audited_from_the_command_line(capsys, monkeypatch):
    monkeypatch.setattr(module, "find_modifiers", partial(module.find_modifiers, top=1_000))  # quicker
    with pytest.raises(SystemExit) as stop:
        main(["audit", "zoo:reviews-gru", "--worst", "3"])
    told = capsys.readouterr().out
    assert stop.value.code == 0
    assert all(kind in told for kind in KINDS) and "*not* (strength" in told
    assert "the most confidently wrong sentences" in told


def test_the_seed_draws_the_parts_of_contrasts():
    words = {1: ("good", "nice", "great", "fun", "cool"), -1: ("bad", "poor", "dull", "weak", "sad")}
    vocab = rnnlens.Vocab([*WORDS, "great", "fun", "cool", "dull", "weak", "sad"])
    first, same, other = (module.sentences(vocab, words, seed) for seed in (0, 0, 1))
    assert first == same != other
