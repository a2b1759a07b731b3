"""What `studies.kinds` measures of each network."""

from __future__ import annotations

from typing import Any

import rnnlens
from rnnlens.analysis.checks import rounded
from rnnlens.analysis.directions import both_directions
from rnnlens.analysis.locate import locate, states_of
from rnnlens.context.class_probes import ClassProbes
from rnnlens.context.finding import find_modifiers
from rnnlens.context.layers import study_layers
from rnnlens.context.strength import MODIFIERS
from rnnlens.networks import Network, new_network, reader_of

LISTED = 15  # strongest modifiers of a network in the record
STARTS, REVIEWS = 2_000, 2_000
NAMED = ("not", "no", "never", "don't", "hardly", "very", "extremely", "so", "really", "too", "feel", "feeling", "but",
         "though", "enough", "the")  # fmt: skip
KEPT = ("dimension", "dimension_interval", "count", "count_interval", "explained", "shape", "simplex_cosine", "curve",
        "through", "predicted")  # fmt: skip


def untrained(network: Any, seed: int = 100) -> Any:
    """A network of the same shape, not trained."""
    return new_network(network.vocab, **{"scale": network.scale, "memory": network.memory, **network.config}, seed=seed)


def measure_classes(network: Network, corpus: Any, accuracy: dict[str, Any], points: int = 0) -> dict[str, Any]:
    """Geometry and modifiers of a network with several classes. points: how many of its slow points to record."""
    geometry = rnnlens.class_geometry(network, corpus)
    whole = geometry.to_dict()
    found: dict[str, Any] = {
        "classes": list(network.classes),
        "ordered": network.ordered,
        "accuracy": {name: accuracy[name] for name in ("validation", "test") if name in accuracy},
        "geometry": {name: whole[name] for name in KEPT},
    }
    if points:
        found["geometry"]["points"] = whole["points"][:: max(1, len(whole["points"]) // points)]
    if not network.ordered:
        table = rnnlens.class_strengths(network, geometry, ClassProbes.from_corpus(corpus))
        found["clear"], found["of"] = sum(kind in MODIFIERS for kind in table.kinds), len(table)
        found["words"] = table.to_dict(LISTED, also=[word for word in NAMED if word in table.words])
    return rounded(found)


def measure_one_way(run: Any) -> dict[str, Any]:
    """The test accuracies of a run, by source."""
    sources = run.accuracy.get("test_sources", {})
    return {"test": {name: part["accuracy"] for name, part in sources.items()}}


def measure_both(network: Any, corpus: Any, run: Any = None) -> dict[str, Any]:
    """The two readers of a network, side by side. run: of a trained network, for accuracies."""
    reader = reader_of(network, "forwards")
    location = locate(reader, states_of(reader, None, corpus, STARTS, 0))
    probes = rnnlens.Probes.from_corpus(corpus)
    modifiers = find_modifiers(reader, location.line, probes=probes.known_to(reader))
    both = both_directions(network, modifiers, corpus, run, accuracy=run is not None, reviews=REVIEWS).to_dict()
    for name in ("words", "phrases"):
        both[name] = [row for row in both[name] if row["word"] in NAMED] + both[name][:LISTED]
    return rounded({**({} if run is None else measure_one_way(run)), **both})


def measure_layers(network: Any, corpus: Any) -> dict[str, Any]:
    """Which part of a network's state keeps the evidence, and which modifies."""
    location = locate(network, states_of(network, None, corpus, STARTS, 0))
    probes = rnnlens.Probes.from_corpus(corpus).known_to(network)
    modifiers = find_modifiers(network, location.line, probes=probes)
    subspace = rnnlens.fit_subspace(network, location.line, modifiers, rank=3)
    words = [word for word in NAMED if word in modifiers.words]
    found = study_layers(network, location.line, subspace, words, probes)
    assert found is not None
    return rounded(found.to_dict())
