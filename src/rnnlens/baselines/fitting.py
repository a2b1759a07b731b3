"""How baselines are trained and read in batches, on a CPU or a GPU: the words of all documents lie on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.baselines.convolution import Convolution
from rnnlens.corpora.splits import Split
from rnnlens.corpora.vocab import PAD
from rnnlens.runs.config import TrainConfig
from rnnlens.training.batches import epoch_batches, token_batches


@dataclass(frozen=True)
class Documents:
    """A split on a device: all ids end to end (and as many more as the longest document has), and where the kept (last)
    words of each document are. `longest` is on the host, so that a batch's width is known without waiting."""

    ids: Tensor
    starts: Tensor
    lengths: Tensor
    labels: Tensor
    longest: np.ndarray

    @classmethod
    def of(cls, split: Split, device: torch.device | str, max_words: int | None) -> Documents:
        lengths = split.lengths if max_words is None else np.minimum(split.lengths, max_words)
        ids = np.zeros(len(split.ids) + max(1, int(lengths.max(initial=0))), dtype=np.int32)
        ids[: len(split.ids)] = split.ids
        starts, labels = np.asarray(split.offsets[1:]) - lengths, np.asarray(split.labels).astype(np.float32)
        on_device = [torch.from_numpy(array).to(device) for array in (ids, starts, lengths, labels)]
        return cls(on_device[0], on_device[1], on_device[2], on_device[3], lengths)

    def batches(self, batches: list[np.ndarray]) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Rows, ids (B, T) and lengths (B,) of each batch; what stands behind a length is of no meaning. Only the order
        of documents crosses to the device."""
        order = torch.from_numpy(np.concatenate(batches)).to(self.ids.device)
        for rows, batch in zip(order.split([len(batch) for batch in batches]), batches, strict=True):
            t = torch.arange(max(1, int(self.longest[batch].max())), device=rows.device)
            yield rows, self.ids[self.starts[rows].unsqueeze(1) + t], self.lengths[rows]


def train_model(
    model: Convolution,
    split: Split,
    how: TrainConfig,
    l2: float,
    penalty: Callable[[], Tensor] | None = None,
    class_weights: np.ndarray | None = None,
    l1: float = 0.0,
) -> None:
    """Adam on the cross-entropy (of classes that weigh so much), an L2 term on the words' weights, and what
    `penalty` adds, in place. Each step also takes `l1` times the learning rate from every word's weight, down to zero:
    words stay that push one way more often than not, be they frequent or rare."""
    device = model.bias.device
    documents = Documents.of(split, device, how.max_words)
    words = [value for name, value in model.named_parameters() if name.startswith("beta")]
    others = [value for name, value in model.named_parameters() if not name.startswith("beta")]
    # Adam's own penalty adds weight_decay · w to the gradient: that of l2 · w² is twice l2.
    groups: list[dict[str, Any]] = [
        {"params": words, "weight_decay": 2 * l2},
        {"params": others},
    ]
    optimizer = torch.optim.Adam(groups, betas=(how.momentum, how.second_momentum), fused=True)
    generator = torch.Generator(device).manual_seed(how.seed)
    weights = None if class_weights is None else torch.as_tensor(class_weights, dtype=torch.float32, device=device)
    step, total = 0, how.epochs * -(-len(split) // how.batch)
    for epoch in range(how.epochs):
        for rows, ids, lengths in documents.batches(epoch_batches(documents.longest, how.batch, how.seed, epoch)):
            if how.word_dropout:
                dropped = torch.rand(ids.shape, generator=generator, device=device) < how.word_dropout
                ids = ids.masked_fill(dropped, PAD)
            labels = documents.labels[rows]
            weighed = None if weights is None else weights[labels.long()]
            loss = F.binary_cross_entropy_with_logits(model(ids, lengths), labels, weighed)
            if penalty is not None:
                loss = loss + penalty()
            for group in optimizer.param_groups:
                group["lr"] = how.rate(step, total)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if l1:
                for weight in words:
                    weight.data = F.softshrink(weight.data, l1 * how.rate(step, total))
            step += 1


@torch.no_grad()
def read_logits(model: Convolution, split: Split, max_words: int | None, most: int = 256) -> np.ndarray:
    """The logit of every document, (n,), at most so many at a time."""
    documents = Documents.of(split, model.bias.device, max_words)
    found = torch.zeros(len(split), device=model.bias.device)
    if len(split):
        # On a CPU what fits its cache, on a GPU few batches.
        tables, tokens = model.tables(), 2**18 if found.is_cuda else 2**14
        for rows, ids, lengths in documents.batches(token_batches(documents.longest, tokens, most)):
            found[rows] = model(ids, lengths, tables)
    return found.cpu().numpy()
