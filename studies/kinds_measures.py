"""What `studies.kinds` measures of each network."""

from __future__ import annotations

from typing import Any

import rnnlens
from rnnlens.analysis.checks import rounded
from rnnlens.context.class_probes import ClassProbes
from rnnlens.networks import Network

LISTED = 15  # strongest modifiers of a network in the record
NAMED = ("not", "no", "never", "don't", "very", "so", "really", "too", "feel", "feeling", "but", "the")
KEPT = ("dimension", "dimension_interval", "count", "count_interval", "explained", "shape", "simplex_cosine", "curve",
        "through", "predicted")  # fmt: skip


def untrained(network: Network, seed: int = 100) -> Network:
    """A network of the same shape, not trained."""
    shape = {**network.config, "scale": network.scale, "memory": network.memory}
    return Network(network.vocab, **shape, seed=seed)  # type: ignore[arg-type]


def measure_classes(network: Network, corpus: Any, accuracy: dict[str, Any]) -> dict[str, Any]:
    """Geometry and modifiers of a network with several classes. Accuracies are of the whole network."""
    geometry = rnnlens.class_geometry(network, corpus)
    whole = geometry.to_dict()
    found: dict[str, Any] = {
        "classes": list(network.classes),
        "ordered": network.ordered,
        "accuracy": {name: accuracy[name] for name in ("validation", "test") if name in accuracy},
        "geometry": {name: whole[name] for name in KEPT},
    }
    if not network.ordered:
        table = rnnlens.class_strengths(network, geometry, ClassProbes.from_corpus(corpus))
        found["clear"] = sum(kind in ("negator", "diminisher", "intensifier") for kind in table.kinds)
        found["words"] = table.to_dict(LISTED, also=[word for word in NAMED if word in table.words])
    return rounded(found)


def measure_one_way(run: Any) -> dict[str, Any]:
    """Accuracies of a run."""
    return {"accuracy": run.accuracy, "hidden": run.network.config["hidden"]}


def measure_both(run: Any, corpus: Any) -> dict[str, Any]:
    """The two readers of a run, side by side, on 2,000 reviews."""
    both = rnnlens.analyze(run, corpus, reviews=2_000).both_ways
    assert both is not None
    return rounded({**measure_one_way(run), **both.to_dict()})


def measure_stack(run: Any, corpus: Any) -> dict[str, Any]:
    """Which layer of a run keeps the evidence, and which modifies."""
    analysis = rnnlens.analyze(run, corpus, accuracy=False)
    return rounded({**measure_one_way(run), **analysis.results["layers"]})
