"""`rnnlens reproduce`: the ten models of Table 1 on one corpus, and Fig. 10's comparison of architectures.

Settings were chosen on the validation reviews (by `sweep`, or the bundled ones). Then every model is trained on the
training and validation reviews together, once for each seed, and reads the test reviews once. Each (model, seed) has
its own folder and is reused if it exists, so that a killed reproduction continues where it stopped.

"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.analysis.table import paper_column, table_results
from rnnlens.baselines import BASELINES
from rnnlens.baselines.encoding import check_order
from rnnlens.baselines.saving import SAVED
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import fingerprint, parsing, read_json, read_tensors, write_json, write_tensors
from rnnlens.common.provenance import KEY
from rnnlens.common.ranges import in_range
from rnnlens.common.replacing import check_folder, check_json, check_place
from rnnlens.context.perturbation import Reviews, compare_logits, final_logits
from rnnlens.context.probe_reviews import PHRASES, probe_phrases
from rnnlens.corpora import load_corpus
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.splits import Split
from rnnlens.experiments.modifier_words import read_modifiers
from rnnlens.experiments.space import check_models, models_of
from rnnlens.experiments.trials import baseline, judge, network, opened
from rnnlens.experiments.workers import everywhere, ray_cluster, runner
from rnnlens.training import train
from rnnlens.training.settings import PACKAGED, read_choice

ARCHITECTURES = ("bow", "vanilla", "ugrnn", "gru", "lstm")
OUTCOME = "outcome.safetensors"


@in_range("reproduce")
def reproduce(
    corpus: str,
    out: Path | str,
    *,
    models: Sequence[str] | None = None,
    seeds: int = 3,
    settings: Path | str | None = None,
    modifiers: list[str] | None = None,
    most: int = 400,
    balance: bool | None = None,
    engine: str = "local",
    jobs: int = 1,
    device: str | None = None,
    report: Callable[[str], None] = lambda note: None,
) -> dict[str, Any]:
    """Train or reuse the models, and write `results.json`: `table`, `architectures`, `settings`.

    settings   a sweep's settings.json; by default the bundled ones
    modifiers  the modifier words; by default the `most` strongest in the consensus of networks trained here
    balance    whether to weight the classes equally, however many reviews each has; by default as in the settings
    """
    start = runner(engine, jobs, device)
    models = models_of("all") if models is None else check_models(models)
    out, corpus = Path(out).absolute(), everywhere(corpus)
    check_place(out, folder=True)
    check_json(out / "results.json", "table", "a result of `rnnlens reproduce`")
    data = load_corpus(corpus)
    data.check_two_classes("a reproduction")
    if set(models) & set(BASELINES):
        check_order(data)
    if not len(data.validation or ()) or not len(data.test or ()):
        raise RnnlensError("a reproduction needs validation and test reviews: prepare the corpus with both")

    consensus = modifiers is None and any("comw" in model for model in models)
    chosen = {
        model: _weighted(read_choice(settings or PACKAGED, model, data), model, balance)
        for model in [*models, *(["gru"] if consensus and "gru" not in models else [])]
    }
    with ray_cluster(jobs) if engine == "ray" else nullcontext():  # one connection for all jobs
        networks, bags = ([m for m in models if (m in BASELINES) == bag] for bag in (False, True))
        if consensus:
            gru = chosen["gru"]["parameters"]
            modifiers = _consensus_words(corpus, out / "modifiers", gru, seeds, most, start, jobs, device, report)
        todo = [(model, seed, chosen[model]["parameters"]) for seed in range(seeds) for model in [*networks, *bags]]
        for k, (job, outcome) in enumerate(
            start(one_model, todo, jobs, (corpus, str(out), modifiers, device)), start=1
        ):
            took = f"{100 * outcome['accuracy']:.2f} % in {outcome['seconds']:.0f} s"
            report(f"{k} of {len(todo)}: {job[0]} seed {job[1]} {took}")
    results = collect(out, data, models, seeds)
    results["chosen"] = {model: {k: v for k, v in chosen[model].items() if k != "parameters"} for model in models}
    write_json(out / "results.json", results)
    return results


def collect(out: Path | str, data: Corpus, models: Sequence[str], seeds: int) -> dict[str, Any]:
    """The results from the stored outcomes in a folder; the models are not loaded."""
    assert data.test is not None
    right, shuffled, abouts = {}, {}, {}
    labels = np.asarray(data.test.labels) > 0
    for model in models:
        outcomes = [read_tensors(folder_of(out, model, seed) / OUTCOME) for seed in range(seeds)]
        right[model] = np.stack([(tensors["logits"] > 0) == labels for tensors, _ in outcomes])
        shuffled[model] = [compare_logits(t["logits"], t["shuffled"], labels) for t, _ in outcomes]
        abouts[model] = [about for _, about in outcomes]
    return {
        "table": table_results(right, paper_column(data.about)),
        "architectures": {
            model: {
                "shuffled": [one.to_dict() for one in shuffled[model]],
                "phrases": [about["phrases"] for about in abouts[model]],
            }
            for model in ARCHITECTURES
            if model in models
        },
        "settings": {model: abouts[model][0]["settings"] for model in models},
        "provenance": {"corpus": data.fingerprint, "source": data.about.get("source"), "seeds": seeds},
    }


# --- one model --------------------------------------------------------------------------------------------------------


def folder_of(out: Path | str, model: str, seed: int) -> Path:
    return Path(out) / model / str(seed)


def one_model(
    job: tuple[str, int, dict[str, Any]], corpus: str, out: str, modifiers: list[str] | None, device: str | None
) -> dict[str, Any]:
    """Train a model on training and validation reviews and read the test reviews, or return the stored outcome."""
    import torch

    torch.set_num_threads(1)
    model, seed, settings = job
    folder = folder_of(out, model, seed)
    data = opened(corpus)
    whole = data.refit()
    assert data.test is not None
    words = modifiers if "comw" in model else None
    about = {
        "model": model,
        "seed": seed,
        "settings": settings,
        "corpus": whole.fingerprint,
        "words": fingerprint({"words": words}),
    }
    if (folder / OUTCOME).exists():
        _, stored = read_tensors(folder / OUTCOME)
        with parsing(folder / OUTCOME, "outcome of `rnnlens reproduce`"):
            for name, value in about.items():
                if stored[name] != value:
                    raise RnnlensError(
                        f"{quoted(str(folder))} holds a model with other {name}: {quoted(stored[name])}, now "
                        f"{quoted(value)}; choose another --out, or move that folder away"
                    )
        return stored
    since = time.monotonic()
    if model in BASELINES:
        check_folder(folder, SAVED)
        fitted = baseline(model, settings, seed, words, device).fit(whole)
        fitted.save(folder)
        logits = fitted.decision_function(data.test)
        disordered = fitted.decision_function(in_disorder(data.test, seed, fitted.max_words))
        read = fitted.decision_function([*PHRASES, ""])
        phrases = {phrase: float(x - read[-1]) for phrase, x in zip(PHRASES, read, strict=False)}
        size = fitted.model_.shape.parameters
    else:
        untrained, config = network(model, whole, settings, seed)
        run = train(untrained, whole, config, folder, resume=True, device=device, threads=1, progress=False)
        trained = run.network.requires_grad_(False).to(device or "cpu")
        reviews = Reviews.to_read(data.test, trained, config.max_words)
        logits, disordered = final_logits(trained, reviews), final_logits(trained, reviews, shuffle=seed)
        phrases = probe_phrases(trained)
        size = sum(p.numel() for p in trained.parameters())
    accuracy, loss = judge(logits, data.test.labels)
    about |= {
        "accuracy": accuracy,
        "loss": loss,
        "phrases": phrases,
        "parameters": size,
        "seconds": round(time.monotonic() - since, 2),
    }
    write_tensors(folder / OUTCOME, {"logits": logits, "shuffled": disordered}, about)
    return about


def in_disorder(split: Split, seed: int, max_words: int | None = None) -> Split:
    """The split with the (last `max_words`) words of each document in random order."""
    ids = np.array(split.ids)
    for row, (first, stop) in enumerate(zip(split.offsets[:-1].tolist(), split.offsets[1:].tolist(), strict=True)):
        first = first if max_words is None else max(first, stop - max_words)
        ids[first:stop] = np.random.default_rng([seed, row]).permutation(ids[first:stop])
    return Split(ids, split.offsets, split.labels)


# --- settings and modifiers -------------------------------------------------------------------------------------------


def _weighted(choice: dict[str, Any], model: str, balance: bool | None) -> dict[str, Any]:
    """The choice, with the class weights set by `balance` unless it is None."""
    if balance is None:
        return choice
    weights = {"class_weight": "balanced" if balance else None} if model in BASELINES else {"balance": balance}
    return {**choice, "parameters": {**choice["parameters"], **weights}}


def _consensus_words(
    corpus: str,
    out: Path,
    settings: dict[str, Any],
    seeds: int,
    most: int,
    start: Any,
    jobs: int,
    device: str | None,
    report: Callable[[str], None],
) -> list[str]:
    """The strongest modifiers in the consensus of GRUs trained on the training reviews only. A stored list is used if
    it was made with the same corpus, settings, seeds and number of words."""
    listed = out / "words.json"
    about = {"corpus": load_corpus(corpus).fingerprint, "settings": settings, "seeds": seeds, "most": most}
    if not listed.exists():
        todo = [(seed, settings) for seed in range(seeds)]
        for k, (_, path) in enumerate(start(analyzed, todo, jobs, (corpus, str(out), device)), start=1):
            report(f"{k} of {seeds} networks for the consensus of modifiers: {path}")
        words = read_modifiers([out / f"gru-{seed}" for seed in range(seeds)], most)
        write_json(listed, {"words": words, KEY: about})
    stored = read_json(listed)
    with parsing(listed, "list of modifiers of `rnnlens reproduce`"):
        for name, value in about.items():
            if fingerprint({name: stored[KEY][name]}) != fingerprint({name: value}):
                raise RnnlensError(
                    f"{quoted(str(listed))} was made with other {name}: {quoted(stored[KEY][name])}, now "
                    f"{quoted(value)}; choose another --out, or keep these words with --modifiers {listed}"
                )
    return read_modifiers(listed)


def analyzed(job: tuple[int, dict[str, Any]], corpus: str, out: str, device: str | None) -> str:
    """Train a GRU on the training reviews and analyze it with the validation reviews; returns its folder."""
    from rnnlens.analysis.analyze import analyze

    seed, settings = job
    data, folder = load_corpus(corpus), Path(out) / f"gru-{seed}"
    untrained, config = network("gru", data, settings, seed)
    run = train(untrained, data, config, folder, resume=True, device=device, threads=1, progress=False)
    if not run.is_analyzed():  # also if an analysis was interrupted between writing its files
        analyze(run, data, device=device, seed=seed, accuracy=False).save()
    return str(folder)
