"""A user's own training as a run: whoever opens the app on the same folder sees it live, and may pause or stop it.

for step in recorded(PrivateTraining(network, (x, y), optimiser, epochs=10, target_epsilon=3.0), name="Mine"):
    ...
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpviz.mechanisms import Mechanism
from dpviz.runs.program import TELLS, ProgramRun
from dpviz.runs.store.folders import home
from dpviz.runs.store.store import open_store
from dpviz.training.accounts.live import LiveAccounts
from dpviz.training.accounts.stepwise import encoded, encoded_events
from dpviz.training.covered import UNDECLARED, UNPROTECTED
from dpviz.training.plan import mechanism_at
from dpviz.training.samplers import events
from dpviz.training.summary import closing, opening

if TYPE_CHECKING:
    from dpviz.training.private import PrivateTraining, Step

TARGET = "dpviz.training.private:PrivateTraining"


def recorded(training: PrivateTraining, *, name: str = "", folder: str | Path | None = None) -> Iterator[Step]:
    """The same steps, recorded. What the claim covers is the run's as it is the training's.

    Before a step is taken the store has its cost, and that of as many more as make writing cheap. A program that is
    killed claims what it was charged for, at its end a run claims the steps that it took.

    The run is "done" after the plan's last step, "stopped" where the loop is left or someone stops it on a page, and
    "failed" where a step fails, which is raised here too. While it is paused on a page the loop waits.

    Args:
        training: Before its first step, or its first one after `load_state_dict`: steps before are told of as charged.
        name: For people; "Run 7" and the like if empty.
        folder: The app's, DPVIZ_HOME or the usual one if None.

    Raises:
        ValueError: if steps were taken already: their cost would be missing.
        StoreError: if the folder cannot be written, also later, within the loop: no step is taken then that the store
            does not know of.
    """
    if training.done != training.loaded:
        raise ValueError(f"Expected a training before its first step, found {training.done} steps taken.")
    return _steps(_Record(training, name, Path(folder) if folder else home()), training)


def _steps(record: _Record, training: PrivateTraining) -> Iterator[Step]:
    state, reason, text = "stopped", "stopped", "The loop over its steps was left."
    try:
        for step in training:
            record.add(step)
            yield step
            if not record.goes_on():
                text = "Stopped on a page."
                return
        state, reason, text = "done", "plan", f"All {training.done} planned steps are done."
    except Exception as error:
        state, reason, text = "failed", "error", f"{type(error).__name__}: {error}"
        raise
    finally:
        record.close(state, reason, text)


class _Record:
    """One run in the store, and what is told of it."""

    def __init__(self, training: PrivateTraining, name: str, folder: Path) -> None:
        self._training, store = training, open_store(folder)
        training.charge_plan()  # from here on no other training changes what its claims include
        settings = training.settings
        self._run = ProgramRun(store, target=TARGET, settings=settings.to_json(), name=name)
        self._accounts = LiveAccounts(settings, examples=training.examples)
        self._rows: list[dict[str, Any]] = []
        self._charges: list[Mechanism] = []  # of these rows
        self._told = self._stepped = time.monotonic()
        self._ended = False
        self._start()
        training.charge_ahead(self.charge)

    def _emit(self, kind: str, **content: Any) -> None:
        self._run.emit(kind, self._training.done, **content)

    def _start(self) -> None:
        training = self._training
        self._emit(
            "started",
            settings=training.settings.to_json(),
            examples=training.examples,
            test_examples=0,
            classes=0,
            **opening(training.settings, training.examples),
            device=str(training.device),
            threads=1,
            parameters=training.parameters,
            data="of somebody's own program",
            model="of somebody's own program",
            noise_source=training.noise_source,
            fallback_layers=[],
            unprotected=f"{UNPROTECTED} {UNDECLARED}",
        )
        self._catch_up(training.done)

    def charge(self) -> None:
        """The store has the cost of the coming step when this returns, whoever asked for that step.

        Raises:
            NotRecorded: if it has not.
            RuntimeError: once the record has ended.
        """
        done, mechanism = self._training.done, self._training.mechanism
        if self._ended:
            raise RuntimeError(
                f"Expected no step after the record of this training ended, at step {done}: start a new training."
            )
        if done < self._run.charged:
            return
        self._tell()
        self._run.charge(done, len(self._training), lambda through: encoded_events(events(mechanism, through)))

    def add(self, step: Step) -> None:
        """A step that was taken."""
        self._catch_up(step.number - 1)
        self._count(step.examples, step.loss, step.clipped)
        self._run.check()
        if time.monotonic() - self._told > TELLS:
            self._tell()

    def _catch_up(self, done: int) -> None:
        """Steps that failed, or that somebody else asked for, have cost what others cost."""
        while self._accounts.taken < done:
            self._count(0, math.nan, math.nan)

    def _count(self, examples: int, *losses: float) -> None:
        """A step: the loss and the clipped share of its examples."""
        now = time.monotonic()
        mechanism = mechanism_at(self._training.settings, self._accounts.taken + 1, self._training.examples)
        if self._accounts.step(mechanism, None):
            self._charges.append(mechanism)
        loss, clipped = (value if math.isfinite(value) else None for value in losses)
        self._rows.append(
            {
                "batch_size": examples,
                "expected_batch_size": self._training.settings.batch_size,
                "loss": loss,
                "clipped": clipped,
                "non_finite": 0,
                "learning_rate": self._training.learning_rate,
                "seconds": now - self._stepped,
            }
        )
        self._stepped = now

    def _tell(self) -> None:
        if not self._rows:
            return
        rows, self._rows, self._told = self._rows, [], time.monotonic()
        charged, self._charges = self._charges, []
        self._emit(
            "step",
            first=self._training.done - len(rows) + 1,
            count=len(rows),
            mechanisms=encoded(charged),
            **{key: [row[key] for row in rows] for key in rows[0]},
            epsilon=self._accounts.readings(),
            distances=None,
            norms=None,
            noise=None,
        )

    def goes_on(self) -> bool:
        """Whether another step is wanted; waits while the run is paused."""
        while (asked := self._run.asked()) == "pause":
            self._tell()
        return asked in ("go", "step")

    def close(self, state: str, reason: str, text: str) -> None:
        """The last event."""
        self._ended = True
        self._catch_up(self._training.done)
        self._tell()
        summary = closing(
            self._training.settings,
            self._accounts,
            examples=self._training.examples,
            state=state,
            reason=reason,
            steps=self._training.done,
            seconds=self._run.seconds,
        )
        nothing = dict.fromkeys(("test_accuracy", "test_loss", "train_accuracy", "posterior_accuracy", "weights"))
        self._run.close(self._training.done, {**summary, **nothing, "text": text})
