"""Record the golden numbers: python -m tests.golden.record

Each group of quantities is one small function. Counts, and lists whose order rounding could change, are left out.
Nearly everything is computed in double precision, so that other orders of summation give the same nine digits.
"""

from __future__ import annotations

import json
import random
import tempfile
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tests.golden.networks import (
    CLASSES,
    OURS,
    PROBES,
    TEXTS,
    TORCH,
    TRANSFORMERS,
    WORDS,
    D,
    H,
    filled,
    numbers,
    of_ours,
    of_torch,
)
from tests.handmade import Documents, handmade
from tests.handmade_classes import handmade_classes, visited
from torch import Tensor, nn

import rnnlens
from rnnlens.baselines import BASELINES, ModifierConvolution

FILE = Path(__file__).with_name("golden.json")
DIGITS = 9

# The largest difference that passes, as a share of the largest absolute value of the recorded array.
USUAL = 1e-5
TOLERANCE = {  # by group or by "group: quantity", the longest match first
    "reviews": 1e-5,
    "trained": 1e-4,  # single precision, twenty steps of Adam
    "toy": 1e-4,  # the same, sixty steps
    "baselines": 1e-4,
    "rest fitted readout": 1e-4,  # an optimizer's own tolerance
}

Quantities = Mapping[str, Any]
GROUPS: dict[str, Callable[[], Quantities]] = {}


def group(function: Callable[[], Quantities]) -> Callable[[], Quantities]:
    GROUPS[function.__name__.replace("_", " ")] = function
    return function


# --- the packaged networks --------------------------------------------------------------------------------------------

PACKAGED = ("gru", "lstm", "ugrnn", "vanilla")
SENTENCES = [
    "good", "not good", "a wonderful film", "this was a terrible waste of time", "not bad at all", "i don't like it",
    "the plot is thin but the actors are great", "it is extremely boring", "never dull and always funny",
    "i have seen worse", "hardly a masterpiece", "an excellent story, told without any humor", "nothing works here",
    "the best movie of the year", "too long and far too loud", "i would not recommend this to anyone",
    "you should see it", "despite the bad reviews, i loved it", "it could have been better",
    "perfect from the first minute to the last",
]  # fmt: skip
TABLE = [
    "not", "no", "never", "nothing", "isn't", "don't", "doesn't", "wasn't", "very", "really", "so", "too", "most",
    "more", "least", "definitely", "highly", "just", "only", "even", "but", "if", "without", "would", "should", "could",
    "have", "the", "a", "movie", "film", "story", "good", "great", "best", "love", "bad", "worst", "excellent", "wrong",
]  # fmt: skip
SIX = ["not", "never", "very", "really", "the", "film"]


class Packaged:
    """A packaged network in double precision, its slow points, line, words and subspace, computed once."""

    def __init__(self, arch: str):
        run = rnnlens.load(f"zoo:reviews-{arch}")
        self.single, stored = run.network, run.results["probes"]
        self.network = rnnlens.load(f"zoo:reviews-{arch}").network.double().requires_grad_(False)
        self.probes = rnnlens.Probes(stored["positive"], stored["negative"]).some(50)
        self.points = rnnlens.find_fixed_points(self.network, run.states()[:128].double(), mode="slow")
        self.line = rnnlens.fit_line_attractor(self.network, self.points)
        self.words = rnnlens.find_modifiers(self.network, self.line, top=600, probes=self.probes)
        self.subspace = rnnlens.fit_subspace(self.network, self.line, self.words, rank=3)


packaged = cache(Packaged)


def reviews_logits(arch: str) -> Quantities:
    p = packaged(arch)
    return {
        "logits, single precision": p.single(SENTENCES),
        "logits": p.network(SENTENCES),
        "logits after every word": [logit for _, logit in p.network.read(SENTENCES[17])],
    }


def reviews_line(arch: str) -> Quantities:
    """Where the words are measured: slow points, the curve through them, and the mode that integrates."""
    p = packaged(arch)
    points, line, network = p.points.states, p.line, p.network
    value = line.integration_eigenvalue
    return {
        "spread of the slow points": (points - points.mean(0)).norm(dim=1).square().mean().sqrt(),
        "spread of their logits": network.logit(points).std(),
        "ends of the line": line.range,
        "integration eigenvalue": [value.real, value.imag],
        "readout alignment": line.readout_alignment,
        "shape of the line": [line.explained, line.pc1_variance, line.bend, line.thickness],
        "logit and length of h*": [network.logit(line.h_star), line.h_star.norm()],
        "distance of states from the line": line.distance(network.states(torch.arange(20)[None])[0]),
        "J_rec and J_inp at h*": [J.norm() for J in rnnlens.jacobians(network, line.h_star)],
        "largest eigenvalues": rnnlens.linear_modes(network, line.h_star).eigenvalues.abs().sort().values[-8:],
    }


