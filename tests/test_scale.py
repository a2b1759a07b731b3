"""Clusters and large corpora: the scripts run as they stand, memory is seen."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.scale import NEGATORS, spelled, texts, tree_memory, valences
from shared_training import reviews
from tests.support.saving import save_corpus

from rnnlens import load

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("script", sorted((ROOT / "examples/cluster").glob("*.sbatch")), ids=lambda path: path.name)
def test_the_scripts_are_bash(script):
    subprocess.run(["bash", "-n", script], check=True)


def test_the_accelerate_config_is_one():
    from accelerate.commands.config.config_args import load_config_from_file

    found = load_config_from_file(str(ROOT / "examples/cluster/accelerate.yaml"))
    assert found.num_processes == 8 and found.distributed_type == "MULTI_GPU" and found.mixed_precision == "no"


def test_the_slurm_script_trains_on_all_its_processes(tmp_path):
    """With stand-ins for SLURM's own commands, two processes in place of two GPUs."""
    (tmp_path / "corpus").mkdir()
    save_corpus(reviews(), tmp_path / "corpus", "reviews")
    skip = 'while [[ $1 == -* ]]; do shift; done\nSLURM_NODEID=0 exec "$@"'
    for name, does in (("srun", skip), ("scontrol", "echo 127.0.0.1")):
        (tmp_path / name).write_text(f"#!/bin/bash\n{does}\n")
        (tmp_path / name).chmod(0o755)
    path = os.pathsep.join([str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]])
    slurm = {
        "SLURM_GPUS_ON_NODE": "2",
        "SLURM_NNODES": "1",
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_JOB_NODELIST": "n",
    }
    options = ["hidden=8", "embedding=4", "epochs=1", "batch=32", "device=cpu", "keep=last"]
    subprocess.run(
        ["bash", "train.sbatch", tmp_path / "corpus", tmp_path / "run", *options],
        cwd=ROOT / "examples/cluster",
        env={**os.environ, **slurm, "PATH": path},
        check=True,
        capture_output=True,
    )
    run = load(tmp_path / "run")
    assert run.about["processes"] == 2 and run.config.checkpoint_every == 500 and len(run.history) == 1


def test_training_needs_four_packages(tmp_path):
    """Where only torch, numpy, safetensors and accelerate are installed, the script trains, and again does nothing."""
    (tmp_path / "corpus").mkdir()
    save_corpus(reviews(), tmp_path / "corpus", "reviews")
    code = (
        "import runpy, sys\n"
        "for name in ('polars', 'plotly', 'cyclopts', 'rich', 'sklearn', 'scipy', 'jinja2', 'optuna', 'ray'):\n"
        "    sys.modules[name] = None\n"
        "del sys.argv[0]\nrunpy.run_path(sys.argv[0])\n"
    )
    command = [sys.executable, "-c", code, ROOT / "examples/cluster/train.py", tmp_path / "corpus", tmp_path / "run"]
    options = ["hidden=8", "embedding=4", "epochs=1", "device=cpu", "arch=lstm", "test=true"]
    for told in ("test", "nothing was trained"):
        done = subprocess.run([*command, *options], check=True, capture_output=True, text=True)
        assert told in done.stdout
    assert load(tmp_path / "run").about["network"]["arch"] == "lstm"


def test_generated_reviews_are_as_promised():
    words, valence = spelled(), valences()
    assert len(set(words)) == len(words) == len(valence)
    found = list(itertools.islice(texts(10**9), 2_500))  # a stream: nobody waits for the rest
    lengths = np.array([len(text.split()) for text, _ in found])
    assert 120 < lengths.mean() < 160 and lengths.max() > 600
    index = {word: i for i, word in enumerate(words)}
    right = []
    for text, label in found[:200]:
        ids = [index.get(word.rstrip("."), 0) for word in text.split()]
        total = sum((-1 if set(ids[max(0, k - 3) : k]) & set(NEGATORS) else 1) * valence[i] for k, i in enumerate(ids))
        right.append((total > 0) == bool(label))
    assert np.mean(right) > 0.9
    assert 0.3 < np.mean([label for _, label in found]) < 0.7


def test_memory_of_a_process_and_its_children_is_seen():
    waits = "import sys; x = bytearray(1 << 28); print(flush=True); sys.stdin.read()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {waits!r}])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        rss, own = tree_memory(process.pid)
        process.communicate(b"")
    assert 1 << 28 <= own <= rss < 1 << 30
