"""Probe reviews: one sentence plain, intensified and negated, read word by word (Fig. 1b, Supp. F; Fig. 10b)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.networks import Network

# The paper's three sentences; blank inputs align the plain one with the others.
REVIEWS = {
    "plain": "This movie is <pad> awesome. I <pad> like it.",
    "intensified": "This movie is extremely awesome. I definitely like it.",
    "negated": "This movie is not awesome. I don't like it.",
}
PHRASES = ("extremely awesome", "awesome", "not awesome", "extremely awful", "awful", "not awful")


@in_range()
def probe_reviews(network: Network, reviews: Mapping[str, str] = REVIEWS) -> dict[str, list[tuple[str, float]]]:
    """Each review's words with the logit after each."""
    return {name: network.read_words(_words(network, text)) for name, text in reviews.items()}


@in_range("words")
def probe_phrases(network: Network, phrases: tuple[str, ...] = PHRASES) -> dict[str, float]:
    """The final logit of each phrase, minus that of the empty review (Fig. 10b)."""
    network.check_one_logit("the reading of phrases")
    empty = float(network.logit(network.h0.detach()).detach())
    return {phrase: [("", empty), *network.read_words(_words(network, phrase))][-1][1] - empty for phrase in phrases}


def _words(network: Network, text: str) -> list[str]:
    if network.vocab is None:
        raise RnnlensError("this network has no words: probe sentences need a vocabulary")
    return network.vocab.split(text)


def probe_results(network: Network, without_subspace: Network, without_random: Network) -> dict[str, Any]:
    """For results.json, under `probes`: logits of the network, of the same without the modifier subspace, and of the
    same without a random subspace."""
    return {
        **_readings(network),
        "without_subspace": _readings(without_subspace),
        "without_random": _readings(without_random),
    }


def _readings(network: Network) -> dict[str, Any]:
    return {"reviews": probe_reviews(network), "phrases": probe_phrases(network)}
