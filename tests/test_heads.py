"""Networks of the usual kinds are torch's own: several layers, projections, heads that are not linear, mean pooling."""

import pytest
import torch
from tests.handmade import handmade
from tests.torch_networks import WORDS, D, H, close, outputs_of, sentences
from torch import nn

import rnnlens
from rnnlens import Probes, RnnlensError, adapt, from_torch, jacobians, project_out
from rnnlens.context.dose_response import steered_strengths
from rnnlens.context.effects import effects, linear_effects
from rnnlens.context.strength import strengths
from rnnlens.dynamics import word_effects
from rnnlens.page.live import live

directions = pytest.mark.parametrize("batch_first", [True, False], ids=["batch first", "time first"])
depths = pytest.mark.parametrize("layers", [1, 2, 3])


# --- several layers and projections -----------------------------------------------------------------------------------


@depths
@directions
@pytest.mark.parametrize("kind", ["gru", "lstm", "proj_size", "no bias"])
def test_stacks_and_projections_are_torchs_own(kind, layers, batch_first):
    torch.manual_seed(layers)
    options = {"num_layers": layers, "batch_first": batch_first, "dropout": 0.5 if layers > 1 else 0.0}
    options |= {"proj_size": {"proj_size": 3}, "no bias": {"proj_size": 2, "bias": False}}.get(kind, {})
    rnn = (nn.GRU if kind == "gru" else nn.LSTM)(D, H, **options)
    embedding, head = nn.Embedding(len(WORDS), D), nn.Linear(options.get("proj_size", H), 1)
    network, (ids, lengths) = from_torch(rnn, embedding, head, WORDS), sentences()
    rnn.eval()  # only now: dropout between layers is never part of the network
    with torch.no_grad():
        close(network(ids, lengths), head(outputs_of(rnn, embedding, ids, lengths)[1]).squeeze(1))
        states = network.states(ids)
        close(states[:, 1:], torch.stack([network.step(states[:, t], embedding(ids[:, t])) for t in range(15)], 1))


@directions
@pytest.mark.parametrize("pooling", [None, "mean"])
def test_five_classes_on_several_layers_are_torchs_own(pooling, batch_first):
    ids, lengths = sentences()
    for layers, kind, sizes in ((1, nn.GRU, {}), (2, nn.LSTM, {"proj_size": 3}), (3, nn.LSTM, {}), (3, nn.GRU, {})):
        torch.manual_seed(layers)
        rnn, units = kind(D, H, layers, batch_first=batch_first, **sizes), sizes.get("proj_size", H)
        embedding = nn.Embedding(len(WORDS), D)
        for head in (nn.Linear(units, 5), nn.Sequential(nn.Linear(units, 7), nn.ReLU(), nn.Linear(7, 5))):
            network = from_torch(rnn, embedding, head, WORDS, classes=list("abcde"), pooling=pooling)
            with torch.no_grad():
                outputs, last = outputs_of(rnn, embedding, ids, lengths)
                close(network(ids, lengths), head(last if pooling is None else outputs.sum(1) / lengths.unsqueeze(1)))


@pytest.mark.parametrize("layers", [1, 2])
def test_jacobians_of_projected_lstms_are_autograds(layers):
    torch.manual_seed(0)
    rnn = nn.LSTM(D, H, proj_size=3, num_layers=layers).double()
    network = from_torch(rnn, torch.randn(len(WORDS), D).double(), nn.Linear(3, 1), WORDS)
    h, e = torch.randn(5, network.size).double(), torch.randn(5, D).double()

    def step(h, e):  # torch's own module on one state, whose parts are joined as ours are
        parts = [part.split([3, H]) for part in h.split(3 + H)]
        state = [torch.stack(part).unsqueeze(1) for part in zip(*parts, strict=True)]
        _, (new, c) = rnn(e.view(1, 1, D), tuple(state))
        return torch.cat([new[:, 0], c[:, 0]], 1).flatten()

    both = [torch.autograd.functional.jacobian(step, point) for point in zip(h, e, strict=True)]
    for ours, reference in zip(jacobians(network, h, e), zip(*both, strict=True), strict=True):
        close(ours, torch.stack(reference), atol=1e-10)


def test_a_projected_lstm_starts_from_torchs_own_state():
    torch.manual_seed(0)
    rnn, embedding, head = nn.LSTM(D, H, 2, proj_size=3), nn.Embedding(len(WORDS), D), nn.Linear(3, 1)
    start, ids = (torch.randn(2, 1, 3), torch.randn(2, 1, H)), sentences()[0][:1]
    network = from_torch(rnn, embedding, head, WORDS, initial_state=start)
    with torch.no_grad():
        close(network(ids), head(rnn(embedding(ids[0]).unsqueeze(1), start)[0][-1])[0])


