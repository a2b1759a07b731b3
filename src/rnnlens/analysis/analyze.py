"""`analyze`: the paper's analysis of one trained network, in three stages.

locate   visited states → slow points → the line
measure  probe words → modifiers → all results that follow from them (`Analysis`)
perturb  with a corpus: how much accuracy each perturbation costs
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rnnlens.analysis.classes import Classes, shown_class, study_classes
from rnnlens.analysis.directions import both_directions, check_direction, reader_and_whole, usual_or_reversed
from rnnlens.analysis.examples import corpus_examples
from rnnlens.analysis.locate import Location, analyzed_view, locate, states_of, stored_probes, view_of
from rnnlens.analysis.perturb import check_as_many, evaluated, other_words, perturb_reviews, reviews_to_read
from rnnlens.analysis.record import Analysis
from rnnlens.analysis.storage import check_no_folders, check_not_packaged, kept_results
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import exclusive
from rnnlens.common.options import CORPUS
from rnnlens.common.progress import progress_bar
from rnnlens.common.ranges import check_options, in_range
from rnnlens.context.finding import find_modifiers
from rnnlens.context.probes import Probes, common_words
from rnnlens.corpora import CorpusLike
from rnnlens.networks import AnyNetwork, BothWays, DeepBothWays, Network, check_words, within
from rnnlens.networks.devices import check_device, threads_for
from rnnlens.runs import Run, load

LEAST = 5  # smallest number of words that can be analyzed
PARTS = {  # attributes of `Analysis` in the order of computation, with the text of the progress bar
    "subspace": "subspace", "timescales": "timescales", "barcodes": "barcodes", "components": "barcodes",
    "impulses": "impulse responses", "bilinear": "bilinear model", "bilinear_by_strength": "bilinear model",
    "edges": "edges of documents", "readings": "probe reviews",
}  # fmt: skip


@torch.no_grad()
@in_range("analyze")
def analyze(
    run: Run | AnyNetwork | Path | str,
    corpus: CorpusLike | Path | str | Sequence[Path | str] | None = None,
    states: Tensor | None = None,
    probes: Probes | None = None,
    *,
    top: int = 10_000,
    rank: int = 3,
    starts: int | None = None,
    device: str | None = None,
    seed: int = 0,
    accuracy: bool = True,
    reviews: int | None = None,
    class_: str | None = None,
    direction: str | None = None,
    progress: bool = False,
) -> Analysis:
    """Analyze how a network uses context.

    run: a run, its folder, or any network with a vocabulary. corpus: its reviews. states (..., N): starting points of
    the search for slow points; by default the run's stored sample, states visited in the corpus, or states after random
    words. starts: how many of these states; by default 2,000, and fewer if a state has more than 256 numbers, but at
    least 256. probes: by default from a logistic regression on the corpus, or else from the network's own effects.
    top: how many of the most frequent words to measure. accuracy: with a corpus, whether to run the accuracy
    experiments. reviews: the largest number of reviews of a split that they read. class_: of a network with several
    classes, the one to show: `analysis.classes` is about all of them, and the other parts are about its logit minus the
    mean of the others (`Network.of_class`), with probes of the class against the rest. By default it is the class with
    most training texts. Accuracies are the whole network's. Of ordered classes their scale is shown, and no class is
    chosen. direction: of a network that reads both ways, the reader to show, forwards (by default) or backwards;
    accuracies are the whole network's, and `analysis.both_ways` compares the two readers. Without a corpus, the class
    and direction of the run's stored analysis are kept by default; if there is none, the first class is shown.
    """
    check_device(device)
    run, usual = _opened(run, corpus)
    whole, folder = (run.network, run) if isinstance(run, Run) else (run, None)
    whole = copy.deepcopy(whole).to(device) if device else whole
    check_words(whole, usual)
    before = _stored_view(folder, usual)
    class_, direction = shown_class(whole, class_, usual, before[0]), check_direction(whole, direction, before[1])
    network, _ = reader_and_whole(one_logit(whole, class_), direction)
    _check(network, folder, usual, top)
    texts: CorpusLike | None = usual_or_reversed(usual, direction)
    by_class = whole.several_classes and direction is None
    steps = (14 if texts is not None and accuracy else 10) + by_class + (direction is not None)
    with threads_for(network, None), progress_bar("analyzing", steps, shown=progress) as advance:
        step = _Steps(advance)
        step("slow points")
        location = locate(network, states_of(network, folder, texts, starts, seed) if states is None else states)
        classes = None
        if by_class:
            step("classes")
            stored = None if folder is None else folder.results.get("classes")
            classes = study_classes(whole, location.states, usual, network.target, top=top, seed=seed, stored=stored)
        step("probe words")
        if probes is None:
            probes = (
                stored_probes(folder, network, location.line)
                if texts is None
                else Probes.from_corpus(texts, class_=class_, ordered=whole.ordered)
            )
        analysis = measure(location, probes, top=top, rank=rank, seed=seed, run=folder, step=step, classes=classes)
        if texts is not None and usual is not None and accuracy:
            measured = reader_and_whole(whole, direction)[1]
            reads = within(whole, "forwards") if isinstance(whole, BothWays) else measured
            analysis = _perturbed(analysis, measured, texts, reviews, step, (reads, usual))
        if isinstance(whole, BothWays):
            step("both directions")
            options = {"rank": rank, "starts": starts, "seed": seed, "accuracy": accuracy, "reviews": reviews}
            compared = both_directions(whole, analysis.modifiers, usual, folder, **options)  # type: ignore[arg-type]
            analysis = analysis.with_parts(both_ways=compared)
        analysis.results  # noqa: B018 - computed now, so that errors are raised here
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
    classes: Classes | None = None,
) -> Analysis:
    """Measure the most frequent words at a location, and compute all other parts of the analysis."""
    network, probes = location.network, probes.known_to(location.network)
    step("modifiers")
    modifiers = find_modifiers(network, location.line, top=top, probes=probes)
    analysis = Analysis(network, location, probes, modifiers, run=run, rank=rank, seed=seed, classes=classes)
    for name, note in PARTS.items():
        step(note)
        getattr(analysis, name)
    return analysis


def one_logit(network: Any, class_: str | None) -> Any:
    """The network, or its view of one of several classes, as `shown_class` chose it."""
    if class_ is not None or network.ordered:
        return network.of_class(class_)
    return network


def _perturbed(
    analysis: Analysis,
    whole: Any,
    corpus: CorpusLike,
    reviews: int | None,
    step: Callable[[str], None],
    shown: tuple[Any, CorpusLike],
) -> Analysis:
    """The analysis with experiments on reviews. whole: the network with all its classes and readers. shown: the network
    that reads the examples, and the corpus that they are from, in their usual order."""
    network, line, seed = analysis.network, analysis.line, analysis.seed
    span = None if analysis.classes is None else analysis.classes.span
    others = other_words(network, line, analysis.modifiers, analysis.subspace, seed, attractor=span)
    longest = None if analysis.run is None else analysis.run.config.max_words
    experiments = perturb_reviews(
        whole,
        line,
        analysis.all_components,
        others,
        corpus,
        analysis.modifiers,
        longest=longest,
        most=reviews,
        rank=analysis.rank,
        seed=seed,
        step=step,
    )
    if whole.several_classes:  # examples are of positive and negative reviews
        return analysis.with_parts(experiments=experiments)
    examples = corpus_examples(shown[0], analysis.modifiers, evaluated(shown[1])[1])
    return analysis.with_parts(experiments=replace(experiments, examples=examples))


def _check(network: Network, run: Run | None, corpus: CorpusLike | None, top: int) -> None:
    """Raise an error if the network, or the network with this corpus, cannot be analyzed."""
    if network.vocab is None:
        raise RnnlensError(
            "this network has no words: `analyze` needs a vocabulary; `rnnlens.dynamics` works without one"
        )
    network.check_measurable()
    if network.size < 2:
        raise RnnlensError(
            "the network's state is one number: expected at least 2, since modifiers move the state off a line"
        )
    if (n := len(common_words(network, top))) < LEAST:
        fix = "raise top (--top)" if top < LEAST else "train a network on more texts"
        raise RnnlensError(
            f"there {'is 1 word' if n == 1 else f'are {n} words'} to measure: expected at least {LEAST}; {fix}"
        )
    if corpus is not None and run is not None:
        run.check_corpus(corpus)


class _Steps:
    """One progress bar over all stages; repeated notes count as one step."""

    def __init__(self, advance: Callable[..., None]):
        self.advance = advance
        self.last: str | None = None

    def __call__(self, note: str) -> None:
        if note != self.last:
            self.advance(0 if self.last is None else 1, note)
        self.last = note


def analyze_command(
    run: Path | str,
    corpus: str | None,
    *,
    reviews: int | None = None,
    overwrite: bool = False,
    class_: str | None = None,
    direction: str | None = None,
    **options: Any,
) -> Analysis:
    """Analyze a run and save the analysis in its folder, for `rnnlens analyze`."""
    named = {"reviews": reviews, "overwrite": overwrite, "class_": class_, "direction": direction}
    check_options("analyze", options, **named)
    opened = load(run)
    _, data = _opened(opened, corpus)
    before = _stored_view(opened, data)
    class_ = shown_class(opened.network, class_, data, before[0])
    direction = check_direction(opened.network, direction, before[1])
    network, _ = reader_and_whole(one_logit(opened.network, class_), direction)
    if data is not None:
        opened.check_corpus(data)
        check_words(opened.network, data)
    # Check that the analysis can be saved before it starts: it can take an hour.
    check_not_packaged(opened.path)
    check_no_folders(opened.path)
    with exclusive(opened.path, wait=True):
        pass
    if data is not None and not overwrite:
        known = kept_results(opened.results, view_of(network))
        check_as_many(known, reviews_to_read(data, reviews), opened.path)
    analysis = analyze(opened, data, reviews=reviews, class_=class_, direction=direction, progress=True, **options)
    analysis.save(overwrite=overwrite)
    return analysis


def _stored_view(run: Run | None, corpus: CorpusLike | None) -> tuple[str, str]:
    """The class and the direction of the stored analysis, which another without a corpus keeps unless others are
    chosen: it has no accuracies to replace those stored. Else empty."""
    return ("", "") if run is None or corpus is not None else analyzed_view(run.results)


def _opened(run: Any, corpus: Any) -> tuple[Run | Any, CorpusLike | None]:
    """The run or network, and the corpus with its words; both are loaded if given by folder or name."""
    run = load(run) if isinstance(run, Path | str) else run
    if isinstance(run, DeepBothWays):
        raise RnnlensError(
            "this network has no state that a word changes, since its upper layers or its head read both directions at "
            "once: network.read(text) says what each word is worth, and jacobians, find_fixed_points and linear_modes "
            "take a reader of one layer, such as network.layers[0].forwards"
        )
    if not isinstance(run, Run | Network | BothWays):
        raise RnnlensError(
            f"analyze got {quoted(type(run).__name__)}: expected a run, its folder or a network; torch's own modules "
            "come in through rnnlens.from_torch"
        )
    sources = [corpus] if isinstance(corpus, Path | str) else corpus
    if isinstance(sources, list | tuple) and all(isinstance(source, Path | str) for source in sources):
        from rnnlens.corpora import load_corpus

        corpus = load_corpus(corpus)
    if corpus is not None and corpus not in CORPUS:
        raise RnnlensError(
            f"corpus is of type {type(corpus).__name__}: expected a corpus, a source or a list of sources; texts with "
            "their labels come in through rnnlens.Corpus.from_texts(texts, labels)"
        )
    return run, run.in_own_words(corpus) if isinstance(run, Run) else corpus
