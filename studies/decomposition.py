"""Contextual decomposition of the packaged LSTM as a rival explanation of modifiers, against what people say.

    python -m studies.decomposition    # → docs/results/decomposition.json

Murdoch, Liu and Yu (2018) split an LSTM's state h = β + γ into β, what a phrase contributes, and γ, all else; the
phrase's score is w·β. The interaction of two words is the score of the pair "w v" less those of w and of v in it. The
strength of w is this interaction, or the score of the pair less that of w alone, as a share of the score of v read
alone; over positive probe words v less negative ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

import rnnlens
from rnnlens.analysis.agreement import LEAST, agreement
from rnnlens.analysis.locate import location_of, states_of, stored_probes
from rnnlens.analysis.people import SPLITS, Judged, correlation, packaged
from rnnlens.analysis.scores import RESAMPLES, correlate
from rnnlens.common.files import atomic_file
from rnnlens.context.effects import word_inputs
from rnnlens.context.probes import Probes
from rnnlens.networks import Network

NAME, RECORD, PROBES, BLOCK = "zoo:reviews-lstm", "docs/results/decomposition.json", 100, 4_096
State = tuple[Tensor, Tensor, Tensor, Tensor]  # β and γ of h, β and γ of c, each (B, H)


def parts_of(s, bias: Tensor, *terms: Tensor) -> list[Tensor]:  # type: ignore[no-untyped-def]
    """L: each of three terms' share of s(bias + terms), the mean over all orders in which they can be added after the
    bias (the paper's equation for L, with the bias always first). With s(bias) they add up to s(bias + terms)."""
    alone = [s(bias + term) for term in terms]
    pairs = {(i, j): s(bias + terms[i] + terms[j]) for i, j in ((0, 1), (0, 2), (1, 2))}
    none, everything = s(bias), s(bias + terms[0] + terms[1] + terms[2])
    found = []
    for k in range(3):
        i, j = (other for other in range(3) if other != k)
        later = pairs[min(k, i), max(k, i)] - alone[i] + pairs[min(k, j), max(k, j)] - alone[j]
        found.append((alone[k] - none) / 3 + later / 6 + (everything - pairs[i, j]) / 3)
    return found


def step(network: Network, state: State, e: Tensor, inside: bool) -> State:
    """One step of the decomposition for inputs e (B, D) that are inside the phrase or not."""
    cell = network.cell
    beta, gamma, beta_c, gamma_c = state
    zero = torch.zeros_like(cell.b)
    terms = [torch.nn.functional.linear(e, cell.W, zero), beta @ cell.U.t(), gamma @ cell.U.t()]
    (x_i, x_f, x_g, x_o), (b_i, b_f, b_g, b_o), (g_i, g_f, g_g, g_o) = (term.chunk(4, -1) for term in terms)
    bias_i, bias_f, bias_g, bias_o = (cell.b + cell.c).chunk(4)
    first = {}
    for gate, s, bias, three in (
        ("i", torch.sigmoid, bias_i, (x_i, b_i, g_i)),
        ("f", torch.sigmoid, bias_f, (x_f, b_f, g_f)),
        ("g", torch.tanh, bias_g, (x_g, b_g, g_g)),
    ):
        x, relevant, rest = parts_of(s, bias, *three)
        relevant, rest = (relevant + x, rest) if inside else (relevant, rest + x)
        first[gate] = relevant, rest, s(bias)
    (i, i_rest, i_bias), (f, f_rest, f_bias), (g, g_rest, g_bias) = first["i"], first["f"], first["g"]
    kept = (f + f_bias) * beta_c
    kept_rest = f_rest * beta_c + (f + f_rest + f_bias) * gamma_c
    added = (i + i_bias) * (g + g_bias) - i_bias * g_bias
    added_rest = (i + i_rest + i_bias) * (g + g_rest + g_bias) - added
    beta_c, gamma_c = kept + added, kept_rest + added_rest
    o = torch.sigmoid(x_o + b_o + g_o + bias_o)  # the output gate is not decomposed
    both = torch.tanh(beta_c + gamma_c)
    beta = o * (torch.tanh(beta_c) + both - torch.tanh(gamma_c)) / 2
    return beta, o * both - beta, beta_c, gamma_c


@torch.no_grad()
def decompose(network: Network, start: Tensor, e: Tensor, inside: tuple[bool, ...]) -> tuple[Tensor, Tensor]:
    """The scores w·β and w·γ (B,) of texts e (B, T, D) from a state (N,); with the bias they add up to the logit.

    inside: which of the words are the phrase."""
    h, c = start.expand(len(e), -1).chunk(2, -1)
    state: State = torch.zeros_like(h), h, torch.zeros_like(c), c
    for t, within in enumerate(inside):
        state = step(network, state, e[:, t], within)
    return state[0] @ network.readout_w, state[1] @ network.readout_w


def rival_strengths(network: Network, start: Tensor, words: list[str], probes: Probes) -> dict[str, dict[str, float]]:
    """Two strengths of words by decomposition: the pair less both parts, and the pair less the word."""
    e, v = word_inputs(network, words), probes.inputs(network)
    alone = probes.contrast(decompose(network, start, v.unsqueeze(1), (True,))[0])
    found: dict[str, dict[str, float]] = {"interaction": {}, "pair": {}}
    most = max(1, BLOCK // len(v))
    for at in range(0, len(words), most):
        some = e[at : at + most]
        pairs = torch.stack([some.repeat_interleave(len(v), 0), v.repeat(len(some), 1)], 1)
        pair, first, second = (
            decompose(network, start, pairs, inside)[0].reshape(len(some), len(v))
            for inside in ((True, True), (True, False), (False, True))
        )
        together = probes.contrast(pair - first) / alone
        apart = probes.contrast(second) / alone
        for name, values in (("interaction", together - apart), ("pair", together - 1)):
            found[name].update(zip(words[at : at + most], values.tolist(), strict=True))
    return found


def gain(ours: Mapping[str, float], other: Mapping[str, float], people: Judged, split: str, least: int) -> list[float]:
    """By how much r is higher with `other` than with `ours`, on the same words: the 95 % interval, by a bootstrap."""
    rows = [i for i, n in enumerate(people.phrases(split)) if n >= least and people.words[i] in ours]
    theirs = people.strength(split)[rows]
    a, b = (np.array([values[people.words[i]] for i in rows]) for values in (ours, other))
    drawn = np.random.default_rng(0).integers(len(rows), size=(RESAMPLES, len(rows)))
    found = [(correlation(b[k], theirs[k]) or 0.0) - (correlation(a[k], theirs[k]) or 0.0) for k in drawn]
    return np.quantile(found, [0.025, 0.975]).round(3).tolist()


def main() -> None:
    run, people = rnnlens.load(NAME), packaged()
    strengths = agreement(run).scores[0].strengths
    network = run.network.double().requires_grad_(False)
    line = location_of(network, states_of(network, run).to(network.h0)).line
    probes = stored_probes(run, network, line).known_to(network).first(PROBES)
    enough = [word for word, n in zip(people.words, people.phrases(), strict=True) if n >= LEAST[0]]
    words = [word for word in enough if word in strengths]
    measured = {"strength": {word: strengths[word] for word in words}}
    for place, start in (("h0", network.h0), ("h*", line.h_star)):
        for name, values in rival_strengths(network, start, words, probes).items():
            measured[f"decomposition, {name}, from {place}"] = values
    rows = {}
    for name, values in measured.items():
        scores = {(least, split): correlate(values, people, split, least) for least in LEAST for split in SPLITS}
        rows[name] = {f"{least} phrases, {split}": score.to_dict() for (least, split), score in scores.items()}
        if name != "strength":
            rows[name]["gain over strength"] = {
                f"{least} phrases, {split}": gain(measured["strength"], values, people, split, least)
                for least in LEAST
                for split in SPLITS
            }
        rows[name]["words"] = {word: round(values[word], 3) for word in ("not", "never", "no", "less", "very", "the")}
        print(
            name,
            {key: round(score.r or 0, 2) for key, score in scores.items()},
            rows[name]["words"],
            rows[name].get("gain over strength"),
        )
    content = {"network": NAME, "people": people.source, "words": len(words), "probes": 2 * PROBES, "measures": rows}
    with atomic_file(RECORD) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
