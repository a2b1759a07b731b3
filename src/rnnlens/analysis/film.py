"""`train(…, snapshots=N)`: small records of a network while it trains, from which the page plays a film.

The training loop calls a `Film` at N moments. While the run lasts, its records are in checkpoint/snapshots.jsonl, with
slow points as full states. At the end the slow points are drawn on one plane, that of the last snapshot, and only
their two coordinates are kept, in snapshots.jsonl.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.analysis.snapshot import Sample, measure_snapshot, short, unpacked
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import append_line, parsing, read_lines, rewrite_lines, sync
from rnnlens.common.ranges import check_options, in_range
from rnnlens.context.perturbation import Reviews
from rnnlens.context.probes import Probes
from rnnlens.corpora.protocol import CorpusLike
from rnnlens.networks import Network
from rnnlens.runs import Run
from rnnlens.runs.config import TrainConfig
from rnnlens.runs.snapshots import FILE, write_snapshots
from rnnlens.training import loop
from rnnlens.training.checkpoint import checkpoint_path

DOCUMENTS = 2_000  # that accuracy is measured on: shuffling their words costs a few points ± 0.6
READ = 10_000  # training documents that the probe words are chosen from: enough, and quick


class Film:
    """Takes `count` snapshots of a network while it trains: `train(network, corpus, watch=Film(40))`."""

    def __init__(self, count: int):
        check_options("train", snapshots=count)
        self.count = count
        self.records: list[dict[str, Any]] = []
        self.twice: Reviews | None = None

    def check(self, corpus: CorpusLike) -> None:
        """Refuse a corpus whose training cannot be filmed."""
        labels = np.asarray(corpus.train.labels)
        if labels.ndim != 1:
            raise RnnlensError(
                "this corpus has a target at every word, as the toy language has: snapshots need one label for each "
                "review; leave snapshots out"
            )
        if classes := getattr(corpus, "classes", ()):
            raise RnnlensError(f"the corpus has {len(classes)} classes, and snapshots need two: leave snapshots out")
        if len(np.unique(labels > 0.5)) < 2:
            raise RnnlensError("all training reviews have the same label: snapshots need positive and negative ones")

    def begin(self, corpus: CorpusLike, config: TrainConfig, out: Path, mark: str, steps: list[int], done: int) -> None:
        """Choose the documents and probe words, which stay the same, and keep the records up to the checkpoint."""
        self.out, self.mark, self.seed = out, mark, config.seed
        validation = corpus.validation
        self.split = "train" if validation is None or not len(validation) else "validation"
        split = corpus.train if self.split == "train" else validation
        assert split is not None
        self.sample = Sample.of(split, DOCUMENTS, config.seed, config.max_words)
        self.probes = Probes.from_corpus(corpus, most=READ)
        with parsing(self._path, "record of a training"):
            self.records = [line for line in read_lines(self._path) if line["step"] <= done]
        seen = [line["step"] for line in self.records if line.get("run") == mark]
        lost = next((step for step in steps if step <= done and step not in seen), None)
        if lost is not None:
            raise RnnlensError(
                f"{quoted(str(self._path))} lacks this run's snapshot at step {lost}: restore it, or delete the run "
                "folder to train from the start"
            )
        rewrite_lines(self._path, self.records)

    @property
    def _path(self) -> Path:
        return checkpoint_path(self.out).with_name(FILE)

    def look(self, network: Network, step: int) -> None:
        """Measure a snapshot and store it."""
        if any(record["step"] == step for record in self.records):
            return
        if self.twice is None:
            self.twice = self.sample.twice(self.seed, network.h0.device)
        record = measure_snapshot(network, self.sample, self.twice, self.probes, self.seed)
        self.records.append({"run": self.mark, "step": step, **record})
        append_line(self._path, self.records[-1])
        sync(self._path)

    def end(self, weights: str) -> None:
        """Write snapshots.jsonl."""
        positive = float((self.sample.labels > 0.5).mean())
        about = {
            "provenance": {"run": self.mark, "weights": weights},
            "documents": {"split": self.split, "n": len(self.sample), "positive": positive},
            "probes": self.probes.to_dict(),
        }
        with parsing(self._path, "record of a training"):
            reduced = developed(self.records)
        write_snapshots(self.out / FILE, about, reduced)

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)


def developed(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records with slow points on one plane, and with subspaces compared to the last one, in place of full states."""
    clouds = [unpacked(record["points"]["states"]) if record["points"] else None for record in records]
    known = [cloud for cloud in clouds if cloud is not None and len(cloud)]
    last = next((cloud for cloud in reversed(known)), None)
    spaces = [unpacked(record["subspace"]["components"]) if record["subspace"] else None for record in records]
    final = next((space for space in reversed(spaces) if space is not None), None)
    plane = None if last is None else _plane(last, records)
    lines = []
    for record, cloud, space in zip(records, clouds, spaces, strict=True):
        line = {name: value for name, value in record.items() if name != "run"}
        if cloud is not None and plane is not None:
            centre, axes = plane
            at = (cloud - centre) @ axes.T
            spread = float(((cloud - cloud.mean(0)) ** 2).sum()) if len(cloud) else 0.0
            inside = float(((at - at.mean(0)) ** 2).sum()) / spread if spread else None
            points = {name: value for name, value in record["points"].items() if name != "states"}
            shown = {"x": _numbers(at[:, 0]), "y": _numbers(at[:, 1])}
            line["points"] = {**points, **shown, "share": None if inside is None else short(inside)}
        if space is not None and final is not None:
            kept = {name: value for name, value in record["subspace"].items() if name != "components"}
            line["subspace"] = {**kept, "overlap": short(float(((space @ final.T) ** 2).sum()) / len(final))}
        lines.append(line)
    return lines


