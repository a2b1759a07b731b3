"""Facts about the content of a run folder or a prepared corpus, for `rnnlens info`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.common.errors import RnnlensError, quoted

if TYPE_CHECKING:
    from rnnlens.corpora import Corpus

Facts = list[tuple[str, str]]


def describe(path: Path) -> tuple[str, Facts]:
    """Title and facts of a run folder, `zoo:NAME` or a prepared corpus; all files are verified."""
    from rnnlens.runs.zoo import find

    path = find(path) or path
    if (path / "run.json").exists() or (path / "config.json").exists():
        return _run(path)
    if (path / "corpus.json").exists():
        return _corpus(path)
    what = "holds neither run.json nor corpus.json" if path.is_dir() else "is no folder"
    raise RnnlensError(f"{quoted(str(path))} {what}: expected what `rnnlens train` or `rnnlens prepare` wrote")


def _run(path: Path) -> tuple[str, Facts]:
    from rnnlens.common.files import parsing
    from rnnlens.runs import read_about

    about = read_about(path)
    with parsing(path, "run of rnnlens"):
        return f"run {path}", _run_facts(path, about)


def _run_facts(path: Path, about: dict[str, Any]) -> Facts:
    from rnnlens.runs import load_checked

    facts = [("status", about["status"])]
    facts += [
        (name, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
        for name, value in about["network"].items()
    ]
    order = ", from the last word to the first" if "reversed" in about["corpus"] else ""
    facts += [("corpus", f"{about['corpus'].get('source')}{order} ({about['corpus']['fingerprint'][:12]})")]
    if start := about.get("start"):
        facts += [("started from", f"{start['name']} ({start['words']:,} words, weights {start['weights'][:12]})")]
    facts += [("written by", f"rnnlens {about['version']}")]
    if about["status"] != "finished":
        return facts
    run = load_checked(path)
    accuracy = run.accuracy
    facts += [("parameters", f"{run.results['network']['parameters']:,}"), ("words", f"{len(run.vocab):,}")]
    facts += [(f"{name} fingerprint", run.provenance[name][:12]) for name in ("weights", "vocabulary")]
    facts += [
        (f"{name} accuracy", f"{100 * value:.2f} %") for name, value in accuracy.items() if isinstance(value, float)
    ]
    facts += [
        (f"{split} accuracy, {name}", f"{100 * part['accuracy']:.2f} % of {part['n']:,} reviews")
        for split in ("validation", "test")
        for name, part in accuracy.get(f"{split}_sources", {}).items()
    ]
    if run.history:
        facts += [("epochs", str(len(run.history))), ("training time", f"{run.history[-1]['seconds']:.0f} s")]
    facts += [("config", ", ".join(f"{k}={v}" for k, v in about["config"].items()))]
    return [*facts, ("results", ", ".join(run.results))]


def _corpus(path: Path) -> tuple[str, Facts]:
    from rnnlens.common.files import parsing
    from rnnlens.corpora import load_corpus

    corpus = load_corpus(path)
    with parsing(path / "corpus.json", "corpus of rnnlens"):
        return f"corpus {path}", _corpus_facts(corpus)


def _corpus_facts(corpus: Corpus) -> Facts:
    from rnnlens.corpora import source_statistics, statistics

    facts = [("source", str(corpus.about.get("source"))), ("fingerprint", corpus.fingerprint[:8])]
    facts += [("words known", f"{len(corpus.vocab):,}")]
    facts += [("order", "from the last word to the first")] if "reversed" in corpus.about else []
    facts += _split_facts(statistics(corpus))
    by_source = source_statistics(corpus)
    for name, about in _sources(corpus.about):
        facts += [*_source_facts(name, about), *_split_facts(by_source.get(name, {}), "  ")]
    return facts


def source_facts(corpus: Corpus) -> Facts:
    """Facts about each source of a corpus, as `prepare` read it."""
    from rnnlens.common.files import parsing

    with parsing(f"{corpus.path}/corpus.json", "corpus of rnnlens"):
        return [fact for name, part in _sources(corpus.about) for fact in _source_facts(name, part)]


def _sources(about: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The name and the record of each source; a single source has no name."""
    of_all = ("classes", "ordered") if isinstance(about.get("classes"), list) else ()
    shared = {name: about[name] for name in of_all if name in about}
    return [(part["name"], {**part, **shared}) for part in about.get("sources", ())] or [("", about)]


def _source_facts(name: str, about: Mapping[str, Any]) -> Facts:
    facts = [("source", f"{name} (weight {about['weight']:g}): {about['source']}")] if name else []
    if columns := about.get("columns"):
        named = [f"{what} from {quoted(columns[what])}" for what in ("text", "label", "group") if what in columns]
        facts.append(("columns", ", ".join(named)))
    classes = about.get("classes")
    if isinstance(classes, list):
        kind = "ordered classes" if about.get("ordered") else "classes"
        facts.append(("labels", f"{len(classes)} {kind}: {', '.join(classes)}"))
    elif classes:
        sides = [f"{classes[side]} → {side}" for side in ("negative", "positive") if side in classes]
        sides += [f"{classes[name]} {name}" for name in ("neutral", "dropped") if name in classes]
        targets = about.get("targets")
        facts.append(("labels", f"{about['labels']}{', graded' if targets else ''}: {'; '.join(sides)}"))
        if targets:
            facts.append(("grades", ", ".join(f"{label} → {target:g}" for label, target in targets.items())))
    if rows := about.get("rows"):
        facts.append(("rows", ", ".join(f"{split} {n:,}" for split, n in rows.items())))
    dropped = about.get("dropped", {})
    return [*facts, ("dropped", ", ".join(f"{n:,} ({why})" for why, n in dropped.items() if n) or "none")]


def _split_facts(splits: Mapping[str, Mapping[str, Any]], indent: str = "") -> Facts:
    facts = []
    for name, part in splits.items():
        words = part["words per review"]
        shares = [f"{label}: {100 * share:.1f} %" for label, share in part.get("classes", {}).items()]
        balance = ", ".join(shares) or f"{100 * part['positive']:.1f} % positive"
        balance += f", {100 * part['neutral']:.1f} % neutral" if part.get("neutral") else ""
        facts.append((indent + name, f"{part['reviews']:,} {'texts' if shares else 'reviews'}, {balance}"))
        facts.append(("", f"{words['median']} words at the median, {words['95%']} at 95 %, {words['max']} at most"))
        facts.append(("", f"{100 * part['unknown']:.2f} % of words unknown"))
    return facts
