"""`validate`: test the method on languages whose truth is known.

Trains networks on a synthetic language, analyzes each like any network, and scores `strength` and `norm` of every word
against the truth.

Writes DIR/corpus, DIR/ARCH-SEED (run folders) and DIR/validation.json. A command that was killed continues where it
stopped: finished networks are used again.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rnnlens.common.allowed import shown
from rnnlens.common.errors import RnnlensError
from rnnlens.common.files import write_json
from rnnlens.common.ranges import check_options, in_range
from rnnlens.common.replacing import check_json, check_place
from rnnlens.common.terminal import say
from rnnlens.context.finding import find_modifiers
from rnnlens.context.modifiers import Modifiers
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.language import Language, preset
from rnnlens.corpora.synthetic import prepared_synthetic
from rnnlens.corpora.truth import Truth
from rnnlens.experiments.measuring import locate_run, measure_causes
from rnnlens.experiments.recipe import Settings
from rnnlens.experiments.scoring import score_modifiers
from rnnlens.experiments.subjects import Subject, train_subject
from rnnlens.experiments.workers import run_jobs
from rnnlens.networks.devices import check_device
from rnnlens.runs import load

TOP = 10_000
Report = Callable[[str], None]


@in_range("validate")
def validate(
    language: Language | str,
    out: Path | str,
    settings: Settings | None = None,
    *,
    seeds: int = 5,
    language_seed: int = 0,
    jobs: int = 1,
    device: str | None = None,
    report: Report = lambda note: None,
    name: str | None = None,
) -> dict[str, Any]:
    """Train, analyze and score networks; returns the content of validation.json."""
    check_device(device)
    settings, out, began = Settings() if settings is None else settings, Path(out), time.monotonic()
    if not isinstance(settings, Settings):
        raise RnnlensError(f"settings is {shown(settings)}: expected rnnlens.experiments.recipe.Settings(…)")
    check_options("validate", hidden=settings.hidden)
    check_place(out, folder=True)
    check_json(out / "validation.json", "preset", "a result of `rnnlens validate`")
    name = name or (language if isinstance(language, str) else "own")
    language = preset(language) if isinstance(language, str) else language
    if not language.test:
        raise RnnlensError(
            "the language has no test documents, on which networks are scored: expected test to be above 0"
        )
    corpus, truth = prepared_synthetic(language, language_seed, out / "corpus")
    oracles = {"reader": truth.reader, "plain": plain_accuracy(corpus, truth)}
    report(
        f"{corpus!r}: {len(truth.modifiers)} modifiers; an oracle that knows every word is right in "
        f"{100 * oracles['reader']:.1f} %, one that ignores modifiers in {100 * oracles['plain']:.1f} %"
    )
    subjects = [Subject(settings, seed, out) for seed in range(seeds)]
    for subject, seconds in run_jobs(train_subject, subjects, jobs if jobs > 1 else 0, (device,)):
        report(f"{subject.folder.name}: trained in {seconds:.0f} s")
    where = device or ("cuda" if torch.cuda.is_available() else None)
    opened = [locate_run(load(subject.folder), corpus, where) for subject in subjects]
    consensus = find_modifiers([one.network for one in opened], [one.line for one in opened], TOP)
    networks = []
    for seed, (one, own) in enumerate(zip(opened, consensus.members, strict=True)):
        causes = measure_causes(one.network, one.line, own, corpus, truth)
        networks.append({"seed": seed, **one.results, **score_modifiers(own, truth), "causes": causes})
    results: dict[str, Any] = {
        "preset": name,
        "language": dataclasses.asdict(language),
        "language_seed": language_seed,
        "network": {key: value for key, value in vars(settings).items() if key != "config"},
        "config": dataclasses.asdict(settings.config),
        "seeds": seeds,
        "training_words": int(corpus.train.offsets[-1]),
        "truth": {"bayes": truth.bayes, **oracles},
        "networks": networks,
        "consensus": score_modifiers(consensus, truth) if seeds > 1 else None,
        "modifiers": modifier_rows(consensus, truth),
    }
    results = {**_finite(results), "seconds": round(time.monotonic() - began, 1)}
    write_json(out / "validation.json", results)
    report(f"{time.monotonic() - began:.0f} s in total; {out / 'validation.json'}")
    return results


def plain_accuracy(corpus: Corpus, truth: Truth) -> float:
    """The accuracy on the test documents of an oracle that knows every valence but ignores modifiers."""
    assert corpus.test is not None
    return float(((truth.sums["test"].plain > 0) == corpus.test.labels).mean())


def modifier_rows(modifiers: Modifiers, truth: Truth) -> list[dict[str, Any]]:
    """Each true modifier with its true and its measured values."""
    ids = modifiers.ids.tolist()
    columns = modifiers.columns()
    return [
        {
            "word": modifiers.words[i],
            "true_kind": truth.kinds[ids[i]],
            "true_strength": float(truth.share[ids[i]]),
            "true_tau": float(truth.tau[ids[i]]),
            **{name: columns[name][i] for name in ("count", "kind", "strength", "error", "norm", "tau")},
        }
        for i in np.flatnonzero(np.isin(ids, truth.modifiers)).tolist()
    ]


def _finite(content: Any) -> Any:
    """Plain data: numbers with four digits, and None where a number is not finite."""
    if isinstance(content, float):
        return float(f"{content:.4g}") if math.isfinite(content) else None
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    return [_finite(value) for value in content] if isinstance(content, list | tuple) else content


def _removal(one: dict[str, Any]) -> dict[str, Any]:
    return one["causes"]["removed"].get("3", {})


MEASURES: dict[str, Callable[[dict[str, Any]], float | None]] = {
    "average precision of the strength": lambda one: one["average_precision"]["strength"]["value"],
    "average precision of the norm": lambda one: one["average_precision"]["norm"]["value"],
    "average precision of the list": lambda one: one["average_precision"]["order"]["value"],
    "strength: correlation with the truth": lambda one: one["strength"]["r"],
    "strength: slope on the truth": lambda one: one["strength"]["slope"],
    "modifiers that are called their kind": lambda one: one["kinds"]["right"],
    "words called modifiers that are": lambda one: one["kinds"]["precision"],
    "τ within 30 % of the truth": lambda one: one["tau"]["within"],
    "truth within ± 2 errors, modifiers": lambda one: one["coverage"]["modifiers"],
    "truth within ± 2 errors, other words": lambda one: one["coverage"]["other_words"],
    "another seed within ± 2 errors": lambda one: one["coverage"]["seeds"],
    "modification read (1: in full)": lambda one: one["causes"]["before"]["modification"],
    "… without the subspace, rank 3": lambda one: _removal(one).get("modification"),
    "valence kept without it": lambda one: _removal(one).get("valence_kept"),
}
OF_NETWORKS = tuple(MEASURES)[-3:]  # a consensus has no state from which a subspace could be removed


def summary(results: dict[str, Any]) -> list[list[str]]:
    """A table: a row for each measure, with the networks' mean and range, and the consensus."""

    def number(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    rows = []
    for name, pick in MEASURES.items():
        values = [value for value in map(pick, results["networks"]) if value is not None]
        spread = f"{np.mean(values):.3f} ({min(values):.3f} … {max(values):.3f})" if values else "–"
        consensus = results["consensus"] if name not in OF_NETWORKS else None
        rows.append([name, spread, number(pick(consensus) if consensus else None)])
    return rows


def validate_command(
    name: str,
    out: Path,
    settings: Settings,
    seeds: int,
    language_seed: int,
    documents: int | None,
    jobs: int,
    device: str | None,
) -> list[list[str]]:
    """What `rnnlens validate` does; returns the table."""
    check_options("validate", documents=documents)
    language = preset(name)
    results = validate(
        name if documents is None else dataclasses.replace(language, train=documents),
        out,
        settings,
        seeds=seeds,
        language_seed=language_seed,
        jobs=jobs,
        device=device,
        report=lambda note: say(note, flush=True),
    )
    return summary(results)