def reviews_words(arch: str) -> Quantities:
    p = packaged(arch)
    rows = [p.words[word] for word in TABLE]
    names = ("strength", "error", "norm", "valence", "on_positive", "on_negative", "tau")
    table = {name: [row[name] for row in rows] for name in names}
    codes = [rnnlens.barcode(p.network, p.line, word, p.probes) for word in SIX]
    return {
        **table,
        "means of barcodes": [[code.positive.mean(), code.negative.mean(), code.share] for code in codes],
    }


def reviews_subspace(arch: str) -> Quantities:
    from rnnlens.context import timescales

    p = packaged(arch)
    h_mod = p.words.after([p.words.row(word) for word in TABLE])
    bilinear = rnnlens.fit_bilinear(p.network, p.line, p.words)
    return {
        "shares of variance": p.subspace.explained[:10],
        "standard deviations": p.subspace.sizes[:10],
        "coordinates of words in the subspace": p.subspace.project(h_mod),
        "mean timescales": timescales(p.network, p.subspace, p.words).mean(),
        "shares explained by bilinear models": bilinear.explained,
        "the same, words held out": bilinear.held_out,
        "their bounds": bilinear.bound,
    }


def reviews_edges(arch: str) -> Quantities:
    from rnnlens.context import beginning, ending

    p = packaged(arch)
    first, last = beginning(p.network, p.line, p.subspace, p.probes), ending(p.network, p.line, p.probes)
    return {
        "initial state's barcode": [first.barcode.positive.mean(), first.barcode.negative.mean(), first.barcode.share],
        "its distance from the line": first.distance,
        "other initial states": [[one["moved"], one["takes_away"]] for one in first.interventions.values()],
        "size of the transients": last.transients.abs().mean(0),
        "last effect over first": last.ratio,
        "growth": last.growth,
        "changes by modes": last.modes.change.sort(descending=True).values[:20],
    }


def reviews_changed(arch: str) -> Quantities:
    """Readings with the subspace removed, and with words that write more or less into it; alone and side by side."""
    from rnnlens.context.dose_response import dose_response
    from rnnlens.context.perturbation import Reviews, final_logits
    from rnnlens.context.subspace import project_out_each, steer_each

    p = packaged(arch)
    network, subspace = p.network, p.subspace
    ids = [network.vocab.encode(text) for text in SENTENCES]
    reviews = Reviews.to_read(Documents(ids, np.arange(len(ids)) % 2), network)
    V, one, at = subspace.components, subspace.components[:1], subspace.h_star
    found = {
        "subspace removed": rnnlens.project_out(network, subspace)(SENTENCES),
        "gain 1.5": rnnlens.steer(network, subspace, gain=1.5)(SENTENCES),
        "gain 0": rnnlens.steer(network, subspace, gain=0)(SENTENCES),
        "side by side, removed": final_logits(project_out_each(network, [(V, at), (one, at)]), reviews),
        "side by side, steered": final_logits(steer_each(network, [(V, 0.5), (V, 2.0), (one, 0.0)]), reviews),
    }
    if len(p.words.selected) > 10:
        doses = dose_response(network, subspace, p.words, reviews, gains=(0, 1, 2), control_gains=(1,), draws=1).doses
        found["modification"] = [dose.modification for dose in doses]
    return found


for arch in PACKAGED:
    for part in (reviews_logits, reviews_line, reviews_words, reviews_subspace, reviews_edges, reviews_changed):
        GROUPS[f"reviews {arch} {part.__name__.removeprefix('reviews_')}"] = partial(part, arch)


