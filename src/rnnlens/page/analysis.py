"""The page of an analyzed network: its sections in the order of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rnnlens.analysis.paper_claims import analysis_claims
from rnnlens.analysis.table import PAPER, paper_column
from rnnlens.analysis.verdict import verdict
from rnnlens.common.errors import quoted
from rnnlens.common.sides import named_sides, said, sides_of
from rnnlens.figures import catalogue
from rnnlens.networks import BothWays, Network
from rnnlens.page.extra import both_ways_sections, class_sections
from rnnlens.page.findings import finding
from rnnlens.page.sections import (
    Example,
    Section,
    Story,
    architecture,
    blank_input_fact,
    drawn,
    modifier_counts,
    written,
)
from rnnlens.page.table import architectures, table_section
from rnnlens.runs import Run

EXAMPLES = (
    "This {} is not awesome. I don't like it.", "This {} is extremely awesome. I definitely like it.",
    "not bad at all", "hardly a good {}",
)  # fmt: skip
CLASS_EXAMPLES = ("{1} and {2}", "not {1}", "not {1} but {3}", "{1}, not {3}")
ABOUT = ("movie", "film", "place", "food", "product", "book", "restaurant", "hotel", "service", "game", "app")


def analysis_story(
    network: Network, results: Mapping[str, Any], run: Run | None, both: BothWays | None = None
) -> Story:
    """The page of an analyzed network. run: the run that it comes from, if any. both: the network that reads both ways,
    if this is one of its two readers."""
    corpus = "" if run is None else Path(str(run.about.get("corpus", {}).get("source", ""))).name
    facts = _facts(network, results, corpus)
    accuracy = next((f"{name} {here}" for name, here, _ in facts if "accuracy" in name), "")
    name, size = architecture(network)
    which, above = target_said(network)
    if both is not None:
        name, size = f"a bidirectional {name.split(' ', 1)[1]}", both.units
    byline = [
        "" if run is None else f"the run {run.path.name}" + (f", trained on {corpus}" if corpus else ""),
        f"{size}, {len(network.vocab or ()):,} words",
        accuracy,
    ]
    return Story(
        f"How {name} uses context" + which,
        [part for part in byline if part],
        _reads(network, both is not None, above),
        "logit",
        examples(network, results),
        results["probes"],
        facts,
        analysis_sections(results),
        ""
        if run is None or run.is_toy or _with_reviews(results)
        else "Claims about accuracy need a corpus: `rnnlens analyze RUN --corpus CORPUS` measures them.",
        verdict(results, run is not None, run is not None and run.is_toy),
        sides=sides_of(results),
    )


def _reads(network: Network, both: bool, above: str) -> str:
    """How to use the live network. both: whether it is shown together with the reader of the other direction."""
    if both:
        shows = "Bars show what each word adds from the left and from the right; the logit is their sum and a bias."
    elif network.all_classes is not None:
        shows = "The columns are the probabilities of the classes after each word."
    else:
        shows = f"The line is the logit after each word: above 0, {above}."
    if network.backward and not both:
        shows += " The network reads from the last word to the first, and words are shown in this order."
    changed = "before" if network.backward and both else "after"
    hover = f"Hover over a word to see how it changes the words {changed} it."
    return f"Type a sentence. {shows} {hover} Switch the modifier subspace off to see what it does."


def target_said(network: Network) -> tuple[str, str]:
    """What the logit is of, for a title, if there are several classes; and what it means if it is above 0."""
    if not network.target:
        return "", f"the network reads it {named_sides('', network.classes).read(1)}"
    scale, name = network.reads.startswith("the scale"), quoted(network.target, 40)
    if scale:
        return f": the scale {name}", "the network reads it as above the middle of the scale"
    return f": the class {name}", f"it is more evidence of the class {name} than of the mean other class"


def examples(network: Network, results: Mapping[str, Any]) -> list[Example]:
    """Sentences to try: of the paper's kind, on what the network reads about, and reviews of the corpus with how they
    should be read."""
    about = _about(network)
    texts = CLASS_EXAMPLES if network.reads_one_of_many else EXAMPLES
    filled = [text.format(about, *_strongest(results["probes"])) for text in texts]
    own = [Example(text) for text in filled if _readable(network, text)]
    found = []
    for one in results.get("examples", ()):
        right = (one["logit"] > 0) == (one["label"] == "positive")
        found.append(Example(one["text"], f"labeled {one['label']}, read {'rightly' if right else 'wrongly'}", right))
    return [*own[: 2 if found else None], *found] or [Example(" ".join(results["probes"]["positive"][:3]))]


def _strongest(probes: Mapping[str, Any]) -> tuple[str, str, str]:
    """The two strongest probe words of the side above 0, and the strongest one of the other."""
    above, below = probes["positive"], probes["negative"]
    return above[0], above[min(1, len(above) - 1)], below[0]


def _about(network: Network) -> str:
    """What the texts are about: the most frequent of some nouns; a movie unless another is much more frequent."""
    vocab = network.vocab
    assert vocab is not None
    known = [word for word in ABOUT if word in vocab]
    if vocab.counts is None or not known:
        return next(iter(known), ABOUT[0])
    counts = {word: int(vocab.counts[vocab.index[word]]) for word in known}
    most = max(known, key=lambda word: counts[word])
    return ABOUT[0] if 3 * counts.get(ABOUT[0], 0) >= counts[most] else most


def analysis_sections(results: Mapping[str, Any]) -> list[Section]:
    """A section for every part of the analysis in the results; the texts are in analysis.toml."""
    figures, claims = catalogue(results), [vars(claim) for claim in analysis_claims(results)]
    modifiers = results["modifiers"]
    negators = modifiers["negation_form"].get("n")
    sides = sides_of(results)
    numbers = modifier_counts(modifiers)
    above, below = sides.words
    on = f" It is measured on {above} and {below}." if sides.name else ""
    numbers |= {"above_words": above, "below_words": below, "measured_on": on}
    sections = []
    none_clear = (
        "" if modifiers["n"] else " No word is clearly a modifier here: these are the words of largest strength."
    )
    numbers |= {"none_clear": none_clear, "one_component": _one_component(results["subspace"])}
    one = negators == 1
    said_negators = "the one negator or diminisher" if one else f"the {negators} strongest negators and diminishers"
    for part in written("analysis", **numbers, negators=said_negators):
        if (part["id"] == "negation" and not negators) or (part["id"] == "probes" and sides.one_of_many):
            continue  # (the sentences of `probes` are about how good something is)
        drawings, missing = drawn(figures, *part.pop("figures", ()))
        own = [claim for claim in claims if claim["section"] == part["id"]]
        table = _asymmetry(modifiers) if part["id"] == "negation" else ()
        found = finding(part["id"], results, own)
        sections.append(Section(**part, claims=own, drawings=drawings, missing=missing, table=table, finding=found))
    sections = [
        *class_sections(results, figures),
        *both_ways_sections(results),
        *sections,
    ]
    more = [replace(section, folded=True) for section in (*architectures(results), *table_section(results))]
    return [*sections, *more]


def _one_component(subspace: Mapping[str, Any]) -> str:
    """A sentence that lists the words on only one component, such as the paper's `zero` and `five`."""
    return "".join(
        f" On component {k} only: {', '.join(words[:6])}."
        for k, words in enumerate(subspace.get("one_component", []), start=1)
        if words
    )


