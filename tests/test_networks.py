"""A network reads padded, batched and single reviews alike, and quotes bad input back."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlens import Corpus, Network, RnnlensError, Vocab, adapt, from_torch, train
from rnnlens.corpora import PAD
from rnnlens.networks import ARCHITECTURES, CELLS

WORDS = ["<unk>", "not", "bad", "at", "all", "good"]
archs = pytest.mark.parametrize("arch", ARCHITECTURES)


def make(arch="gru"):
    return Network(WORDS, arch=arch, hidden=6, embedding=3).double()


documents = st.lists(st.lists(st.integers(PAD, len(WORDS) - 1), min_size=0, max_size=9), min_size=1, max_size=6)


@archs
@settings(max_examples=15, deadline=None)
@given(docs=documents, extra=st.integers(0, 4), seed=st.integers(0, 99))
def test_logits_do_not_depend_on_padding_batching_or_order(arch, docs, extra, seed):
    network = make(arch)
    width = max(1, *(len(doc) for doc in docs)) + extra
    filler = np.random.default_rng(seed).integers(
        0, len(WORDS), (len(docs), width)
    )  # anything may stand behind a review
    ids, lengths = torch.from_numpy(filler), torch.tensor([len(doc) for doc in docs])
    for row, doc in enumerate(docs):
        ids[row, : len(doc)] = torch.tensor(doc, dtype=torch.long)
    batched = network(ids, lengths)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(docs)))
    torch.testing.assert_close(network(ids[order], lengths[order]), batched[order], rtol=0, atol=1e-12)
    for row, doc in enumerate(docs):
        single = network(torch.tensor([doc], dtype=torch.long))
        torch.testing.assert_close(batched[row : row + 1], single, rtol=0, atol=1e-12)


@archs
def test_states_begin_with_h0_and_read_out_to_the_logits(arch):
    network = make(arch)
    ids = torch.tensor([[1, 2, PAD, 5]])
    states = network.states(ids)
    assert states.shape == (1, 5, network.size)
    torch.testing.assert_close(states[0, 0], network.h0)
    torch.testing.assert_close(network.logit(states), network.logits(ids), rtol=0, atol=1e-13)
    torch.testing.assert_close(states @ network.w + network.b, network.logits(ids), rtol=0, atol=1e-13)
    h = network.h0
    for t, token in enumerate(ids[0]):
        h = network.step(h, network.embed(token))
        torch.testing.assert_close(states[0, t + 1], h, rtol=0, atol=1e-12)


@archs
def test_an_empty_review_is_the_initial_state(arch):
    network, nothing = make(arch), torch.zeros(2, 0, dtype=torch.long)
    states = network.states(nothing)
    assert states.shape == (2, 1, network.size) and network.logits(nothing).shape == (2, 1)
    torch.testing.assert_close(states[:, 0], network.h0.expand(2, -1), rtol=0, atol=0)
    torch.testing.assert_close(network(nothing), network.logit(network.h0).expand(2), rtol=0, atol=0)
    with torch.no_grad():
        states += 1
    assert network.h0.abs().sum() == 0, "states are the caller's own"


def test_pad_stays_zero_whatever_the_embedding_holds():
    network = make()
    with torch.no_grad():
        network.E[0] = torch.nan
        network.E[-1] = torch.inf
    assert network.embed(torch.tensor([PAD, 1])).isfinite().all() and network.embed(torch.tensor(PAD)).abs().sum() == 0
    network(torch.tensor([[PAD, 1]])).sum().backward()
    assert network.E.grad.isfinite().all()


def test_pad_is_the_zero_input_and_has_no_gradient():
    network = make()
    assert network.embed(torch.tensor([PAD])).abs().sum() == 0
    torch.testing.assert_close(network.step(network.h0), network.step(network.h0, torch.zeros(3).double()))
    network.embed(torch.tensor([PAD, PAD])).sum().backward()
    assert network.E.grad.abs().sum() == 0


def test_lstm_state_is_flat_and_its_readout_sees_h_only():
    network = make("lstm")
    assert network.size == 12 and network.h0.shape == (12,)
    assert network.w[6:].abs().sum() == 0 and network.w[:6].abs().sum() > 0


def test_read_gives_each_word_with_the_logit_after_it():
    network = make()
    read = network.read("Not bad, at ALL!")
    assert [word for word, _ in read] == ["not", "bad", ",", "at", "all", "!"]
    ids = torch.tensor([[1, 2, 0, 3, 4, 0]])
    assert [logit for _, logit in read] == network.logits(ids)[0, 1:].tolist()


def test_same_seed_same_network_and_global_chance_untouched():
    before = torch.get_rng_state()
    first, again, other = (Network(WORDS, hidden=4, embedding=2, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    assert not torch.equal(first.E, other.E)


def test_a_dict_of_ids_keeps_its_ids():
    assert Vocab({"bad": 2, "<unk>": 0, "not": 1}).words == ("<unk>", "not", "bad")


def test_unknown_words_take_unk_or_no_input():
    assert Vocab(WORDS).encode("zebra not").tolist() == [0, 1]
    assert Vocab(["not", "[UNK]"]).encode("zebra not").tolist() == [1, 0]
    assert Vocab(["not"]).encode("zebra not").tolist() == [PAD, 0]


def test_pad_can_be_written_in_a_sentence():
    assert Vocab(WORDS).encode("not <pad> good").tolist() == [1, PAD, 5]
    assert Vocab(["<pad>", "not"]).encode("not <pad>").tolist() == [1, 0], "a vocabulary's own pad word is that word"
    assert Vocab(WORDS).decode([1, PAD, 5]) == ["not", "<pad>", "good"]


@pytest.mark.parametrize("arch", CELLS)  # (of the others, test_recurrences)
def test_a_network_that_begins_remembering_keeps_what_it_read_for_long(arch):
    def kept(network):
        """How much of what one word did to the state is left 30 pads later."""
        h = network.h0.detach().expand(2, -1)
        h = network.step(h, torch.stack([torch.zeros(8), torch.ones(8)]).to(h))
        first = (h[1] - h[0]).norm()
        for _ in range(30):
            h = network.step(h)
        return float((h[1] - h[0]).norm() / first)

    plain, made = (Network(WORDS, arch=arch, hidden=64, embedding=8, seed=3, memory=m) for m in (0.0, 100.0))
    torch.testing.assert_close(made.E, plain.E)
    with torch.no_grad():
        assert kept(made) > 0.03
        if arch != "vanilla":  # whose rotations forget nothing
            assert kept(made) > 3 * kept(plain)
    assert made.config["memory"] == 100.0 and "memory" not in plain.config


def test_a_list_is_several_texts_and_words_are_passed_by_name():
    network = make()
    texts = ["not bad", "good"]
    assert network.read(texts) == network.read(tuple(texts)) == network.read(np.array(texts))
    assert network.read(texts) == [network.read(text) for text in texts] and network.read([]) == []
    assert network.read(words=["not", "bad"]) == network.read("not bad") == network.read(words=("not", "bad"))
    assert [word for word, _ in network.read(words=["not bad", "good"])] == ["not bad", "good"]


def test_a_network_takes_texts_where_it_takes_ids():
    network = make()
    texts = ["not bad at all", "good", "", "not"]
    one, several = network("not bad at all"), network(texts)
    assert one.shape == () and several.shape == (4,) and several.requires_grad
    assert one.item() == pytest.approx(network.read("not bad at all")[-1][1], abs=1e-12)
    expected = [network(text).item() for text in texts]
    assert several.tolist() == pytest.approx(expected, abs=1e-12)
    assert several[2].item() == pytest.approx(network.logit(network.h0).item(), abs=1e-12)


def test_predictions_are_those_of_a_scikit_learn_classifier():
    network = make()
    texts = ["not bad " * n + "good" for n in range(70)][::-1] + ["", "bad"]  # more than one batch, of many lengths
    probabilities, labels = network.predict_proba(texts), network.predict(texts)
    assert probabilities.shape == (72, 2) and labels.shape == (72,) and labels.dtype.kind == "i"
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-12)
    np.testing.assert_allclose(probabilities[:, 1], network(texts).sigmoid().detach(), rtol=1e-9)
    np.testing.assert_array_equal(labels, probabilities.argmax(1))
    np.testing.assert_array_equal(network.predict(np.array(texts)), labels)
    assert network.predict_proba([]).shape == (0, 2) and network.predict([]).shape == (0,)


def parts(outputs=1):
    return torch.nn.GRU(3, 5), torch.nn.Embedding(len(WORDS), 3), torch.nn.Linear(5, outputs)


def head(*layers):
    return from_torch(*parts()[:2], torch.nn.Sequential(*layers), WORDS)


@pytest.mark.parametrize(
    "call",
    [
        lambda: make().embed(torch.tensor([[0, -2]])),  # would be the last word but one
        lambda: make().logits(torch.zeros(2, 3)),  # numbers that are no ids
        lambda: make().logit(torch.zeros(2, 9).double()),  # a state of another network, read in part
        lambda: make()(torch.zeros(2, 3).long(), torch.tensor([2, 4])),  # more words than there are
        lambda: make().predict("not bad"),  # letters would be texts
        lambda: Vocab("not bad"),  # and words here
        lambda: Vocab({"a": 1, "b": 2}),
        lambda: from_torch(*parts(), WORDS[:4]),  # rows of other words
        lambda: from_torch(*parts(4), WORDS, classes=["a", "b", "c"]),
        lambda: from_torch(*parts(3), WORDS, target=(1, 1)),
        lambda: head(torch.nn.Linear(5, 1), torch.nn.Sigmoid()),  # probabilities in place of logits
        lambda: head(torch.nn.Softmax(0), torch.nn.Linear(5, 1)),  # over the rows of a batch
        lambda: adapt(torch.nn.GRUCell(5, 5), torch.zeros(6, 5), parts()[2], WORDS, torch.zeros(5)),  # input first
        lambda: train(make(), Corpus.from_texts(["a b", "c d"] * 9, ["x", "y"] * 9)),  # of other words
        lambda: train(Network(["a"], classes=["x", "y", "z"]), Corpus.from_ids(["a"], ([[0], [0]], [0, 1]))),
    ],
)
def test_what_would_be_wrong_without_a_word_is_refused(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RnnlensError):
        call()
