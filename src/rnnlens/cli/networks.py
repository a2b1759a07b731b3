"""Commands for corpora and networks: prepare, train, info, probe."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rnnlens.cli.flags import TrainFlags
from rnnlens.cli.printing import Device, Trained, show_facts
from rnnlens.common.errors import UsageError
from rnnlens.common.terminal import say, show, table_of
from rnnlens.corpora.options import PrepareConfig

if TYPE_CHECKING:
    from rnnlens.networks import Network


def prepare(
    *sources: str,
    out: Path,
    weight: list[str] | None = None,
    overwrite: bool = False,
    config: Annotated[PrepareConfig, Parameter(name="*")] = PrepareConfig(),  # noqa: B008 - frozen
) -> None:
    """Turn reviews into a corpus: a vocabulary, and word ids that are memory-mapped.

    A source is a data set of the hub (`imdb`, `yelp`, `hf:owner/name`), a csv, tsv, jsonl or parquet file, a folder
    with train and test files, the `aclImdb` folder or tar, or the `yelp_review_polarity_csv` folder. Labels may be 0/1,
    1/2, -1/1, -1/0/1 (0 dropped), neg/pos (neutral dropped), false/true, 1 to 5 stars or ratings from 1 to 10, which
    are graded: learned as targets from 0 to 1. `--graded` grades others too. Three or more names, such as anger, fear
    and joy, are classes of their own; with `--classes`, so is every rating, and with `--ordered` they are on one scale.
    Reviews without a word are dropped.

    Several sources become one corpus with one vocabulary. Each source's labels become negative and positive by their
    own scheme. Training reviews that overlap with a validation or test review of any source are dropped.

    Examples: `rnnlens prepare reviews.csv --out corpora/mine --text body --label stars`;
    `rnnlens prepare films.csv hotels.jsonl --weight films=2 --out corpora/both`

    Parameters
    ----------
    sources
        Where the reviews are: one source or several.
    out
        The corpus folder to write.
    weight
        How much each review of a source counts in training, relative to other sources, as NAME=NUMBER; may be given
        several times. The name is the last part of the source's path without a suffix; the default is 1.
    overwrite
        Replace an existing corpus; a folder that holds anything else is never replaced.
    """
    if not sources:
        raise UsageError("no source is given: expected at least one, as in `rnnlens prepare reviews.csv --out CORPUS`")
    from rnnlens.common.progress import progress_bar
    from rnnlens.corpora import prepare as prepare_corpus
    from rnnlens.corpora.asked import parse_weights
    from rnnlens.experiments.hints import after_preparing
    from rnnlens.experiments.info import source_facts

    weights = parse_weights(weight or [])

    with progress_bar("preparing", 1) as advance:
        done = 0.0

        def advance_to(rows: int, total: int) -> None:
            nonlocal done
            advance(rows / max(1, total) - done, f"{rows:,} of {total:,} reviews")
            done = rows / max(1, total)

        corpus = prepare_corpus(
            sources, out, weights=weights, overwrite=overwrite, progress=advance_to, **asdict(config)
        )
    say(repr(corpus))
    show_facts(source_facts(corpus))
    for line in after_preparing(corpus, out):
        say(line)


def train(
    corpus: str,
    /,
    *,
    out: Path,
    arch: Annotated[Trained | None, Parameter(show_default="gru")] = None,
    start: str | None = None,
    hidden: Annotated[int | None, Parameter(show_default="256")] = None,
    embedding: Annotated[int | None, Parameter(show_default="128")] = None,
    scale: Annotated[float | None, Parameter(show_default="1.0")] = None,
    memory: Annotated[float | None, Parameter(show_default="0.0")] = None,
    both_ways: bool = False,
    layers: Annotated[int | None, Parameter(show_default="1")] = None,
    convolution: int | None = None,
    tuned: bool = False,
    settings: Path | None = None,
    sources: str | None = None,
    refit: bool = False,
    snapshots: int | None = None,
    resume: bool = False,
    test: bool = False,
    device: Device | None = None,
    threads: int | None = None,
    config: Annotated[TrainFlags, Parameter(name="*", group="Training")] = TrainFlags(),  # noqa: B008 - frozen
) -> None:
    """Train a network on a corpus.

    After an interruption, the same command with `--resume` continues from the last checkpoint.

    Example: `rnnlens train corpora/mine --tuned --out runs/mine`. With a few thousand reviews, small networks with long
    initial time constants learn faster: `--hidden 64 --embedding 32 --scale 0.1 --memory 100 --learning-rate 0.01`.
    Fine-tuning a packaged network is better still: `--start zoo:reviews-gru`.

    Parameters
    ----------
    corpus
        A prepared corpus folder, any source that `rnnlens prepare` takes, or `toy`.
    out
        The run folder to write.
    arch
        Architecture of the network: those of the paper (gru, lstm, ugrnn, vanilla), or the recurrences of today, which
        are trained by a parallel scan.
    start
        A run folder or `zoo:NAME`: fine-tune its network, with the corpus's new words added to its vocabulary. Its
        shape and architecture are kept. The defaults are few epochs at a low learning rate, and the dropout and blank
        inputs of its first training; flags take precedence.
    hidden
        Units of the network; with `--both-ways`, those of both directions together.
    embedding
        Length of a word's embedding.
    scale
        Standard deviation of the initial embeddings. With a small one, such as 0.1, networks learn faster; a vanilla
        network needs it.
    memory
        Initial time constants of the units, log-uniform from 1 to this many words; 0 keeps torch's default. A vanilla
        network needs long ones, such as 1000.
    both_ways
        Read texts from both ends: half of the units read forwards, half of them backwards, and the logit is the sum of
        what both read.
    layers
        Number of layers. Those of mingru, minlstm, mamba and rglru are joined by residuals and norms.
    convolution
        Number of words that each layer of mingru, minlstm, mamba or rglru sees at once, by a causal convolution; 1 for
        none. By default as in its paper: 4 for mamba and rglru, none for mingru and minlstm.
    tuned
        Use the bundled settings of this architecture, chosen on the validation texts of five sources. On another corpus
        training takes about as many steps, with at most three times as many epochs, and with smaller batches if there
        are few reviews. Flags take precedence.
    settings
        The `settings.json` of `rnnlens sweep`, with settings for this architecture. Flags take precedence.
    sources
        Train only on the reviews of these sources of the corpus, names separated by commas, such as `imdb,yelp`. The
        accuracy is measured on all sources.
    refit
        Also train on the validation reviews, to the last epoch; use it after all settings are chosen.
    snapshots
        How many times to keep the weights along the training, from 2 to 1000, more often at its beginning. In Python,
        `run.at(step)` opens them. Training is the same with and without them.
    resume
        Continue an interrupted run.
    test
        Evaluate the finished network on the test reviews. Choose settings on the validation reviews first.
    device
        Where to compute; by default a GPU if there is one.
    threads
        CPU threads, at most 1024; small networks are often fastest with 1.
    """
    from rnnlens.experiments.hints import after_training
    from rnnlens.training.command import train_command

    shape = {"hidden": hidden, "embedding": embedding, "scale": scale, "memory": memory}
    shape |= {"both_ways": both_ways or None, "layers": layers, "convolution": convolution}
    given = {**{name: value for name, value in shape.items() if value is not None}, **config.given}
    train_command(
        corpus,
        out,
        given,
        arch=arch,
        start=start,
        tuned=tuned,
        settings=settings,
        sources=sources,
        refit=refit,
        resume=resume,
        test=test,
        device=device,
        threads=threads,
        snapshots=snapshots,
    )
    if corpus != "toy":
        say(after_training(corpus, out))


def info(path: Path, /) -> None:
    """Describe a run folder or a prepared corpus.

    Example: `rnnlens info runs/mine`

    Parameters
    ----------
    path
        The folder.
    """
    from rnnlens.experiments.info import describe

    title, facts = describe(path)
    show_facts(facts, title)


def probe(
    run: Path,
    /,
    *texts: str,
    figure: Path | None = None,
    class_: Annotated[str | None, Parameter(name="--class")] = None,
    device: Device | None = None,
) -> None:
    """Read sentences with a trained network and show its logit after every word.

    After `rnnlens analyze`, it also shows the logits with the modifier subspace removed. A network with several classes
    shows their probabilities or, with `--class`, the logit of one. A network that reads both ways shows what each word
    adds from either side.

    Example: `rnnlens probe runs/mine "not bad at all" "bad" --figure reading.html`

    Parameters
    ----------
    run
        A run folder, or a packaged network such as `zoo:reviews-gru`.
    texts
        One or more sentences, each in quotes. `<pad>` is the blank input.
    figure
        Also draw the logits, to an html, svg, pdf or png file.
    class_
        Of a network with several classes, the one whose logit, minus the mean of the others', is shown.
    device
        Where to compute.
    """
    if not texts:
        raise UsageError('no sentence is given: expected at least one, as in `rnnlens probe RUN "not bad at all"`')
    from rnnlens.networks.devices import check_device
    from rnnlens.runs import load

    check_device(device)
    if figure is not None:
        from rnnlens.common.replacing import check_output
        from rnnlens.figures.style import PICTURES

        check_output(figure, "a figure", *PICTURES)
    loaded = load(run)
    network = loaded.network.to(device or "cpu")
    network = network if class_ is None else network.of_class(class_)
    if hasattr(network, "forwards"):
        from rnnlens.cli.sides import show_sides

        show_sides(network, loaded.without_subspace(network), texts, figure)
        return
    if network.backward:
        say("this network reads texts from their last word to their first: words are shown in this order")
    if network.several_classes:
        if figure is not None:
            raise UsageError(f"--figure draws one logit: choose a class, such as --class {quote(network.classes[0])}")
        from rnnlens.cli.sides import show_classes

        show_classes(network, loaded.without_subspace(network), texts)
        return
    without = loaded.without_subspace(network)
    sentences = {text: network.read(text) for text in texts}
    for text, words in sentences.items():
        columns = [_logits(network, words)]
        if without is not None:
            columns.append(_logits(without, without.read(text)))
        head = ["logit", "change", "without modifiers", "change"][: 2 * len(columns)]
        table = table_of("word", *head, "")
        table.add_row("(start)", *(cell for logits in columns for cell in (f"{logits[0]:+.2f}", "")), "")
        largest = max(abs(logit) for _, logit in words) or 1.0
        for k, (word, logit) in enumerate(words, start=1):
            known = network.vocab is not None and (word in network.vocab or word == "<pad>")
            table.add_row(
                word if known else f"{word} (unknown)",
                *(cell for logits in columns for cell in (f"{logits[k]:+.2f}", f"{logits[k] - logits[k - 1]:+.2f}")),
                "█" * max(1, round(10 * abs(logit) / largest)),  # longer ones would be cut
                style="green" if logit > 0 else "red",
            )
        show(table)
    if without is not None:
        say("without modifiers: with the modifier subspace projected out of the state at every step")
    if figure is not None:
        from rnnlens import figures
        from rnnlens.common.sides import sides_of

        sides = sides_of({"analysis": network.sides})
        say(f"figure: {figures.write_figure(figures.reading(sentences, sides=sides), figure)}")


def _logits(network: Network, words: list[tuple[str, float]]) -> list[float]:
    """The logit before the first word, and after each word."""
    return [network.logit(network.h0).item(), *(logit for _, logit in words)]
