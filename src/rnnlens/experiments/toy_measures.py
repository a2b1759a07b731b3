"""What the toy study measures in one network, a method for each part of its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.context import after, effects, linear_quality, mode_removal, word_inputs
from rnnlens.corpora.toy import ToyLanguage
from rnnlens.corpora.vocab import PAD_WORD
from rnnlens.dynamics import (
    FixedPoints,
    LineAttractor,
    Modes,
    fit_line_attractor,
    linear_modes,
)
from rnnlens.dynamics.view import principal_view
from rnnlens.networks import Network

PHRASES = (
    "good", "bad", "extremely good", "extremely bad", "not good", "not bad",
    "not the the the good", "not the the the the good",
)  # fmt: skip
NEUTRAL = "the"
PLACES = (-10.0, 0.0, 10.0)  # readings on the line from which modifiers are tried
AHEAD = 8  # how many words after a modifier are looked at


@dataclass(frozen=True)
class ToyMeasures:
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
            "slow_points": {
                "at": seen(self.points.states[some]),
                "logits": (self.network.logit(self.points.states[some]) - start).tolist(),
            },
            "ticks": {"valence": ticks, "at": seen(self.line.at(at))},
            "h_pre": {"at": seen(h_pre), "logit": start},
            "phrases": phrases,
        }

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
