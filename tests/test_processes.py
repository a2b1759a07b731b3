"""Several processes do what one does: the same loss curve, however many there are, and after being killed."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from accelerate.utils import DistributedType
from shared_training import CONFIG, reviews, run

from rnnlens import RnnlensError, load
from rnnlens.common.files import read_tensors
from rnnlens.runs import read_about
from rnnlens.training import TrainConfig, processes
from rnnlens.training.dropping import drop

SCRIPT = Path(__file__).parent / "shared_training.py"


def launch(*arguments, processes=2):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # (--multi_gpu names the launcher that starts several processes; with --cpu accelerate would want MPI for that.)
    command = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", str(processes)]
    command += [
        "--main_process_port",
        str(port),
        "--mixed_precision",
        "no",
        "--dynamo_backend",
        "no",
        "--num_machines",
        "1",
    ]
    # (torch's launcher never removes the folder of its logs, which it makes among the temporary files.)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(arguments[0].parent)}
    done = subprocess.run([*command, SCRIPT, *map(str, arguments)], env=environment, capture_output=True, text=True)
    return done.returncode, done.stderr


def test_two_processes_do_what_one_does_killed_or_not(tmp_path):
    """Over gloo, as `accelerate launch` starts them: dropped words, blank inputs, next words, two sources, a last batch
    of one review, a validation set that does not divide by two, a kill in the middle, and a resume with another number
    of processes."""
    assert len(reviews().train) % CONFIG.batch == 1 and len(reviews().validation) % 2 == 1
    one = run(tmp_path / "one")
    code, _ = launch(tmp_path / "two", 17)
    assert code != 0 and read_about(tmp_path / "two")["status"] == "training"
    assert read_tensors(tmp_path / "two" / "checkpoint" / "last.safetensors")[1]["step"] == 15
    shutil.copytree(tmp_path / "two", tmp_path / "then-one")
    code, told = launch(tmp_path / "two")
    assert code == 0, told
    for other in (load(tmp_path / "two"), run(tmp_path / "then-one")):
        assert len(other.history) == len(one.history) == CONFIG.epochs
        for ours, theirs in zip(other.history, one.history, strict=True):
            for key in [key for key in theirs if key.startswith(("train_", "validation_"))]:
                assert ours[key] == pytest.approx(theirs[key], rel=1e-5), (key, ours["epoch"])
        for part in ("validation", "test"):
            assert other.results["accuracy"][part] == pytest.approx(one.results["accuracy"][part])
            assert other.results["loss"][part] == pytest.approx(one.results["loss"][part], rel=1e-4)
            for source, found in one.accuracy[f"{part}_sources"].items():
                assert other.accuracy[f"{part}_sources"][source] == pytest.approx(found, rel=1e-4)
        assert other.steps == one.steps and len(one.steps) == 6
        ours, theirs = (read_tensors(found.path / "weights.safetensors")[0] for found in (other, one))
        for name in theirs:
            np.testing.assert_allclose(ours[name], theirs[name], atol=2e-5)
    assert [load(tmp_path / name).about["processes"] for name in ("one", "two", "then-one")] == [1, 2, 1]


@pytest.mark.parametrize("run", [1, 3])
def test_the_same_words_drop_however_a_batch_is_shared(run):
    config = TrainConfig(word_dropout=0.3, dropout_run=run, embedding_dropout=0.5)
    ids = torch.arange(1, 36).view(5, 7)
    whole, mask = drop(ids, 3, config, torch.Generator().manual_seed(1))
    for share in (slice(0, None, 2), slice(1, None, 2)):
        mine = ids[share, :4]  # its own longest review may be shorter than the batch's
        dropped, kept = drop(mine, 3, config, torch.Generator().manual_seed(1), (5, 7), share)
        assert torch.equal(dropped, whole[share, :4]) and torch.equal(kept, mask[share, :4])


def test_processes_that_share_weights_are_refused(monkeypatch):
    """Their gradients are parts, which the loop would clip one by one."""
    monkeypatch.setattr(processes, "Accelerator", lambda **_: SimpleNamespace(distributed_type=DistributedType.FSDP))
    with pytest.raises(RnnlensError, match="accelerate is set up for FSDP: expected one process, MULTI_GPU"):
        processes.accelerator_for(TrainConfig(), "cpu")
