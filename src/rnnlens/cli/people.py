"""Networks beside people: agree."""

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
    """Compare the strengths of words in networks with what people say of the same words.

    People have judged thousands of phrases x and "w x", such as "good" and "not good" (Stanford Sentiment Treebank).
    The strength of w in their judgement is the share by which it changes x: −1 takes its valence away, −2 flips it.
    The numbers come with the package, so this works offline. Printed is the correlation r over words, its 95 %
    interval, and the ceiling that people's own agreement sets: no measure can be expected to exceed it. Choose between
    methods on the odd sentences and report the even ones. Of several networks, the consensus is shown too: the mean of
    their strengths.

    With the trees themselves, the networks also read every x and "w x" from their initial state (*behaviour*), and the
    same formula is applied to their logits.

    Example: `rnnlens agree zoo:reviews-gru zoo:reviews-lstm --figure agreement.html`

    Parameters
    ----------
    runs
        Run folders, or packaged networks such as `zoo:reviews-gru`. One that is not analyzed is measured now.
    trees
        A file of trees in the Treebank's format, one a line, with labels from 0 to 4: `(3 (2 very) (3 good))`.
    lexicon
        A list of modifiers (csv, tsv or txt: a word, and if known its sign or grade), or `vader` for those of the
        package vaderSentiment; may be given several times. Average precision says how high they stand by |strength|.
    figure
        Also write a scatter with the words as labels, to a html, svg, pdf or png file.
    top
        How many of the most frequent words to measure.
    seed
        Of visited states and the bootstrap.
    device
        Where to compute.
    """
    from rnnlens.analysis.agreement import COLUMNS, FURTHEST, agreement
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
        found = agreement(list(runs), trees, lexicon or (), top=top, seed=seed, device=device, advance=advance)
    say(f"people: {found.people.source}")
    for one in found.scores:
        table = table_of(*COLUMNS, title=f"{one.name}: correlation of strengths with people's")
        for row in one.rows():
            table.add_row(*row)
        show(table)
        table = table_of(
            "lexicon",
            "average precision",
            "by chance",
            "same sign",
            "modifiers",
            title=f"{one.name}: modifiers of lexicons in the order of |strength|",
        )
        for name, ranking in one.rankings.items():
            sign = "–" if ranking.same_sign is None else f"{100 * ranking.same_sign:.0f} %"
            table.add_row(
                name,
                f"{ranking.average_precision:.2f}",
                f"{ranking.chance:.3f}",
                sign,
                f"{ranking.modifiers:,} of {ranking.words:,}",
            )
        if one.rankings:
            show(table)
    table = table_of(*FURTHEST, title=f"{found.scores[-1].name}: words on which it differs most")
    for word, *values in found.furthest():
        table.add_row(word, *(f"{value:+.2f}" for value in values))
    show(table)
    if trees is None:
        say("behaviour was not measured: it needs the trees' text (--trees)")
    if figure is not None:
        say(f"figure: {write_figure(found.figure(), figure)}")
