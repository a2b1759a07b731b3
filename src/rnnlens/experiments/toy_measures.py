"""The measurements of the toy study on one network, one method for each part of its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.context import after, effects, linear_quality, mode_removal, word_inputs
from rnnlens.corpora.toy import ToyLanguage
from rnnlens.corpora.vocab import PAD_WORD
from rnnlens.dynamics import FixedPoints, LineAttractor, fit_line_attractor, linear_modes
from rnnlens.dynamics.modes import Spectrum
from rnnlens.dynamics.view import principal_view
from rnnlens.networks import Network

PHRASES = (
    "good", "bad", "extremely good", "extremely bad", "not good", "not bad",
    "not the the the good", "not the the the the good",
)  # fmt: skip
NEUTRAL = "the"
PLACES = (-10.0, 0.0, 10.0)  # readings on the line at which modifiers are read
AHEAD = 8  # number of words after a modifier that are measured


@dataclass(frozen=True)
class ToyMeasures:
    """The parts of the study, each as plain data for results.json."""

    network: Network
    language: ToyLanguage
    points: FixedPoints
    line: LineAttractor

    @property
    def words(self) -> list[str]:
        """The words with a valence other than 0."""
        return [word for word, valence in self.language.valences.items() if valence]

    @property
    def e(self) -> Tensor:
        return word_inputs(self.network, self.words)

    @property
    def valences(self) -> Tensor:
        return torch.tensor([self.language.valences[word] for word in self.words], dtype=torch.float64)

    def attractor(self, reach: float = 10.0) -> dict[str, Any]:
        """How well the slow points with readings −reach … reach form one curve."""
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
        view, h_pre = principal_view(states, self.line.knots[-1] - self.line.knots[0]), self.line.h_star
        start = float(self.network.logit(h_pre))
        ticks = [float(v) for v in sorted(set(self.language.valences.values()))]
        shown = torch.linspace(0, len(self.points) - 1, 400).long()
        phrases = {}
        for phrase in PHRASES[:6]:
            words = [*phrase.split(), *[PAD_WORD] * pads]
            path = after(self.network, h_pre, words)
            phrases[phrase] = {
                "words": words,
                "path": view(path),
                "logits": (self.network.logit(path) - start).tolist(),
            }
        at = torch.tensor([start + tick for tick in ticks])
        near = (self.line.logits - start).abs() <= 6
        return {
            "variance": view.variance,
            "line": {"path": view(self.line.knots[near]), "logits": (self.line.logits[near] - start).tolist()},
            "slow_points": {
                "at": view(self.points.states[shown]),
                "logits": (self.network.logit(self.points.states[shown]) - start).tolist(),
            },
            "ticks": {"valence": ticks, "at": view(self.line.at(at))},
            "h_pre": {"at": view(h_pre), "logit": start},
            "phrases": phrases,
        }

    def deflection(self) -> dict[str, Any]:
        """How long a modifier acts, after 0 … AHEAD blank inputs or neutral words: the distance from the line, with and
        without the modifier, and the change of the next valence word as a share of the language's modification.
        `effect` is the mean over words at h*; least and most are over words and three places on the line."""
        records: dict[str, Any] = {}
        for word, modifier in self.language.modifiers.items():
            records[word] = {}
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
                records[word][fill] = {
                    "scope": modifier.scope,
                    "distance": distance.tolist(),
                    "distance_without": control.tolist(),
                    "effect": effect.tolist(),
                    "effect_least": everywhere.amin(1).tolist(),
                    "effect_most": everywhere.amax(1).tolist(),
                    "distance_steps": _lasting(distance - control, 0.5 * float(distance[0] - control[0])),
                    "effect_steps": _lasting(effect, 0.5),
                }
        return records

    def h_mod(self, word: str, neutral: int = 0) -> Tensor:
        """The state after the modifier and then neutral words, read from h0."""
        return after(self.network, self.network.h0.detach(), [word, *[NEUTRAL] * neutral])[-1]

    def operating_point(self, word: str) -> tuple[Tensor, float, Spectrum]:
        """The slow point nearest to h_mod, its q, and the modes there."""
        nearest = int((self.points.states - self.h_mod(word)).norm(dim=1).argmin())
        h_star = self.points.states[nearest]
        return h_star, float(self.points.q[nearest]), linear_modes(self.network, self.points.take(nearest))

    def spectra(self) -> dict[str, Any]:
        """Supp. A.2: eigenvalues of J_rec at the slow points nearest to each h_mod."""
        spectra = {}
        for word in self.language.modifiers:
            h_star, q, modes = self.operating_point(word)
            value = modes.eigenvalues[modes.integration]
            aligned = modes.units[int(modes.angles(self.h_mod(word) - h_star).argmin())]
            spectra[word] = {
                "eigenvalues": torch.view_as_real(modes.eigenvalues).tolist(),
                "timescales": _finite(modes.timescales),
                "integration": modes.integration,
                "integration_eigenvalue": [float(value.real), float(value.imag)],
                "aligned": list(aligned),
                "q": q,
                "logit": float(self.network.logit(h_star)),
            }
        return spectra

    def angles(self) -> dict[str, Any]:
        """Supp. A.4: angles between h_mod − h* and every left eigenvector, a conjugate pair as one plane."""
        records = {}
        for word in self.language.modifiers:
            h_star, _, modes = self.operating_point(word)
            first = torch.tensor([unit[0] for unit in modes.units])
            records[word] = {
                "units": [list(unit) for unit in modes.units],
                "angles": modes.angles(self.h_mod(word) - h_star).tolist(),
                "eigenvalues": torch.view_as_real(modes.eigenvalues[first]).tolist(),
                "timescales": _finite(modes.timescales[first]),
            }
        return records

    def contexts(self, most: int = 3) -> dict[str, Tensor]:
        """States before a valence word: on the line, after `extremely`, after `not` and 0 … 3 neutral words."""
        states = {"": self.line.h_star}
        for word, modifier in self.language.modifiers.items():
            for neutral in range(min(modifier.scope - 1, most) + 1):
                states[" ".join([word, *[NEUTRAL] * neutral])] = self.h_mod(word, neutral)
        return states

    def linear_quality(self) -> dict[str, Any]:
        """Supp. A.3: the linear input expansion against the full update."""
        contexts = self.contexts()
        quality = linear_quality(self.network, torch.stack(list(contexts.values())), self.e)
        return {"contexts": list(contexts), "words": self.words, **quality.to_dict()}

    def mode_removal(self) -> dict[str, Any]:
        """Supp. A.4 and §4: how much of a modifier remains when modes are removed, for both orders, kinds and
        variants."""
        records: dict[str, Any] = {}
        for word, modifier in self.language.modifiers.items():
            h_star, _, modes = self.operating_point(word)
            neutral = min(modifier.scope - 1, 3)  # as in the paper: `extremely bad`, `not the the the bad`
            h_mod = self.h_mod(word, neutral)
            records[word] = {"neutral": neutral, "words": self.words}
            for kind in ("orthogonal", "biorthogonal"):
                for order in ("single", "greedy"):
                    removal = mode_removal(self.network, h_mod, h_star, self.e, modes, kind=kind, order=order)
                    records[word][f"state_{kind}_{order}"] = removal.to_dict()
                    # The variant of §4: remove these modes from the input of the next word instead.
                    kept = [i for i in removal.units if modes.integration not in modes.units[i]]
                    removal = mode_removal(
                        self.network, h_mod, h_star, self.e, modes, kind=kind, order=order, what="input", units=kept
                    )
                    records[word][f"input_{kind}_{order}"] = removal.to_dict()
        return records


def _lasting(amount: Tensor, level: float) -> int:
    """The number of first steps over which the amount stays at or above the level."""
    return int((amount >= level).long().cumprod(0).sum())


def _finite(values: Tensor) -> list[float | None]:
    """The values with None for infinity, which JSON lacks."""
    return [value if np.isfinite(value) else None for value in values.tolist()]
