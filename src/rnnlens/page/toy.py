"""The page of the toy study: its sections in the order of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rnnlens.common.display import signed
from rnnlens.common.sides import Sides
from rnnlens.figures import catalogue
from rnnlens.networks import Network
from rnnlens.page.sections import Example, Section, Story, architecture, blank_input_fact, drawn, written
from rnnlens.runs import Run

EXAMPLES = (
    "not good the the the good", "extremely good the the the good", "not extremely bad", "not the the the the good",
)  # fmt: skip

ABOVE_0 = Sides("above 0", "below 0")


def toy_story(network: Network, results: Mapping[str, Any], run: Run) -> Story:
    """The page of a toy study."""
    name, size = architecture(network)
    valences = run.about["corpus"]["valences"]
    order = sorted(valences, key=lambda word: -abs(valences[word]))
    facts = [
        ("architecture", f"{name}, {size}", "GRU"),
        ("words", ", ".join(run.vocab.words), ""),
        *blank_input_fact(results["toy"]),
    ]
    return Story(
        f"How {name} learns to negate",
        ["the toy study", size, f"seed {run.config.seed}"],
        "Type words of the toy language. The line is the reading after each word, which should be the sum of the "
        "words' valences: `extremely` doubles the next word, `not` reverses the next four. Hover over a word "
        "for details.",
        "reading",
        [Example(text) for text in EXAMPLES],
        {"positive": [w for w in order if valences[w] > 0], "negative": [w for w in order if valences[w] < 0]},
        facts,
        toy_sections(results),
        sides=ABOVE_0,
    )


def toy_sections(results: Mapping[str, Any]) -> list[Section]:
    """A section for every part of the study; the texts are in toy.toml."""
    toy, figures = results["toy"], catalogue(results)
    phrases = [("phrase", "reads as", "should be")]
    phrases += [(r["phrase"], signed(r["logit"], 2), signed(r["target"], 0)) for r in toy["phrases"]]
    sections = []
    for part in written("toy"):
        drawings, missing = drawn(figures, *part.pop("figures", ()))
        parts = part.pop("parts", ())
        own = [claim for claim in toy["claims"] if claim["section"] in parts]
        table = phrases if part["id"] == "phrases" else ()
        sections.append(Section(**part, claims=own, drawings=drawings, missing=missing, table=table))
    return sections
