"""What `analyze` costs for a Mamba of transformers with mamba-130m's sizes and random weights, on one core.

python -m studies.pretrained_cost 2 24   # numbers of layers: a minute, and a quarter of an hour
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

STARTS, TOP, STATES = 16, 40, 64


class Tokenizer:
    """As many words as the model has, none of them divided."""

    words = ("not", "very", *(f"w{i}" for i in range(50_275)))

    def get_vocab(self) -> dict[str, int]:
        return {f"Ġ{word}": i for i, word in enumerate(self.words)}

    def tokenize(self, text: str) -> list[str]:
        return [f"Ġ{word}" for word in text.split()]


def measure(layers: int) -> None:
    """Print the size of the state, and seconds of the CPU and memory."""
    import torch
    from transformers import MambaConfig, MambaModel

    import rnnlens

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = MambaModel(MambaConfig(num_hidden_layers=layers)).eval()
    network = rnnlens.from_transformers(model, torch.nn.Linear(768, 1), Tokenizer())
    h = network.h0.expand(STATES, -1).contiguous()
    with torch.no_grad():
        network.step(h, network.E[:STATES])
        start = time.process_time()
        network.step(h, network.E[:STATES])
    step, start = time.process_time() - start, time.process_time()
    rnnlens.analyze(network, starts=STARTS, top=TOP)
    seconds, memory = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"| {layers} | {network.size:,} | {seconds:.0f} s | {memory:.1f} GB | {step:.2f} s |", flush=True)


def main() -> None:
    given = sys.argv[1:]
    if len(given) == 1:
        measure(int(given[0]))
        return
    for layers in given:  # each in a process of its own, whose memory is its own
        subprocess.run([sys.executable, "-m", "studies.pretrained_cost", layers], check=True)


if __name__ == "__main__":
    main()
