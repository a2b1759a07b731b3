"""The method against known truth: reads what `rnnlens validate` stored, writes docs/validation.md, figures and data.

python -m studies.validation runs/validation [--imdb runs/zoo]   # folders of `rnnlens validate`, one below the other
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import mean
from typing import Any

import rnnlens
from rnnlens.artifacts import atomic_file, read_json, write_json
from rnnlens.context.probes import Probes
from rnnlens.experiments.analyze import stored_line
from rnnlens.figures.style import write_figure
from studies.validation_figures import figures

DOCS = Path(__file__).parent.parent / "docs"
Results = dict[str, Any]
SCORES = {  # as they are stored, and as they are told
    "norm_fixed": "‖ΔJ‖, fixed (the paper's)", "norm_nearest": "‖ΔJ‖, nearest", "interaction": "interaction",
    "score": "recommended", "mean, not shrunk": "… not shrunk by frequency",
    "mean by its standard error": "… shrunk by each word's disagreement of networks instead",
    "mean by its reliability": "… shrunk by the disagreement of networks among words of like frequency instead",
    "frequency": "data: frequency", "valence": "data: size of the weight in a bag of words",
    "bigram log-odds": "data: bigram log-odds", "bigram contrast": "data: bigram contrast",
}  # fmt: skip
DATA = ("frequency", "valence", "bigram log-odds", "bigram contrast")
KNOWN = {  # English modifiers, by any grammar: to count them among the words that a score puts first
    "negators": "not no never nothing nobody none nor neither nowhere without cannot can't don't doesn't didn't isn't "
    "wasn't aren't weren't won't wouldn't couldn't shouldn't hasn't haven't hadn't ain't lacks lack lacking fails fail "
    "failed hardly barely scarcely rarely seldom few",
    "intensifiers": "very really extremely absolutely definitely highly truly incredibly totally completely utterly so "
    "too such most more much especially particularly quite pretty thoroughly deeply perfectly entirely simply just "
    "even exceptionally remarkably insanely awfully terribly always all ever certainly surely",
    "diminishers": "somewhat slightly fairly rather almost nearly kinda sorta little bit less least only merely mostly "
    "partly relatively moderately sometimes occasionally but although though however despite if would could should "
    "might may maybe perhaps supposed supposedly",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="holds folders that `rnnlens validate` wrote")
    parser.add_argument("--imdb", type=Path, help="analysed runs named imdb-…: lists of their modifiers are made anew")
    asked = parser.parse_args()
    found = {path.parent.name: read_json(path) for path in sorted(asked.folder.glob("*/validation.json"))}
    if not found:
        parser.error(f"no validation.json in the folders of {asked.folder}")
    found = dict(sorted(found.items(), key=lambda item: (ORDER.index(item[1]["preset"]), item[1]["language"]["train"])))
    for name, one in found.items():
        write_json(DOCS / "results" / f"validation-{name}.json", one)
    lists = DOCS / "results" / "imdb-lists.json"
    if asked.imdb is not None:
        write_json(lists, imdb_lists(asked.imdb))
    for name, figure in figures(found, SCORES).items():
        write_figure(figure, DOCS / "images" / f"validation-{name}.svg")
    with atomic_file(DOCS / "validation.md") as temporary:
        text = "\n".join(page(found, read_json(lists) if lists.exists() else None)) + "\n"
        temporary.write_text(text, encoding="utf-8")
    print(DOCS / "validation.md")


ORDER = ["tiny", "easy", "medium", "mixed", "hard", "own"]


# --- numbers ----------------------------------------------------------------------------------------------------------


def number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")


def spread(values: Iterable[float | None], digits: int = 2) -> str:
    """The mean, and the range where there are several."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    text = number(mean(known), digits)
    return text if len(known) == 1 else f"{text} ({number(min(known), digits)} … {number(max(known), digits)})"