def _asymmetry(modifiers: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """A table with the number of words and the mean strength of each kind."""
    rows: list[tuple[str, ...]] = [("kind", "number of words", "mean strength")]
    for kind, words in modifiers["asymmetry"].items():
        mean = words["mean_strength"]
        rows.append((f"{kind}s", str(words["n"]), "–" if mean is None else f"{mean:+.2f}".replace("-", "−")))
    return rows


def _facts(network: Network, results: Mapping[str, Any], corpus: str) -> list[tuple[str, str, str]]:
    """Facts about the network: (name, value here, value in the paper)."""
    (name, size), accuracy = architecture(network), results.get("accuracy", {})
    column = paper_column({"source": corpus})
    paper = PAPER[column].get(network.arch) if column else None
    words = len(network.vocab or ())
    facts = [
        ("architecture", f"{name}, {size}", "GRU, LSTM, UGRNN, vanilla"),
        ("words in the vocabulary", f"{words:,}", ""),
    ]
    if network.all_classes is not None:
        names, order = [said(name) for name in network.all_classes.names], " in order" * network.all_classes.ordered
        facts.append(("classes", f"{len(names)}{order}: {', '.join(names[:8])}{', …' * (len(names) > 8)}", "2"))
    for split in ("test", "validation", "train"):
        if isinstance(accuracy.get(split), int | float):
            theirs = f"{100 * paper:.2f} %" if paper and split == "test" else ""
            facts.append((f"{split} accuracy", f"{100 * accuracy[split]:.2f} %", theirs))
    if "fixed_points" in results:
        points = results["fixed_points"]
        facts.append(("slow points found", f"{points['n']:,} of {points['of']:,} searches", "10,000 searches"))
    return [*facts, *blank_input_fact(results)]


def _with_reviews(results: Mapping[str, Any]) -> bool:
    """Whether the accuracy under perturbations was measured."""
    return any(name.endswith("_shuffled") for name in results.get("accuracy", {}))


def _readable(network: Network, text: str) -> bool:
    """Whether the network knows at least half of the words of an example."""
    assert network.vocab is not None
    ids = network.vocab.encode(text)
    known = (ids >= 0) & (ids != network.vocab.unk)
    return bool(known.mean() >= 0.5)
