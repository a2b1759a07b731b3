"""What the sweep's tests run in worker processes: quick to import, slow to run, and it keeps a log."""

import os
import time
from pathlib import Path

from rnnlens.experiments.space import parameters


def slow_trial(job, corpus, seed, modifiers, device):
    """A trial that takes a while and writes down when it starts and ends, and where."""
    model, number = job
    log(corpus, f"start {model} {number} {os.getpid()}")
    time.sleep(0.25)
    log(corpus, f"end {model} {number} {os.getpid()}")
    return {
        "model": model,
        "seed": seed,
        "trial": number,
        "parameters": parameters(model, seed, number),
        "method": 2,
        "accuracy": 0.5 + number / 1000,
        "loss": 1.0,
        "reviews": 10**9,
        "seconds": 0.25,
    }


def deadly_trial(job, corpus, seed, modifiers, device):
    os.abort() if job[1] == 3 else None
    return slow_trial(job, corpus, seed, modifiers, device)


def log(corpus, text):
    with open(Path(corpus).parent / "log", "a") as file:
        file.write(text + "\n")