def of_networks(one: Results, pick: Callable[[Results], float | None], digits: int = 2) -> str:
    return spread([pick(network) for network in one["networks"]], digits)


def best(one: Results) -> Results:
    """The consensus, or the only network."""
    return one.get("consensus") or one["networks"][0]


def table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in rows)]


# --- the page ---------------------------------------------------------------------------------------------------------


def page(found: dict[str, Results], lists: Results | None) -> list[str]:
    return [
        "# The method against known truth",
        "",
        "Written by `python -m studies.validation FOLDER` from what `rnnlens validate` stored; all numbers are in",
        "[results](results). Languages are made in which it is known which words modify others, how strongly and how",
        "far; networks are trained on their documents, which carry one noisy label each, and are taken apart like any",
        "other. Single networks: mean and range over seeds; consensus: the mean of all seeds' measures. Intervals are",
        "95 %, by bootstrap over words.",
        "",
        "## The languages",
        "",
        *languages(found),
        "",
        "`knows all`: accuracy of who knows every word's valence, strength and mean reach, but not how far each",
        "occurrence reaches; `no modifiers`: of who knows all valences and heeds no modifier. What lies between the",
        "two is all that modifiers are worth. `reads`: how much of the modification is in the networks' logits, by a",
        "regression on what words add up to plainly and on what modifiers add: 0 where a network is a bag of words.",
        "",
        "## What was asked, and what was found",
        "",
        *verdicts(found),
        "",
        "## Which words are modifiers",
        "",
        "Average precision of ranking all words by each score.",
        "",
        *rankings(found),
        "",
        "![average precision by score](images/validation-scores.svg)",
        "",
        "`valences known` is the ceiling: a regression of the labels on what each word would have changed, by someone",
        "who knows all valences and the mean reach. Who must learn valences from the same documents knows less. For it",
        "and the bag of words that learns its modifiers, the better of strengths as they are and shrunk by frequency.",
        "",
        "## Where scores fail",
        "",
        *failures(found),
        "",
        "![recall by frequency](images/validation-frequency.svg)",
        "",
        "## How strong, of what kind, how far",
        "",
        *measures(found),
        "",
        "![strengths found and true](images/validation-strength.svg)",
        "",
        "## What removing the subspace removes",
        "",
        "The modifier subspace, fitted to the hundred strongest words that the analysis found, is projected out of the",
        "state at every step, and the test documents are read again. `modification` and `valence` are the two slopes",
        "of the logits (see above); removing exactly the modification brings the first to 0 and leaves the second.",
        "",
        *causes(found),
        "",
        "## Edges of documents",
        "",
        *edges(found),
        "",
        *sizes(found),
        *([] if lists is None else imdb(lists)),
    ]


def languages(found: dict[str, Results]) -> list[str]:
    head = ["language", "documents", "words each", "vocabulary", "modifiers", "seen 500 times", "knows all %",
            "no modifiers %", "network", "networks' test %", "reads"]  # fmt: skip
    rows = []
    for name, one in found.items():
        language, network, shape = one["language"], one["networks"][0], one["network"]
        rows.append([
            name, f"{language['train']:,}", f"{language['length']:g}", f"{language['words']:,}",
            str(network["modifiers"]), str(network["learnable"]), number(100 * one["truth"]["reader"], 1),
            number(100 * one["truth"]["plain"], 1), f"{shape['arch']} {shape['hidden']} × {one['seeds']}",
            of_networks(one, lambda n: 100 * n["accuracy"]["test"], 1),
            of_networks(one, lambda n: n["causes"]["before"]["modification"]),
        ])  # fmt: skip
    return table(head, rows)


