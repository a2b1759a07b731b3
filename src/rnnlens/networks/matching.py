"""Whether a network and a corpus belong together, and whether two networks are one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.corpora.protocol import CorpusLike, SplitLike
from rnnlens.corpora.splits import NEUTRAL
from rnnlens.networks.both_ways import AnyNetwork, BothWays


def check_words(network: AnyNetwork, corpus: CorpusLike | SplitLike | None) -> None:
    """Refuse a corpus, or a split of one, whose words or classes are not the network's: its ids and labels would mean
    others. A network or corpus without a vocabulary, or a corpus without names of classes, is not checked."""
    check_order(network, corpus)
    words = getattr(corpus, "vocab", None)
    if words is not None and network.vocab is not None and words != network.vocab:
        raise RnnlensError(
            f"network and corpus have different words ({len(network.vocab)} and {len(words)}): make the network with "
            "Network(corpus.vocab, …), or pass corpus.with_vocab(network.vocab)"
        )
    classes = getattr(corpus, "classes", None)
    own = network.classes if network.several_classes else ()
    if classes is not None and classes != own and not network.target:
        has, needs = (f"{len(names)} classes" if names else "two classes" for names in (classes, own))
        raise RnnlensError(
            f"the corpus has {has}{_listed(classes)} and the network {needs}{_listed(own)}: make the network with "
            "Network(corpus.vocab, classes=corpus.classes)"
        )


def check_order(network: AnyNetwork, corpus: CorpusLike | SplitLike | None) -> None:
    """A network that reads backward needs a reversed corpus, and one that reads both ways a corpus in its usual
    order."""
    about = getattr(corpus, "about", None)
    backward = getattr(corpus, "backward", None) if about is None else "reversed" in about
    if network.backward and backward is False:
        raise RnnlensError(
            "this network reads texts from their last word to their first, and the corpus is in the usual order: pass "
            "rnnlens.reversed_corpus(corpus), or prepare it with --reverse"
        )
    if isinstance(network, BothWays) and backward:
        raise RnnlensError(
            "this network reads texts from both ends, and the words of the corpus are in reverse order: pass the "
            "corpus in its usual order"
        )


def check_known_classes(network: AnyNetwork, split: SplitLike) -> None:
    """Refuse documents with a label that stands for no class of the network. Targets at every word are not checked."""
    labels = np.asarray(split.labels)
    if getattr(split, "grades", None) is not None:
        labels = labels[labels != NEUTRAL]
    if labels.ndim != 1 or not len(labels):
        return
    most = len(network.classes) - 1 if network.several_classes else 1
    low, high = float(labels.min()), float(labels.max())
    if not 0 <= low <= high <= most:
        has = f"{most + 1} classes" if network.several_classes else "one logit"
        reads = getattr(network, "reads", "")
        fix = f"; it reads {reads}: pass the network with all its classes" if reads else ""
        raise RnnlensError(
            f"the labels are from {low:g} to {high:g}, and the network has {has}: expected 0 to {most}{fix}"
        )


@torch.no_grad()
def repeated(networks: Sequence[Any]) -> tuple[int, int] | None:
    """The places of two networks that are one, the first of them earlier: the same object, or a copy with the same
    words, which reads 20 texts with exactly the same logits. None if all are different."""
    readings = [_reading(network) for network in networks] if len(networks) > 1 else []
    for j, second in enumerate(networks):
        for i, first in enumerate(networks[:j]):
            if first is second or (readings[i] is not None and readings[i] == readings[j]):
                return i, j
    return None


def _reading(network: Any) -> tuple[object, ...] | None:
    """The words of a network and its logits of 20 texts of 5 words; None without words."""
    words = getattr(network, "vocab", None)
    if words is None or getattr(network, "E", None) is None:
        return None
    ids = (torch.arange(100) % len(words)).reshape(20, 5)
    return (*words.words, network(ids.to(network.h0.device)).tolist())


def _listed(names: Sequence[str]) -> str:
    more = ", …" if len(names) > 6 else ""
    return f" ({', '.join(quoted(name, 40) for name in names[:6])}{more})" if names else ""
