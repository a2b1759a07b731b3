"""`analyze`: everything the paper does to one trained network, in order.

Without a corpus, all that needs no review text; with one, also the accuracy experiments. Results are plain data under
the keys of results.json; the records they come from are on the `Analysis`.
"""

from __future__ import annotations

import argparse
import copy
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rnnlens.analysis.accuracy import (
    accuracy_experiments,
    check_as_many,
    other_words,
    reviews_read,
    reviews_to_read,
)
from rnnlens.analysis.claims import analysis_claims, counted
from rnnlens.analysis.locate import find_line, states_of, stored_probes
from rnnlens.common.display import Facts, Shown, percents, table_html
from rnnlens.common.errors import RnnlensError, exit_code_of, quoted
from rnnlens.common.files import exclusive, write_json, write_tensors
from rnnlens.common.progress import progress_bar
from rnnlens.common.provenance import KEY
from rnnlens.common.ranges import check_options
from rnnlens.common.replacing import TENSORS, check_file, check_json
from rnnlens.common.terminal import say
from rnnlens.context.barcodes import Barcode, barcode, component_barcodes
from rnnlens.context.bilinear import Bilinear, fit_bilinear
from rnnlens.context.blank import BlankInput, blank_input
from rnnlens.context.edges import Beginning, Ending, beginning, ending
from rnnlens.context.impulse import Impulse, Timescales, impulse, timescales
from rnnlens.context.modifiers import MOST, Modifiers, find_modifiers
from rnnlens.context.negation import negation_form
from rnnlens.context.perturbation import Perturbations
from rnnlens.context.probe import probe_results
from rnnlens.context.probes import Probes, common_words
from rnnlens.context.subspace import Subspace, fit_subspace, project_out, random_subspace
from rnnlens.dynamics import FixedPoints, LineAttractor
from rnnlens.dynamics.view import principal_view
from rnnlens.networks import Network, check_words
from rnnlens.networks.devices import threads_for
from rnnlens.runs import Run, load, merge_results, zoo

