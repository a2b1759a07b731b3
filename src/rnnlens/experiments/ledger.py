"""The ledger of a search: an Optuna study in which every trial is finished once, even if processes that run it die.

A trial is WAITING, then RUNNING by one owner, then COMPLETE (or FAIL if it diverged). A process claims a trial by the
step from WAITING to RUNNING; a finished trial cannot be changed. Owners write a heartbeat every few seconds; a RUNNING
trial whose owner is gone goes back to WAITING. Its parameters follow from its number (see `space`), so no sampler is
needed.

An exception in the middle of SQLAlchemy can leave the database locked, for claims that are then to be released. So
signals to end take effect after an operation.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rnnlens.common.ending import signals_at_end
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import HOST, alive
from rnnlens.experiments.space import SPACES, Choice, Log, Space, parameters

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

BEAT, GRACE = 10.0, 120.0  # seconds between heartbeats, and without one until the owner's trials are released

KEPT = ("loss", "scaled_loss", "reviews", "seconds", "error")  # stored attributes of a trial, besides its accuracy


class Ledger:
    """The trials of one model and seed, in a database that several processes and machines can share."""

    def __init__(self, storage: BaseStorage, model: str, seed: int, about: str, alone: bool = False):
        """alone: no other process can use the ledger, so RUNNING trials of other owners were abandoned."""
        import optuna

        self.storage, self.model, self.seed, self.alone = storage, model, seed, alone
        study = optuna.create_study(
            storage=storage, study_name=f"{model} seed {seed} on {about}", direction="maximize", load_if_exists=True
        )
        self.study = study
        self.study_id = storage.get_study_id_from_name(study.study_name)
        self.owner = f"{HOST} {os.getpid()} {secrets.token_hex(4)}"
        self.claimed: list[int] = []  # numbers of the trials that this process runs

    @signals_at_end()
    def trials(self) -> list[FrozenTrial]:
        return self.storage.get_all_trials(self.study_id, deepcopy=False)

    @signals_at_end()
    def claim(self, most: int) -> int | None:
        """Claim a trial with a number below `most` and return its number; None if there is none left."""
        from optuna.trial import TrialState, create_trial

        while True:
            trials = self.trials()
            seen = self.storage.get_study_user_attrs(self.study_id)
            for trial in trials[:most]:
                if trial.state == TrialState.RUNNING and self._abandoned(trial, seen):
                    self.storage.set_trial_state_values(self._id(trial.number), TrialState.WAITING)
                elif trial.state != TrialState.WAITING:
                    continue
                if self.storage.set_trial_state_values(self._id(trial.number), TrialState.RUNNING):
                    self.storage.set_trial_user_attr(self._id(trial.number), "owner", self.owner)
                    self.claimed.append(trial.number)
                    return trial.number
            if len(trials) >= most:
                return None
            self.study.add_trial(create_trial(state=TrialState.WAITING))

    @signals_at_end()
    def finish(self, number: int, row: dict[str, Any]) -> bool:
        """Store the outcome of a claimed trial; False if another process had finished it before."""
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        trial, new = self._id(number), True
        try:
            for name, (value, kind) in with_distributions(row["parameters"], SPACES[self.model]).items():
                self.storage.set_trial_param(trial, name, kind.to_internal_repr(value), kind)
            for name in (*KEPT, "history"):
                if row.get(name) is not None:
                    self.storage.set_trial_user_attr(trial, name, row[name])
            accuracy = row["accuracy"]
            state = TrialState.FAIL if accuracy is None else TrialState.COMPLETE
            self.storage.set_trial_state_values(trial, state, None if accuracy is None else [accuracy])
        except UpdateFinishedTrialError:
            new = False
        if number in self.claimed:
            self.claimed.remove(number)
        return new

    def enter(self, rows: list[dict[str, Any]]) -> int:
        """Add trials that were run without a ledger. Returns the number of new ones."""
        from optuna.trial import TrialState, create_trial

        ours = {row["trial"]: row for row in rows if row["model"] == self.model and row["seed"] == self.seed}
        ours = {number: row for number, row in ours.items() if number >= 0}  # negative: settings from elsewhere
        while len(self.trials()) <= max(ours, default=-1):
            self.study.add_trial(create_trial(state=TrialState.WAITING))
        new = 0
        for number, row in sorted(ours.items()):
            expected = parameters(self.model, self.seed, number)
            if row["parameters"] != expected:
                raise RnnlensError(
                    f"trial {number} of {self.model} was run with {quoted(row['parameters'])}, but this version draws "
                    f"{quoted(expected)}: run it again"
                )
            if self._waits(number) and self.storage.set_trial_state_values(self._id(number), TrialState.RUNNING):
                new += self.finish(number, row)
        return new

    def rows(self) -> list[dict[str, Any]]:
        """The finished trials, in the form in which `run_trials` writes them."""
        return [
            {
                "model": self.model,
                "seed": self.seed,
                "trial": trial.number,
                "parameters": parameters(self.model, self.seed, trial.number),
                "accuracy": trial.value,
                **dict.fromkeys(("loss", "reviews", "seconds", "error")),
                **{name: trial.user_attrs[name] for name in KEPT if name in trial.user_attrs},
            }
            for trial in self.trials()
            if trial.state.is_finished()
        ]

    def others(self, most: int) -> int:
        """The number of trials below `most` that other processes are running."""
        from optuna.trial import TrialState

        return sum(trial.state == TrialState.RUNNING for trial in self.trials()[:most])

    @signals_at_end()
    def release(self) -> None:
        """Set claimed trials that will not be run back to WAITING, unless another process has claimed them."""
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        for number in self.claimed:
            trial = self.storage.get_trial(self._id(number))
            if trial.state == TrialState.RUNNING and trial.user_attrs.get("owner") == self.owner:
                with suppress(UpdateFinishedTrialError):
                    self.storage.set_trial_state_values(self._id(number), TrialState.WAITING)
        self.claimed.clear()

    @signals_at_end()
    def beating(self) -> Callable[[], None]:
        """Start writing a heartbeat every few seconds; returns a function that stops it."""
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(BEAT):
                with suppress(Exception):  # the database may be unavailable for a moment: try again at the next beat
                    self.storage.set_study_user_attr(self.study_id, self.owner, time.time())

        self.storage.set_study_user_attr(self.study_id, self.owner, time.time())
        thread = threading.Thread(target=beat, daemon=True)
        thread.start()

        def end() -> None:
            ended.set()
            thread.join()

        return end

    def _abandoned(self, trial: FrozenTrial, seen: dict[str, Any]) -> bool:
        owner = trial.user_attrs.get("owner")
        if owner == self.owner or self.alone:
            return owner != self.owner
        if owner is None:  # just claimed, or its owner was killed right after claiming it
            started = 0.0 if trial.datetime_start is None else trial.datetime_start.timestamp()
            return time.time() - started > GRACE
        host, process, _ = owner.split(" ")
        if host == HOST and not alive(int(process)):
            return True
        return time.time() - float(seen.get(owner, 0)) > GRACE

    def _waits(self, number: int) -> bool:
        from optuna.trial import TrialState

        return self.storage.get_trial(self._id(number)).state == TrialState.WAITING

    def _id(self, number: int) -> int:
        return self.storage.get_trial_id_from_study_id_trial_number(self.study_id, number)


def open_storage(url: str) -> BaseStorage:
    """The database behind a URL: sqlite:///file, postgresql://…"""
    try:
        import optuna
    except ImportError as error:
        raise RnnlensError("a sweep needs optuna: install it with `pip install 'rnnlens[sweep]'`") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    options = {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {}
    for patience in (1, 2, None):
        try:
            return optuna.storages.RDBStorage(url, engine_kwargs=options)
        except Exception as error:  # SQLAlchemy and the driver raise errors of many types
            if patience is not None and "already exists" in str(error):  # another sweep is creating the same tables
                time.sleep(patience)
                continue
            raise _ledger_error(url, error) from error
    raise AssertionError


@contextmanager
def watched(url: str) -> Iterator[None]:
    """Turn errors of the database (full, damaged, gone) into one-line errors."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("optuna", "sqlalchemy", "sqlite3"):
            raise
        raise _ledger_error(url, error) from error


def _ledger_error(url: str, error: Exception) -> RnnlensError:
    shown = re.sub(r"//([^:/@]*):[^@]*@", r"//\1:…@", url)  # without the password
    why = str(error.__cause__ or error).splitlines() or [""]
    advice = (
        "make room or move it away" if url.startswith("sqlite") else "check the URL, and that the database is running"
    )
    return RnnlensError(f"cannot use the ledger {quoted(shown, 200)}: {quoted(why[0])}; {advice}, then use --resume")


def with_distributions(chosen: dict[str, Any], space: Space) -> dict[str, tuple[Any, BaseDistribution]]:
    """Each parameter with its Optuna distribution, so that Optuna's tools can plot it."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    distributions: dict[str, tuple[Any, BaseDistribution]] = {}
    for name, kind in space.items():
        if isinstance(kind, Choice):
            distributions[name] = chosen[name], CategoricalDistribution(kind.options)
        else:
            distributions[name] = chosen[name], FloatDistribution(kind.low, kind.high, log=isinstance(kind, Log))
    return distributions
