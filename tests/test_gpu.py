"""What holds on the CPU holds on a GPU. Needs one; also runs alone, as `python tests/test_gpu.py`."""

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import torch
from handmade import Documents

from rnnlens import BothWays, Network, TrainConfig, analyze, evaluate, load
from rnnlens.context import Reviews, final_logits, project_out, steer
from rnnlens.context.subspace import random_subspace
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.splits import Split
from rnnlens.corpora.vocab import Vocab
from rnnlens.dynamics import find_fixed_points, jacobians
from rnnlens.networks import CELLS, RECURRENCES, scan, step_by_step
from rnnlens.networks.architectures import make_cell
from rnnlens.training import recording
from rnnlens.training.batches import epoch_batches
from rnnlens.training.loop import Trainer
from rnnlens.training.processes import accelerator_for

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


def close(ours, reference, tolerance):
    torch.testing.assert_close(ours.cpu(), reference.cpu(), rtol=0, atol=tolerance)


def test_steps_scans_and_fused_kernels_agree_with_the_cpu():
    for dtype, tolerance in TOLERANCE.items():
        for arch in CELLS:
            generator = torch.Generator().manual_seed(0)
            cell = CELLS[arch](64, 32, generator).to(dtype)
            e = torch.randn(8, 50, 32, generator=generator, dtype=dtype)
            h0 = torch.randn(8, cell.size, generator=generator, dtype=dtype)
            reference = step_by_step(cell.step, e, h0)
            cell, e, h0 = cell.cuda(), e.cuda(), h0.cuda()
            for states in (scan(cell, e, h0), step_by_step(cell.step, e, h0)):
                close(states, reference, tolerance)
            close(cell.sequence(e, h0), reference, max(tolerance, 1e-4 if arch == "vanilla" else 0))  # to train by
            with torch.no_grad():
                close(cell.outputs(e, h0), reference[:, 1:, cell.output], tolerance)
                close(cell.sequence(e, h0), reference, tolerance)


def test_parallel_scans_and_their_gradients_agree_with_the_cpu():
    for arch in RECURRENCES:
        for dtype, tolerance in TOLERANCE.items():
            cell = make_cell(arch, 32, 16, 2, None, torch.Generator().manual_seed(0)).to(dtype)
            e = torch.randn(8, 61, 16, generator=torch.Generator().manual_seed(1), dtype=dtype)
            found = {}
            for device in ("cpu", "cuda"):
                cell = cell.to(device)
                cell.zero_grad()
                h0 = torch.zeros(8, cell.size, dtype=dtype, device=device)
                outputs = cell.outputs(e.to(device), h0)
                outputs.square().mean().backward()
                found[device] = [outputs.detach(), cell.sequence(e.to(device), h0).detach()]
                found[device] += [p.grad.clone() for p in cell.parameters()]
            for there, here in zip(found["cuda"], found["cpu"], strict=True):
                close(there, here, 10 * tolerance)
            close(found["cuda"][1], step_by_step(cell.cpu().step, e, torch.zeros(8, cell.size, dtype=dtype)), tolerance)


