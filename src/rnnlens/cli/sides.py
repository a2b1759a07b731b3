"""What `rnnlens probe` and `rnnlens analyze` print of a network that reads both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import percent
from rnnlens.common.terminal import say, show, table_of

if TYPE_CHECKING:
    from rnnlens.networks import BothWays

LISTED = 12  # words that an analysis prints


def show_sides(network: BothWays | Any, without: BothWays | Any, texts: Sequence[str], figure: object) -> None:
    """Print what each word of each text adds from either side, and the logit without the modifier subspace."""
    from rnnlens.common.errors import UsageError

    if figure is not None:
        raise UsageError("--figure draws the logit after each word, which a network that reads both ways does not have")
    if network.several_classes:
        for text, shares in zip(texts, network.predict_proba(texts).tolist(), strict=True):
            ranked = sorted(zip(network.classes, shares, strict=True), key=lambda pair: -pair[1])[:6]
            say(f"{text}: " + ", ".join(f"{name} {100 * p:.0f} %" for name, p in ranked))
        return
    for text in texts:
        sides = network.read(text)
        table = table_of("word", "adds forwards", "adds backwards", "together")
        for word, left, right in sides:
            table.add_row(
                word, f"{left:+.2f}", f"{right:+.2f}", f"{left + right:+.2f}", style="green" if left > -right else "red"
            )
        show(table)
        parts = f"{sides.forward_part:+.2f} forwards {sides.backward_part:+.2f} backwards {sides.bias:+.2f} bias"
        other = "" if without is None else f"; without the modifier subspace {without.read(text).logit:+.2f}"
        say(f"logit {sides.logit:+.2f} = {parts}{other}")


def show_directions(both: Mapping[str, Any]) -> None:
    """Print the strengths of words in both readers, their shares of the logit, and what removing a subspace costs."""
    table = table_of("word", "forwards", "τ", "backwards", "τ", title="the strongest words of the two readers")
    for row in both["words"][:LISTED]:
        cells = []
        for name in ("forwards", "backwards"):
            tau = row[f"{name}_tau"]
            cells += [f"{row[name]:+.2f} ± {row[f'{name}_error']:.2f}", "–" if tau is None else f"{tau:.1f}"]
        table.add_row(row["word"], *cells)
    show(table)
    say("forwards: it changes words after it; backwards: it changes words before it in the text")
    for name, n in both["found"].items():
        say(f"clear modifiers of the reader that reads {name}: {n:,}")
    if (share := both["share"]) is not None:
        low, high = (100 * edge for edge in share["interval"])
        say(f"share of the logit's variance: forwards {percent(share['forwards'])} ({low:.0f} … {high:.0f} %)")
    if (removal := both["removal"]) is not None:
        for name in ("forwards", "backwards", "both"):
            cut = removal[name]["removed"]
            low, high = (100 * edge for edge in cut["interval"])
            control = sorted(100 * one["difference"] for one in removal[name]["random"])
            say(
                f"subspace of rank {removal['rank']} removed, {name}: {100 * cut['difference']:+.2f} points "
                f"(95 %: {low:+.2f} … {high:+.2f}); random: {control[0]:+.2f} … {control[-1]:+.2f}"
            )
