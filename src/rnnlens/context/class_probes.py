"""Probe words of several classes: words that are evidence of one class each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.common.allowed import shown
from rnnlens.common.display import Facts, Shown
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.options import WORDS
from rnnlens.common.ranges import in_range
from rnnlens.context.effects import effects, word_inputs
from rnnlens.context.probes import common_words, logistic_weights, whole_words, words_that_occur
from rnnlens.corpora.protocol import CorpusLike
from rnnlens.networks import Network
from rnnlens.networks.parallel import usable_cores

MOST_TEXTS = 10_000  # of the logistic regressions, one for each class


@dataclass(frozen=True)
class ClassProbes(Shown):
    """Words by class, the strongest first. source: how they were chosen."""

    words: Mapping[str, tuple[str, ...]]
    source: str = "given"

    def __post_init__(self) -> None:
        if not isinstance(self.words, Mapping) or len(self.words) < 2:
            raise RnnlensError(f"probes are {quoted(self.words)}: expected words by class, as in {{'joy': ['happy']}}")
        checked: dict[str, tuple[str, ...]] = {}
        for name, words in self.words.items():
            if words not in WORDS or not list(words):
                raise RnnlensError(f"the probes of {quoted(name)} are {shown(words)}: expected at least one word")
            checked[name] = tuple(words)
        counts = Counter(word for words in checked.values() for word in words)
        twice = next((word for word in counts if counts[word] > 1), None)
        if twice is not None:
            raise RnnlensError(f"{quoted(twice)} is a probe of two classes, or twice of one: expected each word once")
        object.__setattr__(self, "words", checked)

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `classes.probes`."""
        return {"words": {name: list(words) for name, words in self.words.items()}, "source": self.source}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> ClassProbes:
        return cls({name: tuple(words) for name, words in stored["words"].items()}, stored["source"])

    @in_range("probes")
    def some(self, n: int) -> ClassProbes:
        """At most n of each class, evenly spaced from the strongest to the weakest."""
        kept = {
            name: tuple(words[len(words) * i // n] for i in range(n)) if len(words) > n else words
            for name, words in self.words.items()
        }
        return ClassProbes(kept, self.source)

    @property
    def sizes(self) -> list[int]:
        """The number of words of each class."""
        return [len(words) for words in self.words.values()]

    @in_range()
    def inputs(self, network: Network) -> Tensor:
        """The embeddings (V, D) of all words, class by class."""
        return word_inputs(network, [word for words in self.words.values() for word in words])

    @in_range()
    def known_to(self, network: Network) -> ClassProbes:
        """The probes that are in a network's vocabulary, in the order of its classes."""
        vocab = network.vocab
        if vocab is None:
            raise RnnlensError("this network has no words: probes need a network with a vocabulary")
        if other := [name for name in self.words if name not in network.classes]:
            raise RnnlensError(f"probes are of the class {quoted(other[0])}: expected classes of the network")
        kept = {name: tuple(word for word in words if word in vocab) for name, words in self.words.items()}
        lacking = next((name for name in kept if not kept[name]), None)
        if lacking is not None:
            raise RnnlensError(f"no probe of the class {quoted(lacking)} is in the network's vocabulary: pass others")
        return ClassProbes({name: kept[name] for name in network.classes if name in kept}, self.source)

    @classmethod
    @in_range("probes")
    def from_corpus(cls, corpus: CorpusLike, n: int = 40, seed: int = 0, most: int = MOST_TEXTS) -> ClassProbes:
        """For each class the n words with the largest weights in a logistic regression of the class against the rest,
        on the words of the training texts, at most `most` of them. A word is a probe of the class in which its weight
        is largest."""
        names = getattr(corpus, "classes", ())
        if not names:
            raise RnnlensError("the corpus has no classes: expected three or more; for two use Probes.from_corpus")
        occurs, chosen = words_that_occur(corpus, seed, most)
        labels = np.asarray(corpus.train.labels)[chosen]
        with ThreadPoolExecutor(usable_cores()) as pool:
            fits = pool.map(lambda k: logistic_weights(occurs, labels == k, seed), range(len(names)))
            weights = np.stack(list(fits), 1)
        ids = np.flatnonzero(whole_words(corpus.vocab))
        words = corpus.vocab.decode(ids.tolist())
        return cls(_of_each(words, torch.from_numpy(weights[ids]), names, n), "logistic regression of each class")

    @classmethod
    @in_range("probes")
    def from_network(cls, network: Network, h: Tensor, n: int = 40, common: int = 5_000) -> ClassProbes:
        """For each class the n words that add most to its evidence at a state h, of the `common` most frequent."""
        if not network.several_classes:
            raise RnnlensError("this network does not have several classes: for one logit use Probes.from_network")
        ids = common_words(network, common)
        assert network.vocab is not None and network.E is not None
        added = effects(network, h, network.E.detach()[ids])
        words = network.vocab.decode(ids.tolist())
        return cls(
            _of_each(words, added - added.mean(-1, keepdim=True), network.classes, n), "the network's own effects"
        )

    def _facts(self) -> Facts:
        rows: list[tuple[str, object]] = [(name, list(words[:8])) for name, words in list(self.words.items())[:12]]
        return [*rows, ("source", self.source)]


def _of_each(words: Sequence[str], weights: Tensor, names: Sequence[str], n: int) -> dict[str, tuple[str, ...]]:
    """The n words with the largest weights (W, C) of each class; each word belongs to its largest one, and a class that
    has no such word is left out."""
    best, of = weights.max(1)
    found: dict[str, tuple[str, ...]] = {}
    for k, name in enumerate(names):
        rows = ((of == k) & (best > 0)).nonzero().squeeze(1)
        rows = rows[best[rows].argsort(descending=True, stable=True)][:n]
        if len(rows):
            found[name] = tuple(words[i] for i in rows.tolist())
    if len(found) < 2:
        raise RnnlensError("fewer than two classes have words that are evidence of them: pass probes of your own")
    return found
