"""The film of a training in the page: when each ability appears, and the snapshots as data for the player."""

from __future__ import annotations

from typing import Any

from rnnlens.context.known import INTENSIFIERS, NEGATORS, NEUTRAL
from rnnlens.page.sections import Section
from rnnlens.runs.abilities import sentence
from rnnlens.runs.snapshots import Snapshots

SHOWN = (*NEGATORS[:3], *INTENSIFIERS[:3], NEUTRAL[0])  # words whose strengths are drawn; the table has all
NAMED = ("valence", "not", "very", "order")  # abilities that the folded section names


def film_section(film: Snapshots) -> Section:
    """The section of the page. Its table and its player are in film.html."""
    last, kept = film[-1], "of another training with the same settings, seed and corpus, " if film.is_rerun else ""
    text = (
        f"{sentence(film)} These are {len(film)} snapshots, {kept}over {last.step:,} steps; an ability counts from the "
        f"step on from which it holds in all later snapshots. Accuracy is that of {film.documents:,} {film.split} "
        "documents. The slow points are drawn on one plane, that of the last snapshot. A snapshot is a quick "
        "measurement of the weights at that step: its strengths may differ from those above, which are of the weights "
        "that the run kept."
    )
    steps = sorted((one.step, one.said) for one in film.abilities if one.name in NAMED and one.step)
    finding = "; ".join(f"{said} from step {step:,}" for step, said in steps)
    title = "The film of its learning"
    return Section("film", title, "not in the paper", text, widget="film", finding=finding, folded=True)


def film_data(film: Snapshots) -> dict[str, Any]:
    """The snapshots as plain data, one list over snapshots for each measure. Words are values, never keys."""
    words = [word for word in SHOWN if any(word in at.words for at in film)]
    texts = list(dict.fromkeys(text for at in film for text in at.readings))
    return {
        "steps": film.steps,
        "chance": film.chance,
        "accuracy": [at.accuracy for at in film],
        "shuffled": [at.shuffled for at in film],
        "explained": [None if at.line is None else at.line.explained for at in film],
        "overlap": [None if at.subspace is None else at.subspace.overlap for at in film],
        "words": [[word, [at.words[word][:2] if word in at.words else None for at in film]] for word in words],
        "readings": [[text, [at.readings.get(text) for at in film]] for text in texts],
        "points": [None if at.points is None else [at.points.x, at.points.y, at.points.logits] for at in film],
        "abilities": [
            {"name": one.said, "means": one.means, "step": one.step, "until": one.until, "is_word": one.is_word}
            for one in film.abilities
        ],
    }
