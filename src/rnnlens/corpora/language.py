"""Settings of a synthetic language, and named presets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rnnlens.common.allowed import shown, whole
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.options import ABOVE_ZERO, VALENCE
from rnnlens.common.ranges import check_fields
from rnnlens.corpora.truth import MODIFIERS

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
    both                     share of modifiers that have valence too
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
    both: float = 0.0
    scope: tuple[float, float] = (1.5, 6.0)
    edge_words: int = 20
    edge_weight: float = 1.5
    bayes: float = 0.93
    topics: int = 1
    topical: float = 0.5
    names: float = 0.0
    short: float = 0.0

    def __post_init__(self) -> None:
        check_fields("synthetic", self)
        if not isinstance(self.modifiers, Mapping):
            raise RnnlensError(f"modifiers is {shown(self.modifiers)}: expected (how many, lowest, highest) by kind")
        unknown = next((kind for kind in self.modifiers if kind not in MODIFIERS), None)
        if unknown is not None:
            raise RnnlensError(f"{quoted(unknown)} is not a kind of modifier: expected one of {', '.join(MODIFIERS)}")
        for kind, drawn in self.modifiers.items():
            if not isinstance(drawn, tuple | list) or len(drawn) != 3:
                raise RnnlensError(
                    f"modifiers of kind {quoted(kind)} are {shown(drawn)}: expected (how many, lowest, highest)"
                )
            for number, allowed in zip(drawn, (whole(0), VALENCE, VALENCE), strict=True):
                allowed.check(f"a number of modifiers of kind {quoted(kind)}", number)
            if not drawn[1] <= drawn[2]:
                raise RnnlensError(
                    f"modifiers of kind {quoted(kind)} are {shown(drawn)}: expected the lowest before the highest"
                )
        for name in ("ranks", "scope"):
            if not isinstance(pair := getattr(self, name), tuple | list) or len(pair) != 2:
                raise RnnlensError(f"{name} is {shown(pair)}: expected a pair of numbers, the lower one first")
            for number in pair:
                (whole(1) if name == "ranks" else ABOVE_ZERO).check(name, number)
        first, last = self.ranks
        if not 1 <= first < last <= self.words or last - first < sum(n for n, _, _ in self.modifiers.values()):
            raise RnnlensError(f"ranks are {first} … {last} of {self.words} words: too few for the modifiers")
        wanted = round(self.valence_share * self.words) + round(self.names * self.words)
        free = self.words - (self.valence_from - 1) - sum(n for n, _, _ in self.modifiers.values())
        if wanted > free:
            raise RnnlensError(
                f"valence_share, names and valence_from need {wanted:,} of {self.words:,} words, of which {free:,} are "
                "free: expected lower ones, or more words"
            )
        if not 1 <= self.scope[0] <= self.scope[1] < math.inf:
            raise RnnlensError(f"scope is {self.scope}: expected two numbers, at least 1, the lower one first")

    @property
    def mean_length(self) -> float:
        """Mean number of words in a document."""
        return self.length + self.short * (SHORT - self.length)


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
    "topics": Language(
        train=12_000, validation=500, test=2_000, length=40, length_sigma=0.4, words=400, zipf=0.7, valence_share=0.2,
        valence_from=5, ranks=(5, 200), scope=(1.5, 4.0), edge_words=4, bayes=0.95, topics=5, names=0.2, short=0.75,
        modifiers={"negator": (12, -1.2, -0.3), "intensifier": (12, 1.3, 2.5), "diminisher": (6, 0.3, 0.8)},
    ),
}  # fmt: skip


def preset(name: str) -> Language:
    """A language by name: tiny (for tests), easy, medium, mixed (also shifters, and modifiers with valence), hard,
    topics (small, with five topics, and short and long documents)."""
    if name not in PRESETS:
        raise RnnlensError(f"unknown preset {quoted(name)}: expected one of {', '.join(PRESETS)}")
    return PRESETS[name]
