"""One network of every architecture and kind, with weights in closed form: no generator of random numbers is used."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import rnnlens

WORDS = [
    "<unk>", "not", "never", "hardly", "very", "really", "the", "film", "plot", "was", "it", "good", "fine", "bad",
    "poor",
]  # fmt: skip
PROBES = rnnlens.Probes(positive=["good", "fine"], negative=["bad", "poor"])
TEXTS = [
    "good", "bad", "not good", "never bad", "the plot was very fine", "it was not really poor",
    "the film was hardly good the plot was bad", "never never not the xylophone was good",
]  # fmt: skip
CLASSES = ["anger", "fear", "joy", "love"]
D, H = 5, 7  # inputs, units


def numbers(*shape: int, seed: int = 0) -> Tensor:
    """Numbers between −1 and 1 that look random: fractions of squares times the golden ratio."""
    i = torch.arange(1, torch.Size(shape).numel() + 1, dtype=torch.float64) + seed
    return (2 * torch.frac(i.square() * 0.6180339887498949) - 1).view(shape)


@torch.no_grad()
def filled(module: nn.Module) -> Any:
    """A module in double precision with weights in closed form, which depend on the parameters' names and shapes."""
    for name, weight in module.double().named_parameters():
        size = weight.shape[-1] ** -0.5 if weight.ndim > 1 else 0.5
        weight.copy_(1.5 * size * numbers(*weight.shape, seed=zlib.crc32(name.encode()) % 1000))
    return module


def of_torch(kind: type[nn.RNNBase] = nn.GRU, head: nn.Module | None = None, options: Any = None, **sizes: Any) -> Any:
    """A network from a module of torch. options: of `from_torch`."""
    rnn = filled(kind(D, H, batch_first=True, **sizes))
    units = (sizes.get("proj_size") or H) * (1 + sizes.get("bidirectional", False))
    head = filled(nn.Linear(units, 1) if head is None else head)
    embedding = 3 * filled(nn.Embedding(len(WORDS), D)).weight.detach()
    return rnnlens.from_torch(rnn, embedding, head, WORDS, **(options or {})).requires_grad_(False)


def of_ours(arch: str, **options: Any) -> Any:
    """One of the networks that rnnlens trains."""
    network = filled(rnnlens.Network(WORDS, arch, hidden=H, embedding=D, **options)).requires_grad_(False)
    network.E.mul_(3)
    if options.get("ordered"):
        network.readout_b.copy_(torch.tensor([-0.4, 0.1, 0.5]))  # thresholds rise
    return network


def mlp(units: int = H) -> nn.Module:
    return nn.Sequential(nn.Linear(units, 4), nn.Tanh(), nn.Linear(4, 1))


def adapted() -> Any:
    """A user's step function: a leaky network whose gain an input changes."""
    A, B, C = 0.4 * numbers(H, H, seed=1), numbers(D, H, seed=2), numbers(D, H, seed=3)

    def step(h: Tensor, e: Tensor) -> Tensor:
        return 0.7 * h + 0.3 * torch.tanh((1 + e @ C) * (h @ A) + e @ B)

    readout = (numbers(H, seed=4), torch.tensor(0.1, dtype=torch.float64))
    return rnnlens.adapt(step, numbers(len(WORDS), D, seed=5), readout, WORDS, 0.3 * numbers(H, seed=6))


class Tokenizer:
    """Pieces of words: each word of `WORDS` after a space, and single letters."""

    def __init__(self) -> None:
        self.pieces = [*(f"Ġ{word}" for word in WORDS[1:]), *"abcdefghijklmnopqrstuvwxyz", "Ġ"]

    def get_vocab(self) -> dict[str, int]:
        return {piece: i for i, piece in enumerate(self.pieces)}

    def tokenize(self, text: str) -> list[str]:
        found, text = [], text.replace(" ", "Ġ")
        while text:
            found.append(max((piece for piece in self.pieces if text.startswith(piece)), key=len))
            text = text[len(found[-1]) :]
        return found


