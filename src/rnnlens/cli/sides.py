"""What `rnnlens probe` and `rnnlens analyze` print of several classes, and of a network that reads both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnlens.common.display import percent
from rnnlens.common.terminal import say, show, table_of

if TYPE_CHECKING:
    from rnnlens.networks import BothWays, Network

LISTED = 12  # words that an analysis prints
CLASSES_SHOWN = 6


def show_sides(network: BothWays | Any, without: BothWays | Any, texts: Sequence[str], figure: object) -> None:
    """Print what each word of each text adds from either side, and the logit without the modifier subspace."""
    from rnnlens.common.errors import UsageError

    if figure is not None:
        raise UsageError("--figure draws the logit after each word, which a network that reads both ways does not have")
    for text in texts:
        view, of = network, "logit"
        if network.several_classes:
            shares = _shares(network, text)
            say(f"{text}: {_named(network, shares)}" + ("" if without is None else f"; {_without(without, text)}"))
            best = None if network.ordered else max(shares, key=lambda name: shares[name])
            view, of = network.of_class(best), "the scale" if best is None else f"evidence of {best}"
        sides = view.read(text)
        table = table_of("word", "adds forwards", "adds backwards", "together")
        for word, left, right in sides:
            known = network.vocab is None or word in network.vocab or word == "<pad>"
            cells = f"{left:+.2f}", f"{right:+.2f}", f"{left + right:+.2f}"
            table.add_row(word if known else f"{word} (unknown)", *cells, style="green" if left > -right else "red")
        show(table)
        parts = f"{sides.forward_part:+.2f} forwards {sides.backward_part:+.2f} backwards {sides.bias:+.2f} bias"
        alone = None if without is None or network.several_classes else without.read(text).logit
        other = "" if alone is None else f"; without the modifier subspace {alone:+.2f}"
        say(f"{of} {sides.logit:+.2f} = {parts}{other}")


def show_classes(network: Network, without: Network | None, texts: Sequence[str]) -> None:
    """Print the probabilities of the classes after each word: of the most probable ones at the end or, if they are
    ordered, of the first ones, with the expected class. without: the network without its modifier subspace."""
    for text in texts:
        words: Any = network.read(text)
        last = words[-1][1]
        ranked = list(last) if network.ordered else sorted(last, key=lambda name: -last[name])
        shown = ranked[: 10 if network.ordered else CLASSES_SHOWN]
        values = _values(network)
        table = table_of("word", *shown, *(["expected"] if values else []))
        for word, shares in words:
            cells = [percent(shares[name], 0) for name in shown]
            cells += [f"{sum(values[name] * share for name, share in shares.items()):.1f}"] if values else []
            known = network.vocab is not None and (word in network.vocab or word == "<pad>")
            table.add_row(word if known else f"{word} (unknown)", *cells)
        show(table)
        if len(last) > len(shown):
            n, which = len(last) - len(shown), "more" if network.ordered else "less probable"
            say(f"and {n} {which} {'class' if n == 1 else 'classes'}")
        if without is not None:
            say(_without(without, text))


def _values(network: Network) -> dict[str, float]:
    """The numbers of ordered classes; empty if they are not ordered, or no numbers."""
    try:
        return {name: float(name) for name in network.classes} if network.ordered else {}
    except ValueError:
        return {}


def _shares(network: Any, text: str) -> dict[str, float]:
    return dict(zip(network.classes, network.predict_proba([text])[0].tolist(), strict=True))


def _named(network: Any, shares: Mapping[str, float]) -> str:
    """The most probable classes; ordered ones in their order."""
    most = sorted(shares, key=lambda name: -shares[name])[:CLASSES_SHOWN]
    names = [name for name in network.classes if name in most] if network.ordered else most
    colon = ":" * network.ordered  # between two numbers
    return ", ".join(f"{name}{colon} {percent(shares[name], 0)}" for name in names)


def _without(without: Any, text: str) -> str:
    return f"without the modifier subspace: {_named(without, _shares(without, text))}"


def show_directions(both: Mapping[str, Any]) -> None:
    """Print the strengths of words in both readers, their shares of the logit, and what removing a subspace costs."""
    rows = [row for row in both["words"] if row["forwards_clear"] or row["backwards_clear"]]
    title = "words that clearly change others" if rows else "no word clearly changes others; some words"
    title += ", in the two readers"
    rows = rows or both["words"]
    table = table_of("word", "forwards", "τ", "backwards", "τ", title=title)
    for row in rows[:LISTED]:
        cells = []
        for name in ("forwards", "backwards"):
            tau = row[f"{name}_tau"]
            cells += [f"{row[name]:+.2f} ± {row[f'{name}_error']:.2f}", "–" if tau is None else f"{tau:.1f}"]
        table.add_row(row["word"], *cells)
    show(table)
    say("forwards: it changes words after it; backwards: it changes words before it in the text")
    for name, n in both["found"].items():
        say(f"clear modifiers of the reader that reads {name}, without words whose own effect is larger: {n:,}")
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