def test_gradients_of_the_scan_agree_with_the_cpu():
    for arch in CELLS:
        cell = CELLS[arch](16, 8, torch.Generator().manual_seed(0)).double()
        e = torch.randn(4, 61, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)  # no multiple of 8
        weight = torch.randn(4, 62, cell.size, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        gradients = {}
        for device in ("cpu", "cuda"):
            cell, h0 = (
                cell.to(device),
                torch.zeros(4, cell.size, dtype=torch.float64, device=device, requires_grad=True),
            )
            cell.zero_grad()
            (scan(cell, e.to(device), h0) * weight.to(device)).sum().backward()
            gradients[device] = [h0.grad, *(p.grad.clone() for p in cell.parameters())]
        for there, here in zip(gradients["cuda"], gradients["cpu"], strict=True):
            close(there, here, 1e-10)


def test_fixed_points_and_jacobians_agree_with_the_cpu():
    for arch in CELLS:
        network = Network(["x"], arch=arch, hidden=24, embedding=4, seed=1).double()
        starts = torch.tanh(torch.randn(200, network.size, generator=torch.Generator().manual_seed(0)).double())
        J_cpu, points = jacobians(network, starts), find_fixed_points(network, starts)
        expected = points.unique.states
        network = network.cuda()
        for ours, reference in zip(jacobians(network, starts.cuda()), J_cpu, strict=True):
            close(ours, reference, 1e-12)
        there = find_fixed_points(network, starts.cuda())
        assert points.converged.all() and there.converged.all()
        assert (
            len(expected) == len(there.unique)
            and torch.cdist(there.unique.states.cpu(), expected).min(1).values.max() < 1e-4
        )


def corpus_of(words, n=80, classes=2):
    """A corpus of a few reviews of random words."""
    rows = documents(len(words), n).rows
    labels = np.random.default_rng(1).integers(0, classes, n).astype(np.uint8)
    split = Split(np.concatenate(rows).astype(np.uint16), np.cumsum([0, *map(len, rows)]), labels)
    return Corpus(Vocab(words), split, None, about={"source": "generated"}, fingerprint="generated")


def documents(words, n=40):
    """A few reviews of random words."""
    generator = np.random.default_rng(0)
    rows = [generator.integers(0, words, length) for length in generator.integers(3, 90, n)]
    return Documents(rows, generator.integers(0, 2, n))


def test_perturbed_passes_agree_with_the_cpu():
    for arch in CELLS:
        network = Network([f"w{i}" for i in range(50)], arch=arch, hidden=32, embedding=8).requires_grad_(False)
        V = random_subspace(network.size, 3, torch.Generator().manual_seed(0)).float()
        found = {}
        for device in ("cpu", "cuda"):
            here = network.to(device)
            reviews = Reviews.of(documents(50), device)
            quiet = project_out(here, V.to(device))
            found[device] = [
                final_logits(here, reviews),
                final_logits(quiet, reviews),
                final_logits(here, reviews, shuffle=1),
                final_logits(quiet, reviews, pads=5),
                final_logits(steer(here, V.to(device), 1.5), reviews),
            ]
        for ours, reference in zip(found["cuda"], found["cpu"], strict=True):
            np.testing.assert_allclose(ours, reference, atol=2e-5)


def test_evaluations_and_predictions_agree_with_the_cpu():
    words = [f"w{i}" for i in range(50)]
    corpus = corpus_of(words, 2_000)
    texts = [" ".join(words[i] for i in corpus.train.document(k)) for k in range(100)]
    for network in (Network(words, hidden=32, embedding=8), BothWays.untrained(words, hidden=32, embedding=8)):
        found = []
        for device in ("cpu", "cuda"):
            here = network.to(device)
            read = evaluate(here, corpus.train)
            found.append((read.accuracy, read.loss, *read.logits, *here.predict_proba(texts)[:, 1]))
        np.testing.assert_allclose(*found, atol=2e-5)
        few = evaluate(here, corpus.train, tokens=500, most=4)
        np.testing.assert_allclose(few.logits, found[0][2 : 2 + len(few.logits)], atol=2e-5)


def test_recorded_steps_train_as_steps_do():
    """Weights are the same bit for bit, whether passes are launched kernel by kernel or as graphs."""
    words = [f"w{i}" for i in range(50)]
    for name in ("lstm", "ugrnn", "vanilla", "mingru", "mamba", "two layers", "both ways", "classes", "bf16", "gru"):
        options = {"classes": ["a", "b", "c"]} if name == "classes" else {"layers": 2} if name == "two layers" else {}
        arch = name if name in (*CELLS, *RECURRENCES) else "gru"
        found = []
        for most in (recording.MOST, 0):
            if name == "both ways":
                network = BothWays.untrained(words, arch=arch, hidden=32, embedding=8)
            else:
                network = Network(words, arch=arch, hidden=32, embedding=8, seed=0, **options)
            config = TrainConfig(batch=8, blanks=4, precision="bf16" if name == "bf16" else "fp32", average=0.9)
            corpus = corpus_of(words, classes=len(options.get("classes", "ab")))
            with TemporaryDirectory() as out, patch.object(recording, "MOST", most):
                trainer = Trainer(network, corpus, config, Path(out), accelerator_for(config, None), resume=False)
                for epoch in range(4):
                    for rows in epoch_batches(corpus.train.lengths, 8, 0, epoch):
                        sums = trainer.step(rows)
                        trainer.counters.step += 1
            assert bool(trainer.recorder.recordings) == bool(most), name
            found.append([sums, *trainer.average.values(), *(p.detach() for p in network.parameters())])
        for recorded, launched in zip(*found, strict=True):
            assert torch.equal(recorded, launched), name


def test_gradients_of_training_have_full_precision():
    """cuDNN would round the numbers of a backward pass to 10 bits."""
    words = [f"w{i}" for i in range(50)]
    corpus, config = corpus_of(words, 40), TrainConfig()
    found = []
    for device in ("cuda", "cpu"):
        network = Network(words, arch="gru", hidden=128, embedding=64, seed=0)
        with TemporaryDirectory() as out, patch("rnnlens.training.loop.drop", lambda ids, *_: (ids, None)):
            trainer = Trainer(network, corpus, config, Path(out), accelerator_for(config, device), resume=False)
            trainer.gradients(*trainer.batch(np.arange(40)))
        found.append([p.grad.cpu() for p in network.parameters()])
    for there, here in zip(*found, strict=True):
        close(there, here, 1e-5 * float(here.abs().max()))


def test_the_analysis_agrees_with_the_cpu():
    run = load("zoo:reviews-gru")
    here, there = (analyze(run, top=2_000, device=device).results for device in ("cpu", "cuda"))
    for word in ("not", "very"):
        assert abs(here["barcodes"][word]["share"] - there["barcodes"][word]["share"]) < 0.05
    assert abs(here["bilinear"]["explained_variance"][0] - there["bilinear"]["explained_variance"][0]) < 0.02


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name} holds on {torch.cuda.get_device_name()}")
else:
    import pytest

    pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
