"""`Analysis`: all results about one network, as one record with one form on disk.

Only what takes long to measure is stored: slow points, probe words, the table of words, and accuracies on reviews. All
other results follow from these by one public call each, with its default arguments, and are computed at first access.
`to_dict` is the content of results.json; claims, figures, the page and the command line use it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rnnlens.analysis.checks import (
    check_arrays,
    check_results,
    check_stored_options,
    probe_warnings,
    rounded,
)
from rnnlens.analysis.claims import Claim
from rnnlens.analysis.classes import Classes
from rnnlens.analysis.directions import BothDirections
from rnnlens.analysis.locate import Location, view_of, viewed
from rnnlens.analysis.paper_claims import analysis_claims
from rnnlens.analysis.people import packaged
from rnnlens.analysis.perturb import Experiments
from rnnlens.analysis.scores import Correlation, correlate
from rnnlens.analysis.state_space import state_space
from rnnlens.analysis.storage import kept_results, save_files
from rnnlens.analysis.summary import claims_table, facts_of
from rnnlens.analysis.verdict import Sentence, example_readings, verdict
from rnnlens.common.display import Facts, Shown
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import parsing
from rnnlens.common.ranges import in_range
from rnnlens.common.sides import sides_of
from rnnlens.context.barcodes import Barcode, barcodes, component_barcodes
from rnnlens.context.bilinear import Bilinear, fit_bilinear
from rnnlens.context.dose_response import Steering
from rnnlens.context.edges import Beginning, Ending, beginning, ending
from rnnlens.context.effects import effects
from rnnlens.context.impulse import Impulse, Timescales, impulses, timescales
from rnnlens.context.known import KNOWN
from rnnlens.context.modifiers import MOST, Modifiers
from rnnlens.context.negation import negation_form
from rnnlens.context.perturbation import Perturbations
from rnnlens.context.probe_reviews import probe_results
from rnnlens.context.probes import Probes
from rnnlens.context.subspace import Subspace, fit_subspace, project_out, random_subspace
from rnnlens.dynamics import FixedPoints, LineAttractor
from rnnlens.networks import Network
from rnnlens.runs import Run, load, merge_results, missing

if TYPE_CHECKING:
    from rnnlens.figures.catalogue import Figures

FEW = 30  # words: with fewer, agreement with people means little
WITH_REVIEWS = ("accuracy", "beginning", "ending", "steering")  # what only an analysis with a corpus measures


@dataclass(frozen=True, eq=False)
class Analysis(Shown):
    """All results about one network.

    location     visited states, slow points and the line: where it was measured
    probes       valence words, on which modifiers are measured
    modifiers    the table of words
    experiments  accuracies on reviews; None without a corpus
    classes      what is about all classes, of a network with several; else None
    run          the run that the network comes from, if any
    rank         of the modifier subspace
    seed         of random controls
    both_ways    of a network that reads both ways: its two readers side by side
    """

    network: Network = field(repr=False)
    location: Location = field(repr=False)
    probes: Probes = field(repr=False)
    modifiers: Modifiers
    experiments: Experiments | None = field(repr=False, default=None)
    run: Run | None = field(repr=False, default=None)
    rank: int = 3
    seed: int = 0
    classes: Classes | None = field(repr=False, default=None)
    both_ways: BothDirections | None = field(repr=False, default=None)

    @property
    def states(self) -> Tensor:
        """Visited states (K, N), a sample."""
        return self.location.states

    @property
    def points(self) -> FixedPoints:
        return self.location.points

    @property
    def line(self) -> LineAttractor:
        return self.location.line

    @property
    @torch.no_grad()
    def warnings(self) -> list[str]:
        """Reasons why these results are unreliable; empty if there are none."""
        at_h_star = effects(self.network, self.line.h_star, self.probes.inputs(self.network))
        names = sides_of({"analysis": self.network.sides}).words
        return [*self.location.warnings(), *probe_warnings(at_h_star, self.probes, names)]

    @property
    def perturbations(self) -> Perturbations | None:
        return None if self.experiments is None else self.experiments.perturbations

    @property
    def steering(self) -> Steering | None:
        """Accuracy and modification against the gain of the modifier subspace; None without a corpus."""
        return None if self.experiments is None else self.experiments.steering

    @cached_property
    def all_components(self) -> Subspace:
        """The subspace with all its components, at most ten."""
        return self._fitted()

    def _fitted(self, rows: Tensor | None = None) -> Subspace:
        """The subspace of all components; with several classes it is orthogonal to the evidence of all of them."""
        attractor = None if self.classes is None else self.classes.span
        return fit_subspace(self.network, self.line, self.modifiers, None, rows, attractor=attractor)

    @cached_property
    def subspace(self) -> Subspace:
        return self.all_components.take(min(self.rank, self.all_components.rank))

    @cached_property
    def timescales(self) -> Timescales:
        return timescales(self.network, self.subspace, self.modifiers)

    @cached_property
    def examples(self) -> list[str]:
        """Well-known modifiers and neutral words in the vocabulary or, if there are none, the ten strongest
        modifiers."""
        vocab = self.network.vocab
        assert vocab is not None
        return [word for word in KNOWN if word in vocab] or self.modifiers.strongest(10)

    @cached_property
    def named(self) -> list[str]:
        """The words with a barcode and an impulse response: the examples and the twenty strongest modifiers."""
        return list(dict.fromkeys([*self.examples, *self.modifiers.strongest(20)]))

    @cached_property
    def barcodes(self) -> dict[str, Barcode]:
        return barcodes(self.network, self.line, self.named, self.probes)

    @cached_property
    def components(self) -> list[Barcode]:
        """The barcode of each component of the subspace."""
        wide = self.all_components
        return component_barcodes(self.network, self.line, wide.components, wide.sizes[: wide.rank], self.probes)

    @cached_property
    def impulses(self) -> dict[str, Impulse]:
        return impulses(self.network, self.line, self.subspace, self.named)

    @cached_property
    def bilinear(self) -> Bilinear:
        """The bilinear model of the paper's choice of modifiers, the words of largest norm."""
        return fit_bilinear(self.network, self.line, self.modifiers, rank=min(3, self.all_components.rank))

    @cached_property
    def bilinear_by_strength(self) -> Bilinear:
        rank = min(3, self.all_components.rank)
        return fit_bilinear(self.network, self.line, self.modifiers, rank=rank, rows=self.modifiers.strong)

    @cached_property
    def beginning(self) -> Beginning:
        return beginning(self.network, self.line, self.subspace, self.probes)

    @cached_property
    def ending(self) -> Ending:
        return ending(self.network, self.line, self.probes)

    @property
    def edges(self) -> tuple[Beginning, Ending]:
        return self.beginning, self.ending

    @cached_property
    @torch.no_grad()
    def readings(self) -> dict[str, Any]:
        """Readings of the probe reviews by the network, by it without its modifier subspace, and without a random
        one."""
        generator = torch.Generator().manual_seed(self.seed)
        V = random_subspace(self.network.size, self.subspace.rank, generator, self.subspace.line).to(self.network.h0)
        without = project_out(self.network, self.subspace)
        return probe_results(self.network, without, project_out(self.network, V, self.subspace.h_star))

    @cached_property
    def results(self) -> dict[str, Any]:
        """`to_dict`, merged with the accuracies stored in the run."""
        known = {} if self.run is None else kept_results(self.run.results, view_of(self.network))
        return merge_results({name: known[name] for name in WITH_REVIEWS if name in known}, self.to_dict())

    @cached_property
    def people(self) -> Correlation | None:
        """Agreement of the strengths with people's, over words with at least 20 judged phrases; None where the network
        knows too few of these words."""
        strengths = dict(zip(self.modifiers.words, self.modifiers.strength.tolist(), strict=True))
        score = correlate(strengths, packaged())
        return None if score.r is None or score.words < FEW else score

    @property
    def verdict(self) -> list[Sentence]:
        """What the network does with context, in plain sentences."""
        return verdict(self.results, self.run is not None, self.run is not None and self.run.is_toy)

    @property
    def claims(self) -> list[Claim]:
        """The paper's claims, checked on this network."""
        return analysis_claims(self.results)

    @property
    def figures(self) -> Figures:
        """Every figure, by name: `analysis.figures.barcodes()`."""
        from rnnlens.figures.catalogue import Figures

        return Figures(self.results)

    def to_dict(self) -> dict[str, Any]:
        """All results as plain data, rounded to six digits: the content of results.json."""
        return copy.deepcopy(self._plain)

    @cached_property
    @torch.no_grad()
    def _plain(self) -> dict[str, Any]:
        network, line, probes, modifiers = self.network, self.line, self.probes, self.modifiers
        by_norm = modifiers.norm.argsort(descending=True)[:MOST]  # the paper's choice of modifiers
        content: dict[str, Any] = {
            "analysis": {"rank": self.rank, "seed": self.seed, **viewed(network), **network.sides},
            **self.location.to_dict(),
            "warnings": self.warnings,
            "state_space": state_space(self.location, self.readings["reviews"]),
            "probes": {**self.readings, **probes.to_dict()},
            "modifiers": {
                **modifiers.to_dict(also=self.examples),
                "negation_form": negation_form(network, line, modifiers),
            },
            "impulse": {word: one.to_dict() for word, one in self.impulses.items()},
            "barcodes": {word: one.to_dict() for word, one in self.barcodes.items()},
            "component_barcodes": [one.to_dict() for one in self.components],
            "subspace": {
                **self.subspace.to_dict(),
                "by_norm": self._fitted(by_norm).explained.tolist()[:10],
            },
            "timescales": self.timescales.to_dict(),
            "bilinear": {**self.bilinear.to_dict(), "by_strength": self.bilinear_by_strength.to_dict()},
            "phrases": example_readings(network, modifiers.to_dict()["words"], probes.to_dict()),
            "beginning": self.beginning.to_dict(),
            "ending": self.ending.to_dict(),
        }
        content |= {} if self.classes is None else {"classes": self.classes.to_dict(modifiers)}
        content |= {} if self.both_ways is None else {"both_ways": self.both_ways.to_dict()}
        content |= {"people": None if self.people is None else self.people.to_dict()}
        if self.experiments is not None:
            content["analysis"] |= {"split": self.experiments.split, "sampled": self.experiments.sampled}
            content = merge_results(content, self.experiments.to_dict())
        check_results(content)
        return rounded(content)

    @torch.no_grad()
    def arrays(self) -> dict[str, Tensor]:
        """The content of analysis.safetensors. words (M,): ids of the measured words, most frequent first. measures
        (C, M): the columns `MEASURES` of their table. places (M, R): the coordinates in the modifier subspace of the
        states after the words."""
        return {
            **self.location.arrays(),
            "subspace": self.subspace.components,
            "line_directions": self.subspace.line,
            "bilinear_m": self.bilinear.m,
            **self.modifiers.arrays(),
            "places": self.modifiers.places(self.subspace.project),
            **({} if self.classes is None else {"class_directions": self.classes.span}),
        }

    @classmethod
    @torch.no_grad()
    def from_dict(
        cls,
        network: Network,
        results: Mapping[str, Any],
        arrays: Mapping[str, Tensor],
        states: Tensor,
        run: Run | None = None,
    ) -> Analysis:
        """The analysis from the output of `to_dict` and `arrays` and the sample of visited states (K, N)."""
        options, probes = results["analysis"], Probes.from_dict(results["probes"])
        location = Location.from_dict(network, results, arrays, states)
        modifiers = Modifiers.from_arrays(network, location.line, probes, arrays)
        experiments = None
        if "split" in options:
            experiments = Experiments.from_dict(results, options["split"], options["sampled"])
        classes, both = Classes.stored(results, arrays), results.get("both_ways")
        both = both and BothDirections.from_dict(both, run and run.network)
        rank, seed = options["rank"], options["seed"]
        return cls(network, location, probes, modifiers, experiments, run, rank, seed, classes, both)

    def with_parts(self, **parts: Any) -> Analysis:
        """The same analysis with other fields, such as accuracies on reviews; computed parts are kept."""
        new = replace(self, **parts)
        names = {name for name, value in vars(Analysis).items() if isinstance(value, cached_property)} - {
            "results",
            "_plain",
        }
        vars(new).update({name: value for name, value in vars(self).items() if name in names})
        return new

    @in_range("save")
    def save(self, folder: Path | str | None = None, *, overwrite: bool = False) -> Path:
        """Write results.json (merged into a run's), analysis.safetensors and states.safetensors, which name the run's
        weights, vocabulary and corpus. An analysis replaces one of more reviews only with `overwrite`. In a folder
        other than the run's own, it replaces only an earlier analysis."""
        if folder is None and self.run is None:
            raise RnnlensError("this network has no run folder: pass a folder, as in analysis.save('analysis')")
        path = Path(folder) if folder is not None else self.run.path  # type: ignore[union-attr]
        content = self.to_dict(), self.results, self.arrays(), self.states
        return save_files(path, self.run, *content, overwrite, view_of(self.network))

    @classmethod
    def load(cls, run: Run | Path | str) -> Analysis:
        """The stored analysis of a run, as `analyze` returned it."""
        run = run if isinstance(run, Run) else load(run)
        arrays, states = run.analysis_arrays(), run.states()
        if "measures" not in arrays:
            raise missing.not_analyzed(run.path)
        if states is None or "analysis" not in run.results:
            raise RnnlensError(
                f"the analysis of {quoted(str(run.path))} is incomplete: run `{missing.analyze(run.path)}` again"
            )
        with parsing(run.path / "analysis.safetensors", "analysis of this network"):
            check_arrays(arrays, run.analyzed_network.size)
        with parsing(run.path / "results.json", "analysis of this network"):
            check_stored_options(run.results["analysis"])
            return cls.from_dict(run.analyzed_network, run.results, arrays, states, run)

    def _facts(self) -> Facts:
        return facts_of(self)

    def _table(self) -> str:
        return claims_table(self.claims)
