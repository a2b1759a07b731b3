"""Synthetic review languages with a known truth: which words modify others, how strongly, how far, and edge weights.

The words of a document are drawn independently by Zipf's law. Some words have valence. A modifier multiplies the
valence of the words in its reach, which is geometric and drawn for each occurrence; the factors of overlapping
modifiers multiply. The first and last words of a document weigh more. The label is drawn from the logistic of the
document's sum, scaled so that an oracle that knows the sums has the accuracy `bayes`. As with real reviews, a network
sees only words and one noisy label per document.

A modifier's strength is its factor: a negator of −0.7 turns a valence of 1 into −0.7, an intensifier of 2 doubles it,
a diminisher of 0.5 halves it.

With several topics, each document has one of them. A topic has its own valence words and names; all other words, and
all modifiers, are shared. Names add to the sum as valence words do, but no modifier changes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property

import numpy as np

from rnnlens.corpora import Corpus, Split, Vocab
from rnnlens.corpora.splits import content_fingerprint

MODIFIERS = ("negator", "intensifier", "diminisher")
FAR = 60  # words: a modifier with a mean reach of 6 words reaches further in fewer than 1 of 40,000 cases
SHORT = 10.0  # words of a short document on average


@dataclass(frozen=True)
class Language:
    """Settings of a synthetic language. The defaults are the preset `hard`.

    train, validation, test  documents of each split
    length, length_sigma     words of a document: log-normal with this mean and this σ of the logarithm
    words, zipf              the r-th most frequent word is drawn in proportion to r^−zipf
    valence_share, valence_shape  share of valence words; their |valence| is gamma with this shape and mean 1
    valence_from             lowest rank of valence words; they are drawn from the words that are not modifiers
    ranks                    modifiers are spread evenly over these ranks
    modifiers                kind → (how many, lowest and highest strength); strengths are uniform between
    scope                    lowest and highest mean reach in words; uniform between
    edge_words, edge_weight  weight of the first and the last word; it falls linearly to 1 over `edge_words` words
    bayes                    accuracy of an oracle that knows the sums
    topics                   number of topics; a document has one topic. Modifiers and most words are shared by all
    topical                  with several topics: share of the valence words that are different in each topic
    names                    share of words that are names: like valence words, but no modifier changes them, and they
                             are different in each topic
    short                    share of short documents, with `SHORT` words on average; their labels are as predictable
    """

    train: int = 25_000
    validation: int = 2_500
    test: int = 5_000
    length: float = 230
    length_sigma: float = 0.6
    words: int = 20_000
    zipf: float = 1.05
    valence_share: float = 0.05
    valence_shape: float = 2.0
    valence_from: int = 1
    ranks: tuple[int, int] = (50, 5_000)
    modifiers: Mapping[str, tuple[int, float, float]] = field(
        default_factory=lambda: {
            "negator": (120, -1.2, -0.3),
            "intensifier": (120, 1.3, 2.5),
            "diminisher": (60, 0.3, 0.8),
        }
    )
    scope: tuple[float, float] = (1.5, 6.0)
    edge_words: int = 20
    edge_weight: float = 1.5
    bayes: float = 0.93
    topics: int = 1
    topical: float = 0.5
    names: float = 0.0
    short: float = 0.0

    @property
    def mean_length(self) -> float:
        """Mean number of words in a document."""
        return self.length + self.short * (SHORT - self.length)


PRESETS: dict[str, Language] = {
    "tiny": Language(
        train=12_000, validation=500, test=1_000, length=20, length_sigma=0.4, words=150, zipf=0.6, valence_share=0.3,
        valence_from=3, ranks=(4, 80), scope=(1.5, 4.0), edge_words=4, bayes=0.96,
        modifiers={"negator": (4, -1.2, -0.8), "intensifier": (4, 2.0, 2.5), "diminisher": (2, 0.1, 0.3)},
    ),
    "hard": Language(),
    "topics": Language(
        train=12_000, validation=500, test=2_000, length=40, length_sigma=0.4, words=400, zipf=0.7, valence_share=0.2,
        valence_from=5, ranks=(5, 200), scope=(1.5, 4.0), edge_words=4, bayes=0.95, topics=5, names=0.2, short=0.75,
        modifiers={"negator": (12, -1.2, -0.3), "intensifier": (12, 1.3, 2.5), "diminisher": (6, 0.3, 0.8)},
    ),
}  # fmt: skip


def preset(name: str) -> Language:
    """tiny (for tests), hard, or topics (small, with five topics, and short and long documents)."""
    return PRESETS[name]


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums of the words of n documents, in logits of the labels.

    full      (n,)  the sum that the label was drawn from
    expected  (n,)  averaged over the reach of every modifier: what the words alone determine
    plain     (n,)  without any modifier, but with the edge weights
    """

    full: np.ndarray
    expected: np.ndarray
    plain: np.ndarray


