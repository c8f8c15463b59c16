"""Anyone's training loop as a run: it tells the noise and rate of each step, and the app shows it live.

with dpviz.watch("Mine", examples=60_000, delta=1e-5, sampler="poisson", adjacency="add_remove") as run:
    for batch in loader:
        run.step(noise_multiplier=1.1, sample_rate=256 / 60_000)  # before the step's result is used
        ...
"""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy.typing as npt

from dpviz import _validate
from dpviz.accounting.adaptive.filter import BudgetExceeded, Filter
from dpviz.accounting.claims import Claim
from dpviz.mechanisms import Mechanism, merge_events
from dpviz.runs.program import TELLS, ProgramRun
from dpviz.runs.store.folders import home
from dpviz.runs.store.lock import alone
from dpviz.runs.store.store import open_store
from dpviz.runs.told.accounts import ToldAccounts
from dpviz.runs.told.claims import budget_filter, claim_at
from dpviz.runs.told.going_on import goes_on
from dpviz.runs.told.settings import UNPROTECTED, ToldSettings
from dpviz.runs.told.step import ToldStep, finite, kept_norms
from dpviz.training.accounts.stepwise import encoded, encoded_events
from dpviz.training.samplers import charges, steps_of

TARGET = "dpviz:watch"
LOCK = "watch.lock"
_MOST_AHEAD = 1_000_000


