"""`analyze`: everything the paper does to one trained network, in three stages.

locate   visited states → slow points → the line
measure  probe words → modifiers → everything that follows from them (`Analysis`)
perturb  with reviews: what accuracy costs
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rnnlens.analysis.locate import Location, locate, states_of, stored_probes
from rnnlens.analysis.perturb import check_as_many, other_words, perturb_reviews, reviews_to_read
from rnnlens.analysis.record import Analysis
from rnnlens.analysis.storage import check_not_packaged
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import exclusive
from rnnlens.common.progress import progress_bar
from rnnlens.common.ranges import check_options
from rnnlens.context.finding import find_modifiers
from rnnlens.context.probes import Probes, common_words
from rnnlens.networks import Network, check_words
from rnnlens.networks.devices import threads_for
from rnnlens.runs import Run, load

LEAST = 5  # words: with fewer there is nothing to fit
PARTS = {  # of an analysis, in the order in which they are computed, with what the progress bar says
    "subspace": "subspace", "timescales": "timescales", "barcodes": "barcodes", "components": "barcodes",
    "impulses": "impulse responses", "bilinear": "bilinear model", "bilinear_by_strength": "bilinear model",
    "edges": "edges of documents", "readings": "probe reviews",
}  # fmt: skip


@torch.no_grad()
def analyze(
    run: Run | Network | Path | str,
    corpus: Any = None,
    states: Tensor | None = None,
    probes: Probes | None = None,
    *,
    top: int = 10_000,
    rank: int = 3,
    starts: int = 2_000,
    device: str | None = None,
    seed: int = 0,
    accuracy: bool = True,
    reviews: int | None = None,
    progress: bool = False,
) -> Analysis:
    """Take a network apart.

    run: a run, its folder, or any network with words. corpus: its reviews. states (..., N): where to seek slow points
    from; by default the run's stored sample, states visited in the corpus, or after random words. probes: by default
    by logistic regression on the corpus, or by the network's own effects. top: how many of the most frequent words to
    look at. accuracy: whether to run the accuracy experiments, with a corpus; reviews: on at most so many of a split.
    """
    check_options("analyze", top=top, rank=rank, starts=starts, seed=seed, reviews=reviews)
    run, corpus = _opened(run, corpus)
    network, folder = (run.network, run) if isinstance(run, Run) else (run, None)
    _check(network, folder, corpus, top)
    network = copy.deepcopy(network).to(device) if device else network
    steps = 13 if corpus is not None and accuracy else 10
    with threads_for(network, None), progress_bar("analyzing", steps, shown=progress) as advance:
        step = _Steps(advance)
        step("slow points")
        location = locate(network, states_of(network, folder, corpus, starts, seed) if states is None else states)
        step("probe words")
        if probes is None:
            probes = stored_probes(folder, network, location.line) if corpus is None else Probes.from_corpus(corpus)
        analysis = measure(location, probes, top=top, rank=rank, seed=seed, run=folder, step=step)
        if corpus is not None and accuracy:
            analysis = _perturbed(analysis, corpus, reviews, step)
        analysis.results  # noqa: B018 - what cannot be measured is reported now
        advance(1, "done")
    return analysis


def measure(
    location: Location,
    probes: Probes,
    *,
    top: int = 10_000,
    rank: int = 3,
    seed: int = 0,
    run: Run | None = None,
    step: Callable[[str], None] = lambda note: None,
) -> Analysis:
    """Measure the most frequent words at a location, and all that follows from them."""
    network, probes = location.network, probes.known_to(location.network)
    step("modifiers")
    modifiers = find_modifiers(network, location.line, top=top, probes=probes)
    analysis = Analysis(network, location, probes, modifiers, run=run, rank=rank, seed=seed)
    for name, note in PARTS.items():
        step(note)
        getattr(analysis, name)
    return analysis


def _perturbed(analysis: Analysis, corpus: Any, reviews: int | None, step: Callable[[str], None]) -> Analysis:
    network, line, seed = analysis.network, analysis.line, analysis.seed
    others = other_words(network, line, analysis.modifiers, analysis.subspace, seed)
    longest = None if analysis.run is None else analysis.run.config.max_words
    experiments = perturb_reviews(
        network, line, analysis.all_components, others, corpus, longest=longest, most=reviews, seed=seed, step=step
    )
    return analysis.with_experiments(experiments)


def _check(network: Network, run: Run | None, corpus: Any, top: int) -> None:
    """Refuse what cannot be analyzed."""
    if network.vocab is None:
        raise RnnlensError(
            "this network has no words: `analyze` needs a vocabulary; see `rnnlens.dynamics` for the rest"
        )
    network.check_measurable()
    if len(common_words(network, top)) < LEAST:
        raise RnnlensError(f"there are {len(common_words(network, top))} words to look at: expected at least {LEAST}")
    check_words(network, corpus)
    if corpus is not None and run is not None:
        run.check_corpus(corpus)


class _Steps:
    """Progress: one bar over all stages."""

    def __init__(self, advance: Callable[..., None]):
        self.advance = advance
        self.last: str | None = None

    def __call__(self, note: str) -> None:
        if note != self.last:
            self.advance(0 if self.last is None else 1, note)
        self.last = note


def analyze_command(
    run: Path | str, corpus: str | None, *, reviews: int | None = None, overwrite: bool = False, **options: Any
) -> Analysis:
    """What `rnnlens analyze` and `python -m rnnlens.analysis` both do: analyze a run and save it there."""
    check_options("analyze", options, reviews=reviews)
    opened = load(run)
    _, data = _opened(opened, corpus)
    # What could not be saved is refused now: an analysis can take an hour.
    check_not_packaged(opened.path)
    with exclusive(opened.path, wait=True):
        pass
    if data is not None and not overwrite:
        check_as_many(opened.results, reviews_to_read(data, reviews), opened.path)
    analysis = analyze(opened, data, reviews=reviews, progress=True, **options)
    analysis.save(overwrite=overwrite)
    return analysis


def _opened(run: Any, corpus: Any) -> tuple[Run | Network, Any]:
    """What is given by its folder or name is opened; what is neither run nor network is told."""
    run = load(run) if isinstance(run, Path | str) else run
    if not isinstance(run, Run | Network):
        raise RnnlensError(
            f"analyze got {quoted(type(run).__name__)}: expected a run, its folder or a network; torch's own modules "
            "come in through rnnlens.from_torch"
        )
    if isinstance(corpus, Path | str):
        from rnnlens.corpora import load_corpus

        corpus = load_corpus(corpus)
    return run, run.in_own_words(corpus) if isinstance(run, Run) else corpus
