"""`python -m benchmarks.page`: benchmarks/records/README.md from the tables recorded beside it."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.table import Row, in_words, markdown, rows_of

RECORDS = Path(__file__).parent / "records"
TITLES = {
    "toy": "Generating the toy language",
    "prepare": "Preparing corpora",
    "networks": "Whole sequences",
    "recurrences": "minGRU and Mamba",
    "training": "Training and evaluation",
    "fixed_points": "Fixed points and Jacobians",
    "context": "The analysis",
    "baselines": "Baselines",
    "gpu": "On a GPU",
}
COMMANDS = {"cpu": "make bench RECORD=1 PEER=…", "gpu": "python -m benchmarks --only gpu --record"}
HEAD = """# Benchmarks

`make bench` measures this table anew and prints it beside the ratios recorded here. In every row we and a peer, or a
limit that nobody can beat, take turns on the same machine, and the best of equally many rounds counts. A ratio above 1
says that we are quicker; "≥" that the peer was stopped before it had done as much; ▼ marks what has lost a fifth since
it was recorded last. This page is written by `python -m benchmarks --record`.
"""


def page() -> str:
    parts = [HEAD]
    for name in ("cpu", "gpu"):
        path = RECORDS / f"{name}.json"
        title = f"## {'On a GPU' if name == 'gpu' else 'On a CPU'}\n\n"
        if not path.exists():
            parts.append(f"{title}Not yet recorded: `{COMMANDS[name]}`.\n")
            continue
        recorded = json.loads(path.read_text(encoding="utf-8"))
        found = [row for row in rows_of(recorded) if isinstance(row, Row)]
        parts.append(f"{title}`{COMMANDS[name]}` on {in_words(recorded['machine'])}.\n")
        for part, title in TITLES.items():
            rows = [row for row in found if row.part == part]
            if rows:
                parts.append((f"### {title}\n\n" if name == "cpu" else "") + markdown(rows) + "\n")
    return "\n".join(parts)


def write_page() -> None:
    (RECORDS / "README.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write_page()
