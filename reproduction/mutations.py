"""Break one line at a time, and see that a test notices.

python -m reproduction.mutations                      # some minutes; writes docs/results/mutations.json
python -m reproduction.mutations --only 3 17          # some of them

Each mutation is made in a copy of the source; only the tests that are named beside it are run, and one must fail.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from reproduction.study import store

ROOT = Path(__file__).parents[1]


class Mutation(NamedTuple):
    breaks: str
    file: str
    line: str
    mutant: str
    tests: str  # file of tests and, after a colon, words of their names


MUTATIONS = [
    Mutation("the past enters through the inputs' derivatives", "dynamics/cell_jacobians.py",
             "new[..., self.cell.output] += linear(_backward(self.p_u, blocks), self.cell.U.t())",
             "new[..., self.cell.output] += linear(_backward(self.p_d, blocks), self.cell.U.t())",
             "jacobians:products"),
    Mutation("words weigh by the square of their overlap", "dynamics/features.py",
             "return (vectors * values.clamp(min=0).sqrt().unsqueeze(1)).to(W.device)",
             "return (vectors * values.clamp(min=0).unsqueeze(1)).to(W.device)", "jacobians:contractions"),
    Mutation("a real mode is taken for a pair", "dynamics/modes.py",
             "pairs.append((a, a + 1) if numbers[a].imag > 0 and a + 1 < len(numbers) else (a,))",
             "pairs.append((a, a + 1) if numbers[a].imag >= 0 and a + 1 < len(numbers) else (a,))", "modes:spectrum"),
    Mutation("rounding is taken for a second direction", "dynamics/modes.py",
             "real = torch.cat([rows.real, rows.imag[complex_]])",
             "real = torch.cat([rows.real, rows.imag])", "modes:real_mode"),
    Mutation("the line goes on beyond its ends", "dynamics/curves.py",
             "along = (reach / length).clamp(0, 1)",
             "along = reach / length", "mutations:ends"),
    Mutation("the curve is a local mean, not a local line", "dynamics/curves.py",
             "return mean_h + (at - mean_s).unsqueeze(1) * slope, slope",
             "return mean_h, slope", "line_attractor:straight"),
    Mutation("far points of a line are merged", "dynamics/fixed_points.py",
             "reach = 1e-2 * max(1.0, float(lengths[leader]))",
             "reach = 1e9", "fixed_points:merged"),
    Mutation("states that no network can be in are answers", "dynamics/fixed_points.py",
             "(q <= tolerance) & inside,",
             "(q <= tolerance),", "fixed_points:outside"),
    Mutation("what a pad does counts as the word's", "context/effects.py",
             "return logits[:, 1:] - logits[:, :1]",
             "return logits[:, 1:]", "context:effects_are"),
    Mutation("a word that changes nothing has a strength of 1", "context/strength.py",
             "strength = 2 * probes.contrast(after) / base - 1",
             "strength = 2 * probes.contrast(after) / base", "mutations:changes_nothing"),
    Mutation("valence words are modifiers too", "context/strength.py",
             "if abs(own) > abs(strength):",
             "if abs(own) > abs(strength) + 9:", "mutations:adds_more"),
    Mutation("the line's own direction is part of the subspace", "context/subspace.py",
             "deflections = deflections - (deflections @ span.t()) @ span",
             "deflections = deflections + 0", "mutations:subspace"),
    Mutation("components point to where valence is taken away", "context/subspace.py",
             "axes = axes * torch.where(sign == 0, 1.0, sign).unsqueeze(1)",
             "axes = axes * torch.where(sign == 0, 1.0, -sign).unsqueeze(1)", "modifiers:component_barcodes"),
    Mutation("a component that a word hardly moves has a timescale", "context/impulse.py",
             "moved = paths[:, 0].abs() >= 0.05 * paths[:, 0].norm(dim=1, keepdim=True)",
             "moved = paths[:, 0].abs() >= 0 * paths[:, 0].norm(dim=1, keepdim=True)", "modifiers:timescales"),
    Mutation("words that are held out are fitted to", "context/bilinear.py",
             "m_kept, A_kept = _reduced_rank(X[kept], Y[kept], most)",
             "m_kept, A_kept = _reduced_rank(X, Y, most)", "mutations:held_out"),
    Mutation("the order of words depends on the batch", "context/perturbation.py",
             "np.random.default_rng([shuffle, row])",
             "np.random.default_rng([shuffle, k])", "mutations:shuffled"),
    Mutation("modifiers scale themselves where they should not", "baselines/convolution.py",
             "torch.where(apart < shape.first_lag, -80.0, 0.0)",
             "torch.where(apart <= shape.first_lag, -80.0, 0.0)", "baselines:equation"),
    Mutation("the end of a document is a word too far", "baselines/convolution.py",
             "until = (lengths.unsqueeze(1) - (1 + t)).clamp_(0, T - 1)",
             "until = (lengths.unsqueeze(1) - t).clamp_(0, T - 1)", "baselines:equation"),
    Mutation("the mean of a scale forgets the first lag", "baselines/centring.py",
             "reach = decay**shape.first_lag / (1 - decay)",
             "reach = 1 / (1 - decay)", "baselines:means"),
    Mutation("the penalty is half of what it says", "baselines/fitting.py",
             '{"params": words, "weight_decay": 2 * l2},',
             '{"params": words, "weight_decay": l2},', "mutations:penalty"),
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction.mutations", description=__doc__)
    parser.add_argument("--only", type=int, nargs="+", help="numbers of mutations, from 1; the results are only shown")
    asked = parser.parse_args()
    chosen = asked.only or range(1, len(MUTATIONS) + 1)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("src", "tests", "reproduction"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        whole = failing(copy, [MUTATIONS[number - 1].tests for number in chosen])
        if whole is not None:
            raise SystemExit(f"these tests do not pass as it is: {whole}")
        for number in chosen:
            rows.append(tried(copy, MUTATIONS[number - 1]))
            print(
                f"{number:2}  {'caught' if rows[-1]['caught'] else 'SURVIVES'}  {rows[-1]['file']}: "
                f"{rows[-1]['breaks']}  ({rows[-1]['caught']})",
                flush=True,
            )
    caught = sum(row["caught"] is not None for row in rows)
    print(f"{caught} of {len(rows)} were noticed")
    if not asked.only:
        found = {"date": date.today().isoformat(), "noticed": caught, "of": len(rows), "mutations": rows}
        store("mutations", found)
    sys.exit(caught < len(rows))


def tried(copy: Path, mutation: Mutation) -> dict[str, Any]:
    """Break the line in the copy, run its tests, mend it."""
    path = copy / "src" / "rnnlens" / mutation.file
    source = path.read_text(encoding="utf-8")
    if source.count(mutation.line) != 1:
        raise SystemExit(f"{mutation.file} has this line {source.count(mutation.line)} times: {mutation.line}")
    path.write_text(source.replace(mutation.line, mutation.mutant), encoding="utf-8")
    number = source[: source.index(mutation.line)].count("\n") + 1
    caught = failing(copy, [mutation.tests])
    path.write_text(source, encoding="utf-8")
    return {**mutation._asdict(), "number": number, "caught": caught}


def failing(copy: Path, tests: list[str]) -> str | None:
    """The first test that fails; None if all pass."""
    parts = [test.split(":") for test in dict.fromkeys(tests)]
    files = list(dict.fromkeys(f"tests/test_{name}.py" for name, _ in parts))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--durations=0", *files]
    command += ["-k", " or ".join(dict.fromkeys(words for _, words in parts))]
    environment = {**os.environ, "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if found is None or done.returncode != 1:
        raise SystemExit(f"pytest ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found[1].split("::")[-1]


if __name__ == "__main__":
    main()
