"""A whole `nn.Module` as a network: its parts by their paths, checked against its own forward."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError, RnnlensWarning, quoted
from rnnlens.common.ranges import in_range
from rnnlens.corpora.vocab import Vocab
from rnnlens.networks.adapters import from_torch
from rnnlens.networks.given import said, unchanged, uncompiled
from rnnlens.networks.heads import as_tensor, read_head
from rnnlens.networks.network import Network
from rnnlens.networks.parts import RNNS
from rnnlens.networks.readouts import ordered_logits

ROWS, WORDS = 16, 9  # of the random sentences on which network and module are compared
CLOSE = 1e-4


@in_range("from_module")
def from_module(
    module: nn.Module,
    vocab: Vocab | Iterable[str] | None,
    *,
    rnn: str,
    embedding: str | None,
    readout: str,
    pooling: str | None = None,
    check: bool = True,
    **options: Any,
) -> Network | Any:
    """A network from the parts of a whole module, each given by its path, as in `module.get_submodule`:
    `from_module(model, vocab, rnn="encoder.lstm", embedding="embed", readout="classifier")`.

    embedding: None, with vocab=None, for continuous inputs. pooling, and options such as `target` and `classes`: see
    `from_torch`. check: whether to compare logits with the module's own, called in eval mode as module(ids, lengths) or
    module(ids) on random sentences; if they differ by more than 1e-4, the forward does something else than these parts,
    and the module is refused. A module that cannot be called so is not checked, and a warning says so.
    """
    if not isinstance(module, nn.Module):
        raise RnnlensError(f"from_module got {quoted(type(module).__name__)}: expected a torch module")
    module = uncompiled(module)
    words = vocab if vocab is None or isinstance(vocab, Vocab) else Vocab(vocab)
    recurrent = _part(module, "rnn", rnn, RNNS)
    embedded = None if embedding is None else _part(module, "embedding", embedding, (nn.Embedding,))
    head = _part(module, "readout", readout, (nn.Module,))

    def made(pooling: str | None, options: dict[str, Any]) -> Any:
        return from_torch(recurrent, embedded, head, words, pooling=pooling, **options)  # type: ignore[arg-type]

    network = made(pooling, options)
    if not check:
        return network
    other, same, cuts = "mean" if pooling is None else None, network, None
    if options.get("thresholds") is not None:  # compared by the score that they cut
        cuts = as_tensor(options["thresholds"], "thresholds").reshape(-1).to(network.h0.detach())
        options = {**options, "classes": None, "thresholds": None, "output": 0}
        same = made(pooling, options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RnnlensWarning)
        why, off = _compared(same, module, embedded, options, cuts)
        wrong = off is not None and not off <= CLOSE
        instead = _compared(made(other, options), module, embedded, options, cuts)[1] if wrong else None
    name = quoted(type(module).__name__)
    if off is None:
        warnings.warn(
            f"the network was not checked against {name}: {why}; compare their logits yourself, or pass check=False",
            RnnlensWarning,
            stacklevel=3,
        )
    elif wrong:
        fits = instead is not None and instead <= CLOSE
        raise RnnlensError(
            f"the logits of {quoted(rnn)}, {quoted(embedding)} and {quoted(readout)} differ by up to {off:.2g} from "
            f"those of {name}, whose forward does something else: "
            + (f"pass pooling={other!r}" if fits else "write it as a step function for rnnlens.adapt")
            + "; check=False skips this check"
        )
    return network


def _part(module: nn.Module, name: str, path: Any, kinds: tuple[type[nn.Module], ...]) -> nn.Module:
    """The part of a module at a path, of one of these kinds."""
    parts = dict(module.named_modules())
    fitting = [other for other, part in parts.items() if other and isinstance(part, kinds)]
    if path not in parts or not path:
        near = get_close_matches(str(path), fitting, n=3, cutoff=0) or [other for other in parts if other][:3]
        raise RnnlensError(
            f"{name} is {quoted(path)}, which {quoted(type(module).__name__)} does not have: expected a path such as "
            + (" or ".join(quoted(other) for other in near) or "one of its parts")
        )
    part = uncompiled(parts[path])
    if not isinstance(part, kinds):
        raise RnnlensError(
            f"{name} is {quoted(path)}, of type {type(part).__name__}: expected "
            f"{' or '.join(f'nn.{kind.__name__}' for kind in kinds[:3])}"
            + (f", such as {' or '.join(quoted(other) for other in fitting[:3])}" if fitting else "")
        )
    return part


@torch.no_grad()
def _compared(
    network: Network | Any, module: nn.Module, embedding: nn.Module | None, options: dict[str, Any], cuts: Tensor | None
) -> tuple[str, float | None]:
    """The largest difference of logits on random sentences, in the way of calling the module that fits best; or why it
    cannot be called, and None. cuts: thresholds on the network's logit."""
    x, padded, lengths = _sentences(network, embedding)
    short, whole = network(padded, lengths), network(x)
    calls = [((padded, lengths), short), ((padded, lengths.cpu()), short), ((x,), whole), ((x.transpose(0, 1),), whole)]
    why, least = "", None
    with unchanged([module]), torch.random.fork_rng(devices=[x.device] if x.is_cuda else []):
        module.eval()
        for given, logits in calls:
            try:
                scores = _scores(module(*given))
            except Exception as error:
                why = f"module(ids) failed with {said(error)}"
                continue
            if scores is None or len(scores) != ROWS:
                why = why or f"module(ids) gave no logits ({ROWS}, k) for {ROWS} sentences"
                continue
            off = _difference(logits, scores.to(network.h0), options, network.vocab is not None, cuts)
            least = off if least is None else min(off, least)
    return why, least


