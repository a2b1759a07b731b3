"""Languages whose truth is known: sums follow the rules word by word, and labels have the accuracy asked for."""

from dataclasses import replace

import numpy as np
import pytest

from rnnlens import RnnlensError, load_corpus
from rnnlens.corpora.language import PRESETS, SHORT, Language, preset
from rnnlens.corpora.synthetic import (
    document_sums,
    frequencies,
    prepared_synthetic,
    scale_for,
    synthetic_corpus,
)
from rnnlens.corpora.truth import MODIFIERS, Truth


def by_hand(truth, ids, reaches):
    """A document's sum, word by word: every modifier's reach is given, in the order of the words."""
    total, reaches = 0.0, iter(reaches)
    acting = []  # factor, shift, words left
    for t, i in enumerate(ids):
        weight = 1 + sum(truth.edge[k] - 1 for k in (t, len(ids) - 1 - t) if k < len(truth.edge))
        value, shift = truth.valence[i], 0.0
        for factor, more, _ in acting if truth.kinds[i] != "name" else ():
            value, shift = value * factor, shift + more
        total += weight * (value + shift * (truth.valence[i] != 0))
        acting = [(f, s, left - 1) for f, s, left in acting if left > 1]
        if truth.scope[i] > 0:
            acting.append((truth.factor[i], truth.shift[i], next(reaches)))
    return total


class Reaches:
    """In the place of chance: the reaches wanted, or always a mean."""

    def __init__(self, reaches):
        self.reaches = np.asarray(reaches)

    def geometric(self, p):
        return self.reaches[: len(p)]


def tiny_truth(**changes):
    valence = np.array([0.0, 1.0, -2.0, 0.0, 0.0, 0.0, 0.5, -0.7])
    factor = np.array([1.0, 1.0, 1.0, -0.5, 2.0, 1.0, 1.5, 1.0])
    shift = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0])
    scope = np.array([0.0, 0.0, 0.0, 2.0, 3.0, 1.5, 4.0, 0.0])
    words = ("neutral", "good", "awful", "not", "very", "sadly", "truly", "seagal")
    kinds = ("neutral", "valence", "valence", "negator", "intensifier", "shifter", "intensifier", "name")
    made = Truth(words, kinds, valence, factor, shift, scope, np.array([1.5, 1.25]), 1.0, 0, 0, {})
    return replace(made, **changes)


def test_sums_are_those_of_a_reading_word_by_word():
    truth, chance = tiny_truth(), np.random.default_rng(0)
    documents = [chance.integers(0, 8, chance.integers(1, 12)) for _ in range(300)]
    ids, lengths = np.concatenate(documents), [len(document) for document in documents]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    reaches = chance.integers(1, 6, int((truth.scope[ids] > 0).sum()))
    sums = document_sums(truth, ids, offsets, Reaches(reaches))
    used = 0
    for document, full, plain in zip(documents, sums.full, sums.plain, strict=True):
        n = int((truth.scope[document] > 0).sum())
        assert full == pytest.approx(by_hand(truth, document, reaches[used : used + n]))
        used += n
        weights = [
            1 + sum(truth.edge[k] - 1 for k in (t, len(document) - 1 - t) if k < 2) for t in range(len(document))
        ]
        assert plain == pytest.approx(truth.valence[document] @ weights)


def test_expected_sums_are_the_mean_over_reaches():
    truth = tiny_truth()
    ids = np.array([4, 3, 1, 0, 2, 5, 6, 1, 7, 2, 1])
    n = 20_000
    sums = document_sums(truth, np.tile(ids, n), len(ids) * np.arange(n + 1), np.random.default_rng(0))
    np.testing.assert_allclose(sums.expected, sums.expected[0])
    assert sums.expected[0] == pytest.approx(sums.full.mean(), abs=4 * sums.full.std() / np.sqrt(n))