@dataclass(frozen=True, eq=False)
class Truth:
    """A language's words (W), the most frequent first.

    kinds      (W,)  neutral, valence, name, negator, intensifier, diminisher
    valence    (W,)  what a word adds to the sum; 0 for most. No modifier changes what a name adds
    factor     (W,)  multiplies the valence words in reach of a modifier: below 0 negated, 1 unchanged
    scope      (W,)  mean reach μ in words; 0 for none. P(reach of an occurrence ≥ k) = (1 − 1/μ)^(k−1)
    edge       (T,)  the weight of a document's t-th word from either end; 1 beyond
    bayes            accuracy of an oracle that knows the sums
    reader           accuracy of an oracle that knows all this, but not the reach of each occurrence
    sums             split → the sums of its documents
    """

    words: tuple[str, ...]
    kinds: tuple[str, ...]
    valence: np.ndarray
    factor: np.ndarray
    scope: np.ndarray
    edge: np.ndarray
    bayes: float
    reader: float
    sums: Mapping[str, Sums]

    @cached_property
    def modifiers(self) -> np.ndarray:
        """Ids of the modifiers."""
        return np.flatnonzero([kind in MODIFIERS for kind in self.kinds])

    @cached_property
    def names(self) -> np.ndarray:
        """Which words are names, (W,)."""
        return np.array([kind == "name" for kind in self.kinds])

    @property
    def share(self) -> np.ndarray:
        """The change of the next word's valence as a share of it, (W,): −1 removes it, −2 reverses it."""
        return self.factor - 1

    @property
    def tau(self) -> np.ndarray:
        """How many words a modifier's mean effect lasts, (W,), as `Modifiers.tau`; NaN where there is none.

        The effect k words after the next is that on the next times q^k = exp(−k/τ), q = 1 − 1/μ."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.scope > 0, -1 / np.log1p(-1 / self.scope), np.nan)


def synthetic_corpus(language: Language | str = "hard", seed: int = 0) -> tuple[Corpus, Truth]:
    """Make a language and its documents; the same seed gives the same ones. The corpus has words, counts and labels;
    the truth has the quantities that they were drawn from."""
    language = preset(language) if isinstance(language, str) else language
    draw, *parts = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4))
    truth, codes = _words(language, draw)
    splits, sums, noise, is_short = {}, {}, {}, {}
    sizes = (language.train, language.validation, language.test)
    for name, n, generator in zip(("train", "validation", "test"), sizes, parts, strict=True):
        if n == 0:
            continue
        ids, offsets, is_short[name] = _documents(language, codes, n, generator)
        sums[name] = document_sums(truth, ids, offsets, generator)
        noise[name] = generator.logistic(size=n)
        splits[name] = Split(ids, offsets, np.zeros(n, dtype=np.uint8))
    long, short = (sums["train"].full[is_short["train"] == value] for value in (False, True))
    scale = scale_for(long if len(long) else short, language.bayes)
    short_scale = long.std() / short.std() if len(long) and len(short) and short.std() else 1.0
    for name, unscaled in sums.items():
        scales = scale * np.where(is_short[name], short_scale, 1.0)
        full, expected, plain = (scales * x for x in (unscaled.full, unscaled.expected, unscaled.plain))
        sums[name] = Sums(full, expected, plain)
        splits[name] = replace(splits[name], labels=(full + noise[name] > 0).astype(np.uint8))
    counts = np.bincount(splits["train"].ids, minlength=len(truth.words))
    about = {"source": "synthetic", "language": asdict(language), "seed": seed}
    vocab = Vocab(truth.words, counts)
    corpus = Corpus(
        vocab,
        splits["train"],
        splits.get("validation"),
        splits.get("test"),
        about,
        fingerprint=content_fingerprint(vocab, splits),
    )
    reader = float(((sums["train"].expected > 0) == (splits["train"].labels > 0)).mean())
    bayes = float((1 / (1 + np.exp(-np.abs(sums["train"].full)))).mean())
    return corpus, replace(truth, bayes=bayes, reader=reader, sums=sums)


def frequencies(language: Language) -> np.ndarray:
    """The probability of each rank, (W,); a rank may be a different word in each topic."""
    weight = np.arange(1, language.words + 1, dtype=np.float64) ** -language.zipf
    return weight / weight.sum()


def document_sums(truth: Truth, ids: np.ndarray, offsets: np.ndarray, generator: np.random.Generator) -> Sums:
    """The sums of documents with ids (words,) and offsets (n + 1,); `generator` draws the reach of each modifier."""
    lengths = np.diff(offsets)
    ends = np.repeat(offsets[1:], lengths)
    valence = truth.valence[ids] * edge_weights(truth.edge, lengths)
    place = np.flatnonzero(truth.scope[ids] > 0)
    word, room = ids[place], ends[place] - place - 1
    reach = np.minimum(generator.geometric(1 / truth.scope[word]), room)
    factor, mean_factor = np.ones(len(ids)), np.ones(len(ids))
    hit = np.repeat(place - np.cumsum(reach) + reach, reach) + np.arange(reach.sum()) + 1
    np.multiply.at(factor, hit, np.repeat(truth.factor[word], reach))
    reached = np.ones(len(place))
    for lag in range(1, FAR + 1):
        inside = np.flatnonzero(lag <= room)
        np.multiply.at(mean_factor, place[inside] + lag, 1 + (truth.factor[word[inside]] - 1) * reached[inside])
        reached = reached * (1 - 1 / truth.scope[word])
    name = truth.names[ids]
    factor[name], mean_factor[name] = 1.0, 1.0

    def total(factor: np.ndarray | float) -> np.ndarray:
        return np.add.reduceat(np.append(valence * factor, 0.0), offsets[:-1]) * (lengths > 0)

    return Sums(total(factor), total(mean_factor), total(1.0))


def edge_weights(edge: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The weight of every word of documents, (words,): 1 plus what both ends add."""
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    since = np.arange(lengths.sum()) - starts
    until = np.repeat(lengths, lengths) - 1 - since
    extra = np.append(edge - 1, 0.0)
    last = len(edge)
    return 1 + extra[np.minimum(since, last)] + extra[np.minimum(until, last)]