def _plane(points: np.ndarray, records: Sequence[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Center (N,) and the two principal axes (2, N) of points (K, N) that are in the order of their logits. The first
    axis points towards larger logits; the second towards its largest component."""
    centre = points.mean(0)
    _, _, axes = np.linalg.svd(points - centre, full_matrices=False)
    axes = np.vstack([axes[:2], np.zeros((max(0, 2 - len(axes)), points.shape[1]))])
    along = (points - centre) @ axes[0]
    towards = float((along * np.linspace(-1, 1, len(along))).sum())
    largest = axes[1][np.abs(axes[1]).argmax()]
    return centre, axes * np.where(np.array([towards, largest]) < 0, -1.0, 1.0)[:, None]


def _numbers(values: np.ndarray) -> list[float]:
    return [short(value, 4) for value in values]


@in_range("train_network")
def train(
    network: Network,
    corpus: CorpusLike,
    config: TrainConfig | None = None,
    out: Path | str = "run",
    *,
    snapshots: int | None = None,
    resume: bool = False,
    device: str | None = None,
    test: bool = False,
    threads: int | None = None,
    progress: bool = True,
    start: Run | None = None,
) -> Run:
    """Train a network in place on a corpus and write its run folder.

    The network that you pass is trained itself: afterwards it has the weights of the run, is in evaluation mode, and is
    on its original device. To keep an untrained copy, pass `copy.deepcopy(network)`. The returned run has its own
    network with the same weights, read back from the folder.

    The loss is the cross-entropy of the final logit, or of those of C classes, for labels (n,), and the squared error
    for targets at every word (n, T), as in the toy language. With `resume`, an interrupted run continues from its last
    checkpoint, and a finished run is only opened. With `test`, the finished network is evaluated, once, on the test
    split.
    snapshots: the number of small records to keep along the training, from before the first step to the last, more of
    them at the beginning; `run.snapshots` reads them, and the page plays them. They do not change the training.
    start: the run whose network was extended by new words (`rnnlens.extend`) to make this one; run.json names it.
    """
    options: dict[str, Any] = {"resume": resume, "device": device, "test": test, "threads": threads}
    watch = None if snapshots is None else Film(snapshots)
    return loop.train(network, corpus, config, out, **options, progress=progress, start=start, watch=watch)
