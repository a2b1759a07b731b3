"""Review languages whose truth is known: which words modify others, how strongly, how far, and what edges weigh.

A document is words drawn independently by a Zipfian law. Some words have valence; a modifier multiplies the valence of
the words after it, as far as its occurrence reaches (geometric, drawn anew for each), and overlapping modifiers
multiply; the first and last words of a document weigh more. The label is drawn from the logistic of the document's sum,
scaled so that who knows the sums is right in `bayes` of the cases. So a network sees what it sees of real reviews:
words, and one noisy label a document.

A modifier's strength is its factor: a negator of −0.7 turns a valence of 1 into −0.7, an intensifier of 2 doubles it,
a diminisher of 0.5 halves it. A shifter adds its strength to every valence in reach instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from rnnlens.artifacts import fingerprint, read_json
from rnnlens.corpora.corpus import Corpus, Split, content_fingerprint, is_prepared, read_corpus
from rnnlens.corpora.saving import save_corpus
from rnnlens.corpora.truth import MODIFIERS, Sums, Truth
from rnnlens.corpora.vocab import Vocab
from rnnlens.errors import RnnlensError, quoted
from rnnlens.ranges import check_options
from rnnlens.replacing import atomic_folder

FAR = 60  # lags after which even a scope of 6 words is reached by less than 1 in 40,000


@dataclass(frozen=True)
class Language:
    """How to make a language. The defaults are the preset `hard`.

    train, validation, test  documents of each split
    length, length_sigma     words of a document: log-normal with this mean and this σ of the logarithm
    words, zipf              the r-th most frequent word is drawn in proportion to r^−zipf
    valence_share, valence_shape  share of valence words, and their |valence|: gamma of this shape, of mean 1
    valence_from             valence words are drawn from this rank on, from all words that are no modifiers
    ranks                    modifiers are spread evenly over these ranks
    modifiers                kind → (how many, weakest and strongest strength, uniform between)
    both                     share of modifiers that have valence too
    scope                    mean reach in words, uniform between
    edge_words, edge_weight  the first and the last word weigh so much, falling along a line to 1 behind so many words
    bayes                    accuracy of who knows the sums
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
    both: float = 0.0
    scope: tuple[float, float] = (1.5, 6.0)
    edge_words: int = 20
    edge_weight: float = 1.5
    bayes: float = 0.93

    def __post_init__(self) -> None:
        check_options("synthetic", train=self.train, validation=self.validation, test=self.test)
        unknown = next((kind for kind in self.modifiers if kind not in MODIFIERS), None)
        if unknown is not None:
            raise RnnlensError(f"{quoted(unknown)} is no kind of modifier: expected {', '.join(MODIFIERS)}")
        first, last = self.ranks
        if not 1 <= first < last <= self.words or last - first < sum(n for n, _, _ in self.modifiers.values()):
            raise RnnlensError(f"ranks are {first} … {last} of {self.words} words: too few for the modifiers")
        if not 1 <= self.scope[0] <= self.scope[1] or not 0.5 < self.bayes < 1:
            raise RnnlensError(f"scope {self.scope}, bayes {self.bayes}: expected scopes from 1 on, 0.5 < bayes < 1")


_MEDIUM = Language(
    length=120, words=6_000, valence_share=0.08, valence_from=20, ranks=(20, 1_500),
    modifiers={"negator": (40, -1.2, -0.3), "intensifier": (40, 1.3, 2.5), "diminisher": (20, 0.3, 0.8)},
)  # fmt: skip
PRESETS: dict[str, Language] = {
    "tiny": Language(
        train=12_000, validation=500, test=1_000, length=20, length_sigma=0.4, words=150, zipf=0.6, valence_share=0.3,
        valence_from=3, ranks=(4, 80), scope=(1.5, 4.0), edge_words=4, bayes=0.96,
        modifiers={"negator": (4, -1.2, -0.8), "intensifier": (4, 2.0, 2.5), "diminisher": (2, 0.1, 0.3)},
    ),
    "easy": Language(
        train=20_000, length=60, words=2_000, valence_share=0.15, valence_from=10, ranks=(10, 300),
        modifiers={"negator": (12, -1.2, -0.3), "intensifier": (12, 1.3, 2.5), "diminisher": (6, 0.3, 0.8)},
        edge_words=10, bayes=0.95,
    ),
    "medium": _MEDIUM,
    "mixed": replace(
        _MEDIUM, both=0.25,
        modifiers={
            "negator": (30, -1.2, -0.3), "intensifier": (30, 1.3, 2.5), "diminisher": (20, 0.3, 0.8),
            "shifter": (20, -1.5, 1.5),
        },
    ),
    "hard": Language(),
}  # fmt: skip


def preset(name: str) -> Language:
    """A language by name: tiny (for tests), easy, medium, mixed (also shifters, and modifiers with valence), hard."""
    if name not in PRESETS:
        raise RnnlensError(f"unknown preset {quoted(name)}: expected one of {', '.join(PRESETS)}")
    return PRESETS[name]