# --- heads that are not linear ----------------------------------------------------------------------------------------


class Custom(nn.Module):
    """An MLP that is no `nn.Sequential`."""

    def __init__(self, outputs):
        super().__init__()
        self.hidden, self.out, self.dropout = nn.Linear(H, 5), nn.Linear(5, outputs), nn.Dropout(0.5)

    def forward(self, h):
        return self.out(self.dropout(torch.tanh(self.hidden(h))))


def mlp(outputs=1):
    return nn.Sequential(nn.Linear(H, 5), nn.LayerNorm(5), nn.GELU(), nn.Dropout(0.5), nn.Linear(5, outputs))


HEADS = {
    "tanh": lambda k: nn.Sequential(nn.Linear(H, 5), nn.Tanh(), nn.Linear(5, k)),
    "nested": lambda k: nn.Sequential(nn.Dropout(0.3), nn.Sequential(nn.Linear(H, 7), nn.ReLU()), nn.Linear(7, k)),
    "layer norm": mlp,
    "three layers": lambda k: nn.Sequential(nn.Linear(H, 5), nn.Sigmoid(), nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, k)),
    "linear": lambda k: nn.Sequential(nn.Dropout(0.5), nn.Linear(H, k)),
    "own module": Custom,
    "ends in tanh": lambda k: nn.Sequential(nn.Linear(H, k), nn.Tanh()),
}


def gru_with(head, **options):
    torch.manual_seed(1)
    rnn, embedding = nn.GRU(D, H, batch_first=True), nn.Embedding(len(WORDS), D)
    return rnn, embedding, from_torch(rnn, embedding, head, WORDS, **options)


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("outputs", [1, 2, 4])
def test_heads_are_evaluated_exactly(name, outputs):
    torch.manual_seed(0)
    head = HEADS[name](outputs)
    options = {1: {}, 2: {"target": 1}, 4: {"classes": ["a", "b", "c", "d"]}}[outputs]
    rnn, embedding, network = gru_with(head, **options)
    assert (network.features is None) == (name == "linear")
    ids, lengths = sentences()
    head.eval()
    with torch.no_grad():
        scores = head(outputs_of(rnn, embedding, ids, lengths)[1])
        expected = {1: scores[:, 0], 2: scores[:, -1] - scores[:, 0], 4: scores}[outputs]
        close(network.train()(ids, lengths), expected)
        close(network.logit(network.states(ids)), network.logits(ids))
        if outputs == 4:
            one = network.of_class("b")
            close(one(ids, lengths), scores[:, 1] - scores[:, [0, 2, 3]].mean(1))


@pytest.mark.parametrize("cell", ["gru", "stack"])
def test_readouts_and_effects_through_a_head_are_autograds(cell):
    torch.manual_seed(0)
    head, rnn = mlp().double(), nn.GRU(D, H, num_layers=1 if cell == "gru" else 2).double()
    network = from_torch(rnn, torch.randn(len(WORDS), D).double(), head, WORDS)
    head.eval()
    h, e = torch.randn(5, network.size).double(), torch.randn(5, D).double()
    slopes = torch.func.vmap(torch.func.jacrev(lambda h: head(h[network.cell.output])[0]))(h)
    close(network.readout_at(h), slopes, atol=1e-12)

    def logit(h, e):
        return head(network.step(h, e)[network.cell.output])[0]

    by_word = torch.func.vmap(torch.func.jacrev(logit, 1))(h, e)
    close(word_effects(network, h, e), (by_word @ network.E.T).detach(), atol=1e-12)
    at_blank = torch.func.vmap(torch.func.jacrev(logit, 1))(h, torch.zeros_like(e))
    close(linear_effects(network, h, e), at_blank @ e.T, atol=1e-12)
    exact = torch.stack([head(network.step(h, word.expand(5, -1))[:, network.cell.output])[:, 0] for word in e], 1)
    blank = head(network.step(h)[:, network.cell.output])
    close(effects(network, h, e), (exact - blank).detach(), atol=1e-12)


def test_an_analysis_says_how_nearly_linear_a_head_is():
    network, _ = handmade()
    body = nn.Linear(network.size, 1).double()
    with torch.no_grad():
        body.weight.copy_(network.w), body.bias.zero_()

    def through(head):
        made = adapt(network.step, network.E, head, network.vocab, network.h0)
        return rnnlens.analyze(made, probes=Probes(positive=["good", "great"], negative=["bad", "awful"]))

    class Scaled(nn.Module):
        """tanh, with a slope of 1 at 0."""

        def __init__(self, scale):
            super().__init__()
            self.body, self.scale = body, scale

        def forward(self, h):
            return self.scale * torch.tanh(self.body(h) / self.scale)

    straight, bent = through(Scaled(1e4)), through(Scaled(2.0))
    plain = rnnlens.analyze(network, probes=straight.probes)
    assert "head" not in plain.results and straight.results["head"]["linearized_r2"] > 0.999
    assert not any("head" in warning for warning in straight.warnings)
    assert straight.modifiers["not"]["strength"] == pytest.approx(plain.modifiers["not"]["strength"], abs=1e-3)
    assert bent.results["head"]["linearized_r2"] < 0.9
    assert any("the head is not linear" in warning for warning in bent.warnings)
    assert "a head that is not linear" in live(bent.network, {}, {}, {"positive": [], "negative": []}).why_not


