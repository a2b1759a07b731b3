"""Many networks: baselines, sweep, reproduce, validate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from rnnlens.cli.flags import RecipeFlags
from rnnlens.cli.printing import Arch, Device, show_report
from rnnlens.common.terminal import say, show, table_of
from rnnlens.experiments.recipe import Settings, recipe


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

    Example: `rnnlens baselines corpora/imdb --modifiers runs/imdb-gru --out runs/baselines`

    Parameters
    ----------
    corpus
        A prepared corpus folder, or any source that `rnnlens prepare` takes.
    modifiers
        The modifier words: one or more analyzed runs, or a list (.json, .txt).
    out
        The folder to write; each baseline is saved in a folder of its name, and replaces only an earlier one.
    most
        How many of a run's modifiers.
    settings
        A sweep's `settings.json`; by default the bundled settings.
    refit
        Fit on training and validation reviews together, once every choice is made; needs `--test`.
    test
        Judge on the test reviews instead of the validation reviews.
    seed
        Of training.
    device
        Where to compute.
    """
    from rnnlens.analysis.table import TITLES
    from rnnlens.corpora import load_corpus
    from rnnlens.experiments.bags import fit_baselines
    from rnnlens.experiments.modifier_words import read_modifiers

    data, words = load_corpus(corpus), read_modifiers(modifiers, most)
    split = "test" if test else "validation"
    table = table_of("model", "parameters", f"{split} accuracy", "loss", title=repr(data))
    for row in fit_baselines(data, words, out, settings=settings, refit=refit, test=test, seed=seed, device=device):
        table.add_row(
            TITLES[row["model"]], f"{row['parameters']:,}", f"{100 * row['accuracy']:.2f} %", f"{row['loss']:.3f}"
        )
    show(table)
    strongest = ", ".join(f"{m['word']} {m['strength']:+.2f} (τ {m['tau']:.1f})" for m in row["modifiers"][:12])
    say(f"strongest modifiers: {strongest}")
    say("strength: the change in the weight of the next word, as a share of it; τ: over how many words it fades")
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
    earlier: Path | None = None,
    seed: int = 0,
    device: Device | None = None,
) -> None:
    """Search for good settings at random, judged on the validation reviews.

    A trial whose worker is killed is run again, a finished one never. The best settings are written to `settings.json`,
    which `train`, `baselines` and `reproduce` take.

    Example: `rnnlens sweep corpora/imdb --model gru,lstm --trials 60 --jobs 2 --out runs/sweep`

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
        Trials at a time, each in a process of its own; 0 for this process.
    resume
        Go on with the trials that are in the folder.
    modifiers
        For models with modifiers: a list of words (.json, .txt), or one or more analyzed runs.
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
    with watched(models, trials) as report:
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
            modifiers=words,
            device=device,
            earlier=earlier,
            report=report,
        )
    for name in models:
        if name in chosen["models"]:
            top = chosen["models"][name]
            say(f"{name}: {100 * top['accuracy']:.2f} % on validation, trial {top['trial']} of {top['trials']}")
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
    trials: int = 0,
    balance: bool | None = None,
    engine: Literal["local", "ray"] = "local",
    jobs: int = 1,
    device: Device | None = None,
) -> None:
    """Train the ten models of the paper's Table 1 on a corpus, and set ours beside the paper's numbers.

    Every model is trained on training and validation reviews together, with settings chosen before, and reads the test
    reviews once for each seed. What is finished is reused: the same command goes on after being killed.

    Example: `rnnlens reproduce corpora/imdb --out runs/table`

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
        A sweep's `settings.json`; by default the bundled settings. On another corpus than they were chosen on,
        models are trained for as many steps.
    modifiers
        The modifier words: a list (.json, .txt) or analyzed runs; by default what GRUs trained here agree on.
    most
        How many modifiers.
    trials
        Search for settings first, with so many trials a model.
    balance
        Weigh the classes equally, however many reviews each has.
    engine
        Processes of this machine, or a Ray cluster.
    jobs
        Models at a time, each in a process of its own; 0 for this process.
    device
        Where to compute.
    """
    from rnnlens import figures
    from rnnlens.analysis.table import table_text
    from rnnlens.experiments.modifier_words import read_modifiers
    from rnnlens.experiments.reproduce import reproduce as run_reproduction
    from rnnlens.experiments.space import models_of
    from rnnlens.page import report as write_report

    words = read_modifiers(modifiers, most) if modifiers else None
    results = run_reproduction(
        corpus,
        out,
        models=models_of(model),
        seeds=seeds,
        settings=settings,
        modifiers=words,
        most=most,
        trials=trials,
        balance=balance,
        engine=engine,
        jobs=jobs,
        device=device,
        report=lambda note: say(note, flush=True),
    )
    say(table_text(results["table"]), lines=True)
    for name, draw in (("table", figures.table), ("architectures", figures.architectures)):
        if results[name]:
            say(f"figure: {figures.write_figure(draw(results), out / f'{name}.html')}")
    show_report(write_report(out))


def validate(
    *,
    out: Path,
    preset: Literal["tiny", "topics", "easy", "medium", "mixed", "hard"] = "hard",
    arch: Arch = "gru",
    seeds: int = 5,
    language_seed: int = 0,
    documents: int | None = None,
    hidden: int = Settings.hidden,
    embedding: int = Settings.embedding,
    scale: float = Settings.scale,
    memory: float = Settings.memory,
    jobs: int = 1,
    device: Device | None = None,
    config: Annotated[RecipeFlags, Parameter(name="*", group="Training")] = RecipeFlags(),  # noqa: B008 - frozen
) -> None:
    """Test the method on a language whose truth is known.

    Makes a language with modifiers of known kind, strength and reach, trains networks on it, takes each apart as any
    other network, and scores `strength` and `norm` against the truth. After an interruption, the same command continues
    where it stopped. `tiny` and `topics` take a minute for each network; `hard` wants a GPU.

    Example: `rnnlens validate --preset hard --seeds 5 --out runs/hard`

    Parameters
    ----------
    out
        The folder to write: the corpus, a run folder for every seed, and `validation.json`.
    preset
        The language. `topics` has several topics, and short and long documents.
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
        Size of the untrained word embeddings: small ones stay small for rare words, and add no noise.
    memory
        Initial time constants of the units, log-uniform from 1 to so many words; 0 keeps the default.
    jobs
        Networks at a time, each in a process of its own.
    device
        Where to compute; by default a GPU if there is one.
    """
    from rnnlens.experiments.validate import validate_command

    settings = Settings(arch, hidden, embedding, scale, memory, recipe(config.given))
    rows = validate_command(preset, out, settings, seeds, language_seed, documents, jobs, device)
    table = table_of("", "networks: mean (range)", "consensus", title=f"{preset}: found against the truth")
    for row in rows:
        table.add_row(*row)
    show(table)
