"""The training loop, from the first batch to the finished run folder.

All randomness is a function of the seed: (seed, epoch) gives the order of the reviews, (seed, step) the dropped words.
A checkpoint therefore needs only the weights, Adam's moments and a few counters. A resumed run ends with the same
weights, bit for bit, and several processes that share a batch compute what one process would.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from rnnlens.common.errors import Diverged, RnnlensError
from rnnlens.common.files import append_line, exclusive, read_lines, rewrite_lines, write_json
from rnnlens.common.progress import Advance, progress_bar
from rnnlens.common.provenance import KEY
from rnnlens.common.ranges import in_range
from rnnlens.common.version import __version__
from rnnlens.corpora.grades import targets_of
from rnnlens.corpora.protocol import CorpusLike
from rnnlens.corpora.vocab import PAD
from rnnlens.networks import AnyNetwork, check_words
from rnnlens.networks.cells import full_precision
from rnnlens.networks.devices import check_device, threads_for
from rnnlens.networks.finite import check_precision
from rnnlens.runs import Run, load, read_about, write_vocab, write_weights
from rnnlens.runs.config import TrainConfig
from rnnlens.training.batches import epoch_batches, to_device
from rnnlens.training.checkpoint import SUMS, Counters, Weights, checkpoint_path, read_checkpoint, write_checkpoint
from rnnlens.training.dropping import drop, insert_blanks
from rnnlens.training.evaluation import evaluate_together
from rnnlens.training.next_word import draw_places, make_head, make_head_optimiser, next_words
from rnnlens.training.objective import Batch, Objective
from rnnlens.training.optimiser import clip_gradients, make_optimiser, shrink_words
from rnnlens.training.processes import accelerator_for
from rnnlens.training.recording import Recorder, can_record, widen
from rnnlens.training.resuming import about_run, check_given, check_writable, is_finished, provenance_of
from rnnlens.training.snapshots import moments, write_snapshot
from rnnlens.training.weighting import check_labels, document_weights, sources_of

BLANKS_EVERY = 5  # steps: often enough to learn to keep a reading; the other steps see reviews without added blanks


@in_range("train_network")
def train(
    network: AnyNetwork,
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
    report: Callable[[], None] = lambda: None,
) -> Run:
    """Train a network in place on a corpus and write its run folder.

    The network that you pass is trained itself: afterwards it has the weights of the run, is in evaluation mode, and is
    on its original device. To keep an untrained copy, pass `copy.deepcopy(network)`. The returned run has its own
    network with the same weights, read back from the folder.

    The loss is the cross-entropy of the final logit, or of those of C classes, for labels (n,), and the squared error
    for targets at every word (n, T), as in the toy language. With `resume`, an interrupted run continues from its last
    checkpoint, and a finished run is only opened. With `test`, the finished network is evaluated, once, on the test
    split.
    snapshots: how many times to keep the weights, from before the first step to the last, more often at the beginning;
    `run.at(step)` opens them. They do not change the training.
    start: the run whose network was extended by new words (`rnnlens.extend`) to make this one; run.json names it.
    report: called after each epoch, when its line of history is written.
    """
    config, out = TrainConfig() if config is None else config, Path(out).absolute()
    check_device(device)
    check_given(corpus, config)
    check_words(network, corpus)
    check_precision(network.h0)
    if not len(corpus.train.ids):
        raise RnnlensError("no training review has words: expected reviews with words; prepare the corpus again")
    check_labels(network, corpus.train)
    for name in ("balance", "blanks"):
        if getattr(config, name) and np.ndim(corpus.train.labels) != 1:
            raise RnnlensError(
                f"{name} is {getattr(config, name)}, and this corpus has a target at every word: leave {name} out"
            )
    if test and (corpus.test is None or not len(corpus.test)):
        raise RnnlensError("the corpus has no test reviews: leave test (--test) out, or prepare it with a test split")
    if config.patience and (corpus.validation is None or not len(corpus.validation)):
        raise RnnlensError(
            f"patience is {config.patience}, and there are no validation reviews, on which accuracy would stop rising: "
            "leave patience (--patience) out, or keep validation reviews"
        )
    about = about_run(network, corpus, config, start, snapshots)
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise RnnlensError(
            "no weight of the network is to be trained: its parameters have requires_grad=False; call "
            "network.requires_grad_(True)"
        )
    accelerator, home = accelerator_for(config, device), network.h0.device
    main = accelerator.is_main_process
    if main:
        check_writable(out, about, resume)
    with exclusive(out) if main else nullcontext(), threads_for(network, threads):
        if main:
            check_writable(out, about, resume)  # again: the folder may have changed before this process had the lock
            finished = is_finished(out)
            if not finished:
                about[KEY] = provenance_of(out, about, network, write_vocab(out / "vocab.json", corpus.vocab))
                write_json(out / "run.json", {**about, "status": "training", "processes": accelerator.num_processes})
        if "reversed" in corpus.about:
            network.direction = "backwards"  # texts that it is given later are reversed too
        accelerator.wait_for_everyone()
        about = read_about(out)
        if about["status"] != "finished":
            trainer = Trainer(network, corpus, config, out, accelerator, resume, about[KEY]["run"], snapshots)
            trainer.report = report
            trainer.run(progress and main)
            trainer.finish(about)
            accelerator.wait_for_everyone()
        run = load(out)
        accuracy = run.accuracy  # raises an error if results.json is missing, with and without `test`
        if test and "test" not in accuracy:
            _evaluate_test(run, corpus, accelerator)
        accelerator.wait_for_everyone()
        run = load(out)
        network.eval().to(home).load_state_dict(run.network.state_dict())  # also for a run that was finished before
        return run


class Trainer:
    """A run in progress: the network, its optimizer, averaged and best weights, and counters."""

    def __init__(
        self,
        network: AnyNetwork,
        corpus: CorpusLike,
        config: TrainConfig,
        out: Path,
        accelerator: Accelerator,
        resume: bool,
        mark: str = "",
        snapshots: int | None = None,
    ):
        """mark: the fingerprint of this run, which is stored in its checkpoints and snapshots."""
        self.network, self.corpus, self.config, self.out, self.accelerator = network, corpus, config, out, accelerator
        self.mark = mark
        self.report: Callable[[], None] = lambda: None
        self.main, self.device = accelerator.is_main_process, accelerator.device
        self.generator = torch.Generator(self.device)  # of the dropped words; seeded at every step
        self.steps = math.ceil(len(corpus.train) / config.batch)  # per epoch
        self.total = min(self.steps * config.epochs, config.steps or 2**62)
        network.to(self.device).train()
        head = make_head(network, corpus, config)
        self.head = None if head is None else head.to(self.device)
        self.model = accelerator.prepare_model(Objective(network, self.head))
        self.weights, self.targets = document_weights(corpus, config), targets_of(corpus.train)
        self.optimiser, self.parameters = make_optimiser(network, config), list(network.parameters())
        # modules with their optimizers
        self.trained: list[tuple[nn.Module, torch.optim.Optimizer]] = [(network, self.optimiser)]
        if self.head is not None:
            self.trained.append((self.head, make_head_optimiser(self.head)))
        records = self.device.type == "cuda" and accelerator.num_processes == 1 and can_record(self.parameters)
        every = [parameter for module, _ in self.trained for parameter in module.parameters()]
        self.recorder = Recorder(self.gradients, every) if records else None
        self.average: Weights | None = self._weights() if config.average else None
        self.best: Weights | None = None
        self.counters = Counters()
        if resume and checkpoint_path(out).exists():
            self.counters, self.best = read_checkpoint(out, self.trained, self.average, mark)
        if self.main:
            history = out / "history.jsonl"
            done = math.ceil(self.total / self.steps) if self._finished() else self.counters.step // self.steps
            # Drop lines written after the last checkpoint: those epochs are trained again.
            rewrite_lines(history, read_lines(history)[:done])
        self.moments = moments(self.total, snapshots)
        # Sums over this epoch so far. The checkpoint's are over all processes: only one adds them.
        sums = self.counters.sums if self.main else (0.0,) * len(SUMS)
        self.sums = torch.tensor(sums, dtype=torch.float64, device=self.device)
        self.since = time.monotonic() - self.counters.seconds

    def run(self, progress: bool) -> None:
        """Train to the end, or until validation accuracy stops rising."""
        title = f"{self.network.arch} on {self.corpus.about.get('source', 'corpus')}"
        with progress_bar(title, self.total, progress, self.counters.step) as advance:
            if self.counters.step == 0:
                self.snapshot()
            while not self._finished():
                self.epoch(*divmod(self.counters.step, self.steps), advance)
            if self.counters.stopped:  # before the last of the moments
                advance(self.total - self.counters.step, f"stopped after epoch {self.counters.step // self.steps}")
                self.snapshot()
        _set_weights(self.network, self.best if self.config.keep == "best" and self.best is not None else self.average)

    def _finished(self) -> bool:
        return self.counters.step >= self.total or self.counters.stopped

    def epoch(self, epoch: int, first: int, advance: Advance) -> None:
        """Train one epoch, from its batch `first` on."""
        config, counters = self.config, self.counters
        batches = epoch_batches(self.corpus.train.lengths, config.batch, config.seed, epoch)
        for rows in batches[first : first + self.total - counters.step]:
            self.sums += self.step(rows)
            counters.step += 1
            last = counters.step % self.steps == 0 or counters.step == self.total
            due = counters.step % (config.checkpoint_every or self.steps) == 0
            kept = counters.step in self.moments
            if last or due or kept or counters.step % 20 == 0:
                now = self.progress_so_far()
                text = f"loss {now['loss']:.4f}  accuracy {100 * now['accuracy']:.1f} %"
                advance(0, f"epoch {epoch + 1}/{config.epochs}  {text}")
            advance(1)
            if last:
                self.end_epoch(epoch)
            if kept:  # before the checkpoint: a run that resumes from it has kept this moment
                self.snapshot()
            if due:
                self.checkpoint()

    def step(self, rows: np.ndarray) -> Tensor:
        """One update on the reviews `rows`; returns this process's sums, as named in SUMS."""
        config, step = self.config, self.counters.step
        batch, weight = self.batch(rows)
        sums = (self.recorder or self.gradients)(batch, weight)
        for group in self.optimiser.param_groups:
            group["lr"] = config.rate(step, self.total)
        if config.clip:
            clip_gradients([p.grad for p in self.parameters if p.grad is not None], config.clip)
        for _, optimiser in self.trained:
            optimiser.step()
        if config.sparsity and self.network.E is not None and self.network.E.requires_grad:
            shrink_words(self.network.E, config, step, self.total)
        if self.average is not None:
            # The first steps have a low decay, so that the untrained weights hardly count.
            decay = min(config.average, (1 + step) / (10 + step))
            for name, parameter in self.network.named_parameters():
                self.average[name].lerp_(parameter.detach(), 1 - decay)
        return sums if weight else torch.zeros_like(sums)

    def batch(self, rows: np.ndarray) -> tuple[Batch, float]:
        """This process's share of the reviews `rows`, as arguments of an Objective, and the weight of their loss."""
        config, accelerator, train = self.config, self.accelerator, self.corpus.train
        share = slice(accelerator.process_index, None, accelerator.num_processes)
        mine, weight = rows[share], accelerator.num_processes / len(rows)
        if not len(mine):  # fewer reviews than processes: read one with weight 0
            share, mine, weight = slice(0, 1), rows[:1], 0.0
        arrays = [*train.batch(mine, config.max_words), self.targets[mine].astype(np.float32)]
        arrays += [] if self.weights is None else [self.weights[mine]]
        ids, lengths, labels, *others = to_device(arrays, self.device)
        # Random numbers are drawn for the whole batch: the same words drop however many processes share it.
        seed = np.random.SeedSequence([config.seed, self.counters.step]).generate_state(1)[0]
        generator = self.generator.manual_seed(int(seed))
        of_all = np.minimum(train.lengths[rows], config.max_words or 2**62)  # lengths over all processes
        longest = int(of_all.max())
        if config.blanks and self.counters.step % BLANKS_EVERY == 0:
            places = torch.rand(len(rows), generator=generator, device=self.device)[share]
            ids, lengths = insert_blanks(ids, lengths, (places * (lengths + 1)).long(), config.blanks)
            longest += config.blanks
            of_all = of_all + config.blanks
        whole = len(rows), max(ids.shape[1], longest)
        words, (ids, mask) = ids, drop(ids, self.network.inputs, config, generator, whole, share)
        if self.recorder and labels.ndim == 1:
            ids, mask = widen(ids, mask)
        following: tuple[Tensor, ...] = ()
        if self.head is not None:
            of_whole = lengths if accelerator.num_processes == 1 else torch.from_numpy(of_all).to(self.device)
            rows_and_times = draw_places(of_whole, config.next_word_places, generator)
            following = next_words(words, ids.shape[1], *rows_and_times, share if weight else slice(0, 0))
        return Batch(ids, lengths, labels, mask, others[0] if others else None, *following), weight

    def gradients(self, batch: Batch, weight: float) -> Tensor:
        """The gradients of the loss times `weight`, in every parameter's `grad`; returns the sums named in SUMS.
        Gradients are averaged over processes; the weight makes that average the mean over the whole batch."""
        for _, optimiser in self.trained:
            optimiser.zero_grad(set_to_none=True)
        with full_precision(True, self.device.type == "cuda"):  # of the backward pass, too
            loss, correct, following = self.model(*batch)
            total = loss * weight
            if self.head is not None:
                share = self.accelerator.num_processes / self.config.next_word_places
                total = total + self.config.next_word * share * following
            total.backward()
        seen = torch.full_like(loss, len(batch.ids))
        counted = (batch.labels != 0.5).sum().to(loss) if batch.labels.ndim == 1 else seen
        foretold = seen * 0 if batch.next_words is None else (batch.next_words != PAD).sum().to(loss)
        return torch.stack([loss, correct, seen, counted, following, foretold]).detach().double()

    def progress_so_far(self) -> dict[str, float]:
        """Mean loss, accuracy and loss of next words of this epoch over all processes. Raises Diverged if the loss or a
        weight is not finite, before a checkpoint is written."""
        sums = dict(zip(SUMS, self.accelerator.reduce(self.sums.clone()).tolist(), strict=True))
        weights = (parameter for module, _ in self.trained for parameter in module.parameters())
        finite = math.isfinite(sums["loss"] + sums["following"]) and all(bool(torch.isfinite(p).all()) for p in weights)
        if not finite:
            raise self.diverged(sums["loss"] / sums["seen"])
        means = {"loss": sums["loss"] / sums["seen"], "accuracy": sums["correct"] / max(1.0, sums["counted"])}
        foretold = {"next_word_loss": sums["following"] / max(1.0, sums["foretold"])}
        return means if self.head is None else means | foretold

    def diverged(self, loss: float, of: str = "loss") -> Diverged:
        kept = "the last checkpoint is intact" if checkpoint_path(self.out).exists() else "there is no checkpoint"
        return Diverged(
            f"the {of} is {loss:g} or weights are not finite at step {self.counters.step}: train again in another "
            f"folder, with a learning_rate below {self.config.learning_rate:g}; {kept}"
        )

    def end_epoch(self, epoch: int) -> None:
        """Evaluate on the validation reviews, keep the best weights, write a line of history, decide about stopping."""
        counters, validation = self.counters, self.corpus.validation
        now = self.progress_so_far()
        record = {"epoch": epoch + 1, "step": counters.step, **{f"train_{name}": value for name, value in now.items()}}
        record["seconds"] = round(time.monotonic() - self.since, 3)
        if validation is not None and len(validation):
            current = self._weights() if self.average else None
            _set_weights(self.network, self.average)
            accuracy, loss, _ = evaluate_together(self.accelerator, self.network, validation, self.config.max_words)
            if not math.isfinite(loss):  # weights so large that logits overflow in reviews as long as these
                raise self.diverged(loss, "validation loss")
            record |= {"validation_loss": loss, "validation_accuracy": accuracy}
            # The loss breaks ties in accuracy, such as of toy networks that are always right.
            score = (accuracy, -loss)
            if self.best is None or score > counters.score:
                counters.score, counters.waited, self.best = score, 0, self._weights()
            else:
                counters.waited += 1
            # All processes stop together: if one stopped alone, the others would wait for it forever.
            stop = torch.tensor(float(0 < self.config.patience <= counters.waited), device=self.device)
            counters.stopped = bool(self.accelerator.reduce(stop) > 0)
            _set_weights(self.network, current)
        if self.main:
            append_line(self.out / "history.jsonl", record)
            self.report()
        self.sums.zero_()

    def checkpoint(self) -> None:
        total = self.accelerator.reduce(self.sums.clone())
        if self.main:
            counters = self.counters
            counters.sums = tuple(total.tolist())
            counters.seconds = time.monotonic() - self.since
            write_checkpoint(self.out, counters, self.trained, self.average, self.best, self.mark)

    def snapshot(self) -> None:
        if self.moments and self.main:
            write_snapshot(self.out, self.counters.step, self.network, self.average, self.mark)

    def finish(self, about: dict[str, Any]) -> None:
        """Evaluate in all processes together; then one writes the finished run and deletes its checkpoint."""
        network, validation = self.network.eval(), self.corpus.validation
        network.check_finite("the trained network")
        if network.E is not None and not bool(network.E.any()):
            name = "sparsity" if self.config.sparsity else "weight_decay"
            raise Diverged(
                "all word embeddings became zero, so the network cannot tell words apart: train again in another "
                f"folder, with a {name} below {getattr(self.config, name):g}"
            )
        accuracy: dict[str, Any] = {}
        loss = {}
        if validation is not None and len(validation):
            accuracy["validation"], loss["validation"], by_source = evaluate_together(
                self.accelerator, network, validation, self.config.max_words, sources_of(self.corpus)
            )
            accuracy |= {"validation_sources": by_source} if by_source else {}
        network.cpu()
        if not self.main:
            return
        weights = write_weights(self.out / "weights.safetensors", network)
        write_json(
            self.out / "results.json",
            {
                "network": {
                    **network.config,
                    "words": len(self.corpus.vocab),
                    "parameters": sum(p.numel() for p in network.parameters()),
                },
                "accuracy": accuracy,
                "loss": loss,
                KEY: {
                    "weights": weights,
                    "vocabulary": about[KEY]["vocabulary"],
                    "corpus": self.corpus.fingerprint,
                    "version": __version__,
                },
            },
        )
        processes = self.accelerator.num_processes
        fingerprints = {**about[KEY], "weights": weights}
        write_json(self.out / "run.json", {**about, KEY: fingerprints, "status": "finished", "processes": processes})
        checkpoint_path(self.out).unlink(missing_ok=True)

    def _weights(self) -> Weights:
        return {name: parameter.detach().clone() for name, parameter in self.network.named_parameters()}


def _evaluate_test(run: Run, corpus: CorpusLike, accelerator: Accelerator) -> None:
    assert corpus.test is not None  # checked before training
    network = run.network.to(accelerator.device)
    accuracy, loss, by_source = evaluate_together(
        accelerator, network, corpus.test, run.config.max_words, sources_of(corpus)
    )
    if accelerator.is_main_process:
        sources = {"test_sources": by_source} if by_source else {}
        run.add_results(accuracy={"test": accuracy, **sources}, loss={"test": loss})


def _set_weights(network: AnyNetwork, weights: Weights | None) -> None:
    if weights is not None:
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                parameter.copy_(weights[name])
