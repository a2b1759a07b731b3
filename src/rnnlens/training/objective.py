"""The network and its loss as one module, for accelerate to wrap."""

from __future__ import annotations

from torch import Tensor, nn

from rnnlens.networks import AnyNetwork
from rnnlens.training.evaluation import losses, read_out


class Objective(nn.Module):
    """Network and loss as one module, which accelerate wraps as a whole when several processes train."""

    def __init__(self, network: AnyNetwork):
        super().__init__()
        self.network = network

    def forward(
        self, ids: Tensor, lengths: Tensor, labels: Tensor, mask: Tensor | None, weights: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Sums over the reviews of a batch: the loss, weighted by `weights` (B,) if given, and the number correct.
        mask: from `drop`; embedded words are multiplied by it."""
        e = self.network.embed(ids, mask)
        loss, correct = losses(read_out(self.network, e, lengths, per_word=labels.ndim == 2).float(), labels)
        if weights is not None:
            loss = loss * weights
        return loss.sum(), correct.sum()
