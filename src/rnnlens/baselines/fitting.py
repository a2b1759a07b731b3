"""Training and prediction of baselines in batches; the words of all documents are on the device, a CPU or a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.baselines.convolution import Convolution
from rnnlens.corpora.batches import token_batches
from rnnlens.corpora.splits import Split
from rnnlens.corpora.vocab import PAD
from rnnlens.runs.config import TrainConfig
from rnnlens.training.batches import epoch_batches


@dataclass(frozen=True)
class Documents:
    """A split on a device: the ids of all documents, end to end, padded by the length of the longest document; and the
    start and length of the last `max_words` words of each. `host_lengths` are the lengths in the host's memory, so that
    the width of a batch is known without waiting for the device."""

    ids: Tensor
    starts: Tensor
    lengths: Tensor
    labels: Tensor
    host_lengths: np.ndarray

    @classmethod
    def of(cls, split: Split, device: torch.device | str, max_words: int | None) -> Documents:
        lengths = split.lengths if max_words is None else np.minimum(split.lengths, max_words)
        ids = np.zeros(len(split.ids) + max(1, int(lengths.max(initial=0))), dtype=np.int32)
        ids[: len(split.ids)] = split.ids
        starts, labels = np.asarray(split.offsets[1:]) - lengths, np.asarray(split.labels).astype(np.float32)
        on_device = [torch.from_numpy(array).to(device) for array in (ids, starts, lengths, labels)]
        return cls(on_device[0], on_device[1], on_device[2], on_device[3], lengths)

    def batches(self, batches: list[np.ndarray]) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Rows, ids (B, T) and lengths (B,) of each batch; ids beyond a length are arbitrary. Only the order of
        documents is copied to the device."""
        order = torch.from_numpy(np.concatenate(batches)).to(self.ids.device)
        for rows, batch in zip(order.split([len(batch) for batch in batches]), batches, strict=True):
            t = torch.arange(max(1, int(self.host_lengths[batch].max())), device=rows.device)
            yield rows, self.ids[self.starts[rows].unsqueeze(1) + t], self.lengths[rows]


def train_model(
    model: Convolution,
    split: Split,
    config: TrainConfig,
    l2: float,
    penalty: Callable[[], Tensor] | None = None,
    class_weights: np.ndarray | None = None,
    l1: float = 0.0,
) -> None:
    """Minimize with Adam, in place, the cross-entropy (weighted by class), an L2 term on the words' weights and
    `penalty`. Each step also shrinks every word's weight towards zero by `l1` times the learning rate, which keeps the
    words, be they frequent or rare, whose gradients mostly have one sign."""
    device = model.bias.device
    documents = Documents.of(split, device, config.max_words)
    words = [value for name, value in model.named_parameters() if name.startswith("beta")]
    others = [value for name, value in model.named_parameters() if not name.startswith("beta")]
    # Adam's weight_decay adds weight_decay · w to the gradient; the gradient of l2 · w² is 2 · l2 · w.
    groups: list[dict[str, Any]] = [
        {"params": words, "weight_decay": 2 * l2},
        {"params": others},
    ]
    optimizer = torch.optim.Adam(groups, betas=config.betas, fused=True)
    generator = torch.Generator(device).manual_seed(config.seed)
    weights = None if class_weights is None else torch.as_tensor(class_weights, dtype=torch.float32, device=device)
    step, total = 0, config.epochs * -(-len(split) // config.batch)
    for epoch in range(config.epochs):
        batches = epoch_batches(documents.host_lengths, config.batch, config.seed, epoch)
        for rows, ids, lengths in documents.batches(batches):
            if config.word_dropout:
                dropped = torch.rand(ids.shape, generator=generator, device=device) < config.word_dropout
                ids = ids.masked_fill(dropped, PAD)
            labels = documents.labels[rows]
            document_weights = None if weights is None else weights[labels.long()]
            loss = F.binary_cross_entropy_with_logits(model(ids, lengths), labels, document_weights)
            if penalty is not None:
                loss = loss + penalty()
            for group in optimizer.param_groups:
                group["lr"] = config.rate(step, total)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if l1:
                for weight in words:
                    least = min(l1 * config.rate(step, total), torch.finfo(weight.dtype).max)
                    weight.data = F.softshrink(weight.data, least)
            step += 1


@torch.no_grad()
def read_logits(model: Convolution, split: Split, max_words: int | None, most: int = 256) -> np.ndarray:
    """The logit of every document, (n,), read in batches of at most `most` documents."""
    documents = Documents.of(split, model.bias.device, max_words)
    logits = torch.zeros(len(split), device=model.bias.device)
    if len(split):
        # On a CPU batches that fit its cache, on a GPU few large batches.
        tables, tokens = model.tables(), 2**18 if logits.is_cuda else 2**14
        for rows, ids, lengths in documents.batches(token_batches(documents.host_lengths, tokens, most)):
            logits[rows] = model(ids, lengths, tables)
    return logits.cpu().numpy()
