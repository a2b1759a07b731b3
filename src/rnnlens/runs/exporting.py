"""`export`: a run as a model folder of the Hugging Face hub, which `rnnlens.load` opens as it is.

Weights, config.json, vocabulary, results and a card; nothing in it needs `transformers`. Names and words come from
users: in the card's metadata they are YAML strings, in its text no markdown.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rnnlens.common.display import percents
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import parsing, write_json
from rnnlens.common.ordinary import copy_ordinary
from rnnlens.common.replacing import FolderKind, atomic_folder, check_folder
from rnnlens.corpora.sources import HUB
from rnnlens.runs.folder import CONFIG, MODEL, Run, load_checked

KIND = "rnnlens"  # config.json's model_type
CARD = "README.md"
COPIED = ("vocab.json", "results.json", "history.jsonl", "states.safetensors", "analysis.safetensors")
EXPORT = FolderKind(
    "an earlier export",
    frozenset({CONFIG, MODEL, CARD, *COPIED, "report.html", ".lock"}),
    {CONFIG: rb'"model_type": "rnnlens"'},
)
TAGS = ("rnnlens", "recurrent-neural-network", "sentiment-analysis", "interpretability")
PAPER = "https://arxiv.org/abs/2004.08013"


def export(
    run: Run | Path | str,
    to: Path | str,
    *,
    name: str | None = None,
    license: str = "unknown",
    dataset: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a run as a hub folder: model.safetensors, config.json, vocab.json, README.md and what was measured.

    name: the model's, by default its folder's. license: an identifier of the hub, such as apache-2.0. dataset: the
    corpus's owner/name on the hub. overwrite: replace an earlier export; a folder with anything else in it never is.
    Links in the run folder are refused: what they point to may not be meant for others.
    """
    found = load_checked(run.path if isinstance(run, Run) else run)  # what is copied, as it is now
    run = run if isinstance(run, Run) else found
    name, to = name or run.path.resolve().name, Path(to)
    if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", license):
        raise RnnlensError(
            f"license is {quoted(license)}: expected an identifier of the hub, such as apache-2.0 or mit"
        )
    _check_free(to, overwrite)
    about = {"model_type": KIND, **run.about, "corpus": _without_places(run.about["corpus"])}
    kind = EXPORT if overwrite else None
    with atomic_folder(to, kind) as folder, parsing(run.path / "run.json", "run of rnnlens"):
        copy_ordinary(run.weights, folder / MODEL)
        for file in COPIED:
            if os.path.lexists(run.path / file):
                copy_ordinary(run.path / file, folder / file)
        write_json(folder / CONFIG, about)
        (folder / CARD).write_text(card(run, name, license, dataset), encoding="utf-8")
    return to


def card(run: Run, name: str, license: str = "unknown", dataset: str | None = None) -> str:
    """The model card: metadata that the hub reads, then what a reader wants to know, all of it from the run."""
    import yaml

    metadata = yaml.safe_dump(_metadata(run, name, license, dataset), sort_keys=False, allow_unicode=True, width=1000)
    network, corpus = run.about["network"], run.about["corpus"]
    facts = {
        "network": f"{network['arch']}, {network['hidden']} units, words of {network['embedding']} dimensions",
        "words": f"{len(run.vocab):,}",
        "corpus": f"{plain(_named(corpus))}, fingerprint {plain(corpus['fingerprint'])}",
        **({"started from": plain(str(run.about["start"]["name"]))} if "start" in run.about else {}),
        **{f"{part} accuracy": f"{100 * value:.2f} %" for part, value in _accuracies(run).items()},
        "training": plain(", ".join(f"{key} {value}" for key, value in run.about["config"].items())),
        "written by": f"rnnlens {plain(run.about['version'])}",
        **_context(run),
    }
    rows = "\n".join(f"| {fact} | {value} |" for fact, value in facts.items())
    return f"""---
{metadata}---

# {plain(name)}

A recurrent network that reads a text word by word and says whether it is positive: its logit is then above 0.

| | |
|---|---|
{rows}

## How to use it

```python
import rnnlens

run = rnnlens.load("FOLDER")  # this folder, downloaded
print(run.network.read("not bad at all"))  # the logit after each word
rnnlens.report(rnnlens.analyze(run), "report.html")  # how it uses context
```

No other package than `rnnlens` is needed. The method is that of [Maheswaranathan & Sussillo, ICML 2020]({PAPER}).

## What it is not for

It knows the reviews that it was trained on, and their habits, and nothing else. Do not use it to judge people or what
they write.
"""