@group
def reviews_analysis() -> Quantities:
    """The results of `analyze` for one packaged network."""
    p, states = packaged("vanilla"), rnnlens.load("zoo:reviews-vanilla").states()
    results = rnnlens.analyze(p.network, states=states, probes=p.probes, top=300).results
    line, ending, rows = results["line_attractor"], results["ending"], results["modifiers"]["words"]
    strength = {row["word"]: row["strength"] for row in rows}
    return {
        "line": [line[name] for name in ("explained_variance", "pc1_variance", "h_star_logit", "readout_alignment")],
        "strength": [strength[word] for word in ("good", "great", "bad", "worst", "not") if word in strength],
        "subspace": results["subspace"]["explained_variance"][:5],
        "bilinear": results["bilinear"]["explained_variance"][:5],
        "barcodes": [results["barcodes"][word]["share"] for word in ("not", "very")],
        "ratio of the ending": ending["ratio_median"],
        "share of the beginning": results["beginning"]["barcode"]["share"],
        "phrases": list(results["probes"]["phrases"].values()),
        "phrases, subspace removed": list(results["probes"]["without_subspace"]["phrases"].values()),
    }


# --- every architecture and kind --------------------------------------------------------------------------------------

IDS = torch.tensor([[1, 11, 6, 7, 3, 13, 4, 12], [6, 8, 9, 2, 14, 10, 5, 11], [5, 12, 1, 1, 13, 9, 6, 4]])


def readers(network: Any) -> dict[str, Any]:
    """The networks with a step, and one logit, that an analysis takes."""
    if isinstance(network, rnnlens.BothWays):
        return {f"{side} {name}": one for side in ("forwards", "backwards")
                for name, one in readers(getattr(network, side)).items()}  # fmt: skip
    if not isinstance(network, rnnlens.Network):
        return {}
    if "mean pooled" in network.arch:
        network = rnnlens.unpooled(network)
    if len(network.classes) > 2 and network.ordered:
        return {"scale": network.of_class()}
    return (
        {name: network.of_class(name) for name in network.classes[::3]} if len(network.classes) > 2 else {"": network}
    )


def derivatives(network: Any) -> Quantities:
    """Norms of the Jacobians, and one sum over each, at states on the way through texts."""
    from rnnlens.dynamics import linearise

    ids = IDS % network.cell.inputs if network.E is None else IDS
    h, e = network.states(ids)[:2, 2:4].flatten(0, 1), network.embed(ids)[:2, 5:7].flatten(0, 1)
    J_rec, J_inp = rnnlens.jacobians(network, h, e)
    left, right, word = (numbers(n, seed=seed) for seed, n in enumerate((network.size, network.size, network.inputs)))
    here = linearise(network, h, e)  # products that do not form the Jacobians
    return {
        "norms of J_rec": J_rec.norm(dim=(-2, -1)),
        "norms of J_inp": J_inp.norm(dim=(-2, -1)),
        "sums over J_rec": J_rec @ right @ left,
        "sums over J_inp": J_inp @ word @ left,
        "the same by products": torch.stack(
            [here.rec_T(left.expand_as(h)) @ right, here.inp_T(left.expand_as(h)) @ word]
        ),
    }


def words_of(network: Any) -> Quantities:
    line = rnnlens.fit_line_attractor(network, network.states(IDS)[:, 1:].flatten(0, 1))
    table = rnnlens.find_modifiers(network, line, top=10, probes=PROBES)
    return {"strengths": table.strength, "norms of words": table.norm, "valences": table.valence}


def kind(make: Callable[[], Any]) -> Quantities:
    network, found = make(), {}
    found["logits"] = network(TEXTS)
    for name, one in readers(network).items():
        measured = {**derivatives(one), **words_of(one)}
        found |= {f"{quantity}, {name}" if name else quantity: values for quantity, values in measured.items()}
    if isinstance(network, rnnlens.DeepBothWays):
        read = [network.read(text) for text in TEXTS[2:]]
        found["occlusion"] = [effect for one in read for effect in one.effects]
        for side in ("forwards", "backwards"):
            found |= {f"{key}, {side}": values for key, values in derivatives(getattr(network.layers[0], side)).items()}
    return found


for where, kinds in (("torch", TORCH), ("ours", OURS), ("transformers", TRANSFORMERS)):
    for name, make in kinds.items():
        GROUPS[f"{where}: {name}"] = partial(kind, make)


# --- training ---------------------------------------------------------------------------------------------------------