def _sentences(network: Any, embedding: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Random ids (B, T), or inputs (B, T, D); the same with padding after each row's length; the lengths (B,)."""
    generator, device = torch.Generator().manual_seed(0), network.h0.device
    lengths = torch.randint(1, WORDS + 1, (ROWS,), generator=generator)
    lengths[0] = WORDS
    if embedding is None:
        x = torch.randn(ROWS, WORDS, network.inputs, generator=generator).to(network.h0)
        return x, x, lengths.to(device)
    pad = embedding.padding_idx
    known = torch.tensor([i for i in range(embedding.num_embeddings) if i != pad] or [0])
    ids = known[torch.randint(len(known), (ROWS, WORDS), generator=generator)]
    padded = ids.masked_fill(torch.arange(WORDS) >= lengths.unsqueeze(1), 0 if pad is None else pad)
    return ids.to(device), padded.to(device), lengths.to(device)


def _scores(result: Any) -> Tensor | None:
    """Logits (B, k) in what a module returned: a tensor, the first one of a tuple, or its `logits`."""
    result = result.get("logits") if isinstance(result, dict) else getattr(result, "logits", result)
    result = result[0] if isinstance(result, tuple | list) and result else result
    if not isinstance(result, Tensor) or not result.is_floating_point() or result.ndim not in (1, 2):
        return None
    return result.unsqueeze(1) if result.ndim == 1 else result


def _difference(
    logits: Tensor, scores: Tensor, options: dict[str, Any], words: bool, cuts: Tensor | None = None
) -> float:
    """The largest difference of logits (B,) or (B, C) from those in scores (B, k). Scores may also be probabilities,
    and those of C classes may all be shifted by the same number. Of ordered classes they are the score, the score minus
    each of the C − 1 cuts, or those of the classes."""
    k = scores.shape[1]
    if cuts is None:
        head = torch.eye(k), torch.zeros(k)
        try:
            w = read_head(head, options.get("target"), options.get("output"), options.get("classes"), words)[0]
        except RnnlensError:
            return torch.inf
        shifted, apart = w.ndim == 2, k == 1
    else:
        read = {
            1: logits.unsqueeze(1),
            len(cuts): logits.unsqueeze(1) - cuts,
            len(cuts) + 1: ordered_logits(logits, cuts),
        }
        if k not in read:
            return torch.inf
        logits, w = read[k], torch.eye(k)
        shifted, apart = k > len(cuts), k <= len(cuts)
    kinds, w = [scores], w.to(scores)
    if bool(((scores >= 0) & (scores <= 1)).all()):
        kinds.append(scores.logit() if apart else scores.log())
    offs = []
    for kind in kinds:
        off = kind @ (w.t() if w.ndim == 2 else w) - logits
        off = off - off.mean(1, keepdim=True) if shifted else off
        offs.append(float(off.abs().nan_to_num(torch.inf).max()))
    return min(offs)
