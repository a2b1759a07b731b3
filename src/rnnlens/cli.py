"""The command line: parse, call, print. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import sys
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter

from rnnlens import __version__
from rnnlens.corpora.options import PrepareConfig
from rnnlens.errors import UsageError, exit_code_of
from rnnlens.experiments.recipe import RECIPE, Settings
from rnnlens.training.config import TrainConfig

if TYPE_CHECKING:
    from rich.table import Table

    from rnnlens.runs import Run

Arch = Literal["gru", "lstm", "ugrnn", "vanilla"]
Device = Literal["cpu", "cuda"]

app = App(
    name="rnnlens",
    version=__version__,
    help="Open a trained recurrent network and see how it uses context.\n\n"
    "Start with `rnnlens toy --out runs/toy`: it trains a small network on a language with negation and emphasis, "
    "in about two minutes, and shows what it has learnt.",
    help_format="markdown",
    suppress_keyboard_interrupt=False,
)


@app.command
def toy(
    *,
    out: Path,
    arch: Arch = "gru",
    hidden: int = 100,
    seed: int = 0,
    resume: bool = False,
    device: Device | None = None,
) -> None:
    """Train a network on the toy language, take it apart, and write the report.

    The language has negation and emphasis whose rules are known; the report shows how the network implements them: the
    line attractor, the deflections, the linear modes, and what removing them does. Under three minutes on two cores.

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
        Go on where a killed run stopped.
    device
        Where to compute; by default a GPU if there is one.
    """
    from rnnlens.experiments.toy import study_toy, train_toy
    from rnnlens.page import report
    from rnnlens.training.loop import check_device

    check_device(device)
    run = train_toy(out, arch=arch, hidden=hidden, seed=seed, resume=resume, device=device)
    study_toy(run)
    table = _table("phrase", "reads as", "should be", title=f"{arch} of {hidden} units on the toy language")
    for reading in run.results["toy"]["phrases"]:
        table.add_row(reading["phrase"], f"{reading['logit']:+.2f}", f"{reading['target']:+.0f}")
    _print(table)
    claims = run.results["toy"]["claims"]
    table = _table("", "claim", "measured", title="what the paper says, and what this network shows", justify="left")
    for claim in claims:
        table.add_row("✓" if claim["shown"] else "✗", claim["claim"], claim["measured"])
    _print(table)
    print(f"{sum(claim['shown'] for claim in claims)} of {len(claims)} claims shown")
    _print_report(report(run))


@app.command
def prepare(
    source: str,
    *,
    out: Path,
    overwrite: bool = False,
    config: Annotated[PrepareConfig, Parameter(name="*")] = PrepareConfig(),  # noqa: B008 - frozen
) -> None:
    """Turn reviews into a vocabulary and memory-mapped ids.

    SOURCE is a hub name (`imdb`, `yelp`, `owner/name`), a csv, tsv, jsonl or parquet file, a folder with train and
    test files, the `aclImdb` folder or tar, or the `yelp_review_polarity_csv` folder.

    Parameters
    ----------
    source
        Where the reviews are.
    out
        The corpus folder to write.
    overwrite
        Replace another corpus that is already there.
    """
    from rnnlens.corpora import prepare as prepare_corpus
    from rnnlens.progress import progress_bar

    with progress_bar("preparing", 1) as advance:
        done = 0.0

        def told(rows: int, total: int) -> None:
            nonlocal done
            advance(rows / max(1, total) - done, f"{rows:,} of {total:,} reviews")
            done = rows / max(1, total)

        corpus = prepare_corpus(source, out, overwrite=overwrite, progress=told, **asdict(config))
    print(repr(corpus))


@app.command
def train(
    corpus: str,
    *,
    out: Path,
    arch: Arch = "gru",
    hidden: int = 256,
    embedding: int = 128,
    scale: float = 1.0,
    memory: float = 0.0,
    settings: Path | None = None,
    refit: bool = False,
    resume: bool = False,
    test: bool = False,
    device: Device | None = None,
    threads: int | None = None,
    config: Annotated[TrainConfig, Parameter(name="*")] = TrainConfig(),  # noqa: B008 - frozen
) -> None:
    """Train a network on a corpus.

    Killed at any moment, the same command with `--resume` continues exactly where the last checkpoint stands.

    Parameters
    ----------
    corpus
        A prepared corpus folder, any source that `rnnlens prepare` takes, or `toy`.
    out
        The run folder to write.
    arch
        Architecture of the network.
    hidden
        Units of the network.
    embedding
        Length of a word's embedding.
    scale
        Size of the embeddings before training; a vanilla network needs small ones, such as 0.05.
    memory
        How many words the units hold on to before training, at most; 0 for as they come. A vanilla network needs some,
        such as 1000.
    settings
        The `settings.json` of `rnnlens sweep`: what it chose for this architecture; flags that differ from their
        defaults win.
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

    train_command(
        corpus, out, config, arch, hidden, embedding, resume, device, test, threads, scale, refit, settings, memory
    )