MEASURES = ("strength", "error", "valence", "own", "norm", "tau", "on_positive", "on_negative")  # stored of each word
EDGES = ("beginning", "ending")  # of documents
LEAST = 5  # words: with fewer there is nothing to fit
EXAMPLES = (
    "not", "never", "no", "don't", "didn't", "isn't", "hardly", "very", "extremely", "absolutely", "definitely",
    "really", "highly", "the", "a", "of", "movie",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Analysis(Shown):
    """Everything found about one network. `measured` is what this analysis adds to results.json; `results` also has
    the accuracies that the run knew before."""

    network: Network = field(repr=False)
    points: FixedPoints
    line: LineAttractor
    probes: Probes = field(repr=False)
    modifiers: Modifiers
    barcodes: dict[str, Barcode] = field(repr=False)
    subspace: Subspace
    components: list[Barcode] = field(repr=False)
    impulses: dict[str, Impulse] = field(repr=False)
    timescales: Timescales
    bilinear: Bilinear
    edges: tuple[Beginning, Ending] = field(repr=False)
    perturbations: Perturbations | None = field(repr=False)
    states: Tensor = field(repr=False)
    results: dict[str, Any] = field(repr=False)
    run: Run | None = field(repr=False, default=None)
    measured: dict[str, Any] = field(repr=False, default_factory=dict)

    def arrays(self) -> dict[str, Tensor]:
        """What analysis.safetensors holds. words (M,): ids of the words that were looked at, most frequent first;
        measures (C, M): the columns `MEASURES` of their table; places (M, R): where they take the state in the
        modifier subspace."""
        slow = self.points.take(self.points.converged.nonzero()[:, 0])
        words = self.modifiers
        return {
            "slow_points": slow.states, "slow_points_q": slow.q, "line": self.line.knots,
            "line_logits": self.line.logits, "h_star": self.line.h_star, "subspace": self.subspace.components,
            "line_directions": self.subspace.line, "bilinear_m": self.bilinear.m,
            "words": words.ids.int(), "measures": torch.stack([getattr(words, name).float() for name in MEASURES]),
            "places": self.subspace.project(self.modifiers.h_mod),
        }  # fmt: skip

    def _facts(self) -> Facts:
        claims = analysis_claims(self.results)
        held, of = counted(claims)
        return [
            ("network", repr(self.network)),
            ("warnings", self.results["warnings"] or "none"),
            ("line attractor", f"a curve explains {percents([self.line.explained])} of the slow points' variance"),
            ("modifiers", f"{len(self.modifiers.selected):,} of {len(self.modifiers):,} words"),
            ("negators and diminishers", self.modifiers.strongest(12, ("negator", "diminisher"))),
            ("intensifiers", self.modifiers.strongest(12, "intensifier")),
            ("subspace", f"{percents(self.subspace.explained.tolist()[:3])} of the modifiers' variance"),
            ("timescales, words", self.timescales.mean()),
            ("bilinear model, 1, 2, 3 terms", percents(self.bilinear.explained.tolist()[:3])),
            ("claims of the paper", f"{held} of {of} that were measured and are specific are shown"),
        ]

    def _drawing(self) -> str:
        rows = [
            ["–" if claim.shown is None else "✓" if claim.shown else "✗", claim.claim, claim.measured, claim.paper]
            for claim in analysis_claims(self.results)
        ]
        return table_html(rows, ["", "claim", "here", "paper"])

    def save(self, folder: Path | str | None = None, *, overwrite: bool = False) -> Path:
        """Write results.json (merged into what a run has), analysis.safetensors and states.safetensors, which name the
        run's weights, vocabulary and corpus. Only with `overwrite` does an analysis replace one of more reviews; in
        another folder than the run's own, it replaces an earlier analysis at most."""
        if folder is None and self.run is None:
            raise RnnlensError("this network has no run folder: say where to save, as in analysis.save('analysis')")
        path = Path(folder) if folder is not None else self.run.path  # type: ignore[union-attr]
        _check_not_packaged(path)
        own = self.run is not None and path.resolve() == self.run.path.resolve()
        if not own:
            _check_no_other(path)
        with exclusive(path, wait=True):  # of two processes that save here, one after the other
            provenance = {} if self.run is None else self.run.current_provenance() if own else self.run.provenance
            if self.run is not None and own and not overwrite:
                stored = Run(path, self.run.about).results  # as they are in the file now
                check_as_many(stored, reviews_read(self.measured), path)
            mark = write_tensors(
                path / "analysis.safetensors", self.arrays(),
                {"what": "slow points, the curve through them, the modifier subspace, the bilinear components, and "
                 f"measures of words: {', '.join(MEASURES)}", KEY: provenance},
            )  # fmt: skip
            write_tensors(
                path / "states.safetensors", {"states": self.states.half()},
                {"what": "visited states, a sample", KEY: provenance},
            )  # fmt: skip
            if self.run is not None and own:
                self.run.add_results(**_rounded(self.measured), provenance={"analysis": mark})
            else:
                write_json(path / "results.json", {**_rounded(self.results), KEY: {**provenance, "analysis": mark}})
        return path


def _check_not_packaged(folder: Path) -> None:
    if folder.resolve().is_relative_to(zoo.HERE.resolve()):
        raise RnnlensError("this run is part of the package: analyze a copy of it, with `rnnlens demo --out RUN`")


def _check_no_other(folder: Path) -> None:
    """Refuse to save an analysis into the folder of another run, or over files that are of no analysis."""
    if (folder / "run.json").exists() or (folder / "config.json").exists():
        raise RnnlensError(f"{quoted(str(folder))} holds another run than was analyzed: choose another folder")
    check_json(folder / "results.json", "subspace", "a result of `rnnlens analyze`")
    for name in ("analysis.safetensors", "states.safetensors"):
        check_file(folder / name, TENSORS, "from an analysis of rnnlens")


class _Steps:
    """Progress: one bar over all stages."""

    def __init__(self, advance: Callable[..., None]):
        self.advance, self.first = advance, True

    def __call__(self, note: str) -> None:
        self.advance(0 if self.first else 1, note)
        self.first = False


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
    if network.vocab is None:
        raise RnnlensError(
            "this network has no words: `analyze` needs a vocabulary; see `rnnlens.dynamics` for the rest"
        )
    vocab = network.vocab
    network.check_measurable()
    if len(common_words(network, top)) < LEAST:
        raise RnnlensError(f"there are {len(common_words(network, top))} words to look at: expected at least {LEAST}")
    if states is not None:
        if states.shape[-1:] != (network.size,):
            raise RnnlensError(f"states have shape {tuple(states.shape)}: expected (..., {network.size})")
        states = states.reshape(-1, network.size)
    check_words(network, corpus)
    if corpus is not None and folder is not None:
        folder.check_corpus(corpus)
    network = copy.deepcopy(network).to(device) if device else network
    steps = 14 if corpus is not None and accuracy else 10
    with threads_for(network, None), progress_bar("analysing", steps, shown=progress) as advance:
        told = _Steps(advance)
        told("slow points")
        if states is None:
            states = states_of(network, folder, corpus, starts, seed)
        states = states.half().float()  # as they are stored: a second analysis begins where the first did
        points, line, settled, through = find_line(network, states.to(network.h0))
        blank = blank_input(network, states)
        told("probe words")
        if probes is None:
            probes = stored_probes(folder, network, line) if corpus is None else Probes.from_corpus(corpus)
        probes = probes.known_to(network)
        told("modifiers")
        modifiers = find_modifiers(network, line, top=top, probes=probes)
        told("subspace")
        wide = fit_subspace(network, line, modifiers, rank=None)
        subspace = wide.take(min(rank, wide.rank))
        told("timescales")
        scales = timescales(network, subspace, modifiers)
        told("barcodes")
        examples = [word for word in EXAMPLES if word in vocab] or modifiers.strongest(10)
        named = list(dict.fromkeys([*examples, *modifiers.strongest(20)]))
        barcodes = {word: barcode(network, line, word, probes) for word in named}
        components = component_barcodes(network, line, wide.components, wide.sizes[: wide.rank], probes)
        told("impulse responses")
        impulses = {word: impulse(network, line, subspace, word) for word in named}
        told("bilinear model")
        by_norm = modifiers.norm.argsort(descending=True)[:MOST]  # the paper's choice of modifiers
        bilinear = fit_bilinear(network, line, modifiers, rank=min(3, wide.rank))
        by_strength = fit_bilinear(network, line, modifiers, rank=min(3, wide.rank), rows=modifiers.strong)
        told("edges of documents")
        first = beginning(network, line, subspace, probes)
        last = ending(network, line, probes)
        told("probe reviews")
        generator = torch.Generator().manual_seed(seed)
        V = random_subspace(network.size, subspace.rank, generator, subspace.line).to(network.h0)
        readings = probe_results(network, project_out(network, subspace), project_out(network, V, subspace.h_star))
        results: dict[str, Any] = {
            "fixed_points": {
                "n": int(points.converged.sum()), "of": len(points), "settled": settled,
                "q_median": float(points.q.median()), "q_p95": float(points.q.quantile(0.95)),
                "slow_ratio": float(points.slowness.median()),
            },
            "line_attractor": {**line.results(), "through": through, "h_star_logit": float(network.logit(line.h_star)),
                               "covers": _covered(network, line, states)},
            "blank_input": blank.results(),
            "warnings": warnings_of(blank, line, network),
            "state_space": _state_space(network, states, points, line, readings["reviews"]),
            "probes": {**readings, "positive": list(probes.positive), "negative": list(probes.negative),
                       "source": probes.source},
            "modifiers": {**modifiers.results(also=examples), "negation_form": negation_form(network, line, modifiers)},
            "impulse": {word: found.results() for word, found in impulses.items()},
            "barcodes": {word: found.results() for word, found in barcodes.items()},
            "component_barcodes": [found.results() for found in components],
            "subspace": {
                **subspace.results(),
                "by_norm": fit_subspace(network, line, modifiers, rank=None, rows=by_norm).explained.tolist()[:10],
            },
            "timescales": scales.results(),
            "bilinear": {**bilinear.results(), "by_strength": by_strength.results()},
            "beginning": first.results(),
            "ending": last.results(),
        }  # fmt: skip
        perturbations = None
        if corpus is not None and accuracy:
            others = other_words(network, line, modifiers, subspace, seed)
            perturbations = accuracy_experiments(
                network, folder, line, wide, subspace, others, corpus, results, seed, told, reviews
            )
        advance(1, "done")
    check_results(results)
    known = {} if folder is None else folder.results  # what was once measured on reviews stays with what was not
    everything = merge_results({name: known[name] for name in ("accuracy", *EDGES) if name in known}, results)
    return Analysis(
        network, points, line, probes, modifiers, barcodes, subspace, components, impulses, scales, bilinear,
        (first, last), perturbations, states, everything, folder, results,
    )  # fmt: skip


def analyze_command(
    run: Path | str, corpus: str | None, *, reviews: int | None = None, overwrite: bool = False, **options: Any
) -> Analysis:
    """What `rnnlens analyze` and `python -m rnnlens.analysis.analyze` both do: analyze a run and save it there."""
    check_options("analyze", options, reviews=reviews)
    opened = load(run)
    _, data = _opened(opened, corpus)
    # What could not be saved is refused now: an analysis can take an hour.
    _check_not_packaged(opened.path)
    with exclusive(opened.path, wait=True):
        pass
    if data is not None and not overwrite:
        check_as_many(opened.results, reviews_to_read(data, reviews), opened.path)
    found = analyze(opened, data, reviews=reviews, progress=True, **options)
    found.save(overwrite=overwrite)
    return found


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


def _covered(network: Network, line: LineAttractor, states: Tensor) -> float:
    """The share of visited states whose logit is within the line's range."""
    logits, (low, high) = network.logit(states.to(network.h0)), line.range
    return float(((logits >= low) & (logits <= high)).double().mean())


def _state_space(
    network: Network,
    states: Tensor,
    points: FixedPoints,
    line: LineAttractor,
    reviews: dict[str, list[tuple[str, float]]],
) -> dict[str, Any]:
    """Fig. 1a: the line, slow points, the initial state and the probe reviews, in the states' principal components."""
    states = states.to(line.h_star)
    seen = principal_view(states, line.knots[-1] - line.knots[0])
    paths = {}
    for name, words in reviews.items():
        assert network.vocab is not None
        ids = network.vocab.encode([word for word, _ in words])
        path = network.states(torch.as_tensor(ids, device=network.h0.device).unsqueeze(0))[0]
        paths[name] = {"words": [word for word, _ in words], "path": seen(path), "logits": network.logit(path).tolist()}
    slow = points.states[points.converged] if bool(points.converged.any()) else points.states
    some = slow[torch.linspace(0, len(slow) - 1, min(300, len(slow))).long()]
    visited = states[torch.linspace(0, len(states) - 1, min(300, len(states))).long()]
    return {
        "variance": seen.variance,
        "line": {"path": seen(line.knots), "logits": line.logits.tolist()},
        "slow_points": {"at": seen(some), "logits": network.logit(some).tolist()},
        "visited": {"at": seen(visited), "logits": network.logit(visited).tolist()},
        "h0": seen(network.h0.detach()),
        "h_star": seen(line.h_star),
        "reviews": paths,
    }


def check_results(content: Any, name: str = "") -> None:
    """Refuse results with NaN or infinite numbers, before they reach a file or a figure."""
    if isinstance(content, float) and not math.isfinite(content):
        raise RnnlensError(
            f"the analysis gives {content} for {quoted(name)}: the network's weights are too small or too large to be "
            "measured; train it again, with a lower learning_rate or less sparsity"
        )
    if isinstance(content, dict | list | tuple):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            check_results(value, f"{name}.{key}" if name else str(key))


def _rounded(content: Any) -> Any:
    """Six digits are more than any figure shows, and a third of the bytes."""
    if isinstance(content, float):
        return float(f"{content:.6g}")
    if isinstance(content, dict):
        return {name: _rounded(value) for name, value in content.items()}
    return [_rounded(value) for value in content] if isinstance(content, list | tuple) else content


def warnings_of(blank: BlankInput, line: LineAttractor, network: Network) -> list[str]:
    """What makes analyses at the blank input unreliable, in words."""
    low, high = line.range
    found = [blank.warning()] if blank.drifts else []
    if not line.is_line:
        found.append(f"the slow points are not one-dimensional: a curve explains {100 * line.explained:.0f} %")
    at = float(network.logit(line.h_star))
    if abs(at) > 0.1 * (high - low):
        found.append(f"no slow point reads near 0: h* reads {at:+.1f}, so words are measured in a one-sided place")
    return found


def main(arguments: list[str] | None = None) -> None:
    """`python -m rnnlens.analysis.analyze`: where the command line's own parts are missing."""
    parser = argparse.ArgumentParser(prog="python -m rnnlens.analysis.analyze", description=__doc__)
    parser.add_argument("run", help="a run folder")
    parser.add_argument("--corpus", help="its prepared corpus: adds the accuracy experiments")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="where to compute")
    parser.add_argument("--top", type=int, default=10_000, help="how many of the most frequent words to look at")
    parser.add_argument("--reviews", type=int, help="read at most so many of a split, at random: quicker on a CPU")
    parser.add_argument("--overwrite", action="store_true", help="also replace an analysis of more reviews")
    parser.add_argument("--seed", type=int, default=0, help="of random controls")
    asked = parser.parse_args(arguments)

    def command() -> None:
        say(analyze_command(asked.run, asked.corpus, top=asked.top, device=asked.device, seed=asked.seed,
                            reviews=asked.reviews, overwrite=asked.overwrite))  # fmt: skip

    sys.exit(exit_code_of(command))


if __name__ == "__main__":
    main()
