"""The toy study (§4, Supp. A): a network learns negation and emphasis, and shows how it does them.

`train_toy` trains; `study_toy` takes the trained network apart. Everything measured goes to the run's
results under `toy`, in plain numbers, and every figure is drawn from there.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import exclusive, write_tensors
from rnnlens.common.progress import progress_bar
from rnnlens.common.provenance import KEY
from rnnlens.common.ranges import check_options
from rnnlens.context import after, blank_input, effects, linear_quality, mode_removal, word_inputs
from rnnlens.corpora.toy import Modifier, ToyLanguage, toy_corpus
from rnnlens.corpora.vocab import PAD_WORD
from rnnlens.dynamics import (
    FixedPoints,
    LineAttractor,
    Modes,
    find_fixed_points,
    fit_line_attractor,
    linear_modes,
    visited_states,
)  # fmt: skip
from rnnlens.dynamics.view import principal_view
from rnnlens.experiments.toy_claims import toy_claims
from rnnlens.networks import Network
from rnnlens.networks.devices import threads_for
from rnnlens.runs import Run
from rnnlens.training import TrainConfig, train

PHRASES = (
    "good", "bad", "extremely good", "extremely bad", "not good", "not bad",
    "not the the the good", "not the the the the good",
)  # fmt: skip
NEUTRAL = "the"
PLACES = (-10.0, 0.0, 10.0)  # readings on the line from which modifiers are tried
AHEAD = 8  # how many words after a modifier are looked at


def toy_config(seed: int) -> TrainConfig:
    """Settings for the toy language. No word is dropped: the language has blank inputs of its own.

    Weight decay is what makes the network simple: without it words saturate units, and the linear expansions of Supp. A
    overshoot by 15 % (docs/toy.md)."""
    return TrainConfig(
        epochs=5, learning_rate=5e-3, weight_decay=0.1, word_dropout=0.0, embedding_dropout=0.0, max_words=None,
        seed=seed,
    )  # fmt: skip


def train_toy(
    out: Path | str,
    arch: str = "gru",
    hidden: int = 100,
    embedding: int = 16,
    seed: int = 0,
    reviews: int = 64_000,
    resume: bool = False,
    device: str | None = None,
    config: TrainConfig | None = None,
) -> Run:
    """Train a network on the toy language."""
    check_options("toy", hidden=hidden, embedding=embedding, seed=seed, reviews=reviews)
    corpus = toy_corpus(train=reviews, seed=seed)
    network = Network(corpus.vocab, arch=arch, hidden=hidden, embedding=embedding, seed=seed)
    return train(network, corpus, config or toy_config(seed), out, resume=resume, device=device)


@torch.no_grad()
def read_phrases(network: Network, language: ToyLanguage, phrases: tuple[str, ...] = PHRASES) -> list[dict[str, Any]]:
    """What the network makes of each phrase from its initial state on, and what the language's rule says."""
    found = []
    for phrase in phrases:
        ids = language.encode(phrase)
        logit = network.logits(torch.as_tensor(ids).unsqueeze(0))[0, -1].item()
        found.append({"phrase": phrase, "logit": logit, "target": float(language.targets(ids[None])[0, -1])})
    return found


# --- the study --------------------------------------------------------------------------------------------------------


@torch.no_grad()
def study_toy(run: Run, starts: int = 10_000, progress: bool = True) -> None:
    """Every toy analysis of a trained run, in the order of the paper; results are stored, its claims checked.

    starts: how many visited states the slow points are sought from.
    """
    check_options("toy", starts=starts)
    language, network = _language(run), copy.deepcopy(run.network).cpu().double()
    toy: dict[str, Any] = {"phrases": read_phrases(network, language)}
    with threads_for(network, None), progress_bar("taking it apart", 9, shown=progress) as advance:
        advance(0, "slow points")
        states = visited_states(network, toy_corpus(language, train=1, validation=2_000, seed=1).validation, n=starts)
        toy["blank_input"] = blank_input(network, states).to_dict()
        points = find_fixed_points(network, states, mode="slow")
        points = points.take(points.converged.nonzero()[:, 0])
        advance(1, "line attractor")
        line = fit_line_attractor(network, points)
        study = _Study(network, language, points, line)
        parts: dict[str, Callable[[], Any]] = {
            "line": study.attractor,
            "state_space": lambda: study.state_space(states),
            "deflection": study.deflection,
            "modes": study.spectra,
            "mode_angles": study.angles,
            "linear_quality": study.linear_quality,
            "mode_removal": study.mode_removal,
        }
        for name, part in parts.items():
            advance(1, name.replace("_", " "))
            toy[name] = part()
        advance(1, "done")
    toy["deflection_steps"] = {
        word: {fill: {"effect": d["effect_steps"], "distance": d["distance_steps"]} for fill, d in found.items()}
        for word, found in toy["deflection"].items()
    }
    toy["claims"] = toy_claims(toy)
    with exclusive(run.path, wait=True):  # both files are of the same study
        stored = Run(run.path, run.about)  # as it is in the files now
        if stored.is_analysed() and "subspace" in stored.analysed():  # arrays and results of `analyze` stay together
            run.add_results(toy=toy)
            return
        mark = write_tensors(
            run.path / "analysis.safetensors",
            {"slow_points": points.states, "slow_points_q": points.q, "line": line.knots, "line_logits": line.logits},
            {"what": "slow points of the toy study and the curve through them", KEY: run.current_provenance()},
        )
        run.add_results(
            toy=toy,
            provenance={"analysis": mark},
            line_attractor=line.to_dict(),
            fixed_points={
                "n": len(points),
                "of": starts,
                "q_median": float(points.q.median()),
                "q_p95": float(points.q.quantile(0.95)),
                "slow_ratio": float(points.slowness.median()),
            },
        )


