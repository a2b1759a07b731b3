"""The analysis of a real network as sections of a page, in the order of the paper's argument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rnnlens.analysis.paper_claims import analysis_claims
from rnnlens.analysis.table import PAPER, paper_column
from rnnlens.context.probe import REVIEWS
from rnnlens.figures import catalogue
from rnnlens.networks import Network
from rnnlens.page.sections import Section, Story, architecture, blank_input_fact, drawn
from rnnlens.page.table import architectures, table_section
from rnnlens.runs import Run

EXAMPLES = (
    REVIEWS["negated"], REVIEWS["intensified"], "not bad at all", "hardly a good film",
)  # fmt: skip


def analysis_story(network: Network, results: Mapping[str, Any], run: Run | None) -> Story:
    """The page of an analysed network; run: where it comes from, if from a folder."""
    corpus = "" if run is None else Path(str(run.about.get("corpus", {}).get("source", ""))).name
    facts = _facts(network, results, corpus)
    accuracy = next((f"{name} {here}" for name, here, _ in facts if "accuracy" in name), "")
    name, size = architecture(network)
    byline = [
        "" if run is None else f"the run {run.path.name}" + (f", trained on {corpus}" if corpus else ""),
        f"{size}, {len(network.vocab or ()):,} words", accuracy,
    ]  # fmt: skip
    return Story(
        f"How {name} uses context",
        [part for part in byline if part],
        "Type a sentence. The line is the logit after each word: above 0, the network would call it positive. Hover a "
        "word to see what it does to the words after it; switch its modifier subspace off, and see what is left.",
        "logit",
        [text for text in EXAMPLES if _readable(network, text)] or [" ".join(results["probes"]["positive"][:3])],
        results["probes"],
        facts,
        analysis_sections(results),
        "What needs reviews is missing: `rnnlens analyze RUN --corpus CORPUS` adds it.",
    )


def analysis_sections(results: Mapping[str, Any]) -> list[Section]:
    """A section for every part of the analysis that the results have."""
    figures = catalogue(results)
    claims = [vars(claim) for claim in analysis_claims(results)]
    modifiers, subspace, form = results["modifiers"], results["subspace"], results["modifiers"]["negation_form"]

    def section(id: str, title: str, where: str, text: str, names: Sequence[str] = (), **more: Any) -> Section:
        drawings, missing = drawn(figures, *names)
        own = [claim for claim in claims if claim["section"] == id]
        return Section(id, title, where, text, own, drawings, missing=missing, **more)

    found = [
        section(
            "line", "The line attractor", "§2, Fig. 1a",
            "Under blank inputs the state comes to rest along a curve, and where along it is the reading: words push "
            "the state along the curve, and it stays where it was pushed.", ["line_attractor"],
        ),
        section(
            "probes", "One sentence, three ways", "Figs. 1b and 10b",
            "The same sentence plain, intensified and negated: a network that uses context ends higher or lower, and "
            "without its modifier subspace the three should come together.", ["probe_reviews", "probe_phrases"],
        ),
        section(
            "modifiers", "Finding the modifiers", "§5.1, Fig. 3",
            "Strength says by what share a word changes the effect of the next one: −1 takes it away, −2 flips it, +1 "
            f"doubles it. {modifiers['n']:,} of {modifiers['of']:,} words are clear modifiers; of "
            f"{modifiers['unclear']:,} more the sign is not certain. Sort, search, and click a word for its card.",
            ["modifiers", "modifiers_norm"], widget="words",
        ),
        section(
            "impulse", "What one word leaves behind", "§5.2.1, Fig. 4",
            "A modifier pushes the state off the line; without further input it comes back within a few words.",
            ["impulse"],
        ),
        section(
            "barcodes", "Barcodes: what a word does to the next", "§5.2.2, Fig. 5",
            "An intensifier lifts positive words and lowers negative ones; a negator does the opposite; an ordinary "
            "word should do nothing.", ["barcodes"], widget="picker",
        ),
        section(
            "subspace", "The modifier subspace", "§5.3.1, Fig. 6",
            "Where modifiers take the state, off the line: negators to one side, intensifiers to the other. Click a "
            "word." + _one_component(subspace), ["subspace"],
        ),
        section(
            "timescales", "How long modifiers last", "§5.3.2, Fig. 7",
            "Each component of the subspace forgets at its own pace, which sets a modifier's scope.", ["timescales"],
        ),
        section(
            "components", "What each component does", "§5.3.3, Fig. 8, Supp. D",
            "Moving the state along one component stresses or weakens valence words: the barcodes of directions, not "
            "of words.", ["component_barcodes"],
        ),
        section(
            "perturbation", "What accuracy hangs on", "§2, §5.3.4, Supp. F",
            "Shuffling the words costs accuracy; keeping the state out of the modifier subspace should cost about as "
            "much, and random directions nothing.", ["perturbation"],
        ),
        section(
            "beginning", "The beginning of a document", "§6.1, Fig. 9a-b",
            "The state that reviews start from is itself a modifier: it makes the first words count more.",
            ["beginning"],
        ),
        section(
            "ending", "The end of a document", "§6.2, Fig. 9c-d, Supp. E",
            "A word moves the reading further at first than in the long run, so the last words count more; a few "
            "linear modes are behind it.", ["ending", "ending_modes"],
        ),
        section(
            "bilinear", "The bilinear model", "§8, eq. 6",
            "What words do follows from a few projections of the state, each with a matrix of its own.", ["bilinear"],
        ),
    ]  # fmt: skip
    if form.get("n"):
        found.append(section(
            "negation", "Is negation a shift or a factor?", "§11",
            f"Over the {form['n']} strongest negators and diminishers: does a word's valence shift towards the other "
            "side, or is it multiplied?", table=_asymmetry(modifiers),
        ))  # fmt: skip
    return [*found, *architectures(results), *table_section(results)]


def _one_component(subspace: Mapping[str, Any]) -> str:
    """Words such as the paper's `zero` and `five`."""
    return "".join(
        f" On component {k} only: {', '.join(words[:6])}."
        for k, words in enumerate(subspace.get("one_component", []), start=1)
        if words
    )


