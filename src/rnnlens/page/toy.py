"""The toy study as sections of a page, in the order of the paper's argument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rnnlens.common.display import signed
from rnnlens.figures import catalogue
from rnnlens.networks import Network
from rnnlens.page.sections import Section, Story, architecture, blank_input_fact, drawn
from rnnlens.runs import Run

EXAMPLES = (
    "not good the the the good", "extremely good the the the good", "not extremely bad", "not the the the the good",
)  # fmt: skip


def toy_story(network: Network, results: Mapping[str, Any], run: Run) -> Story:
    """The page of a toy study."""
    name, size = architecture(network)
    valences = run.about["corpus"]["valences"]
    order = sorted(valences, key=lambda word: -abs(valences[word]))
    facts = [
        ("architecture", f"{name}, {size}", "GRU"), ("words", ", ".join(run.vocab.words), ""),
        *blank_input_fact(results["toy"]),
    ]  # fmt: skip
    return Story(
        f"How {name} learns to negate",
        ["the toy study", size, f"seed {run.config.seed}"],
        "Type words of the toy language. The line is the reading after each word, which should be the sum of what was "
        "said: `extremely` doubles the next word, `not` flips the next four. Hover a word to see what it does.",
        "reading",
        EXAMPLES,
        {"positive": [w for w in order if valences[w] > 0], "negative": [w for w in order if valences[w] < 0]},
        facts,
        toy_sections(results),
    )


def toy_sections(results: Mapping[str, Any]) -> list[Section]:
    """A section for every part of the study."""
    toy, figures = results["toy"], catalogue(results)

    def section(id: str, title: str, where: str, text: str, figure: str = "", parts: str = "", **more: Any) -> Section:
        drawings, missing = drawn(figures, *([figure] if figure else []))
        own = [claim for claim in toy["claims"] if claim["section"] in parts.split()]
        return Section(id, title, where, text, own, drawings, missing=missing, **more)

    phrases = [("phrase", "reads as", "should be")]
    phrases += [(r["phrase"], signed(r["logit"], 2), signed(r["target"], 0)) for r in toy["phrases"]]
    return [
        section(
            "phrases", "It reads the language", "§4, Supp. A.1",
            "Words of valence −2 … +2; `extremely` doubles the next word, `not` flips the next four. The reading after "
            "each phrase, beside what the language's rule gives.", parts="phrases", table=phrases,
        ),
        section(
            "space", "A line attractor, and words that push off it", "§4, Fig. 2",
            "Valence words move the state along a line of slow points; modifiers push it off the line, and the same "
            "words then move it differently. Each path starts at h_pre; dotted ends are blank inputs.",
            "toy_state_space", "state_space",
        ),
        section(
            "deflection", "How long a modifier lasts", "§4",
            "The share of the language's own modification that a valence word would undergo, so many words after the "
            "modifier, and how far the state is from the line meanwhile.", "toy_deflections", "deflection",
        ),
        section(
            "modes", "Linear modes where the modifiers act", "Supp. A.2",
            "Eigenvalues of the recurrent Jacobian at the slow points nearest to the states after each modifier. One "
            "near 1 integrates; those marked in colour lie nearest to the modifier's deflection.", "toy_spectra",
            "modes",
        ),
        section(
            "angles", "Which modes a modifier excites", "Supp. A.4",
            "The angle between each left eigenvector and the deflection; 90° is not excited at all.", "toy_mode_angles",
            "mode_angles",
        ),
        section(
            "expansion", "The linear expansion predicts the modification", "Supp. A.3",
            "What each valence word adds to the reading on the line and after modifiers: the full update, and the "
            "first-order expansion at the same state. (Networks are trained with weight decay, chosen among others on "
            "other seeds; without it words saturate units, and the expansion overshoots more.)", "toy_linear_quality",
            "linear_quality",
        ),
        section(
            "removal", "Removing the modes removes the modifier", "§4, Supp. A.4",
            "What is left of the modifier's effect on valence words when mode after mode is taken out of the state "
            "(its projection on the left eigenvectors), beside as many random modes, and modes chosen in the same way "
            "in rotated copies of the network: what choosing alone achieves.", "toy_mode_removal", "mode_removal",
        ),
        section(
            "biorthogonal", "The same, biorthogonally", "Supp. A.4",
            "Taking out r ℓᵀΔh instead leaves all other modes as they are, but modes are oblique: the state often ends "
            "up further from the line than it was, and rotated modes do well too. Weaker evidence.",
            "toy_mode_removal_biorthogonal",
        ),
        section(
            "removal-input", "Removing the modes from what the next word does", "§4",
            "Section 4 of the paper speaks of removing the projection of J_inp x instead. Here the modes that carry "
            "the modifier in the state are taken out of J_inp(h_mod) x.", "toy_mode_removal_input",
            "mode_removal_input",
        ),
    ]  # fmt: skip
