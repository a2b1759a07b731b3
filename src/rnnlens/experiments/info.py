"""What is in a folder, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rnnlens.errors import RnnlensError, quoted

Facts = list[tuple[str, str]]


def describe(path: Path) -> tuple[str, Facts]:
    """Title and facts of a run folder or a prepared corpus; the whole folder is verified on the way."""
    if (path / "run.json").exists() or (path / "config.json").exists():
        return _run(path)
    if (path / "corpus.json").exists():
        return _corpus(path)
    what = "holds neither run.json nor corpus.json" if path.is_dir() else "is no folder"
    raise RnnlensError(f"{quoted(str(path))} {what}: expected what `rnnlens train` or `rnnlens prepare` wrote")


def _run(path: Path) -> tuple[str, Facts]:
    from rnnlens.artifacts import understood
    from rnnlens.runs import read_about

    about = read_about(path)
    with understood(path, "run of rnnlens"):
        return f"run {path}", _run_facts(path, about)


def _run_facts(path: Path, about: dict[str, Any]) -> Facts:
    from rnnlens.runs import load_checked

    facts = [("status", about["status"])]
    facts += [(name, str(value)) for name, value in about["network"].items()]
    facts += [("corpus", f"{about['corpus'].get('source')} ({about['corpus']['fingerprint'][:12]})")]
    if start := about.get("start"):
        facts += [("started from", f"{start['name']} ({start['words']:,} words, weights {start['weights'][:12]})")]
    facts += [("written by", f"rnnlens {about['version']}")]
    if about["status"] != "finished":
        return facts
    run = load_checked(path)
    accuracy = run.accuracy
    facts += [("parameters", f"{run.results['network']['parameters']:,}"), ("words", f"{len(run.vocab):,}")]
    facts += [(f"{name} fingerprint", run.provenance[name][:12]) for name in ("weights", "vocabulary")]
    facts += [(f"{name} accuracy", f"{100 * value:.2f} %") for name, value in accuracy.items()
              if isinstance(value, float)]  # fmt: skip
    if run.history:
        facts += [("epochs", str(len(run.history))), ("training time", f"{run.history[-1]['seconds']:.0f} s")]
    facts += [("config", ", ".join(f"{k}={v}" for k, v in about["config"].items()))]
    return [*facts, ("results", ", ".join(run.results))]


def _corpus(path: Path) -> tuple[str, Facts]:
    from rnnlens.corpora import load_corpus, statistics

    corpus = load_corpus(path)
    facts = [("source", str(corpus.about.get("source"))), ("fingerprint", corpus.fingerprint[:8])]
    facts += [("words known", f"{len(corpus.vocab):,}")]
    for name, part in statistics(corpus).items():
        words = part["words per review"]
        facts.append((name, f"{part['reviews']:,} reviews, {100 * part['positive']:.1f} % positive"))
        facts.append(("", f"{words['median']} words at the median, {words['95%']} at 95 %, {words['max']} at most"))
        facts.append(("", f"{100 * part['unknown']:.2f} % of words unknown"))
    dropped = corpus.about.get("dropped", {})
    facts += [("dropped", ", ".join(f"{n} with {why}" for why, n in dropped.items() if n) or "none")]
    return f"corpus {path}", facts
