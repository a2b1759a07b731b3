"""What holds on the CPU holds on a GPU. Needs one; also runs alone, as `python tests/test_gpu.py`."""

import torch

from rnnlens import Network
from rnnlens.dynamics import find_fixed_points, jacobians
from rnnlens.networks import CELLS, scan, step_by_step

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


def close(ours, reference, tolerance):
    torch.testing.assert_close(ours.cpu(), reference.cpu(), rtol=0, atol=tolerance)


def test_steps_scans_and_fused_kernels_agree_with_the_cpu():
    for dtype, tolerance in TOLERANCE.items():
        for arch in CELLS:
            generator = torch.Generator().manual_seed(0)
            cell = CELLS[arch](64, 32, generator).to(dtype)
            e = torch.randn(8, 20, 32, generator=generator, dtype=dtype)
            h0 = torch.randn(8, cell.size, generator=generator, dtype=dtype)
            reference = step_by_step(cell.step, e, h0)
            cell, e, h0 = cell.cuda(), e.cuda(), h0.cuda()
            for states in (cell.sequence(e, h0), scan(cell, e, h0), step_by_step(cell.step, e, h0)):
                close(states, reference, tolerance)
            close(cell.outputs(e, h0), reference[:, 1:, cell.output], tolerance)
            with torch.no_grad():
                close(cell.sequence(e, h0), reference, tolerance)


def test_gradients_flow_in_eval_mode():
    """cuDNN refuses this for torch.nn modules."""
    for arch in CELLS:
        network = Network(["<unk>", "not", "good"], arch=arch, hidden=16, embedding=8).double()
        ids = torch.tensor([[1, 2, 0], [2, 2, 1]])
        gradients = {}
        for device in ("cpu", "cuda"):
            network = network.to(device).eval()
            network.zero_grad()
            network(ids.to(device), torch.tensor([3, 2], device=device)).sum().backward()
            gradients[device] = {name: p.grad.cpu() for name, p in network.named_parameters()}
        for name, gradient in gradients["cpu"].items():
            close(gradients["cuda"][name], gradient, 1e-11)


def test_mixed_precision_is_the_one_asked_for():
    for arch in CELLS:
        cell = CELLS[arch](16, 8, torch.Generator().manual_seed(0)).cuda()
        e, h0 = torch.randn(4, 6, 8, device="cuda"), torch.zeros(4, cell.size, device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            states = cell.outputs(e, h0)
        assert states.dtype in (torch.bfloat16, torch.float32), f"{arch} ran in {states.dtype}"
        close(states.float(), cell.outputs(e, h0), 0.05)


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


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name} holds on {torch.cuda.get_device_name()}")
else:
    import pytest

    pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
