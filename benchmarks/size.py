"""How much is measured: on a GPU what is usual there, on a CPU what takes minutes, and next to nothing for a trial."""

from __future__ import annotations

from dataclasses import dataclass

Shape = tuple[int, int, int, int]  # batch, time, embedding, units


@dataclass(frozen=True)
class Size:
    """
    device     where our side runs, and the peer's
    sequences  shapes of whole sequences: the toy's, a review's
    training   architecture, reviews a step, precision
    steps      of training in a round
    reviews    that passes and the analysis read
    analysis   options of `analyze`
    patience   seconds that a peer may take to get as far as we do
    budget     seconds of a comparison beyond its first two rounds
    """

    device: str
    sequences: tuple[Shape, ...]
    units: int
    embedding: int
    words: int
    training: tuple[tuple[str, int, str], ...]
    steps: int
    reviews: int
    analysis: dict[str, int]
    states: int
    patience: float
    budget: float


GPU = Size(
    "cuda", ((64, 100, 128, 256), (512, 100, 128, 256)), 256, 128, 50_000,
    (("gru", 64, "fp32"), ("gru", 512, "fp32"), ("gru", 2048, "fp32"), ("gru", 512, "bf16"), ("lstm", 512, "fp32"),
     ("ugrnn", 64, "fp32"), ("ugrnn", 512, "fp32"), ("vanilla", 512, "fp32")),
    20, 25_000, {}, 1024, 2.5, 2.0,
)  # fmt: skip
CPU = Size(
    "cpu", ((64, 50, 16, 100), (64, 100, 128, 256)), 128, 64, 20_000,
    tuple((arch, 64, "fp32") for arch in ("gru", "lstm", "ugrnn", "vanilla")), 8, 200, {}, 1024, 60.0, 20.0,
)  # fmt: skip
SMALL = Size(
    "cpu", ((4, 40, 8, 16),), 16, 8, 500, (("gru", 8, "fp32"), ("ugrnn", 8, "fp32")), 2, 20,
    {"top": 500, "starts": 100}, 64, 0.5, 0.1,
)  # fmt: skip
