"""`audit`: which kinds of sentences a network classifies correctly, and how its measured strengths explain each kind.

The sentences are templates (`analysis.sentences`) and, if trees are given, phrases that people labeled.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rnnlens.analysis.behaviour import final_logits
from rnnlens.analysis.checks import check_two_sides
from rnnlens.analysis.intervals import accuracy_interval
from rnnlens.analysis.mechanism import mechanism
from rnnlens.analysis.sentences import INTENSIFIERS, KINDS, NEGATORS, Sentence, adjectives, missing, sentences
from rnnlens.common.allowed import shown
from rnnlens.common.display import Facts, Shown, table_html
from rnnlens.common.errors import RnnlensError, one_of, quoted
from rnnlens.common.ranges import in_range
from rnnlens.common.terminal import printable
from rnnlens.context.finding import find_modifiers
from rnnlens.context.modifiers import Modifiers
from rnnlens.context.probes import Probes
from rnnlens.dynamics import visited_states
from rnnlens.networks import AnyNetwork, BothWays, Network
from rnnlens.networks.devices import check_device
from rnnlens.runs import Run, load

STARTS = 2_000  # starting states of the search for slow points, if the run stores none

Labelled = Iterable[tuple[str, int]]  # phrases with people's labels: below 0 negative, above 0 positive, 0 neutral
PEOPLE: dict[str, Callable[[set[str]], bool]] = {  # groups of labeled phrases; a phrase can be in several
    "with a negator": lambda words: any(word in NEGATORS or word.endswith("n't") for word in words),
    "with but": lambda words: "but" in words,
    "with an intensifier": lambda words: not words.isdisjoint(INTENSIFIERS),
}
REST = "with none of these"


@dataclass(frozen=True)
class Reading:
    """How the network reads one sentence.

    expected: positive or negative or, compared with the logit of the plain sentence, more positive or more negative.
    margin: how far its logit is on the expected side; below 0 it is wrong.
    """

    text: str
    expected: str
    logit: float
    plain: float | None
    margin: float

    @property
    def right(self) -> bool:
        return self.margin > 0


@dataclass(frozen=True)
class KindAudit(Shown):
    """Sentences of one kind.

    n, right    the number of sentences, and how many of them are read correctly
    interval    of the accuracy: 95 %, Wilson's, as if sentences were independent of each other
    sides       the accuracy on sentences that should be (more) positive, and on those that should be (more) negative;
                None if there are none. A network that reads everything as negative has 0 and 1
    mean_logit  toward the expected sign, so that above 0 is right; for intensified and diminished sentences, the change
                from the plain sentence toward the expected side
    worst       the most confidently wrong sentences, worst first
    mechanism   an explanation from the measured strengths, in one sentence; None if no word of it was measured
    """

    kind: str
    n: int
    right: int
    interval: tuple[float, float]
    sides: tuple[float | None, float | None]
    mean_logit: float
    worst: tuple[Reading, ...]
    mechanism: str | None = None

    @property
    def accuracy(self) -> float:
        return self.right / self.n

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": self.kind,
            "n": self.n,
            "right": self.right,
            "accuracy": self.accuracy,
            "interval": list(self.interval),
            "sides": list(self.sides),
            "mean_logit": self.mean_logit,
            "mechanism": self.mechanism,
            "worst": [vars(one).copy() for one in self.worst],
        }

    def row(self) -> list[str]:
        """Cells of a table with the columns `HEAD`."""
        low, high = self.interval
        return [
            self.kind,
            f"{self.n:,}",
            f"{100 * self.accuracy:.1f} % ({100 * low:.1f} – {100 * high:.1f})",
            *("" if side is None else f"{100 * side:.0f} %" for side in self.sides),
            f"{self.mean_logit:+.2f}".replace("-", "−"),
        ]

    def _facts(self) -> Facts:
        return [*zip(HEAD, self.row(), strict=True), ("mechanism", self.mechanism)]

    def _table(self) -> str:
        return _table_of_readings(self.worst)

    def __repr__(self) -> str:
        return f"KindAudit({self.kind}: {self.right} of {self.n} right, mean logit {self.mean_logit:+.2f})"


HEAD = ("kind", "n", "right (95 % interval)", "of +", "of −", "mean logit")


@dataclass(frozen=True)
class Audit(Shown):
    """The audit of every kind of sentence.

    positive, negative  the words that fill the templates
    kinds               of templates
    people              groups of phrases that people labeled, if trees were given
    left_out            kinds for which the vocabulary lacks words → the words that are needed
    unmeasured          why there is no mechanism, or None
    """

    positive: tuple[str, ...]
    negative: tuple[str, ...]
    kinds: tuple[KindAudit, ...]
    people: tuple[KindAudit, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    unmeasured: str | None = None

    def __getitem__(self, kind: str) -> KindAudit:
        by_kind = {one.kind: one for one in (*self.kinds, *self.people)}
        if kind not in by_kind:
            raise RnnlensError(f"no sentences of the kind {quoted(kind)}: {one_of(by_kind)}")
        return by_kind[kind]

    @in_range("strongest")
    def worst(self, n: int = 10) -> list[tuple[str, Reading]]:
        """The n most confidently wrong sentences of all kinds of templates, each with its kind, among those kept for
        each kind."""
        wrong = [(one.kind, reading) for one in self.kinds for reading in one.worst]
        return sorted(wrong, key=lambda pair: pair[1].margin)[:n]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "words": {"positive": list(self.positive), "negative": list(self.negative)},
            "kinds": [one.to_dict() for one in self.kinds],
            "people": [one.to_dict() for one in self.people],
            "left_out": dict(self.left_out),
            "unmeasured": self.unmeasured,
        }

    def _facts(self) -> Facts:
        return [
            ("positive words", self.positive),
            ("negative words", self.negative),
            *(("not tested", f"{kind}: needs {needed}") for kind, needed in self.left_out),
        ]

    def _table(self) -> str:
        rows = [[*one.row(), one.mechanism or ""] for one in (*self.kinds, *self.people)]
        return table_html(rows, [*HEAD, "mechanism"]) + _table_of_readings([reading for _, reading in self.worst()])

    def __repr__(self) -> str:
        kinds = ", ".join(f"{one.kind} {100 * one.accuracy:.0f} %" for one in (*self.kinds, *self.people))
        return printable(f"Audit(right: {kinds})")


@torch.no_grad()
@in_range("audit")
def audit(
    run: Run | AnyNetwork | Path | str,
    trees: Path | str | Labelled | None = None,
    *,
    seed: int = 0,
    worst: int = 10,
    device: str | None = None,
) -> Audit:
    """Test which kinds of English sentences a network classifies correctly.

    run: a run, its folder, `zoo:reviews-gru`, or any network with a vocabulary. trees: a file of the Stanford Sentiment
    Treebank, or phrases with labels (below 0 negative, above 0 positive). seed: draws the words in the two parts of a
    contrast. worst: how many wrong sentences to keep for each kind.
    """
    check_device(device)
    run = load(run) if isinstance(run, Path | str) else run
    if not isinstance(run, Run | Network | BothWays):
        raise RnnlensError(f"audit got {quoted(type(run).__name__)}: expected a run, its folder or a network")
    network, folder = (run.network, run) if isinstance(run, Run) else (run, None)
    vocab = network.vocab
    if vocab is None:
        raise RnnlensError("this network has no words: `audit` reads English sentences and needs a vocabulary")
    check_two_sides(network, "an audit")
    phrases = [] if trees is None else _phrases(trees)
    network = copy.deepcopy(network).to(device) if device else network
    probes, modifiers, unmeasured = _measured(network, folder, seed)
    words = adjectives(vocab, probes)
    texts = sentences(vocab, words, seed)
    mechanisms = {} if modifiers is None else mechanism(modifiers, words, texts)
    read = readings(network, texts)
    kinds = [(kind, [r for s, r in zip(texts, read, strict=True) if s.kind == kind]) for kind in KINDS]
    return Audit(
        words[1],
        words[-1],
        tuple(_kind_audit(kind, group, worst, mechanisms.get(kind)) for kind, group in kinds if group),
        tuple(_kind_audit(name, group, worst) for name, group in _people(network, phrases) if group),
        tuple(missing(texts).items()),
        unmeasured,
    )


def readings(network: AnyNetwork, made: Sequence[Sentence]) -> list[Reading]:
    """The network's readings of sentences. The plain sentences that others are compared with must be among them."""
    logits = dict(zip((one.text for one in made), final_logits(network, [one.text for one in made]), strict=True))
    results = []
    for one in made:
        plain = None if one.plain is None else logits[one.plain]
        margin = one.toward * (logits[one.text] - (plain or 0.0))
        results.append(Reading(one.text, one.expected, logits[one.text], plain, margin))
    return results