def _asymmetry(modifiers: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """How many words are of each kind, and how strong they are."""
    rows: list[tuple[str, ...]] = [("kind", "how many words", "strength, on average")]
    for kind, found in modifiers["asymmetry"].items():
        mean = found["mean_strength"]
        rows.append((f"{kind}s", str(found["n"]), "–" if mean is None else f"{mean:+.2f}".replace("-", "−")))
    return rows


def _facts(network: Network, results: Mapping[str, Any], corpus: str) -> list[tuple[str, str, str]]:
    """What the network is and how well it reads: (what, here, in the paper)."""
    (name, size), accuracy = architecture(network), results.get("accuracy", {})
    column = paper_column({"source": corpus})
    paper = PAPER[column].get(network.arch) if column else None
    words = len(network.vocab or ())
    facts = [("architecture", f"{name}, {size}", "GRU, LSTM, UGRNN, vanilla"), ("words it knows", f"{words:,}", "")]
    for split in ("test", "validation", "train"):
        if isinstance(accuracy.get(split), int | float):
            theirs = f"{100 * paper:.2f} %" if paper and split == "test" else ""
            facts.append((f"{split} accuracy", f"{100 * accuracy[split]:.2f} %", theirs))
    if "fixed_points" in results:
        found = results["fixed_points"]
        facts.append(("slow points found", f"{found['n']:,} of {found['of']:,} searches", "10,000 searches"))
    return [*facts, *blank_input_fact(results)]


def _readable(network: Network, text: str) -> bool:
    """Whether a network knows most words of an example."""
    assert network.vocab is not None
    ids = network.vocab.encode(text)
    known = (ids >= 0) & (ids != network.vocab.unk)
    return bool(known.mean() >= 0.5)
