"""`export`: write a run as a model folder for the Hugging Face hub, which `rnnlens.load` opens too.

It has weights, config.json, vocabulary, results and a model card, and does not need `transformers`. Names and words
come from users: they are quoted in the YAML metadata of the card, and escaped in its markdown text.
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
from rnnlens.common.files import parsing, read_json, write_json
from rnnlens.common.ordinary import copy_ordinary
from rnnlens.common.ranges import in_range
from rnnlens.common.replacing import FolderKind, atomic_folder, check_folder
from rnnlens.common.sides import sides_of
from rnnlens.corpora.sources import HUB
from rnnlens.networks import BothWays
from rnnlens.runs.folder import CONFIG, MODEL, Run, load_checked

KIND = "rnnlens"  # config.json's model_type
CARD = "README.md"
COPIED = (
    "vocab.json", "results.json", "history.jsonl", "states.safetensors", "analysis.safetensors",
)  # fmt: skip
EXPORT = FolderKind(
    "an earlier export",
    frozenset({CONFIG, MODEL, CARD, *COPIED, "report.html", ".lock"}),
    {CONFIG: rb'"model_type": "rnnlens"'},
)
TAGS = ("rnnlens", "recurrent-neural-network", "interpretability")
PAPER = "https://arxiv.org/abs/2004.08013"


@in_range("export")
def export(
    run: Run | Path | str,
    to: Path | str,
    *,
    name: str | None = None,
    license: str = "unknown",
    dataset: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a run as a hub folder: model.safetensors, config.json, vocab.json, README.md and the results.

    name: of the model, by default that of its folder. license: an identifier of the hub, such as apache-2.0. dataset:
    owner/name of the corpus on the hub. overwrite: replace an earlier export; any other folder is never replaced.
    Links in the run folder are refused, since they may point to private files.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", license):
        raise RnnlensError(
            f"license is {quoted(license)}: expected an identifier of the hub, such as apache-2.0 or mit"
        )
    if dataset is not None and not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", dataset):
        raise RnnlensError(f"dataset is {quoted(dataset)}: expected the owner/name of a data set on the hub")
    to = Path(to)
    _check_free(to, overwrite)
    checked = load_checked(run.path if isinstance(run, Run) else run)  # the files that are copied, as they are now
    run = run if isinstance(run, Run) else checked
    name = name or run.path.resolve().name
    about = {"model_type": KIND, **run.about, "corpus": _without_paths(run.about["corpus"])}
    kind = EXPORT if overwrite else None
    with atomic_folder(to, kind) as folder, parsing(run.path / "run.json", "run of rnnlens"):
        copy_ordinary(run.weights, folder / MODEL)
        for file in COPIED:
            if os.path.lexists(run.path / file):
                copy_ordinary(run.path / file, folder / file)
        _leave_out_texts(folder / "results.json")
        write_json(folder / CONFIG, about)
        (folder / CARD).write_text(card(run, name, license, dataset), encoding="utf-8")
    return to


def _leave_out_texts(results: Path) -> None:
    """Remove the examples from exported results: they are texts of the corpus, which may be private."""
    content = read_json(results) if results.exists() else {}
    if content.pop("examples", None) is not None:
        write_json(results, content)


def card(run: Run, name: str, license: str = "unknown", dataset: str | None = None) -> str:
    """The model card: metadata for the hub, then a text for readers, both from the run."""
    metadata = _yaml(_metadata(run, name, license, dataset))
    network, corpus = run.about["network"], run.about["corpus"]
    facts = {
        "network": f"{network['arch']}, {run.network.units}, embeddings of {network['embedding']} dimensions",
        "words": f"{len(run.vocab):,}",
        "corpus": f"{plain(_named(corpus))}, fingerprint {plain(corpus['fingerprint'])}",
        **({"started from": plain(str(run.about["start"]["name"]))} if "start" in run.about else {}),
        **{f"{part} accuracy": f"{100 * value:.2f} %" for part, value in _accuracies(run).items()},
        "training": plain(", ".join(f"{key} {value}" for key, value in run.about["config"].items())),
        "written by": f"rnnlens {plain(run.about['version'])}",
        **_context(run),
    }
    rows = "\n".join(f"| {fact} | {value} |" for fact, value in facts.items())
    names = run.network.classes
    order = ", from the last to the first" if run.network.direction == "backwards" else ""
    reads = "If its logit is above 0, it reads the text as positive."
    reads = f"It gives a probability for each of {len(names)} classes: {plain(', '.join(names))}." if names else reads
    return f"""---
{metadata}---

# {plain(name)}

A recurrent network that reads a text word by word{order}. {reads}

| | |
|---|---|
{rows}

## How to use it

```python
import rnnlens

run = rnnlens.load("FOLDER")  # this folder, downloaded
{_reading(run)}
rnnlens.report(rnnlens.analyze(run), "report.html")  # how it uses context
```

No other package than `rnnlens` is needed. The method is that of [Maheswaranathan & Sussillo, ICML 2020]({PAPER}).

## What it is not for

