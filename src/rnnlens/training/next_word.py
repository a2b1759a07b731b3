"""Next words as a second task: from the network's output at a place, a head foretells the word that follows.

A label says little about single words; the next word rewards knowing what each of them is for. The head is thrown away
after training.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError
from rnnlens.corpora.protocol import CorpusLike
from rnnlens.corpora.vocab import PAD
from rnnlens.networks import AnyNetwork, BothWays
from rnnlens.runs.config import TrainConfig

WIDTH = 128  # units between the network's output and the words
RATE = 0.002  # learning rate of the head


class NextWord(nn.Module):
    """Outputs of a network → logits of the word that follows: V tanh(U o + c) + d."""

    def __init__(self, outputs: int, words: int, seed: int):
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # the network's random numbers stay as they are
            torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed a GPU's too
            self.hidden, self.words = nn.Linear(outputs, WIDTH), nn.Linear(WIDTH, words)

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The sum of the cross-entropies of target words (P,) after outputs (P, n); 0 for blank targets."""
        logits = self.words(torch.tanh(self.hidden(outputs)))
        return F.cross_entropy(logits.float(), targets, ignore_index=PAD, reduction="sum")


def make_head(network: AnyNetwork, corpus: CorpusLike, config: TrainConfig) -> NextWord | None:
    """The head of a training; None without next words."""
    if not config.next_word:
        return None
    if np.ndim(corpus.train.labels) != 1:
        raise RnnlensError(
            f"next_word is {config.next_word:g}, and the words of this corpus are drawn at random, with a target at "
            "each: leave next_word out"
        )
    if isinstance(network, BothWays) or network.E is None:
        raise RnnlensError(
            f"next_word is {config.next_word:g}, and a network that reads both ways has read the next word already: "
            "leave next_word out, or train one that reads one way"
        )
    outputs = network.readout_w.shape[-1]
    return NextWord(outputs, len(network.E), config.seed)


def make_head_optimiser(head: NextWord) -> torch.optim.Optimizer:
    return torch.optim.Adam(head.parameters(), lr=RATE, fused=True)


def draw_places(lengths: Tensor, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """`count` random places (row, t) of a batch of texts of these lengths (B,), each followed by a word of its text;
    row −1 if no text has two words."""
    before = (lengths - 1).clamp(min=0)  # places of each row with a word after them
    ends = before.cumsum(0)
    at = (torch.rand(count, generator=generator, device=lengths.device, dtype=torch.float64) * ends[-1]).long()
    row = torch.searchsorted(ends, at, right=True).clamp(max=len(lengths) - 1)
    t = at - (ends - before)[row]
    return torch.where(ends[-1] > 0, row, -1), t


def next_words(words: Tensor, width: int, row: Tensor, t: Tensor, share: slice) -> tuple[Tensor, Tensor]:
    """For places (row, t) of a whole batch, of which this process has the rows `share`, `words` (B, T): where they are
    among the words of its rows, of `width` each, and the words that follow; blank for places of other processes."""
    step = share.step or 1
    here = (row >= 0) & (row % step == (share.start or 0)) & (share.stop is None)
    row, t = torch.where(here, row // step, 0), torch.where(here, t, 0)
    return row * width + t, torch.where(here, words[row, (t + 1).clamp(max=words.shape[1] - 1)], PAD)
