"""Random sentences, and torch's own answers to them, to compare networks from torch with."""

import torch
from torch import nn

WORDS, D, H = [f"w{i}" for i in range(12)], 4, 6


def sentences(seed=0, n=200, longest=15):
    """Random ids (n, T) and lengths (n,); the ids after a sentence's end are words too, which must not be read."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (n,), generator=generator)
    return torch.randint(len(WORDS), (n, longest), generator=generator), lengths


def outputs_of(rnn, embedding, ids, lengths):
    """torch's own outputs (B, T, ·), padded with zeros, and its last hidden states (B, ·), both directions joined."""
    e = embedding(ids)
    e = e if rnn.batch_first else e.transpose(0, 1)
    packed = nn.utils.rnn.pack_padded_sequence(e, lengths, batch_first=rnn.batch_first, enforce_sorted=False)
    padded, last = rnn(packed)
    last = last[0] if isinstance(last, tuple) else last
    outputs, _ = nn.utils.rnn.pad_packed_sequence(padded, batch_first=True)
    return outputs, last[-2:].transpose(0, 1).flatten(1) if rnn.bidirectional else last[-1]


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def close(ours, reference, atol=1e-5):
    torch.testing.assert_close(ours, reference, rtol=0, atol=atol)


def exact(ours, reference, atol=1e-10):
    torch.testing.assert_close(ours, reference, rtol=0, atol=atol)
