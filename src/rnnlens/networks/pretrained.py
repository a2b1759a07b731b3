"""transformers' recurrent models as networks: their caches as a flat state, one token as a step.

The weights are copied into cells of our own (`blocks`), which can be differentiated and batched; the result is compared
with the model's own hidden states. transformers itself is not imported: the model says what it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import in_range
from rnnlens.corpora.pieces import PieceVocab
from rnnlens.networks.adapters import assembled
from rnnlens.networks.families import FAMILIES
from rnnlens.networks.given import said, unchanged
from rnnlens.networks.heads import Readout, Target, read_head
from rnnlens.networks.mlp import split_head
from rnnlens.networks.network import Network
from rnnlens.networks.readouts import NoHead

ROWS, TOKENS = 2, 6  # of the random texts on which network and model are compared
CLOSE = 1e-3  # relative to the size of the hidden states
HALVES = (torch.float16, torch.bfloat16)


@in_range("from_transformers")
def from_transformers(
    model: nn.Module,
    head: Readout | None,
    tokenizer: Any,
    *,
    blank: str | Tensor = "mean",
    target: Target = None,
    output: int | None = None,
    classes: Iterable[str] | None = None,
    check: bool = True,
) -> Network:
    """A `Network` from a recurrent model of transformers, by copy: Mamba, Mamba-2, RWKV (version 4), xLSTM (7B), and
    RecurrentGemma with recurrent blocks only.

    model: with or without its language-modeling head, such as `AutoModel.from_pretrained(name)`. The flat state holds
    its caches, layer by layer, and its last hidden state (D,), which the head reads; `network.cell.parts` names them.
    head: `nn.Linear(D, k)`, an MLP or a pair (w, b), as `from_torch` takes them, with `target`, `output` and `classes`;
    None if there is none yet: `fit_readout(network, corpus)` then fits one.
    tokenizer: only `get_vocab()` and `tokenize(text)` are used.
    blank: the embedded token that the model is given at the blank input, x = 0: the "mean" of all embeddings, or a
    vector (D,). With "zero" Mamba reads nothing: its gates are closed for the zero vector, whatever the state is.
    check: whether to compare hidden states with the model's own, on random tokens; a model that differs is refused.

    Models of half precision are converted to float32.
    """
    body = _body(model)
    E = body.get_input_embeddings().weight.detach()
    E = E.float() if E.dtype in HALVES else E.clone()
    if E.is_meta:
        raise RnnlensError("the model is on torch's meta device, which holds no numbers: load its weights first")
    vocab = PieceVocab(tokenizer, len(E))
    zero = _blank(blank, E)
    cell = FAMILIES[body.config.model_type](body, zero).to(E)
    h0 = cell.start()
    if head is None:
        if (target, output, classes) != (None, None, None):
            raise RnnlensError("got target=, output= or classes= without a head: pass the head that they are about")
        read: Any = E.new_zeros(cell.hidden), E.new_zeros(()), "", ()
        features: Any = NoHead()
    else:
        features, linear = split_head(head, cell.hidden, h0)
        read = read_head(linear, target, output, classes, words=True)
    arch = f"{body.config.model_type}, transformers"
    network = assembled(cell, E[: len(vocab)] - zero, read, vocab, h0, arch, features).eval()
    if check:
        _compare(network, body)
    return network.requires_grad_(False)


def _blank(blank: Any, E: Tensor) -> Tensor:
    """The embedded token (D,) of the blank input."""
    if isinstance(blank, Tensor) and blank.shape == E.shape[1:]:
        return blank.detach().to(E)
    if not isinstance(blank, str) or blank not in ("mean", "zero"):
        given = tuple(blank.shape) if isinstance(blank, Tensor) else blank
        raise RnnlensError(f"blank is {quoted(given)}: expected 'mean', 'zero' or a vector ({E.shape[1]},)")
    return E.double().mean(0).to(E) if blank == "mean" else torch.zeros_like(E[0])


# --- which model this is ----------------------------------------------------------------------------------------------

RECURRENT = {"linear_attention", "recurrent", "mamba"}  # what configurations call recurrent blocks


def _body(model: Any) -> Any:
    """The model without its language-modeling head; refused if its blocks are not recurrent."""
    kind = getattr(getattr(model, "config", None), "model_type", None)
    if not isinstance(model, nn.Module) or not isinstance(kind, str):
        raise RnnlensError(
            f"from_transformers got {quoted(type(model).__name__)}: expected a model of transformers, such as "
            "AutoModel.from_pretrained('state-spaces/mamba-130m-hf')"
        )
    known = ", ".join(FAMILIES)
    if kind not in FAMILIES:
        raise RnnlensError(
            f"{quoted(kind)} is not supported: expected a model of recurrent blocks only, one of {known}; for others "
            "write a step function for rnnlens.adapt"
        )
    types = getattr(model.config, "layers_block_type", None) or getattr(model.config, "layer_types", None) or ()
    if set(types) - RECURRENT:
        raise RnnlensError(
            f"{quoted(kind)} is a hybrid model: some of its blocks attend to all earlier tokens, so it has no state of "
            "fixed size; expected recurrent blocks only"
        )
    return getattr(model, getattr(model, "base_model_prefix", "") or "_", model)


@torch.no_grad()
def _compare(network: Network, body: Any) -> None:
    """Refuse a network whose hidden states differ from the model's own on random tokens."""
    generator = torch.Generator().manual_seed(0)
    assert network.E is not None
    ids = torch.randint(len(network.E), (ROWS, TOKENS), generator=generator).to(network.h0.device)
    begun = getattr(network.cell, "opening", None) is not None  # the network has read the first token already
    first = torch.full_like(ids[:, :1], body.config.bos_token_id) if begun else ids[:, :0]
    name = quoted(body.config.model_type)
    with unchanged([body]), torch.random.fork_rng(devices=[ids.device] if ids.is_cuda else []):
        body.eval()
        try:
            own = body(input_ids=torch.cat([first, ids], 1), use_cache=False).last_hidden_state[:, begun:]
            own = own.to(network.h0)
        except Exception as error:
            raise RnnlensError(f"the {name} model failed on {ROWS} texts of {TOKENS} tokens: {said(error)}") from error
    outputs = network.states(ids)[:, 1:, network.cell.output]
    off = float((outputs - own).abs().max() / own.abs().max().clamp(min=1e-12))
    half = next(body.parameters()).dtype in HALVES
    if not off <= (50 if half else 1) * CLOSE:
        raise RnnlensError(
            f"the hidden states of the {name} model differ by {off:.2g} of their size from those computed here: this "
            "release of transformers computes something else, or a hook changes it; check=False skips this check"
        )