def _kind_audit(kind: str, readings: Sequence[Reading], worst: int, explanation: str | None = None) -> KindAudit:
    right = sum(one.right for one in readings)
    wrong = sorted((one for one in readings if not one.right), key=lambda one: one.margin)
    return KindAudit(
        kind,
        len(readings),
        right,
        accuracy_interval(right / len(readings), len(readings)),
        (_accuracy(readings, "positive"), _accuracy(readings, "negative")),
        sum(one.margin for one in readings) / len(readings),
        tuple(wrong[:worst]),
        explanation,
    )


def _accuracy(readings: Sequence[Reading], side: str) -> float | None:
    right = [one.right for one in readings if one.expected.endswith(side)]
    return sum(right) / len(right) if right else None


def _measured(network: AnyNetwork, run: Run | None, seed: int) -> tuple[Probes, Modifiers | None, str | None]:
    """The probe words and every word's strength or, if strengths cannot be measured, the reason."""
    if isinstance(network, BothWays):
        reason = "it reads both ways, and `analyze` says what each of its two readers does"
        return _measured(network.forwards, None, seed)[0], None, reason
    network.check_measurable()
    from rnnlens.analysis.locate import location_of, stored_probes

    states = None if run is None else run.states()
    if states is None:
        states = visited_states(network, n=STARTS, seed=seed)
    line = location_of(network, states.to(network.h0)).line
    probes = stored_probes(run, network, line).known_to(network)
    if network.backward:
        return probes, None, "it reads from the last word to the first: a word changes those before it in the text"
    try:
        return probes, find_modifiers(network, line, probes=probes), None
    except RnnlensError as error:
        return probes, None, str(error)


