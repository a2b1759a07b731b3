"""One snapshot of a network while it trains: a few quick measures of the same kind as those of an analysis."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.analysis.locate import location_of
from rnnlens.common.errors import RnnlensError
from rnnlens.context.finding import measured_words
from rnnlens.context.known import KNOWN
from rnnlens.context.modifiers import Modifiers
from rnnlens.context.perturbation import Reviews, final_logits
from rnnlens.context.probe_reviews import REVIEWS
from rnnlens.context.probes import Probes, common_words
from rnnlens.context.subspace import fit_subspace
from rnnlens.corpora.protocol import SplitLike
from rnnlens.corpora.vocab import PAD, PAD_WORD
from rnnlens.dynamics import FixedPoints, LineAttractor, visited_states
from rnnlens.networks import Network

SENTENCES = (*REVIEWS.values(), "good", "not good", "bad", "not bad")
TOKENS = 2**18  # words read at once on a GPU, which other trainings may share: less than two gigabytes
STARTS = 500  # visited states from which slow points are searched
POINTS = 64  # slow points that are kept, evenly spaced in the order of their logits
COMMON = 1_000  # most frequent words, of which the strongest span the modifier subspace
STRONG = 100  # the number of these strongest words
RANK = 3  # directions of the modifier subspace


@dataclass(frozen=True)
class Sample:
    """A few documents of a split, held in memory: what a snapshot reads.

    ids  (n, T), PAD on the right; lengths (n,); labels (n,)
    """

    ids: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(cls, split: SplitLike, most: int, seed: int, max_words: int | None) -> Sample:
        """At most `most` documents, drawn by the seed."""
        rows = np.sort(np.random.default_rng(seed).choice(len(split), min(most, len(split)), replace=False))
        ids, lengths = split.batch(rows, max_words)
        return cls(np.asarray(ids), np.asarray(lengths), np.asarray(split.labels)[rows])

    def __len__(self) -> int:
        return len(self.lengths)

    def shuffled(self, seed: int) -> Sample:
        """The same documents with their words in random order, the order of `final_logits`."""
        ids = self.ids.copy()
        for row, length in enumerate(self.lengths.tolist()):
            keys = np.random.default_rng([seed, row]).random(length, dtype=np.float32)
            ids[row, :length] = ids[row, np.argsort(keys, kind="stable")]
        return Sample(ids, self.lengths, self.labels)

    def twice(self, seed: int, device: torch.device) -> Reviews:
        """The documents as written, then shuffled, to be read together: a GPU reads twice as many in the same time."""
        other = self.shuffled(seed)
        both = Sample(*(np.concatenate([getattr(part, name) for part in (self, other)]) for name in _FIELDS))
        return Reviews.of(both, device, at_once=TOKENS if device.type == "cuda" else None)

    def batch(self, rows: np.ndarray, max_words: int | None = None, /) -> tuple[np.ndarray, np.ndarray]:
        lengths = self.lengths[rows]
        return self.ids[rows][:, : max(1, int(lengths.max()))], lengths


_FIELDS = ("ids", "lengths", "labels")


@torch.no_grad()
def measure_snapshot(network: Network, sample: Sample, twice: Reviews, probes: Probes, seed: int = 0) -> dict[str, Any]:
    """The measures of a snapshot as plain data. A part that cannot be measured, such as the strengths of an untrained
    network whose probe words have no effect, is None.

    twice: the result of `sample.twice`, which is the same for all snapshots."""
    logits, shuffled = final_logits(network, twice).reshape(2, -1)
    labels = twice.labels[: len(sample)]
    sign = np.where(labels, 1.0, -1.0)
    right, right_shuffled = ((found > 0) == labels for found in (logits, shuffled))
    record: dict[str, Any] = {
        "loss": short(np.logaddexp(0, -sign * logits).mean()),
        "accuracy": float(right.mean()),
        "shuffled": float(right_shuffled.mean()),
        "lost": int((right & ~right_shuffled).sum()),  # to the shuffling
        "won": int((~right & right_shuffled).sum()),
        "readings": _readings(network),
        "line": None,
        "words": None,
        "subspace": None,
        "points": None,
    }
    states = visited_states(network, sample, n=STARTS, seed=seed, tokens=TOKENS if network.h0.is_cuda else 2**16)
    try:
        found = location_of(network, states)
    except RnnlensError:  # all states have the same logit
        return record
    line = found.line
    record["points"] = _points(network, found.points)
    where = {"settled": found.settled, "through": found.through, "shape": found.shape}
    record["line"] = {**_line_facts(network, line, states), **where}
    try:
        modifiers = _measured(network, line, probes)
    except RnnlensError:
        return record
    record["words"] = _words(modifiers)
    record["subspace"] = _subspace(network, line, modifiers)
    return record


def short(number: float | Tensor, digits: int = 6) -> float:
    """A number with few digits, for small files."""
    return float(f"{float(number):.{digits}g}")


def _readings(network: Network) -> dict[str, float]:
    """The final logit of each example sentence whose words the network knows."""
    vocab = network.vocab
    assert vocab is not None
    words = {text: vocab.split(text) for text in SENTENCES}
    known = [text for text in SENTENCES if all(word in vocab or word == PAD_WORD for word in words[text])]
    if not known:
        return {}
    lengths = [len(words[text]) for text in known]
    ids = np.full((len(known), max(lengths)), PAD)
    for row, text in enumerate(known):
        ids[row, : lengths[row]] = network.in_order(vocab.encode(words[text]))
    logits = network(*(torch.as_tensor(part, device=network.h0.device) for part in (ids, lengths)))
    return {text: short(logit) for text, logit in zip(known, logits.tolist(), strict=True)}


def _line_facts(network: Network, line: LineAttractor, states: Tensor) -> dict[str, Any]:
    (low, high), logits = line.range, network.logit(states)
    return {
        "explained": short(line.explained),
        "pc1_variance": short(line.pc1_variance),
        "range": [short(low), short(high)],
        "readout_alignment": short(line.readout_alignment),
        "h_star_logit": short(network.logit(line.h_star)),
        "covers": float(((logits >= low) & (logits <= high)).double().mean()),
    }


def _measured(network: Network, line: LineAttractor, probes: Probes) -> Modifiers:
    """Strengths of the most frequent words and of the well-known ones."""
    vocab = network.vocab
    assert vocab is not None
    known = torch.tensor([vocab.index[word] for word in KNOWN if word in vocab], dtype=torch.long)
    ids = torch.unique(torch.cat([common_words(network, COMMON), known.to(network.h0.device)]))
    return measured_words(network, line, ids, probes)


def _words(modifiers: Modifiers) -> dict[str, list[float]]:
    """Of each well-known word its strength, the error, and its own effect in logits."""
    columns = (part.tolist() for part in (modifiers.strength, modifiers.error, modifiers.valence))
    rows = zip(modifiers.words, *columns, strict=True)
    return {word: [short(number) for number in numbers] for word, *numbers in rows if word in KNOWN}


def _subspace(network: Network, line: LineAttractor, modifiers: Modifiers) -> dict[str, Any] | None:
    try:
        subspace = fit_subspace(network, line, modifiers, rank=RANK, rows=modifiers.order[:STRONG])
    except RnnlensError:
        return None
    eigenvalue = line.integration_eigenvalue
    return {
        "explained": [short(share) for share in subspace.explained[:10].tolist()],
        "eigenvalue": [short(eigenvalue.real), short(eigenvalue.imag)],
        "components": packed(subspace.components),
    }


def _points(network: Network, points: FixedPoints) -> dict[str, Any]:
    """Some of the slow points, in the order of their logits."""
    states = points.states[points.converged]
    logits = network.logit(states)
    order = logits.argsort()
    chosen = order[torch.linspace(0, max(0, len(order) - 1), min(POINTS, len(order))).round().long().to(order.device)]
    return {
        "converged": int(points.converged.sum()),
        "of": len(points),
        "logits": [short(logit, 4) for logit in logits[chosen].tolist()],
        "states": packed(states[chosen]),
    }


def packed(rows: Tensor) -> dict[str, Any]:
    """Rows in half precision as text, until the last snapshot decides on which plane they are drawn."""
    array = rows.detach().cpu().numpy().astype("<f2")
    return {"shape": list(array.shape), "half": base64.b64encode(array.tobytes()).decode()}


def unpacked(content: Mapping[str, Any]) -> np.ndarray:
    """The rows of `packed`, in float64."""
    data = base64.b64decode(content["half"], validate=True)
    return np.frombuffer(data, "<f2").reshape(content["shape"]).astype(np.float64)