class RunStopped(RuntimeError):
    """Somebody pressed Stop on the run's page: the step that was asked for must not be taken.

    Attributes:
        steps: Steps that were taken.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        super().__init__(
            f"Stopped on the run's page after {steps:,} steps: do not take this step. Nothing was charged."
        )


class WatchedRun:
    """A run whose steps a program tells; made by `dpviz.watch`, recorded within its `with` block.

    Attributes:
        settings: What was told before the first step.
        taken: Steps that were told or charged, with those of the runs that it goes on from.
    """

    def __init__(self, name: str, terms: ToldSettings, folder: Path, *, go_on: bool = False) -> None:
        self._name, self._folder, self._go_on = name, folder, go_on
        self._run: ProgramRun | None = None
        self._ended = False
        self._set(terms)
        self._budget: Filter | None = None
        self._rows: list[dict[str, Any]] = []
        self._charges: list[Mechanism] = []  # of these rows
        self._norms: list[list[float]] = []  # likewise
        self._last: ToldStep | None = None  # told last, not yet among the rows
        self._mechanism: Mechanism | None = None  # charged last
        self._refused: BudgetExceeded | None = None
        self._stopped = False
        self._tested: dict[str, float | None] = {"test_accuracy": None, "test_loss": None}
        self._told = self._stepped = 0.0

    def _set(self, terms: ToldSettings) -> None:
        self.settings, self._accounts = terms, ToldAccounts(terms)

    @property
    def taken(self) -> int:
        return self.settings.steps_before + self._own

    @property
    def _own(self) -> int:
        """Steps that this program told."""
        return self._accounts.taken + (self._last is not None)

    @property
    def claim(self) -> Claim:
        """What may be claimed if it ended now, as told."""
        last = [] if self._last is None or self._accounts.epoch is not None else [(self._last.mechanism, 1)]
        return claim_at(self.settings, merge_events([*self._accounts.events, *last]), self._own)

    def __enter__(self) -> Self:
        if self._run is not None:
            raise RuntimeError("Expected a watch that was not entered before: call dpviz.watch(…) anew for a new run.")
        store = open_store(self._folder)
        with alone(self._folder / LOCK):  # of two programs that go on with one run the second finds the first
            if self._go_on:
                self._set(goes_on(self.settings, self._name, store))
            terms = self.settings
            self._run = ProgramRun(store, target=TARGET, settings=terms.to_json(), name=self._name)
        self._told = self._stepped = time.monotonic()
        self._run.emit(
            "started", 0,
            settings=terms.to_json(), examples=terms.examples, test_examples=0, classes=0, device="", threads=1,
            data="told by a program", model="told by a program", noise_source="told by a program",
            fallback_layers=[], unprotected=UNPROTECTED,
        )  # fmt: skip
        return self

    def step(
        self,
        *,
        noise_multiplier: float,
        sample_rate: float,
        norms: npt.ArrayLike | None = None,
        loss: float | None = None,
        reported_epsilon: float | None = None,
    ) -> None:
        """Charge the coming step: when this returns the store has its cost, so its result may be used.

        While the run is paused on a page it waits.

        Args:
            noise_multiplier: σ > 0, standard deviation of the noise on the sum ÷ C.
            sample_rate: q in (0, 1], by the sampler: the probability, or batch size ÷ examples.
            norms: Gradient norms of the batch's examples, (n,), before or after clipping, for the Bayesian ε. They are
                private: the store keeps at most 100 of a step, cut to C, and no ε covers them.
            loss: Mean loss of the batch; private, too.
            reported_epsilon: What the program's own library says of the steps before this one, at the same δ.

        Raises:
            ValueError: naming the argument; nothing was charged.
            BudgetExceeded: if the step does not fit the budget; nothing was charged, and it must not be taken.
            RunStopped: if a page asked for the end; likewise.
            StoreError: if the step cannot be recorded; likewise.
        """
        run = self._open()
        mechanism = self.settings.mechanism(noise_multiplier, sample_rate)
        row = {"loss": finite("loss", loss), "expected_batch_size": float(sample_rate) * self.settings.examples}
        kept = kept_norms(norms, self.settings)
        if reported_epsilon is not None:
            self.tell(reported_epsilon=reported_epsilon)
        self._settle()
        self._accounts.check(mechanism)
        if time.monotonic() - self._told > TELLS:
            self._emit_rows(run)
        run.check()
        self._wait(run)
        self._charge(run, mechanism)
        self._last = ToldStep(mechanism, kept, row)

    def tell(
        self,
        *,
        reported_epsilon: float | None = None,
        test_accuracy: float | None = None,
        test_loss: float | None = None,
    ) -> None:
        """Results after the last step: what the program's library says of the steps so far, and public tests.

        Args:
            reported_epsilon: ε ≥ 0 by the library's own accountant, at the same δ. It must not depend on the data.
            test_accuracy: In [0, 1], on public test data.
            test_loss: Likewise.

        Raises:
            ValueError: naming the argument.
        """
        run = self._open()
        if reported_epsilon is not None:
            reported = _validate.scalar(
                "reported_epsilon", _validate.epsilon_or_infinite(reported_epsilon, "reported_epsilon")
            )
            if self._last is not None:
                self._last.row["reported_epsilon"] = reported
        if test_accuracy is None and test_loss is None:
            return
        accuracy = None
        if test_accuracy is not None:
            accuracy = _validate.scalar("test_accuracy", _validate.probability("test_accuracy", test_accuracy))
        self._emit_rows(run)
        self._tested = {"test_accuracy": accuracy, "test_loss": finite("test_loss", test_loss)}
        run.emit("evaluation", self._own, **self._tested, posterior_accuracy=None, train_loss=None, train_accuracy=None)

    def _open(self) -> ProgramRun:
        if self._run is None or self._ended:
            raise RuntimeError(
                "Expected a call within the watch's with block: with dpviz.watch(…) as run: run.step(…)."
            )
        return self._run

    def _wait(self, run: ProgramRun) -> None:
        while (asked := run.asked()) == "pause":
            self._emit_rows(run)
        if asked == "stop":
            self._stopped = True
            raise RunStopped(self.taken)

    def _charge(self, run: ProgramRun, mechanism: Mechanism) -> None:
        """Take the step from the budget, and record its cost unless it was recorded ahead."""
        accounts, done = self._accounts, self._own
        if accounts.epoch is None:
            if self._budget is None:
                self._budget = self._budget_left(mechanism)
            if self._budget is not None:
                self._spend(self._budget, mechanism)
        if done < run.charged and mechanism == self._mechanism:
            return
        left = max(done, self.settings.steps - self.settings.steps_before) if self.settings.steps else _MOST_AHEAD
        if self._budget is not None:  # of the next ones: this step is spent
            room = self._budget.remaining_steps(mechanism)
            left = min(left, done + 1 + int(min(room, _MOST_AHEAD)) * steps_of(mechanism))
        self._emit_rows(run)

        def through(step: int) -> list[list[Any]]:
            ahead = charges(mechanism, step - done - accounts.covered)
            return encoded_events(merge_events([*accounts.events, *([(mechanism, ahead)] if ahead > 0 else [])]))

        run.charge(done, max(left, done + 1), through)
        self._mechanism = mechanism

    def _budget_left(self, first: Mechanism) -> Filter | None:
        """The budget's filter with what the runs were charged that this one goes on from."""
        before = self.settings.charged_before
        budget = budget_filter(self.settings, before[0][0] if before else first)
        if budget is not None:
            for mechanism, count in before:
                self._spend(budget, mechanism, count)
        return budget

    def _spend(self, budget: Filter, mechanism: Mechanism, count: int = 1) -> None:
        try:
            budget.spend(mechanism, count)
        except BudgetExceeded as refused:
            self._refused = refused
            raise

    def _settle(self) -> None:
        """The step that was told last counts as taken: whatever became of it, it was charged."""
        if self._last is None:
            return
        mechanism, norms, row = self._last
        self._last = None
        now = time.monotonic()
        if self._accounts.step(mechanism, norms if self._accounts.bayesian is not None else None):
            self._charges.append(mechanism)
        self._norms.append(norms)
        self._rows.append({"reported_epsilon": None, **row, "seconds": now - self._stepped})
        self._stepped = now

    def _emit_rows(self, run: ProgramRun) -> None:
        if not self._rows:
            return
        rows, self._rows, self._told = self._rows, [], time.monotonic()
        charged, self._charges = self._charges, []
        norms, self._norms = self._norms, []
        done = self._accounts.taken
        run.emit(
            "step", done, first=done - len(rows) + 1, count=len(rows), mechanisms=encoded(charged),
            **{key: [row[key] for row in rows] for key in rows[0]}, epsilon=self._accounts.readings(),
            distances=None if self._accounts.bayesian is None else norms, norms=None, noise=None,
        )  # fmt: skip

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run = self._open()
        state, reason, text = self._end(error)
        self._ended = True
        self._settle()
        self._emit_rows(run)
        nothing = dict.fromkeys(("train_accuracy", "posterior_accuracy", "weights"))
        summary = {"state": state, "reason": reason, "text": text, "steps": self._own, "seconds": run.seconds}
        run.close(self._own, {**nothing, **self._tested, **summary, **self._accounts.summary()})

    def _end(self, error: BaseException | None) -> tuple[str, str, str]:
        """State, reason and words of the end."""
        if self._stopped and (error is None or isinstance(error, RunStopped)):
            return "stopped", "stopped", "Stopped on its page."
        if self._refused is not None and (error is None or error is self._refused):
            return "done", "budget", f"The budget ε = {self._refused.target_epsilon:.6g} did not allow another step."
        if error is None:
            planned = self.settings.steps == self.taken
            return "done", "plan" if planned else "end", f"The program ended it after {self.taken:,} told steps."
        if isinstance(error, Exception):
            return "failed", "error", f"{type(error).__name__}: {error}"
        return "stopped", "stopped", f"The program was interrupted ({type(error).__name__})."