def _phrases(trees: Path | str | Labelled) -> list[tuple[str, float]]:
    """Phrases with labels that are not neutral, from a file or as given; each text once, without single words."""
    if isinstance(trees, Path | str):
        from rnnlens.analysis.trees import read_trees

        read = read_trees(trees)
        trees = ((read.text(phrase), phrase.label) for phrase in read.phrases)
    try:
        labels = {text: float(label) for text, label in trees if len(text.split()) > 1}
    except (TypeError, ValueError, AttributeError) as error:
        raise RnnlensError(
            f"trees is {shown(trees)}: expected a file of trees, or pairs of a phrase and its label, such as "
            "('not good', -1)"
        ) from error
    if unlabeled := next((text for text, label in labels.items() if label != label), None):
        raise RnnlensError(f"the phrase {quoted(unlabeled)} has the label nan: leave out phrases without a label")
    return [(text, label) for text, label in labels.items() if label]


def _people(network: AnyNetwork, phrases: Sequence[tuple[str, float]]) -> list[tuple[str, list[Reading]]]:
    """The network's readings of phrases that people labeled positive or negative, grouped by the words in them."""
    assert network.vocab is not None
    groups: dict[str, list[Reading]] = {name: [] for name in (*PEOPLE, REST)}
    made = [Sentence("", text, 1 if label > 0 else -1) for text, label in phrases]
    for reading in readings(network, made):
        words = {word.lower() for word in network.vocab.split(reading.text)}
        names = [name for name, has in PEOPLE.items() if has(words)]
        for name in names or [REST]:
            groups[name].append(reading)
    return list(groups.items())


def _table_of_readings(readings: Iterable[Reading]) -> str:
    return table_html(
        [[r.text, r.expected, r.logit, r.plain] for r in readings], ["worst sentences", "expected", "logit", "plain"]
    )
