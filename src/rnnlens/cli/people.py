"""The command agree: compare networks with people."""

from __future__ import annotations

from pathlib import Path

from rnnlens.cli.printing import Device
from rnnlens.common.terminal import say, show, table_of


def agree(
    *runs: str,
    trees: Path | None = None,
    lexicon: list[str] | None = None,
    figure: Path | None = None,
    top: int = 10_000,
    seed: int = 0,
    device: Device | None = None,
) -> None:
    """Compare the strengths of words in networks with strengths computed from human labels.

    People have labeled thousands of phrases x and "w x", such as "good" and "not good" (Stanford Sentiment Treebank).
    The strength of w in these labels is the signed share by which it changes x: −1 removes its valence, −2 reverses it.
    The numbers are in the package, so this works offline. The output is the correlation r over words, its 95 %
    interval, and the ceiling set by the agreement of people with each other, which no measure can be expected to
    exceed. Choose between methods on the odd sentences and report the even ones. For several networks, their consensus
    (the mean of their strengths) is compared too.

    With the trees themselves, the networks also read every x and "w x" from their initial state (*behaviour*), and the
    same formula is applied to their logits.

    Example: `rnnlens agree zoo:reviews-gru zoo:reviews-lstm --figure agreement.html`

    Parameters
    ----------
    runs
        Run folders, or packaged networks such as `zoo:reviews-gru`. A run without an analysis is measured first.
    trees
        A file of trees in the Treebank's format, score per line, with labels from 0 to 4: `(3 (2 very) (3 good))`.
    lexicon
        A list of modifiers (csv, tsv or txt: a word, and if known its sign or grade), or `vader` for those of the
        package vaderSentiment; may be given several times. Average precision measures how high they rank by |strength|.
    figure
        Also write a scatter plot labeled with the words, to an html, svg, pdf or png file.
    top
        How many of the most frequent words to measure.
    seed
        Seed of visited states and the bootstrap.
    device
        Where to compute.
    """
    from rnnlens.analysis.agreement import COLUMNS, FURTHEST, LEAST, agreement
    from rnnlens.analysis.scores import FEWEST
    from rnnlens.common.errors import UsageError
    from rnnlens.common.progress import progress_bar
    from rnnlens.common.replacing import check_output
    from rnnlens.figures import write_figure
    from rnnlens.figures.style import PICTURES
    from rnnlens.networks.devices import check_device

    if not runs:
        raise UsageError("no run given: expected run folders, or packaged ones such as zoo:reviews-gru")
    check_device(device)
    if figure is not None:
        check_output(figure, "a figure", *PICTURES)
    with progress_bar("comparing", 2 * len(runs)) as advance:
        result = agreement(list(runs), trees, lexicon or (), top=top, seed=seed, device=device, advance=advance)
    say(f"people: {result.people.source}")
    for score in result.scores:
        table = table_of(*COLUMNS, title=f"{score.name}: correlation of strengths with people's")
        for row in score.rows():
            table.add_row(*row)
        show(table)
        table = table_of(
            "lexicon",
            "average precision",
            "by chance",
            "same sign",
            "modifiers",
            title=f"{score.name}: ranking of the lexicons' modifiers by |strength|",
        )
        for name, ranking in score.rankings.items():
            sign = "–" if ranking.same_sign is None else f"{100 * ranking.same_sign:.0f} %"
            table.add_row(
                name,
                f"{ranking.average_precision:.2f}",
                f"{ranking.chance:.3f}",
                sign,
                f"{ranking.modifiers:,} of {ranking.words:,}",
            )
        if score.rankings:
            show(table)
    table = table_of(*FURTHEST, title=f"{result.scores[-1].name}: words with the largest differences")
    if furthest := result.furthest():
        for word, *values in furthest:
            table.add_row(word, *(f"{value:+.2f}" for value in values))
        show(table)
    else:
        name = result.scores[-1].name
        say(f"{name} knows fewer than {FEWEST} words with {LEAST[0]} phrases: there is no correlation")
    if trees is None:
        say("behaviour was not measured: it needs the trees' text (--trees)")
    if figure is not None:
        say(f"figure: {write_figure(result.figure(), figure)}")
