"""`validate`: the method against languages whose truth is known.

Trains networks on a synthetic language, takes each apart as any network, and scores what was found against the truth,
together with scores that data alone give and with a `ModifierConvolution` that learns its modifiers.

DIR/corpus, DIR/ARCH-SEED (run folders), DIR/convolution, DIR/data.safetensors, DIR/validation.json. A killed command
goes on where it stopped; what is finished is used again.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rnnlens.artifacts import read_tensors, write_json, write_tensors
from rnnlens.baselines import ModifierConvolution
from rnnlens.baselines.estimators import SAVED
from rnnlens.context.documents import SEEN, Borne, sparse_valences
from rnnlens.context.modifiers import kind_of
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.synthetic import PRESETS, Language, preset
from rnnlens.corpora.truth import Truth
from rnnlens.errors import RnnlensError, exit_code_of, quoted
from rnnlens.experiments.against_truth import scored
from rnnlens.experiments.ceiling import REACH, known_valences, two_regressions
from rnnlens.experiments.data_scores import data_scores
from rnnlens.experiments.recipe import Settings, recipe
from rnnlens.experiments.scoring import score_words
from rnnlens.experiments.subjects import TOP, Subject, measure_subject, prepare, train_and_measure
from rnnlens.experiments.workers import run_jobs
from rnnlens.provenance import KEY, check_named, names_in
from rnnlens.ranges import check_options
from rnnlens.replacing import check_folder, check_json
from rnnlens.terminal import say
from rnnlens.training.__main__ import config_flags
from rnnlens.training.command import given_fields

Told = Callable[[str], None]


def validate(
    language: Language | str,
    out: Path | str,
    settings: Settings | None = None,
    *,
    seeds: int = 5,
    language_seed: int = 0,
    convolution: bool = True,
    jobs: int = 1,
    device: str | None = None,
    told: Told = lambda note: None,
    name: str | None = None,
) -> dict[str, Any]:
    """Train, take apart and score; returns what validation.json gets."""
    check_options("validate", seeds=seeds, language_seed=language_seed, jobs=jobs)
    settings, out, began = settings or Settings(), Path(out), time.monotonic()
    check_json(out / "validation.json", "preset", "a result of `rnnlens validate`")
    name = name or (language if isinstance(language, str) else "own")
    language = preset(language) if isinstance(language, str) else language
    corpus, truth, _ = prepare(language, language_seed, out)
    told(f"{corpus!r}: {len(truth.modifiers)} modifiers; who knows the sums is right in {100 * truth.bayes:.1f} %, "
         f"who knows the words' truth in {100 * truth.reader:.1f} %")  # fmt: skip
    subjects = [Subject(language, language_seed, settings, seed, out) for seed in range(seeds)]
    for subject, seconds in run_jobs(train_and_measure, subjects, jobs if jobs > 1 else 0, (device,)):
        told(f"{subject.folder.name}: trained in {seconds[0]:.0f} s, measured in {seconds[1]:.0f} s")
    measured = [_measured(subject) for subject in subjects]
    ids, valences = measured[0]["ids"], _valences(corpus, out)
    data, alone = _data(corpus, out, ids), two_regressions(corpus, ids, valences)
    found: dict[str, Any] = {
        "preset": name, "language": dataclasses.asdict(language), "language_seed": language_seed,
        "network": {key: value for key, value in vars(settings).items() if key != "config"},
        "config": dataclasses.asdict(settings.config), "seeds": seeds,
        "truth": {"bayes": truth.bayes, "reader": truth.reader, "plain": _plain_accuracy(corpus, truth)},
        "networks": [
            {**scored(corpus, truth, [one], data, valences, alone.score), **one["results"]} for one in measured
        ],
    }  # fmt: skip
    if seeds > 1:
        found["consensus"] = scored(corpus, truth, measured, data, valences, alone.score)
    found["ceiling"] = _regressed(corpus, truth, ids, known_valences(corpus, truth, ids))
    found["regressions"] = _regressed(corpus, truth, ids, alone.strength, alone)
    if convolution:
        found["convolution"] = _convolution(corpus, truth, out, device, told)
    found["seconds"] = time.monotonic() - began
    write_json(out / "validation.json", _finite(found))
    told(f"{time.monotonic() - began:.0f} s in all; {out / 'validation.json'}")
    return found


def _measured(subject: Subject) -> dict[str, Any]:
    """What was measured of one network."""
    arrays, results = measure_subject(subject)
    results = {
        "seed": subject.seed, "accuracy": results["accuracy"], "warnings": results["warnings"],
        "line": results["line_attractor"], "blank_input": results["blank_input"], **results["validation"],
    }  # fmt: skip
    return {**arrays, "results": results}


def _regressed(
    corpus: Corpus, truth: Truth, ids: np.ndarray, share: np.ndarray, borne: Borne | None = None
) -> dict[str, Any]:
    """Strengths (M,) that documents tell who knows the form of the language, against the truth; reaches, if given."""
    kind = [kind_of(s, s, -s) for s in share.tolist()]
    counts, tau = np.asarray(corpus.vocab.counts)[ids], np.full(len(ids), np.nan)
    if borne is not None:
        positive = np.isin(ids, truth.modifiers)
        tau[positive] = borne.reaches(ids[positive], np.full(int(positive.sum()), REACH))
    found = score_words(truth, ids, counts, _strengths(share, counts), share, kind, tau)
    return found if borne is not None else {key: value for key, value in found.items() if key != "reach"}


def convolution_of(corpus: Corpus, out: Path, device: str | None) -> ModifierConvolution:
    """A bag of words that learns which of its words modify others, or the one that was fitted before."""
    folder = out / "convolution"
    if (folder / "baseline.json").exists():
        found = ModifierConvolution.load(folder)
        if found.vocab_ != corpus.vocab or not np.array_equal(
            np.asarray(found.vocab_.counts), np.asarray(corpus.vocab.counts)
        ):
            raise RnnlensError(
                f"{quoted(str(folder))} holds a model of another corpus: move it away to fit the model again"
            )
        return found
    check_folder(folder, SAVED)
    many = min(TOP, len(corpus.vocab))
    where = device or ("cuda" if torch.cuda.is_available() else None)
    model = ModifierConvolution("learn", candidates=many, edges=True, epochs=8, device=where).fit(corpus)
    model.save(folder)
    return model


def _convolution(corpus: Corpus, truth: Truth, out: Path, device: str | None, told: Told) -> dict[str, Any]:
    """That bag of words against the truth."""
    began, model = time.monotonic(), convolution_of(corpus, out, device)
    ids = np.array(model.model_.shape.modifiers)
    tau = model.model_.log_tau.exp().numpy()
    share = model.model_.alpha[:, 0].numpy() * np.exp(-1 / tau)
    assert corpus.vocab.counts is not None and corpus.test is not None
    kind = [kind_of(s, s, -s) for s in share.tolist()]
    counts = corpus.vocab.counts[ids]
    found = score_words(truth, ids, counts, _strengths(share, counts), share, kind, 1 + tau)
    accuracy = float((model.predict(corpus.test) == corpus.test.labels).mean())
    told(f"convolution: test {100 * accuracy:.1f} %; {time.monotonic() - began:.0f} s")
    return {**found, "accuracy": {"test": accuracy}}


def _strengths(share: np.ndarray, counts: np.ndarray) -> dict[str, np.ndarray]:
    """Strengths as rankings: as they are, and shrunk by frequency as the recommended score is."""
    return {"strength": share, "strength, shrunk": share * counts / (counts + SEEN)}


def _data(corpus: Corpus, out: Path, ids: np.ndarray) -> dict[str, np.ndarray]:
    what = "scores of words from data alone"
    return dict(sorted(_stored(out / "data.safetensors", corpus, what, lambda: data_scores(corpus, ids)).items()))


def _valences(corpus: Corpus, out: Path) -> np.ndarray:
    what = "weights of words, sparse"
    path = out / "valences.safetensors"
    return _stored(path, corpus, what, lambda: {"valence": sparse_valences(corpus)[0]})["valence"]


def _stored(
    path: Path, corpus: Corpus, what: str, compute: Callable[[], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Arrays computed from a corpus, or read from the file that holds them; a file of another corpus is refused."""
    if not path.exists():
        write_tensors(path, compute(), {"what": what, KEY: {"corpus": corpus.fingerprint}})
    arrays, about = read_tensors(path)
    advice = "move it away to compute it again"
    check_named(path, names_in(about), "corpus", path.parent / "corpus", corpus.fingerprint, advice)
    return arrays


