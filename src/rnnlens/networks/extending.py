"""Add words to a trained network, or give it other classes, before training it on other texts."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import nn

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import in_range
from rnnlens.corpora.classes import checked_names
from rnnlens.corpora.vocab import Vocab
from rnnlens.networks.both_ways import AnyNetwork, BothWays
from rnnlens.networks.network import Network
from rnnlens.networks.readouts import first_thresholds

N = TypeVar("N", bound=AnyNetwork)
SMALL = 0.1  # norm of a new word, as a share of the median norm of the known ones


@torch.no_grad()
@in_range("extend")
def extend(network: N, vocab: Vocab, seed: int = 0) -> N:
    """A copy of a network whose vocabulary is its own words, in their order, followed by the new words of `vocab`.

    Known words, `<unk>` among them, keep their embeddings exactly, so texts of known words are read as before. New
    words get random directions and a tenth of the median norm of the known ones. Train the copy on the corpus in its
    words: `train(network, corpus.with_vocab(network.vocab), …)`.
    """
    if network.vocab is None or network.E is None:
        raise RnnlensError("this network has no words: `extend` needs a network with a vocabulary")
    words, E = network.vocab.extended(vocab), network.E
    directions = torch.randn(len(words) - len(E), E.shape[1], generator=torch.Generator().manual_seed(seed)).to(E)
    length = SMALL * E.norm(dim=1).median()
    new = length * directions / directions.norm(dim=1, keepdim=True)
    extended = copy.deepcopy(network)
    E = nn.Parameter(torch.cat([E, new]))
    for reader in (extended.forwards, extended.backwards) if isinstance(extended, BothWays) else (extended,):
        reader.vocab, reader.E = words, E
    return extended


@torch.no_grad()
@in_range("with_classes")
def with_classes(network: Network, classes: Sequence[str], ordered: bool = False, seed: int = 0) -> Network:
    """A copy of a network with a new, untrained readout of other classes; none for one logit. Its cell and its words
    stay as they are."""
    if not isinstance(network, Network):
        raise RnnlensError(
            f"the network is {quoted(type(network).__name__)}: expected a Network with a readout of its own"
        )
    classes = checked_names(classes) if len(classes) else ()
    made, units = copy.deepcopy(network), network.readout_w.shape[-1]
    rows = (len(classes),) if len(classes) > 2 and not ordered else ()
    w = torch.empty(*rows, units).uniform_(-(units**-0.5), units**-0.5, generator=torch.Generator().manual_seed(seed))
    b = first_thresholds(len(classes)) if ordered else torch.zeros(rows)
    made.readout_w, made.readout_b = nn.Parameter(w.to(network.h0)), nn.Parameter(b.to(network.h0))
    made.classes, made.ordered, made.reads = tuple(classes), ordered, ""
    return made