It knows only the {"texts" if names else "reviews"} that it was trained on. Do not use it to judge people or what they
write.
"""


def _reading(run: Run) -> str:
    """The line of the card that reads a text."""
    network, text = run.network, '"not bad at all"'
    if not isinstance(network, BothWays):
        after = "probabilities" if network.classes else "logit"
        return f"print(run.network.read({text}))  # the {after} after each word"
    one = "" if not network.classes else ".of_class()" if network.ordered else ".of_class(run.network.classes[0])"
    return f"print(run.network{one}.read({text}))  # what each word adds from either side"


def plain(text: str) -> str:
    """Text with all markdown escaped, in one line, so that it is shown as it is."""
    if not isinstance(text, str):
        raise TypeError(f"{quoted(text)} is not a text")
    text = "".join(char if char.isprintable() else " " for char in text)
    return re.sub(f"([{re.escape(string.punctuation)}])", lambda m: m[0] if m[0] in "-',%" else "\\" + m[0], text)


def _yaml(content: Mapping[str, Any]) -> str:
    """YAML in which every text stays a text: PyYAML leaves 1e5 and 0o7 without quotes, and readers of YAML 1.2, such as
    the hub's, take them for numbers."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def represent(dumper: Any, text: str) -> Any:
        style = "'" if re.match(r"[-+.]?[0-9]", text) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent)
    return yaml.dump(content, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1000)


def _metadata(run: Run, name: str, license: str, dataset: str | None) -> dict[str, Any]:
    hub_dataset = dataset or _on_hub(run)
    measured = [
        {"type": "accuracy", "name": f"{part} accuracy", "value": value} for part, value in _accuracies(run).items()
    ]
    topics = run.network.several_classes and not run.network.ordered  # of no known kind; all else rates texts
    result = {
        "task": {"type": "text-classification", "name": f"{'Text' if topics else 'Sentiment'} classification"},
        "dataset": {"type": hub_dataset or "local", "name": _named(run.about["corpus"])},
        "metrics": measured,
    }
    return {
        "license": license,
        "library_name": KIND,
        "pipeline_tag": "text-classification",
        "tags": [*TAGS, *([] if topics else ["sentiment-analysis"]), run.about["network"]["arch"]],
        **({"datasets": [hub_dataset]} if hub_dataset else {}),
        **({"metrics": ["accuracy"], "model-index": [{"name": name, "results": [result]}]} if measured else {}),
    }


def _accuracies(run: Run) -> dict[str, float]:
    accuracy = run.results.get("accuracy", {})
    return {part: accuracy[part] for part in ("validation", "test") if isinstance(accuracy.get(part), float)}


def _context(run: Run) -> dict[str, str]:
    """Facts from the analysis, if the run has been analyzed."""
    results = run.results
    if "subspace" not in results:
        return {}

    def strongest(*kinds: str) -> str:
        words = [word["word"] for word in results["modifiers"]["words"] if word["kind"] in kinds]
        return ", ".join(map(plain, words[:10])) or "none"

    with parsing(run.path / "results.json", "result of rnnlens"):
        shares = percents(results["subspace"]["explained_variance"][:3])
        sides = sides_of(results)
        of = f", class {plain(sides.name)}" if sides.one_of_many else ""
        of += f", reader that reads {plain(both['shown'])}" if (both := results.get("both_ways")) else ""
        return {
            f"clearest negators and diminishers{of}": strongest("negator", "diminisher"),
            f"clearest intensifiers{of}": strongest("intensifier"),
            "modifier subspace": f"{shares} of the modifiers' variance",
            "warnings": "; ".join(map(plain, results["warnings"])) or "none",
        }


def _without_paths(corpus: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of run.json about the corpus, with the names of its sources but not their paths."""
    parts = [{**part, "source": _named(part)} for part in corpus.get("sources", ())]
    return {**corpus, "source": _named(corpus), **({"sources": parts} if parts else {})}


def _named(corpus: Mapping[str, Any]) -> str:
    """The source of the reviews: of a file only its name, not its path on the user's machine."""
    source = str(corpus.get("source", "unknown"))
    if source.lower() in HUB:
        return f"hf://datasets/{HUB[source.lower()]}"
    return source if source.startswith("hf:") else source.replace("\\", "/").rstrip("/").split("/")[-1]


def _on_hub(run: Run) -> str | None:
    """The owner/name of the corpus on the hub, if its source is on the hub."""
    source = str(run.about["corpus"].get("source", ""))
    path = re.match(r"hf:(?://datasets/)?([\w.-]+/[\w.-]+)", source)
    exported = "model_type" in run.about  # in an export, a local file may have the short name of a hub data set
    return path[1] if path else None if exported else HUB.get(source.lower())


def _check_free(to: Path, overwrite: bool) -> None:
    """Refuse a folder that exists, unless it is empty or, with `overwrite`, an earlier export."""
    if not overwrite and to.is_dir() and any(to.iterdir()):
        raise RnnlensError(
            f"{quoted(str(to))} is not empty: choose another folder, or replace an earlier export with --overwrite"
        )
    check_folder(to, EXPORT)
