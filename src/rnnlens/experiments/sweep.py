"""`rnnlens sweep`: random search for the settings of Table 1's models, evaluated on the validation reviews.

Every model has an Optuna study, in which the trials 0, 1, … wait with their parameters. Processes that share the
database take them from there. If a process has died, which Optuna notices by its heartbeat, its trial waits again.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from rnnlens.baselines import BASELINES
from rnnlens.baselines.encoding import check_order
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import exclusive
from rnnlens.common.ranges import in_range
from rnnlens.common.replacing import check_file, check_place
from rnnlens.common.terminal import say
from rnnlens.experiments.choosing import earlier_models, write_settings
from rnnlens.experiments.space import SPACES, check_models, parameters
from rnnlens.experiments.trials import mark, need_modifiers, opened, run_trial
from rnnlens.experiments.workers import everywhere, process_pool, run_jobs, runner

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import RDBStorage
    from optuna.trial import FrozenTrial, Trial

Engine = Literal["local", "ray"]

HEARTBEAT = 60  # seconds; a trial without one for twice as long was abandoned
RETRIES = 3  # of a trial whose process dies


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
    trial: Callable[..., dict[str, Any]] = run_trial,
) -> dict[str, Any]:
    """Run the trials 0 … `trials` − 1 of each model that have not been run; write the best to `settings.json`.

    storage   URL of the database, which several machines can share; by default SQLite in `out`
    resume    continue the search in `out`
    """
    from rnnlens.corpora import load_corpus

    start = runner(engine, jobs, device)
    models = check_models(models)
    need_modifiers(models, modifiers)
    out, corpus = Path(out).absolute(), everywhere(corpus)
    check_place(out, folder=True)
    data = load_corpus(corpus)
    data.check_two_classes("a search for settings")
    if set(models) & set(BASELINES):
        check_order(data)
    earlier_models(out / "settings.json", data.fingerprint)  # raise an error before the first trial
    if storage is None:
        check_file(out / "ledger.db", rb"\ASQLite format 3\x00", "a ledger of trials")
    url = storage or f"sqlite:///{out / 'ledger.db'}"
    search = Search(url, storage is None, tuple(models), trials, seed, mark(data, modifiers))
    setup = (search, corpus, modifiers, device, trial)
    with exclusive(out), told(url):
        studies = search.studies()
        if not resume and storage is None and any(study.trials for study in studies.values()):
            raise RnnlensError(
                f"{quoted(str(out))} already holds trials: continue with --resume, or choose another --out"
            )
        waiting, running = search.enqueue(studies, interrupted=True)
        while waiting or running:
            begun = _begun(studies)
            if not waiting:
                time.sleep(1)  # other processes run the last trials, or have abandoned them
            elif jobs and start is run_jobs:
                _work_in_processes(jobs, setup)
            else:
                for _ in start(work, range(max(jobs, 1)), jobs, setup):
                    pass
            if waiting and _begun(studies) == begun:
                raise RnnlensError("the processes died before a trial began: check the memory, or use fewer jobs")
            waiting, running = search.enqueue(studies)
        finished = [row for model, study in studies.items() for row in search.rows(model, study)]
        return write_settings(out / "settings.json", finished, data.fingerprint, len(data.train))


@dataclass(frozen=True)
class Search:
    """The studies of a search in a database.

    alone: no other process starts workers there. about: a fingerprint of the corpus and the modifiers.
    """

    url: str
    alone: bool
    models: tuple[str, ...]
    trials: int
    seed: int
    about: str

    def studies(self) -> dict[str, Study]:
        """The study of every model, made if there is none."""
        try:
            import optuna
            from sqlalchemy import event
        except ImportError as error:
            raise RnnlensError("a sweep needs optuna: install it with `pip install 'rnnlens[sweep]'`") from error
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        for patience in (1, 2, 0):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                    storage = optuna.storages.RDBStorage(
                        self.url,
                        engine_kwargs={"connect_args": {"timeout": 60}} if self.url.startswith("sqlite") else {},
                        heartbeat_interval=HEARTBEAT,
                        heartbeat_stale_trial_callback=_again,
                    )
                if self.url.startswith("sqlite"):
                    # SQLite locks a database at the first write: two processes could take the same trial.
                    event.listen(storage.engine, "begin", lambda one: one.exec_driver_sql("BEGIN IMMEDIATE"))
                break
            except Exception as error:  # SQLAlchemy and the driver raise errors of many types
                if not patience or not re.search("already exists|unique constraint", str(error), re.IGNORECASE):
                    raise _database_error(self.url, error) from error
                time.sleep(patience)  # another process is making the same tables
        return {
            model: optuna.create_study(
                storage=storage,
                study_name=f"{model} seed {self.seed} on {self.about}",
                direction="maximize",
                load_if_exists=True,
            )
            for model in self.models
        }

    def enqueue(self, studies: dict[str, Study], interrupted: bool = False) -> tuple[int, int]:
        """Let trials wait that were never run or were abandoned (with `interrupted`, also those that ended without a
        result). Returns how many are waiting and how many are running."""
        from optuna.exceptions import ExperimentalWarning
        from optuna.storages import fail_stale_trials
        from optuna.trial import TrialState

        waiting = running = 0
        for model, study in studies.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExperimentalWarning)
                fail_stale_trials(study)
            for one in study.get_trials(states=(TrialState.RUNNING,)):
                if self.alone or _never_begun(one):
                    study.tell(one.number, state=TrialState.FAIL, skip_if_finished=True)
                    _again(study, one)
            tried = tries(study)
            for number in range(self.trials):
                states = {one.state for one in tried.get(number, ())}
                known = any("error" in one.user_attrs for one in tried.get(number, ()))
                if not states or (interrupted and states == {TrialState.FAIL} and not known):
                    study.enqueue_trial(parameters(model, self.seed, number), user_attrs={"number": number})
                    states = {TrialState.WAITING}
                waiting += TrialState.WAITING in states
                running += TrialState.RUNNING in states
        return waiting, running

    def rows(self, model: str, study: Study) -> list[dict[str, Any]]:
        """The finished trials of a model. The accuracy of one that failed is None."""
        rows = []
        for number, tried in sorted(tries(study).items()):
            if done := [one for one in tried if one.state.is_finished()]:
                one = min(done, key=lambda one: one.state)  # COMPLETE comes before FAIL
                found = {"loss": None, "seconds": 0.0, **one.user_attrs, "trial": number, "accuracy": one.value}
                rows.append({"model": model, "seed": self.seed, "parameters": one.params, **found})
        return rows


def _never_begun(one: FrozenTrial) -> bool:
    """Whether a process died before the first heartbeat of its trial, without which Optuna waits for ever."""
    started = one.datetime_start or datetime.now()
    return "begun" not in one.user_attrs and datetime.now() - started > timedelta(seconds=2 * HEARTBEAT)


def _again(study: Study, one: FrozenTrial) -> None:
    """Let a trial wait again whose process has died."""
    from optuna.exceptions import ExperimentalWarning
    from optuna.storages import RetryHeartbeatStaleTrialCallback

    one.user_attrs.pop("begun", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        RetryHeartbeatStaleTrialCallback(max_retry=RETRIES)(study, one)


def tries(study: Study) -> dict[int, list[FrozenTrial]]:
    """The trials of a study by their numbers, of which one that was abandoned has several."""
    from optuna.trial import TrialState

    found: dict[int, list[FrozenTrial]] = {}
    for one in study.get_trials(deepcopy=False):
        if "number" in one.user_attrs and one.state != TrialState.PRUNED:
            found.setdefault(one.user_attrs["number"], []).append(one)
    return found


def _begun(studies: dict[str, Study]) -> int:
    """The number of tries that do not wait."""
    from optuna.trial import TrialState

    return sum(one.state != TrialState.WAITING for study in studies.values() for one in study.get_trials(False))


def work(
    worker: int,
    search: Search,
    corpus: str,
    modifiers: list[str] | None,
    device: str | None,
    trial: Callable[..., dict[str, Any]],
) -> None:
    """Run waiting trials until there are none."""
    import torch
    from optuna import TrialPruned
    from optuna.trial import TrialState

    torch.set_num_threads(1)
    for model, study in search.studies().items():

        def objective(one: Trial, model: str = model, study: Study = study) -> float:
            number = one.user_attrs.get("number")
            if number is None or number >= search.trials or min(_open(study, number)) < one.number:
                raise TrialPruned  # there was none left, it is not asked for, or another process has it
            cast("RDBStorage", study._storage).record_heartbeat(one._trial_id)
            one.set_user_attr("begun", True)
            chosen = {name: kind.suggest(one, name) for name, kind in SPACES[model].items()}
            found = trial(model, opened(corpus), chosen, search.seed, modifiers, device)
            for name, value in found.items():
                if name != "accuracy" and value is not None:
                    one.set_user_attr(name, value)
            accuracy = found["accuracy"]
            result = found.get("error", "failed") if accuracy is None else f"{100 * accuracy:.2f} %"
            say(f"{model}, trial {number} of {search.trials}: {result} in {found['seconds']:.0f} s", flush=True)
            return float("nan") if accuracy is None else accuracy  # Optuna records NaN as a failure

        while study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
            try:
                study.optimize(objective, n_trials=1)
            except ValueError as error:  # another process took this one for abandoned, and has finished it
                if not str(error).startswith("Cannot tell"):
                    raise


def _open(study: Study, number: int) -> list[int]:
    """Optuna's own numbers of a trial's tries that have not failed."""
    from optuna.trial import TrialState

    return [one.number for one in tries(study).get(number, ()) if one.state != TrialState.FAIL]


def _work_in_processes(jobs: int, setup: tuple[Any, ...]) -> None:
    """Each process has a pool of its own, so that the others go on when one dies."""
    with ExitStack() as stack:
        pools = [stack.enter_context(process_pool(1)) for _ in range(jobs)]
        for done in as_completed([pool.submit(work, k, *setup) for k, pool in enumerate(pools)]):
            with suppress(BrokenProcessPool):
                done.result()


@contextmanager
def told(url: str) -> Iterator[None]:
    """Turn errors of the database (full, damaged, gone) into one-line errors."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("optuna", "sqlalchemy", "sqlite3"):
            raise
        raise _database_error(url, error) from error


def _database_error(url: str, error: Exception) -> RnnlensError:
    shown = re.sub(r"//([^:/@]*):[^@]*@", r"//\1:…@", url)  # without the password
    why = str(error.__cause__ or error).splitlines() or [""]
    advice = (
        "make room or move it away" if url.startswith("sqlite") else "check the URL, and that the database is running"
    )
    return RnnlensError(f"cannot use the ledger {quoted(shown, 200)}: {quoted(why[0])}; {advice}, then use --resume")