def _language(run: Run) -> ToyLanguage:
    """The language a run was trained on."""
    about = run.about["corpus"]
    if about.get("source") != "toy":
        raise RnnlensError(f"the run {quoted(str(run.path))} was not trained on the toy language: use `rnnlens toy`")
    modifiers = {word: Modifier(**rule) for word, rule in about["modifiers"].items()}
    return ToyLanguage(about["valences"], modifiers, about["length"], about["pads"])


@dataclass(frozen=True)
class _Study:
    """The parts of the study, each a plain record for results.json."""

    network: Network
    language: ToyLanguage
    points: FixedPoints
    line: LineAttractor

    @property
    def words(self) -> list[str]:
        """The valence words that do something."""
        return [word for word, valence in self.language.valences.items() if valence]

    @property
    def e(self) -> Tensor:
        return word_inputs(self.network, self.words)

    @property
    def valences(self) -> Tensor:
        return torch.tensor([self.language.valences[word] for word in self.words], dtype=torch.float64)

    def attractor(self, reach: float = 10.0) -> dict[str, Any]:
        """Do the slow points form one curve over the readings −reach … reach?"""
        logits = self.network.logit(self.points.states)
        within = self.points.states[logits.abs() <= reach]
        if len(within) < 3:
            return {"reach": reach, "slow_points": len(within)}
        sorted_logits = torch.cat([logits[logits.abs() <= reach].sort().values, logits.new_tensor([reach])])
        gaps = sorted_logits.diff(prepend=logits.new_tensor([-reach]))
        line = fit_line_attractor(self.network, within, inputs=self.line.inputs)
        return {
            "reach": reach,
            "slow_points": len(within),
            "explained_variance": line.explained,
            "pc1_variance": line.pc1_variance,
            "largest_gap": float(gaps.max()),
            "thickness": line.thickness,
            "bend": line.bend,
        }

    def state_space(self, states: Tensor, pads: int = 6) -> dict[str, Any]:
        """Fig. 2: the line and six phrases from one h_pre on it, in the principal components of the visited states."""
        seen, h_pre = principal_view(states, self.line.knots[-1] - self.line.knots[0]), self.line.h_star
        start = float(self.network.logit(h_pre))
        ticks = [float(v) for v in sorted(set(self.language.valences.values()))]
        some = torch.linspace(0, len(self.points) - 1, 400).long()
        phrases = {}
        for phrase in PHRASES[:6]:
            words = [*phrase.split(), *[PAD_WORD] * pads]
            path = after(self.network, h_pre, words)
            phrases[phrase] = {
                "words": words,
                "path": seen(path),
                "logits": (self.network.logit(path) - start).tolist(),
            }
        at = torch.tensor([start + tick for tick in ticks])
        near = (self.line.logits - start).abs() <= 6
        return {
            "variance": seen.variance,
            "line": {"path": seen(self.line.knots[near]), "logits": (self.line.logits[near] - start).tolist()},
            "slow_points": {"at": seen(self.points.states[some]),
                            "logits": (self.network.logit(self.points.states[some]) - start).tolist()},
            "ticks": {"valence": ticks, "at": seen(self.line.at(at))},
            "h_pre": {"at": seen(h_pre), "logit": start},
            "phrases": phrases,
        }  # fmt: skip

    def deflection(self) -> dict[str, Any]:
        """How long a modifier lasts: distance from the line, and share of the language's own modification that the next
        valence word would undergo, after 0 … AHEAD blank inputs or neutral words; beside it the same without the
        modifier. From h* the mean over words; least and most are over words and over three places on the line."""
        found: dict[str, Any] = {}
        for word, modifier in self.language.modifiers.items():
            found[word] = {}
            for fill in (PAD_WORD, NEUTRAL):
                shares, distances = [], []
                for place in PLACES:
                    start = self.line.at(place)
                    modified = after(self.network, start, [word, *[fill] * AHEAD])[1:]
                    plain = after(self.network, start, [fill] * (AHEAD + 1))[1:]
                    change = effects(self.network, modified, self.e) - effects(self.network, plain, self.e)
                    shares.append(change / ((modifier.factor - 1) * self.valences))
                    distances.append((self.line.distance(modified), self.line.distance(plain)))
                share, (distance, control) = torch.stack(shares), distances[PLACES.index(0)]
                everywhere = share.transpose(0, 1).flatten(1)  # (AHEAD + 1, places × words)
                effect = share[PLACES.index(0)].mean(1)
                found[word][fill] = {
                    "scope": modifier.scope,
                    "distance": distance.tolist(),
                    "distance_without": control.tolist(),
                    "effect": effect.tolist(),
                    "effect_least": everywhere.amin(1).tolist(),
                    "effect_most": everywhere.amax(1).tolist(),
                    "distance_steps": _lasting(distance - control, 0.5 * float(distance[0] - control[0])),
                    "effect_steps": _lasting(effect, 0.5),
                }
        return found

    def h_mod(self, word: str, neutral: int = 0) -> Tensor:
        """F(h0, x_mod), then neutral words."""
        return after(self.network, self.network.h0.detach(), [word, *[NEUTRAL] * neutral])[-1]

    def operating_point(self, word: str) -> tuple[Tensor, float, Modes]:
        """The slow point nearest to h_mod, its q, and the modes there."""
        nearest = int((self.points.states - self.h_mod(word)).norm(dim=1).argmin())
        h_star = self.points.states[nearest]
        return h_star, float(self.points.q[nearest]), linear_modes(self.network, self.points.take(nearest))

    def spectra(self) -> dict[str, Any]:
        """Supp. A.2: eigenvalues of J_rec at the slow points nearest to each h_mod."""
        found = {}
        for word in self.language.modifiers:
            h_star, q, modes = self.operating_point(word)
            value = modes.eigenvalues[modes.integration]
            aligned = modes.units[int(modes.angles(self.h_mod(word) - h_star).argmin())]
            found[word] = {
                "eigenvalues": torch.view_as_real(modes.eigenvalues).tolist(),
                "timescales": _finite(modes.timescales),
                "integration": modes.integration,
                "integration_eigenvalue": [float(value.real), float(value.imag)],
                "aligned": list(aligned),
                "q": q,
                "logit": float(self.network.logit(h_star)),
            }
        return found

    def angles(self) -> dict[str, Any]:
        """Supp. A.4: angles between h_mod − h* and every left eigenvector, a conjugate pair as one plane."""
        found = {}
        for word in self.language.modifiers:
            h_star, _, modes = self.operating_point(word)
            first = torch.tensor([unit[0] for unit in modes.units])
            found[word] = {
                "units": [list(unit) for unit in modes.units],
                "angles": modes.angles(self.h_mod(word) - h_star).tolist(),
                "eigenvalues": torch.view_as_real(modes.eigenvalues[first]).tolist(),
                "timescales": _finite(modes.timescales[first]),
            }
        return found

    def contexts(self, most: int = 3) -> dict[str, Tensor]:
        """The states valence words are met in: on the line, after `extremely`, after `not` and 0 … 3 neutral words."""
        found = {"": self.line.h_star}
        for word, modifier in self.language.modifiers.items():
            for neutral in range(min(modifier.scope - 1, most) + 1):
                found[" ".join([word, *[NEUTRAL] * neutral])] = self.h_mod(word, neutral)
        return found

    def linear_quality(self) -> dict[str, Any]:
        """Supp. A.3: the linear input expansion against the full update."""
        contexts = self.contexts()
        quality = linear_quality(self.network, torch.stack(list(contexts.values())), self.e)
        return {"contexts": list(contexts), "words": self.words, **quality.to_dict()}

    def mode_removal(self) -> dict[str, Any]:
        """Supp. A.4 and §4: what is left of a modifier when modes are removed, in both orders, kinds and variants."""
        found: dict[str, Any] = {}
        for word, modifier in self.language.modifiers.items():
            h_star, _, modes = self.operating_point(word)
            neutral = min(modifier.scope - 1, 3)  # the paper's: `extremely bad`, `not the the the bad`
            h_mod = self.h_mod(word, neutral)
            found[word] = {"neutral": neutral, "words": self.words}
            for kind in ("orthogonal", "biorthogonal"):
                for order in ("single", "greedy"):
                    removal = mode_removal(self.network, h_mod, h_star, self.e, modes, kind=kind, order=order)
                    found[word][f"state_{kind}_{order}"] = removal.to_dict()
                    # §4's variant: the modes that carry the modifier in the state, out of what the next word does.
                    kept = [i for i in removal.units if modes.integration not in modes.units[i]]
                    removal = mode_removal(
                        self.network, h_mod, h_star, self.e, modes, kind=kind, order=order, what="input", units=kept
                    )
                    found[word][f"input_{kind}_{order}"] = removal.to_dict()
        return found


def _lasting(amount: Tensor, level: float) -> int:
    """Over how many of the first steps something stays at or above a level."""
    return int((amount >= level).long().cumprod(0).sum())


def _finite(values: Tensor) -> list[float | None]:
    """JSON has no infinity."""
    return [value if np.isfinite(value) else None for value in values.tolist()]
