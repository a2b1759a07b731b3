"""The fast augmented bag of words equals a literal reading of the paper's equations, and has as many parameters."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import torch

from rnnlens import RnnlensError
from rnnlens.baselines import BASELINES, BagOfWords, ModifierConvolution
from rnnlens.baselines.centring import Average, average_weights, fold, means, offsets, settle
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
                    total += alpha * filtered * model.beta_mod[word, p].item()
        if shape.edges:
            for k, steps in enumerate((t, T - 1 - t)):
                gain = model.edge_alpha[k].item() * math.exp(-steps / model.edge_log_tau[k].exp().item())
                total += gain * (model.beta_edges[word, k] if shape.own_edges else model.beta[word]).item()
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
    with torch.no_grad():  # reading goes another way than training
        torch.testing.assert_close(model(ids, lengths), logits, atol=1e-12, rtol=1e-12)


def test_words_that_push_both_ways_end_at_or_near_zero():
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 400)
    texts = [f"{('bad', 'good')[y]} w{generator.integers(20)} w{generator.integers(20)}" for y in labels]
    dense, sparse = (BagOfWords(l1=l1, l2=0.0, word_dropout=0.2, epochs=30).fit(texts, labels) for l1 in (0.0, 0.6))
    weights = [dict(zip(model.vocab_.words, model.model_.beta.tolist(), strict=True)) for model in (dense, sparse)]
    assert sum(weight == 0 for weight in weights[0].values()) <= 1  # <unk>, which was never read
    assert all(abs(weights[1][f"w{k}"]) < 1e-3 for k in range(20))
    assert weights[1]["good"] > 0.1 and weights[1]["bad"] < -0.1


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

    gradient = dict(zip(parameters, torch.autograd.grad(total(parameters), list(parameters.values())), strict=True))
    for name, value in parameters.items():
        nudge = torch.randn(value.shape, generator=torch.Generator().manual_seed(6), dtype=torch.float64)
        step = 1e-6
        moved = [total({**parameters, name: value + sign * step * nudge}).item() for sign in (1, -1)]
        assert (moved[0] - moved[1]) / (2 * step) == pytest.approx((gradient[name] * nudge).sum().item(), rel=1e-5)


MIXED = Shape(W, MODIFIERS, edges=True, own_edges=True)  # none of the paper's, but possible


@pytest.mark.parametrize("shape", [*list(SHAPES.values())[1:], MIXED], ids=[*list(SHAPES)[1:], "mixed"])
def test_a_centred_model_folds_into_the_papers_form(shape):
    model = filled(shape)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.mul_(0.3 if "alpha" in name else 1)
    generator = torch.Generator().manual_seed(6)
    share = torch.rand(len(shape.modifiers), generator=generator).double() / W
    average = Average(share, torch.tensor([40.0, 9.0]).double(), 1.0)
    model.offsets = partial(offsets, model, average)
    ids, lengths = torch.randint(-1, W, (3, 40), generator=generator), torch.tensor([40, 3, 17])
    centred = model(ids, lengths)
    plain = filled(shape)
    plain.load_state_dict(model.state_dict())
    assert not torch.allclose(plain(ids, lengths), centred)
    fold(model, average)
    assert model.offsets is None
    torch.testing.assert_close(model(ids, lengths), centred, atol=1e-9, rtol=1e-9)
    truth = [literal(model, row[:n].tolist()) for row, n in zip(ids, lengths.tolist(), strict=True)]
    torch.testing.assert_close(centred, torch.tensor(truth, dtype=torch.float64), atol=1e-9, rtol=1e-9)


def test_means_are_means():
    """Over long documents of random words, with and without dropped ones."""
    model = filled(Shape(W, MODIFIERS, own_weights=True, factored=True, edges=True, own_edges=True, first_lag=1))
    with torch.no_grad():
        model.log_tau.fill_(1.0), model.edge_log_tau.fill_(2.0)
    generator = torch.Generator().manual_seed(8)
    ids, T = torch.randint(0, W, (200, 300), generator=generator), 300
    average = Average(torch.full((M,), 1 / W).double(), torch.tensor([float(T)]).double(), 0.6)
    for kept in (1.0, 0.6):
        some = ids.masked_fill(torch.rand(ids.shape, generator=generator) > kept, -1)
        gains = model.gains(some, model.tables().modifiers)[:, 50:].mean((0, 1))
        edges = [gain.mean() for gain in model.edge_gains(torch.full((200,), T), T)]
        *by_component, begin, end = means(model, average, kept)
        torch.testing.assert_close(torch.stack(by_component), gains, rtol=0.1, atol=0.01)
        torch.testing.assert_close(torch.stack([begin, end]), torch.stack(edges))
    settle(model, average)
    typical = torch.stack([model.contributions(ids, torch.full((200,), T))[ids == word].mean() for word in range(W)])
    torch.testing.assert_close(average_weights(model), typical, rtol=0.1, atol=0.15)


# --- estimators -------------------------------------------------------------------------------------------------------


def reviews(n=600, seed=0):
    """Texts whose label needs `not`: it flips the word after it."""
    generator = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        total, words = 0, []
        for _ in range(int(generator.integers(2, 6))):
            valence = int(generator.choice([-1, 1]))
            words += generator.choice(["the", "film", "was", "long"], int(generator.integers(3, 9))).tolist()
            negated = generator.random() < 0.35
            words += ["not" if negated else str(generator.choice(["so", "and"])), "good" if valence > 0 else "bad"]
            total += -valence if negated else valence
        if total:
            texts.append(" ".join(words))
            labels.append("pos" if total > 0 else "neg")
    return texts, labels


@pytest.fixture(scope="module")
def fitted():
    options = {"epochs": 60, "learning_rate": 0.05, "word_dropout": 0.0, "min_count": 1, "l2": 1e-5}
    texts, labels = reviews()
    words = ModifierConvolution(["not", "so"], **options).fit(texts, labels)
    return words, BagOfWords(**options).fit(texts, labels), options


def test_a_modifier_is_learnt_where_a_bag_of_words_fails(fitted):
    words, bag, _ = fitted
    texts, labels = reviews(seed=1)
    assert words.score(texts, labels) > 0.95 and bag.score(texts, labels) < 0.75
    table = {row["word"]: row for row in words.modifiers_.to_dicts()}
    assert table["not"]["strength"] < -1 < 0 < table["not"]["tau"] and abs(table["so"]["strength"]) < 1


def test_probabilities_and_classes_agree(fitted):
    words, _, _ = fitted
    texts = ["so good", "not good", "nothing known here", ""]
    probabilities = words.predict_proba(texts)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert words.predict(texts)[:2].tolist() == ["pos", "neg"]
    assert ((probabilities[:, 1] > 0.5) == (words.decision_function(texts) > 0)).all()
    assert words.decision_function(texts)[2] == pytest.approx(words.decision_function(texts)[3])


def test_explanations_sum_to_the_logit(fitted):
    words, _, _ = fitted
    text = "the the not good so bad"
    found = words.explain(text)
    assert found.logit == pytest.approx(float(words.decision_function([text])[0]), abs=1e-4)
    good = found.words[3]
    assert good.base > 0 > good.total and good.changes[0].by == "not" and good.changes[0].distance == 1
    assert "by not at distance 1" in str(found)
    hostile = words.explain("<script>alert(1)</script> not good")._repr_html_()
    assert "<script>" not in hostile


def test_a_model_with_modifiers_is_not_opened_as_one_without(tmp_path):
    texts, labels = ["not good", "good", "bad", "not bad"] * 5, [0, 1, 0, 1] * 5
    ModifierConvolution(["not"], min_count=1, epochs=1).fit(texts, labels).save(tmp_path / "model")
    with pytest.raises(RnnlensError, match="the model has modifiers"):
        BagOfWords.load(tmp_path / "model")
    bag = BagOfWords(min_count=1, epochs=1, l1=Fraction(1, 8)).fit(texts, labels)
    assert BagOfWords.load(bag.save(tmp_path / "bag")).l1 == 0.125


def test_learnt_modifiers_are_those_that_matter():
    texts, labels = reviews()
    model = ModifierConvolution(
        "learn", epochs=30, learning_rate=0.05, word_dropout=0.0, min_count=1, sparsity=3e-3, l2=1e-5
    ).fit(texts, labels)
    strengths = {row["word"]: abs(row["strength"]) for row in model.modifiers_.to_dicts()}
    assert max(strengths, key=strengths.get) == "not" and strengths["not"] > 5 * strengths["the"]


def test_the_six_models_fit():
    texts, labels = reviews(60)
    for name, options in BASELINES.items():
        words = {} if "modifiers" in options else {"modifiers": ["not"]}
        model = ModifierConvolution(**options, **words, epochs=1, min_count=1).fit(texts, labels)
        assert model.predict(texts).shape == (len(texts),), name


@pytest.mark.parametrize(
    "fit",
    [
        lambda: BagOfWords(epochs=1).fit(["a", "b", "c"] * 9, [0, 1, 2] * 9),  # would be the first class or not
        lambda: BagOfWords(epochs=1).fit(["a", "b"] * 9, [1, 0] * 9).predict("one text"),  # letters would be texts
        lambda: ModifierConvolution("all", epochs=1).fit(["a", "b"] * 9, [1, 0] * 9),  # and words here
        lambda: ModifierConvolution(["a"], first_lag=2, epochs=1).fit(["a", "b"] * 9, [1, 0] * 9),
        lambda: BagOfWords(l1=-1).fit(["a", "b"] * 9, [1, 0] * 9),
    ],
)
def test_what_would_be_wrong_without_a_word_is_refused(fit):
    with pytest.raises(RnnlensError):
        fit()


def test_classes_weigh_the_same_where_asked(tmp_path):
    """Nine texts in ten are positive, and the words say nothing: balanced, both classes are as likely."""
    texts, labels = ["the movie"] * 100, [1] * 90 + [0] * 10
    common = {"min_count": 1, "epochs": 40, "word_dropout": 0.0, "learning_rate": 0.05}
    plain, balanced, other = (
        BagOfWords(**common, class_weight=some).fit(texts, labels).predict_proba(["the movie"])[0, 1]
        for some in (None, "balanced", {0: 9.0, 1: 1.0})
    )
    assert plain > 0.8 and balanced == pytest.approx(0.5, abs=0.03) and other == pytest.approx(0.5, abs=0.03)
    model = BagOfWords(**common, class_weight={0: 9.0, 1: 1.0}).fit(texts, labels)
    model.save(tmp_path / "bag")
    assert BagOfWords.load(tmp_path / "bag").class_weight == {0: 9.0, 1: 1.0}