@app.command
def analyze(
    run: Path,
    *,
    corpus: str | None = None,
    reviews: int | None = None,
    top: int = 10_000,
    table: Path | None = None,
    seed: int = 0,
    device: Device | None = None,
) -> None:
    """Take a trained network apart: modifiers, barcodes, subspace, timescales, edges of documents.

    Without a corpus, everything that needs no review text; with the corpus it was trained on, also what accuracy hangs
    on (this reads the test reviews, many times: quick on a GPU).

    Parameters
    ----------
    run
        A run folder.
    corpus
        The prepared corpus.
    reviews
        Read at most so many reviews of a split, drawn at random: on a CPU, 5000 take a quarter of an hour.
    top
        How many of the most frequent words to look at.
    table
        Also write every word's measures, to a csv or parquet file.
    seed
        Of visited states and random controls.
    device
        Where to compute.
    """
    from rnnlens.corpora import load_corpus
    from rnnlens.runs import load
    from rnnlens.training.loop import check_device

    check_device(device)
    _analyze(load(run), None if corpus is None else load_corpus(corpus), top, seed, device, table, reviews)


@app.command
def demo(*, out: Path = Path("runs/demo"), seed: int = 0, device: Device | None = None) -> None:
    """Analyse the packaged IMDB GRU, and write the report: no download, well under a minute.

    Parameters
    ----------
    out
        The run folder to write; it may be there already.
    seed
        Of random controls.
    device
        Where to compute.
    """
    from rnnlens.training.loop import check_device
    from rnnlens.zoo import unpack

    check_device(device)
    _analyze(unpack("imdb-gru", out), None, 10_000, seed, device, None)


