"""The command audit: which kinds of sentences a network reads correctly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rnnlens.cli.printing import Device
from rnnlens.common.terminal import say, show, table_of

if TYPE_CHECKING:
    from rnnlens.analysis.audit import KindAudit


def audit(
    run: Path,
    /,
    *,
    trees: Path | None = None,
    worst: int = 10,
    seed: int = 0,
    device: Device | None = None,
) -> None:
    """Test which kinds of sentences a network reads correctly: plain, negated, intensified, contrasted.

    Sentences such as "the food was not good" are made from English templates and words that the network itself reads as
    clearly positive or negative. A negated sentence should have the opposite sign of the plain one, an intensified one
    a larger logit of the same sign, a diminished one a smaller logit; in "… but …" the second part decides. The
    network's measured strengths are shown for each kind.

    Example: `rnnlens audit zoo:reviews-gru --worst 5`

    Parameters
    ----------
    run
        A run folder, or `zoo:reviews-gru`, a packaged network.
    trees
        Sentences with phrases labeled by people, in the format of the Stanford Sentiment Treebank. This adds the share
        of positive and negative phrases that are read correctly, for phrases with a negator, with *but*, with an
        intensifier, and with none of these.
    worst
        How many of the most confidently wrong sentences to print.
    seed
        Seed of the choice of words in the two parts of "… but …".
    device
        Where to compute.
    """
    from rnnlens.analysis.audit import HEAD
    from rnnlens.analysis.audit import audit as audit_run
    from rnnlens.networks.devices import check_device

    check_device(device)
    result = audit_run(run, trees, seed=seed, worst=worst, device=device)

    def table(title: str, kinds: tuple[KindAudit, ...]) -> None:
        shown = table_of(*HEAD, title=title)
        for kind in kinds:
            shown.add_row(*kind.row())
        show(shown)

    table("sentences from templates", result.kinds)
    say("of +, of −: the share read correctly of the sentences that should be (more) positive, and (more) negative")
    say("mean logit: toward the expected sign; for intensified and diminished, the change from the plain sentence")
    for name, needed in result.left_out:
        say(f"not tested: {name}; the vocabulary lacks {needed}")
    if result.people:
        table("phrases labeled by people", result.people)
    say("\nwhat the measured strengths say:", lines=True)
    if result.unmeasured is not None:
        say(f"nothing: {result.unmeasured}")
    for kind in result.kinds:
        if kind.mechanism is not None:
            say(f"- {kind.kind}: {kind.mechanism}")
    wrong = result.worst(worst)
    shown = table_of("sentence", "kind", "expected", "logit", "plain", title="the most confidently wrong sentences")
    for name, reading in wrong:
        plain = "" if reading.plain is None else f"{reading.plain:+.2f}"
        shown.add_row(reading.text, name, reading.expected, f"{reading.logit:+.2f}", plain)
    if wrong:
        show(shown)
    else:
        say("all sentences are read correctly")
