"""The analysis of a real network as sections of a report, in the order of the paper's argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rnnlens import figures
from rnnlens.errors import RnnlensError
from rnnlens.page.writer import Section

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def analysis_sections(results: dict[str, Any], name: str) -> tuple[str, list[Section]]:
    """A title, and a section for every part of the analysis that the results have."""
    line, subspace, bilinear = results["line_attractor"], results["subspace"], results["bilinear"]
    scales, modifiers = results["timescales"], results["modifiers"]
    form, ending = modifiers["negation_form"], results["ending"]

    def percent(share: float) -> str:
        return f"{100 * share:.1f} %"

    means = ", ".join("–" if mean is None else f"{mean:.1f}" for mean in scales["mean"])
    strongest: list[tuple[str, ...]] = [("kind", "strongest words")]
    for kind in ("negator", "diminisher", "intensifier"):
        words = [row["word"] for row in modifiers["words"] if row["kind"] == kind][:20]
        strongest.append((kind, ", ".join(words)))
    parts: list[tuple[str, str, Callable[[], Figure] | None, list[tuple[str, ...]]]] = [
        ("The line attractor",
         f"Left alone, the state comes to rest along a curve over the readout. A curve explains "
         f"{percent(line['explained_variance'])} of the slow points' variance, a straight line "
         f"{percent(line['pc1_variance'])}; the integration eigenvalue is {line['integration_eigenvalue'][0]:.4f}."
         + ("" if line["is_line"] else " These slow points are not one-dimensional: read what follows with care."),
         lambda: figures.line_attractor(results), []),
        ("One sentence, three ways",
         "A plain, an intensified and a negated sentence, read word by word; then without the modifier subspace, and "
         "without a random one of the same rank.",
         lambda: figures.probe_reviews(results), []),
        ("Six phrases", "The paper's Fig. 10b for this network.", lambda: figures.probe_phrases(results), []),
        ("Finding modifiers",
         f"How much each word changes the processing of the next. {modifiers['n']} of {modifiers['of']} words are "
         f"above the threshold of the recommended score ({modifiers['threshold']:.3f}); the paper's norm beside it.",
         lambda: figures.modifiers(results, "score"), strongest),
        ("The paper's norm",
         "‖ΔJ_inp‖ of the paper: strong valence words and rare names score high as well. Three robust deviations above "
         f"the median, at {modifiers['norm_threshold']['fixed']['threshold']:.3g}, there are "
         f"{modifiers['norm_threshold']['fixed']['n']} words."
         + ("" if modifiers["split_half"] is None else " Interactions measured with half of the probe "
            f"words correlate by {modifiers['split_half']:.3f} with those of the other half."),
         lambda: figures.modifiers(results, "norm_fixed"), []),
        ("Impulse responses", "After a modifier the state is off the line, and comes back under pads.",
         lambda: figures.impulse(results), []),
        ("Barcodes",
         "What a word does to each of the probe words: above zero on the left and below on the right stresses valence, "
         "the other way round takes it away.",
         lambda: figures.barcodes(results), []),
        ("The modifier subspace",
         f"Where modifiers take the state, off the line. Two components explain "
         f"{percent(sum(subspace['explained_variance'][:2]))} of the variance of the {subspace['n']} strongest "
         f"modifiers, {percent(sum(subspace['by_norm'][:2]))} of those the paper's norm chooses (paper: 96.2 %)."
         + "".join(f" On component {k} only: {', '.join(words)}." for k, words in
                   enumerate(subspace["one_component"], start=1) if words),
         lambda: figures.subspace(results), []),
        ("Timescales", f"How fast modifiers decay along each component: on average {means} words (paper: 2.6 and 4.3).",
         lambda: figures.timescales(results), []),
        ("Barcodes of the components", "What each direction of the subspace does to the probe words.",
         lambda: figures.component_barcodes(results), []),
        ("What accuracy hangs on", "Words shuffled; the modifier subspace removed at every step; random subspaces.",
         (lambda: figures.perturbation(results)), []),
        ("Beginning of documents", "The initial state is itself a modifier of the first words.",
         lambda: figures.beginning(results), []),
        ("End of documents",
         f"A word's effect on the readout changes for some time: the median ratio of steady to initial effect is "
         f"{ending['ratio_median']:.2f}.", lambda: figures.ending(results), []),
        ("The modes behind it", "Linear modes whose removal changes what words do at once, against their timescale.",
         lambda: figures.ending_modes(results), []),
        ("The bilinear model",
         "The input Jacobian follows from a few projections of the state: 1, 2 and 3 terms explain "
         + ", ".join(percent(x) for x in bilinear["explained_variance"][:3])
         + " of its change over the paper's modifiers (paper: 83, 96 and 98 %), on words held out "
         + ", ".join(percent(x) for x in bilinear["held_out"][:3]) + ".",
         lambda: figures.bilinear(results), []),
    ]  # fmt: skip
    if form.get("n"):
        better = "additive" if form["additive_better"] > 0.5 else "multiplicative"
        parts.append((
            "Is negation additive or multiplicative?",
            f"Of the {form['n']} strongest negators and diminishers, a shift explains "
            f"{percent(form['additive_explained'])} of what they do to the probe words, a factor "
            f"{percent(form['multiplicative_explained'])}: {better} here (the paper's reading: additive).", None, [],
        ))  # fmt: skip
    sections = []
    for title, text, draw, table in parts:
        try:
            sections.append(Section(title, text, draw() if draw is not None else None, table=table))
        except RnnlensError as error:  # what needs a corpus, in a run analysed without one
            sections.append(Section(title, f"{text} Not shown: {error}."))
    return f"How {name} uses context", sections