def synthetic_corpus(language: Language | str = "hard", seed: int = 0) -> tuple[Corpus, Truth]:
    """Make a language and its documents; the same seed gives the same ones. Words, their counts and labels are in the
    corpus, what lies behind them in the truth."""
    check_options("synthetic", seed=seed)
    language = preset(language) if isinstance(language, str) else language
    draw, *parts = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4))
    truth = _words(language, draw)
    odds = frequencies(language)
    splits, sums, noise = {}, {}, {}
    for name, n, generator in zip(("train", "validation", "test"), _sizes(language), parts, strict=True):
        if n == 0:
            continue
        ids, offsets = _documents(language, odds, n, generator)
        sums[name] = document_sums(truth, ids, offsets, generator)
        noise[name] = generator.logistic(size=n)
        splits[name] = Split(ids, offsets, np.zeros(n, dtype=np.uint8))
    scale = scale_for(sums["train"].full, language.bayes)
    for name, some in sums.items():
        full, expected, plain = (scale * x for x in (some.full, some.expected, some.plain))
        labels, without = ((x + noise[name] > 0).astype(np.uint8) for x in (full, plain))
        sums[name] = Sums(full, expected, plain, without)
        splits[name] = replace(splits[name], labels=labels)
    counts = np.bincount(splits["train"].ids, minlength=language.words)
    about = {"source": "synthetic", "language": asdict(language), "seed": seed}
    vocab = Vocab(truth.words, counts)
    corpus = Corpus(
        vocab, splits["train"], splits.get("validation"), splits.get("test"), about,
        fingerprint=content_fingerprint(vocab, splits),
    )  # fmt: skip
    reader = float(((sums["train"].expected > 0) == (splits["train"].labels > 0)).mean())
    bayes = float((1 / (1 + np.exp(-np.abs(sums["train"].full)))).mean())
    return corpus, replace(truth, scale=scale, bayes=bayes, reader=reader, sums=sums)


def prepared_synthetic(language: Language | str, seed: int, folder: Path | str) -> tuple[Corpus, Truth]:
    """The same from a folder that `load_corpus` reads, with the truth beside it; made there if it is not yet."""
    folder = Path(folder)
    language = preset(language) if isinstance(language, str) else language
    wanted = fingerprint({"language": asdict(language), "seed": seed})
    if is_prepared(folder):
        if read_json(folder / "corpus.json").get("key") != wanted:
            raise RnnlensError(f"{quoted(str(folder), 200)} holds another corpus: choose another folder")
        return read_corpus(folder), Truth.load(folder)
    corpus, truth = synthetic_corpus(language, seed)
    with atomic_folder(folder) as temporary:
        save_corpus(corpus, temporary, key=wanted)
        truth.save(temporary)
    return read_corpus(folder, verify=False), truth


def frequencies(language: Language) -> np.ndarray:
    """The chance of each word, (W,)."""
    weight = np.arange(1, language.words + 1, dtype=np.float64) ** -language.zipf
    return weight / weight.sum()


def document_sums(truth: Truth, ids: np.ndarray, offsets: np.ndarray, generator: np.random.Generator) -> Sums:
    """What documents, end to end in ids (words,) with offsets (n + 1,), add up to; reaches are drawn by `generator`."""
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

    def total(factor: np.ndarray | float, shift: np.ndarray | float) -> np.ndarray:
        weight = np.where(valence == 0, 0.0, edge_weights(truth.edge, lengths))
        return np.add.reduceat(np.append(valence * factor + weight * shift, 0.0), offsets[:-1]) * (lengths > 0)

    return Sums(total(factor, shift), total(mean_factor, mean_shift), total(1.0, 0.0), np.zeros(len(lengths), np.uint8))


def edge_weights(edge: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The weight of every word of documents end to end, (words,): what both ends add to 1 adds up."""
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    since = np.arange(lengths.sum()) - starts
    until = np.repeat(lengths, lengths) - 1 - since
    extra = np.append(edge - 1, 0.0)
    last = len(edge)
    return 1 + extra[np.minimum(since, last)] + extra[np.minimum(until, last)]


def scale_for(sums: np.ndarray, bayes: float) -> float:
    """By bisection: the scale at which labels drawn from the logistic of the sums are foretold with this accuracy."""
    low, high = 0.0, 1e6 / max(float(np.abs(sums).max()), 1e-12)
    for _ in range(200):
        middle = (low + high) / 2
        with np.errstate(over="ignore"):
            right = (1 / (1 + np.exp(-middle * np.abs(sums)))).mean()
        low, high = (middle, high) if right < bayes else (low, middle)
    return (low + high) / 2


def _sizes(language: Language) -> tuple[int, int, int]:
    return language.train, language.validation, language.test


def _words(language: Language, generator: np.random.Generator) -> Truth:
    """The words: which have valence, which modify, how strongly and how far."""
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
    chosen = np.concatenate([chosen, generator.choice(places, round(language.both * len(places)), replace=False)])
    valence[chosen] = generator.gamma(language.valence_shape, 1 / language.valence_shape, len(chosen))
    # From the weightiest word on, each takes the side that has less so far: neither class is more frequent.
    pull = frequencies(language) * valence
    balance = generator.choice([-1e-12, 1e-12])
    for i in chosen[np.argsort(-pull[chosen], kind="stable")]:
        sign = -1.0 if balance > 0 else 1.0
        valence[i] *= sign
        balance += sign * pull[i]
    n = language.edge_words
    edge = 1 + (language.edge_weight - 1) * (1 - np.arange(n) / max(1, n))
    words = tuple(f"w{rank:0{len(str(W))}d}" for rank in range(1, W + 1))
    return Truth(words, tuple(kinds.tolist()), valence, factor, shift, scope, edge, 1.0, 0.0, 0.0, {})


def _documents(
    language: Language, odds: np.ndarray, n: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Ids of n documents end to end, and where each begins."""
    sigma = language.length_sigma
    lengths = generator.lognormal(np.log(language.length) - sigma**2 / 2, sigma, n)
    offsets = np.concatenate([[0], np.cumsum(np.maximum(1, np.round(lengths)).astype(np.int64))])
    edges = np.cumsum(odds)
    ids = np.searchsorted(edges[:-1], generator.random(offsets[-1]), side="right")
    return ids.astype(np.uint16 if language.words <= 2**16 else np.uint32), offsets
