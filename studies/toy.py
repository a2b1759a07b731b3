"""The toy study over seeds and architectures: trains what is missing, writes docs/toy.md and docs/results/toy.json.

python -m studies.toy runs/study --seeds 10 --architectures lstm ugrnn vanilla
python -m studies.toy runs/study --settings      # how the weight decay was chosen, on seeds of its own
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import rnnlens
from rnnlens.common.files import atomic_file, read_json, write_json
from rnnlens.experiments.toy import study_toy, toy_config, train_toy

DOCS = Path(__file__).parent.parent / "docs"

INTRODUCTION = """# The toy study, over seeds and architectures

Written by `python -m studies.toy {folder} --seeds {seeds} --architectures {others}`; the numbers as data, with the
settings of every run: [results/toy.json](results/toy.json). One run is `rnnlens toy --arch ARCH --seed SEED --out RUN`.

"""

SETTINGS = """
## How the settings were chosen

On other seeds (`python -m studies.toy {folder} --settings`): the largest weight decay with which the network still
reads at least 99.5 % of the words of validation reviews right (within 0.5). Without decay words saturate units and the
linear expansion overshoots; with too much the network no longer learns the task.

| weight decay | seed | words read right % | phrases off by | curve % | agreement | ratio |
|---|---|---|---|---|---|---|
"""
LEGEND = """
*in scope / after*: the least and the most of the language's modification that a word within the modifier's scope
undergoes, and the largest, in size, that a later word does: over the valence words, the readings −10, 0 and 10, and
blank inputs or neutral words between. *50 blank inputs / 50 more*: how far they move the reading on average.
*destroyed*: with at most three mode units (a mode or a conjugate pair) removed from the state after `extremely`
and after `not the the the`, 1 − ‖what is left‖/‖effect‖ over the four valence words: in the paper's order / in greedy
order (what three random units change, median of 40 draws; what units chosen in the paper's order in rotated copies
of the network destroy, median of 10).
"""
DECAYS, OTHER_SEEDS = (0.0, 0.03, 0.1, 0.3, 1.0), (100, 101)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the runs are, or will be")
    parser.add_argument("--seeds", type=int, default=10, help="GRUs to train, with seeds 0, 1, …")
    parser.add_argument("--architectures", nargs="*", default=["lstm", "ugrnn", "vanilla"], help="others, seed 0")
    parser.add_argument("--settings", action="store_true", help="repeat the choice of the weight decay instead")
    asked = parser.parse_args()
    if asked.settings:
        settings(asked.folder)
        return
    runs = [("gru", seed) for seed in range(asked.seeds)] + [(arch, 0) for arch in asked.architectures]
    rows = []
    for arch, seed in runs:
        path = asked.folder / f"{arch}-{seed}"
        run = train_toy(path, arch=arch, seed=seed, resume=path.exists())
        study_toy(run)
        rows.append(row(run))
        print(arch, seed, *(f"{name} {value}" for name, value in shown(rows[-1]).items()), sep=" | ", flush=True)
    write_json(DOCS / "results" / "toy.json", {"what": "the toy study", "runs": rows})
    text = INTRODUCTION.format(folder=asked.folder, seeds=asked.seeds, others=" ".join(asked.architectures))
    chosen = DOCS / "results" / "toy-settings.json"
    text += tables(rows) + (settings_table(asked.folder, read_json(chosen)["runs"]) if chosen.exists() else "")
    with atomic_file(DOCS / "toy.md") as temporary:
        temporary.write_text(text, encoding="utf-8")


def settings(folder: Path) -> None:
    """Train with every weight decay, and store what decides between them."""
    rows = []
    for decay in DECAYS:
        for seed in OTHER_SEEDS:
            path = folder / f"decay-{decay:g}-{seed}"
            config = replace(toy_config(seed), weight_decay=decay)
            run = train_toy(path, seed=seed, config=config, resume=path.exists())
            study_toy(run)
            accuracy = run.results["accuracy"]["validation"]
            rows.append({**row(run), "validation_accuracy": accuracy})
            print(decay, seed, f"{accuracy:.4f}", f"{rows[-1]['ratio']:.3f}", flush=True)
    write_json(
        DOCS / "results" / "toy-settings.json", {"what": "weight decays tried on the toy language", "runs": rows}
    )


def settings_table(folder: Path, rows: list[dict[str, Any]]) -> str:
    return SETTINGS.format(folder=folder) + "".join(
        f"| {found['config']['weight_decay']:g} | {found['config']['seed']} | "
        f"{100 * found['validation_accuracy']:.1f} | {found['worst_phrase']:.2f} | "
        f"{100 * found['line']['explained_variance']:.1f} | {found['agreement']:.3f} | {found['ratio']:.3f} |\n"
        for found in rows
    )


def row(run: rnnlens.Run) -> dict[str, Any]:
    """The numbers of one run that the tables show, and its claims."""
    toy = run.results["toy"]
    found: dict[str, Any] = {
        "network": run.about["network"],
        "config": run.about["config"],
        "corpus": run.about["corpus"],
        "version": run.about["version"],
        "worst_phrase": max(abs(r["logit"] - r["target"]) for r in toy["phrases"]),
        "blank_input": toy["blank_input"],
        "line": toy["line"],
        "agreement": toy["linear_quality"]["agreement"],
        "ratio": toy["linear_quality"]["ratio"],
        "claims": toy["claims"],
    }
    for word in toy["modes"]:
        removal, fills = toy["mode_removal"][word], toy["deflection"][word]
        found[word] = {
            "integration_eigenvalue": toy["modes"][word]["integration_eigenvalue"],
            "deflection": fills,
            "smallest_angle": min(toy["mode_angles"][word]["angles"]),
            "removal": {
                name: {
                    "remaining": r["remaining"],
                    "size": r["size"],
                    "random_change": median(abs(1 - draw[3]) for draw in r["random_remaining"]),
                    "rotated": [min(draw[:4]) for draw in r["rotated_remaining"]],
                }
                for name, r in removal.items()
                if isinstance(r, dict)
            },
        }
    return found


def shown(found: dict[str, Any]) -> dict[str, str]:
    """A run as a row of the table."""
    line, words = found["line"], [word for word in ("extremely", "not") if word in found]

    def over(word: str) -> str:
        fills = list(found[word]["deflection"].values())
        scope = fills[0]["scope"]
        least = min(min(d["effect_least"][:scope]) for d in fills)
        most = max(max(d["effect_most"][:scope]) for d in fills)
        later = max(abs(x) for d in fills for x in d["effect_least"][scope:] + d["effect_most"][scope:])
        return f"{least:.2f} … {most:.2f} / {later:.2f}"

    def destroyed(word: str, kind: str) -> str:
        orders = [found[word]["removal"][f"state_{kind}_{order}"] for order in ("single", "greedy")]
        return " / ".join(f"{100 * (1 - min(r['remaining'][:4])):.0f}" for r in orders) + (
            f" ({100 * orders[0]['random_change']:.0f}, {100 * (1 - median(orders[0]['rotated'])):.0f})"
        )

    return {
        "phrases off by": f"{found['worst_phrase']:.2f}",
        "50 blank inputs / 50 more": "{first:.2f} / {then:.2f}".format(**found["blank_input"]),
        "curve / straight %": f"{100 * line['explained_variance']:.1f} / {100 * line['pc1_variance']:.1f}",
        **{f"λ near h_{word}": f"{complex(*found[word]['integration_eigenvalue']).real:.3f}" for word in words},
        **{f"`{word}` in scope / after": over(word) for word in words},
        "agreement": f"{found['agreement']:.3f}",
        "ratio": f"{found['ratio']:.3f}",
        **{f"`{word}` destroyed %, orthogonal": destroyed(word, "orthogonal") for word in words},
        **{f"`{word}` destroyed %, biorthogonal": destroyed(word, "biorthogonal") for word in words},
    }


def tables(rows: list[dict[str, Any]]) -> str:
    """The claims with how many GRUs show them; every run's numbers; and what the other architectures do not show."""
    grus = [found for found in rows if found["network"]["arch"] == "gru"] or rows
    lines = ["", f"## What {len(grus)} GRUs show", "", "| claim | seeds that show it |", "|---|---|"]
    for k, claim in enumerate(grus[0]["claims"]):
        text = claim["claim"].replace("|", "\\|")
        lines.append(f"| {text} | {sum(found['claims'][k]['shown'] for found in grus)} of {len(grus)} |")
    head = list(shown(rows[0]))
    lines += ["", "## Every run", "", "| network | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
    for found in rows:
        name = f"{found['network']['arch']} {found['config']['seed']}"
        lines.append(f"| {name} | " + " | ".join(shown(found).values()) + " |")
    lines += [
        "",
        " ".join(LEGEND.split()),
        "",
        "## What is not shown",
        "",
    ]
    for found in rows:
        missed = [claim for claim in found["claims"] if not claim["shown"]]
        name = f"{found['network']['arch']} {found['config']['seed']}"
        lines += [
            f"- **{name}**" + ("" if missed else ": everything is"),
            *[f"  - {c['claim']}: {c['measured']}" for c in missed],
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
