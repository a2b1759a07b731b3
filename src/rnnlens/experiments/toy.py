"""The toy study (§4, Supp. A): how a network that learned a toy language negates and intensifies.

`train_toy` trains a network; `study_toy` analyzes it. All measurements go to the run's results under `toy`, and all
figures are drawn from these.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import exclusive, write_tensors
from rnnlens.common.progress import progress_bar
from rnnlens.common.provenance import KEY
from rnnlens.common.ranges import in_range
from rnnlens.common.replacing import check_place
from rnnlens.context import blank_input
from rnnlens.corpora.toy import Modifier, ToyLanguage, toy_corpus
from rnnlens.dynamics import find_fixed_points, fit_line_attractor, visited_states
from rnnlens.experiments.toy_claims import toy_claims
from rnnlens.experiments.toy_measures import PHRASES, ToyMeasures
from rnnlens.networks import Network
from rnnlens.networks.devices import check_device, threads_for
from rnnlens.runs import Run
from rnnlens.training import TrainConfig, train


def toy_config(seed: int) -> TrainConfig:
    """Settings for the toy language. There is no word dropout, since the language itself has blank inputs.

    Without weight decay words saturate units, and the linear expansions of Supp. A overshoot by 15 % (docs/toy.md)."""
    return TrainConfig(
        epochs=5,
        learning_rate=5e-3,
        weight_decay=0.1,
        word_dropout=0.0,
        embedding_dropout=0.0,
        max_words=None,
        seed=seed,
    )


@in_range("toy")
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
    check_device(device)
    check_place(Path(out), folder=True)
    corpus = toy_corpus(train=reviews, seed=seed)
    network = Network(corpus.vocab, arch=arch, hidden=hidden, embedding=embedding, seed=seed)
    return train(network, corpus, config or toy_config(seed), out, resume=resume, device=device)


@torch.no_grad()
def read_phrases(network: Network, language: ToyLanguage, phrases: tuple[str, ...] = PHRASES) -> list[dict[str, Any]]:
    """The network's reading of each phrase from its initial state, and the value by the language's rule."""
    rows = []
    for phrase in phrases:
        ids = language.encode(phrase)
        logit = network.logits(torch.as_tensor(ids).unsqueeze(0))[0, -1].item()
        rows.append({"phrase": phrase, "logit": logit, "target": float(language.targets(ids[None])[0, -1])})
    return rows


# --- the study --------------------------------------------------------------------------------------------------------


@torch.no_grad()
@in_range("toy")
def study_toy(run: Run, starts: int = 10_000, progress: bool = True) -> None:
    """Run all analyses of the toy study on a trained run, in the order of the paper, check its claims and store all.

    starts: number of visited states from which the search for slow points starts.
    """
    language, network = _language(run), copy.deepcopy(run.network).cpu().double()
    toy: dict[str, Any] = {"phrases": read_phrases(network, language)}
    with threads_for(network, None), progress_bar("analyzing", 9, shown=progress) as advance:
        advance(0, "slow points")
        states = visited_states(network, toy_corpus(language, train=1, validation=2_000, seed=1).validation, n=starts)
        toy["blank_input"] = blank_input(network, states).to_dict()
        points = find_fixed_points(network, states, mode="slow")
        points = points.take(points.converged.nonzero()[:, 0])
        advance(1, "line attractor")
        line = fit_line_attractor(network, points)
        study = ToyMeasures(network, language, points, line)
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
    toy["claims"] = toy_claims(toy)
    with exclusive(run.path, wait=True):  # so that both files come from the same study
        stored = Run(run.path, run.about)  # reads the current files
        if stored.is_analyzed() and "subspace" in stored.analysis_arrays():  # keep the arrays of `analyze`
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
    """The language that the run was trained on."""
    about = run.about["corpus"]
    if about.get("source") != "toy":
        raise RnnlensError(f"the run {quoted(str(run.path))} was not trained on the toy language: use `rnnlens toy`")
    modifiers = {word: Modifier(**rule) for word, rule in about["modifiers"].items()}
    return ToyLanguage(about["valences"], modifiers, about["length"], about["pads"])