def test_tau_is_where_the_mean_effect_has_fallen_to_1_over_e():
    truth = tiny_truth()
    q = 1 - 1 / truth.scope[truth.modifiers]
    np.testing.assert_allclose(q ** truth.tau[truth.modifiers], np.exp(-1))
    assert np.isnan(truth.tau[0])


@pytest.mark.parametrize("name", PRESETS)
def test_presets_have_the_words_they_promise(name):
    language = replace(preset(name), train=200, validation=0, test=0)
    corpus, truth = synthetic_corpus(language, seed=3)
    for kind, (n, low, high) in language.modifiers.items():
        rows = [i for i, k in enumerate(truth.kinds) if k == kind]
        strength = (truth.shift if kind == "shifter" else truth.factor)[rows]
        assert len(rows) == n and low <= strength.min() and strength.max() <= high
    rows = truth.modifiers
    first, last = language.ranks
    if language.topics == 1:
        assert rows[0] == first - 1 and rows[-1] == last - 1
        assert np.ptp(np.diff(rows)) <= 1  # spread evenly
    assert language.scope[0] <= truth.scope[rows].min() and truth.scope[rows].max() <= language.scope[1]
    valence, names = (round(share * language.words) for share in (language.valence_share, language.names))
    own = round(language.topical * valence)
    assert truth.kinds.count("valence") == valence + (language.topics - 1) * own
    assert truth.kinds.count("name") == names * language.topics
    assert (truth.valence[rows] != 0).sum() == round(language.both * len(rows))
    assert corpus.validation is None and len(corpus.train) == 200
    if language.topics == 1:
        pull = frequencies(language) * truth.valence
        assert abs(pull.sum()) < 0.05 * np.abs(pull).sum()  # neither class has more to say for it


def test_topics_share_modifiers_and_have_valence_words_and_names_of_their_own():
    language = replace(preset("topics"), train=4_000)
    corpus, truth = synthetic_corpus(language, seed=1)
    split = corpus.train
    inside = np.zeros((len(split.lengths), len(truth.words)), dtype=bool)
    inside[np.repeat(np.arange(len(split.lengths)), split.lengths), split.ids] = True
    together = inside.astype(float).T @ inside
    words = np.flatnonzero(truth.names & (inside.sum(0) >= 100))
    # Words of one topic are found together, words of two never: so many groups of names are there.
    groups = {tuple(words[together[word, words] > 0]) for word in words}
    assert len(groups) == language.topics and sum(map(len, groups)) == len(words)
    common = truth.modifiers[:5]
    assert (together[np.ix_(common, words)] > 0).all()
    counts = np.asarray(corpus.vocab.counts)
    assert np.corrcoef(np.arange(len(counts)), counts.argsort()[::-1].argsort())[0, 1] > 0.95  # most frequent first
    assert abs(corpus.train.labels.mean() - 0.5) < 0.04


def test_short_documents_are_short_and_as_clearly_labelled():
    language = replace(preset("topics"), topics=1, train=8_000)
    corpus, truth = synthetic_corpus(language, seed=1)
    lengths, full = corpus.train.lengths, truth.sums["train"].full
    assert lengths.mean() == pytest.approx(language.mean_length, rel=0.03)
    assert np.median(lengths) == pytest.approx(SHORT, abs=3)
    spread = [full[lengths < 8].std(), full[lengths > 40].std()]
    assert 0.5 < spread[0] / spread[1] < 1.1
    right = (full > 0) == corpus.train.labels
    assert right[lengths > 40].mean() == pytest.approx(language.bayes, abs=0.03)