def _plain_accuracy(corpus: Corpus, truth: Truth) -> float:
    """Of who knows every valence but no modifier."""
    assert corpus.test is not None
    return float(((truth.sums["test"].plain > 0) == corpus.test.labels).mean())


def _finite(content: Any) -> Any:
    """Plain data in which numbers that are none are None, the others of six digits."""
    if isinstance(content, float):
        return float(f"{content:.6g}") if np.isfinite(content) else None
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    return [_finite(value) for value in content] if isinstance(content, list | tuple) else content


def summary(found: dict[str, Any]) -> list[list[str]]:
    """A table: a row for each score and measure, with each network's range, and the consensus."""
    networks, consensus = found["networks"], found.get("consensus")

    def number(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"  # too few words to measure it by

    def row(name: str, pick: Callable[[dict[str, Any]], float | None], of: list[dict[str, Any]]) -> list[str]:
        values = [value for value in (pick(one) for one in of) if value is not None]
        spread = "–" if not values else f"{np.mean(values):.3f} ({min(values):.3f} … {max(values):.3f})"
        both = pick(consensus) if consensus is not None else None
        return [name, spread, number(both)]

    rows = [
        row(f"average precision: {name}", lambda one, name=name: one["scores"][name]["average_precision"], networks)  # type: ignore[misc]
        for name in networks[0]["scores"]
    ]
    for name, pick in {
        "recall at M: sure": lambda one: one["scores"]["sure"]["recall_at_m"],
        "recall at M: documents": lambda one: one["scores"]["documents"]["recall_at_m"],
        "kind, all": lambda one: one["kinds"]["accuracy"],
        "kind, frequent enough": lambda one: one["kinds"]["accuracy_learnable"],
        "strength r, all": lambda one: one["strength"]["all"]["pearson"],
        "strength r, frequent enough": lambda one: one["strength"]["learnable"]["pearson"],
        "… in documents": lambda one: one["documents"]["strength"]["learnable"]["pearson"],
        "τ within 30 %, frequent enough": lambda one: one["reach"]["reachable"]["within"],
        "… in documents, frequent enough": lambda one: one["documents"]["reach"]["reachable"]["within"],
        "edge error, beginning": lambda one: one["edges"]["beginning"]["error"],
        "edge error, ending": lambda one: one["edges"]["ending"]["error"],
    }.items():
        rows.append(row(name, pick, networks))
    for name, other in (
        ("convolution", "learns its modifiers"), ("regressions", "documents alone"), ("ceiling", "valences known"),
    ):  # fmt: skip
        if name in found:
            one = found[name]
            precision = max(score["average_precision"] for score in one["scores"].values())
            rows.append([f"{other}: average precision", f"{precision:.3f}", ""])
            for rows_of, told in (("all", "all"), ("learnable", "frequent enough")):
                rows.append([f"{other}: strength r, {told}", number(one["strength"][rows_of]["pearson"]), ""])
    return rows


def validate_command(
    name: str, out: Path, settings: Settings, seeds: int, language_seed: int, documents: int | None, convolution: bool,
    jobs: int, device: str | None,
) -> list[list[str]]:  # fmt: skip
    """What `rnnlens validate` and `python -m rnnlens.experiments.validate` both do; returns the table."""
    from rnnlens.training.loop import check_device

    check_options("validate", vars(settings), documents=documents, seeds=seeds, language_seed=language_seed, jobs=jobs)
    check_device(device)
    language = preset(name)
    found = validate(
        name if documents is None else dataclasses.replace(language, train=documents), out,
        settings, seeds=seeds, language_seed=language_seed, convolution=convolution, jobs=jobs, device=device,
        told=lambda note: say(note, flush=True),
    )  # fmt: skip
    return summary(found)


def main(arguments: list[str] | None = None) -> None:
    """`python -m rnnlens.experiments.validate`: where the command line's own parts are missing."""
    parser = argparse.ArgumentParser(prog="python -m rnnlens.experiments.validate", description=__doc__)
    parser.add_argument("--preset", default="hard", choices=list(PRESETS), help="the language")
    parser.add_argument("--arch", default="gru", choices=["gru", "lstm", "ugrnn", "vanilla"])
    parser.add_argument("--seeds", type=int, default=5, help="networks to train")
    parser.add_argument("--language-seed", type=int, default=0, help="seed of the language and its documents")
    parser.add_argument("--documents", type=int, help="training documents, if not as many as the preset has")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    parser.add_argument("--hidden", type=int, default=Settings.hidden)
    parser.add_argument("--embedding", type=int, default=Settings.embedding)
    parser.add_argument("--scale", type=float, default=Settings.scale, help="size of the untrained words")
    parser.add_argument("--memory", type=float, default=Settings.memory, help="units begin keeping up to so many words")
    parser.add_argument("--jobs", type=int, default=1, help="networks at a time")
    parser.add_argument("--no-convolution", action="store_true", help="networks only")
    parser.add_argument("--device", choices=["cpu", "cuda"])
    config_flags(parser)
    asked = parser.parse_args(arguments)

    def command() -> None:
        config = recipe(given_fields(vars(asked)))
        settings = Settings(asked.arch, asked.hidden, asked.embedding, asked.scale, asked.memory, config)
        rows = validate_command(
            asked.preset, asked.out, settings, asked.seeds, asked.language_seed, asked.documents,
            not asked.no_convolution, asked.jobs, asked.device,
        )  # fmt: skip
        for name, networks, consensus in rows:
            say(f"{name:45} {networks:28} {consensus}")

    sys.exit(exit_code_of(command))


if __name__ == "__main__":
    main()
