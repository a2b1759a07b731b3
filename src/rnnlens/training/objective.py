"""The network and its loss as one module, for accelerate to wrap."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from rnnlens.networks import AnyNetwork, Network
from rnnlens.networks.long_texts import last_of
from rnnlens.training.evaluation import losses, read_out
from rnnlens.training.next_word import NextWord


class Batch(NamedTuple):
    """What a step reads: ids (B, T), lengths (B,), labels or grades (B,) (toy: targets (B, T)); a mask (B, T, D) from
    `drop`, by which embedded words are multiplied; the weight of each review (B,); and where the next word is foretold:
    places (P,), which number the words of the batch row by row, and the words that follow (P,)."""

    ids: Tensor
    lengths: Tensor
    labels: Tensor
    mask: Tensor | None = None
    weights: Tensor | None = None
    places: Tensor | None = None
    next_words: Tensor | None = None


class Objective(nn.Module):
    """Network, head and loss as one module, which accelerate wraps as a whole when several processes train."""

    def __init__(self, network: AnyNetwork, head: NextWord | None = None):
        super().__init__()
        self.network, self.head = network, head

    def forward(self, *parts: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Sums over the reviews of a batch: the loss of labels, weighted if there are weights, and the number correct;
        and the sum of the losses of next words, 0 without places."""
        batch = Batch(*parts)  # type: ignore[arg-type]
        e = self.network.embed(batch.ids, batch.mask)
        if self.head is None or batch.places is None:
            logits = read_out(self.network, e, batch.lengths, per_word=batch.labels.ndim == 2)
            following = e.new_zeros(())
        else:
            assert isinstance(self.network, Network)
            outputs, logits = outputs_and_logits(self.network, e, batch.lengths)
            following = self.head(outputs.reshape(-1, outputs.shape[-1])[batch.places], batch.next_words)
        loss, correct = losses(logits.float(), batch.labels)
        if batch.weights is not None:
            loss = loss * batch.weights
        return loss.sum(), correct.sum(), following


def outputs_and_logits(network: Network, e: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The cell's outputs (B, T, n) after each of the embedded words e (B, T, D), and the logits after the last."""
    h0 = network._initial(e, None)
    outputs = network.cell.outputs(e, h0)
    every = torch.cat([h0[:, network.cell.output].unsqueeze(1).to(outputs.dtype), outputs], 1)
    return outputs, network._read_out(last_of(every, lengths))
