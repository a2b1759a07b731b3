"""Commands that analyze a network: demo, toy, analyze."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from rnnlens.cli.printing import Arch, Device, show_facts, show_report
from rnnlens.common.display import percents
from rnnlens.common.terminal import say, show, table_of

if TYPE_CHECKING:
    from rnnlens.context.modifiers import Modifiers

LISTED = 15  # words of each list that an analysis prints
MOST_CLASSES = 8  # columns of a table


def demo(
    *,
    network: str = "reviews-gru",
    out: Path = Path("runs/demo"),
    seed: int = 0,
    device: Device | None = None,
) -> None:
    """Analyze a packaged network and write the report, offline, in well under a minute.

    Then open `runs/demo/report.html` in a browser.

    Example: `rnnlens demo --network reviews-lstm --out runs/lstm`

    Parameters
    ----------
    network
        The packaged network: reviews-gru, reviews-lstm, reviews-ugrnn or reviews-vanilla.
    out
        The run folder to write; it may exist already.
    seed
        Seed of random controls.
    device
        Where to compute.
    """
    from rnnlens.networks.devices import check_device
    from rnnlens.runs import unpack

    check_device(device)
    _analyze(unpack(network, out).path, None, None, seed=seed, device=device)


def toy(
    *,
    out: Path,
    arch: Arch = "gru",
    hidden: int = 100,
    seed: int = 0,
    resume: bool = False,
    device: Device | None = None,
) -> None:
    """Train a network on the toy language, analyze it, and write the report.

    The language has negation and emphasis with known rules. The report shows how the network implements them: the line
    attractor, the deflections, the linear modes, and the effect of removing them. Takes under three minutes on two
    cores.

    Example: `rnnlens toy --out runs/toy`

    Parameters
    ----------
    out
        The run folder to write.
    arch
        Architecture of the network.
    hidden
        Units of the network.
    seed
        Seed of the language's reviews, the weights and the order of training.
    resume
        Continue an interrupted run.
    device
        Where to compute; by default a GPU if there is one.
    """
    from rnnlens.experiments.toy import study_toy, train_toy
    from rnnlens.networks.devices import check_device
    from rnnlens.page import report

    check_device(device)
    run = train_toy(out, arch=arch, hidden=hidden, seed=seed, resume=resume, device=device)
    study_toy(run)
    table = table_of("phrase", "reads as", "should be", title=f"{arch} of {hidden} units on the toy language")
    for reading in run.results["toy"]["phrases"]:
        table.add_row(reading["phrase"], f"{reading['logit']:+.2f}", f"{reading['target']:+.0f}")
    show(table)
    claims = run.results["toy"]["claims"]
    table = table_of("", "claim", "measured", title="what the paper says, and what this network shows", justify="left")
    for claim in claims:
        table.add_row("✓" if claim["shown"] else "✗", claim["claim"], claim["measured"])
    show(table)
    say(f"{sum(claim['shown'] for claim in claims)} of {len(claims)} claims shown")
    show_report(report(run))


def analyze(
    run: Path,
    /,
    *,
    corpus: str | None = None,
    reviews: int | None = None,
    overwrite: bool = False,
    class_: Annotated[str | None, Parameter(name="--class")] = None,
    direction: Literal["forwards", "backwards"] | None = None,
    top: int = 10_000,
    table: Path | None = None,
    seed: int = 0,
    device: Device | None = None,
) -> None:
    """Analyze a trained network: modifiers, barcodes, subspace, timescales, edges of documents.

    Without a corpus, this measures everything that needs no review text. With the corpus that the network was trained
    on, it also measures which perturbations cost accuracy; this reads the test reviews many times and is fast on a GPU.
    Results and the page, `report.html`, are written to the run folder.

    Example: `rnnlens analyze runs/mine --corpus corpora/mine --reviews 1000`

    Parameters
    ----------
    run
        A run folder.
    corpus
        The prepared corpus that the network was trained on.
    reviews
        Read at most this number of reviews of a split, drawn at random; on a CPU, 5000 take a quarter of an hour. An
        existing analysis of more reviews is not replaced: the command stops with an error.
    overwrite
        Replace an analysis of more reviews.
    class_
        Of a network with several classes, the one to show: all parts but the geometry of the classes and the strengths
        by class are about its logit minus the mean of the others'. By default the class with most training texts or,
        without a corpus, that of the earlier analysis or the first. Accuracies are the whole network's. An earlier
        analysis of another class is replaced.
    direction
        Of a network that reads both ways, the reader to analyze, by default the forward one or, without a corpus, that
        of the earlier analysis. The accuracy experiments measure the whole network, and both readers are compared. An
        earlier analysis of the other one is replaced.
    top
        How many of the most frequent words to measure.
    table
        Also write the measures of every word to a csv or parquet file. An existing file is replaced only if it is such
        a table.
    seed
        Seed of visited states and random controls.
    device
        Where to compute.
    """
    from rnnlens.common.replacing import check_output
    from rnnlens.context.modifiers import TABLES
    from rnnlens.networks.devices import check_device

    check_device(device)
    if table is not None:
        check_output(table, "a table", *TABLES)
    options = {"top": top, "seed": seed, "device": device, "reviews": reviews, "overwrite": overwrite}
    _analyze(run, corpus, table, class_=class_, direction=direction, **options)


def _analyze(run: Path, corpus: str | None, table: Path | None, **options: Any) -> None:
    """Analyze and save, print a summary, write the report."""
    from rnnlens.analysis.analyze import analyze_command
    from rnnlens.analysis.paper_claims import line_found
    from rnnlens.analysis.verdict import plain
    from rnnlens.context.blank import BlankInput
    from rnnlens.page import report as write_report

    analysis = analyze_command(run, corpus, **options)
    results, words = analysis.results, analysis.modifiers
    for sentence in analysis.verdict:
        say(f"- {plain(sentence.text)}")
    if analysis.classes is not None and not analysis.classes.ordered:
        _show_by_class(results["classes"])
    target = analysis.network.target
    if analysis.network.reads.startswith("the scale"):
        target = f"the scale {target}"
    _show_modifiers(words, results["modifiers"]["unclear"], target)
    if "both_ways" in results:
        from rnnlens.cli.sides import show_directions

        show_directions(results["both_ways"])
    for warning in results["warnings"]:
        say(f"warning: {warning}")
    line = results["line_attractor"]
    facts = [
        *(() if analysis.classes is None else _class_facts(results["classes"])),
        ("blank inputs", BlankInput.from_dict(results["blank_input"]).summary()),
        ("line attractor", line_found(line)),
        (
            "subspace",
            f"{percents(results['subspace']['explained_variance'][:3])} of the strongest modifiers' variance; "
            f"{percents(results['subspace']['by_norm'][:3])} of the paper's choice (paper: 96.2 % in two)",
        ),
        (
            "timescales",
            ", ".join("–" if x is None else f"{x:.1f}" for x in results["timescales"]["mean"])
            + " words (paper: 2.6, 4.3)",
        ),
        (
            "bilinear model",
            f"{percents(results['bilinear']['explained_variance'][:3])} with 1, 2, 3 terms, held out "
            f"{percents(results['bilinear']['held_out'][:3])} (paper: 83, 96, 98 %)",
        ),
    ]
    if analysis.perturbations is not None:
        removed = analysis.perturbations.removed
        facts.append(("words shuffled", repr(analysis.perturbations.shuffled)))
        facts += [(f"subspace of rank {rank} removed", repr(d)) for rank, d in removed.items()]
    if analysis.steering is not None:
        facts.append(("gain 0, 0.5, 1, 2", str(analysis.steering)))
    show_facts(facts)
    if table is not None:
        say(f"table: {words.write(table, **analysis.timescales.columns(words.words))}")
    show_report(write_report(analysis))


def _dimensions(n: int) -> str:
    return f"{n} dimension{'s' if n != 1 else ''}"


def _class_facts(classes: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The geometry of several classes."""
    geometry, names = classes["geometry"], classes["names"]
    (low, high), count = geometry["dimension_interval"], geometry["count_interval"]
    n = geometry["count"]
    size = _dimensions(n) if n < len(names) else f"evidence on {n} axes of the {geometry['through']}"
    shown = f"{len(names)}, all in `classes` of results.json; shown: {classes['shown']}"
    return [
        ("classes", shown + ("" if classes["ordered"] else " (--class NAME shows another)")),
        (
            "their attractor",
            f"{geometry['shape']}, {size} ({count[0]} to {count[1]}), participation ratio "
            f"{geometry['dimension']:.2f} ({low:.2f} to {high:.2f})",
        ),
    ]


