"""Synthetic review languages with a known truth: which words modify others, how strongly, how far, and edge weights.

The words of a document are drawn independently by Zipf's law. Some words have valence. A modifier multiplies the
valence of the words in its reach, which is geometric and drawn for each occurrence; the factors of overlapping
modifiers multiply. The first and last words of a document weigh more. The label is drawn from the logistic of the
document's sum, scaled so that an oracle that knows the sums has the accuracy `bayes`. As with real reviews, a network
sees only words and one noisy label per document.

A modifier's strength is its factor: a negator of −0.7 turns a valence of 1 into −0.7, an intensifier of 2 doubles it,
a diminisher of 0.5 halves it. A shifter adds its strength to every valence in reach instead.

With several topics, each document has one of them. A topic has its own valence words and names; all other words, and
all modifiers, are shared. Names add to the sum as valence words do, but no modifier changes them.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import fingerprint, read_json
from rnnlens.common.ranges import in_range
from rnnlens.common.replacing import atomic_folder
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.language import SHORT, Language, preset
from rnnlens.corpora.reading import is_prepared, read_corpus
from rnnlens.corpora.saving import save_corpus
from rnnlens.corpora.splits import Split, content_fingerprint
from rnnlens.corpora.truth import Sums, Truth
from rnnlens.corpora.vocab import Vocab

FAR = 60  # words: a modifier with a mean reach of 6 words reaches further in fewer than 1 of 40,000 cases


@in_range("synthetic_corpus")
def synthetic_corpus(language: Language | str = "hard", seed: int = 0) -> tuple[Corpus, Truth]:
    """Make a language and its documents; the same seed gives the same ones. The corpus has words, counts and labels;
    the truth has the quantities that they were drawn from."""
    language = preset(language) if isinstance(language, str) else language
    draw, *parts = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4))
    truth, codes = _words(language, draw)
    splits, sums, noise, is_short = {}, {}, {}, {}
    for name, n, generator in zip(("train", "validation", "test"), _sizes(language), parts, strict=True):
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
        labels, plain_labels = ((x + noise[name] > 0).astype(np.uint8) for x in (full, plain))
        sums[name] = Sums(full, expected, plain, plain_labels)
        splits[name] = replace(splits[name], labels=labels)
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
    return corpus, replace(truth, scale=scale, bayes=bayes, reader=reader, sums=sums)


@in_range("synthetic_corpus")
def prepared_synthetic(language: Language | str, seed: int, folder: Path | str) -> tuple[Corpus, Truth]:
    """The same from a folder that `load_corpus` reads, which also has the truth; made there if it does not exist."""
    folder = Path(folder)
    language = preset(language) if isinstance(language, str) else language
    key = fingerprint({"language": asdict(language), "seed": seed})
    if is_prepared(folder):
        if read_json(folder / "corpus.json").get("key") != key:
            raise RnnlensError(f"{quoted(str(folder), 200)} holds another corpus: choose another folder")
        return read_corpus(folder), Truth.load(folder)
    corpus, truth = synthetic_corpus(language, seed)
    with atomic_folder(folder) as temporary:
        save_corpus(corpus, temporary, key=key)
        truth.save(temporary)
    return read_corpus(folder, verify=False), truth


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
    factor, shift = np.ones(len(ids)), np.zeros(len(ids))
    hit = np.repeat(place - np.cumsum(reach) + reach, reach) + np.arange(reach.sum()) + 1
    np.multiply.at(factor, hit, np.repeat(truth.factor[word], reach))
    np.add.at(shift, hit, np.repeat(truth.shift[word], reach))
    mean_factor, mean_shift = np.ones(len(ids)), np.zeros(len(ids))
    reached = np.ones(len(place))
    for lag in range(1, FAR + 1):
        inside = np.flatnonzero(lag <= room)
        at = place[inside] + lag
        np.multiply.at(mean_factor, at, 1 + (truth.factor[word[inside]] - 1) * reached[inside])
        np.add.at(mean_shift, at, truth.shift[word[inside]] * reached[inside])
        reached = reached * (1 - 1 / truth.scope[word])
    name = truth.names[ids]
    factor[name], mean_factor[name], shift[name], mean_shift[name] = 1.0, 1.0, 0.0, 0.0

    def total(factor: np.ndarray | float, shift: np.ndarray | float) -> np.ndarray:
        weight = np.where(valence == 0, 0.0, edge_weights(truth.edge, lengths))
        return np.add.reduceat(np.append(valence * factor + weight * shift, 0.0), offsets[:-1]) * (lengths > 0)

    return Sums(total(factor, shift), total(mean_factor, mean_shift), total(1.0, 0.0), np.zeros(len(lengths), np.uint8))


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


def _sizes(language: Language) -> tuple[int, int, int]:
    return language.train, language.validation, language.test


def _words(language: Language, generator: np.random.Generator) -> tuple[Truth, np.ndarray]:
    """The truth about the words: which have valence, which modify, how strongly and how far; and the id (topics, W) of
    each rank in each topic."""
    W, (first, last) = language.words, language.ranks
    kinds = np.full(W, "neutral", dtype="<U12")
    valence, factor, shift, scope = np.zeros(W), np.ones(W), np.zeros(W), np.zeros(W)
    drawn = [
        (kind, strength)
        for kind, (n, low, high) in language.modifiers.items()
        for strength in generator.uniform(low, high, n)
    ]
    places = np.round(np.linspace(first, last, len(drawn))).astype(int) - 1
    for place, m in zip(places, generator.permutation(len(drawn)), strict=True):
        kind, strength = drawn[m]
        kinds[place] = kind
        (shift if kind == "shifter" else factor)[place] = strength
    scope[places] = generator.uniform(*language.scope, len(places))
    free = np.flatnonzero(kinds == "neutral")
    free = free[free >= language.valence_from - 1]
    chosen = generator.choice(free, round(language.valence_share * W), replace=False)
    kinds[chosen] = "valence"
    own = chosen[: round(language.topical * len(chosen))]
    chosen = np.concatenate([chosen, generator.choice(places, round(language.both * len(places)), replace=False)])
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
    columns = (values, factor[rank], shift[rank], scope[rank])
    return Truth(words, tuple(kinds[rank].tolist()), *columns, edge, 1.0, 0.0, 0.0, {}), codes


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