def scale_for(sums: np.ndarray, bayes: float) -> float:
    """By bisection, the scale at which the sums predict labels drawn from their logistic with the accuracy `bayes`."""
    low, high = 0.0, 1e6 / max(float(np.abs(sums).max()), 1e-12)
    for _ in range(200):
        middle = (low + high) / 2
        with np.errstate(over="ignore"):
            right = (1 / (1 + np.exp(-middle * np.abs(sums)))).mean()
        low, high = (middle, high) if right < bayes else (low, middle)
    return (low + high) / 2


def _words(language: Language, generator: np.random.Generator) -> tuple[Truth, np.ndarray]:
    """The truth about the words: which have valence, which modify, how strongly and how far; and the id (topics, W) of
    each rank in each topic."""
    W, (first, last) = language.words, language.ranks
    kinds = np.full(W, "neutral", dtype="<U12")
    valence, factor, scope = np.zeros(W), np.ones(W), np.zeros(W)
    drawn = [
        (kind, strength)
        for kind, (n, low, high) in language.modifiers.items()
        for strength in generator.uniform(low, high, n)
    ]
    places = np.round(np.linspace(first, last, len(drawn))).astype(int) - 1
    for place, m in zip(places, generator.permutation(len(drawn)), strict=True):
        kinds[place], factor[place] = drawn[m]
    scope[places] = generator.uniform(*language.scope, len(places))
    free = np.flatnonzero(kinds == "neutral")
    free = free[free >= language.valence_from - 1]
    chosen = generator.choice(free, round(language.valence_share * W), replace=False)
    kinds[chosen] = "valence"
    own = chosen[: round(language.topical * len(chosen))]
    if language.names:
        names = generator.choice(np.setdiff1d(free, chosen), round(language.names * W), replace=False)
        kinds[names] = "name"
        chosen, own = np.concatenate([chosen, names]), np.concatenate([own, names])
    odds = frequencies(language)
    valence[chosen] = _valences(language, odds[chosen], 0.0, generator)
    # One row for every word: its rank and its topic.
    rank, topic, values = np.arange(W), np.zeros(W, int), valence
    shared = float((odds * valence)[np.setdiff1d(chosen, own)].sum())
    for t in range(1, language.topics):
        rank, topic = np.append(rank, own), np.append(topic, np.full(len(own), t))
        values = np.append(values, _valences(language, odds[own], shared, generator))
    often = odds[rank] / np.where(np.isin(rank, own), language.topics, 1)
    order = np.argsort(-often, kind="stable")
    rank, topic, values = rank[order], topic[order], values[order]
    codes = np.zeros((language.topics, W), int)
    codes[:, rank[topic == 0]] = np.flatnonzero(topic == 0)
    codes[topic, rank] = np.arange(len(rank))
    n = language.edge_words
    edge = 1 + (language.edge_weight - 1) * (1 - np.arange(n) / max(1, n))
    words = tuple(f"w{place:0{len(str(len(rank)))}d}" for place in range(1, len(rank) + 1))
    columns = (values, factor[rank], scope[rank])
    return Truth(words, tuple(kinds[rank].tolist()), *columns, edge, 0.0, 0.0, {}), codes


