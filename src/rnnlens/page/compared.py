"""The networks of a comparison: opened, checked and named before anything is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from rnnlens.analysis.analyze import analyze
from rnnlens.analysis.locate import view_of
from rnnlens.analysis.record import Analysis
from rnnlens.analysis.storage import kept_results
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import parsing
from rnnlens.networks import Network
from rnnlens.networks.cells import CELLS
from rnnlens.runs import Run, load, merge_results
from rnnlens.runs.missing import not_analyzed

MOST = 6  # networks of a page: more would make it too large to send, and its charts too full to read


@dataclass(frozen=True)
class Compared:
    """A network and its analysis. name: unique in the page. provenance: fingerprints of weights and vocabulary."""

    name: str
    network: Network
    results: Mapping[str, Any]
    arrays: Mapping[str, Tensor]
    provenance: Mapping[str, str]
    folder: Path | None
    is_toy: bool

    def parsing(self) -> AbstractContextManager[None]:
        """Where its results are used: damaged ones are reported with the name of their file."""
        return nullcontext() if self.folder is None else parsing(self.folder / "results.json", "result of rnnlens")


def compared(runs: Sequence[Run | Analysis | Path | str], progress: bool = False) -> list[Compared]:
    """Open networks to compare. Packaged ones are analyzed, after all are checked: about ten seconds each."""
    if not runs:
        raise RnnlensError("no network is given: expected one or several, as in report(['runs/a', 'runs/b'])")
    if len(runs) > MOST:
        raise RnnlensError(f"{len(runs)} networks are too many for one page: expected at most {MOST}")
    opened = [load(run) if isinstance(run, Path | str) else run for run in runs]
    for run in opened:
        if not isinstance(run, Run | Analysis):
            raise RnnlensError(
                f"report got {quoted(type(run).__name__)}: expected runs or analyses, as in "
                "report([rnnlens.analyze(network), 'runs/mine'], 'comparison.html')"
            )
    names = _names(opened)
    _check_one_kind(opened, names)
    for run in opened:
        if isinstance(run, Run) and not run.is_packaged and "subspace" not in run.results:
            raise not_analyzed(run.path)
    done = [analyze(run, progress=progress) if isinstance(run, Run) and run.is_packaged else run for run in opened]
    return [_compared(run, name) for run, name in zip(done, names, strict=True)]


def _compared(run: Run | Analysis, name: str) -> Compared:
    opened, network = _run_of(run), _network_of(run)
    stored = {} if opened is None else kept_results(opened.results, view_of(network))
    own = run.results if isinstance(run, Run) else run.to_dict()
    arrays = run.analysis_arrays() if isinstance(run, Run) else run.arrays()
    provenance = {} if opened is None else opened.provenance
    folder = None if opened is None else opened.path
    is_toy = opened is not None and opened.is_toy
    return Compared(name, network, merge_results(stored, own), arrays, provenance, folder, is_toy)


def _run_of(one: Run | Analysis) -> Run | None:
    return one if isinstance(one, Run) else one.run


def _network_of(one: Run | Analysis) -> Network:
    """The network that the analysis is of."""
    return one.analyzed_network if isinstance(one, Run) else one.network


def _names(opened: Sequence[Run | Analysis]) -> list[str]:
    """Names of runs, with the folder above where several have one name; of other networks the architecture."""
    runs = [_run_of(one) for one in opened]
    short = [
        _arch(one.network) if run is None else run.name.removeprefix("zoo:")
        for one, run in zip(opened, runs, strict=True)
    ]
    counts = Counter(short)
    longer = [
        f"{run.path.resolve().parent.name}/{name}" if run is not None and counts[name] > 1 else name
        for run, name in zip(runs, short, strict=True)
    ]
    seen: Counter[str] = Counter()
    for k, name in enumerate(longer):
        seen[name] += 1
        longer[k] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return longer


def _arch(network: Network) -> str:
    return network.arch.upper() if network.arch in CELLS and network.arch != "vanilla" else network.arch


def _check_one_kind(opened: Sequence[Run | Analysis], names: Sequence[str]) -> None:
    """Refuse networks whose readings mean different things: a toy run's is a sum of valences, others' a logit of one
    class or another."""
    toys = [run is not None and run.is_toy for run in map(_run_of, opened)]
    if any(toys) and not all(toys):
        toy, other = names[toys.index(True)], names[toys.index(False)]
        raise RnnlensError(
            f"{quoted(toy)} was trained on the toy language and {quoted(other)} was not: their readings have different "
            "meanings; compare toy runs with each other"
        )
    backward = [_network_of(one).backward for one in opened]
    if any(backward) and not all(backward):
        pair = [backward.index(True), backward.index(False)]
        readers = [_network_of(opened[k]).direction for k in pair]  # empty if the network reads one way
        one, other = (
            quoted(names[k]) + (f" (its reader {reader})" if reader else "")
            for k, reader in zip(pair, readers, strict=True)
        )
        fix = "compare networks that read in the same direction"
        if any(readers):
            back = "forwards" if readers[0] else "backwards"
            fix = f"analyze the other reader (`rnnlens analyze RUN --direction {back}`)"
        raise RnnlensError(f"{one} reads from the last word to the first and {other} from the first to the last: {fix}")
    targets = [_network_of(one).target for one in opened]
    for name, target in zip(names, targets, strict=True):
        if target != targets[0]:
            raise RnnlensError(
                f"{quoted(names[0])} is analyzed for {_target(targets[0])} and {quoted(name)} for {_target(target)}: "
                "compare networks of the same classes, analyzed for the same one (`rnnlens analyze RUN --class NAME`)"
            )


def _target(name: str) -> str:
    return f"the class {quoted(name)}" if name else "positive against negative"


def own_words(network: Network) -> set[str]:
    """The words of a network, without the one for unknown words."""
    vocab = network.vocab
    if vocab is None:
        raise RnnlensError("a network without words cannot be compared here: `rnnlens.dynamics` works without words")
    return {word for i, word in enumerate(vocab.words) if i != vocab.unk}
