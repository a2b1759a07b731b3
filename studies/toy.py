"""The toy study over seeds and architectures: trains what is missing, writes docs/toy.md and docs/results/toy.json.

python -m studies.toy runs/study --seeds 10 --architectures lstm ugrnn vanilla
python -m studies.toy runs/study --settings      # how the weight decay was chosen, on other seeds
python -m studies.toy --page                     # docs/toy.md from the records
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import rnnlens
from rnnlens.common.files import read_json, write_json
from rnnlens.experiments.toy import study_toy, toy_config, train_toy
from studies.pages import write_page

DOCS = Path(__file__).parent.parent / "docs"
RECORD, SETTINGS = DOCS / "results" / "toy.json", DOCS / "results" / "toy-settings.json"
PAGE, TEMPLATE, FOLDER = DOCS / "toy.md", Path(__file__).with_name("toy.md"), "runs/study"
PHRASES = {"extremely": "extremely", "not": "not the the the"}  # after which the effect of a modifier is measured
LEAST = 0.995  # words of validation reviews that must be read right
DECAYS, OTHER_SEEDS = (0.0, 0.03, 0.1, 0.3, 1.0), (100, 101)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path(FOLDER), help="where the runs are, or will be")
    parser.add_argument("--seeds", type=int, default=10, help="GRUs to train, with seeds 0, 1, …")
    parser.add_argument("--architectures", nargs="*", default=["lstm", "ugrnn", "vanilla"], help="others, seed 0")
    parser.add_argument("--settings", action="store_true", help="repeat the choice of the weight decay instead")
    parser.add_argument("--page", action="store_true", help="write the page from the records, and train nothing")
    asked = parser.parse_args()
    if asked.settings:
        settings(asked.folder)
    elif not asked.page:
        runs = [("gru", seed) for seed in range(asked.seeds)] + [(arch, 0) for arch in asked.architectures]
        rows = []
        for arch, seed in runs:
            path = asked.folder / f"{arch}-{seed}"
            run = train_toy(path, arch=arch, seed=seed, resume=path.exists())
            study_toy(run)
            rows.append(row(run))
            print(arch, seed, sum(claim["shown"] for claim in rows[-1]["claims"]), "claims shown", flush=True)
        write_json(RECORD, {"what": "the toy study", "runs": rows})
    write_page(TEMPLATE, PAGE, **page_values(read_json(RECORD), read_json(SETTINGS)))


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
            kept = {name: value for name, value in row(run).items() if name not in ("claims", *PHRASES)}
            rows.append({**kept, "validation_accuracy": accuracy})
            print(decay, seed, f"{accuracy:.4f}", f"{rows[-1]['ratio']:.3f}", flush=True)
    write_json(SETTINGS, {"what": "weight decays tried on the toy language", "runs": rows})


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


def page_values(record: dict[str, Any], decays: dict[str, Any]) -> dict[str, Any]:
    """What the template shows of the two records."""
    runs = record["runs"]
    grus = [found for found in runs if found["network"]["arch"] == "gru"]

    def shown(*parts: str) -> str:
        """How many GRUs show the one claim whose text has all of these parts."""
        claims = [k for k, claim in enumerate(grus[0]["claims"]) if all(part in claim["claim"] for part in parts)]
        assert len(claims) == 1, f"{len(claims)} claims have {parts}"
        return f"{sum(found['claims'][claims[0]]['shown'] for found in grus)} of {len(grus)}"

    groups: dict[str, list[dict[str, Any]]] = {}
    for found in runs:
        groups.setdefault(found["network"]["arch"], []).append(found)
    trials: dict[float, list[dict[str, Any]]] = {}
    for found in decays["runs"]:
        trials.setdefault(found["config"]["weight_decay"], []).append(found)
    good = [decay for decay, some in trials.items() if all(one["validation_accuracy"] >= LEAST for one in some)]
    # Networks of before and after the claim about blank inputs was worded anew.
    worded = ["reading holds over blank inputs"], ["reading stays where it is"]
    blank = next(parts for parts in worded if any(parts[0] in claim["claim"] for claim in grus[0]["claims"]))
    removals = {
        kind: [found[word]["removal"][f"state_{kind}_single"] for found in grus for word in PHRASES]
        for kind in ("orthogonal", "biorthogonal")
    }
    return {
        "random": max(one["random_change"] for some in removals.values() for one in some),
        "rotated": {
            kind: over([100 * (1 - median(one["rotated"])) for one in some], 0, " to ")
            for kind, some in removals.items()
        },
        "grus": len(grus),
        "shown": shown,
        "blank": blank,
        "phrases": PHRASES,
        "folder": FOLDER,
        "others": " ".join(arch for arch in groups if arch != "gru"),
        "chosen": max(good),
        "architectures": [architecture(arch, some) for arch, some in groups.items()],
        "settings": [
            {
                "decay": decay,
                "ratio": mean(one["ratio"] for one in some),
                "accuracy": 100 * mean(one["validation_accuracy"] for one in some),
            }
            for decay, some in trials.items()
        ],
    }


def over(values: list[float], digits: int, to: str = " … ") -> str:
    """The range of some numbers."""
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low}{to}{high}"


def architecture(arch: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One row of the table: the numbers of a network, or their range over several."""
    lines = [found["line"] for found in runs]
    return {
        "name": arch.upper() if arch != "vanilla" else arch,
        "shown": over([sum(claim["shown"] for claim in found["claims"]) for found in runs], 0),
        "claims": len(runs[0]["claims"]),
        "worst": over([found["worst_phrase"] for found in runs], 2),
        "straight": over([100 * line["pc1_variance"] for line in lines], 1),
        "curve": over([100 * line["explained_variance"] for line in lines], 1),
        "agreement": over([found["agreement"] for found in runs], 3),
    }


if __name__ == "__main__":
    main()