def _valences(language: Language, odds: np.ndarray, balance: float, generator: np.random.Generator) -> np.ndarray:
    """Signed valences (n,) of words with the frequencies `odds`. From the word with the largest frequency times valence
    on, each gets the sign that brings `balance` closer to 0, so that both classes are equally frequent."""
    size = generator.gamma(language.valence_shape, 1 / language.valence_shape, len(odds))
    pull = odds * size
    balance += generator.choice([-1e-12, 1e-12])
    for i in np.argsort(-pull, kind="stable"):
        sign = -1.0 if balance > 0 else 1.0
        size[i] *= sign
        balance += sign * pull[i]
    return size


def _documents(
    language: Language, codes: np.ndarray, n: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids of n documents, their offsets, and which are short; codes (topics, W): ids by topic and rank."""
    sigma, short = language.length_sigma, np.zeros(n, dtype=bool)
    mean: np.ndarray | float = language.length
    if language.short:
        short = generator.random(n) < language.short
        mean = np.where(short, SHORT, language.length)
    drawn = generator.lognormal(np.log(mean) - sigma**2 / 2, sigma, n)
    lengths = np.maximum(1, np.round(drawn)).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    edges = np.cumsum(frequencies(language))
    ranks = np.searchsorted(edges[:-1], generator.random(offsets[-1]), side="right")
    topic = np.zeros(n, int) if language.topics == 1 else generator.integers(language.topics, size=n)
    ids = codes[np.repeat(topic, lengths), ranks]
    return ids.astype(np.uint16 if codes.max() < 2**16 else np.uint32), offsets, short
