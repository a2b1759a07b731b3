"""The tables of docs/validation.md, from stored results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import mean
from textwrap import wrap
from typing import Any

Results = dict[str, Any]
SCORES = {  # as they are stored, and as they are told
    "norm_fixed": "‖ΔJ‖, fixed (the paper's)", "norm_nearest": "‖ΔJ‖, nearest", "interaction": "interaction",
    "score": "interaction, corrected and shrunk (`score`)", "strength": "strength",
    "strength, shrunk": "… shrunk by frequency", "strength beyond chance": "… beyond chance",
    "sure": "… both (`sure`), the best of networks alone", "documents": "in documents, the recommended score",
    "strength by its standard error": "strength, shrunk by the disagreement of networks instead",
    "frequency": "data: frequency", "valence": "data: size of the weight in a bag of words",
    "bigram log-odds": "data: bigram log-odds", "bigram contrast": "data: bigram contrast",
}  # fmt: skip
DATA = ("frequency", "valence", "bigram log-odds", "bigram contrast")
MODELS = {  # that know the form of the language: modifiers multiply what follows, fading
    "convolution": "a bag of words that learns its modifiers", "regressions": "documents alone",
    "ceiling": "valences known",
}  # fmt: skip
MAIN = ("tiny", "easy", "medium", "mixed", "hard")  # told in full


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


def sizes_of_hard(found: dict[str, Results]) -> list[Results]:
    """The hard language with more and fewer documents, the fewest first."""
    runs = [one for name, one in found.items() if name == "hard" or name.removeprefix("hard-").isdigit()]
    return sorted(runs, key=lambda one: one["language"]["train"])


def table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in rows)]


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
    for key, told in MODELS.items():
        rows.append([told, *(average_precision_of(one.get(key)) for one in found.values())])
    return table(["score", *found], rows)


def precision_of(one: Results) -> float:
    """The better of strengths as they are and shrunk by frequency."""
    return max(score["average_precision"] for score in one["scores"].values())


def average_precision_of(one: Results | None) -> str:
    return "–" if one is None else number(precision_of(one), 3)


def failures(found: dict[str, Results]) -> list[str]:
    """Among the first M words, M as many as there are modifiers: who is missed, and who is there wrongly."""
    rows = []
    for name, one in found.items():
        scored = best(one)
        for key in ("norm_fixed", "interaction", "sure", "documents", "bigram contrast"):
            score = scored["scores"][key]
            nature, bins = score["by_nature"], [part for part in score["by_frequency"] if part["n"]]
            kinds = ", ".join(f"{kind} {percent(recall)}" for kind, recall in nature["kinds"].items())
            rows.append([
                name, SCORES[key], percent(score["recall_at_m"]),
                ", ".join(f"{_bin(part)}: {percent(part['recall'])}" for part in bins),
                f"{percent(nature['short'])}, {percent(nature['long'])}", kinds,
                f"{percent(nature['wrong']['valence'])}, {percent(nature['wrong']['rare'])}",
            ])  # fmt: skip
    head = ["language", "score", "recall %", "recall % by occurrences in training", "recall % of short, long reach",
            "recall % by kind", "of the wrong ones, % with valence, % seen less than 500 times"]  # fmt: skip
    return [
        *wrap("Among the first M words of a ranking, M being the number of modifiers. " + _missed(found), 118),
        "",
        *table(head, rows),
    ]


def _missed(found: dict[str, Results]) -> str:
    """Whom the recommended score misses on the hard language, and whom the norm takes for modifiers, in numbers."""
    if "hard" not in found:
        return ""
    scored = best(found["hard"])["scores"]
    bins, nature = scored["documents"]["by_frequency"], scored["documents"]["by_nature"]
    kinds = ", ".join(f"{percent(recall)} % of {kind}s" for kind, recall in nature["kinds"].items())
    wrong = {key: scored[key]["by_nature"]["wrong"] for key in ("norm_fixed", "documents")}
    return (
        f"On `hard` the recommended score finds {percent(bins[0]['recall'])} % of the modifiers seen less than "
        f"{bins[0]['to']} times and {percent(bins[-1]['recall'])} % of those seen {bins[-1]['from']:,} times; {kinds}; "
        f"{percent(nature['short'])} % of those that reach less far than the median, {percent(nature['long'])} % of "
        f"the others. Of the words that it takes for modifiers wrongly {percent(wrong['documents']['valence'])} % have "
        f"valence and {percent(wrong['documents']['rare'])} % are seen less than 500 times; of the norm's wrong ones "
        f"{percent(wrong['norm_fixed']['valence'])} % have valence."
    )


def percent(value: float | None) -> str:
    return number(None if value is None else 100 * value, 0)


def _bin(part: Results) -> str:
    return f"{part['from']}+" if part["to"] is None else f"{part['from']}-{part['to']}"


def measures(found: dict[str, Results]) -> list[str]:
    def consensus(one: Results, pick: Callable[[Results], float | None]) -> str:
        text = of_networks(one, pick)
        return text if "consensus" not in one else f"{text}; consensus {number(pick(one['consensus']))}"

    picks: dict[str, Callable[[Results], float | None]] = {
        "strength, r, all": lambda n: n["strength"]["all"]["pearson"],
        "strength, r, seen at least 500 times": lambda n: n["strength"]["learnable"]["pearson"],
        "strength, rank correlation, seen at least 500 times": lambda n: n["strength"]["learnable"]["spearman"],
        "strength, slope, seen at least 500 times": lambda n: n["strength"]["learnable"]["slope"],
        "the paper's barcode (linear), r, all": lambda n: n["barcode"]["all"]["pearson"],
        "the paper's barcode (linear), r, seen at least 500 times": lambda n: n["barcode"]["learnable"]["pearson"],
        "kind right, all": lambda n: n["kinds"]["accuracy"],
        "kind right, seen at least 500 times": lambda n: n["kinds"]["accuracy_learnable"],
        "… more or less valence, seen at least 500 times": lambda n: n["kinds"]["side_learnable"],
        "in documents: strength, r, all": lambda n: n["documents"]["strength"]["all"]["pearson"],
        "in documents: strength, r, seen at least 500 times": lambda n: n["documents"]["strength"]["learnable"][
            "pearson"
        ],
        "in documents: slope, seen at least 500 times": lambda n: n["documents"]["strength"]["learnable"]["slope"],
        "in documents: kind right, seen at least 500 times": lambda n: n["documents"]["kinds"]["accuracy_learnable"],
        "the same τ for every word, the best in hindsight: within 30 %, seen at least 500 times": lambda n: n["reach"][
            "learnable"
        ]["same"],
        "… seen at least 1,200 times": lambda n: n["reach"]["reachable"]["same"],
        "the same τ for every word, as networks say: within 30 %, seen at least 500 times": lambda n: n["reach_usual"][
            "learnable"
        ]["within"],
        "… seen at least 1,200 times (networks)": lambda n: n["reach_usual"]["reachable"]["within"],
        "τ within 30 %, seen at least 500 times": lambda n: n["reach"]["learnable"]["within"],
        "τ within 30 %, seen at least 1,200 times": lambda n: n["reach"]["reachable"]["within"],
        "τ − 1 within 30 %, seen at least 1,200 times": lambda n: n["reach"]["reachable"]["within_decay"],
        "median of τ found / τ true, seen at least 500 times": lambda n: n["reach"]["learnable"]["ratio"],
        "r of τ, seen at least 500 times": lambda n: n["reach"]["learnable"].get("pearson"),
        "τ over pads: within 30 %, seen at least 500 times": lambda n: n["reach_over_pads"]["learnable"]["within"],
        "in documents: τ within 30 %, seen at least 500 times": lambda n: n["documents"]["reach"]["learnable"][
            "within"
        ],
        "in documents: τ within 30 %, seen at least 1,200 times": lambda n: n["documents"]["reach"]["reachable"][
            "within"
        ],
        "in documents: τ − 1 within 30 %, seen at least 1,200 times": lambda n: n["documents"]["reach"]["reachable"][
            "within_decay"
        ],
        "in documents: median of τ found / τ true": lambda n: n["documents"]["reach"]["learnable"]["ratio"],
        "in documents: r of τ, seen at least 500 times": lambda n: n["documents"]["reach"]["learnable"].get("pearson"),
    }
    rows = [[told, *(consensus(one, pick) for one in found.values())] for told, pick in picks.items()]
    others: dict[str, Callable[[Results], float | None]] = {
        "strength, r, all": lambda n: n["strength"]["all"]["pearson"],
        "strength, r, seen at least 500 times": lambda n: n["strength"]["learnable"]["pearson"],
    }
    for key, name in MODELS.items():
        for told, pick in others.items():
            cells = [number(pick(one[key])) if key in one else "–" for one in found.values()]
            rows.append([f"{name}: {told}", *cells])
    return [
        "Strength: the change of the next word's valence as a share of it (factor − 1), and what was measured of it:",
        "`strength`, from full and lasting effects, and the paper's barcode, to first order and at once. Kinds are the",
        "barcode's. τ is the lag at which the strength has fallen to 1/e of that on the next word: 1 − 1/ln(1 − 1/μ)",
        "for a mean reach of μ; found from states as they are visited, with words as they are read between modifier",
        "and probe, and, for comparison, over pads from h\\*; in documents, by its likelihood. τ − 1 is the decay",
        "alone, a stricter measure. A modifier without a τ counts as missed.",
        "",
        *table(["", *found], rows),
    ]


def causes(found: dict[str, Results]) -> list[str]:
    rows = []
    for name, one in found.items():
        rows.append([name, "before", *_caused(one, lambda c: [c["before"]])])
        for rank in one["networks"][0]["causes"]["removed"]:
            if all(rank in network["causes"]["removed"] for network in one["networks"]):
                told = _caused(one, lambda c, rank=rank: [c["removed"][rank]])  # type: ignore[misc]
                rows.append([name, f"rank {rank} removed", *told])
        rows.append([name, "random rank 3 removed", *_caused(one, lambda c: c["random"])])
        if one["networks"][0]["causes"]["other_words"]:
            rows.append([name, "rank 3 of other words removed", *_caused(one, lambda c: c["other_words"])])
    head = ["language", "", "modification", "valence, share kept", "accuracy %", "… against labels without modifiers %"]
    return table(head, rows)


def _caused(one: Results, find: Callable[[Results], list[Results]]) -> list[str]:
    cells = []
    for key in ("modification", "valence_kept", "accuracy", "accuracy_plain"):
        values = [x.get(key, 1.0) for network in one["networks"] for x in find(network["causes"])]
        scale = 100 if key.startswith("accuracy") else 1
        cells.append(spread([scale * value for value in values], 1 if scale == 100 else 2))
    return cells


def causes_elsewhere(found: dict[str, Results]) -> list[str]:
    """Rank 3 alone, for the languages, sizes and architectures that are not told in full."""
    rows = []
    for name, one in found.items():
        removed = [network["causes"]["removed"].get("3") for network in one["networks"]]
        if name in MAIN or not all(removed):
            continue
        rows.append([
            name, of_networks(one, lambda n: n["causes"]["before"]["modification"]),
            of_networks(one, lambda n: n["causes"]["removed"]["3"]["modification"]),
            of_networks(one, lambda n: n["causes"]["removed"]["3"]["valence_kept"]),
            spread([x["modification"] for n in one["networks"] for x in n["causes"]["random"]]),
            spread([x["modification"] for n in one["networks"] for x in n["causes"]["other_words"]]),
            f"{sum(bool(n['warnings']) for n in one['networks'])} of {len(one['networks'])}",
        ])  # fmt: skip
    head = ["language", "modification before", "rank 3 removed", "… valence, share kept", "random rank 3 removed",
            "rank 3 of other words removed", "networks with warnings"]  # fmt: skip
    return table(head, rows) if rows else []


def edges(found: dict[str, Results]) -> list[str]:
    rows = []
    for name, one in found.items():
        for part in ("beginning", "ending"):
            both = best(one)["edges"][part]
            at = [0, one["language"]["edge_words"] // 2, one["language"]["edge_words"]]
            shown = [f"{number(both['gain'][t])} ({number(both['true'][t])})" for t in at if t < len(both["gain"])]
            rows.append([name, part, *shown, *[""] * (3 - len(shown)), number(both["error"])])
    head = ["language", "edge", "gain of the word at the edge (true)", "half way in", "where it ends", "mean error"]
    return table(head, rows)
