"""Which kinds of sentences a network reads right: audit."""

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
    """Say which kinds of sentences a network reads right: plain, negated, intensified, contrasted.

    Sentences such as "the food was not good" are made from templates and from words that the network itself reads as
    clearly positive or negative. Negated sentences should have the other sign, intensified ones more of the same and
    diminished ones less; of "… but …" the second part decides. Beside each kind stands what the network's measured
    strengths say about it. The words of the sentences are English.

    Example: `rnnlens audit zoo:reviews-gru --worst 5`

    Parameters
    ----------
    run
        A run folder, or `zoo:reviews-gru`, a packaged network.
    trees
        Sentences whose phrases people labelled, in the format of the Stanford Sentiment Treebank: also how many of
        the positive and negative phrases with a negator, with *but*, with an intensifier and with none of these are
        read right.
    worst
        How many of the most confidently wrong sentences to print.
    seed
        Which words stand in the two parts of "… but …".
    device
        Where to compute.
    """
    from rnnlens.analysis.audit import HEAD
    from rnnlens.analysis.audit import audit as audit_run
    from rnnlens.networks.devices import check_device

    check_device(device)
    found = audit_run(run, trees, seed=seed, worst=worst, device=device)

    def table(title: str, kinds: tuple[KindAudit, ...]) -> None:
        shown = table_of(*HEAD, title=title)
        for one in kinds:
            shown.add_row(*one.row())
        show(shown)

    table("sentences from templates", found.kinds)
    say("of +, of −: the share that is right of the sentences that should be (more) positive, and (more) negative")
    say("mean logit: toward the expected sign; for intensified and diminished, the change against the plain sentence")
    for kind, needed in found.left_out:
        say(f"not tested: {kind}; the vocabulary lacks {needed}")
    if found.people:
        table("phrases that people labelled", found.people)
    say("\nwhat the measured strengths say:", lines=True)
    if found.unmeasured is not None:
        say(f"nothing: {found.unmeasured}")
    for one in found.kinds:
        if one.mechanism is not None:
            say(f"- {one.kind}: {one.mechanism}")
    wrong = found.worst(worst)
    shown = table_of("sentence", "kind", "expected", "logit", "plain", title="the most confidently wrong sentences")
    for kind, reading in wrong:
        plain = "" if reading.plain is None else f"{reading.plain:+.2f}"
        shown.add_row(reading.text, kind, reading.expected, f"{reading.logit:+.2f}", plain)
    if wrong:
        show(shown)
    else:
        say("no sentence is read wrong")