def verdicts(found: dict[str, Results]) -> list[str]:
    """The claims, each by the consensus, or by the only network."""

    def precision(one: Results, name: str) -> float:
        return best(one)["scores"][name]["average_precision"]

    claims: dict[str, Callable[[Results], tuple[bool, str]]] = {
        "recommended score at least 0.2 above the paper's norm": lambda one: _at_least(
            precision(one, "score") - precision(one, "norm_fixed"), 0.2
        ),
        "… and above every score from data alone": lambda one: _at_least(
            precision(one, "score") - max(precision(one, name) for name in DATA), 0.0
        ),
        "strengths correlate at 0.8 or more, all modifiers": lambda one: _at_least(
            best(one)["strength"]["all"]["pearson"], 0.8
        ),
        "… those seen at least 500 times": lambda one: _at_least(best(one)["strength"]["learnable"]["pearson"], 0.8),
        "τ within 30 % for three quarters of those seen at least 500 times": lambda one: _at_least(
            best(one)["reach"]["learnable"]["within"], 0.75
        ),
    }
    rows = []
    for claim, holds in claims.items():
        cells = []
        for one in found.values():
            shown, told = holds(one)
            cells.append(f"{'✓' if shown else '✗'} {told}")
        rows.append([claim, *cells])
    return table(["claim", *found], rows)


def _at_least(value: float | None, level: float) -> tuple[bool, str]:
    return value is not None and value >= level, number(value)


def rankings(found: dict[str, Results]) -> list[str]:
    rows = []
    for key, told in SCORES.items():
        cells = []
        for one in found.values():
            both = one.get("consensus", {}).get("scores", {}).get(key)
            single = [network["scores"].get(key) for network in one["networks"]]
            text = spread([score["average_precision"] for score in single if score], 3)
            if both is not None and key not in DATA:
                low, high = both["interval"]
                text += f"; consensus {number(both['average_precision'], 3)} [{number(low, 3)}, {number(high, 3)}]"
            cells.append(text.removeprefix("–; ") if text.startswith("–; ") else text)
        rows.append([told, *cells])
    for key, told in (("convolution", "a bag of words that learns its modifiers"), ("ceiling", "valences known")):
        rows.append([told, *(_average_precision(one.get(key)) for one in found.values())])
    return table(["score", *found], rows)


def _average_precision(one: Results | None) -> str:
    """The better of strengths as they are and shrunk by frequency."""
    return "–" if one is None else number(max(s["average_precision"] for s in one["scores"].values()), 3)


def failures(found: dict[str, Results]) -> list[str]:
    """Among the first M words, M as many as there are modifiers: who is missed, and who is there wrongly."""
    text = ["Among the first M words of a ranking, M being the number of modifiers:", ""]
    rows = []
    for name, one in found.items():
        scored = best(one)
        for key in ("norm_fixed", "interaction", "score", "bigram contrast"):
            score = scored["scores"][key]
            bins = [part for part in score["by_frequency"] if part["n"]]
            rows.append([
                name, SCORES[key], number(100 * score["recall_at_m"], 0),
                ", ".join(f"{_bin(part)}: {number(100 * part['recall'], 0)}" for part in bins),
                number(100 * score["valence_among_first"], 0), *_by_reach(scored, key),
            ])  # fmt: skip
    head = ["language", "score", "recall %", "recall % by occurrences in training",
            "valence words, % of the wrong ones", "recall % of short, long reach"]  # fmt: skip
    return [*text, *table(head, rows)]


def _bin(part: Results) -> str:
    return f"{part['from']}+" if part["to"] is None else f"{part['from']}-{part['to']}"


