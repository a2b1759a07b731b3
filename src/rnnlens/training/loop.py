"""The training loop, from the first batch to the finished run folder.

Nothing in it draws from a hidden stream of chance: the order of reviews follows from (seed, epoch), dropped words from
(seed, step), the learning rate from the step. So a checkpoint is the weights, the optimiser's moments and a few
counters, a resumed run goes on bit for bit, and several processes that share a batch do what one would.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from rnnlens import __version__
from rnnlens.artifacts import SCHEMA, append_line, atomic_file, exclusive, read_lines, write_json
from rnnlens.errors import RnnlensError, quoted
from rnnlens.networks import Network
from rnnlens.progress import progress_bar
from rnnlens.runs import Run, load, read_about, write_vocab, write_weights
from rnnlens.training.batches import epoch_batches
from rnnlens.training.checkpoint import Counters, read_checkpoint, write_checkpoint
from rnnlens.training.config import TrainConfig
from rnnlens.training.evaluation import evaluate, losses, read_out


class Objective(nn.Module):
    """Network and loss as one module, so that several processes can wrap it as a whole."""

    def __init__(self, network: Network, class_weights: Tensor | None):
        super().__init__()
        self.network, self.class_weights = network, class_weights

    def forward(self, ids: Tensor, lengths: Tensor, labels: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Sums over the reviews of a batch: loss, number correct."""
        e = self.network.embed(ids)
        if mask is not None:
            e = e * mask
        logits = read_out(self.network, e, lengths, per_word=labels.ndim == 2).float()
        loss, correct = losses(logits, labels)
        if self.class_weights is not None:
            loss = loss * self.class_weights[labels.long()]
        return loss.sum(), correct.sum()


def train(
    network: Network,
    corpus: Any,
    config: TrainConfig | None = None,
    out: Path | str = "run",
    *,
    resume: bool = False,
    device: str | None = None,
    test: bool = False,
    progress: bool = True,
) -> Run:
    """Train a network on a corpus and write its run folder.

    Reviews with labels (n,) are learnt by cross-entropy of the final logit, targets at every word (n, T), as the toy
    language has, by squared error. With `resume`, a run that was killed continues exactly where its last checkpoint
    stands, and a finished one is only opened. With `test`, the finished network is evaluated, once, on the test split.
    """
    config, out = config or TrainConfig(), Path(out)
    accelerator = Accelerator(
        cpu=device == "cpu", mixed_precision={"fp32": "no"}.get(config.precision, config.precision)
    )
    about = {
        "schema": SCHEMA,
        "version": __version__,
        "network": network.config,
        "config": dataclasses.asdict(config),
        "corpus": {"fingerprint": corpus.fingerprint, **corpus.about},
    }
    main = accelerator.is_main_process
    if main:
        _check_writable(out, about, resume)
    with exclusive(out) if main else nullcontext(), _threads_for(network):
        return _train(network, corpus, config, out, about, resume, accelerator, test, progress and main)