def test_hard_is_the_language_that_was_fixed():
    hard = PRESETS["hard"]
    assert (hard.train, hard.length, hard.length_sigma, hard.words, hard.zipf) == (25_000, 230, 0.6, 20_000, 1.05)
    assert hard.valence_share == 0.05 and hard.ranks == (50, 5_000) and hard.scope == (1.5, 6.0) and hard.both == 0
    assert hard.modifiers == {
        "negator": (120, -1.2, -0.3),
        "intensifier": (120, 1.3, 2.5),
        "diminisher": (60, 0.3, 0.8),
    }
    assert (hard.edge_words, hard.edge_weight, hard.bayes) == (20, 1.5, 0.93)
    assert set(hard.modifiers) < set(MODIFIERS)


FINGERPRINTS = {"tiny": "2e4bc35c07a08bb910852900c511283f", "hard": "5c5b5c93f11e33f35d79d4c788598b97"}


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_languages_are_the_same_in_every_release(name):
    language = replace(preset(name), train=400, validation=50, test=50)
    assert synthetic_corpus(language, seed=3)[0].fingerprint == FINGERPRINTS[name]


def test_documents_and_labels_are_drawn_as_promised():
    language = replace(preset("tiny"), train=20_000)
    corpus, truth = synthetic_corpus(language, seed=1)
    share = corpus.vocab.counts / corpus.vocab.counts.sum()
    np.testing.assert_allclose(share[:20], frequencies(language)[:20], rtol=0.05)
    assert corpus.train.lengths.mean() == pytest.approx(language.length, rel=0.03)
    assert np.log(corpus.train.lengths).std() == pytest.approx(language.length_sigma, rel=0.05)
    assert truth.bayes == pytest.approx(language.bayes, abs=1e-6)
    sums = truth.sums["train"]
    assert ((sums.full > 0) == corpus.train.labels).mean() == pytest.approx(language.bayes, abs=0.006)
    right = [((x > 0) == corpus.train.labels).mean() for x in (sums.full, sums.expected, sums.plain)]
    assert right[0] > right[1] > right[2] + 0.01  # modifiers matter, and who does not know reaches knows less
    assert right[1] == pytest.approx(truth.reader)
    assert ((sums.plain > 0) == sums.labels).mean() > right[2]


def test_the_same_seed_gives_the_same_corpus_here_and_in_a_folder(tmp_path):
    language = replace(preset("tiny"), train=300)
    corpus, truth = synthetic_corpus(language, seed=5)
    saved, _ = prepared_synthetic(language, 5, tmp_path / "corpus")
    again, read = prepared_synthetic(language, 5, tmp_path / "corpus")
    assert corpus.fingerprint == saved.fingerprint == again.fingerprint == load_corpus(tmp_path / "corpus").fingerprint
    assert read.words == truth.words and read.kinds == truth.kinds and read.scale == truth.scale
    np.testing.assert_array_equal(read.sums["test"].plain, truth.sums["test"].plain)
    np.testing.assert_array_equal(read.scope, truth.scope)
    assert synthetic_corpus(language, seed=6)[0].fingerprint != corpus.fingerprint
    with pytest.raises(RnnlensError, match="holds another corpus"):
        prepared_synthetic(language, 6, tmp_path / "corpus")


def test_the_scale_gives_the_accuracy_asked_for():
    sums = np.random.default_rng(0).normal(size=5_000)
    for bayes in (0.6, 0.93, 0.99):
        assert (1 / (1 + np.exp(-np.abs(scale_for(sums, bayes) * sums)))).mean() == pytest.approx(bayes, abs=1e-9)


def test_what_cannot_be_made_is_said():
    with pytest.raises(RnnlensError, match="unknown preset 'huge'"):
        preset("huge")
    with pytest.raises(RnnlensError, match="too few for the modifiers"):
        Language(words=300, ranks=(50, 200))
    with pytest.raises(RnnlensError, match="topics is 0: expected a whole number, from 1"):
        Language(topics=0)
    with pytest.raises(RnnlensError, match="short is 1.5: expected a share from 0 to 1"):
        Language(short=1.5)
    with pytest.raises(RnnlensError, match="is not a kind of modifier"):
        Language(modifiers={"booster": (1, 1.0, 2.0)})
