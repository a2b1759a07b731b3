"""The part of a run's network that its stored analysis is of: one class of several, one direction of two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from rnnlens.corpora.vocab import Vocab
from rnnlens.networks import BothWays, Network, new_network, reader_of, replaced
from rnnlens.networks.projected import projected


def untrained(vocab: Vocab, about: Mapping[str, Any]) -> Any:
    """A network of the shape in run.json; one that was trained on reversed texts reads texts backward."""
    network = new_network(vocab, **about["network"])
    if "reversed" in about["corpus"]:
        network.direction = "backwards"
    return network


def analyzed(network: Any, options: object) -> Network:
    """The network, its view of one class (`Network.of_class`), its reader of one direction, or both.

    options: the entry `analysis` of results.json."""
    options = options if isinstance(options, Mapping) else {}
    name = options.get("class")
    network = network if name is None else network.of_class(name)
    return reader_of(network, direction_of(options)) if isinstance(network, BothWays) else network


def direction_of(options: object) -> str:
    """The direction that an analysis is of; forwards, if there is none yet."""
    return str(options.get("direction", "forwards")) if isinstance(options, Mapping) else "forwards"


def without(network: Any, options: object, arrays: Mapping[str, Tensor]) -> Any:
    """The network without the modifier subspace of an analysis, which of two directions is in one."""
    V, h_star = (arrays[name].to(network.h0) for name in ("subspace", "h_star"))
    if not isinstance(network, BothWays):
        return projected(network, V, h_star @ V.t())
    direction = direction_of(options)
    return replaced(network, direction, projected(reader_of(network, direction), V, h_star @ V.t()))