def watch(
    name: str,
    *,
    examples: int,
    delta: float,
    sampler: str | None = None,
    adjacency: str | None = None,
    epsilon: float | None = None,
    steps: int | None = None,
    max_grad_norm: float | None = None,
    bayesian_delta: float | None = None,
    folder: str | Path | None = None,
    go_on: bool = False,
) -> WatchedRun:
    """A run of your own training loop, in any framework: `run.step` tells the noise and rate of each step.

    Whoever opens the app on the same folder sees it live, with the ε of every accountant, and may stop it. The app need
    not run. What is not told is not priced, and every claim of such a run says that it is as told by the program.

    Args:
        name: For people.
        examples: N, the number of training examples.
        delta: δ in (0, 1).
        sampler: How your batches are made: "poisson", "fixed", "shuffled" or "any".
        adjacency: Which data sets are neighbours: "add_remove", "zero_out" or "replace_one". Not every pair is known.
        epsilon: A budget at δ: `step` raises `BudgetExceeded` before the step that would exceed it.
        steps: The number of steps, where it and the noise and rate of all steps are fixed before the first. The claim
            is then the numerical ε of all of them; without it, and without a budget, an odometer's.
        max_grad_norm: C, for a Bayesian ε by the `norms` of each step; needs `steps`.
        bayesian_delta: δ_μ; `delta` if None.
        folder: The app's, DPVIZ_HOME or the usual one if None.
        go_on: Go on with the latest run of this name and these settings, if there is one that has ended, as after a
            crash. Everything that it was charged counts, also ahead; `taken` begins behind it. Its `with` block raises
            RuntimeError where that run has not ended or cannot be priced, ValueError where its settings differ.

    Raises:
        ValueError: naming the argument, its value and the choices.
    """
    terms = ToldSettings(
        examples=examples,
        delta=delta,
        sampler=sampler,  # type: ignore[arg-type]  # `check` refuses None, with the choices
        adjacency=adjacency,  # type: ignore[arg-type]
        filter_epsilon=epsilon,
        steps=steps,
        max_grad_norm=max_grad_norm,
        bayesian_delta=delta if bayesian_delta is None else bayesian_delta,
    )
    terms.check()
    return WatchedRun(name, terms, Path(folder) if folder else home(), go_on=go_on)
