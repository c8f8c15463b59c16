"""What a plan costs step by step under every accountant, before anything is trained: the faint curves ahead.

The same accountants and the same arithmetic as the Compose page and the live run: they agree to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpviz.accounting.accountant import AdditiveAccountant, Ledger
from dpviz.accounting.bound import Bound
from dpviz.accounting.mechanism import SampledGaussian, merge_runs
from dpviz.accounting.odometer import OdometerAccountant
from dpviz.accounting.renyi import Moments
from dpviz.accounting.tight import tight_epsilon_of_runs
from dpviz.training.accounting import for_steps, renyi_accountant
from dpviz.training.counting import make_policy
from dpviz.training.plan import planned_runs
from dpviz.training.settings import RunSettings, steps_per_epoch
from dpviz.ui import tight_band
from dpviz.ui.tight_band import TightBand

Array = npt.NDArray[np.float64]

POINTS = 120
MOST_DIFFERENT = 64  # mechanisms that the tight accountant composes one by one in well under a second


@dataclass(frozen=True, eq=False)
class Plan:
    """ε at `steps` (shape (n,), whole, increasing) by accountant; nothing for plain training.

    The last step is T; of a run that re-plans past it, the last that it may take: so many are decided ahead.

    Attributes:
        counts: private counts of correct predictions among what is planned; the curves leave them out.
        with_counts: ε of all steps and these counts.
    """

    steps: Array
    epsilon: dict[str, Array]
    tight: TightBand | None = None
    counts: int = 0
    with_counts: Bound | None = None

    @property
    def total(self) -> float:
        """The least ε that all that is planned is proven to cost; infinite where nothing is."""
        if self.with_counts is not None:
            return float(self.with_counts.epsilon)
        ends = [float(self.epsilon[name][-1]) for name in ("renyi", "moments") if name in self.epsilon]
        if self.tight is not None:
            ends.append(float(self.tight.upper[-1]))
        return min(ends, default=float("inf"))

    @property
    def total_method(self) -> str:
        if self.with_counts is not None:
            return "Rényi, private counts included"
        if self.tight is not None and self.total == float(self.tight.upper[-1]):
            return "tight"
        return "Rényi"


def marked(steps: int, points: int = POINTS) -> Array:
    """At most `points` whole numbers from 1 to `steps`, both included."""
    if steps <= points:
        return np.arange(1.0, steps + 1.0)
    return np.unique(np.round(np.linspace(1.0, steps, points)))


@lru_cache(maxsize=256)
def plan(settings: RunSettings, examples: int) -> Plan:
    """The plan's curves; some 20 ms for equal steps, a few tenths of a second where every step has another noise."""
    settings = settings.with_(steps=settings.last_step, past_plan="stop", most_steps=0)
    found = _of_steps(settings, examples)
    counts = planned_counts(settings, examples)
    if not counts:
        return found
    runs = merge_runs((*planned_runs(settings, examples), (SampledGaussian(settings.count_noise, 1.0), counts)))
    return replace(found, counts=counts, with_counts=renyi_accountant(settings, examples).of_runs(runs, settings.delta))


def planned_counts(settings: RunSettings, examples: int) -> int:
    """Private counts that will have been taken after `settings.steps` steps, if no policy changes the batch size."""
    every = make_policy(settings, examples).every if settings.private else 0
    epochs = settings.steps // steps_per_epoch(examples, settings.batch_size)
    return epochs // every if every else 0


def _of_steps(settings: RunSettings, examples: int) -> Plan:
    runs = planned_runs(settings, examples)
    if not runs:
        return Plan(marked(settings.steps), {})
    accountants: dict[str, AdditiveAccountant] = {
        "moments": for_steps(Moments(), settings, examples),
        "renyi": renyi_accountant(settings, examples),
        "odometer": for_steps(OdometerAccountant(), settings, examples),
    }
    if len(runs) > 1:
        return _of_different(settings, runs, accountants)
    (mechanism, total) = runs[0]
    at = marked(total)
    found = {
        name: accountant.evaluate(
            noise_multiplier=mechanism.noise_multiplier,
            sample_rate=mechanism.sample_rate,
            steps=at,
            delta=settings.delta,
        ).epsilon
        for name, accountant in accountants.items()
    }
    tight = tight_band.along_steps(mechanism.noise_multiplier, mechanism.sample_rate, total, settings.delta, log=False)
    return Plan(at, found, tight)


def _of_different(settings: RunSettings, runs: tuple, accountants: dict[str, AdditiveAccountant]) -> Plan:  # type: ignore[type-arg]
    """Steps whose noise changes: a ledger each, read at the marks."""
    at = marked(settings.steps, 40)
    wanted = set(at.tolist())
    found: dict[str, list[float]] = {name: [] for name in accountants}
    ledgers = {name: Ledger(accountant) for name, accountant in accountants.items()}
    done = 0
    for mechanism, count in runs:
        for _ in range(count):
            done += 1
            for name, ledger in ledgers.items():
                ledger.spend(mechanism)
                if done in wanted:
                    found[name].append(float(ledger.bound(settings.delta).epsilon))
    tight = None
    if len(runs) <= MOST_DIFFERENT:
        last = tight_epsilon_of_runs(runs, settings.delta)
        tight = TightBand(at[-1:], np.atleast_1d(last.lower), np.atleast_1d(last.upper), last.reason)
    return Plan(at, {name: np.array(values) for name, values in found.items()}, tight)
