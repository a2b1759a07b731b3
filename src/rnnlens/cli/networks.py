"""Reviews and networks: prepare, train, info, probe."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Annotated

from cyclopts import Parameter

from rnnlens.cli.flags import TrainFlags
from rnnlens.cli.printing import Arch, Device
from rnnlens.common.errors import UsageError
from rnnlens.common.terminal import say, show, table_of
from rnnlens.corpora.options import PrepareConfig


def prepare(
    *sources: str,
    out: Path,
    weight: Annotated[list[str] | None, Parameter(negative=())] = None,
    overwrite: bool = False,
    config: Annotated[PrepareConfig, Parameter(name="*")] = PrepareConfig(),  # noqa: B008 - frozen
) -> None:
    """Turn reviews into a vocabulary and memory-mapped ids.

    A source is a data set of the hub (`imdb`, `yelp`, `hf:owner/name`), a csv, tsv, jsonl or parquet file, a folder
    with train and test files, the `aclImdb` folder or tar, or the `yelp_review_polarity_csv` folder. Labels may be 0/1,
    1/2, neg/pos, -1/0/1 (0 dropped) or 1 to 5 stars (3 dropped). Reviews without a word are dropped.

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
        Replace another corpus that is already there; a folder that holds anything else is never replaced.
    """
    if not sources:
        raise UsageError("no source is given: expected at least one, as in `rnnlens prepare reviews.csv --out CORPUS`")
    from rnnlens.common.progress import progress_bar
    from rnnlens.corpora import prepare as prepare_corpus
    from rnnlens.corpora.asked import parse_weights
    from rnnlens.experiments.info import source_facts

    weights = parse_weights(weight or [])

    with progress_bar("preparing", 1) as advance:
        done = 0.0

        def told(rows: int, total: int) -> None:
            nonlocal done
            advance(rows / max(1, total) - done, f"{rows:,} of {total:,} reviews")
            done = rows / max(1, total)

        corpus = prepare_corpus(sources, out, weights=weights, overwrite=overwrite, progress=told, **asdict(config))
    say(repr(corpus))
    _show_facts(source_facts(corpus))
    say(f"next: rnnlens train {quote(str(out))} --out runs/{quote(out.name)}")


def train(
    corpus: str,
    /,
    *,
    out: Path,
    arch: Annotated[Arch | None, Parameter(show_default="gru")] = None,
    start: str | None = None,
    hidden: Annotated[int | None, Parameter(show_default="256")] = None,
    embedding: Annotated[int | None, Parameter(show_default="128")] = None,
    scale: Annotated[float | None, Parameter(show_default="1.0")] = None,
    memory: Annotated[float | None, Parameter(show_default="0.0")] = None,
    tuned: bool = False,
    settings: Path | None = None,
    sources: str | None = None,
    refit: bool = False,
    resume: bool = False,
    test: bool = False,
    device: Device | None = None,
    threads: int | None = None,
    config: Annotated[TrainFlags, Parameter(name="*", group="Training")] = TrainFlags(),  # noqa: B008 - frozen
) -> None:
    """Train a network on a corpus.

    Killed at any moment, the same command with `--resume` continues exactly where the last checkpoint stands.

    Example: `rnnlens train corpora/mine --tuned --out runs/mine`. With only some thousand reviews, small networks that
    begin with a memory learn sooner: `--hidden 64 --embedding 32 --scale 0.1 --memory 100 --learning-rate 0.01`.
    Better, go on from a packaged network: `--start zoo:reviews-gru`.

    Parameters
    ----------
    corpus
        A prepared corpus folder, any source that `rnnlens prepare` takes, or `toy`.
    out
        The run folder to write.
    arch
        Architecture of the network.
    start
        A run folder or `zoo:NAME`: go on from its network, with the corpus's new words added to its vocabulary. Shape
        and architecture are its own. By default few epochs at a low learning rate, and words are dropped as in its
        first training; flags that are given win.
    hidden
        Units of the network.
    embedding
        Length of a word's embedding.
    scale
        Size of the embeddings before training. Small ones, such as 0.1, learn sooner; a vanilla network needs them.
    memory
        How many words the units hold on to before training, at most; 0 for as they come. A vanilla network needs some,
        such as 1000.
    tuned
        Use the bundled settings of this architecture, chosen on the validation texts of five sources.
        On another corpus they make about as many steps, with at most three times as many epochs, and in smaller
        batches where there are few reviews. Flags that are given win.
    settings
        The `settings.json` of `rnnlens sweep`: what it chose for this architecture; flags that are given
        win.
    sources
        Train on the reviews of these sources of the corpus only, by name with commas between them, such as
        `imdb,yelp`. The accuracy is measured on all sources.
    refit
        Train on the validation reviews too, to the last epoch: once every choice is made.
    resume
        Go on where a killed run stopped.
    test
        Evaluate the finished network on the test reviews. Choose settings on the validation reviews first.
    device
        Where to compute; by default a GPU if there is one.
    threads
        CPU threads; small networks are often fastest with 1.
    """
    from rnnlens.training.command import train_command

    shape = {"hidden": hidden, "embedding": embedding, "scale": scale, "memory": memory}
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
    )
    if corpus != "toy":
        say(f"next: rnnlens analyze {quote(str(out))} --corpus {quote(corpus)}")


def info(path: Path, /) -> None:
    """Say what is in a run folder or a prepared corpus.

    Example: `rnnlens info runs/mine`

    Parameters
    ----------
    path
        The folder.
    """
    from rnnlens.experiments.info import describe

    title, facts = describe(path)
    _show_facts(facts, title)


def _show_facts(facts: list[tuple[str, str]], title: str | None = None) -> None:
    table = table_of("", "", title=title, header=False)
    for name, value in facts:
        table.add_row(name, value)
    show(table)


def probe(run: Path, /, *texts: str, figure: Path | None = None, device: Device | None = None) -> None:
    """Read sentences with a trained network and show its logit after every word.

    After `rnnlens analyze`, also with the modifier subspace switched off.

    Example: `rnnlens probe runs/mine "not bad at all" "bad" --figure reading.html`

    Parameters
    ----------
    run
        A run folder, or `zoo:reviews-gru`, the packaged network.
    texts
        One or more sentences, each in quotes. `<pad>` is no input.
    figure
        Also draw them, to an html, svg, pdf or png file.
    device
        Where to compute.
    """
    if not texts:
        raise UsageError('no sentence to read: give at least one, as in `rnnlens probe RUN "not bad at all"`')
    from rnnlens.networks.devices import check_device
    from rnnlens.runs import load

    check_device(device)
    if figure is not None:
        from rnnlens.common.replacing import check_output
        from rnnlens.figures.style import PICTURES

        check_output(figure, "a figure", *PICTURES)
    opened = load(run)
    network = opened.network.to(device or "cpu")
    quiet = opened.without_subspace(network)
    sentences = {text: network.read(text) for text in texts}
    for text, words in sentences.items():
        calm = None if quiet is None else quiet.read(text)
        table = table_of("word", "logit", "change", *([] if calm is None else ["without modifiers", "change"]), "")
        before, calmer = network.logit(network.h0).item(), 0.0 if quiet is None else quiet.logit(quiet.h0).item()
        table.add_row("(start)", f"{before:+.2f}", "", *([] if calm is None else [f"{calmer:+.2f}", ""]), "")
        span = max(abs(logit) for _, logit in words) or 1.0
        for k, (word, logit) in enumerate(words):
            known = network.vocab is not None and (word in network.vocab or word == "<pad>")
            bar = "█" * max(1, round(20 * abs(logit) / span))
            other = [] if calm is None else [f"{calm[k][1]:+.2f}", f"{calm[k][1] - calmer:+.2f}"]
            table.add_row(
                word if known else f"{word} (unknown)",
                f"{logit:+.2f}",
                f"{logit - before:+.2f}",
                *other,
                bar,
                style="green" if logit > 0 else "red",
            )
            before, calmer = logit, calmer if calm is None else calm[k][1]
        show(table)
    if quiet is not None:
        say("without modifiers: with the modifier subspace projected out of the state at every step")
    if figure is not None:
        from rnnlens import figures

        say(f"figure: {figures.write_figure(figures.reading(sentences), figure)}")
