"""Trains and measures every network that docs/validation.md tells of, on a GPU, within a time limit.

python -m studies.validation_runs OUT --seconds 450 --jobs 12 [--search 150]

With --search, so many of the seconds are spent on looking for the recipe first (studies/validation_search.py), on
another language; OUT/recipe.json then has it.

OUT/NAME are folders as `rnnlens validate --out OUT/NAME` makes them; OUT/packed-K.tar.gz carries their run folders (not
the corpora, which any machine makes again from their seeds) to where scores are computed:

python -m studies.validation_runs OUT --unpack 'FOLDER/packed-*.tar.gz'
python -m studies.validation_runs OUT --score
"""

from __future__ import annotations

import argparse
import dataclasses
import glob
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import numpy as np

from rnnlens.artifacts import read_json, read_tensors, write_json, write_tensors
from rnnlens.corpora.synthetic import Language, preset
from rnnlens.errors import RnnlensError
from rnnlens.experiments.recipe import Settings
from rnnlens.experiments.subjects import Subject, measure_subject, opened, prepare, train_subject
from rnnlens.experiments.validate import convolution_of, validate
from rnnlens.experiments.workers import run_jobs
from studies.validation_search import ranked, search, settings_of

PACKED = 15_000_000  # bytes of a file, before it is packed
SIZES = (100_000, 50_000, 12_500, 6_250)
AGAIN = (1, 2, 3, 4)  # seeds of hard languages that were scored when the method was done (3 and 4), or nearly so
CHOSEN_ON = (101, 102, 103)  # seeds of hard languages that methods are chosen on; none of them is reported as a test


@dataclasses.dataclass(frozen=True)
class Study:
    """Networks of one language, as many as `seeds`."""

    name: str
    preset: str
    language: Language
    settings: Settings
    seeds: int
    language_seed: int = 0

    def subjects(self, out: Path) -> list[Subject]:
        return [
            Subject(self.language, self.language_seed, self.settings, seed, out / self.name)
            for seed in range(self.seeds)
        ]


def studies(settings: Settings) -> list[Study]:
    """The most important first."""
    hard = preset("hard")
    slower = dataclasses.replace(
        settings.config, learning_rate=0.5 * settings.config.learning_rate
    )  # else they diverge
    other = {arch: dataclasses.replace(settings, arch=arch, config=slower) for arch in ("lstm", "ugrnn")}
    return [
        Study("hard", "hard", hard, settings, 5),
        *(
            Study(f"hard-{n}", "hard", dataclasses.replace(hard, train=n), longer(settings, 25_000 / n), 3)
            for n in SIZES
        ),
        Study("easy", "easy", preset("easy"), settings, 2),
        Study("medium", "medium", preset("medium"), settings, 2),
        Study("mixed", "mixed", preset("mixed"), settings, 2),
        *(Study(f"hard-{arch}", "hard", hard, some, 2) for arch, some in other.items()),
        *(Study(f"again-{seed}", "hard", hard, settings, 5, seed) for seed in AGAIN),
        *(Study(f"chosen-{seed}", "hard", hard, settings, 5, seed) for seed in CHOSEN_ON),
    ]  # fmt: skip


def longer(settings: Settings, fewer: float) -> Settings:
    """For so many times fewer documents, more epochs: steps change by the root of their number."""
    config = settings.config
    return dataclasses.replace(
        settings, config=dataclasses.replace(config, epochs=max(1, round(config.epochs * fewer**0.5)))
    )


@dataclasses.dataclass(frozen=True)
class Job:
    """`prepare` a language, `train` or `measure` a network of it, fit the `convolution`, or `wait` for another job."""

    what: str
    study: Study | None = None
    subject: Subject | None = None

    @property
    def size(self) -> float:
        """How much work it is, among jobs of its kind."""
        if self.study is None or self.what == "measure":
            return 1.0
        epochs = self.study.settings.config.epochs if self.what == "train" else 1
        return float(self.study.language.train * self.study.language.length * epochs)

    @property
    def key(self) -> str:
        """Its name among all jobs."""
        study, subject = self.study, self.subject
        return f"{self.what} {study.name if study else ''} {subject.seed if subject else ''}".strip()


def do(job: Job, out: Path, device: str | None) -> tuple[float, str]:
    """One job; returns its seconds, and what went wrong: others go on."""
    import torch

    torch.set_num_threads(1)
    began = time.monotonic()
    try:
        if job.subject is not None:
            (train_subject if job.what == "train" else measure_subject)(job.subject, device)
        elif job.study is None:
            time.sleep(0.5)
        elif job.what == "prepare":
            prepare(job.study.language, job.study.language_seed, out / job.study.name)
        else:
            convolution_of(opened(out / job.study.name)[0], out / job.study.name, device)
    except (RnnlensError, RuntimeError) as error:  # a network that diverges, or a GPU whose memory is full
        return time.monotonic() - began, str(error)
    return time.monotonic() - began, ""


