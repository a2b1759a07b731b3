"""Training on a GPU records passes by the shape of their batch. What needs no GPU; the rest is in test_gpu.py."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rnnlens import Network
from rnnlens.training import recording
from rnnlens.training.objective import Objective
from rnnlens.training.recording import Recorder, Recording, can_record, widen


@given(T=st.integers(1, 3000))
def test_a_wider_batch_is_at_most_a_sixteenth_and_seven_words_wider(T):
    ids, mask = widen(torch.zeros(2, T, dtype=torch.long), torch.ones(2, T, 3))
    assert T <= ids.shape[1] <= max(T + 7, T * 17 / 16) and mask.shape == (*ids.shape, 3)
    assert (ids[:, T:] == -1).all() and not mask[:, T:].any()


def test_batches_of_many_lengths_have_few_widths():
    widths = {widen(torch.zeros(1, T, dtype=torch.long), None)[0].shape[1] for T in range(1, 801)}
    assert len(widths) < 60 and sum(widths) < recording.MOST


def test_a_wider_batch_has_the_same_loss_and_gradients():
    network = Network(["<unk>", "not", "good"], arch="gru", hidden=6, embedding=4, seed=0).double()
    ids, lengths = torch.tensor([[1, 2, 0, 1, 2], [2, 1, 2, -1, -1]]), torch.tensor([5, 3])
    mask = torch.rand(2, 5, 4, dtype=torch.float64) * (ids != -1).unsqueeze(-1)
    found = []
    for words, kept in ((ids, mask), widen(ids, mask)):
        network.zero_grad()
        loss, correct, _ = Objective(network)(words, lengths, torch.tensor([1.0, 0.0]), kept, None)
        loss.backward()
        found.append([loss.detach(), correct, *(p.grad.clone() for p in network.parameters())])
    for here, there in zip(*found, strict=True):
        torch.testing.assert_close(here, there, rtol=0, atol=1e-7)


def test_a_pass_is_recorded_when_its_shape_comes_again_while_there_is_room(monkeypatch):
    monkeypatch.setattr(recording, "MOST", 20)
    computed, recorded, launched = [], [], []

    class Graph:
        replay = staticmethod(lambda: launched.append(1))

    def compute(batch, weight):
        computed.append(tuple(batch[0].shape))
        return torch.zeros(3)

    recorder = Recorder(compute, [])

    def record(batch, weight):
        recorded.append(tuple(batch[0].shape))
        return Recording(Graph(), tuple(None if part is None else part.clone() for part in batch), torch.ones(3))

    monkeypatch.setattr(recorder, "_record", record)

    def read(width, value=0):
        ids = torch.full((2, width), value)
        recorder((ids, torch.tensor([width, 1]), torch.zeros(2), None, None), 0.5)
        return next((r.batch[0] for key, r in recorder.recordings.items() if key[0][0] == (2, width)), None)

    assert read(8) is None and computed == [(2, 8)] and not recorded
    assert (read(8, 7) == 7).all() and recorded == [(2, 8)] and len(launched) == 1
    assert (read(8, 9) == 9).all() and recorded == [(2, 8)] and len(launched) == 2  # the words of the new batch
    read(16)
    assert read(16) is None and read(16) is None and recorded == [(2, 8)]  # 8 + 16 words would be too many


def test_recordings_share_the_memory_of_their_batches():
    recorder = Recorder(lambda batch, weight: torch.zeros(3), [])

    def held(T):
        ids = torch.zeros(2, T, dtype=torch.long)
        return recorder._held((ids, torch.ones(2), torch.zeros(2), torch.ones(2, T, 3), None))

    batches = [held(16), held(8), held(12), held(24)]
    assert [tuple(batch[3].shape) for batch in batches] == [(2, 16, 3), (2, 8, 3), (2, 12, 3), (2, 24, 3)]
    for part in (0, 3):
        first, second, third, fourth = (batch[part].data_ptr() for batch in batches)
        assert first == second == third != fourth
    assert len({batch[1].data_ptr() for batch in batches}) == 1


def test_nothing_is_recorded_once_memory_has_run_out(monkeypatch):
    computed = []
    recorder = Recorder(lambda batch, weight: computed.append(1) or torch.ones(3), [])

    def record(batch, weight):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(recorder, "_record", record)
    batch = torch.zeros(2, 8), torch.ones(2), torch.zeros(2), None, None
    for _ in range(4):
        assert recorder(batch, 0.5).all()
    assert len(computed) == 4 and not recorder.most and not recorder.recordings

    def too_much(batch, weight):
        raise torch.OutOfMemoryError("CUDA out of memory")

    recorder.compute = too_much
    with pytest.raises(torch.OutOfMemoryError):
        recorder(batch, 0.5)


def test_passes_with_hooks_or_detection_of_anomalies_are_not_recorded():
    """A hook is called at every step; a graph would call it once."""
    parameters = [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2), False)]
    assert can_record(parameters)
    for hook in ("register_hook", "register_post_accumulate_grad_hook"):
        held = getattr(parameters[0], hook)(lambda gradient: None)
        assert not can_record(parameters)
        held.remove()
        assert can_record(parameters)
    with pytest.warns(UserWarning, match="Anomaly"), torch.autograd.detect_anomaly():
        assert not can_record(parameters)
