"""Effective attention: how much of each earlier word is still in what a layer says, exact for linear recurrences.

Once the words are known, a recurrence of today is linear in its state, h' = a∘h + b. So the state after word s is a sum
over earlier words t, each of which wrote b_t and was then multiplied by all factors a between t and s; and a layer's
output is linear in its state. For Mamba these are the weights of its "hidden attention" (Ali et al. 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.display import Shown, table_html
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import in_range
from rnnlens.corpora.pieces import PieceVocab
from rnnlens.networks import Network
from rnnlens.networks.blocks import LinearStack
from rnnlens.networks.linear_scan import linear_scan
from rnnlens.networks.residual import ResidualStack

LONGEST = 500  # words: the parts grow with their square


@dataclass(frozen=True, eq=False, repr=False)
class EffectiveAttention(Shown):
    """What each word of a text adds to the output of one layer after each word.

    words    (T,)
    layer             from 1
    parts    (T, T+1, H)  after word s (first index), what the initial state (number 0) or word t added to the output
    direct   (T, H)       what the word just read adds to the output past the state (Mamba's d∘c); zero otherwise
    outputs  (T, H)       the layer's outputs: the sum of `parts` over t, plus `direct`
    logits   (T, T+1)     `parts` as read out, in logits; None before the last layer
    """

    words: list[str]
    layer: int
    parts: Tensor
    direct: Tensor
    outputs: Tensor
    logits: Tensor | None

    @property
    def weights(self) -> Tensor:
        """(T, T+1): the length of each part, as a share of the sum of lengths after that word."""
        length = self.parts.norm(dim=-1)
        return length / length.sum(1, keepdim=True).clamp(min=torch.finfo(length.dtype).tiny)

    def _table(self) -> str:
        last = self.weights[-1].tolist()
        added = [None] * len(last) if self.logits is None else self.logits[-1].tolist()
        names = ["(start)", *self.words]
        return table_html([list(row) for row in zip(names, last, added, strict=True)], ["word", "weight", "logits"])


@torch.no_grad()
@in_range("effective_attention")
def effective_attention(network: Network, text: str, layer: int | None = None) -> EffectiveAttention:
    """What each word of a text still adds to a layer's output after each later word.

    layer: from 1; by default the last one, which the readout reads. Only for networks of linear recurrences (mingru,
    minlstm, mamba, rglru; of transformers' models Mamba and RecurrentGemma, whose rows are pieces of words).
    """
    cell = network.cell
    linear = isinstance(cell, ResidualStack) or (isinstance(cell, LinearStack) and cell.reads_linearly)
    if not linear:
        raise RnnlensError(
            f"a network of kind {quoted(network.arch)} has no effective attention: its recurrence is not linear in the "
            "state; expected mingru, minlstm, mamba or rglru"
        )
    number = len(cell.layers) if layer is None else layer
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= len(cell.layers):
        raise RnnlensError(f"layer is {quoted(layer)}: expected a number from 1 to {len(cell.layers)}")
    vocab = network.vocab
    if isinstance(vocab, PieceVocab):
        words = vocab.split(text) if isinstance(text, str) else []
    else:
        words = [word for word, _ in network.read(text)] if isinstance(text, str) else []
    if not 1 <= len(words) <= LONGEST:
        raise RnnlensError(f"the text has {len(words)} words: expected 1 to {LONGEST:,}")
    assert vocab is not None
    ids = torch.as_tensor(vocab.encode(words), device=network.h0.device).unsqueeze(0)
    x, h0 = cell.inputs_of(number - 1, network.embed(ids), network.h0.unsqueeze(0))
    chosen = cell.layers[number - 1]
    parts, direct, outputs = _decomposed(chosen.layer if isinstance(cell, LinearStack) else chosen, x, h0)
    logits = None
    if (
        isinstance(cell, ResidualStack)
        and number == len(cell.layers)
        and not network.several_classes
        and network.features is None
    ):
        logits = parts @ network.readout_w
    return EffectiveAttention(words, number, parts, direct, outputs, logits)


def _decomposed(layer: Any, x: Tensor, h0: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The parts (T, T+1, H), the direct part (T, H) and the outputs (T, H) of a layer, for inputs x (1, T, D)."""
    c, a, b, h = layer.linear_form(x, h0)
    T = x.shape[1]
    # One sequence for each source: it alone writes, or is the initial state.
    sources = torch.zeros(T + 1, *b.shape[1:], dtype=b.dtype, device=b.device)
    sources[torch.arange(1, T + 1), torch.arange(T)] = b[0]
    starts = torch.zeros(T + 1, h.shape[-1], dtype=h.dtype, device=h.device)
    starts[0] = h[0]
    states = linear_scan(a.expand(T + 1, -1, -1).contiguous(), sources, starts)
    direct = layer.read(torch.zeros_like(states[:1]), c, x)
    read = layer.read(states, c.expand(T + 1, -1, -1), x.expand(T + 1, -1, -1)) - direct
    outputs = layer.read(states.sum(0, keepdim=True), c, x)
    return read.transpose(0, 1), direct[0], outputs[0]
