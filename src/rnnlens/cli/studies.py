"""Commands that train many models: baselines, sweep, reproduce."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rnnlens.cli.printing import Device, show_report
from rnnlens.common.terminal import say, show, table_of


def baselines(
    corpus: str,
    /,
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

    Of a corpus with several classes, each baseline is one model for each class against the rest.

    Example: `rnnlens baselines corpora/imdb --modifiers runs/imdb-gru --out runs/baselines`

    Parameters
    ----------
    corpus
        A prepared corpus folder, or any source that `rnnlens prepare` takes.
    modifiers
        The modifier words: one or more analyzed runs, or a list (.json, .txt).
    out
        The folder to write. Each baseline is saved in a subfolder with its name, for class k of several with
        the ending `.k`, which may replace only a baseline.
    most
        How many words of a run to use, the most certain modifiers first.
    settings
        A sweep's `settings.json`; by default the bundled settings.
    refit
        Fit on training and validation reviews together, after all settings are chosen; needs `--test`.
    test
        Measure accuracy on the test reviews instead of the validation reviews.
    seed
        Seed of training.
    device
        Where to compute.
    """
    from rnnlens.analysis.table import TITLES
    from rnnlens.baselines import BASELINES
    from rnnlens.common.progress import progress_bar
    from rnnlens.corpora import load_corpus
    from rnnlens.experiments.bags import check_refit, fit_baselines
    from rnnlens.experiments.modifier_words import read_modifiers

    check_refit(refit, test)
    data = load_corpus(corpus)
    words = read_modifiers(modifiers, most)
    split = "test" if test else "validation"
    table = table_of("model", "parameters", f"{split} accuracy", "loss", title=repr(data))
    fitted = fit_baselines(data, words, out, settings=settings, refit=refit, test=test, seed=seed, device=device)
    with progress_bar("fitting", len(BASELINES)) as advance:
        for row in fitted:
            accuracy = f"{100 * row['accuracy']:.2f} %"
            table.add_row(TITLES[row["model"]], f"{row['parameters']:,}", accuracy, f"{row['loss']:.3f}")
            advance(1, f"{TITLES[row['model']]}: {accuracy}")
    show(table)
    strongest = ", ".join(f"{m['word']} {m['strength']:+.2f} (τ {m['tau']:.1f})" for m in row["modifiers"][:12])
    say(f"strongest modifiers: {strongest or 'none; no word that was given is in the vocabulary'}")
    say("strength: the change in the contribution of the next word, as a share of it; τ: its timescale in words")
    say(f"saved: {out}")


def sweep(
    corpus: str,
    /,
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
    seed: int = 0,
    device: Device | None = None,
) -> None:
    """Search for good settings at random, scored on the validation reviews.

    A trial that was interrupted is run again (that of a process that died within some minutes); a finished trial is
    not. The best settings are written to `settings.json`, which `train`, `baselines` and `reproduce` accept.

    Example: `rnnlens sweep corpora/imdb --model gru,lstm --trials 60 --jobs 2 --out runs/sweep`

    Parameters
    ----------
    corpus
        A prepared corpus folder, or any source that `rnnlens prepare` takes.
    model
        One or more of Table 1's models, separated by commas: `bow`, `bod+eod`, `bod+eod+beta_bod+beta_eod`, `comw`,
        `comw+beta_mod`, `comw+beta_mod+beta_bod+beta_eod`, `gru`, `lstm`, `ugrnn`, `vanilla`; or `all`.
    out
        The folder to write: the ledger and `settings.json`.
    trials
        Number of trials for each model.
    engine
        Run trials in processes of this machine, or on a Ray cluster (`RAY_ADDRESS`, else a local one).
    storage
        URL of the ledger's database, such as `postgresql+psycopg://user@host/name`, which several machines can share;
        by default an SQLite file in the folder.
    jobs
        Number of trials at a time, each in its own process; 0 runs them in this process, and is refused with
        `--engine ray`.
    resume
        Continue the search in the folder.
    modifiers
        For models with modifiers: a list of words (.json, .txt), or one or more analyzed runs.
    most
        How many words of a run to use, the most certain modifiers first.
    seed
        Seed of the search and of training.
    device
        Where to compute.
    """
    from rnnlens.experiments.modifier_words import read_modifiers
    from rnnlens.experiments.space import models_of
    from rnnlens.experiments.sweep import sweep as run_sweep

    models = models_of(model)
    chosen = run_sweep(
        corpus,
        models,
        trials,
        out,
        engine=engine,
        storage=storage,
        jobs=jobs,
        resume=resume,
        seed=seed,
        modifiers=read_modifiers(modifiers, most) if modifiers else None,
        device=device,
    )
    for name in models:
        if name in chosen["models"]:
            top = chosen["models"][name]
            trials_run = f"{top['trials']:,} trial{'s' if top['trials'] != 1 else ''}"
            say(
                f"{name}: {100 * top['accuracy']:.2f} % on validation, the best of {trials_run} (number {top['trial']})"
            )
    say(f"settings: {out / 'settings.json'}")


def reproduce(
    corpus: str,
    /,
    *,
    out: Path,
    model: str = "all",
    seeds: int = 3,
    settings: Path | None = None,
    modifiers: list[Path] | None = None,
    most: int = 400,
    balance: bool | None = None,
    engine: Literal["local", "ray"] = "local",
    jobs: int = 1,
    device: Device | None = None,
) -> None:
    """Train the ten models of the paper's Table 1 on a corpus, and compare their accuracy with the paper's.

    Every model is trained on training and validation reviews together, with settings that were chosen before, and is
    evaluated on the test reviews once for each seed. After an interruption, the same command continues where it
    stopped.

    Example: `rnnlens reproduce corpora/imdb --out runs/table`

    Parameters
    ----------
    corpus
        A prepared corpus folder with validation and test reviews, or any such source.
    out
        The folder to write, or to continue.
    model
        The models to train, separated by commas (see `rnnlens sweep --help`).
    seeds
        Number of trainings of each model.
    settings
        The `settings.json` of `rnnlens sweep`; by default the bundled settings. On another corpus than the one they
        were chosen on, models are trained for about as many steps.
    modifiers
        The modifier words: a list (.json, .txt) or analyzed runs; by default the consensus of GRUs trained here.
    most
        How many modifiers to use.
    balance
        Weigh the classes equally, however many reviews each has.
    engine
        Train in processes of this machine, or on a Ray cluster.
    jobs
        Number of models at a time, each in its own process; 0 trains them in this process, and is refused with
        `--engine ray`.
    device
        Where to compute.
    """
    from rnnlens import figures
    from rnnlens.analysis.table import table_text
    from rnnlens.common.replacing import check_output
    from rnnlens.experiments.modifier_words import read_modifiers
    from rnnlens.experiments.reproduce import reproduce as run_reproduction
    from rnnlens.experiments.space import models_of
    from rnnlens.page import report as write_report

    drawn = {"table": figures.table, "architectures": figures.architectures}
    for name in drawn:
        check_output(out / f"{name}.html", "a figure", "html")
    words = read_modifiers(modifiers, most) if modifiers else None
    results = run_reproduction(
        corpus,
        out,
        models=models_of(model),
        seeds=seeds,
        settings=settings,
        modifiers=words,
        most=most,
        balance=balance,
        engine=engine,
        jobs=jobs,
        device=device,
        report=lambda note: say(note, flush=True),
    )
    say(table_text(results["table"]), lines=True)
    for name, draw in drawn.items():
        if results[name]:
            say(f"figure: {figures.write_figure(draw(results), out / f'{name}.html')}")
    show_report(write_report(out))
