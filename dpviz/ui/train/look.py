"""A run at one moment: its record, its plan's cost, and all that pages say of it."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN
from dpviz.accounting.claims import Claim
from dpviz.accounting.methods import Renyi
from dpviz.questions.tight_band import TightBand
from dpviz.questions.train.plan import PlannedCost
from dpviz.runs.claims import last_reading, trained_on
from dpviz.runs.store.digest import RECENT
from dpviz.runs.store.records import RunRecord
from dpviz.runs.told.claims import FIRST, FIXED
from dpviz.runs.told.settings import ToldSettings
from dpviz.runs.views import RunView
from dpviz.training.accounts.claims import assumed
from dpviz.training.data.own.place import data_of, is_own
from dpviz.training.settings import RunSettings
from dpviz.training.summary import below_majority

EMPTY: Array = np.empty(0)
LONG = 200  # characters of a reason that is no part of a sentence any more


@dataclass(frozen=True, eq=False)
class Look:
    """A run at one moment, with all that is said of it.

    Attributes:
        view: what was recorded.
        settings: of the run; None where it is not one of ours.
        told: the settings of a run whose steps a program tells; None of others.
        plan: what its plan costs.
        tight: the tight interval so far, a reading as if its end were planned.
        claim: the ε that may be said if it ends here, or of a run that has ended.
        ahead: how many runs go before it while it waits.
    """

    view: RunView
    settings: RunSettings | None
    plan: PlannedCost | None
    tight: TightBand | None
    claim: Claim
    ahead: int = 0
    terms: ToldSettings | None = None

    @property
    def record(self) -> RunRecord:
        return self.view.record

    @property
    def total(self) -> int:
        """The step after which the run ends whatever happens; what it has done where that is not known."""
        if self.terms is not None and self.terms.steps is not None:
            return max(self.terms.steps - self.terms.steps_before, self.record.steps)
        return self.settings.last_step if self.settings is not None else max(self.record.steps, 1)

    @property
    def open_end(self) -> bool:
        """Whether nobody said how many steps it takes."""
        return self.terms is not None and self.terms.steps is None

    @property
    def as_planned(self) -> bool:
        """Whether the run keeps, or kept to its end, to mechanisms that were fixed ahead."""
        settings = self.settings
        if self.terms is not None:  # its plan is there only while it is kept
            return self.plan is not None and (not self.record.over or self.planned_end)
        if settings is None or settings.adaptive or settings.past_plan != "stop":
            return False
        return not self.record.over or self.view.final.get("reason") == "plan"

    @property
    def began_again(self) -> bool:
        """Whether an earlier attempt's steps are in the claim beside those of this one."""
        settings, restarts = self.settings, self.record.restarts
        return settings is not None and settings.private and settings.secure_noise and bool(restarts)

    @property
    def interval(self) -> TightBand | None:
        """The tight interval: of the plan while it is followed, else of what was done had that been planned.

        Of a run that began again that of all attempts, which its claim covers; none where they have none.
        """
        if self.began_again:
            shown, end = self.claim.shown, np.array([self.total], dtype=np.float64)
            return None if shown.lower is None else TightBand(end, np.array([shown.lower]), np.array([shown.epsilon]))
        return self.plan.tight if self.plan is not None and self.as_planned else self.tight

    def last(self, name: str) -> float:
        """The last value of an evaluation's quantity; NaN where there is none."""
        values = self.view.evaluations.get(name, EMPTY)
        return float(values[-1]) if values.size else math.nan

    @property
    def phase(self) -> str:
        """Its state in the store, but "over", and "starting" until it has started."""
        if self.record.over:
            return "over"
        starts = self.record.state in ("running", "paused") and not self.view.started
        return "starting" if starts else self.record.state

    @property
    def begun(self) -> bool:
        return self.record.state != "queued" and bool(self.view.started or self.view.final)

    @property
    def reason(self) -> str:
        """Why it is in this state, where that fits into a sentence."""
        return self.record.reason if len(self.record.reason) <= LONG else ""

    @property
    def long_reason(self) -> str:
        """Why it has ended, where that does not."""
        return self.record.reason if self.record.over and not self.reason else ""

    @property
    def why(self) -> str:
        """Why it has ended, where it was not planned; empty for a run that goes on."""
        if self.record.state in ("failed", "lost"):
            return self.reason
        if self.record.state in ("done", "stopped") and self.view.final.get("reason") not in (None, "plan", "stopped"):
            return str(self.view.final.get("text", ""))[:LONG]
        return ""

    @property
    def took(self) -> float:
        """Seconds from start to end; NaN where that is not known."""
        seconds = self.view.final.get("seconds")
        return float(seconds) if isinstance(seconds, (int, float)) else math.nan

    @property
    def planned_end(self) -> bool:
        return self.view.final.get("reason") == "plan"

    # --- its claim ------------------------------------------------------------------------------------------------

    @property
    def shown(self) -> Claim:
        """The claim with the noise taken as secret."""
        return self.claim.shown

    @property
    def private(self) -> bool:
        return self.terms is not None or (self.settings is not None and self.settings.private)

    @property
    def plain(self) -> bool:
        """Whether it is one of ours, and not private."""
        return self.settings is not None and not self.settings.private

    @property
    def released(self) -> bool:
        """Whether something private has been released."""
        return self.private and self.record.steps > 0

    @property
    def planned(self) -> bool:
        """Whether the interval shown is that of the whole plan."""
        return self.plan is not None and self.as_planned

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """On which its claim holds."""
        if self.terms is not None:
            kept = (FIXED,) if self.shown.covers == "plan" else (FIRST,) if self.shown.covers == "adaptive" else ()
            return kept if self.shown.holds else ()
        settings = self.settings
        if settings is None or not settings.private:
            return ()
        return tuple(assumed(trained_on(settings, self.view.started)))

    @cached_property
    def reading(self) -> float:
        """The Bayesian ε_μ of its last step; inf where there is none."""
        return last_reading(self.view, BAYESIAN)

    @property
    def bayesian(self) -> bool:
        asked = self.settings is not None and self.settings.bayesian
        return (asked or self.terms is not None) and math.isfinite(self.reading)

    @property
    def bayesian_delta(self) -> float:
        """δ_μ of its Bayesian ε; NaN where it has none."""
        settings = self.terms or self.settings
        return math.nan if settings is None else settings.bayesian_delta

    @property
    def reported(self) -> tuple[float, float, float]:
        """The last ε that the program's own library reported: its step, itself and Rényi's there; NaN for none."""
        steps = self.view.steps
        rows = np.flatnonzero(np.isfinite(steps.get("reported_epsilon", EMPTY)))
        if not rows.size:
            return math.nan, math.nan, math.nan
        renyi = steps.get(f"epsilon.{Renyi.name}", np.full(steps["step"].shape, math.nan))
        last = rows[-1]
        return float(steps["step"][last]), float(steps["reported_epsilon"][last]), float(renyi[last])

    @property
    def bounded(self) -> bool:
        """Whether the bound of DP is below that of Bayesian DP, and bounds it: norms bound what one example changes."""
        settings, shown = self.settings, self.shown
        return (
            self.bayesian
            and (settings is None or settings.bayesian_distances == "norms")
            and shown.holds
            and shown.delta <= self.bayesian_delta
            and shown.epsilon < self.reading
        )

    # --- its steps and tests --------------------------------------------------------------------------------------

    @property
    def posterior(self) -> bool:
        """Whether its accuracy is that of a posterior mean."""
        return not math.isnan(self.last("posterior_accuracy"))

    @property
    def test(self) -> float:
        return self.last("test_accuracy")

    @property
    def accuracy(self) -> float:
        return self.last("posterior_accuracy") if self.posterior else self.test

    @property
    def train(self) -> float:
        return self.last("train_accuracy")

    @property
    def tested(self) -> float:
        """The step after which it was last tested; NaN for none."""
        return self.last("step")

    @property
    def tests(self) -> list[float]:
        """The steps after which it was tested."""
        steps: list[float] = self.view.evaluations.get("step", EMPTY).tolist()
        return steps

    @property
    def majority(self) -> float | None:
        """The share of the most frequent class."""
        return self.view.started.get("majority")

    @property
    def warning(self) -> str:
        """That it is worse than naming the most frequent class."""
        return below_majority(self.accuracy, self.majority) if self.tested > 0 else ""

    @cached_property
    def seconds(self) -> float:
        """A step's time, the mean of the last ones; NaN before the first."""
        recent = self.view.steps.get("seconds", EMPTY)[-RECENT:]
        return float(np.nanmean(recent)) if recent.size else math.nan

    @property
    def left(self) -> float:
        """Seconds until its planned end; NaN where that is not known."""
        left = self.seconds * (self.total - self.record.steps)
        return left if left > 0 and not self.record.over else math.nan

    @property
    def batch(self) -> float | None:
        """The size of the batch that its last step drew, where its noise is shown."""
        watched = bool(self.view.noise) and self.view.noise.get("step") == self.record.steps
        size = self.view.steps.get("batch_size", EMPTY)[-1:]
        return float(size[0]) if watched and size.size else None

    @property
    def clipped(self) -> float:
        """The share of that batch whose gradients were clipped; NaN for none."""
        share = self.view.steps.get("clipped", EMPTY)[-1:]
        return float(share[0]) if share.size else math.nan

    @property
    def signal(self) -> float:
        """The norm of the last clipped sum."""
        return float(self.view.noise.get("signal", math.nan))

    @property
    def noise(self) -> float:
        """The norm of the noise that was added to it."""
        return float(self.view.noise.get("noise", math.nan))

    # --- its settings ---------------------------------------------------------------------------------------------

    @property
    def tested_on(self) -> str:
        """What it was tested on: "test examples"."""
        return data_of(self.settings.data).example if self.settings is not None else "test examples"

    @property
    def own_data(self) -> bool:
        return self.settings is not None and is_own(self.settings.data)

    @property
    def parameters(self) -> int | None:
        """Of what is trained; None where that is not known."""
        settings = self.settings
        if settings is None or settings.trained != RunSettings.trained:
            return self.view.started.get("parameters")
        return data_of(settings.data).parameters.get(settings.model) or self.view.started.get("parameters")