def plain(text: str) -> str:
    """Text that markdown shows as it is: no markup, no link, no line of its own, whatever it holds."""
    if not isinstance(text, str):
        raise TypeError(f"{quoted(text)} is no text")
    text = "".join(char if char.isprintable() else " " for char in text)
    return re.sub(f"([{re.escape(string.punctuation)}])", lambda m: m[0] if m[0] in "-',%" else "\\" + m[0], text)


def _metadata(run: Run, name: str, license: str, dataset: str | None) -> dict[str, Any]:
    found = dataset or _on_hub(run)
    measured = [
        {"type": "accuracy", "name": f"{part} accuracy", "value": value} for part, value in _accuracies(run).items()
    ]
    result = {
        "task": {"type": "text-classification", "name": "Sentiment classification"},
        "dataset": {"type": found or "local", "name": _named(run.about["corpus"])},
        "metrics": measured,
    }
    return {
        "license": license,
        "library_name": KIND,
        "pipeline_tag": "text-classification",
        "tags": [*TAGS, run.about["network"]["arch"]],
        **({"datasets": [found]} if found else {}),
        **({"metrics": ["accuracy"], "model-index": [{"name": name, "results": [result]}]} if measured else {}),
    }


def _accuracies(run: Run) -> dict[str, float]:
    found = run.results.get("accuracy", {})
    return {part: found[part] for part in ("validation", "test") if isinstance(found.get(part), float)}


def _context(run: Run, most: int = 10) -> dict[str, str]:
    """What an analysis found, where there was one."""
    results = run.results
    if "subspace" not in results:
        return {}

    def strongest(*kinds: str) -> str:
        words = [word["word"] for word in results["modifiers"]["words"] if word["kind"] in kinds]
        return ", ".join(map(plain, words[:most])) or "none"

    with parsing(run.path / "results.json", "result of rnnlens"):
        shares = percents(results["subspace"]["explained_variance"][:3])
        return {
            "strongest negators": strongest("negator", "diminisher"),
            "strongest intensifiers": strongest("intensifier"),
            "modifier subspace": f"{shares} of the modifiers' variance",
            "warnings": "; ".join(map(plain, results["warnings"])) or "none",
        }


def _without_places(corpus: Mapping[str, Any]) -> dict[str, Any]:
    """What run.json says of the corpus, with the names of its sources alone."""
    parts = [{**part, "source": _named(part)} for part in corpus.get("sources", ())]
    return {**corpus, "source": _named(corpus), **({"sources": parts} if parts else {})}


def _named(corpus: Mapping[str, Any]) -> str:
    """Where the reviews came from: a file's name alone, not where it lay on somebody's machine."""
    source = str(corpus.get("source", "unknown"))
    if source.lower() in HUB:
        return f"hf://datasets/{HUB[source.lower()]}"
    return source if source.startswith("hf:") else source.replace("\\", "/").rstrip("/").split("/")[-1]


def _on_hub(run: Run) -> str | None:
    """The owner/name of the corpus on the hub, where its source says so."""
    source = str(run.about["corpus"].get("source", ""))
    path = re.match(r"hf:(?://datasets/)?([\w.-]+/[\w.-]+)", source)
    shortened = "model_type" in run.about  # an export's: where the source lay is no longer known
    return path[1] if path else None if shortened else HUB.get(source.lower())


def _check_free(to: Path, overwrite: bool) -> None:
    """Only a new folder, an empty one or, if asked to, one with nothing but an earlier export."""
    if not overwrite and to.is_dir() and any(to.iterdir()):
        raise RnnlensError(
            f"{quoted(str(to))} is not empty: choose another folder, or replace an earlier export with --overwrite"
        )
    check_folder(to, EXPORT)