def of_transformers(config: str, **sizes: Any) -> Any:
    """A tiny model of transformers, made from its configuration; nothing is downloaded."""
    import transformers

    sizes = {"vocab_size": 44, "hidden_size": 8, "num_hidden_layers": 2, **sizes}
    model = filled(transformers.AutoModel.from_config(getattr(transformers, config)(**sizes)).eval())
    head = filled(nn.Linear(sizes["hidden_size"], 1))
    return rnnlens.from_transformers(model, head, Tokenizer()).requires_grad_(False)


TORCH: dict[str, Callable[[], Any]] = {
    "GRU": of_torch,
    "LSTM": lambda: of_torch(nn.LSTM),
    "RNN": lambda: of_torch(nn.RNN),
    "RNN, ReLU": lambda: of_torch(nn.RNN, nonlinearity="relu"),
    "GRU, two layers": lambda: of_torch(num_layers=2),
    "LSTM, two layers": lambda: of_torch(nn.LSTM, num_layers=2),
    "LSTM, projected": lambda: of_torch(nn.LSTM, proj_size=4),
    "LSTM, projected, two layers": lambda: of_torch(nn.LSTM, proj_size=4, num_layers=2),
    "GRU, four classes": lambda: of_torch(head=nn.Linear(H, 4), options={"classes": CLASSES}),
    "GRU, ordered": lambda: of_torch(options={"classes": CLASSES, "thresholds": [-0.4, 0.1, 0.5]}),
    "LSTM, MLP head": lambda: of_torch(nn.LSTM, head=mlp()),
    "GRU, initial state": lambda: of_torch(options={"initial_state": numbers(1, 1, H, seed=9)}),
    "GRU, bidirectional": lambda: of_torch(bidirectional=True),
    "LSTM, bidirectional": lambda: of_torch(nn.LSTM, bidirectional=True),
    "GRU, bidirectional, four classes": lambda: of_torch(
        head=nn.Linear(2 * H, 4), options={"classes": CLASSES}, bidirectional=True
    ),
    "LSTM, bidirectional, two layers": lambda: of_torch(nn.LSTM, bidirectional=True, num_layers=2),
    "GRU, bidirectional, MLP head": lambda: of_torch(head=mlp(2 * H), bidirectional=True),
    "GRU, mean pooled": lambda: of_torch(options={"pooling": "mean"}),
    "adapted": adapted,
}
OURS: dict[str, Callable[[], Any]] = {
    "UGRNN": lambda: of_ours("ugrnn"),
    "vanilla": lambda: of_ours("vanilla"),
    "GRU, three layers": lambda: of_ours("gru", layers=3),
    "GRU, three classes": lambda: of_ours("gru", classes=CLASSES[:3]),
    "GRU, ordered": lambda: of_ours("gru", classes=CLASSES, ordered=True),
    "minGRU": lambda: of_ours("mingru"),
    "minGRU, two layers": lambda: of_ours("mingru", layers=2),
    "minGRU, convolution": lambda: of_ours("mingru", convolution=4),
    "minLSTM": lambda: of_ours("minlstm"),
    "RG-LRU": lambda: of_ours("rglru"),
    "Mamba": lambda: of_ours("mamba"),
    "Mamba, two layers": lambda: of_ours("mamba", layers=2),
}
TRANSFORMERS: dict[str, Callable[[], Any]] = {
    "Mamba": lambda: of_transformers("MambaConfig", state_size=2, time_step_rank=3),
    "Mamba-2": lambda: of_transformers("Mamba2Config", state_size=2, num_heads=4, head_dim=4, n_groups=2, chunk_size=8),
    "RWKV": lambda: of_transformers("RwkvConfig", attention_hidden_size=8, intermediate_size=12, rescale_every=1),
    "xLSTM": lambda: of_transformers("xLSTMConfig", hidden_size=32, num_hidden_layers=1, num_heads=2),
    "RecurrentGemma": lambda: of_transformers(
        "RecurrentGemmaConfig", lru_width=8, num_attention_heads=2, block_types=["recurrent"], intermediate_size=16
    ),
}