@app.command
def sweep(
    corpus: str,
    *,
    model: str,
    out: Path,
    trials: int = 60,
    engine: Literal["local", "ray"] = "local",
    storage: str | None = None,
    jobs: int = 1,
    resume: bool = False,
    modifiers: list[Path] | None = None,
    most: int = 400,
    earlier: Path | None = None,
    seed: int = 0,
    device: Device | None = None,
) -> None:
    """Search for good settings at random, judged on the validation reviews.

    A trial whose worker is killed is run again, a finished one never. The best settings are written to `settings.json`,
    which `train`, `baselines` and `reproduce` take.

    Parameters
    ----------
    corpus
        A prepared corpus folder, or any source that `rnnlens prepare` takes.
    model
        One or more of Table 1's models, with commas: `bow`, `bod+eod`, `bod+eod+beta_bod+beta_eod`, `comw`,
        `comw+beta_mod`, `comw+beta_mod+beta_bod+beta_eod`, `gru`, `lstm`, `ugrnn`, `vanilla`; or `all`.
    out
        The folder to write: the ledger and `settings.json`.
    trials
        How many for each model.
    engine
        Processes of this machine, or a Ray cluster (that of `RAY_ADDRESS`, else a local one).
    storage
        URL of the ledger's database, such as `postgresql+psycopg://user@host/name`, which several machines may share;
        by default SQLite in the folder.
    jobs
        Trials at a time.
    resume
        Go on with the trials that are in the folder.
    modifiers
        For models with modifiers: a list of words (.json, .txt), or one or more analysed runs.
    most
        How many of a run's modifiers.
    earlier
        A file that `python -m rnnlens.experiments.trials` wrote: its trials are taken over.
    seed
        Of the search and of training.
    device
        Where to compute.
    """
    from rnnlens.experiments.modifier_words import read_modifiers
    from rnnlens.experiments.space import models_of
    from rnnlens.experiments.sweep import sweep as run_sweep
    from rnnlens.experiments.sweep_view import watched

    models = models_of(model)
    words = read_modifiers(modifiers, most) if modifiers else None
    with watched(models, trials) as told:
        chosen = run_sweep(
            corpus, models, trials, out, engine=engine, storage=storage, jobs=jobs, resume=resume, seed=seed,
            modifiers=words, device=device, earlier=earlier, told=told,
        )  # fmt: skip
    for name in models:
        if name in chosen["models"]:
            top = chosen["models"][name]
            print(f"{name}: {100 * top['accuracy']:.2f} % on validation, trial {top['trial']} of {top['trials']}")
    print(f"settings: {out / 'settings.json'}")


@app.command
def baselines(
    corpus: str,
    *,
    modifiers: list[Path],
    out: Path,
    most: int = 400,
    settings: Path | None = None,
    refit: bool = False,
    test: bool = False,
    seed: int = 0,
    device: Device | None = None,
) -> None:
    """Fit the paper's six baselines: bags of words in which modifiers and the edges of documents change other words.

    Parameters
    ----------
    corpus
        A prepared corpus folder, or any source that `rnnlens prepare` takes.
    modifiers
        The modifier words: one or more analysed runs, or a list (.json, .txt).
    out
        The folder to write; each baseline is saved in a folder of its name.
    most
        How many of a run's modifiers.
    settings
        A sweep's `settings.json`; by default settings that come along.
    refit
        Fit on training and validation reviews together, once every choice is made; needs `--test`.
    test
        Judge on the test reviews instead of the validation reviews.
    seed
        Of training.
    device
        Where to compute.
    """
    from rnnlens.corpora import load_corpus
    from rnnlens.experiments.bags import fit_baselines
    from rnnlens.experiments.modifier_words import read_modifiers
    from rnnlens.experiments.table import TITLES

    data, words = load_corpus(corpus), read_modifiers(modifiers, most)
    split = "test" if test else "validation"
    table = _table("model", "parameters", f"{split} accuracy", "loss", title=repr(data))
    for row in fit_baselines(data, words, out, settings=settings, refit=refit, test=test, seed=seed, device=device):
        table.add_row(TITLES[row["model"]], f"{row['parameters']:,}", f"{100 * row['accuracy']:.2f} %",
                      f"{row['loss']:.3f}")  # fmt: skip
    _print(table)
    strongest = ", ".join(f"{m['word']} {m['strength']:+.2f} (τ {m['tau']:.1f})" for m in row["modifiers"][:12])
    print(f"strongest modifiers: {strongest}")
    print("strength: the change in the weight of the next word, as a share of it; τ: over how many words it fades")
    print(f"saved: {out}")