def jobs_of(
    chosen: list[Study], out: Path, took: dict[str, tuple[float, float]], failed: set[str], ends: float, measure: bool
) -> Iterator[Job]:
    """Jobs in the order of their importance, each as soon as what it needs is in `took`, which has the seconds and the
    size of each that is done; none that would end too late, or that needs one that failed."""
    prepared = [Job("prepare", study) for study in chosen]
    trained = [Job("train", study, subject) for study in chosen for subject in study.subjects(out)]
    measured = [Job("measure", job.study, job.subject) for job in trained]
    fitted = [Job("convolution", study) for study in chosen if study.name == study.preset]
    needs = dict.fromkeys((job.key for job in prepared), "")
    needs |= {job.key: Job("prepare", job.study).key for job in [*trained, *fitted]}
    needs |= {late.key: early.key for late, early in zip(measured, trained, strict=True)}
    # The first study's networks are measured before others are trained: they are what is asked for.
    rest = [*trained, *measured, *fitted] if measure else trained
    waiting = [*prepared, *(j for j in rest if j.study is chosen[0]), *(j for j in rest if j.study is not chosen[0])]
    while waiting:
        waiting = [job for job in waiting if needs[job.key] not in failed]
        ready = next((job for job in waiting if not needs[job.key] or needs[job.key] in took), None)
        if ready is None:
            usual = [0.0]
        else:
            waiting.remove(ready)
            usual = [took[key][0] / took[key][1] * ready.size for key in took if key.startswith(ready.what)]
        if time.monotonic() + max(usual, default=0.0) < ends:
            yield ready or Job("wait")
        elif time.monotonic() > ends:
            return


def pack(chosen: list[Study], out: Path, most: int = 5) -> None:
    """Run folders of all studies as a few files of limited size, the most important first; weights of all but the first
    study in half precision."""
    left = {"states.safetensors", "analysis.safetensors", ".lock"}
    folders = [folder for study in chosen for folder in sorted((out / study.name).glob("*"))]
    paths = [folder for folder in folders if folder.is_file()]
    for folder in folders:
        if folder.is_dir() and folder.name != "corpus":
            paths += [path for path in sorted(folder.glob("*")) if path.is_file() and path.name not in left]
    for path in paths:
        if path.name == "weights.safetensors" and not path.is_relative_to(out / chosen[0].name):
            tensors, about = read_tensors(path)
            half = {name: x.astype(np.float16) if x.dtype == np.float32 else x for name, x in tensors.items()}
            write_tensors(path, half, about)
    groups: list[list[Path]] = [[]]
    size = 0
    for path in paths:
        if size + path.stat().st_size > PACKED:
            groups.append([])
            size = 0
        groups[-1].append(path)
        size += path.stat().st_size
    for k, group in enumerate(groups[:most]):
        with tarfile.open(out / f"packed-{k}.tar.gz", "w:gz", compresslevel=3) as file:
            for path in group:
                file.add(path, path.relative_to(out))
    print(f"{len(paths)} files in {min(len(groups), most)} of {len(groups)} packs", flush=True)


def score(chosen: list[Study], out: Path, device: str | None) -> None:
    """validation.json of every study, from whatever networks are there; what is missing is trained and measured."""
    for study in chosen:
        print(f"--- {study.name}", flush=True)
        validate(study.language, out / study.name, study.settings, seeds=study.seeds, device=device, name=study.preset,
                 language_seed=study.language_seed,
                 convolution=study.name == study.preset, told=print)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=450)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--search", type=float, default=0, help="seconds for looking for the recipe")
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--only", help="names of studies, the most important first, with commas between them")
    parser.add_argument("--unpack", help="packs to unpack into OUT, as a pattern")
    parser.add_argument("--score", action="store_true", help="score what was trained")
    parser.add_argument("--train-only", action="store_true", help="leave measuring to another machine")
    asked = parser.parse_args()
    began, recipe = time.monotonic(), asked.out / "recipe.json"
    if asked.search:
        made = [Job("prepare", study) for study in studies(Settings())]
        making = Thread(target=lambda: list(run_jobs(do, made, 4, (asked.out, asked.device))))
        making.start()
        best = ranked(search(asked.out, asked.search, asked.jobs, asked.device))[0]
        print(f"chosen: trial {best['trial']}", flush=True)
        making.join()
        write_json(recipe, {"trial": best["trial"], "settings": best["settings"]})
    settings = settings_of(read_json(recipe)["settings"]) if recipe.exists() else Settings()
    known = {study.name: study for study in studies(settings)}
    chosen = list(known.values()) if asked.only is None else [known[name] for name in asked.only.split(",")]
    if asked.unpack:
        for path in sorted(glob.glob(asked.unpack)):
            with tarfile.open(path) as file:
                file.extractall(asked.out, filter="data")
    elif asked.score:
        score(chosen, asked.out, asked.device)
    else:
        train_all(chosen, asked.out, asked.seconds - (time.monotonic() - began), asked.jobs, asked.device,
                  not asked.train_only)  # fmt: skip


def train_all(
    chosen: list[Study], out: Path, seconds: float, jobs: int, device: str | None, measure: bool = True
) -> None:
    began, took, failed = time.monotonic(), dict[str, tuple[float, float]](), set[str]()
    out.mkdir(parents=True, exist_ok=True)
    for job, (spent, wrong) in run_jobs(
        do, jobs_of(chosen, out, took, failed, began + seconds - 15, measure), jobs, (out, device)
    ):
        if job.study is not None:
            if wrong:
                failed.add(job.key)
            else:
                took[job.key] = spent, job.size
            print(f"{time.monotonic() - began:6.1f} s  {job.key}: {wrong or f'{spent:.1f} s'}", flush=True)
    pack(chosen, out)
    print(f"{time.monotonic() - began:.1f} s in all", flush=True)


if __name__ == "__main__":
    main()
