"""The toy study as sections of a report, in the order of the paper's argument."""

from __future__ import annotations

from rnnlens import figures
from rnnlens.page.writer import Section
from rnnlens.runs import Run


def toy_sections(run: Run) -> tuple[str, list[Section]]:
    """A title, and a section for every part of the study."""
    toy, about = run.results["toy"], run.about["network"]
    missed = [claim for claim in toy["claims"] if not claim["shown"]]
    count = f"{len(toy['claims']) - len(missed)} of {len(toy['claims'])}"

    def claims(*names: str) -> list[dict[str, object]]:
        return [claim for claim in toy["claims"] if claim["section"] in names]

    phrases = [("phrase", "reads as", "should be")]
    phrases += [(r["phrase"], f"{r['logit']:+.2f}", f"{r['target']:+.0f}") for r in toy["phrases"]]
    where = "" if not missed else " What it does not show is marked where it belongs, and listed here."
    sections = [
        Section(
            "What this network shows",
            f"The paper's toy language has words of valence −2 … +2, `extremely`, which doubles the next word, and "
            f"`not`, which flips the next four. This {about['arch']} of {about['hidden']} units learnt to keep the "
            f"running sum. It shows {count} of the claims below.{where}",
            claims=missed,
        ),
        Section("It reads the language", "The reading after each phrase, beside what the language's rule gives.",
                claims=claims("phrases"), table=phrases),
        Section("A line attractor, and words that push off it",
                "Valence words move the state along a line of slow points; modifiers push it off the line, and the "
                "same words then move it differently. Each path starts at h_pre; dotted ends are pads.",
                figures.state_space(toy["state_space"]), claims("state_space")),
        Section("How long a modifier lasts",
                "The share of the language's own modification that a valence word would undergo, so many words after "
                "the modifier, and how far the state is from the line meanwhile.",
                figures.deflections(toy["deflection"]), claims("deflection")),
        Section("Linear modes where the modifiers act",
                "Eigenvalues of the recurrent Jacobian at the slow points nearest to the states after each modifier. "
                "One near 1 integrates; those marked in colour lie nearest to the modifier's deflection.",
                figures.spectra(toy["modes"]), claims("modes")),
        Section("Which modes a modifier excites",
                "The angle between each left eigenvector and the deflection; 90° is not excited at all.",
                figures.mode_angles(toy["mode_angles"]), claims("mode_angles")),
        Section("The linear expansion predicts the modification",
                "What each valence word adds to the reading on the line and after modifiers: the full update, and the "
                "first-order expansion at the same state. (Networks are trained with weight decay, chosen among others "
                "on other seeds; without it words saturate units, and the expansion overshoots more.)",
                figures.linear_quality(toy["linear_quality"]), claims("linear_quality")),
        Section("Removing the modes removes the modifier",
                "What is left of the modifier's effect on valence words when mode after mode is taken out of the "
                "state (its projection on the left eigenvectors), beside as many random modes, and modes chosen in "
                "the same way in rotated copies of the network: what choosing alone achieves.",
                figures.mode_removal(toy["mode_removal"]), claims("mode_removal")),
        Section("The same, biorthogonally",
                "Taking out r ℓᵀΔh instead leaves all other modes as they are, but modes are oblique: the state often "
                "ends up further from the line than it was, and rotated modes do well too. Weaker evidence.",
                figures.mode_removal(toy["mode_removal"], kind="biorthogonal")),
        Section("Removing the modes from what the next word does",
                "Section 4 of the paper speaks of removing the projection of J_inp x instead. Here the modes that "
                "carry the modifier in the state are taken out of J_inp(h_mod) x.",
                figures.mode_removal(toy["mode_removal"], what="input"), claims("mode_removal_input")),
    ]  # fmt: skip
    return f"The toy study: {about['arch']} of {about['hidden']} units, seed {run.config.seed}", sections