@app.command
def reproduce(
    corpus: str,
    *,
    out: Path,
    model: str = "all",
    seeds: int = 3,
    settings: Path | None = None,
    modifiers: list[Path] | None = None,
    most: int = 400,
    trials: int = 0,
    balance: bool = False,
    engine: Literal["local", "ray"] = "local",
    jobs: int = 1,
    device: Device | None = None,
) -> None:
    """Train the ten models of the paper's Table 1 on a corpus, and set ours beside the paper's numbers.

    Every model is trained on training and validation reviews together, with settings chosen before, and reads the test
    reviews once for each seed. What is finished is reused: the same command goes on after being killed.

    Parameters
    ----------
    corpus
        A prepared corpus folder with validation and test reviews, or any such source.
    out
        The folder to write, or to go on with.
    model
        Some of the ten models, with commas (see `rnnlens sweep --help`).
    seeds
        How many trainings of each model.
    settings
        A sweep's `settings.json`; by default settings that come along. On another corpus than they were chosen on,
        models are trained for as many steps.
    modifiers
        The modifier words: a list (.json, .txt) or analysed runs; by default what GRUs trained here agree on.
    most
        How many modifiers.
    trials
        Search for settings first, with so many trials a model.
    balance
        Weigh the classes equally, however many reviews each has.
    engine
        Processes of this machine, or a Ray cluster.
    jobs
        Models at a time.
    device
        Where to compute.
    """
    from rnnlens import figures
    from rnnlens.experiments.modifier_words import read_modifiers
    from rnnlens.experiments.reproduce import reproduce as run_reproduction
    from rnnlens.experiments.space import models_of
    from rnnlens.experiments.table import table_text
    from rnnlens.page import report as write_report

    words = read_modifiers(modifiers, most) if modifiers else None
    results = run_reproduction(
        corpus, out, models=models_of(model), seeds=seeds, settings=settings, modifiers=words, most=most, trials=trials,
        balance=balance, engine=engine, jobs=jobs, device=device, told=lambda note: print(note, flush=True),
    )  # fmt: skip
    print(table_text(results["table"]))
    for name, draw in (("table", figures.table), ("architectures", figures.architectures)):
        if results[name]:
            print(f"figure: {figures.write_figure(draw(results), out / f'{name}.html')}")
    _print_report(write_report(out))


@app.command
def report(run: Path, *, out: Path | None = None, words: int | None = None) -> None:
    """Write the page of an analysed run: one HTML file with the figures, and the network itself, live.

    Parameters
    ----------
    run
        A run folder, after `rnnlens analyze` or `rnnlens toy`, or the folder of `rnnlens reproduce`.
    out
        Where to write; by default `report.html` in that folder.
    words
        How many of the most frequent words the live network knows; by default as many as 12 MB hold.
    """
    from rnnlens.page import report as write_report

    _print_report(write_report(run, out, words))


@app.command
def figures(run: Path, *, out: Path | None = None, format: Literal["svg", "pdf", "png", "html"] = "svg") -> None:
    """Save every figure of an analysed run, each to a file.

    Parameters
    ----------
    run
        A run folder, after `rnnlens analyze` or `rnnlens toy`.
    out
        The folder to write to; by default `figures` in the run folder.
    format
        What kind of file. All but html need `pip install rnnlens[images]` and a Chrome or Chromium.
    """
    from rnnlens.figures import catalogue, write_figures
    from rnnlens.progress import progress_bar
    from rnnlens.runs import load

    results = load(run).results
    with progress_bar("drawing", max(1, len(catalogue(results)))) as advance:
        written, missing = write_figures(results, out or run / "figures", format, lambda name: advance(1, name))
    for path in written:
        print(path)
    for name, why in missing.items():
        print(f"{name}: not drawn: {why}")


def _print_report(path: Path) -> None:
    print(f"report: {path} ({path.stat().st_size / 1e6:.1f} MB)")


