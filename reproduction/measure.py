r"""What a trained network has learned, on validation texts alone, beside the packaged network.

    python -m reproduction.measure CORPUS RUN … --out DIR     # one JSON a network; those that exist are kept
    python -m reproduction.measure --table DIR [--lexicon FILE …]    # the table of all of them
    python -m reproduction.measure --record DIR …                    # → docs/results/recipe.json

CORPUS is the prepared corpus of `reproduction.recipe`; people's strengths are in `CORPUS.judge.json`. `--judge` also
reads the sentences that judge chosen networks; settings are chosen without it.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import rnnlens
from reproduction.sentences import CHOOSING, JUDGED, PAPER, denials, litotes
from rnnlens.common.files import write_json

LEAST_EFFECT = 0.2  # |strength| − 2 errors of a modifier
FIRST = 20  # words of a list that are compared with lexicons
STATES = 3_000
RECORD = Path("docs/results/recipe.json")


@torch.no_grad()
def measure(run: rnnlens.Run, corpus: rnnlens.Corpus, judge: dict[str, list[int]], judged: bool) -> dict[str, Any]:
    """Accuracies, agreement with people, lists of modifiers, sentences, and the line."""
    network = run.network.eval()
    texts = replace(corpus.with_vocab(network.vocab), test=None)
    states = rnnlens.visited_states(network, texts.validation, n=STATES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        analysis = rnnlens.analyze(network, states=states, accuracy=False)
    words = analysis.modifiers
    strengths = dict(zip(words.words, words.strength.tolist(), strict=True))
    errors = dict(zip(words.words, words.error.tolist(), strict=True))
    sure = {word: abs(strength) - 2 * errors[word] for word, strength in strengths.items()}
    named = sorted((word for word in sure if sure[word] >= LEAST_EFFECT), key=lambda word: -sure[word])
    found: dict[str, Any] = {
        "run": run.about["network"],
        "settings": {name: run.about["config"].get(name) for name in ("epochs", "next_word", "word_epsilon", "seed")},
        "weights": {part["name"]: part["weight"] for part in run.about["corpus"].get("sources", [])},
        "validation": by_source(network, texts),
        "people": {str(least): agreement(strengths, judge, least) for least in (3, 8, 15)},
        "negators": [[word, round(strengths[word], 3)] for word in named if strengths[word] < 0],
        "intensifiers": [[word, round(strengths[word], 3)] for word in named if strengths[word] > 0],
        "strengths": {word: round(strengths[word], 3) for word in ("not", "very", "never", "extremely", "hardly")},
        "explained": analysis.line.explained,
        "eigenvalue": abs(analysis.line.integration_eigenvalue),
        "choosing": sentences(network, CHOOSING),
    }
    if judged:
        found |= {
            "judged": sentences(network, JUDGED),
            "paper": [round(logit_of(network, text), 2) for text in PAPER],
            "litotes": float(np.mean([logit_of(network, text) > np.log(0.5) for text in litotes()])),  # P > 1/3
            "denials": float(np.mean([logit_of(network, text) < 0 for text in denials()])),
        }
    return found


def by_source(network: rnnlens.Network, corpus: rnnlens.Corpus) -> dict[str, float]:
    """Accuracy on the validation texts of each source."""
    split = corpus.validation
    assert split is not None and split.sources is not None
    right = (rnnlens.evaluate(network, split, max_words=600).logits > 0) == (np.asarray(split.labels) > 0.5)
    return {name: float(right[split.sources == number].mean()) for number, name in enumerate(corpus.sources)}


def agreement(strengths: dict[str, float], judge: dict[str, list[int]], least: int) -> dict[str, float]:
    """The correlation of a network's strengths with people's over the words with at least `least` judged phrases."""
    sums = {word: np.array(rows).reshape(8, 3).sum(0) for word, rows in judge.items() if word in strengths}
    sums = {word: row for word, row in sums.items() if row[0] >= least}
    people = [row[1] / row[2] - 1 for row in sums.values()]
    return {"words": len(sums), "r": float(np.corrcoef(people, [strengths[word] for word in sums])[0, 1])}


def logit_of(network: rnnlens.Network, text: str) -> float:
    return float(network(text))


def sentences(network: rnnlens.Network, judged: dict[str, bool]) -> dict[str, float]:
    return {text: round(logit_of(network, text), 2) for text in judged}


def known(words: list[list[Any]], lexicon: set[str]) -> float:
    """The share of the first words of a list that a lexicon has."""
    first = [word for word, _ in words[:FIRST]]
    return sum(word in lexicon for word in first) / max(10, len(first))


def table(folder: Path, lexicons: list[Path]) -> None:
    from rnnlens.analysis.lexicon import read_lexicon

    values: dict[str, list[float | None]] = {}
    for source in ["vader", *lexicons]:
        for word, value in read_lexicon(source).values.items():
            values.setdefault(word, []).append(value)
    negators = {word for word, signs in values.items() if any(sign is None or sign < 0 for sign in signs)}
    boosters = {word for word, signs in values.items() if any(sign is not None and sign > 0 for sign in signs)}
    head = (
        "network imdb yelp amazon y-sent phr tree neg | r3 r8 r15 | mods −/+ | known −/+ | not very | choosing | curve"
    )
    print(head.replace(" ", "\t"))
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        accuracy = found["validation"]
        names = ("imdb", "yelp", "amazon", "yelp-sentences", "phrases", "treebank", "negated")
        right = sum((found["choosing"][text] > 0) == side for text, side in CHOOSING.items())
        row = [path.stem, *(f"{100 * accuracy[name]:.1f}" for name in names)]
        row += [f"{found['people'][least]['r']:.2f}" for least in ("3", "8", "15")]
        row += [f"{len(found['negators'])}/{len(found['intensifiers'])}"]
        row += [f"{known(found['negators'], negators):.2f}/{known(found['intensifiers'], boosters):.2f}"]
        row += [f"{found['strengths']['not']:+.2f}", f"{found['strengths']['very']:+.2f}"]
        row += [f"{right}/{len(CHOOSING)}", f"{100 * found['explained']:.0f} %"]
        if "judged" in found:
            row += [f"{logit:+.1f}" for logit in list(found["judged"].values())[:4]]
            row += [f"litotes {100 * found['litotes']:.0f} %, denials {100 * found['denials']:.0f} %"]
        print("\t".join(row))


def record(folders: list[Path]) -> None:
    """What was measured, with the first words of each list: docs/results/recipe.json."""
    content = {}
    for folder in folders:
        for path in sorted(folder.glob("*.json")):
            found = json.loads(path.read_text(encoding="utf-8"))
            for name in ("negators", "intensifiers"):
                found[name] = {"number": len(found[name]), "first": dict(found[name][:FIRST])}
            content[f"{folder.name}/{path.stem}"] = rounded(found)
    RECORD.write_text(
        json.dumps(content, indent=None, ensure_ascii=False).replace('}, "', '},\n "') + "\n", encoding="utf-8"
    )


def rounded(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: rounded(value) for name, value in content.items()}
    return float(f"{content:.4g}") if isinstance(content, float) else content


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--record", type=Path, nargs="+")
    parser.add_argument("--lexicon", type=Path, action="append", default=[])
    asked = parser.parse_args()
    if asked.table is not None:
        table(asked.table, asked.lexicon)
        return
    if asked.record is not None:
        record(asked.record)
        return
    corpus = rnnlens.load_corpus(asked.corpus)
    judge = json.loads(asked.corpus.with_name(asked.corpus.name + ".judge.json").read_text())["words"]
    asked.out.mkdir(parents=True, exist_ok=True)
    for name in asked.runs:
        path = asked.out / (Path(name).name.replace("zoo:", "") + ".json")
        if not path.exists():
            write_json(path, measure(rnnlens.load(name), corpus, judge, asked.judge))
            print(name, flush=True)


if __name__ == "__main__":
    main()
