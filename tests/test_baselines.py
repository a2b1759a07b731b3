"""The fast augmented bag of words equals a literal reading of the paper's equations, and has as many parameters."""

import math

import pytest
import torch

from rnnlens.baselines.convolution import Convolution, Shape

W, M, P = 30, 7, 3
MODIFIERS = tuple(range(3, 3 + M))
SHAPES = {
    "bow": Shape(W),
    "edges": Shape(W, edges=True),
    "edges+beta": Shape(W, edges=True, own_edges=True),
    "comw": Shape(W, MODIFIERS),
    "comw+beta": Shape(W, MODIFIERS, own_weights=True, components=P),
    "all": Shape(W, MODIFIERS, own_weights=True, components=P, edges=True, own_edges=True),
    "factored": Shape(W, MODIFIERS, own_weights=True, components=P, factored=True),
    "lag 1": Shape(W, MODIFIERS, first_lag=1),
}


def literal(model: Convolution, words: list[int]) -> float:
    """Supp. G, word by word."""
    shape, T = model.shape, len(words)
    total = model.bias.item()
    taus = model.log_tau.exp().tolist() if shape.modifiers else []
    for t, word in enumerate(words):
        if word < 0:
            continue
        total += model.beta[word].item()
        for s in range(t - shape.first_lag + 1):
            if words[s] not in shape.modifiers:
                continue
            m = shape.modifiers.index(words[s])
            filtered = math.exp(-(t - s) / taus[m])
            if not shape.own_weights:
                total += model.alpha[m, 0].item() * filtered * model.beta[word].item()
            else:
                for p in range(shape.components):
                    alpha = model.alpha[m, p if shape.factored else 0].item()
                    total += alpha * filtered * model.beta_mod[p, word].item()
        if shape.edges:
            for k, steps in enumerate((t, T - 1 - t)):
                gain = model.edge_alpha[k].item() * math.exp(-steps / model.edge_log_tau[k].exp().item())
                total += gain * (model.beta_edges[k, word] if shape.own_edges else model.beta[word]).item()
    return total


def filled(shape: Shape) -> Convolution:
    model = Convolution(shape).double()
    generator = torch.Generator().manual_seed(3)
    for parameter in model.parameters():
        with torch.no_grad():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


@pytest.mark.parametrize("name", SHAPES)
def test_the_fast_pass_is_the_papers_equation(name):
    model = filled(SHAPES[name])
    generator = torch.Generator().manual_seed(4)
    lengths = torch.tensor([1, 5, 16, 17, 50])
    ids = torch.randint(-1, W, (5, 50), generator=generator)
    logits = model(ids, lengths)
    truth = [literal(model, row[:n].tolist()) for row, n in zip(ids, lengths.tolist(), strict=True)]
    torch.testing.assert_close(logits, torch.tensor(truth, dtype=torch.float64), atol=1e-9, rtol=1e-9)


def test_parameters_are_as_many_as_the_paper_counts():
    counts = {name: shape.parameters for name, shape in SHAPES.items()}
    assert counts["bow"] == W + 1
    assert counts["comw"] == W + 1 + 2 * M
    assert counts["edges"] == W + 1 + 4
    assert counts["comw+beta"] == W + 1 + 2 * M + P * W
    assert counts["edges+beta"] == W + 1 + 4 + 2 * W
    assert counts["all"] == W + 1 + 4 + 2 * W + 2 * M + P * W
    for name, shape in SHAPES.items():
        assert sum(parameter.numel() for parameter in Convolution(shape).parameters()) == counts[name]


def test_gradients_are_those_of_the_equation():
    model = filled(SHAPES["all"])
    ids, lengths = torch.randint(0, W, (2, 40), generator=torch.Generator().manual_seed(5)), torch.tensor([40, 23])
    parameters = dict(model.named_parameters())

    def total(values):
        return torch.func.functional_call(model, values, (ids, lengths)).sum()

    gradient = torch.func.grad(total)({name: value.detach() for name, value in parameters.items()})
    for name, value in parameters.items():
        nudge = torch.randn(value.shape, generator=torch.Generator().manual_seed(6), dtype=torch.float64)
        step = 1e-6
        moved = [total({**parameters, name: value + sign * step * nudge}).item() for sign in (1, -1)]
        assert (moved[0] - moved[1]) / (2 * step) == pytest.approx((gradient[name] * nudge).sum().item(), rel=1e-5)