def _train(
    network: Network, corpus: Any, config: TrainConfig, out: Path, about: dict[str, Any], resume: bool,
    accelerator: Accelerator, test: bool, progress: bool,
) -> Run:  # fmt: skip
    main, device = accelerator.is_main_process, accelerator.device
    accelerator.wait_for_everyone()
    if (out / "run.json").exists() and read_about(out)["status"] == "finished":
        return load(out)
    if main:
        write_vocab(out / "vocab.json", corpus.vocab)
        write_json(out / "run.json", {**about, "status": "training"})

    lengths = corpus.train.lengths
    steps = math.ceil(len(lengths) / config.batch)  # an epoch's
    total = steps * config.epochs
    network.to(device).train()
    model = accelerator.prepare_model(Objective(network, _class_weights(corpus, config, device)))
    optimiser = _optimiser(network, config)
    average = {n: p.detach().clone() for n, p in network.named_parameters()} if config.average else None
    counters, best = Counters(), None
    if resume and (out / "checkpoint" / "last.safetensors").exists():
        counters, best = read_checkpoint(out, network, optimiser, average)
    if main:
        _trim_history(out, counters.step // steps)
    sums = torch.tensor([counters.loss, counters.correct], dtype=torch.float64, device=device)
    since = time.monotonic() - counters.seconds

    with progress_bar(f"{network.arch} on {corpus.about.get('source', 'corpus')}", total, progress,
                      counters.step) as advance:  # fmt: skip
        while counters.step < total and not counters.stopped:
            epoch, first = divmod(counters.step, steps)
            for rows in epoch_batches(lengths, config.batch, config.seed, epoch)[first:]:
                rate = config.rate(counters.step, total)
                sums += _step(
                    model, network, optimiser, average, corpus, rows, rate, counters.step, config, accelerator
                )
                counters.step += 1
                if counters.step % 20 == 0 or counters.step % steps == 0:
                    seen = min(counters.step - epoch * steps, steps) * config.batch
                    loss, correct = (accelerator.reduce(sums.clone()) / seen).tolist()
                    if not math.isfinite(loss):
                        raise RnnlensError(
                            f"the loss is {loss} at step {counters.step}: try a learning_rate below "
                            f"{config.learning_rate}; the last checkpoint is intact"
                        )
                    advance(0, f"epoch {epoch + 1}/{config.epochs}  loss {loss:.4f}  accuracy {100 * correct:.1f} %")
                advance(1)
                if counters.step % steps == 0:
                    best = _end_epoch(
                        network, average, corpus, config, counters, best, sums, epoch, out, since, accelerator
                    )
                if _due(counters.step, steps, config) and main:
                    counters.loss, counters.correct = sums.tolist()
                    counters.seconds = time.monotonic() - since
                    write_checkpoint(out, counters, network, optimiser, average, best)
                if counters.stopped:
                    break

    _adopt(network, best if config.keep == "best" and best is not None else average)
    if not main:
        accelerator.wait_for_everyone()
        return load(out)
    return _finish(network, corpus, config, out, about, test, accelerator)


def _step(
    model: nn.Module, network: Network, optimiser: torch.optim.Optimizer, average: dict[str, Tensor] | None,
    corpus: Any, rows: np.ndarray, rate: float, step: int, config: TrainConfig, accelerator: Accelerator,
) -> Tensor:  # fmt: skip
    """One update; returns this process's (sum of losses, number correct)."""
    device, mine = accelerator.device, slice(accelerator.process_index, None, accelerator.num_processes)
    ids, lengths = (torch.from_numpy(part) for part in corpus.train.batch(rows, config.max_words))
    labels = torch.from_numpy(np.asarray(corpus.train.labels)[rows].astype(np.float32))
    ids, lengths, labels = (x.to(device, non_blocking=True) for x in (ids, lengths, labels))
    # Chance is drawn for the whole batch, then shared out: the same words are dropped however many processes there are.
    generator = torch.Generator(device).manual_seed(
        int(np.random.SeedSequence([config.seed, step]).generate_state(1)[0])
    )
    mask = None
    if config.word_dropout:
        dropped = torch.rand(ids.shape, generator=generator, device=device) < config.word_dropout
        ids = ids.masked_fill(dropped, -1)
    if config.embedding_dropout:
        keep = 1 - config.embedding_dropout
        mask = torch.empty(*ids.shape, network.inputs, device=device).bernoulli_(keep, generator=generator)[mine] / keep
    for group in optimiser.param_groups:
        group["lr"] = rate
    loss, correct = model(ids[mine], lengths[mine], labels[mine], mask)
    optimiser.zero_grad(set_to_none=True)
    # Gradients are averaged over processes; this scale makes that average the mean over the whole batch.
    accelerator.backward(loss * (accelerator.num_processes / len(rows)))
    if config.clip:
        accelerator.clip_grad_norm_(network.parameters(), config.clip)
    optimiser.step()
    if average is not None:
        pairs = list(network.named_parameters())
        torch._foreach_lerp_([average[n] for n, _ in pairs], [p.detach() for _, p in pairs], 1 - config.average)
    return torch.stack([loss.detach(), correct.detach()]).double()


def _end_epoch(
    network: Network, average: dict[str, Tensor] | None, corpus: Any, config: TrainConfig, counters: Counters,
    best: dict[str, Tensor] | None, sums: Tensor, epoch: int, out: Path, since: float, accelerator: Accelerator,
) -> dict[str, Tensor] | None:  # fmt: skip
    """Evaluate on the validation reviews, keep the best weights, write a line of history, decide whether to stop."""
    n = len(corpus.train)
    loss, correct = (accelerator.reduce(sums.clone()) / n).tolist()
    record = {"epoch": epoch + 1, "step": counters.step, "train_loss": loss, "train_accuracy": correct,
              "seconds": round(time.monotonic() - since, 3)}  # fmt: skip
    if corpus.validation is not None and len(corpus.validation):
        current = {name: p.detach().clone() for name, p in network.named_parameters()} if average else None
        _adopt(network, average)
        result = evaluate(network, corpus.validation, config.max_words)
        record |= {"validation_loss": result.loss, "validation_accuracy": result.accuracy}
        # Accuracy decides; where it ties (a toy network that is never wrong), the loss does.
        score = (result.accuracy, -result.loss)
        if best is None or score > counters.score:
            counters.score, counters.waited = score, 0
            best = {name: p.detach().clone() for name, p in network.named_parameters()}
        else:
            counters.waited += 1
        counters.stopped = 0 < config.patience <= counters.waited
        _adopt(network, current)
    if accelerator.is_main_process:
        append_line(out / "history.jsonl", record)
    sums.zero_()
    return best


def _finish(
    network: Network, corpus: Any, config: TrainConfig, out: Path, about: dict[str, Any], test: bool,
    accelerator: Accelerator,
) -> Run:  # fmt: skip
    network.eval()
    accuracy, loss = {}, {}
    for name in ("validation", "test"):
        split = getattr(corpus, name)
        if split is not None and len(split) and (name != "test" or test):
            result = evaluate(network, split, config.max_words)
            accuracy[name], loss[name] = result.accuracy, result.loss
    network.cpu()
    weights = write_weights(out / "weights.safetensors", network)
    write_json(out / "results.json", {
        "network": {**network.config, "words": len(corpus.vocab),
                    "parameters": sum(p.numel() for p in network.parameters())},
        "accuracy": accuracy,
        "loss": loss,
        "provenance": {"weights": weights, "corpus": corpus.fingerprint, "version": __version__},
    })  # fmt: skip
    write_json(out / "run.json", {**about, "status": "finished"})
    (out / "checkpoint" / "last.safetensors").unlink(missing_ok=True)
    accelerator.wait_for_everyone()
    return load(out)


@contextmanager
def _threads_for(network: Network) -> Iterator[None]:
    """One CPU thread for small networks: their products are too short to share, and on a busy machine two threads
    that wait for each other can take many times as long as one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if network.size <= 128 else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _check_writable(out: Path, about: dict[str, Any], resume: bool) -> None:
    """Refuse to write over another run, or to resume one with other settings; name what differs."""
    if not (out / "run.json").exists():
        return
    if not resume:
        raise RnnlensError(f"{quoted(str(out))} already holds a run: resume it with --resume, or choose another --out")
    before = read_about(out)
    for part in ("network", "config", "corpus"):
        old, new = before[part], _jsonable(about[part])
        if part == "corpus":
            old, new = {"fingerprint": old["fingerprint"]}, {"fingerprint": new["fingerprint"]}
        for key in sorted(set(old) | set(new)):
            if old.get(key) != new.get(key):
                raise RnnlensError(
                    f"cannot resume {quoted(str(out))}: its {part} {key} is {quoted(old.get(key))}, now "
                    f"{quoted(new.get(key))}; use the same settings, or choose another --out"
                )


def _jsonable(content: dict[str, Any]) -> dict[str, Any]:
    import json

    return json.loads(json.dumps(content))


def _optimiser(network: Network, config: TrainConfig) -> torch.optim.Optimizer:
    kind = torch.optim.AdamW if config.decoupled else torch.optim.Adam
    return kind(
        network.parameters(), lr=config.learning_rate, betas=(config.momentum, config.second_momentum),
        weight_decay=config.weight_decay, fused=True,
    )  # fmt: skip


def _class_weights(corpus: Any, config: TrainConfig, device: torch.device) -> Tensor | None:
    labels = np.asarray(corpus.train.labels)
    if not config.balance or labels.ndim == 2:
        return None
    counts = np.bincount(labels.astype(int), minlength=2)
    return torch.tensor(len(labels) / (2 * counts), dtype=torch.float32, device=device)


def _due(step: int, steps: int, config: TrainConfig) -> bool:
    return step % (config.checkpoint_every or steps) == 0


def _adopt(network: Network, weights: dict[str, Tensor] | None) -> None:
    if weights is not None:
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                parameter.copy_(weights[name])


def _trim_history(out: Path, epochs: int) -> None:
    """Drop what a killed run wrote after its last checkpoint: those epochs are about to be trained again."""
    path = out / "history.jsonl"
    lines = read_lines(path)
    if len(lines) != epochs or (path.exists() and not path.read_text().endswith("\n")):
        import json

        with atomic_file(path) as temporary:
            temporary.write_text("".join(json.dumps(line) + "\n" for line in lines[:epochs]))