def made_up(n: int = 200) -> tuple[list[str], list[int]]:
    """Sentences of a few words, one of which decides, if it is not negated."""
    chance, texts, labels = random.Random(0), [], []
    sides = (("bad", "awful", "dull"), ("good", "fine", "great"))
    for i in range(n):
        words = chance.choices(["the", "film", "was", "plot", "and", "a", "it", "of"], k=chance.randint(3, 10))
        negated = chance.random() < 0.3
        texts.append(" ".join([*words, *(["not"] if negated else []), chance.choice(sides[i % 2 ^ negated])]))
        labels.append(i % 2)
    return texts, labels


@cache
def corpus() -> Any:
    texts, labels = made_up()
    return rnnlens.Corpus.from_texts(texts[50:], labels[50:], test=(texts[:50], labels[:50]), min_count=1)


def trained(network: Any, data: Any, **settings: Any) -> Any:
    config = rnnlens.TrainConfig(**{"learning_rate": 0.02, "word_dropout": 0.2, "embedding_dropout": 0.2, **settings})
    with tempfile.TemporaryDirectory() as folder:
        run = rnnlens.train(network, data, config, Path(folder) / "run", device="cpu", progress=False)
        return run.network.requires_grad_(False)


def weights(arch: str, **sizes: Any) -> Quantities:
    """Norms of the weights after twenty steps, and what the network then says."""
    network = rnnlens.Network(corpus().vocab, arch, hidden=16, embedding=8, **sizes)
    network = trained(network, corpus(), steps=20, batch=32, epochs=9, keep="last")
    cell = torch.cat([weight.flatten() for weight in network.cell.parameters()])
    return {
        "norms of E, cell, w, b, h0": [x.norm() for x in (network.E, cell, network.w, network.b, network.h0)],
        "logits": network([*made_up()[0][:6]]),
    }


for name, make in {
    "GRU": partial(weights, "gru"), "LSTM": partial(weights, "lstm"), "UGRNN": partial(weights, "ugrnn"),
    "vanilla": partial(weights, "vanilla"), "minGRU": partial(weights, "mingru", layers=2),
    "Mamba": partial(weights, "mamba"),
}.items():  # fmt: skip
    GROUPS[f"trained: {name}"] = make


@group
def toy() -> Quantities:
    """The toy language: how `not` and `extremely` decay in a network that has begun to learn it."""
    from rnnlens.experiments.toy import read_phrases
    from rnnlens.experiments.toy_measures import ToyMeasures

    language, data = rnnlens.ToyLanguage(), rnnlens.toy_corpus(train=640, validation=64, seed=0)
    network = rnnlens.Network(data.vocab, "gru", hidden=24, embedding=8, seed=0)
    settings = {"word_dropout": 0.0, "embedding_dropout": 0.0, "max_words": None, "weight_decay": 0.1, "batch": 64}
    network = trained(network, data, epochs=6, learning_rate=5e-3, keep="last", **settings).double()
    ids = torch.as_tensor(data.validation.ids[:40].astype(np.int64))
    states = network.states(ids)[:, 10::10].flatten(0, 1)
    points = rnnlens.find_fixed_points(network, states, mode="slow")
    line = rnnlens.fit_line_attractor(network, states)
    measures = ToyMeasures(network, language, points, line)
    curves = {
        f"{what} after {word} {fill}": one[what]
        for word, fills in measures.deflection().items()
        for fill, one in fills.items()
        for what in ("effect", "distance")
    }
    quality = measures.linear_quality()
    return {
        "phrases": [row["logit"] for row in read_phrases(network, language)],
        **curves,
        "linear quality": [quality["agreement"], quality["ratio"]],
        "expanded effects": quality["linear"],
    }


@group
def baselines() -> Quantities:
    """The paper's six baselines."""
    texts, labels = made_up()
    found: dict[str, Any] = {}
    for name, options in BASELINES.items():
        words = {} if "modifiers" in options else {"modifiers": ["not", "the", "was"]}
        model = ModifierConvolution(**words, **options, epochs=6, min_count=1).fit(texts[50:], labels[50:])
        found[f"{name}: weights of words"] = model.model_.beta
        found[f"{name}: norms"] = [weight.norm() for _, weight in sorted(model.model_.named_parameters())]
        found[f"{name}: probabilities"] = model.predict_proba(texts[:10])[:, 1]
        rows = sorted(model.modifier_rows(), key=lambda row: row["word"])
        if rows:
            found[f"{name}: strength and tau"] = [[row["strength"], row["tau"]] for row in rows]
    return found


# --- the rest ---------------------------------------------------------------------------------------------------------


