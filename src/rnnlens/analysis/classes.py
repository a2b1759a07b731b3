"""The part of an analysis that is about all classes of a network: their geometry, and modifiers by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.common.display import Facts, Shown
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.context.class_probes import ClassProbes
from rnnlens.context.class_strength import class_strengths
from rnnlens.context.known import FEW
from rnnlens.context.modifiers import Modifiers
from rnnlens.context.strength import MODIFIERS
from rnnlens.corpora import CorpusLike
from rnnlens.dynamics import class_geometry
from rnnlens.networks import Network

Matrix = Sequence[Sequence[float]]

KEY = "classes"  # in results.json
SPREAD = 8  # modifiers, besides well-known ones, for which results.json has where the evidence goes
LISTED = 100  # words with their strengths by class


@dataclass(frozen=True, eq=False)
class Classes(Shown):
    """What an analysis found about all C classes of a network.

    names, ordered  of the classes
    shown           the class whose logit the other parts of the analysis are of; of ordered classes, their scale
    geometry        `ClassGeometry.to_dict`
    modifiers       words with their strength and error, overall and by class, the most certain first
    counts          number of clear modifiers (`n`), of unclear words (`unclear`), and of words (`of`)
    spread          where the evidence of probe words goes after a word: a matrix (C, C) for some words
                    (`ClassStrengths.spread`); empty if there are more than 30 classes
    usual           the same matrix without a word before them; None if there are more than 30 classes
    probes          the probe words of each class; None of ordered classes
    span (k, N)     directions in which the evidence of all classes is kept and read
    """

    names: tuple[str, ...]
    ordered: bool
    shown: str
    geometry: Mapping[str, Any]
    modifiers: Sequence[Mapping[str, Any]]
    counts: Mapping[str, int]
    spread: Mapping[str, Matrix]
    usual: Matrix | None
    probes: ClassProbes | None
    span: Tensor = field(repr=False)

    def to_dict(self, scale: Modifiers | None = None) -> dict[str, Any]:
        """For results.json, under `classes`. scale: of ordered classes, the table of words on their scale. They have
        one direction of evidence, so that a word's strength is the same for each class."""
        words: Sequence[Mapping[str, Any]] = self.modifiers
        counts = self.counts
        if self.ordered and scale is not None:
            words, counts = _on_the_scale(scale, len(self.names))
        return {
            "names": list(self.names),
            "ordered": self.ordered,
            "shown": self.shown,
            "geometry": dict(self.geometry),
            "modifiers": list(words),
            **counts,
            "spread": dict(self.spread),
            "usual": self.usual,
            "probes": None if self.probes is None else self.probes.to_dict(),
        }

    @classmethod
    def stored(cls, results: Mapping[str, Any], arrays: Mapping[str, Tensor]) -> Classes | None:
        """What results.json and analysis.safetensors hold; None of a network with one logit."""
        of, span = results.get(KEY), arrays.get("class_directions")
        if of is None or span is None:
            return None
        if span.ndim != 2 or span.shape[1:] != arrays["slow_points"].shape[1:]:
            raise ValueError(f"class_directions have shape {tuple(span.shape)}")
        ordered, probes = of["ordered"], of["probes"]
        counts = {} if ordered else {name: of[name] for name in ("n", "unclear", "of")}
        return cls(
            tuple(of["names"]),
            ordered,
            of["shown"],
            of["geometry"],
            () if ordered else of["modifiers"],
            counts,
            of["spread"],
            of.get("usual"),
            None if probes is None else ClassProbes.from_dict(probes),
            span,
        )

    def __repr__(self) -> str:
        geometry, n = self.geometry, len(self.names)
        return f"Classes({n}, shown {quoted(self.shown, 40)}: {geometry['shape']}, {geometry['count']} dimensions)"

    def _facts(self) -> Facts:
        geometry = self.geometry
        return [
            ("classes", list(self.names[:12])),
            ("shown", self.shown),
            ("shape", geometry["shape"]),
            ("dimensions", geometry["count"]),
            ("participation ratio", geometry["dimension"]),
            ("modifiers", [row["word"] for row in self.modifiers[:12]]),
        ]


def shown_class(network: Network, class_: str | None, corpus: CorpusLike | None, stored: str = "") -> str | None:
    """The class to show if none is chosen: the one with most training texts or, without a corpus, that of the stored
    analysis, whose accuracies then stay, or the first. None if the network has one logit, or ordered classes, which are
    read on one scale."""
    if class_ is not None or network.ordered or not network.several_classes:
        return class_
    if corpus is None or not getattr(corpus, "classes", ()):
        return stored if stored in network.classes else network.classes[0]
    counts = np.bincount(np.asarray(corpus.train.labels), minlength=len(network.classes))
    return network.classes[int(counts.argmax())]


@torch.no_grad()
def study_classes(
    network: Network,
    states: Tensor,
    corpus: CorpusLike | None,
    shown: str,
    *,
    top: int,
    seed: int,
    stored: Mapping[str, Any] | None = None,
) -> Classes:
    """Geometry and modifiers of all classes. states (K, N): visited states. stored: an earlier result, whose probe
    words are used again without a corpus."""
    geometry = class_geometry(network, corpus, states, seed=seed)
    found, span = geometry.to_dict(), geometry.span
    if network.ordered:
        return Classes(network.classes, True, shown, found, (), {}, {}, None, None, span)
    probes = _stored_probes(stored, network) if corpus is None else ClassProbes.from_corpus(corpus, seed=seed)
    table = class_strengths(network, geometry, probes, top=top)
    counts = {
        "n": sum(kind in MODIFIERS for kind in table.kinds),
        "unclear": table.kinds.count("unclear"),
        "of": len(table),
    }
    named = dict.fromkeys([*(word for word in FEW if word in table.words), *table.strongest(SPREAD)])
    whole = len(table.probes.words) == len(network.classes)  # else the matrix would lack rows
    spread = {word: table.spread(word).tolist() for word in named} if whole else {}
    usual = table.spread().tolist() if whole else None
    words = table.to_dict(LISTED, also=FEW)
    return Classes(network.classes, False, shown, found, words, counts, spread, usual, table.probes, span)


def _stored_probes(stored: Any, network: Network) -> ClassProbes | None:
    """Probe words of an earlier result; none if it is of other classes or not readable."""
    try:
        if tuple(stored["names"]) != network.classes:
            return None
        return None if stored["probes"] is None else ClassProbes.from_dict(stored["probes"]).known_to(network)
    except (KeyError, TypeError, AttributeError, ValueError, RnnlensError):
        return None


def _on_the_scale(table: Modifiers, classes: int) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Words of a scale in the form of words by class, and their counts."""
    names = dict.fromkeys([*table.strongest(LISTED), *(word for word in FEW if word in table.words)])
    rows = [{name: table[word][name] for name in ("word", "kind", "strength", "error")} for word in names]
    words = [{**row, "by_class": [row["strength"]] * classes, "errors": [row["error"]] * classes} for row in rows]
    counts = {"n": len(table.selected), "unclear": table.kinds.count("unclear"), "of": len(table)}
    return words, counts
