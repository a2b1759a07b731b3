"""The network inside the page: its weights and the arrays of its analysis, compressed without loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.analysis.people import people_say
from rnnlens.common.sides import sides_of
from rnnlens.context.modifiers import MEASURES
from rnnlens.context.probes import Probes
from rnnlens.context.strength import CHANGES, ENOUGH, FEW, KINDS, NEGATES, clear_at, kind_of
from rnnlens.corpora.vocab import Vocab
from rnnlens.corpora.words import LOWERED, RULES, WORD
from rnnlens.networks import BothWays, Network
from rnnlens.page.packing import packed, packed_network, packed_width, why_not

LEAST_WORDS = 200  # smaller vocabularies are those of toy languages
LIMIT = 12 * 2**20  # bytes of embedding in a page by default: small enough to send by e-mail
SHOWN = ("strength", "error", "valence", "norm", "tau")  # columns of the page's table of words


@dataclass(frozen=True)
class Live:
    """The data of the page's script.

    why_not: why the network cannot run in the page; empty if it can. words: number of words whose embeddings the page
    carries. of: number of words in the vocabulary.
    """

    data: dict[str, Any]
    why_not: str
    words: int
    of: int

    @property
    def runs(self) -> bool:
        return not self.why_not

    @property
    def classes(self) -> bool:
        """Whether the reader shows several classes."""
        network = self.data.get("network") or {}
        return bool(network.get("both", network).get("classes"))

    @property
    def kind(self) -> str:
        """What the reader shows: one logit, probabilities of classes or of ordered ones, or both directions."""
        network = self.data.get("network") or {}
        classes = network.get("both", network).get("classes")
        if "both" in network or not classes:
            return "both" if "both" in network else "logit"
        return "ordered" if classes["ordered"] else "classes"


def live(
    network: Network,
    arrays: Mapping[str, Tensor],
    results: Mapping[str, Any],
    probes: Mapping[str, Any],
    words: int | None = None,
    limit: int = LIMIT,
    both: BothWays | None = None,
) -> Live:
    """Pack a network for the page.

    arrays: from `Analysis.arrays()`; parts of the page whose arrays are missing are left out. probes: positive and
    negative words.
    words: how many of the most frequent words to carry; by default as many as fit in `limit` bytes of embedding.
    both: the network that reads both ways, if `network` is one of its two readers.
    """
    vocab = network.vocab
    assert vocab is not None
    known = [word in vocab for word in (*probes["positive"], *probes["negative"])]
    data: dict[str, Any] = {
        "word": WORD,
        "rules": RULES,
        "lowered": LOWERED if vocab.cased else None,
        "respelled": vocab.respelled,
        "words": vocab.words,
        "unk": vocab.unk,
        "kinds": KINDS,
        "about": {"negates": NEGATES, "changes": CHANGES, "positive": [], "negative": []}
        | {"names": sides_of(results).words},
        "measured": _measured(arrays, vocab),
        "people": {} if network.reads_one_of_many else _people(vocab),
        "stored": {},
    }
    if all(known):
        data["about"] |= {side: list(probes[side]) for side in ("positive", "negative")}
        data["about"] |= {"doses": _doses(results)}
        data["about"] |= {"many": _some(probes, ENOUGH), "few": _some(probes, FEW)} if known else {}
    unable = why_not(network) or ("" if both is None else why_not(both.backwards) or why_not(both.forwards))
    if unable:
        data["stored"] = {name: results.get(name, {}) for name in ("barcodes", "impulse")}
        return Live(data, unable, 0, len(vocab))
    kept = _kept(network, words, {*probes["positive"], *probes["negative"]}, limit)
    data["network"] = {
        "shipped": None if kept is None else packed(torch.from_numpy(kept)),
        "E": _embedding(network, kept),
        "backward": network.backward and both is None,  # read alone, it is shown in its own order
        **packed_network(network),
    }
    if both is not None:
        data["network"]["both"] = _both(network, both, kept)
        data["kinds_by_side"] = _kinds(results)
    data["analysis"] = _analysis(network, arrays) if all(known) and known else None
    return Live(data, "", len(vocab) if kept is None else len(kept), len(vocab))


def no_network() -> Live:
    """For a page without a network."""
    data: dict[str, Any] = {"words": [], "kinds": KINDS, "about": {}, "measured": None, "stored": {}}
    return Live(data, "No network was trained here: this page shows only the results.", 0, 0)


def _some(probes: Mapping[str, Any], n: int) -> dict[str, list[int]]:
    """The places of `Probes.some(n)` on each side: with these, strengths are measured."""
    some = Probes(tuple(probes["positive"]), tuple(probes["negative"])).some(n)
    return {side: [list(probes[side]).index(word) for word in getattr(some, side)] for side in ("positive", "negative")}


def _doses(results: Mapping[str, Any]) -> dict[str, Any] | None:
    """How many texts were read, and pairs of a gain and its accuracy; None if they were not measured."""
    doses = results.get("steering", {}).get("doses", [])
    pairs = [[dose["gain"], dose["accuracy"]["accuracy"]] for dose in doses]
    texts = sides_of(results).texts
    return {"read": f"{doses[0]['accuracy']['n']:,} {texts}", "doses": pairs} if doses else None


def _people(vocab: Vocab) -> dict[str, list[float]]:
    """People's strengths and numbers of phrases, by word; empty for toy languages."""
    if len(vocab) < LEAST_WORDS:
        return {}
    judgments = {word: people_say(word) for word in vocab.words}
    return {word: [round(judgment[0], 2), judgment[1]] for word, judgment in judgments.items() if judgment is not None}


