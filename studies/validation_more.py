"""What docs/validation.md tells beyond the main languages: sizes, architectures, and how choices were made."""

from __future__ import annotations

from statistics import mean
from textwrap import wrap

from studies.validation_search import ranked
from studies.validation_tables import (
    Results,
    average_precision_of,
    best,
    number,
    of_networks,
    sizes_of_hard,
    spread,
    table,
)  # fmt: skip

HEAD = ["networks' test %", "reads", "AP of the norm", "AP of `sure`", "AP in documents", "AP of documents alone",
        "AP, valences known", "strength, r, seen at least 500 times", "… in documents",
        "τ in documents within 30 %, seen at least 1,200 times"]  # fmt: skip


def _in_short(one: Results) -> list[str]:
    scored = best(one)
    reach = scored["documents"]["reach"]["reachable"]
    return [
        of_networks(one, lambda n: 100 * n["accuracy"]["test"], 1),
        of_networks(one, lambda n: n["causes"]["before"]["modification"]),
        *(number(scored["scores"][key]["average_precision"], 3) for key in ("norm_fixed", "sure", "documents")),
        average_precision_of(one.get("regressions")), average_precision_of(one.get("ceiling")),
        number(scored["strength"]["learnable"]["pearson"]),
        number(scored["documents"]["strength"]["learnable"]["pearson"]),
        f"{number(reach['within'])} of {reach['n']}",
    ]  # fmt: skip


def sizes(found: dict[str, Results]) -> list[str]:
    """How results vary with the number of documents."""
    runs = sizes_of_hard(found)
    if len(runs) < 2:
        return []
    rows = [[f"{one['language']['train']:,}", *_in_short(one)] for one in runs]
    usual, most = next(one for one in runs if one["language"]["train"] == 25_000), runs[-1]

    added = ", ".join(
        f"{number(above['difference'], 3)} [{number(above['interval'][0], 3)}, {number(above['interval'][1], 3)}] "
        f"({one['language']['train']:,})"
        for one in runs for above in [best(one)["documents"]["above_alone"]]
    )  # fmt: skip

    def precision(one: Results, name: str) -> str:
        return number(best(one)["scores"][name]["average_precision"], 2)

    told = (
        "All sizes are of the hard language: the same modifiers, seen more or less often. All networks were trained by "
        "the recipe that was chosen at 25,000 documents, for a number of epochs that goes with one over the root of "
        f"the documents. From 25,000 to {most['language']['train']:,} documents the average precision of `sure` goes "
        f"from {precision(usual, 'sure')} to {precision(most, 'sure')}, that in documents from "
        f"{precision(usual, 'documents')} to {precision(most, 'documents')}, that of documents alone from "
        f"{average_precision_of(usual['regressions'])} to {average_precision_of(most['regressions'])}. What networks "
        f"add to documents, in average precision: {added}."
    )
    figure = ["![with more documents](images/validation-documents.svg)", ""]
    text = ["## With more and fewer documents", "", *table(["documents", *HEAD], rows), "", *wrap(told, 118), ""]
    return [*text, *figure]


def architectures(found: dict[str, Results]) -> list[str]:
    """Other cells on the hard language."""
    runs = {name: one for name, one in found.items() if one["language_seed"] == 0 and one["preset"] == "hard"
            and one["language"]["train"] == 25_000}  # fmt: skip
    if len(runs) < 2:
        return []
    rows = [[f"{one['network']['arch']} × {one['seeds']}", *_in_short(one)] for one in runs.values()]
    told = (
        "By the recipe that was chosen for GRUs, with half its learning rate. Where networks heed little of the "
        "modification (`reads`), what they say of reaches misleads, and the documents alone are the better guide."
    )
    return ["## Other architectures", "", *table(["networks", *HEAD], rows), "", *wrap(told, 118), ""]


def constants(tried: Results | None) -> list[str]:
    """The constants of the regression on documents, one varied at a time."""
    if tried is None:
        return []
    ways = list(next(iter(tried["rows"].values())))
    chosen = {f"{name} {value:g}" for name, value in tried["chosen"].items()}
    rows = [
        [f"{name}{' (chosen)' if name in chosen else ''}", *(number(ways_of[way], 3) for way in ways)]
        for name, ways_of in tried["rows"].items()
    ]
    text = (
        "`studies.validation_constants`: average precision in documents, alone and with networks, the mean over the "
        f"languages of seeds {', '.join(map(str, tried['languages']))}, which are not among the fresh ones. "
        "`prior`: the standard deviation of strengths about what was said; `seen`: occurrences that outweigh the "
        "belief that a word modifies nothing; `small`: what is taken from valences. What was chosen is a compromise: "
        "no one setting is the best of every language."
    )
    return ["## How the constants were chosen", "", *wrap(text, 118), "", *table(["", *ways], rows), ""]


def dense(earlier: list[Results]) -> list[str]:
    """What networks reach whose words need not earn their place."""
    known = [row for row in earlier if row["loss"] is not None]
    if not known:
        return []
    best_of = max(known, key=lambda row: row["accuracy"])
    return [
        f"Without, none of {len(earlier)} trials read more than {number(100 * best_of['accuracy'], 1)} % of the",
        "validation documents right: networks learn valences by heart before they heed modifiers.",
    ]


def recipe(searched: list[Results], earlier: list[Results], most: int = 8) -> list[str]:
    """The trials of the search, the best first."""
    if not searched:
        return []
    groups: dict[int, list[Results]] = {}
    for row in searched:
        if row["loss"] is not None:
            groups.setdefault(row["trial"], []).append(row)
    shown = sorted(groups.values(), key=lambda rows: -mean(r["modifiers"]["score, precision"] for r in rows))[:most]
    usual = ranked(searched)[0]["settings"]
    rows = []
    for group in shown:
        asked = group[0]["settings"]
        rows.append([
            ", ".join(f"{key} {value:g}" for key, value in asked.items() if usual.get(key) != value) or "the recipe",
            str(len(group)), spread([100 * row["accuracy"] for row in group], 1),
            spread([row["loss"] for row in group], 3), spread([row["reads"]["modification"] for row in group]),
            spread([row["modifiers"]["norm, precision"] for row in group]),
            spread([row["modifiers"]["score, precision"] for row in group]),
        ])  # fmt: skip
    head = ["settings that differ", "seeds", "validation %", "loss", "reads", "AP of the norm", "AP of `score`"]
    return [
        "## How the networks were trained",
        "",
        f"`studies.validation_search` tried {len(groups)} settings on another hard language (seed 100; those above",
        "have seed 0) and trained the best from more seeds; what was chosen is the default of `rnnlens validate`: of",
        "the settings whose loss is near the least, the one whose modifiers are found best. What mattered: words that",
        "begin small, take steps as large as their gradients (`word_epsilon`), and must earn their place (`sparsity`).",
        *dense(earlier),
        "",
        *table(head, rows),
        "",
    ]