def _analyze(
    run: Run, corpus: Any, top: int, seed: int, device: str | None, table: Path | None, reviews: int | None = None
) -> None:
    """Analyse, save, print what is most worth knowing, write the report."""
    from rnnlens.experiments.analyze import analyze as analyze_run
    from rnnlens.page import report as write_report

    analysis = analyze_run(run, corpus, top=top, seed=seed, device=device, reviews=reviews, progress=True)
    analysis.save()
    results, words = analysis.results, analysis.modifiers
    shown = _table("negators and diminishers", "share", "intensifiers", "share", title="the strongest modifiers")
    both = words.strongest(20, ("negator", "diminisher")), words.strongest(20, "intensifier")
    for less, more in zip_longest(*both):
        shown.add_row(less or "", f"{words[less]['share']:+.2f}" if less else "",
                      more or "", f"{words[more]['share']:+.2f}" if more else "")  # fmt: skip
    _print(shown)
    print("share: what happens to the valence of the next word; −1 takes it away, −2 flips it, +1 doubles it")

    def percent(shares: list[float]) -> str:
        return ", ".join(f"{100 * share:.1f} %" for share in shares[:3])

    for warning in results["warnings"]:
        print(f"warning: {warning}")
    drift, line = results["pad_drift"], results["line_attractor"]
    facts = [
        ("drift under 50 pads", f"{drift:.2f} logits"),
        ("line attractor", f"a curve explains {percent([line['explained_variance']])}, a straight line "
                           f"{percent([line['pc1_variance']])}" + ("" if line["is_line"] else ": no line")),
        ("subspace", f"{percent(results['subspace']['explained_variance'])} of the strongest modifiers' variance; "
                     f"{percent(results['subspace']['by_norm'])} of the paper's choice (paper: 96.2 % in two)"),
        ("timescales", ", ".join("–" if x is None else f"{x:.1f}" for x in results["timescales"]["mean"])
                       + " words (paper: 2.6, 4.3)"),
        ("bilinear model", f"{percent(results['bilinear']['explained_variance'])} with 1, 2, 3 terms, held out "
                           f"{percent(results['bilinear']['held_out'])} (paper: 83, 96, 98 %)"),
    ]  # fmt: skip
    if analysis.perturbations is not None:
        found = analysis.perturbations
        facts.append(("words shuffled", repr(found.shuffled)))
        facts += [(f"subspace of rank {rank} removed", repr(d)) for rank, d in found.removed.items()]
    table_of_facts = _table("", "", header=False)
    for fact in facts:
        table_of_facts.add_row(*fact)
    _print(table_of_facts)
    if table is not None:
        print(f"table: {words.write(table, **analysis.timescales.columns(words.words))}")
    _print_report(write_report(analysis))


@app.command
def validate(
    *,
    out: Path,
    preset: Literal["tiny", "easy", "medium", "mixed", "hard"] = "hard",
    arch: Arch = "gru",
    seeds: int = 5,
    language_seed: int = 0,
    documents: int | None = None,
    hidden: int = Settings.hidden,
    embedding: int = Settings.embedding,
    scale: float = Settings.scale,
    memory: float = Settings.memory,
    convolution: bool = True,
    jobs: int = 1,
    device: Device | None = None,
    config: Annotated[TrainConfig, Parameter(name="*")] = RECIPE,
) -> None:
    """Prove the method on a language whose truth is known.

    Makes a language with modifiers of known kind, strength and reach, trains networks on it, takes each apart as any
    other, and scores what was found against the truth. Killed at any moment, the same command goes on where it stopped.
    `tiny` takes a minute, `hard` wants a GPU.

    Parameters
    ----------
    out
        The folder to write: the corpus, a run folder for every seed, and `validation.json`.
    preset
        The language.
    arch
        Architecture of the networks.
    seeds
        Networks to train; several give a consensus.
    language_seed
        Seed of the language and its documents.
    documents
        Training documents, if not as many as the preset has.
    hidden
        Units of the networks.
    embedding
        Length of a word's embedding.
    scale
        Size of the untrained words: small ones that are seldom seen stay small, and make no noise.
    memory
        Units begin with keeping for 1 to so many words; 0 for as they are made.
    convolution
        Also fit a bag of words that learns its modifiers.
    jobs
        Networks at a time, each in a process of its own.
    device
        Where to compute; by default a GPU if there is one.
    """
    from rnnlens.experiments.validate import validate_command

    settings = Settings(arch, hidden, embedding, scale, memory, config)
    rows = validate_command(preset, out, settings, seeds, language_seed, documents, convolution, jobs, device)
    table = _table("", "networks: mean (range)", "consensus", title=f"{preset}: found against the truth")
    for row in rows:
        table.add_row(*row)
    _print(table)


