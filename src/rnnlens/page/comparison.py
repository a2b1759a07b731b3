"""The page of several networks: the same sentence through all of them, their verdicts, strengths and claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from rnnlens.analysis.record import Analysis
from rnnlens.common.provenance import KEY
from rnnlens.common.sides import sides_of
from rnnlens.context.effects import effects
from rnnlens.context.probes import Probes
from rnnlens.context.shared_strengths import pair
from rnnlens.context.strength import KINDS
from rnnlens.figures import strengths as draw_strengths
from rnnlens.page.analysis import examples, target_said
from rnnlens.page.columns import Column, claim_rows, column_of, fact_rows, word_rows
from rnnlens.page.compared import Compared, compared, own_words
from rnnlens.page.drawing import template
from rnnlens.page.packing import packed_width
from rnnlens.page.render import filled
from rnnlens.page.sections import drawn
from rnnlens.page.toy import ABOVE_0
from rnnlens.page.toy import EXAMPLES as TOY_EXAMPLES
from rnnlens.runs import Run

# Joined in this order into one module: each file needs only those before it.
SCRIPTS = (
    "words", "arrays", "vectors", "cell", "stack", "recurrences", "residual", "network", "reading", "elements",
    "charts", "arcs", "wordlist", "sidebyside", "folds", "sections", "theme", "titles", "figures", "comparison",
)  # fmt: skip
LIMIT = 13 * 2**20  # bytes of all weights together: the page of the four packaged networks stays below 20 MB


def comparison(runs: Sequence[Run | Analysis | Path | str], words: int | None = None, progress: bool = False) -> str:
    """The HTML of a page with several networks. words: how many words of each the page carries; by default as many as
    fit. progress: whether to show a bar while packaged networks are analyzed."""
    networks = compared(runs, progress)
    cells = sum(_bytes(one) for one in networks)
    each = max(0, LIMIT - cells) // len(networks)
    columns = []
    for one in networks:
        with one.parsing():
            columns.append(column_of(one, words, each))
    first = columns[0]
    pairs = [pair((first.name, other.name), first.strengths, other.strengths) for other in columns[1:]]
    drawings, missing = drawn({"strengths": lambda: draw_strengths(pairs)}, "strengths")
    with networks[0].parsing():
        own = [example.text for example in examples(networks[0].network, networks[0].results)]
    sentences = TOY_EXAMPLES if networks[0].is_toy else own
    return filled(
        "comparison.html",
        SCRIPTS,
        ("style", "comparison"),
        drawings,
        sides_of(networks[0].results),
        title=f"{', '.join(column.name for column in columns)}: side by side",
        contains="the networks",
        networks=columns,
        target=target_said(networks[0].network),
        runs=any(column.live.runs for column in columns),
        facts=fact_rows(columns),
        shared=_shared(networks, columns),
        words=word_rows(columns, pairs),
        claims=claim_rows(columns),
        missing=missing,
        data=_data(networks, columns, sentences),
    )


def _bytes(one: Compared) -> int:
    """The size of a network's weights without its embedding, before compression."""
    inner = [array for name, array in one.network.state_dict().items() if name != "E"]
    return sum(packed_width(array) * array.numel() for array in inner)


def _shared(networks: Sequence[Compared], columns: Sequence[Column]) -> dict[str, int]:
    """How many words all networks know, and how many of these were measured in all."""
    known = set.intersection(*(own_words(one.network) for one in networks))
    measured = known.intersection(*(column.strengths for column in columns))
    return {"known": len(known), "measured": len(measured)}


def _data(networks: Sequence[Compared], columns: Sequence[Column], sentences: Sequence[str]) -> dict[str, Any]:
    """The live networks, with the strengths of their words."""
    people: dict[str, Any] = {}
    parts = []
    for one, column in zip(networks, columns, strict=True):
        own = column.live.data
        people |= own["people"]
        measured = own["measured"] or {}
        parts.append(
            {name: own[name] for name in ("word", "rules", "lowered", "respelled", "words", "unk")}
            | {"name": one.name, "network": own.get("network"), "effect": _usual_effect(one)}
            | {"measured": {name: measured[name] for name in ("ids", "kinds", "strength", "error") if name in measured}}
        )
    return {
        "networks": parts,
        "people": people,
        "kinds": KINDS,
        "template": template(),
        "examples": sentences,
        "unit": "reading" if networks[0].is_toy else "logit",
        "sides": (ABOVE_0 if networks[0].is_toy else sides_of(networks[0].results)).to_dict(),
        KEY: [{"name": one.name, **one.provenance} for one in networks],
    }


@torch.no_grad()
def _usual_effect(one: Compared) -> float | None:
    """The mean size of a probe word's effect at h*: smaller effects get no arcs. None if h* is not stored."""
    stored = one.results["probes"]
    probes = Probes(tuple(stored["positive"]), tuple(stored["negative"]))
    known = own_words(one.network)
    if "h_star" not in one.arrays or not known.issuperset(probes.words):
        return None
    found = effects(one.network, one.arrays["h_star"].to(one.network.h0), probes.inputs(one.network))
    return float(found.abs().mean())