def _by_reach(scored: Results, key: str) -> list[str]:
    """Of modifiers that reach less, and further, than the median: only the recommended score's ranks are stored."""
    if key != "score":
        return [""]
    rows = scored["found"]
    middle = sorted(rows["tau"])[len(rows["tau"]) // 2]
    first = [rank <= scored["modifiers"] for rank in rows["rank"]]
    halves = [[hit for hit, tau in zip(first, rows["tau"], strict=True) if (tau < middle) == short] for short in (1, 0)]
    return [", ".join(number(100 * mean(half), 0) for half in halves)]


def measures(found: dict[str, Results]) -> list[str]:
    def consensus(one: Results, pick: Callable[[Results], float | None]) -> str:
        text = of_networks(one, pick)
        return text if "consensus" not in one else f"{text}; consensus {number(pick(one['consensus']))}"

    picks: dict[str, Callable[[Results], float | None]] = {
        "strength, r, all": lambda n: n["strength"]["all"]["pearson"],
        "strength, r, seen at least 500 times": lambda n: n["strength"]["learnable"]["pearson"],
        "strength, rank correlation, seen at least 500 times": lambda n: n["strength"]["learnable"]["spearman"],
        "strength, slope, seen at least 500 times": lambda n: n["strength"]["learnable"]["slope"],
        "kind right, all": lambda n: n["kinds"]["accuracy"],
        "kind right, seen at least 500 times": lambda n: n["kinds"]["accuracy_learnable"],
        "… more or less valence, seen at least 500 times": lambda n: n["kinds"]["side_learnable"],
        "τ within 30 %, seen at least 500 times": lambda n: n["reach"]["learnable"]["within"],
        "τ within 30 %, seen at least 1,200 times": lambda n: n["reach"]["by_frequency"][-1]["within"],
        "τ − 1 within 30 %, seen at least 500 times": lambda n: n["reach"]["learnable"]["within_decay"],
        "median of τ found / τ true, seen at least 500 times": lambda n: n["reach"]["learnable"]["ratio"],
        "r of τ, seen at least 500 times": lambda n: n["reach"]["learnable"].get("pearson"),
    }
    rows = [[told, *(consensus(one, pick) for one in found.values())] for told, pick in picks.items()]
    others: dict[str, Callable[[Results], float | None]] = {
        "strength, r, all": lambda n: n["strength"]["all"]["pearson"],
        "strength, r, seen at least 500 times": lambda n: n["strength"]["learnable"]["pearson"],
    }
    for key, name in (("convolution", "a bag of words that learns its modifiers"), ("ceiling", "valences known")):
        for told, pick in others.items():
            cells = [number(pick(one[key])) if key in one else "–" for one in found.values()]
            rows.append([f"{name}: {told}", *cells])
    return [
        "Strength is the change of the next word's valence as a share of it (factor − 1), and the barcode's. τ is the",
        "lag at which the interaction has fallen to 1/e of that with the next word: 1 − 1/ln(1 − 1/μ) for a mean reach",
        "of μ. τ − 1 is the decay alone, a stricter measure. A modifier without a τ counts as missed.",
        "",
        *table(["", *found], rows),
    ]


def causes(found: dict[str, Results]) -> list[str]:
    rows = []
    for name, one in found.items():

        def told(find: Callable[[Results], list[Results]], one: Results = one) -> list[str]:
            cells = []
            for key in ("modification", "valence_kept", "accuracy", "accuracy_plain"):
                values = [x.get(key, 1.0) for network in one["networks"] for x in find(network["causes"])]
                scale = 100 if key.startswith("accuracy") else 1
                cells.append(spread([scale * value for value in values], 1 if scale == 100 else 2))
            return cells

        rows.append([name, "before", *told(lambda c: [c["before"]])])
        for rank in ("1", "3", "10"):
            if all(rank in network["causes"]["removed"] for network in one["networks"]):
                rows.append([name, f"rank {rank} removed", *told(lambda c, rank=rank: [c["removed"][rank]])])
        rows.append([name, "random rank 3 removed", *told(lambda c: c["random"])])
        if one["networks"][0]["causes"]["other_words"]:
            rows.append([name, "rank 3 of other words removed", *told(lambda c: c["other_words"])])
    head = ["language", "", "modification", "valence, share kept", "accuracy %", "… against labels without modifiers %"]
    return table(head, rows)


def edges(found: dict[str, Results]) -> list[str]:
    rows = []
    for name, one in found.items():
        for part in ("beginning", "ending"):
            both = best(one)["edges"][part]
            at = [0, len(one["language"]) and one["language"]["edge_words"] // 2, one["language"]["edge_words"]]
            shown = [f"{number(both['gain'][t])} ({number(both['true'][t])})" for t in at if t < len(both["gain"])]
            rows.append([name, part, *shown, *[""] * (3 - len(shown)), number(both["error"])])
    head = ["language", "edge", "gain of the word at the edge (true)", "half way in", "where it ends", "mean error"]
    return table(head, rows)


def sizes(found: dict[str, Results]) -> list[str]:
    """How results vary with the number of documents, for presets that were run with several."""
    groups: dict[str, list[Results]] = {}
    for name, one in found.items():
        groups.setdefault(name.split("-")[0], []).append(one)
    groups = {name: runs for name, runs in groups.items() if len(runs) > 1}
    if not groups:
        return []
    text = ["## With more and fewer documents", ""]
    rows = []
    for name, runs in groups.items():
        for one in sorted(runs, key=lambda one: one["language"]["train"]):
            rows.append([
                name, f"{one['language']['train']:,}", of_networks(one, lambda n: 100 * n["accuracy"]["test"], 1),
                of_networks(one, lambda n: n["causes"]["before"]["modification"]),
                number(best(one)["scores"]["norm_fixed"]["average_precision"], 3),
                number(best(one)["scores"]["score"]["average_precision"], 3),
                _average_precision(one.get("convolution")), _average_precision(one.get("ceiling")),
                number(best(one)["strength"]["learnable"]["pearson"]),
                number(best(one)["reach"]["learnable"]["within"]),
            ])  # fmt: skip
    head = ["language", "documents", "networks' test %", "reads", "AP of the norm", "AP recommended",
            "AP of a bag of words", "AP, valences known", "strength, r, seen at least 500 times",
            "τ within 30 %"]  # fmt: skip
    return [*text, *table(head, rows), "", "![with more documents](images/validation-documents.svg)", ""]


# --- real reviews -----------------------------------------------------------------------------------------------------


def imdb_lists(folder: Path) -> Results:
    """The fifty words that each score puts first, for one network and for all of them together."""
    runs = [rnnlens.load(path.parent) for path in sorted(folder.glob("imdb-*/run.json"))]
    runs = [run for run in runs if "subspace" in run.results]
    networks, lines = [run.network.requires_grad_(False) for run in runs], [stored_line(run) for run in runs]
    stored = runs[0].results["probes"]
    probes = Probes(tuple(stored["positive"]), tuple(stored["negative"]))
    first = rnnlens.find_modifiers(networks[0], lines[0], probes=probes)
    both = rnnlens.find_modifiers(networks, lines, probes=probes)
    return {
        "networks": [run.path.name for run in runs],
        "lists": {
            f"the paper's norm ({runs[0].path.name})": first.strongest(50, by="norm"),
            f"recommended ({runs[0].path.name})": first.strongest(50),
            f"recommended, consensus of {len(runs)} networks": both.strongest(50),
        },
        "kinds": {word: both[word]["kind"] for word in both.strongest(50)},
    }


def imdb(lists: Results) -> list[str]:
    text = ["## Real reviews: the first fifty words on IMDB", ""]
    known = {word for words in KNOWN.values() for word in words.split()}
    rows = []
    for name, words in lists["lists"].items():
        counts = [sum(word in some.split() for word in words) for some in KNOWN.values()]
        rows.append([name, str(sum(word in known for word in words)), *map(str, counts)])
    text += table(["score", "modifiers by any grammar, of 50", *KNOWN], rows)
    text += ["", "Words that a grammar calls modifiers are in bold.", ""]
    for name, words in lists["lists"].items():
        text.append(f"- **{name}**: " + ", ".join(f"**{word}**" if word in known else word for word in words))
    return [*text, ""]


if __name__ == "__main__":
    main()