def _show_by_class(classes: Mapping[str, Any]) -> None:
    """Print the clearest modifiers with their strength over all classes and for each."""
    names = classes["names"][:MOST_CLASSES]
    rows = [row for row in classes["modifiers"] if row["kind"] in ("negator", "diminisher", "intensifier")]
    if not rows:
        say(f"no word clearly modifies the evidence of the {len(classes['names'])} classes")
        return
    table = table_of("word", "all classes", *names, title="the clearest modifiers, by class")
    for row in rows[:LISTED]:
        cells = (f"{value:+.2f}" for value in row["by_class"][: len(names)])
        table.add_row(row["word"], f"{row['strength']:+.2f} ± {row['error']:.2f}", *cells)
    show(table)


def _show_modifiers(words: Modifiers, unclear: int, target: str = "") -> None:
    """Print the clearest modifiers with their strengths. target: the class or scale that these are of, if there are
    several classes."""
    of, are = f" of {target}" if target else "", "is" if unclear == 1 else "are"
    more = f" ({unclear:,} {are} unclear)" if unclear else ""
    weakening, intensifying = words.strongest(LISTED, ("negator", "diminisher")), words.strongest(LISTED, "intensifier")
    if not weakening and not intensifying:
        say(f"no word is clearly a modifier{of}{more}")  # the verdict says what this can mean
        return

    def cells(word: str | None) -> tuple[str, str]:
        return ("", "") if word is None else (word, f"{words[word]['strength']:+.2f} ± {words[word]['error']:.2f}")

    table = table_of(
        "negators and diminishers", "strength", "intensifiers", "strength", title=f"the clearest modifiers{of}"
    )
    for pair in zip_longest(weakening, intensifying):
        table.add_row(*cells(pair[0]), *cells(pair[1]))
    show(table)
    say("strength: signed share by which a word changes the effect of the next one, ± its standard error;")
    say("−1 removes the effect, −2 reverses it, +1 doubles it. The most certain come first.")