def test_projecting_out_keeps_the_head():
    _, _, network = gru_with(mlp())
    without = project_out(network, torch.eye(H)[:1], network.h0)
    with torch.no_grad():
        ids, _ = sentences(n=5)
        h = without.states(ids)
        assert (h[..., 0] == network.h0[0]).all()
        close(without.logits(ids), network.logit(h))


def test_a_steered_network_keeps_the_head():
    network, _ = handmade()
    body = nn.Sequential(nn.Linear(network.size, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    made = adapt(network.step, network.E, body, network.vocab, network.h0)
    probes = Probes(positive=["good", "great"], negative=["bad", "awful"])
    line = rnnlens.fit_line_attractor(made, rnnlens.find_fixed_points(made, rnnlens.visited_states(made, n=500)))
    modifiers = rnnlens.find_modifiers(made, line, probes=probes)
    V, rows = torch.linalg.qr(torch.randn(network.size, 2).double())[0].T, torch.tensor([4, 5])
    ours = steered_strengths(made, modifiers, rows, V, [0.0, 1.0, 2.0])
    for gain, found in zip((0.0, 1.0, 2.0), ours, strict=True):
        exact = strengths(rnnlens.steer(made, V, gain), line, modifiers.ids[rows], probes).strength
        close(torch.from_numpy(found), exact, atol=1e-9)


# --- mean pooling -----------------------------------------------------------------------------------------------------


@directions
@pytest.mark.parametrize("kind", ["gru", "two layers", "proj_size", "mlp"])
def test_mean_pooling_is_torchs_mean_over_each_sentences_own_words(kind, batch_first):
    torch.manual_seed(0)
    options = {"two layers": {"num_layers": 2}, "proj_size": {"proj_size": H - 2}}.get(kind, {})
    rnn = (nn.LSTM if kind == "proj_size" else nn.GRU)(D, H, batch_first=batch_first, **options)
    embedding = nn.Embedding(len(WORDS), D)
    head = mlp() if kind == "mlp" else nn.Linear(H - 2 if kind == "proj_size" else H, 1)
    network = from_torch(rnn, embedding, head.eval(), WORDS, pooling="mean")
    ids, lengths = sentences()
    with torch.no_grad():
        outputs, _ = outputs_of(rnn, embedding, ids, lengths)
        close(network(ids, lengths), head(outputs.sum(1) / lengths.unsqueeze(1)).squeeze(1))
        states = network.states(ids)
        close(states[:, 1:], torch.stack([network.step(states[:, t], embedding(ids[:, t])) for t in range(15)], 1))
        assert (states[..., -1] == torch.arange(16)).all()  # the number of words read
        text = ids[0, : lengths[0]]
        read = network.read(words=[WORDS[i] for i in text])
        close(torch.tensor(read[-1][1]), network(ids, lengths)[0])
        later = network.states(ids[:, 7:], h0=states[:, 7])  # a sentence may be continued
        close(later, states[:, 7:])


def test_blank_inputs_count_as_words_of_the_mean():
    rnn, embedding, head = nn.GRU(D, H, batch_first=True), nn.Embedding(len(WORDS), D), nn.Linear(H, 1)
    network = from_torch(rnn, embedding, head, WORDS, pooling="mean")
    ids = torch.tensor([[1, -1, 2]])
    with torch.no_grad():
        e = embedding(ids.clamp(min=0)) * (ids >= 0).unsqueeze(-1)
        close(network(ids), head(rnn(e)[0].mean(1))[:, 0])


def test_a_pooled_network_never_rests_and_its_last_state_is_analyzed():
    torch.manual_seed(0)
    rnn, embedding, head = nn.GRU(D, H), nn.Embedding(len(WORDS), D), nn.Linear(H, 1)
    network = from_torch(rnn, embedding, head, WORDS, pooling="mean")
    with pytest.raises(RnnlensError, match="no fixed points"):
        rnnlens.find_fixed_points(network, network.h0.detach().unsqueeze(0))
    last, ids = rnnlens.unpooled(network), sentences(n=5)[0]
    assert last.arch == "gru"
    with torch.no_grad():
        close(last(ids), from_torch(rnn, embedding, head, WORDS)(ids))
        close(network(ids), last.logits(ids)[:, 1:].mean(1))
