"""Memory of a corpus of millions and the cost of all of Yelp on eight GPUs: docs/scale.md, from what was measured; and
the files of examples/cluster in docs/cluster.md.

python -m studies.scale [--price USD per GPU and hour]
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from studies.pages import write_page

ROOT = Path(__file__).parent.parent
PAGE, RECORDS = ROOT / "docs" / "cluster.md", ROOT / "docs" / "benchmarks"
MEASURED, TEMPLATE = ROOT / "docs" / "scale.md", Path(__file__).with_name("scale.md")
YELP, GPUS, EPOCHS, HELD_OUT, SAMPLE = 7_000_000, 8, 8, 0.01, 20_000
BANDWIDTH = 100.0  # GB/s between GPUs in a sum over eight of them: assumed, a quarter of what NVLink promises
PRICE = 4.0  # USD for a GPU and an hour: assumed


def main() -> None:
    parser = argparse.ArgumentParser("python -m studies.scale", description=__doc__)
    parser.add_argument("--price", type=float, default=PRICE, help="USD for a GPU and an hour")
    asked = parser.parse_args()
    write_page(TEMPLATE, MEASURED, **page_values(asked.price))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(MEASURED, PAGE)


def filled(page: str) -> str:
    """The page with the files between `<!-- file PATH -->` and `<!-- end -->` as they are now."""

    def part(found: re.Match[str]) -> str:
        path = ROOT / found[1]
        kind = {".yaml": "yaml", ".py": "py"}.get(path.suffix, "bash")
        return f"<!-- file {found[1]} -->\n```{kind}\n{path.read_text(encoding='utf-8')}```\n<!-- end -->"

    return re.sub(r"<!-- file (\S+) -->\n.*?<!-- end -->", part, page, flags=re.DOTALL)


def _read(name: str) -> dict[str, Any]:
    return json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))


def page_values(price: float = PRICE) -> dict[str, Any]:
    """What docs/scale.md shows: memory as measured; minutes, GPU hours and dollars as estimated from measured rates."""
    scale, gpu = _read("scale"), _read("gpu")
    growth = YELP / scale["reviews"]
    prepared = next(stage for stage in scale["stages"] if stage["stage"] == "prepare")
    rows = {row["what"]: row["numbers"] for row in gpu["rows"] if row["numbers"]}
    pair = next(row for row in gpu["rows"] if "as one of 8 processes" in row["what"])
    shared = pair["numbers"]
    alone = {
        int(found["batch"]): found["reviews_per_s"]
        for what, found in rows.items()
        if what.startswith("training gru") and "float32" in what
    }

    def numbers(start: str) -> dict[str, float]:
        return next(found for what, found in rows.items() if what.startswith(start))

    batch, analyzed = int(shared["batch"]), numbers("analyze with")
    beside = shared["reviews_per_s"] * pair["ours"] / pair["theirs"]  # the same reviews alone, in turns with it
    exchange = 2 * (GPUS - 1) / GPUS * 4 * shared["parameters"] / (BANDWIDTH * 1e9)
    train, validation = YELP * (1 - 2 * HELD_OUT), YELP * HELD_OUT / numbers("evaluating")["reviews_per_s"]
    one = train / beside + validation
    epoch = train / (batch * GPUS) * (shared["step_s"] + exchange) + validation / GPUS
    stages = [
        ("prepare, two CPU cores", prepared["seconds"] * growth, 0),
        (f"train, {EPOCHS} epochs, {GPUS} GPUs, batches of {batch * GPUS:,}", EPOCHS * epoch, GPUS),
        (f"train, {EPOCHS} epochs, one GPU, batches of {batch:,}", EPOCHS * one, 1),
        (
            f"analyze, {SAMPLE:,} reviews of each split, one GPU",
            SAMPLE / (analyzed["reviews_per_s"] / analyzed["passes"]),
            1,
        ),
    ]
    words = scale["words"] * growth / 1e9
    return {
        "scale": scale,
        "machine": gpu["machine"],
        "alone": dict(sorted(alone.items())),
        "shared": shared,
        "peak": max(stage["peak_gb"] for stage in scale["stages"]),
        "stages": [
            {"name": name, "minutes": seconds / 60, "gpus": gpus, "hours": seconds * gpus / 3600}
            for name, seconds, gpus in stages
        ],
        "reviews": YELP,
        "gpus": GPUS,
        "epochs": EPOCHS,
        "held_out": HELD_OUT,
        "units": 256,
        "batch": batch,
        "parameters": shared["parameters"],
        "bandwidth": BANDWIDTH,
        "exchange": exchange,
        "price": price,
        "speedup": one / epoch,
        "text_gb": scale["csv_gb"] * growth,
        "corpus_gb": 2 * words,
        "spool_gb": 4 * words,
    }


if __name__ == "__main__":
    main()
