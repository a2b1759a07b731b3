"""The toy language over seeds and architectures: trains what is missing, writes docs/toy.md and docs/results/toy.json.

python -m reproduction.toy runs/study --seeds 10 --architectures lstm ugrnn vanilla
python -m reproduction.toy                       # docs/toy.md from the record
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from typing import Any

import rnnlens
from reproduction.study import store, stored, write_page
from rnnlens.experiments.toy import study_toy, train_toy

REMOVALS = {"orthogonal": "state_orthogonal_single", "biorthogonal": "state_biorthogonal_single"}
MODES = {  # rows of the table of removed modes, and how their claims begin
    "orthogonal, the paper's order": "removing at most 3 mode units (orthogonal, the paper's order)",
    "orthogonal, greedy order": "removing at most 3 mode units (orthogonal, greedy order)",
    "biorthogonal, the paper's order": "removing at most 3 mode units (biorthogonal, the paper's order)",
    "biorthogonal, greedy order": "removing at most 3 mode units (biorthogonal, greedy order)",
    "only the one that matters most": "the single mode that matters most",
}


def measured(run: rnnlens.Run) -> dict[str, Any]:
    """The claims of one run, and the numbers that the page shows."""
    toy = run.results["toy"]
    controls = {
        word: {kind: controls_of(toy["mode_removal"][word][name]) for kind, name in REMOVALS.items()}
        for word in toy["modes"]
    }
    return {
        "network": run.about["network"],
        "config": run.about["config"],
        "corpus": run.about["corpus"],
        "version": run.about["version"],
        "worst_phrase": max(abs(r["logit"] - r["target"]) for r in toy["phrases"]),
        "line": {name: toy["line"][name] for name in ("pc1_variance", "explained_variance")},
        "agreement": toy["linear_quality"]["agreement"],
        "ratio": toy["linear_quality"]["ratio"],
        "controls": controls,
        "claims": [{key: one[key] for key in ("claim", "shown", "measured")} for one in toy["claims"]],
    }


def controls_of(removal: dict[str, Any]) -> dict[str, float]:
    """By how much three random modes change the effect of a modifier (median over draws), and what share of it modes
    take away that are chosen in the same way in rotated copies of the network."""
    return {
        "random": median(abs(1 - draw[3]) for draw in removal["random_remaining"]),
        "rotated": 1 - median(min(draw[:4]) for draw in removal["rotated_remaining"]),
    }


def page_values(record: dict[str, Any]) -> dict[str, Any]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in record["runs"]:
        groups.setdefault(one["network"]["arch"], []).append(one)
    claims = [
        {"claim": claim["claim"], "shown": [sum(one["claims"][k]["shown"] for one in some) for some in groups.values()]}
        for k, claim in enumerate(record["runs"][0]["claims"])
    ]
    controls = [found for one in groups["gru"] for found in one["controls"].values()]
    removed = [
        {"modes": modes, "shown": [row["shown"][0] for row in claims if row["claim"].startswith(beginning)]}
        for modes, beginning in MODES.items()
    ]
    return {
        "claims": [row for row in claims if not row["claim"].startswith(("removing", "the single mode"))],
        "removed": removed,
        "groups": groups,
        "architectures": [architecture(arch, some) for arch, some in groups.items()],
        "random": max(found[kind]["random"] for found in controls for kind in REMOVALS),
        "rotated": {kind: over([100 * found[kind]["rotated"] for found in controls], 0) for kind in REMOVALS},
    }


def architecture(arch: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One row of a table: the numbers of a network, or their range over several."""
    return {
        "name": arch,
        "worst": over([one["worst_phrase"] for one in runs], 2),
        "straight": over([100 * one["line"]["pc1_variance"] for one in runs], 1),
        "curve": over([100 * one["line"]["explained_variance"] for one in runs], 1),
        "agreement": over([one["agreement"] for one in runs], 3),
    }


def over(values: list[float], digits: int) -> str:
    """The range of some numbers."""
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where the runs are, or will be")
    parser.add_argument("--seeds", type=int, default=10, help="GRUs to train, with seeds 0, 1, …")
    parser.add_argument("--architectures", nargs="*", default=["lstm", "ugrnn", "vanilla"], help="others, seed 0")
    asked = parser.parse_args()
    if asked.folder:
        rows = []
        for arch, seed in [("gru", seed) for seed in range(asked.seeds)] + [(arch, 0) for arch in asked.architectures]:
            path = asked.folder / f"{arch}-{seed}"
            run = train_toy(path, arch=arch, seed=seed, resume=path.exists())
            study_toy(run)
            rows.append(measured(run))
            print(arch, seed, sum(claim["shown"] for claim in rows[-1]["claims"]), "claims shown", flush=True)
        store("toy", {"runs": rows})
    write_page("toy", **page_values(stored("toy")))


if __name__ == "__main__":
    main()
