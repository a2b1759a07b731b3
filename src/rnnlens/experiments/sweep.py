"""`rnnlens sweep`: random search for the settings of Table 1's models, evaluated on the validation reviews."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Literal

from rnnlens.baselines import BASELINES
from rnnlens.baselines.encoding import check_order
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import exclusive, read_lines
from rnnlens.common.ranges import in_range
from rnnlens.common.replacing import check_file, check_place
from rnnlens.experiments.choosing import earlier_models, write_settings
from rnnlens.experiments.ledger import Ledger, open_storage, watched
from rnnlens.experiments.space import check_models
from rnnlens.experiments.trials import current, mark, need_modifiers, numbered_trial
from rnnlens.experiments.workers import everywhere, runner

Engine = Literal["local", "ray"]
Report = Callable[[list[dict[str, Any]], list[tuple[str, int]]], None]


@in_range("sweep")
def sweep(
    corpus: str,
    models: list[str],
    trials: int,
    out: Path | str,
    *,
    engine: Engine = "local",
    storage: str | None = None,
    jobs: int = 1,
    resume: bool = False,
    seed: int = 0,
    modifiers: list[str] | None = None,
    device: str | None = None,
    earlier: Path | None = None,
    report: Report | None = None,
    trial: Callable[..., dict[str, Any]] = numbered_trial,
) -> dict[str, Any]:
    """Run trials 0 … `trials` − 1 of each model that the ledger does not have yet; write the best to `settings.json`.

    storage   URL of the ledger's database, which several machines can share; by default SQLite in `out`
    resume    continue with an existing ledger
    earlier   a .jsonl file of trials from `python -m studies.trials`, which are added to the ledger first
    report    called after each trial with all finished and all running trials
    """
    from rnnlens.corpora import load_corpus

    start = runner(engine, jobs, device)
    models = check_models(models)
    need_modifiers(models, modifiers)
    if earlier is not None and not earlier.is_file():
        raise RnnlensError(f"there is no file {quoted(str(earlier))}: expected trials of `python -m studies.trials`")
    out, corpus = Path(out).absolute(), everywhere(corpus)
    check_place(out, folder=True)
    data = load_corpus(corpus)
    data.check_two_classes("a search for settings")
    if set(models) & set(BASELINES):
        check_order(data)
    about = mark(data, modifiers)
    earlier_models(out / "settings.json", data.fingerprint)  # raise an error before the first trial
    if storage is None:
        check_file(out / "ledger.db", rb"\ASQLite format 3\x00", "a ledger of trials")
    url = storage or f"sqlite:///{out / 'ledger.db'}"
    with watched(url), ExitStack() as stack:
        stack.enter_context(exclusive(out))
        opened = open_storage(url)
        ledgers = {model: Ledger(opened, model, seed, about, alone=storage is None) for model in models}
        if earlier is not None:
            _enter(ledgers, earlier, about)
        elif not resume and storage is None and any(ledger.trials() for ledger in ledgers.values()):
            raise RnnlensError(
                f"{quoted(str(out))} already holds trials: continue with --resume, or choose another --out"
            )
        for ledger in ledgers.values():
            stack.callback(ledger.beating())
        finished = [row for ledger in ledgers.values() for row in ledger.rows()]
        for ledger in ledgers.values():
            stack.callback(ledger.release)
        while True:
            claims = _claims(ledgers, trials)
            with closing(start(trial, claims, jobs, (corpus, seed, modifiers, device))) as results:
                for (model, number), row in results:
                    if ledgers[model].finish(number, row):
                        finished.append(row)
                        if report is not None:
                            report(finished, [(name, k) for name, one in ledgers.items() for k in one.claimed])
            if not any(ledger.others(trials) for ledger in ledgers.values()):
                break
            time.sleep(2)  # other processes finish their trials, or these become free to claim
        finished = [row for ledger in ledgers.values() for row in ledger.rows()]
        return write_settings(out / "settings.json", finished, data.fingerprint, len(data.train))


def _enter(ledgers: dict[str, Ledger], earlier: Path, about: Any) -> None:
    """Add the trials of a .jsonl file to the ledgers."""
    rows = [row for row in read_lines(earlier) if row.get("about") == about and current(row)]
    if not rows:
        raise RnnlensError(f"{quoted(str(earlier))} holds no trials of this corpus with these modifiers")
    for ledger in ledgers.values():
        ledger.enter(rows)


def _claims(ledgers: dict[str, Ledger], trials: int) -> Iterator[tuple[str, int]]:
    """Claim trials, one model after the other in turn."""
    left = dict(ledgers)
    while left:
        for model in list(left):
            number = left[model].claim(trials)
            if number is None:
                del left[model]
            else:
                yield model, number
