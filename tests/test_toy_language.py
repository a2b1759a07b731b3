"""The toy language's rule, in one vectorised function, is the paper's text read literally."""

import numpy as np
import pytest

from rnnlens import ToyLanguage, toy_corpus
from rnnlens.corpora import PAD, Modifier


def literally(words):
    """Supplement A.1 word by word: `extremely` doubles the valence of the next input, `not` reverses the valence of
    the next four inputs; the target is the cumulative sum."""
    valence = {"awful": -2, "bad": -1, "the": 0, "good": 1, "awesome": 2}
    total, targets, flips_left, double_next = 0, [], 0, False
    for word in words:
        value = valence.get(word, 0)
        if double_next:
            value = 2 * value
        if flips_left > 0:
            value = -value
        total += value
        targets.append(total)
        double_next = word == "extremely"
        flips_left = 4 if word == "not" else max(0, flips_left - 1)
    return targets


def test_rule_agrees_with_a_literal_reading_of_the_paper():
    language = ToyLanguage()
    ids, targets = language.sample(5_000, seed=1)
    for row, expected in zip(ids, targets, strict=True):
        words = ["<pad>" if i == PAD else language.vocab.words[i] for i in row]
        assert literally(words) == expected.tolist()


def test_rule_agrees_on_sequences_the_generator_never_makes():
    language = ToyLanguage()
    ids = np.random.default_rng(0).integers(PAD, 7, (5_000, 12))
    for row, expected in zip(ids, language.targets(ids), strict=True):
        assert literally(["<pad>" if i == PAD else language.vocab.words[i] for i in row]) == expected.tolist()


@pytest.mark.parametrize(
    ("phrase", "reads"),
    [
        ("good", 1),
        ("extremely good", 2),
        ("not good", -1),
        ("not the the the good", -1),
        ("not the the the the good", 1),
        ("not extremely awful", 4),
        ("extremely not bad", 1),
        ("not <pad> <pad> <pad> bad", 1),
        ("extremely <pad> good", 1),
    ],
)
def test_phrases_of_the_paper(phrase, reads):
    language = ToyLanguage()
    assert language.targets(language.encode(phrase)[None])[0, -1] == reads


def test_reviews_obey_the_papers_constraints_and_contain_pads():
    language = ToyLanguage()
    ids, targets = language.sample(2_000, seed=0)
    assert ids.shape == targets.shape == (2_000, 50)
    extremely, no = (language.vocab.index[word] for word in ("extremely", "not"))
    assert not ((ids[:, 1:] == extremely) & (ids[:, :-1] == extremely)).any()
    for lag in range(1, 5):
        assert not ((ids[:, lag:] == no) & (ids[:, :-lag] == no)).any()
    assert ((ids[:, 5:] == no) & (ids[:, :-5] == no)).any()
    shares = [(ids == token).mean() for token in (PAD, 0, 1, 2, 3, 4)]
    assert max(shares) - min(shares) < 0.01, "pad is as common as any neutral or valence word"


def test_modifiers_strengths_and_scopes_are_parameters():
    language = ToyLanguage(valences={"x": 1}, modifiers={"barely": Modifier(0.5, 2)}, length=5, pads=0)
    ids = language.encode("barely x x x x")
    assert language.targets(ids[None])[0].tolist() == [0, 0.5, 1, 2, 3]
    assert language.sample(3, seed=0)[0].min() >= 0


def test_same_seed_same_reviews():
    assert np.array_equal(ToyLanguage().sample(50, 3)[0], ToyLanguage().sample(50, 3)[0])
    first, other = toy_corpus(train=20, validation=20, seed=0), toy_corpus(train=20, validation=20, seed=1)
    assert not np.array_equal(first.train.ids, other.train.ids)
    assert not np.array_equal(first.train.ids, first.validation.ids)
    assert first.fingerprint != other.fingerprint


@pytest.mark.parametrize(("words", "dtype"), [(7, np.int8), (128, np.int8), (129, np.int16), (40_000, np.int32)])
def test_large_languages_have_all_their_words(words, dtype):
    language = ToyLanguage(valences={f"w{i}": i % 3 for i in range(words)}, modifiers={}, length=20)
    ids, targets = language.sample(500, seed=0)
    assert ids.dtype == dtype
    assert ids.max() < words and ids.max() >= 0.95 * words - 1
    assert (np.diff(targets, axis=1, prepend=0) == np.where(ids == PAD, 0, ids % 3)).all()