@group
def rest_reading() -> Quantities:
    """Both directions, mean pooling, new words, a new head, and a text of 20,000 words in parts."""
    both = of_torch(bidirectional=True)
    sides = [both.read(text) for text in TEXTS[4:]]
    pooled = of_torch(options={"pooling": "mean"})
    more = rnnlens.extend(of_ours("gru"), rnnlens.Vocab(["not", "xylophone", "zither"]))
    return {
        "forwards": [x for one in sides for x in one.forwards],
        "backwards": [x for one in sides for x in one.backwards],
        "parts of the logit": [[one.forward_part, one.backward_part, one.bias] for one in sides],
        "backward reader": both.backwards.states(IDS).norm(dim=-1),
        "mean pooled": [logit for _, logit in pooled.read(TEXTS[-1])],
        "unpooled": [logit for _, logit in rnnlens.unpooled(pooled).read(TEXTS[-1])],
        "extended": more(TEXTS),
        "norms of words": more.E.norm(dim=1),
    }


@group
def rest_fitted_readout() -> Quantities:
    """A head fitted to a network, of the usual and of the reversed corpus."""
    found = {}
    rnn, embedding, words = filled(nn.GRU(D, H)), 3 * numbers(len(corpus().vocab), D, seed=3), corpus().vocab
    network = rnnlens.from_torch(rnn, embedding, nn.Linear(H, 1), words).requires_grad_(False)
    for name, data in {"forward": corpus(), "backward": rnnlens.reversed_corpus(corpus())}.items():
        fitted = rnnlens.fit_readout(network, data, progress=False)
        found[f"{name}: probabilities"] = fitted.predict_proba(made_up()[0][:10])[:, 1]
        found[f"{name}: readout"] = fitted.w
    return found


@group
def rest_long_texts() -> Quantities:
    """Ten texts of 20,000 words, which are read in parts, and the same without their last words."""
    texts = (torch.arange(200_000).square() % 10_007 % len(WORDS)).view(10, 20_000)
    lengths = torch.tensor([20_000, 19_999, 16_384, 16_383, 5, 1, 12_000, 20_000, 7_777, 400])
    made = {"GRU": of_torch(), "minGRU": of_ours("mingru", layers=2), "bidirectional": of_torch(bidirectional=True)}
    return {name: network(texts, lengths) for name, network in made.items()}


@group
def rest_attribution() -> Quantities:
    """Shares of layers and buffers in a strength, and what earlier words still add to a linear recurrence."""
    found = {}
    for name, network in {"GRU": of_torch(num_layers=2), "Mamba": of_ours("mamba", layers=2)}.items():
        states = network.states(IDS)[:, 4]
        shares = rnnlens.attribute(network, states, ["not", "very"], PROBES, draws=10)
        found |= {f"{name}: shares": shares.shares, f"{name}: alone": shares.alone, f"{name}: all": shares.strength}
    attention = rnnlens.effective_attention(of_ours("mamba", layers=2), TEXTS[-1])
    return {**found, "attention": attention.weights, "attention in logits": attention.logits}


@group
def rest_modes() -> Quantities:
    """Linear modes, their removal after a word, expansions, and fixed points of several networks."""
    network, _ = handmade()
    h_star = network.h0.new_zeros(network.size)
    h_mod = network.states(torch.as_tensor(network.vocab.encode("not"))[None])[0, -1] - network.h0
    e = network.embed(torch.as_tensor(network.vocab.encode("good great bad awful")))
    modes = rnnlens.linear_modes(network, h_star)
    single = rnnlens.mode_removal(network, h_mod, h_star, e, modes, most=3, draws=2)
    orthogonal = rnnlens.mode_removal(network, h_mod, h_star, e, modes, kind="orthogonal", order="greedy", most=3)
    gru = of_torch()
    at = gru.states(IDS)[:, 4]
    fixed = rnnlens.find_fixed_points(gru, gru.states(IDS)[:, 1:].flatten(0, 1), mode="fixed")
    several = rnnlens.find_fixed_points(bistable(), numbers(40, 3, seed=1), mode="fixed")
    values = rnnlens.linear_modes(gru, at[0])
    quality = rnnlens.linear_quality(gru, at, gru.E[1:6])
    return {
        "eigenvalues": modes.eigenvalues.real.sort().values,
        "left after removal": single.remaining,
        "left after orthogonal removal": orthogonal.remaining,
        "fixed point": fixed.unique.states[0],
        "several fixed points": several.unique.states[several.unique.states[:, 0].argsort()],
        "sizes of eigenvalues": values.eigenvalues.abs().sort().values,
        "timescales": values.timescales.sort().values,
        "expanded effects": quality.linear,
        "full effects": quality.full,
        "quality": [quality.agreement, quality.ratio],
    }