@app.command
def info(path: Path) -> None:
    """Say what is in a run folder or a prepared corpus.

    Parameters
    ----------
    path
        The folder.
    """
    from rnnlens.experiments.info import describe

    title, facts = describe(path)
    table = _table("", "", title=title, header=False)
    for name, value in facts:
        table.add_row(name, value)
    _print(table)


@app.command
def probe(run: Path, *texts: str, figure: Path | None = None, device: Device | None = None) -> None:
    """Read sentences with a trained network and show its logit after every word.

    After `rnnlens analyze`, also with the modifier subspace switched off.

    Parameters
    ----------
    run
        A run folder.
    texts
        One or more sentences, each in quotes: `rnnlens probe runs/imdb "not bad at all"`. `<pad>` is no input.
    figure
        Also draw them, to an html, svg, pdf or png file.
    device
        Where to compute.
    """
    if not texts:
        raise UsageError('no sentence to read: give at least one, as in `rnnlens probe RUN "not bad at all"`')
    from rnnlens.runs import load
    from rnnlens.training.loop import check_device

    check_device(device)
    opened = load(run)
    network = opened.network.to(device or "cpu")
    quiet = opened.without_subspace(network)
    sentences = {text: network.read(text) for text in texts}
    for text, words in sentences.items():
        calm = None if quiet is None else quiet.read(text)
        table = _table("word", "logit", "change", *([] if calm is None else ["without modifiers", "change"]), "")
        before, calmer = network.logit(network.h0).item(), 0.0 if quiet is None else quiet.logit(quiet.h0).item()
        table.add_row("(start)", f"{before:+.2f}", "", *([] if calm is None else [f"{calmer:+.2f}", ""]), "")
        span = max(abs(logit) for _, logit in words) or 1.0
        for k, (word, logit) in enumerate(words):
            known = network.vocab is not None and (word in network.vocab or word == "<pad>")
            bar = "█" * max(1, round(20 * abs(logit) / span))
            other = [] if calm is None else [f"{calm[k][1]:+.2f}", f"{calm[k][1] - calmer:+.2f}"]
            table.add_row(word if known else f"{word} (unknown)", f"{logit:+.2f}", f"{logit - before:+.2f}",
                          *other, bar, style="green" if logit > 0 else "red")  # fmt: skip
            before, calmer = logit, calmer if calm is None else calm[k][1]
        _print(table)
    if quiet is not None:
        print("without modifiers: with the modifier subspace projected out of the state at every step")
    if figure is not None:
        from rnnlens import figures

        print(f"figure: {figures.write_figure(figures.reading(sentences), figure)}")


def _table(
    *columns: str, title: str | None = None, header: bool = True, justify: Literal["left", "right"] = "right"
) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, show_header=header, title_justify="left")
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i == 0 or not name else justify)
    return table


def _print(table: Table) -> None:
    from rich.console import Console

    Console(markup=False, highlight=False).print(table)  # words are data: [bold] in a review stays as it is


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: exit code 0 fine, 1 failed, 2 bad usage; errors are one line."""

    def command() -> None:
        try:
            app(arguments, exit_on_error=False, print_error=False, help_on_error=False)
        except CycloptsError as error:
            raise UsageError(" ".join(str(error).split()) + " (see `rnnlens --help`)") from error

    sys.exit(exit_code_of(command))


if __name__ == "__main__":
    main()
