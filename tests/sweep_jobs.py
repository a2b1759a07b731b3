"""What the sweep's tests run in worker processes: quick to import, slow to run, and it keeps a log."""

import os
import time
from pathlib import Path


def slow_trial(model, corpus, parameters, seed, modifiers, device):
    """A trial that takes a while and writes down when it starts and ends, and where. Its accuracy says which it is."""
    accuracy = 0.4 + parameters["decay"]
    log(corpus, f"start {accuracy} {os.getpid()}")
    time.sleep(0.25)
    log(corpus, f"end {accuracy} {os.getpid()}")
    return {"accuracy": accuracy, "loss": 1.0, "scaled_loss": 1.0, "reviews": 10**9, "seconds": 0.25}


def log(corpus, text):
    with open(Path(corpus.path).parent / "log", "a") as file:
        file.write(text + "\n")