def bistable() -> Any:
    """Three units that excite themselves, a little coupled: up to 27 fixed points."""
    A = torch.diag(torch.tensor([1.6, 1.8, 2.0])).double() + 0.05 * numbers(3, 3, seed=3)
    readout = (numbers(3, seed=4), torch.zeros(()).double())
    return rnnlens.adapt(lambda h, e: torch.tanh(h @ A + e), None, readout, None, torch.zeros(3).double(), inputs=3)


@group
def rest_classes() -> Quantities:
    """The attractor of four classes, and the strengths of words on it."""
    strengths = {"not": -1.4, "very": 0.5, "joyless": [0, 0, -0.8, 0], "hardly": -0.4}
    network = handmade_classes(CLASSES, strengths)
    geometry = rnnlens.class_geometry(network, states=visited(network, CLASSES))
    words = rnnlens.class_strengths(network, geometry)
    rows = [words[word] for word in strengths]
    return {
        "dimension": [geometry.dimension, geometry.by_visits, geometry.curve],
        "variance by axis": geometry.explained[:3],
        "cosines": geometry.cosines,
        "logits at the neutral point": network.logit(geometry.neutral).softmax(0),
        "strengths": [row["strength"] for row in rows],
        "strengths by class": [row["by_class"] for row in rows],
        "errors": [row["error"] for row in rows],
    }


@group
def rest_versions() -> Quantities:
    """Versions of a network that read the same texts side by side."""
    from rnnlens.context.perturbation import Reviews, final_logits
    from rnnlens.context.subspace import project_out_each, steer_each

    found: dict[str, Any] = {}
    for arch in ("gru", "lstm", "mingru"):
        network = rnnlens.Network(corpus().vocab, arch, hidden=H, embedding=D)
        network = filled(network).requires_grad_(False)
        network.E.mul_(3)
        reviews = Reviews.to_read(corpus().test, network)
        V = torch.linalg.qr(numbers(network.size, 3, seed=8))[0].t().contiguous()
        at = 0.1 * numbers(network.size, seed=2)
        found |= {
            f"{arch}: removed": final_logits(project_out_each(network, [(V[:2], at), (V[1:], at)]), reviews)[:, :12],
            f"{arch}: steered": final_logits(steer_each(network, [(V, 0.5), (V, 2.0)]), reviews)[:, :12],
            f"{arch}: blanks at the end": final_logits(network, reviews, pads=5)[:12],
            f"{arch}: shuffled": final_logits(network, reviews, shuffle=0)[:12],
        }
    return found


# --- recording and comparing ------------------------------------------------------------------------------------------


def compute(name: str) -> dict[str, np.ndarray]:
    """The quantities of a group as arrays, computed in one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {quantity: array(values) for quantity, values in GROUPS[name]().items()}
    finally:
        torch.set_num_threads(threads)


def array(values: Any) -> np.ndarray:
    if isinstance(values, Tensor):
        return values.detach().double().numpy()
    if isinstance(values, list | tuple):
        return np.array([array(value) for value in values], dtype=float)
    return np.asarray(np.nan if values is None else values, dtype=float)


def tolerance(name: str, quantity: str) -> float:
    """The largest difference that passes, as a share of the recorded array's largest absolute value."""
    known = [key for key in TOLERANCE if f"{name}: {quantity}".startswith(key)]
    return TOLERANCE[max(known, key=len)] if known else USUAL


def plain(values: np.ndarray) -> Any:
    """Nested lists at nine digits; None where there is no number."""
    if values.ndim:
        return [plain(value) for value in values]
    return None if np.isnan(values) else float(f"{values:.{DIGITS}g}")


def main() -> None:
    lines = []
    for name in GROUPS:
        rows = [f"  {json.dumps(key)}: {json.dumps(plain(values), separators=(',', ':'))}"
                for key, values in compute(name).items()]  # fmt: skip
        lines.append(f"{json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n}")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{FILE}: {FILE.stat().st_size / 1000:.0f} kB, {len(GROUPS)} groups")


if __name__ == "__main__":
    main()