def _kept(network: Network, words: int | None, also: set[str], limit: int) -> np.ndarray | None:
    """Ids of the words whose embedding the page carries, or None for all: the most frequent, `<unk>` and the probes."""
    vocab, E = network.vocab, network.E
    assert vocab is not None and E is not None
    most = limit // (packed_width(E) * E.shape[1]) if words is None else words
    if most >= len(vocab):
        return None
    counts = np.zeros(len(vocab)) if vocab.counts is None else vocab.counts
    needed = [i for i in (vocab.unk, *(vocab.index[word] for word in also)) if i >= 0]
    frequent = np.argsort(-counts, kind="stable")[: max(0, most)]
    return np.union1d(frequent, needed).astype(np.int32)


def _embedding(network: Network, kept: np.ndarray | None) -> dict[str, str]:
    assert network.E is not None
    E = network.E.detach().cpu()
    return packed(E if kept is None else E[torch.from_numpy(kept).long()])


def _both(network: Network, both: BothWays, kept: np.ndarray | None) -> dict[str, Any]:
    """The other reader of a network that reads both ways, and the biases. shown: which reader `network` is."""
    view = both.of_class(network.target) if both.several_classes else both
    other = view.forwards if network.backward else view.backwards
    assert network.E is not None and other.E is not None
    classes = {"names": list(both.classes), "ordered": both.ordered, "b": packed(both.b)}
    return {
        "shown": "backwards" if network.backward else "forwards",
        "other": packed_network(other),
        "E": None if torch.equal(network.E, other.E) else _embedding(other, kept),
        "bias": packed(view.b.reshape(1)),
        "classes": classes if both.several_classes else None,
    }


def _kinds(results: Mapping[str, Any]) -> dict[str, list[str]] | None:
    """Of a network that reads both ways, the kinds of words in the forward and in the backward reader."""
    rows = (results.get("both_ways") or {}).get("words", [])
    names = ("forwards_kind", "backwards_kind")
    return {row["word"]: [row.get(name, "none") for name in names] for row in rows} or None


def _analysis(network: Network, arrays: Mapping[str, Tensor]) -> dict[str, Any] | None:
    """h* and the modifier subspace; None if no line was found."""
    if "line" not in arrays:
        return None
    h_star = arrays.get("h_star")
    if h_star is None:  # the toy study stores only its slow points
        slow = arrays["slow_points"].to(network.h0)
        h_star = slow[network.logit(slow).abs().argmin()]
    packed_arrays = {"h_star": packed(h_star)}
    if "subspace" in arrays:
        packed_arrays["subspace"] = packed(arrays["subspace"])
    return packed_arrays


def _measured(arrays: Mapping[str, Tensor], vocab: Vocab) -> dict[str, Any] | None:
    """The table of all measured words and their coordinates in the subspace; None if they are not stored."""
    if "measures" not in arrays:
        return None
    columns = dict(zip(MEASURES, arrays["measures"].float(), strict=True))
    clear = clear_at(columns["strength"], columns["error"])
    of_each = zip(*(columns[name].tolist() for name in ("strength", "error", "own")), strict=True)
    kinds = [kind_of(strength, error, own, clear) for strength, error, own in of_each]
    ids, numbers = arrays["words"].long(), torch.tensor([KINDS.index(kind) for kind in kinds], dtype=torch.uint8)
    packed_arrays = {
        "ids": packed(ids.int()),
        "kinds": packed(numbers),
        "places": packed(arrays["places"].float()),
        "rank": arrays["places"].shape[1],
        **{name: packed(columns[name]) for name in SHOWN},
    }
    if vocab.counts is not None:
        counts = torch.from_numpy(vocab.counts)[ids]
        packed_arrays["counts"] = packed(counts.int() if int(counts.abs().max()) < 2**31 else counts.double())
    return packed_arrays
